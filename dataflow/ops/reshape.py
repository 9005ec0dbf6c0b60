"""The same elements, or the same bytes, in another shape: Reshape, ExpandDims, Squeeze, Bitcast."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.dtypes import DType
from dataflow.graph.op_signature import INDEX
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import AxisLike, DynamicShapeLike, TensorLike
from dataflow.ops.ragged_dispatch import takes_ragged
from dataflow.ops.renamed_arguments import renamed
from dataflow.ops.shape import axis_of, need_rank, shape
from dataflow.ops.static_value import static_dims, static_value
from dataflow.shapes import Dims


@define_op(
    "Reshape", "tensor: T, shape: Tshape -> output: T", Tshape=INDEX, shape_input=1, view_of=0
)
def reshape_op(tensor: Tensor, shape: Tensor) -> Dims:
    """The same elements in another shape; one size may be -1, which is then computed.

    Shape: ``shape``. Gradient: reshaped back.
    """
    need_rank(shape, 1, "the shape")
    dims = static_dims(shape)
    known = static_value(shape)
    total = shapes.num_elements(tensor.dims)
    if dims is None:
        return None
    if known is not None:
        sizes = np.asarray(known).tolist()
        if sizes.count(-1) > 1:
            raise ValueError(f"only one size may be -1, got {sizes}")
        if any(s < -1 for s in sizes):
            raise ValueError(f"sizes must be -1 or not negative, got {sizes}")
    if total is None:
        return dims
    rest = 1
    for d in dims:
        rest *= 1 if d is None else d
    fits = rest == total if None not in dims else not rest or total % rest == 0
    if not fits and _known_from_outside_a_branch(shape):
        return (None,) * len(dims)
    if None not in dims:
        if rest != total:
            raise ValueError(
                f"Cannot reshape a tensor with {total} elements to shape {shapes.list_dims(dims)} "
                f"({rest} elements)\n" + _reshape_advice(tensor.dims)
            )
        return dims
    if rest and total % rest:
        raise ValueError(
            f"Cannot reshape a tensor with {total} elements to shape {shapes.list_dims(dims)}: "
            f"{total} is not a multiple of {rest}\n" + _reshape_advice(tensor.dims)
        )
    if dims.count(None) == 1 and rest:
        return tuple(total // rest if d is None else d for d in dims)
    return dims


def _known_from_outside_a_branch(shape: Tensor) -> bool:
    """Whether sizes came into a branch of a `cond` as constants of the graph around it.

    Such a branch may never run, and TensorFlow, which does not look through `Switch`, builds it.
    """
    seen, waiting = {shape}, [shape]
    while waiting and len(seen) < 64:
        tensor = waiting.pop()
        if tensor.op.type == "Switch":
            return True
        waiting += [i for i in tensor.op.inputs if i not in seen]
        seen.update(tensor.op.inputs)
    return False


def _reshape_advice(before: Dims) -> str:
    return (
        f"The product of the new sizes must equal that of {shapes.list_dims(before)}. "
        "Write -1 for one size to have it computed."
    )


@reshape_op.gradient
def reshape_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [reshape(grad, shape(op.inputs[0])), None]


def reshape(
    tensor: TensorLike | None = None,
    shape: DynamicShapeLike | None = None,
    name: str | None = None,
    dims: Any = None,
) -> Tensor:
    """The elements of ``tensor`` (in row-major order) in the shape ``shape``; -1 is computed.

    Raises `ShapeError` where the number of elements is known to differ.
    """
    return reshape_op(tensor, shape if shape is not None else dims, name=name)  # type: ignore[no-any-return]


@define_op(
    "ExpandDims", "input: T, dim: Tdim -> output: T", Tdim=INDEX, inline_safe=True, view_of=0
)
def expand_dims_op(input: Tensor, dim: Tensor) -> Dims:
    """The input with an axis of size 1 put in at ``dim`` (from -rank - 1 to rank).

    Gradient: reshaped back.
    """
    if input.dims is None:
        return None
    rank = len(input.dims)
    axis = axis_of(dim)
    if axis is None:
        return (None,) * (rank + 1)
    if not -rank - 1 <= axis <= rank:
        raise ValueError(f"axis {axis} is out of range: it must lie in [{-rank - 1}, {rank}]")
    axis += rank + 1 if axis < 0 else 0
    return (*input.dims[:axis], 1, *input.dims[axis:])


@define_op("Squeeze", "input: T -> output: T", view_of=0)
def squeeze_op(input: Tensor, *, squeeze_dims: list[int] = ()) -> Dims:  # type: ignore[assignment]
    """The input without axes of size 1: all of them, or those of ``squeeze_dims``.

    Gradient: reshaped back.
    """
    if input.dims is None:
        return None
    rank = len(input.dims)
    if squeeze_dims:
        axes = {shapes.normalize_axis(a, rank) for a in squeeze_dims}
        for a in axes:
            if input.dims[a] not in (1, None):
                raise ValueError(
                    f"cannot squeeze axis {a} of {shapes.list_dims(input.dims)}: "
                    f"its size is {input.dims[a]}, not 1"
                )
        return tuple(d for i, d in enumerate(input.dims) if i not in axes)
    if None in input.dims:
        return None  # an unknown size may turn out to be 1
    return tuple(d for d in input.dims if d != 1)


@expand_dims_op.gradient
def expand_dims_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [reshape(grad, shape(op.inputs[0])), None]


@squeeze_op.gradient
def squeeze_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [reshape(grad, shape(op.inputs[0]))]


@takes_ragged("expand_dims")
def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """``input`` with a new axis of size 1 at ``axis``. ``dim`` is the older name of ``axis``."""
    axis = renamed("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    return expand_dims_op(input, axis, name=name)  # type: ignore[no-any-return]


def squeeze(
    input: TensorLike,
    axis: AxisLike | None = None,
    name: str | None = None,
    squeeze_dims: Any = None,
) -> Tensor:
    """``input`` without its axes of size 1, or without those of ``axis`` only.

    Raises `ShapeError` when an axis that is named has another size.
    """
    axis = renamed("axis", axis, "squeeze_dims", squeeze_dims)
    if axis is None:
        axis = []
    elif isinstance(axis, (int, np.integer)):
        axis = [axis]
    return squeeze_op(input, squeeze_dims=axis, name=name)  # type: ignore[no-any-return]


# ---- bits ---------------------------------------------------------------------------------

_FIXED_SIZE = dtypes.NUMBERS | {
    dtypes.qint8,
    dtypes.quint8,
    dtypes.qint16,
    dtypes.quint16,
    dtypes.qint32,
}


@define_op("Bitcast", "input: T -> output: type", T=_FIXED_SIZE)
def bitcast(input: Tensor, *, type: DType) -> Dims:
    """The same bytes read as another dtype.

    Shape: a larger element type takes away the last axis (which must have the ratio's size), a
    smaller one adds an axis. Not differentiable.
    """
    if input.dims is None:
        return None
    old, new = input.dtype.size, type.size
    if old == new:
        return input.dims
    if old > new:
        return (*input.dims, old // new)
    if not input.dims or input.dims[-1] not in (None, new // old):
        raise ValueError(
            f"cannot bitcast from {input.dtype.name} to {type.name}: the last axis of "
            f"{shapes.list_dims(input.dims)} must have size {new // old}"
        )
    return input.dims[:-1]


not_differentiable(bitcast)
