"""Clipping: to a range, or to a largest norm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow import dtypes
from dataflow.dtypes import REAL_NUMBERS
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import AxisLike, TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.arithmetic import maximum_op, minimum_op
from dataflow.ops.casts import cast
from dataflow.ops.comparison import greater_op, less_op
from dataflow.ops.elementary import rsqrt, sqrt
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.norms import global_norm
from dataflow.ops.ragged_dispatch import maps_ragged
from dataflow.ops.reduce import reduce_sum
from dataflow.ops.seeds import count_left_out, counted_as
from dataflow.ops.sources import constant
from dataflow.shapes import Dims, compatible, list_dims


@define_op("ClipByValue", "t: T, clip_value_min: T, clip_value_max: T -> output: T", T=REAL_NUMBERS)
def clip_by_value_op(t: Tensor, clip_value_min: Tensor, clip_value_max: Tensor) -> Dims:
    """The elements of t, those outside [min, max] moved to the nearer end.

    Shape: that of t; the ends are scalars or have it too. Dtype: kept.
    Gradient: dy where t is inside, else to the end that was taken.
    """
    return t.dims


@clip_by_value_op.gradient
def clip_by_value_gradient(op: Operation, grad: Tensor) -> list[Any]:
    t, low, high = op.inputs
    with counted_as(26):
        return _clip_gradients(t, low, high, grad)


def _clip_gradients(t: Tensor, low: Tensor, high: Tensor, grad: Tensor) -> list[Any]:
    zeros = array_ops.zeros_like(grad)
    below, above = less_op(t, low), greater_op(t, high)
    parts = [
        array_ops.where(below | above, zeros, grad),
        array_ops.where(below, grad, zeros),
        array_ops.where(above, grad, zeros),
    ]
    for i in (1, 2):
        if (low, high)[i - 1].dims == ():
            parts[i] = reduce_sum(parts[i])
    return parts


def _values(t: Any) -> Any:
    return convert_to_tensor(t.values if isinstance(t, IndexedSlices) else t, name="t")


def _like(t: Any, values: Any) -> Any:
    """``values`` in the form that t has."""
    return (
        IndexedSlices(values, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else values
    )


@maps_ragged
def clip_by_value(
    t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> Any:
    """The elements of t, those outside [min, max] moved to the nearer end.

    The ends are scalars, or broadcast to the shape of t; raises `ValueError` where they do not.
    """
    with default_graph().name_scope(name or "clip_by_value") as scope:
        values = _values(t)
        lower = minimum_op(values, clip_value_max)
        _same_shape(values, lower, "clip_value_max")
        result = maximum_op(lower, clip_value_min, name=scope)
        _same_shape(values, result, "clip_value_min")
        return _like(t, result)


def _same_shape(values: Tensor, result: Tensor, name: str) -> None:
    if not compatible(values.dims, result.dims):
        raise ValueError(
            f"{name} does not broadcast to the shape of t, {list_dims(values.dims)}: "
            f"the result would have shape {list_dims(result.dims)}"
        )


def clip_by_norm(
    t: TensorLike, clip_norm: TensorLike, axes: AxisLike | None = None, name: str | None = None
) -> Any:
    """t scaled down so that its L2 norm (along ``axes``) is at most ``clip_norm``."""
    with default_graph().name_scope(name or "clip_by_norm") as scope:
        values = _values(t)
        total = reduce_sum(values * values, axes, keepdims=True)
        positive = greater_op(total, 0)
        # The square root's gradient at 0 is infinite: it is computed elsewhere instead.
        safe = array_ops.where(positive, total, array_ops.ones_like(total))
        size = array_ops.where(positive, sqrt(safe), total)
        scaled = values * clip_norm
        clipped = array_ops.identity(scaled / maximum_op(size, clip_norm), name=scope)
        _same_shape(values, clipped, "clip_norm")
        return _like(t, clipped)


def clip_by_average_norm(t: TensorLike, clip_norm: TensorLike, name: str | None = None) -> Tensor:
    """t scaled down so that its L2 norm, divided by its number of elements, is at most clip_norm."""
    with default_graph().name_scope(name or "clip_by_average_norm") as scope:
        t = convert_to_tensor(t, name="t")
        count_left_out(3)  # the axes of a sum, and a second product of t and the norm
        count = cast(array_ops.size(t), dtypes.float32)
        count = cast(count, t.dtype.base_dtype)
        inverse = rsqrt(reduce_sum(t * t))
        limit = constant(1.0, t.dtype.base_dtype) / clip_norm
        return array_ops.identity(t * clip_norm * minimum_op(inverse * count, limit), name=scope)


def clip_by_global_norm(
    t_list: Any, clip_norm: TensorLike, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Tensor]:
    """A list of tensors scaled down together so that their `global_norm` is at most clip_norm.

    Returns the list (``None`` stays) and the norm before. Where that is not finite, everything
    becomes nan. Raises `TypeError` when ``t_list`` is not a sequence.
    """
    if not isinstance(t_list, Sequence) or isinstance(t_list, str):
        raise TypeError("`t_list` should be a sequence of tensors.")
    t_list = list(t_list)
    if use_norm is None:
        use_norm = global_norm(t_list, name)
    with default_graph().name_scope(name or "clip_by_global_norm") as scope:
        use_norm = convert_to_tensor(use_norm)
        inverse = 1.0 / use_norm
        scale = clip_norm * minimum_op(inverse, constant(1.0, use_norm.dtype) / clip_norm)
        count_left_out(1)
        scale = scale + (use_norm - use_norm)  # nan when the norm is infinite
        clipped: list[Any] = []
        for i, t in enumerate(t_list):
            if t is None:
                clipped.append(None)
                continue
            if not isinstance(t, IndexedSlices):
                t = convert_to_tensor(t, name=f"t_{i}")
            with default_graph().colocate_with(t.values if isinstance(t, IndexedSlices) else t):
                scaled = array_ops.identity(_values(t) * scale, name=f"{scope}_{i}")
            clipped.append(_like(t, scaled))
        return clipped, use_norm
