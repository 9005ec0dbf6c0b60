"""Broadcasting: its ops, and gradients of ops that broadcast, summed back to the shape of an input."""

from __future__ import annotations

from typing import Any

from dataflow import shapes
from dataflow.graph.op_signature import INDEX
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, get_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.ops.gradient_counts import counted_as_broadcast
from dataflow.ops.indexed_slices import IndexedSlices, to_dense
from dataflow.ops.reshape import reshape
from dataflow.ops.shape import need_rank, shape
from dataflow.ops.static_value import static_dims
from dataflow.shapes import BroadcastError, Dims, broadcast, list_dims
from dataflow.tensorflow_numbers import draws_as_tensorflow


@define_op("BroadcastTo", "input: T, shape: Tidx -> output: T", Tidx=INDEX, shape_input=1)
def broadcast_to(input: Tensor, shape: Tensor) -> Dims:
    """The input repeated along axes of size 1, and new leading axes, up to ``shape``.

    Gradient: summed back over the repeated axes.
    """
    need_rank(shape, 1, "the shape")
    dims = static_dims(shape)
    if dims is not None and input.dims is not None:
        if len(input.dims) > len(dims):
            raise ValueError(
                f"the rank of {shapes.list_dims(input.dims)} exceeds that of {shapes.list_dims(dims)}"
            )
        for have, want in zip(reversed(input.dims), reversed(dims), strict=False):
            if have is not None and want is not None and have != want and have != 1:
                raise ValueError(
                    f"incompatible shapes: {shapes.list_dims(input.dims)} does not broadcast to "
                    f"{shapes.list_dims(dims)}"
                )
    return dims


@broadcast_to.gradient
def broadcast_to_gradient(op: Operation, grad: Tensor) -> list[Any]:
    source = op.inputs[0]
    have = shape(source, out_type=op.inputs[1].dtype)
    _, axes = broadcast_gradient_args_op(op.inputs[1], have)
    return [reshape(get_op("Sum")(grad, axes), shape(source)), None]


@define_op(
    "BroadcastArgs",
    "s0: T, s1: T -> r0: T",
    T=INDEX,
    host_inputs=("s0", "s1"),
    host_outputs=("r0",),
)
def broadcast_args_op(s0: Tensor, s1: Tensor) -> Dims:
    """The shape that two shapes broadcast to. Not differentiable."""
    need_rank(s0, 1, "a shape")
    need_rank(s1, 1, "a shape")
    if s0.dims is None or s1.dims is None or None in s0.dims or None in s1.dims:
        return (None,)
    return (max(s0.dims[0], s1.dims[0]),)  # type: ignore[type-var]


@define_op(
    "BroadcastGradientArgs",
    "s0: T, s1: T -> r0: T, r1: T",
    T=INDEX,
    host_inputs=("s0", "s1"),
    host_outputs=("r0", "r1"),
    cost=0.0,
)
def broadcast_gradient_args_op(s0: Tensor, s1: Tensor) -> list[Dims]:
    """For each of two shapes, the axes to sum over to undo broadcasting. Not differentiable."""
    need_rank(s0, 1, "a shape")
    need_rank(s1, 1, "a shape")
    return [(None,), (None,)]


not_differentiable(broadcast_args_op, broadcast_gradient_args_op)


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Tensor:
    """The shape, as a tensor, that two shape tensors broadcast to."""
    return broadcast_args_op(shape_x, shape_y)  # type: ignore[no-any-return]


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
    # A program of TensorFlow's may look for the sum behind a reshape, as K-FAC does; a rewrite takes it out.
    shorter = not draws_as_tensorflow()
    if shorter and num_new == 0:
        return sum_op(grad, axes, keep_dims=True)
    total = sum_op(grad, axes)
    if shorter and len(axes) == num_new:
        return total
    sizes = list(x.dims) if None not in x.dims else shape(x)
    return reshape(total, sizes)


def broadcast_gradients(op: Operation, grad_x: Any, grad_y: Any) -> list[Any]:
    """``grad_x`` and ``grad_y``, which have the shape of the result, in the shapes of the inputs."""
    x, y = op.inputs[:2]
    with counted_as_broadcast(op):
        return _summed_back(x, y, grad_x, grad_y)


def _in_shape(grad: Any, dims: tuple[int | None, ...]) -> Any:
    """``grad``, reshaped where a program gave as many elements in another shape: ``[1]`` for a scalar's, say."""
    if not isinstance(grad, Tensor) or grad.dims is None or grad.dims == dims or None in grad.dims:
        return grad
    return reshape(grad, list(dims))


def _summed_back(x: Tensor, y: Tensor, grad_x: Any, grad_y: Any) -> list[Any]:
    if x.dims is not None and x.dims == y.dims and None not in x.dims:
        return [_in_shape(grad_x, x.dims), _in_shape(grad_y, x.dims)]
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
        shapes = [shape(x), shape(y)]
        reduce_axes = broadcast_gradient_args_op(*shapes)
        for i in pending:
            result[i] = reshape(get_op("Sum")(result[i], reduce_axes[i]), shapes[i])
    return result
