"""Between sparse and dense tensors: conversion and products."""

from __future__ import annotations

import re
from typing import Any

from dataflow import dtypes, shapes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.op_def import OpDef
from dataflow.graph.op_signature import Defaulted
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.arithmetic import QUOTIENT_DTYPES
from dataflow.ops.casts import cast
from dataflow.ops.fills import zeros
from dataflow.ops.gather_scatter import gather, gather_nd, scatter_nd
from dataflow.ops.reshape import reshape
from dataflow.ops.shape import need_rank, shape
from dataflow.ops.sparse_tensor import (
    SparseTensor,
    to_sparse,
)
from dataflow.ops.static_value import static_dims
from dataflow.shapes import Dims


def check_triple(indices: Tensor, values: Tensor | None, dense_shape: Tensor) -> None:
    """Raises `ValueError` unless the three tensors may make a SparseTensor."""
    need_rank(indices, 2, "the indices")
    if values is not None:
        need_rank(values, 1, "the values")
        if indices.dims is not None and values.dims is not None:
            if not shapes.compatible(indices.dims[:1], values.dims):
                raise ValueError(f"{indices.dims[0]} indices for {values.dims[0]} values")
    need_rank(dense_shape, 1, "the dense shape")
    if indices.dims is not None and not shapes.compatible(indices.dims[1:], dense_shape.dims):
        raise ValueError(
            f"indices have {indices.dims[1]} numbers, the dense shape {dense_shape.dims[0]}"  # type: ignore[index]
        )


def rank_of(indices: Tensor, dense_shape: Tensor) -> int | None:
    if indices.dims is not None and indices.dims[1] is not None:
        return indices.dims[1]
    return None if dense_shape.dims is None else dense_shape.dims[0]


# ---- dense <-> sparse --------------------------------------------------------------------


@define_op(
    "SparseToDense",
    "sparse_indices: Tindices, output_shape: Tindices, sparse_values: T, default_value: T -> dense: T",
    Tindices=dtypes.INDICES,
)
def sparse_to_dense_op(
    sparse_indices: Tensor,
    output_shape: Tensor,
    sparse_values: Tensor,
    default_value: Tensor,
    *,
    validate_indices: bool = True,
) -> Dims:
    """A dense tensor with values at indices, ``default_value`` elsewhere.

    Indices: [n, rank], or [n] for a vector, or a scalar; values: [n] or a scalar. Gradient:
    gathered for the values, the rest summed for the default.
    """
    need_rank(output_shape, 1, "the output shape")
    if sparse_indices.dims is not None and len(sparse_indices.dims) > 2:
        raise ValueError("the indices must be a scalar, a vector or a matrix")
    return static_dims(output_shape)


@sparse_to_dense_op.gradient
def sparse_to_dense_gradient(op: Operation, grad: Tensor) -> list[Any]:
    from dataflow.ops.math import reduce_sum

    indices, _, values, _ = op.inputs
    if indices.dims is not None and len(indices.dims) < 2:
        indices = reshape(indices, [-1, 1])
    value_grad = gather_nd(grad, indices)
    if values.dims == ():
        value_grad = reduce_sum(value_grad)
    default_grad = reduce_sum(grad) - reduce_sum(value_grad)
    return [None, None, value_grad, default_grad]


def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """A dense tensor of ``output_shape``: values at indices, ``default_value`` elsewhere.

    With ``validate_indices`` indices must be sorted and not repeat.
    """
    return sparse_to_dense_op(  # type: ignore[no-any-return]
        sparse_indices,
        output_shape,
        sparse_values,
        default_value,
        validate_indices=validate_indices,
        name=name,
    )


def sparse_tensor_to_dense(
    sp_input: Any, default_value: Any = None, validate_indices: bool = True, name: str | None = None
) -> Tensor:
    """The dense tensor that a SparseTensor stands for."""
    sp = to_sparse(sp_input)
    if default_value is None:
        default_value = zeros([], sp.dtype)
    result = sparse_to_dense(
        sp.indices,
        sp.dense_shape,
        sp.values,
        default_value,
        validate_indices,
        name,
    )
    if sp.shape.ndims is not None:
        result.set_shape(sp.shape)
    return result


def from_dense(tensor: TensorLike, name: str | None = None) -> SparseTensor:
    """The elements of a dense tensor that are not zero (or empty) as a SparseTensor."""
    from dataflow.ops.math import not_equal
    from dataflow.ops.selection import where

    with op_scope(name, "dense_to_sparse"):
        tensor = convert_to_tensor(tensor)
        zero = b"" if tensor.dtype.base_dtype is dtypes.string else 0
        there = tensor
        if tensor.dtype.base_dtype is not dtypes.bool_:
            there = not_equal(tensor, convert_to_tensor(zero, tensor.dtype))
        indices = where(there)
        return SparseTensor(
            indices, gather_nd(tensor, indices), shape(tensor, out_type=dtypes.int64)
        )


# ---- products ----------------------------------------------------------------------------


@define_op(
    "SparseTensorDenseMatMul",
    "a_indices: Tindices, a_values: T, a_shape: int64, b: T -> product: T",
    Tindices=Defaulted(dtypes.int64, dtypes.INDICES),
)
def sparse_tensor_dense_matmul_op(
    a_indices: Tensor,
    a_values: Tensor,
    a_shape: Tensor,
    b: Tensor,
    *,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
) -> Dims:
    """The product of a sparse and a dense matrix.

    Shape: [rows of a, columns of b]. Gradient: the transposed product for b; for each value of a
    the product of the gradient's row and b's row that it joined.
    """
    check_triple(a_indices, a_values, a_shape)
    need_rank(b, 2, "b")
    sizes = static_dims(a_shape) or (None, None)
    if len(sizes) != 2:
        raise ValueError(f"a must be a matrix, got a dense shape of {len(sizes)} numbers")
    rows, inner = reversed(sizes) if adjoint_a else sizes
    b_dims = b.dims or (None, None)
    b_inner, columns = reversed(b_dims) if adjoint_b else b_dims
    if inner is not None and b_inner is not None and inner != b_inner:
        raise ValueError(
            f"inner dimensions differ: {list(sizes)} x {shapes.list_dims(b_dims)}\n"
            "The columns of a must equal the rows of b."
        )
    return (rows, columns)


@sparse_tensor_dense_matmul_op.gradient
def sparse_tensor_dense_matmul_gradient(op: Operation, grad: Tensor) -> list[Any]:
    from dataflow.ops.math import reduce_sum
    from dataflow.ops.permute import transpose

    indices, values, dense_shape, b = op.inputs
    adjoint_a, adjoint_b = op.attrs["adjoint_a"], op.attrs["adjoint_b"]
    b_grad = sparse_tensor_dense_matmul_op(
        indices, values, dense_shape, grad, adjoint_a=not adjoint_a
    )
    if adjoint_b:
        b_grad = transpose(b_grad, conjugate=True)
    rows, columns = indices[:, 0], indices[:, 1]
    if adjoint_a:
        rows, columns = columns, rows
    other = transpose(b, conjugate=True) if adjoint_b else b
    value_grad = reduce_sum(gather(grad, rows) * gather(other, columns), 1)
    return [None, value_grad, None, b_grad]


def sparse_tensor_dense_matmul(
    sp_a: Any,
    b: TensorLike,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product of the sparse matrix ``sp_a`` and the dense matrix ``b``.

    Raises `ShapeError` when the inner dimensions differ.
    """
    sp = to_sparse(sp_a)
    with op_scope(name, "SparseTensorDenseMatMul", [sp.indices, b]):
        b = convert_to_tensor(b, sp.dtype, name="b")
        return sparse_tensor_dense_matmul_op(  # type: ignore[no-any-return]
            sp.indices,
            sp.values,
            sp.dense_shape,
            b,
            adjoint_a=adjoint_a,
            adjoint_b=adjoint_b,
        )


def _define_cwise(name: str, text: str) -> OpDef:
    def rule(sp_indices: Tensor, sp_values: Tensor, sp_shape: Tensor, dense: Tensor) -> Dims:
        check_triple(sp_indices, sp_values, sp_shape)
        return sp_values.dims or (None,)

    rule.__doc__, rule.__name__ = text, re.sub("(?<!^)(?=[A-Z])", "_", name).lower()
    return define_op(
        name,
        "sp_indices: int64, sp_values: T, sp_shape: int64, dense: T -> output: T",
        T=dtypes.NUMBERS,
    )(rule)


_CWISE = {
    "SparseDenseCwiseAdd": _define_cwise(
        "SparseDenseCwiseAdd",
        "The values of a sparse tensor plus a dense one, broadcast to it. Gradient: to both.",
    ),
    "SparseDenseCwiseMul": _define_cwise(
        "SparseDenseCwiseMul",
        "The values of a sparse tensor times a dense one, broadcast to it. Gradient: to both.",
    ),
    "SparseDenseCwiseDiv": _define_cwise(
        "SparseDenseCwiseDiv",
        "The values of a sparse tensor divided by a dense one. Gradient: to both.",
    ),
}


def _broadcast_elements(op: Operation) -> tuple[Tensor, Tensor]:
    """The element of ``dense`` that each value met, and its coordinates in ``dense``."""
    from dataflow.ops.math import cast, floormod

    indices, _, sp_shape, dense = op.inputs
    rank = rank_of(indices, sp_shape)
    if dense.dims is None or rank is None:
        raise NotImplementedError(f"the gradient of {op.name!r} needs known ranks")
    offset = rank - len(dense.dims)
    sizes = cast(shape(dense), dtypes.int64)
    coordinates = floormod(indices[:, offset:], sizes) if dense.dims else indices[:, :0]
    return gather_nd(dense, coordinates), coordinates


@_CWISE["SparseDenseCwiseAdd"].gradient
def sparse_dense_add_gradient(op: Operation, grad: Tensor) -> list[Any]:
    _, coordinates = _broadcast_elements(op)
    dense = op.inputs[3]
    return [None, grad, None, scatter_nd(coordinates, grad, shape(dense, out_type=dtypes.int64))]


@_CWISE["SparseDenseCwiseMul"].gradient
def sparse_dense_mul_gradient(op: Operation, grad: Tensor) -> list[Any]:
    met, coordinates = _broadcast_elements(op)
    values, dense = op.inputs[1], op.inputs[3]
    whole = shape(dense, out_type=dtypes.int64)
    return [None, grad * met, None, scatter_nd(coordinates, grad * values, whole)]


@_CWISE["SparseDenseCwiseDiv"].gradient
def sparse_dense_div_gradient(op: Operation, grad: Tensor) -> list[Any]:
    met, coordinates = _broadcast_elements(op)
    values, dense = op.inputs[1], op.inputs[3]
    whole = shape(dense, out_type=dtypes.int64)
    dense_grad = scatter_nd(coordinates, -grad * values / (met * met), whole)
    return [None, grad / met, None, dense_grad]


def sparse_dense_cwise(op_type: str, sp: SparseTensor, dense: Any) -> SparseTensor:
    """``sp * dense`` or ``sp / dense``, at the places of ``sp`` only."""
    name = {"SparseDenseCwiseMul": "mul", "SparseDenseCwiseDiv": "truediv"}.get(op_type, "add")
    with op_scope(None, name, [sp.indices, dense]) as scope:
        dense = convert_to_tensor(dense, sp.dtype)
        wider = QUOTIENT_DTYPES.get(sp.dtype.base_dtype) if name == "truediv" else None
        if wider is not None:
            sp, dense = sp.with_values(cast(sp.values, wider)), cast(dense, wider)
        values = _CWISE[op_type](sp.indices, sp.values, sp.dense_shape, dense, name=scope)
        return sp.with_values(values)


def sparse_dense_cwise_add(sp_t: SparseTensor, dense_t: Any) -> SparseTensor:
    """``sp_t`` plus ``dense_t``, broadcast to it, at the places of ``sp_t`` only."""
    return sparse_dense_cwise("SparseDenseCwiseAdd", sp_t, dense_t)
