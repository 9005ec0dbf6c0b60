"""Shapes and views: ops that ask for a shape, pass a value on, or show it in another shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.dtypes import DType, as_dtype
from dataflow.graph.conversion import (
    convert_to_tensor,
    register_tensor_conversion_function,
)
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.op_signature import INDEX
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, get_op, not_differentiable, refuse_gradient
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import AxisLike, DTypeLike, DynamicShapeLike, TensorLike
from dataflow.ops.casts import cast
from dataflow.ops.indexed_slices import IndexedSlices, takes_slices
from dataflow.ops.ragged_dispatch import maps_ragged, takes_ragged
from dataflow.ops.renamed_arguments import renamed
from dataflow.ops.sources import constant
from dataflow.ops.static_value import static_dims, static_value
from dataflow.shapes import Dims, Shape


def axis_of(tensor: Any, rank: int | None = None) -> int | None:
    """The axis that a scalar tensor holds, where known; from 0 on when the rank is known.

    Raises `ValueError` when the axis is not a scalar or lies outside of ``rank``.
    """
    if tensor.dims is not None and tensor.dims not in ((), (1,)):
        raise ValueError(f"the axis must be a scalar, got shape {shapes.list_dims(tensor.dims)}")
    value = static_value(tensor)
    if value is None:
        return None
    axis = int(np.asarray(value).reshape(-1)[0])
    return axis if rank is None else shapes.normalize_axis(axis, rank)


def need_rank(tensor: Any, rank: int, what: str) -> None:
    """Raises `ValueError` unless ``tensor`` may have ``rank`` axes."""
    if tensor.dims is not None and len(tensor.dims) != rank:
        kind = {0: "a scalar", 1: "a vector", 2: "a matrix"}.get(rank, f"of rank {rank}")
        raise ValueError(f"{what} must be {kind}, got shape {shapes.list_dims(tensor.dims)}")


# ---- asking for shapes --------------------------------------------------------------------


@define_op(
    "Shape",
    "input: T -> output: out_type",
    out_type=dtypes.INDICES,
    keeps_nothing=True,
    inline_safe=True,
    shape_only=True,
    host_outputs=("output",),
)
def shape_op(input: Tensor, *, out_type: DType = dtypes.int32) -> Dims:
    """The sizes of the input's axes, as a vector. Not differentiable."""
    return (None,) if input.dims is None else (len(input.dims),)


@define_op(
    "ShapeN",
    "input: N * T -> output: N * out_type",
    out_type=dtypes.INDICES,
    shape_only=True,
    host_outputs=("output",),
)
def shape_n(input: list[Tensor], *, out_type: DType = dtypes.int32) -> list[Dims]:
    """The shape of each of several tensors. Not differentiable."""
    return [(None,) if t.dims is None else (len(t.dims),) for t in input]


@define_op(
    "Size",
    "input: T -> output: out_type",
    out_type=dtypes.INDICES,
    keeps_nothing=True,
    shape_only=True,
    host_outputs=("output",),
)
def size_op(input: Tensor, *, out_type: DType = dtypes.int32) -> Dims:
    """The number of elements, a scalar. Not differentiable."""
    return ()


@define_op(
    "Rank",
    "input: T -> output: int32",
    keeps_nothing=True,
    shape_only=True,
    host_outputs=("output",),
)
def rank_op(input: Tensor) -> Dims:
    """The number of axes, a scalar. Not differentiable."""
    return ()


not_differentiable(shape_op, shape_n, size_op, rank_op)


def shape(input: Any, name: str | None = None, out_type: Any = None) -> Tensor:
    """The shape of ``input`` as a vector of ``out_type`` (int32 by default).

    A constant where the static shape is fully known. For a `SparseTensor`, its ``dense_shape``.
    """
    return shape_of(input, name, out_type, True)


def _dense_shape(input: Any) -> Tensor | None:
    """That of a `SparseTensor`, or of its value; ``None`` for what is dense."""
    dense_shape = getattr(input, "dense_shape", None)
    if dense_shape is None or isinstance(dense_shape, Tensor):
        return dense_shape
    return convert_to_tensor(dense_shape, dtypes.int64)


def shape_of(input: Any, name: str | None, out_type: Any, optimize: bool) -> Tensor:
    out_type = dtypes.int32 if out_type is None else as_dtype(out_type)
    with op_scope(name, "Shape", [input]) as scope:
        dense_shape = _dense_shape(input)
        if dense_shape is not None:
            return cast(dense_shape, out_type)  # type: ignore[no-any-return]
        tensor = convert_to_tensor(input)
        if optimize and tensor.dims is not None and None not in tensor.dims:
            return constant(np.array(tensor.dims, out_type.numpy), name=scope)
        return shape_op(tensor, out_type=out_type, name=scope)  # type: ignore[no-any-return]


def product_of(sizes: Any, name: str | None = None) -> Tensor:
    """The product of a vector of sizes, a scalar."""
    return get_op("Prod")(sizes, 0, name=name)  # type: ignore[no-any-return]


@takes_ragged("size")
def size(input: TensorLike, name: str | None = None, out_type: DTypeLike | None = None) -> Tensor:
    """The number of elements of ``input``, a scalar of ``out_type``."""
    out_type = dtypes.int32 if out_type is None else as_dtype(out_type)
    with op_scope(name, "Size", [input]) as scope:
        dense_shape = _dense_shape(input)
        if dense_shape is not None:
            return product_of(cast(dense_shape, out_type), name=scope)
        tensor = convert_to_tensor(input)
        known = shapes.num_elements(tensor.dims)
        if known is not None:
            return constant(known, out_type, name=scope)
        return size_op(tensor, out_type=out_type, name=scope)  # type: ignore[no-any-return]


@takes_ragged("rank")
def rank(input: TensorLike, name: str | None = None) -> Tensor:
    """The number of axes of ``input``, an int32 scalar."""
    with op_scope(name, "Rank", [input]) as scope:
        dense_shape = _dense_shape(input)
        if dense_shape is not None:
            return size(dense_shape, name=scope)
        tensor = convert_to_tensor(input)
        if tensor.dims is not None:
            return constant(len(tensor.dims), dtypes.int32, name=scope)
        return rank_op(tensor, name=scope)  # type: ignore[no-any-return]


def shape_to_tensor(value: Any, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
    """Lets a static shape stand where a shape tensor is wanted."""
    dims = shapes.as_dims(value)
    if dims is None or None in dims:
        raise ValueError(
            f"Cannot convert a partially known TensorShape {value} to a Tensor. "
            "Use tf.shape(t), which is computed when the graph runs."
        )
    large = any(d is not None and d >= 2**31 for d in dims)
    if dtype is None:
        dtype = dtypes.int64 if large else dtypes.int32
    elif large and dtype is dtypes.int32:
        raise ValueError(f"Cannot convert the TensorShape {value} to int32: a size is too large.")
    elif dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError(f"Cannot convert a TensorShape to dtype: {dtype.name}")
    return constant(np.array(dims, dtype.numpy), name=name or "shape_as_tensor")


def _dimension_to_tensor(
    value: Any, dtype: Any = None, name: Any = None, as_ref: bool = False
) -> Any:
    if value.value is None:
        raise ValueError(
            "Cannot convert an unknown Dimension to a Tensor. Use tf.shape(t)[i], "
            "which is computed when the graph runs."
        )
    if dtype is None:
        dtype = dtypes.int64 if value.value >= 2**31 else dtypes.int32
    elif dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError(f"Cannot convert a Dimension to dtype: {dtype.name}")
    return constant(np.array(value.value, dtype.numpy), name=name or "shape_as_tensor")


register_tensor_conversion_function(shapes.TensorShape, shape_to_tensor)
register_tensor_conversion_function(shapes.Dimension, _dimension_to_tensor)


# ---- passing values on --------------------------------------------------------------------


@define_op("Identity", "input: T -> output: T", is_alias=True, shape_like=0, inline_safe=True)
def identity_op(input: Tensor) -> Dims:
    """The input itself. Gradient: passes unchanged."""
    return input.dims


@define_op("IdentityN", "input: list(T) -> output: list(T)")
def identity_n(input: list[Tensor]) -> list[Dims]:
    """Several inputs, each itself. Gradient: passes unchanged."""
    return [t.dims for t in input]


@define_op("StopGradient", "input: T -> output: T", is_alias=True, shape_like=0)
@maps_ragged
def stop_gradient(input: Tensor) -> Dims:
    """The input itself, which counts as a constant for `tf.gradients`."""
    return input.dims


@define_op("PreventGradient", "input: T -> output: T", is_alias=True, shape_like=0)
def prevent_gradient_op(input: Tensor, *, message: str = "") -> Dims:
    """The input itself; asking for a gradient through it is an error with ``message``."""
    return input.dims


@define_op("Snapshot", "input: T -> output: T", is_alias=True)
def snapshot_op(input: Tensor) -> Dims:
    """The input itself. Gradient: passes unchanged."""
    return input.dims


@define_op("DebugGradientIdentity", "input: T -> output: T", is_alias=True)
def debug_gradient_identity_op(input: Tensor) -> Dims:
    """The input itself; marks a gradient for debuggers. Gradient: passes unchanged."""
    return input.dims


@define_op("GuaranteeConst", "input: T -> output: T", stateful=True)
def guarantee_const(input: Tensor) -> Dims:
    """The input itself, promised never to change. Not differentiable."""
    return input.dims


@define_op("EnsureShape", "input: T -> output: T")
def ensure_shape_op(input: Tensor, *, shape: Shape) -> Dims:
    """The input itself, checked to fit ``shape`` when it runs. Gradient: passes unchanged."""
    return shapes.merge(input.dims, shape)


@takes_slices
def _pass_gradient(op: Operation, *grads: Tensor) -> list[Any]:
    return list(grads)


for _op in (identity_op, identity_n, snapshot_op, debug_gradient_identity_op, ensure_shape_op):
    _op.gradient(_pass_gradient)
not_differentiable(stop_gradient)
refuse_gradient(guarantee_const)


@prevent_gradient_op.gradient
def prevent_gradient_gradient(op: Operation, grad: Tensor) -> list[Any]:
    raise LookupError(
        f"Gradient explicitly disabled at {op.name!r}. Reason: {op.attrs['message']!r}"
    )


@maps_ragged
def identity(input: Any, name: str | None = None) -> Tensor:
    """A tensor with the value of ``input``; as a node of its own it can be named or controlled.

    A variable's identity is its value at that point of the run.
    """
    if isinstance(input, IndexedSlices):
        dense = None if input.dense_shape is None else identity(input.dense_shape)
        return IndexedSlices(identity(input.values, name), identity(input.indices), dense)  # type: ignore[return-value]
    if hasattr(input, "dense_shape") and hasattr(input, "indices"):
        return type(input)(  # type: ignore[no-any-return]
            identity(input.indices), identity(input.values, name), identity(input.dense_shape)
        )
    return identity_op(input, name=name)  # type: ignore[no-any-return]


def ensure_shape(x: TensorLike, shape: DynamicShapeLike, name: str | None = None) -> Tensor:
    """``x`` with the static shape ``shape`` added, checked when it runs.

    Raises `ValueError` when the static shape of ``x`` contradicts ``shape`` already.
    """
    return ensure_shape_op(x, shape=shape, name=name)  # type: ignore[no-any-return]


# ---- other shapes for the same elements ---------------------------------------------------


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
    if None not in dims:
        if rest != total:
            raise ValueError(
                f"cannot reshape {total} elements to {shapes.list_dims(dims)} ({rest} elements)\n"
                + _reshape_advice(tensor.dims)
            )
        return dims
    if rest and total % rest:
        raise ValueError(
            f"cannot reshape {total} elements to {shapes.list_dims(dims)}: "
            f"{total} is not a multiple of {rest}\n" + _reshape_advice(tensor.dims)
        )
    if dims.count(None) == 1 and rest:
        return tuple(total // rest if d is None else d for d in dims)
    return dims


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


# ---- broadcasting -------------------------------------------------------------------------


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
