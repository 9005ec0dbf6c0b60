"""Weights divided by their largest singular value (Miyato et al., "Spectral Normalization", 2018)."""

from __future__ import annotations

import numbers
import re
from collections.abc import Callable
from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.logging import info
from dataflow.ops import array
from dataflow.ops.arithmetic import multiply
from dataflow.ops.graph_functions import control_dependencies, name_scope
from dataflow.ops.identity import identity, stop_gradient
from dataflow.ops.initializers import random_normal_initializer
from dataflow.ops.matmul import matmul
from dataflow.ops.moments import l2_normalize
from dataflow.ops.variable_scope import get_variable, variable_scope

_U = "spectral_norm_u"
_DTYPES = (dtypes.float16, dtypes.float32, dtypes.float64)


def compute_spectral_norm(
    w_tensor: Any, power_iteration_rounds: int = 1, training: bool = True, name: str | None = None
) -> Any:
    """An estimate of the largest singular value of ``w_tensor`` as a matrix [..., last], a scalar.

    By power iterations, which go on from a variable; with ``training`` they also change it.
    """
    with variable_scope(name, "spectral_norm"):
        w = array.reshape(w_tensor, (-1, w_tensor.shape.as_list()[-1]))
        left = variable = get_variable(
            _U,
            shape=(w.shape.as_list()[0], 1),
            dtype=w.dtype,
            initializer=random_normal_initializer(),
            trainable=False,
        )
        for _ in range(power_iteration_rounds):
            right = l2_normalize(matmul(w, left, transpose_a=True))
            left = l2_normalize(matmul(w, right))
        if training:
            with control_dependencies([variable.assign(left, name="update_u")]):
                left = identity(left)
        left, right = stop_gradient(left), stop_gradient(right)
        return matmul(matmul(left, w, transpose_a=True), right)[0][0]


def spectral_normalize(
    w: Any, power_iteration_rounds: int = 1, training: bool = True, name: str | None = None
) -> Any:
    """``w`` divided by `compute_spectral_norm`."""
    with variable_scope(name, "spectral_normalize"):
        norm = compute_spectral_norm(w, power_iteration_rounds, training)
        return array.reshape(w / norm, w.shape)


def spectral_norm_regularizer(
    scale: float, power_iteration_rounds: int = 1, training: bool = True, scope: str | None = None
) -> Callable[..., Any]:
    """A regularizer: ``scale`` times `compute_spectral_norm` of weights.

    A ``scale`` of 0.0 makes one that gives None; a whole number or a negative one is a `ValueError`.
    """
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"scale cannot be an integer: {scale}")
    if isinstance(scale, numbers.Real):
        if scale < 0.0:
            raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale:g}")
        if scale == 0.0:
            info("Scale of 0 disables regularizer.")
            return lambda _: None

    def regularize(weights: Any, name: str | None = None) -> Any:
        with name_scope(scope, "SpectralNormRegularizer", [weights]) as inner:
            factor = convert_to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            norm = compute_spectral_norm(weights, power_iteration_rounds, training)
            return multiply(factor, norm, name=inner)

    return regularize


def _is_weight(name: str) -> bool:
    return re.match(r"(.*\/)?(depthwise_|pointwise_)?(weights|kernel)$", name) is not None


def spectral_normalization_custom_getter(
    name_filter: Callable[[str], bool] = _is_weight,
    power_iteration_rounds: int = 1,
    training: bool = True,
) -> Callable[..., Any]:
    """A ``custom_getter`` for `tf.variable_scope` that normalizes the variables of a name.

    ``name_filter`` says which, by a variable's name; by default weights and kernels of layers. A
    `ValueError` for what is no function, and, when a variable is made, for one of less than two
    dimensions or of no floats.
    """
    if not callable(name_filter):
        raise ValueError("name_filter must be callable")

    def getter_of_normalized(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        if not name_filter(name):
            return getter(name, *args, **kwargs)
        if name.endswith(_U):
            raise ValueError(
                "Cannot apply Spectral Normalization to internal variables created for Spectral "
                f"Normalization. Tried to normalized variable [{name}]"
            )
        if kwargs["dtype"] not in _DTYPES:
            raise ValueError(f"Disallowed data type {kwargs['dtype']}")
        weights = getter(name, *args, **kwargs)
        if weights.shape.ndims < 2:
            raise ValueError("Spectral norm can only be applied to multi-dimensional tensors")
        return spectral_normalize(
            weights, power_iteration_rounds, training, name=f"{name}/spectral_normalize"
        )

    return getter_of_normalized
