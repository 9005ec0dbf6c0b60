"""Scales of losses: what a loss is multiplied by, and its gradients are divided by.

Half precision has no numbers below 6e-8, where many gradients are; scaled ones keep their digits
(Micikevicius et al., "Mixed precision training", 2018, section 3.2).
"""

from __future__ import annotations

import abc
from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.nest import flatten
from dataflow.graph.tensor import Tensor
from dataflow.ops.arithmetic import maximum
from dataflow.ops.array import identity
from dataflow.ops.comparison import is_finite, logical_and
from dataflow.ops.control_flow import group, no_op
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.reduce import reduce_all
from dataflow.ops.selection import where
from dataflow.ops.trackable import AutoTrackable
from dataflow.ops.variables import Variable
from dataflow.train.replicated_steps import is_per_replica


def all_finite(gradients: Any) -> Tensor:
    """A bool scalar: whether no number of the gradients, a nest of them, is infinite or NaN.

    Gradients that are None count as finite; of those with a value for each replica all are asked.
    """
    tests = []
    for gradient in flatten(gradients):
        for part in gradient.values if is_per_replica(gradient) else (gradient,):
            if part is not None:
                rows = part.values if isinstance(part, IndexedSlices) else part
                tests.append(reduce_all(is_finite(rows)))
    return reduce_all(tests) if tests else convert_to_tensor(True)


class LossScale(AutoTrackable, abc.ABC):
    """The base of scales, one's own too: called, it gives the scale, a float32 scalar."""

    def __init__(self) -> None:
        self._weights: dict[tuple[str, Any], Variable] = {}

    @abc.abstractmethod
    def __call__(self) -> Tensor:
        """The scale now."""

    @abc.abstractmethod
    def update(self, grads: Any) -> tuple[Any, Any]:
        """(what changes the scale, whether this step's gradients are to be applied).

        ``grads``: a nest of gradients that were divided by the scale; None is passed over. The first is
        an operation or a tensor in graph mode; the second a bool, or a bool scalar.
        """

    @abc.abstractmethod
    def get_config(self) -> dict[str, Any]:
        """The arguments; `from_config` makes the same scale from them."""

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """The scale of a config."""
        return cls(**config)

    def _add_weight(self, name: str, initial_value: Any, dtype: Any = None) -> Any:
        """A variable of the scale, which checkpoints hold under ``name``.

        Raises `RuntimeError` where the graph has one of that name already.
        """
        key = (name, default_graph())
        if key in self._weights:
            raise RuntimeError(f"Duplicate variables detected: this scale has a {name!r} already.")
        self._weights[key] = Variable(
            initial_value, name=name, dtype=dtype, trainable=False, use_resource=True
        )
        return self._weights[key]

    def checkpoint_parts(self) -> list[tuple[str, Any]]:
        """(name, variable) of what a checkpoint saves: those of the default graph."""
        graph = default_graph()
        return sorted((name, v) for (name, owner), v in self._weights.items() if owner is graph)


class FixedLossScale(LossScale):
    """A scale that never changes.

    Raises `ValueError` for anything but a number, and for one below 1.
    """

    def __init__(self, loss_scale_value: float) -> None:
        super().__init__()
        if not isinstance(loss_scale_value, (int, float)):
            raise ValueError(
                "loss_scale_value must be a Python int or float, got "
                f"{type(loss_scale_value).__name__}: {loss_scale_value!r}"
            )
        if loss_scale_value < 1:
            raise ValueError(f"loss_scale_value must be at least 1, got {loss_scale_value}")
        self._loss_scale_value = float(loss_scale_value)

    def __call__(self) -> Tensor:
        return convert_to_tensor(self._loss_scale_value)

    def update(self, grads: Any) -> tuple[Any, bool]:
        """(an operation that does nothing, True)."""
        del grads
        return no_op(), True

    def __repr__(self) -> str:
        return f"FixedLossScale({self._loss_scale_value})"

    def get_config(self) -> dict[str, Any]:
        """``{"loss_scale_value": ...}``."""
        return {"loss_scale_value": self._loss_scale_value}


class DynamicLossScale(LossScale):
    """A scale as large as the gradients allow.

    After ``increment_period`` steps in a row with finite gradients it is multiplied by ``multiplier``,
    unless it would overflow; after a step with others, which is left out, it is divided by it, down to 1.
    """

    def __init__(
        self,
        initial_loss_scale: float = 2.0**15,
        increment_period: int = 2000,
        multiplier: float = 2.0,
    ) -> None:
        super().__init__()
        self._initial_loss_scale = float(initial_loss_scale)
        self._increment_period = int(increment_period)
        self._multiplier = float(multiplier)
        self._current_loss_scale = self._add_weight(
            "current_loss_scale", self._initial_loss_scale, dtypes.float32
        )
        self._num_good_steps = self._add_weight("good_steps", 0, dtypes.int64)

    @property
    def initial_loss_scale(self) -> float:
        """The scale at the beginning."""
        return self._initial_loss_scale

    @property
    def increment_period(self) -> int:
        """The number of good steps before the scale grows."""
        return self._increment_period

    @property
    def multiplier(self) -> float:
        """The factor by which it grows and shrinks."""
        return self._multiplier

    def __call__(self) -> Tensor:
        return convert_to_tensor(self._current_loss_scale)

    def update(self, grads: Any) -> tuple[Any, Tensor]:
        """(what changes the scale and the count of good steps, whether all gradients are finite).

        The first is a tensor in graph mode, as that of a `tf.cond`, and None with eager execution.
        """
        finite = all_finite(grads)
        scale = identity(self._current_loss_scale)
        steps = identity(self._num_good_steps) + 1
        is_full = steps >= self._increment_period
        grown = scale * self._multiplier
        grows = logical_and(is_full, is_finite(grown))
        good_scale = where(grows, grown, scale)
        good_steps = where(is_full, steps - steps, steps)
        bad_scale = maximum(scale / self._multiplier, 1.0)
        changed = group(
            self._current_loss_scale.assign(where(finite, good_scale, bad_scale)),
            self._num_good_steps.assign(where(finite, good_steps, steps - steps)),
        )
        if changed is None:
            return None, finite
        with default_graph().control_dependencies([changed]):
            return identity(finite), finite

    def __repr__(self) -> str:
        now = ""
        if default_graph().executes_eagerly:
            now = (
                f"current_loss_scale={self._current_loss_scale.numpy()}, "
                f"num_good_steps={self._num_good_steps.numpy()}, "
            )
        settings = ", ".join(f"{name}={value}" for name, value in self.get_config().items())
        return f"DynamicLossScale({now}{settings})"

    def get_config(self) -> dict[str, Any]:
        """The three arguments."""
        return {
            "initial_loss_scale": self.initial_loss_scale,
            "increment_period": self.increment_period,
            "multiplier": self.multiplier,
        }


def get(identifier: Any) -> Any:
    """The scale that a number, "dynamic" or a scale stands for; None for None.

    Raises `ValueError` for anything else.
    """
    if identifier is None or isinstance(identifier, LossScale):
        return identifier
    if isinstance(identifier, (int, float)):
        return FixedLossScale(identifier)
    if isinstance(identifier, str) and identifier == "dynamic":
        return DynamicLossScale()
    raise ValueError(
        f"Could not interpret loss scale identifier: {identifier!r}. It is a number, 'dynamic', or a "
        "tf.train.experimental.LossScale."
    )
