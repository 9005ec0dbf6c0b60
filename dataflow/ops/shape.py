"""Ops that ask for a shape, and checks of ranks and axes."""

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
from dataflow.graph.registry import define_op, get_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.ops.casts import cast
from dataflow.ops.ragged_dispatch import takes_ragged
from dataflow.ops.sources import constant
from dataflow.ops.static_value import static_value
from dataflow.shapes import Dims


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


def shape_of_value(tensor: Tensor, out_type: DType = dtypes.int32) -> Any:
    """The shape of a tensor, or of the resource variable that it is the handle of."""
    if not tensor.dtype.is_handle:
        return shape(tensor, out_type=out_type)
    if tensor.dims is None or None in tensor.dims:
        return get_op("VariableShape")(tensor, out_type=out_type)
    return constant(list(tensor.dims), out_type)
