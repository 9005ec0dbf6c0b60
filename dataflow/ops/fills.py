"""Tensors of one value, by shape or like another tensor: fill, zeros, ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.dtypes import DType, as_dtype
from dataflow.graph.conversion import (
    convert_to_tensor,
)
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.op_signature import INDEX
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, get_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, DynamicShapeLike, TensorLike
from dataflow.ops.ragged_dispatch import takes_ragged
from dataflow.ops.reshape import reshape
from dataflow.ops.seeds import count_left_out
from dataflow.ops.shape import need_rank, shape_of, shape_to_tensor
from dataflow.ops.sources import constant
from dataflow.ops.static_value import static_dims, static_value
from dataflow.shapes import Dims

_SMALL_ELEMENTS = 1000


@define_op(
    "Fill",
    "dims: index_type, value: T -> output: T",
    index_type=INDEX,
    shape_input=0,
    inline_safe=True,
    cost=0.0,
)
def fill_op(dims: Tensor, value: Tensor) -> Dims:
    """A tensor of the given shape, filled with the scalar ``value``.

    Shape: ``dims``. Gradient: the sum of all elements for ``value``, none for ``dims``.
    """
    need_rank(dims, 1, "the shape")
    need_rank(value, 0, "the value")
    known = static_value(dims)
    if known is not None and (np.asarray(known) < 0).any():
        raise ValueError(f"sizes must not be negative, got {np.asarray(known).tolist()}")
    return static_dims(dims)


@fill_op.gradient
def fill_gradient(op: Operation, grad: Tensor) -> list[Any]:
    from dataflow.ops.sequences import all_axes

    return [None, get_op("Sum")(grad, all_axes(grad))]


@define_op("ZerosLike", "x: T -> y: T", shape_like=0, cost=0.0)
def zeros_like_op(x: Tensor) -> Dims:
    """Zeros of the input's shape and dtype (``False``, empty strings). Not differentiable."""
    return x.dims


@define_op("OnesLike", "x: T -> y: T", T=dtypes.NUMBERS | {dtypes.bool_}, shape_like=0, cost=0.0)
def ones_like_op(x: Tensor) -> Dims:
    """Ones of the input's shape and dtype. Not differentiable."""
    return x.dims


@define_op("Empty", "shape: int32 -> output: dtype", stateful=True)
def empty_op(shape: Tensor, *, dtype: DType, init: bool = False) -> Dims:
    """A tensor of the given shape; zeros, here also without ``init``. Not differentiable."""
    return static_dims(shape)


not_differentiable(zeros_like_op, ones_like_op, empty_op)


def _zero_of(dtype: DType) -> Any:
    return {"b": False, "S": b""}.get(dtype.kind, 0)


def _num_nodes_of_a_product(sizes: Any) -> int:
    """Those that TensorFlow makes, and does not use, to see whether ``sizes`` with tensors among them are few."""
    has_tensor = isinstance(sizes[0], Tensor)
    num_nodes = 2  # of the comparison
    for size in sizes[1:]:
        is_tensor = isinstance(size, Tensor)
        if has_tensor or is_tensor:  # a multiplication, of a constant where one factor is a number
            num_nodes += 1 if has_tensor and is_tensor else 2
            has_tensor = True
    return num_nodes


def _filled(value: TensorLike, shape: Any, dtype: DType, scope: str) -> Tensor:
    """A constant where the shape is known and small, as TensorFlow does; else a Fill node."""
    if not isinstance(shape, Tensor):
        try:
            dims = shapes.as_dims(shape)
        except (TypeError, ValueError):  # tensors among the sizes
            count_left_out(_num_nodes_of_a_product(shape))
            shape = convert_to_tensor(shape, dtypes.int32)
        else:
            if dims is not None and None not in dims:
                if (shapes.num_elements(dims) or 0) < _SMALL_ELEMENTS:
                    return constant(np.full(dims, value, dtype.numpy), dtype, name=scope)
            shape = shape_to_tensor(shapes.TensorShape(shape))
    if shape.dims is None or len(shape.dims) != 1:
        shape = reshape(shape, [-1])
    return fill_op(shape, constant(value, dtype), name=scope)  # type: ignore[no-any-return]


def zeros(
    shape: DynamicShapeLike,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
    layout: Any = None,
) -> Tensor:
    """A tensor of zeros (``False`` for bool, empty strings for string)."""
    dtype = as_dtype(dtype).base_dtype
    with op_scope(name, "zeros", [shape]) as scope:
        return _filled(_zero_of(dtype), shape, dtype, scope)


def ones(
    shape: DynamicShapeLike,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
    layout: Any = None,
) -> Tensor:
    """A tensor of ones (``True`` for bool)."""
    dtype = as_dtype(dtype).base_dtype
    if dtype is dtypes.string:
        raise TypeError("tf.ones makes numbers; for strings use tf.fill(shape, value)")
    with op_scope(name, "ones", [shape]) as scope:
        return _filled(True if dtype.kind == "b" else 1, shape, dtype, scope)


def fill(dims: Any, value: TensorLike, name: str | None = None, layout: Any = None) -> Tensor:
    """A tensor of shape ``dims`` whose elements are all the scalar ``value``."""
    return fill_op(dims, value, name=name)  # type: ignore[no-any-return]


@takes_ragged("zeros_like")
def zeros_like(
    tensor: Any, dtype: DTypeLike | None = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Zeros of the shape and dtype of ``tensor`` (or of ``dtype``)."""
    with op_scope(name, "zeros_like", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        wanted = tensor.dtype.base_dtype if dtype is None else as_dtype(dtype).base_dtype
        is_known = tensor.dims is not None and None not in tensor.dims
        if optimize and is_known and wanted.kind != "x":  # a list of tensors has more to it
            return zeros(tensor.dims, wanted, name=scope)
        if wanted is not tensor.dtype.base_dtype:
            return zeros(shape_of(tensor, None, None, optimize), wanted, name=scope)
        return zeros_like_op(tensor, name=scope)  # type: ignore[no-any-return]


@takes_ragged("ones_like")
def ones_like(
    tensor: Any, dtype: DTypeLike | None = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Ones of the shape and dtype of ``tensor`` (or of ``dtype``)."""
    with op_scope(name, "ones_like", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        wanted = tensor.dtype.base_dtype if dtype is None else as_dtype(dtype).base_dtype
        result = ones(shape_of(tensor, None, None, optimize), wanted, name=scope)
        if tensor.dims is not None:
            result.set_shape(tensor.dims)
        return result
