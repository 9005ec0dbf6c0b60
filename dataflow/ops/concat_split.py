"""Putting tensors together and taking them apart: concat, stack, split."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.graph.conversion import convert_to_tensor, is_tensor_like
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.op_signature import INDEX
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, get_op, not_differentiable, refuse_gradient
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import AxisLike, TensorLike
from dataflow.ops.casts import cast
from dataflow.ops.gradient_counts import num_concat_nodes
from dataflow.ops.identity import identity
from dataflow.ops.ragged_dispatch import takes_ragged
from dataflow.ops.reshape import expand_dims
from dataflow.ops.seeds import count_left_out, counted_as
from dataflow.ops.shape import axis_of, need_rank, rank, shape
from dataflow.ops.static_value import static_value
from dataflow.shapes import Dims, Shape

# ---- concat -------------------------------------------------------------------------------


def _concat_dims(values: list[Tensor], axis: int | None) -> Dims:
    known = [t.dims for t in values if t.dims is not None]
    if not known:
        return None
    rank = len(known[0])
    for dims in known:
        if len(dims) != rank:
            raise ValueError(
                f"ranks differ: {shapes.list_dims(known[0])} and {shapes.list_dims(dims)}\n"
                "To put tensors side by side along a new axis use tf.stack."
            )
    if rank == 0:
        raise ValueError(
            "cannot concatenate scalars: there is no axis to join them on\nUse tf.stack instead."
        )
    if axis is None:
        return (None,) * rank
    axis = shapes.normalize_axis(axis, rank)
    out: list[int | None] = list(known[0])
    for dims in known[1:]:
        for i, d in enumerate(dims):
            if i == axis or d is None:
                continue
            if out[i] is None:
                out[i] = d
            elif out[i] != d:
                raise ValueError(
                    f"Dimension {i} in both shapes must be equal, but are {out[i]} and {d}. Shapes are "
                    f"{shapes.list_dims(known[0])} and {shapes.list_dims(dims)}.\nOnly axis {axis}, along which they are joined, may "
                    "differ."
                )
    sizes = [None if t.dims is None else t.dims[axis] for t in values]
    out[axis] = None if None in sizes else sum(sizes)  # type: ignore[arg-type]
    return tuple(out)


@define_op("ConcatV2", "values: N * T, axis: Tidx -> output: T", Tidx=INDEX)
def concat_op(values: list[Tensor], axis: Tensor) -> Dims:
    """Tensors joined along ``axis``; all other sizes must agree.

    Shape: that of the inputs, their sizes along ``axis`` added. Gradient: cut apart again.
    """
    need_rank(axis, 0, "the axis")
    return _concat_dims(values, axis_of(axis))


@define_op("Concat", "concat_dim: int32, values: N * T -> output: T")
def concat_v1_op(concat_dim: Tensor, values: list[Tensor]) -> Dims:
    """The older form of ConcatV2, axis first. Shape and gradient: the same."""
    need_rank(concat_dim, 0, "the axis")
    return _concat_dims(values, axis_of(concat_dim))


@define_op(
    "ConcatOffset",
    "concat_dim: int32, shape: N * shape_type -> offset: N * shape_type",
    shape_type=INDEX,
    host_outputs=("offset",),
    later_attrs={"shape_type": dtypes.int32},
)
def concat_offset_op(concat_dim: Tensor, shape: list[Tensor]) -> list[Dims]:
    """Where each input of a concat begins in its output. Not differentiable."""
    return [t.dims for t in shape]


not_differentiable(concat_offset_op)


def _concat_gradient(values: list[Tensor], axis: Tensor, grad: Tensor) -> list[Any]:
    with counted_as(num_concat_nodes(values)):
        return _parts_of(values, axis, grad)


def _parts_of(values: list[Tensor], axis: Tensor, grad: Tensor) -> list[Any]:
    grad = convert_to_tensor(grad)  # rows of a gather become a whole tensor here
    known = axis_of(axis, None if grad.dims is None else len(grad.dims))
    if known is not None and all(t.dims is not None for t in values):
        sizes = [t.dims[known] for t in values]  # type: ignore[index]
        if None not in sizes:
            return split(grad, sizes, axis)
    from dataflow.ops.gather_scatter import gather

    if known is None or known < 0:
        known = get_op("FloorMod")(cast(axis, dtypes.int32), rank(grad))
    lengths = [gather(shape(t), known) for t in values]
    return split(grad, stack(lengths), axis, num=len(values))


@concat_op.gradient
def concat_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [*_concat_gradient(op.inputs[:-1], op.inputs[-1], grad), None]


@concat_v1_op.gradient
def concat_v1_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [None, *_concat_gradient(op.inputs[1:], op.inputs[0], grad)]


@takes_ragged("concat")
def concat(
    values: TensorLike, axis: AxisLike | None = None, name: str = "concat", concat_dim: Any = None
) -> Tensor:
    """Joins tensors along ``axis``: ``tf.concat([a, b], 0)``.

    The order of TensorFlow before 1.0, ``tf.concat(0, [a, b])``, is noticed and works too.
    Raises `ShapeError` when sizes of other axes differ.
    """
    if axis is None:
        axis = concat_dim
    if (isinstance(values, (int, np.integer)) and isinstance(axis, (list, tuple))) or (
        is_tensor_like(values) and isinstance(axis, (list, tuple)) and len(axis) > 0
    ):
        values, axis = axis, values
    if axis is None:
        raise ValueError("tf.concat needs an axis")
    if not isinstance(values, (list, tuple)):
        values = [values]
    if not values:
        raise ValueError("tf.concat needs at least one tensor, got an empty list")
    if len(values) == 1:
        with op_scope(name, "concat", values):
            need_rank(convert_to_tensor(axis, dtypes.int32, "concat_dim"), 0, "the axis")
            return identity(values[0], name=name or "concat")
    return concat_op(values, axis, name=name or "concat")  # type: ignore[no-any-return]


# ---- stack --------------------------------------------------------------------------------


def _merged(values: list[Tensor], op_name: str) -> Dims:
    dims: Dims = None
    for t in values:
        try:
            dims = shapes.merge(dims, t.dims)
        except ValueError:
            raise ValueError(
                f"shapes differ: {shapes.list_dims(values[0].dims)} and {shapes.list_dims(t.dims)}\n"
                f"{op_name} needs tensors of the same shape; tf.concat joins those that differ."
            ) from None
    return dims


@define_op("Pack", "values: N * T -> output: T", inline_safe=True)
def stack_op(values: list[Tensor], *, axis: int = 0) -> Dims:
    """Tensors of the same shape, side by side along a new axis.

    Shape: that of the inputs with their number put in at ``axis``. Gradient: taken apart again.
    """
    dims = _merged(values, "tf.stack")
    if dims is None:
        return None
    rank = len(dims) + 1
    if not -rank <= axis < rank:
        raise ValueError(f"axis = {axis} not in [{-rank}, {rank})")
    at = axis % rank
    return (*dims[:at], len(values), *dims[at:])


@define_op("Unpack", "value: T -> output: num * T", view_of=0)
def unstack_op(value: Tensor, *, num: int, axis: int = 0) -> list[Dims]:
    """A tensor taken apart along ``axis``; ``num`` tensors without that axis.

    Gradient: stacked again.
    """
    dims = value.dims
    if dims is None:
        return [None] * num
    at = shapes.normalize_axis(axis, len(dims))
    if dims[at] is not None and dims[at] != num:
        raise ValueError(f"axis {axis} has size {dims[at]}, so it cannot be unstacked to {num}")
    return [dims[:at] + dims[at + 1 :]] * num


@stack_op.gradient
def stack_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return unstack(grad, len(op.inputs), op.attrs["axis"])


@unstack_op.gradient
def unstack_gradient(op: Operation, *grads: Tensor) -> list[Any]:
    return [stack(list(grads), op.attrs["axis"])]


@takes_ragged("stack")
def stack(values: TensorLike, axis: int = 0, name: str = "stack") -> Tensor:
    """Tensors of the same shape side by side along a new axis (before 1.0: ``tf.pack``).

    Python numbers alone give a constant, and along axis 0 a tensor is itself, as in TensorFlow.
    """
    if axis == 0:
        if isinstance(values, Tensor):
            return values
        try:
            if is_tensor_like(values):  # a variable, too
                return convert_to_tensor(values)
            if not _holds_tensor(values):
                value = convert_to_tensor(values, name=name)
                if value.dims != ():
                    return value
        except (TypeError, ValueError):
            pass
    if isinstance(values, Tensor):
        if values.dims is None or not values.dims or values.dims[0] is None:
            raise TypeError(f"tf.stack needs a list of tensors, got the tensor {values.name!r}")
        values = unstack(values)
    return stack_op(values, axis=axis, name=name)  # type: ignore[no-any-return]


def _holds_tensor(values: TensorLike) -> bool:
    if isinstance(values, (list, tuple)):
        return any(_holds_tensor(v) for v in values)
    return is_tensor_like(values)


def unstack(
    value: TensorLike, num: int | None = None, axis: int = 0, name: str = "unstack"
) -> list[Tensor]:
    """The parts of ``value`` along ``axis``, as a list of tensors (before 1.0: ``tf.unpack``).

    ``num`` is needed only where the static size is unknown. Raises `ValueError` otherwise.
    """
    tensor = convert_to_tensor(value)
    if num is None:
        if tensor.dims is not None:
            if not -len(tensor.dims) <= axis < len(tensor.dims):
                raise ValueError(f"axis = {axis} not in [{-len(tensor.dims)}, {len(tensor.dims)})")
            num = tensor.dims[axis]
        if num is None:
            raise ValueError(
                f"Cannot infer argument `num` from shape {tensor.shape}: say how many parts "
                "axis " + str(axis) + " has, tf.unstack(value, num=...)."
            )
    return list(unstack_op(tensor, num=num, axis=axis, name=name))


@define_op("ParallelConcat", "values: N * T -> output: T")
def parallel_concat_op(values: list[Tensor], *, shape: Shape) -> Dims:
    """Tensors whose first axis has size 1, joined along it. Not differentiable."""
    _merged(values, "tf.parallel_stack")
    return shape


refuse_gradient(parallel_concat_op)


def parallel_stack(values: Any, name: str = "parallel_stack") -> Tensor:
    """As `tf.stack` along axis 0, for tensors of fully known shape. Not differentiable."""
    with op_scope(name, "parallel_stack", values):
        first = convert_to_tensor(values[0])
        if first.dims is None or None in first.dims:
            raise ValueError("tf.parallel_stack needs fully known shapes; use tf.stack")
        parts = [expand_dims(v, 0) for v in values]
        return parallel_concat_op(parts, shape=(len(values), *first.dims))  # type: ignore[no-any-return]


# ---- split --------------------------------------------------------------------------------


@define_op("Split", "split_dim: int32, value: T -> output: num_split * T", view_of=1)
def split_op(split_dim: Tensor, value: Tensor, *, num_split: int) -> list[Dims]:
    """A tensor cut into ``num_split`` equal parts along an axis.

    Shape: that axis divided, which must go without rest. Gradient: joined again.
    """
    if num_split < 1:
        raise ValueError(f"num_split must be at least 1, got {num_split}")
    axis = axis_of(split_dim, None if value.dims is None else len(value.dims))
    if value.dims is None:
        return [None] * num_split
    if axis is None:
        return [(None,) * len(value.dims)] * num_split
    size = value.dims[axis]
    if size is not None and size % num_split:
        raise ValueError(
            f"axis {axis} has size {size}, which does not divide into {num_split} equal parts\n"
            "Give a list of sizes, tf.split(value, [size, ...], axis), for parts that differ."
        )
    part = None if size is None else size // num_split
    return [(*value.dims[:axis], part, *value.dims[axis + 1 :])] * num_split


@define_op(
    "SplitV",
    "value: T, size_splits: Tlen, split_dim: int32 -> output: num_split * T",
    Tlen=INDEX,
    view_of=0,
)
def split_v_op(
    value: Tensor, size_splits: Tensor, split_dim: Tensor, *, num_split: int
) -> list[Dims]:
    """A tensor cut along an axis into parts of given sizes, one of which may be -1.

    Gradient: joined again.
    """
    need_rank(size_splits, 1, "size_splits")
    if size_splits.dims is not None and size_splits.dims[0] not in (None, num_split):
        raise ValueError(f"{size_splits.dims[0]} sizes for {num_split} parts")
    axis = axis_of(split_dim, None if value.dims is None else len(value.dims))
    if value.dims is None:
        return [None] * num_split
    if axis is None:
        return [(None,) * len(value.dims)] * num_split
    known = static_value(size_splits)
    total = value.dims[axis]
    if known is None:
        sizes: list[int | None] = [None] * num_split if num_split > 1 else [total]
    else:
        sizes = [int(s) for s in known]
        if sizes.count(-1) > 1:
            raise ValueError("only one size may be -1")
        if -1 in sizes:
            rest = None if total is None else total - sum(s for s in sizes if s != -1)  # type: ignore[misc]
            if rest is not None and rest < 0:
                raise ValueError(f"sizes {sizes} exceed the size {total} of axis {axis}")
            sizes = [rest if s == -1 else s for s in sizes]
        elif total is not None and sum(sizes) != total:  # type: ignore[arg-type]
            raise ValueError(
                f"sizes {sizes} add up to {sum(sizes)}, axis {axis} has size {total}"  # type: ignore[arg-type]
            )
    return [(*value.dims[:axis], s, *value.dims[axis + 1 :]) for s in sizes]


@split_op.gradient
def split_gradient(op: Operation, *grads: Tensor) -> list[Any]:
    return [None, concat(list(grads), op.inputs[0])]


@split_v_op.gradient
def split_v_gradient(op: Operation, *grads: Tensor) -> list[Any]:
    return [concat(list(grads), op.inputs[2]), None, None]


def split(
    value: TensorLike | None = None,
    num_or_size_splits: Any = None,
    axis: AxisLike = 0,
    num: int | None = None,
    name: str = "split",
    split_dim: Any = None,
    num_split: Any = None,
) -> list[Tensor]:
    """Cuts ``value`` along ``axis`` into equal parts (a number) or parts of given sizes (a list).

    The order of TensorFlow before 1.0, ``tf.split(split_dim, num_split, value)``, is noticed.
    Raises `ShapeError` when the size does not divide.
    """
    if num_split is not None:
        num_or_size_splits = num_split
    if split_dim is not None:
        axis = split_dim
    if isinstance(value, (int, np.integer)) and (
        is_tensor_like(axis) or isinstance(axis, (np.ndarray, list))
    ):
        value, axis = axis, value
    if isinstance(num_or_size_splits, shapes.Dimension):
        num_or_size_splits = int(num_or_size_splits)
    if isinstance(num_or_size_splits, (int, np.integer)):
        count_left_out(1)  # the number of parts is a constant there
        return list(split_op(axis, value, num_split=int(num_or_size_splits), name=name or "split"))
    sizes = convert_to_tensor(num_or_size_splits)
    if sizes.dims == ():
        raise ValueError(
            "Rank-0 tensors are not supported as the num_or_size_splits argument to split. "
            "The number of parts must be a Python number."
        )
    if num is None:
        num = None if sizes.dims is None else sizes.dims[0]
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {sizes.shape}")
    return list(split_v_op(value, sizes, axis, num_split=num, name=name or "split"))
