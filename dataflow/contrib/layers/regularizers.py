"""Penalties of large weights, and their sum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import activation as activations
from dataflow.ops.math import abs_, add_n, multiply, reduce_sum
from dataflow.ops.sources import constant

__all__ = [
    "apply_regularization",
    "l1_l2_regularizer",
    "l1_regularizer",
    "l2_regularizer",
    "sum_regularizer",
]


def _check_scale(scale: Any) -> None:
    if isinstance(scale, int) and not isinstance(scale, bool):
        raise ValueError(f"scale cannot be an integer: {scale}; write {float(scale)}.")
    if isinstance(scale, str | bytes):
        raise ValueError(f"scale must be a float, got the text {scale!r}.")
    if isinstance(scale, float | np.floating) and scale < 0.0:
        raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale}.")


def _is_zero(scale: Any) -> bool:
    """True for a number that switches a regularizer off; False for a tensor."""
    return isinstance(scale, float | np.floating) and scale == 0.0


def _of_type(scale: TensorLike, weights: TensorLike) -> Any:
    return convert_to_tensor(scale, dtype=convert_to_tensor(weights).dtype.base_dtype, name="scale")


def l2_regularizer(scale: float, scope: str | None = None) -> Any:
    """``scale * sum(w ** 2) / 2``."""
    _check_scale(scale)

    def l2(weights: TensorLike) -> Any:
        with default_graph().name_scope(scope or "l2_regularizer") as name:
            return multiply(_of_type(scale, weights), activations.l2_loss(weights), name=name)

    return (lambda _: None) if _is_zero(scale) else l2


def l1_regularizer(scale: float, scope: str | None = None) -> Any:
    """``scale * sum(|w|)``."""
    _check_scale(scale)

    def l1(weights: TensorLike) -> Any:
        with default_graph().name_scope(scope or "l1_regularizer") as name:
            return multiply(_of_type(scale, weights), reduce_sum(abs_(weights)), name=name)

    return (lambda _: None) if _is_zero(scale) else l1


def l1_l2_regularizer(
    scale_l1: float = 1.0, scale_l2: float = 1.0, scope: str | None = None
) -> Any:
    """The sum of both."""
    return sum_regularizer(
        [l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope or "l1_l2_regularizer"
    )


def sum_regularizer(regularizer_list: list[Any], scope: str | None = None) -> Any:
    """The sum of several regularizers; None where there is none."""
    given = [r for r in regularizer_list if r is not None]
    if not given:
        return None

    def total(weights: TensorLike) -> Any:
        with default_graph().name_scope(scope or "sum_regularizer") as name:
            parts = [r(weights) for r in given]
            parts = [p for p in parts if p is not None]
            return add_n(parts, name=name) if parts else None

    return total


def apply_regularization(regularizer: Callable[[Any], Any], weights_list: Any = None) -> Any:
    """The regularizer of all ``weights_list`` (the WEIGHTS collection by default), collected."""
    graph = default_graph()
    weights = weights_list or graph.get_collection(GraphKeys.WEIGHTS)
    if not weights:
        raise ValueError("No weights to regularize.")
    with graph.name_scope("get_regularization_penalty") as scope:
        penalties = [regularizer(w) for w in weights]
        penalties = [constant(0.0) if p is None else convert_to_tensor(p) for p in penalties]
        for penalty in penalties:
            if penalty.shape.ndims not in (0, None):
                raise ValueError(
                    "regularizer must return a scalar Tensor instead of a Tensor with rank "
                    f"{penalty.shape.ndims}."
                )
        penalty = add_n(penalties, name=scope)
    graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, penalty)
    return penalty
