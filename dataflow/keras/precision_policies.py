"""`Policy`: the dtypes in which a layer computes and in which its variables are."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from dataflow import logging
from dataflow.dtypes import DType, as_dtype
from dataflow.train.loss_scale import LossScale, get as loss_scale_of
from dataflow.train.mixed_precision import is_graph_rewrite_enabled

_DEFAULT = "USE_DEFAULT"
_SUFFIX = "_with_float32_vars"


class Policy:
    """The ``dtype`` of a layer in two parts: `compute_dtype` and `variable_dtype`.

    Args:
        name: the name of a dtype, for both; with "_with_float32_vars" behind it variables are float32. As that,
            "mixed_float16" and "mixed_bfloat16". With "infer" or "infer_with_float32_vars" the first input says
            which dtype.
        loss_scale: a `tf.train.experimental.LossScale`, a number, "dynamic" or None; "dynamic" is the default of
            "mixed_float16".

    Raises `TypeError` for a name that is no string, `ValueError` for one of no policy.
    """

    def __init__(self, name: str, loss_scale: Any = _DEFAULT) -> None:
        if isinstance(name, DType):
            raise TypeError(
                f"'name' must be a string, not a DType. Instead, pass DType.name. Got: {name.name}"
            )
        if not isinstance(name, str):
            raise TypeError(f"'name' must be a string, but got: {name!r}")
        known = {"infer_float32_vars": "infer" + _SUFFIX, "float32" + _SUFFIX: "float32"}
        self._name = known.get(name, name)
        self._compute_dtype, self._variable_dtype = _dtypes_of(self._name)
        if isinstance(loss_scale, str) and loss_scale == _DEFAULT:
            loss_scale = "dynamic" if name == "mixed_float16" else None
        if loss_scale and self._compute_dtype not in (None, "float16"):
            logging.warn(
                "Creating a Policy with a loss scale is only useful for float16 policies. You passed "
                f"loss_scale={loss_scale!r} for policy {name}. Consider not passing any loss_scale instead."
            )
        self._loss_scale: LossScale | None = loss_scale_of(loss_scale)

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @property
    def compute_dtype(self) -> str | None:
        """The dtype of a layer's computations; None where the first input says it."""
        return self._compute_dtype

    @property
    def variable_dtype(self) -> str | None:
        """The dtype of a layer's variables; None where the first input says it."""
        return self._variable_dtype

    @property
    def should_cast_variables(self) -> bool:
        """Whether the two are different."""
        return self._variable_dtype != self._compute_dtype

    @property
    def loss_scale(self) -> LossScale | None:
        """The scale of a model's loss."""
        return self._loss_scale

    def __repr__(self) -> str:
        return f'<Policy "{self._name}", loss_scale={self._loss_scale}>'


def _dtypes_of(name: str) -> tuple[str | None, str | None]:
    if name in ("mixed_float16", "mixed_bfloat16"):
        return name.removeprefix("mixed_"), "float32"
    base = name.removesuffix(_SUFFIX)
    found = None
    if base != "infer":
        try:
            found = as_dtype(base).name
        except TypeError as error:
            raise ValueError(
                f"Cannot convert value {name} to a mixed precision Policy. Valid policies include those in the "
                f'form "<dtype>" and "<dtype>{_SUFFIX}", where <dtype> is the name of a dtype.'
            ) from error
    return found, found if base == name else "float32"


def with_input_dtype(policy: Policy, dtype: Any) -> Policy:
    """A policy that waits for an input, with the dtype of that."""
    name = as_dtype(dtype).base_dtype.name
    return Policy(name if policy.variable_dtype is None else name + _SUFFIX)


_global: Policy | None = None
_version2 = False


def has_version2_dtypes() -> bool:
    """Whether layers have TensorFlow 2's dtypes: float32, to which they cast inputs, whatever these are."""
    return _version2


def use_version2_dtypes(wanted: bool) -> None:
    """Gives layers to come TensorFlow 2's dtypes, or those of their first inputs, as in TensorFlow 1."""
    global _version2
    _version2 = wanted


def global_policy() -> Policy:
    """The policy of layers without a ``dtype``: "infer", with version 2's dtypes "float32", or that of `set_policy`."""
    return _global or Policy("float32" if _version2 else "infer")


def set_policy(policy: Any) -> None:
    """Sets the policy of layers without a ``dtype``: "infer", "infer_with_float32_vars", or None for the default.

    Raises `ValueError` for another without version 2's dtypes: in TensorFlow 1.15, too, those are only for
    TensorFlow 2. Give single layers ``dtype=Policy(...)`` instead. Raises it, too, beside
    `tf.train.experimental.enable_mixed_precision_graph_rewrite`.
    """
    global _global
    if policy is not None and not isinstance(policy, Policy):
        policy = Policy(policy)
    if policy is not None and is_graph_rewrite_enabled():
        raise ValueError(
            "The global policy cannot be set, since the mixed precision graph rewrite has already been "
            "enabled: tf.train.experimental.enable_mixed_precision_graph_rewrite() does the same. Call one "
            "of the two."
        )
    if policy is not None and policy.compute_dtype is not None and not _version2:
        raise ValueError(
            "The global policy can only be set to a non-infer policy in TensorFlow 2: give layers "
            f"dtype=Policy({policy.name!r}) instead."
        )
    _global = policy


@contextlib.contextmanager
def policy_scope(policy: Any) -> Iterator[None]:
    """A block with another policy of layers without a ``dtype``: see `set_policy`."""
    before = _global
    try:
        set_policy(policy)
        yield
    finally:
        set_policy(before)
