"""Gradients of ops that broadcast: summing a gradient back to the shape of an input."""

from __future__ import annotations

from typing import Any

from dataflow.graph.operation import Operation
from dataflow.graph.registry import get_op
from dataflow.graph.tensor import Tensor
from dataflow.ops import array as array_ops
from dataflow.ops.indexed_slices import IndexedSlices, to_dense
from dataflow.shapes import BroadcastError, Dims, broadcast, list_dims


def broadcast_dims(x: Tensor, y: Tensor) -> Dims:
    """Shape rule of a two-input element-wise op; raises `ValueError` when the two do not fit."""
    a, b = x.dims, y.dims
    if a == b and (a is None or None not in a):
        return a
    try:
        return broadcast(a, b)
    except BroadcastError as e:
        raise ValueError(
            f"shapes do not broadcast: {list_dims(a)} and {list_dims(b)} (sizes {e})\n"
            "Aligned from the right, sizes must be equal or 1. "
            "tf.expand_dims(t, axis) adds an axis of size 1."
        ) from e


def _static_axes(own: Dims, other: Dims) -> list[int] | None:
    """Axes of the result that the input with shape ``own`` was repeated along, where known.

    An axis of size 1 on both sides may be listed: a sum along it changes nothing.
    """
    if own is None or other is None:
        return None
    rank = max(len(own), len(other))
    mine = (1,) * (rank - len(own)) + own
    theirs = (1,) * (rank - len(other)) + other
    axes = []
    for axis, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        if a == 1 and (b != 1 or axis < rank - len(own)):
            axes.append(axis)
        elif a is None and b != 1:
            return None
    return axes


def _sum_static(grad: Tensor, x: Tensor, axes: list[int]) -> Any:
    if not axes:
        return grad
    sum_op = get_op("Sum")
    assert x.dims is not None
    assert grad.dims is not None
    num_new = len(grad.dims) - len(x.dims)
    if num_new == 0:
        return sum_op(grad, axes, keep_dims=True)
    total = sum_op(grad, axes)
    if len(axes) == num_new:
        return total
    shape = list(x.dims) if None not in x.dims else array_ops.shape(x)
    return array_ops.reshape(total, shape)


def broadcast_gradients(op: Operation, grad_x: Any, grad_y: Any) -> list[Any]:
    """``grad_x`` and ``grad_y``, which have the shape of the result, in the shapes of the inputs."""
    x, y = op.inputs[:2]
    if x.dims is not None and x.dims == y.dims and None not in x.dims:
        return [grad_x, grad_y]
    result: list[Any] = []
    pending = []
    for own, other, grad in ((x, y, grad_x), (y, x, grad_y)):
        axes = None if grad is None else _static_axes(own.dims, other.dims)
        if axes != [] and isinstance(grad, IndexedSlices):
            grad = to_dense(grad)
        if axes is not None and (not axes or grad.dims is not None):
            grad = _sum_static(grad, own, axes)
        elif grad is not None:
            pending.append(len(result))
        result.append(grad)
    if pending:
        shapes = [array_ops.shape(x), array_ops.shape(y)]
        reduce_axes = array_ops.broadcast_gradient_args_op(*shapes)
        for i in pending:
            result[i] = array_ops.reshape(get_op("Sum")(result[i], reduce_axes[i]), shapes[i])
    return result
