"""Ops on `SparseTensor`: to dense and back, products, sums, reshaping and cutting."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.dtypes import DType
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.registry import Defaulted, define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.ops.array_basics import deprecated_argument, need_rank, reshape, shape, zeros
from dataflow.ops.gather_scatter import gather, gather_nd, scatter_nd
from dataflow.ops.joining import concat, stack
from dataflow.ops.sparse_tensor import (
    SparseTensor,
    convert_to_tensor_or_sparse_tensor,
    is_sparse,
    sparse_placeholder,
    to_sparse,
)
from dataflow.ops.static_value import static_dims, static_value
from dataflow.shapes import Dims

__all__ = [
    "convert_to_tensor_or_sparse_tensor",
    "deserialize_many_sparse",
    "from_dense",
    "serialize_many_sparse",
    "serialize_sparse",
    "sparse_add",
    "sparse_concat",
    "sparse_expand_dims",
    "sparse_eye",
    "sparse_fill_empty_rows",
    "sparse_mask",
    "sparse_maximum",
    "sparse_merge",
    "sparse_minimum",
    "sparse_placeholder",
    "sparse_reduce_max",
    "sparse_reduce_max_sparse",
    "sparse_reduce_sum",
    "sparse_reduce_sum_sparse",
    "sparse_reorder",
    "sparse_reset_shape",
    "sparse_reshape",
    "sparse_retain",
    "sparse_slice",
    "sparse_softmax",
    "sparse_split",
    "sparse_tensor_dense_matmul",
    "sparse_tensor_to_dense",
    "sparse_to_dense",
    "sparse_to_indicator",
    "sparse_transpose",
]


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


def _rank_of(indices: Tensor, dense_shape: Tensor) -> int | None:
    if indices.dims is not None and indices.dims[1] is not None:
        return indices.dims[1]
    return None if dense_shape.dims is None else dense_shape.dims[0]


# ---- dense <-> sparse ---------------------------------------------------------------------


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
    need_rank(default_value, 0, "the default value")
    if sparse_indices.dims is not None and len(sparse_indices.dims) > 2:
        raise ValueError("the indices must be a scalar, a vector or a matrix")
    return static_dims(output_shape)


@sparse_to_dense_op.gradient
def sparse_to_dense_gradient(op: Any, grad: Tensor) -> list[Any]:
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
    if sp.shape._dims is not None:
        result.set_shape(sp.shape)
    return result


def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """The elements of a dense tensor that are not zero (or empty) as a SparseTensor."""
    from dataflow.ops.gather_scatter import where
    from dataflow.ops.math import not_equal

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


# ---- products -----------------------------------------------------------------------------


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
def sparse_tensor_dense_matmul_gradient(op: Any, grad: Tensor) -> list[Any]:
    from dataflow.ops.math import reduce_sum
    from dataflow.ops.rearranging import transpose

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
    sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
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


def _define_cwise(name: str, text: str) -> Any:
    def rule(sp_indices: Tensor, sp_values: Tensor, sp_shape: Tensor, dense: Tensor) -> Dims:
        check_triple(sp_indices, sp_values, sp_shape)
        return sp_values.dims or (None,)

    rule.__doc__ = text
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


def _broadcast_elements(op: Any) -> tuple[Tensor, Tensor]:
    """The element of ``dense`` that each value met, and its coordinates in ``dense``."""
    from dataflow.ops.math import cast, floormod

    indices, _, sp_shape, dense = op.inputs
    rank = _rank_of(indices, sp_shape)
    if dense.dims is None or rank is None:
        raise NotImplementedError(f"the gradient of {op.name!r} needs known ranks")
    offset = rank - len(dense.dims)
    sizes = cast(shape(dense), dtypes.int64)
    coordinates = floormod(indices[:, offset:], sizes) if dense.dims else indices[:, :0]
    return gather_nd(dense, coordinates), coordinates


@_CWISE["SparseDenseCwiseAdd"].gradient
def sparse_dense_add_gradient(op: Any, grad: Tensor) -> list[Any]:
    _, coordinates = _broadcast_elements(op)
    dense = op.inputs[3]
    return [None, grad, None, scatter_nd(coordinates, grad, shape(dense, out_type=dtypes.int64))]


@_CWISE["SparseDenseCwiseMul"].gradient
def sparse_dense_mul_gradient(op: Any, grad: Tensor) -> list[Any]:
    met, coordinates = _broadcast_elements(op)
    values, dense = op.inputs[1], op.inputs[3]
    whole = shape(dense, out_type=dtypes.int64)
    return [None, grad * met, None, scatter_nd(coordinates, grad * values, whole)]


@_CWISE["SparseDenseCwiseDiv"].gradient
def sparse_dense_div_gradient(op: Any, grad: Tensor) -> list[Any]:
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
        values = _CWISE[op_type](sp.indices, sp.values, sp.dense_shape, dense, name=scope)
        return sp.with_values(values)


# ---- sums ---------------------------------------------------------------------------------


@define_op(
    "SparseAdd",
    "a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, b_shape: int64, "
    "thresh: Treal -> sum_indices: int64, sum_values: T, sum_shape: int64",
    T=dtypes.NUMBERS,
    Treal=dtypes.REAL_NUMBERS,
)
def sparse_add_op(
    a_indices: Tensor,
    a_values: Tensor,
    a_shape: Tensor,
    b_indices: Tensor,
    b_values: Tensor,
    b_shape: Tensor,
    thresh: Tensor,
) -> list[Dims]:
    """The sum of two sparse tensors; sums with magnitude below ``thresh`` are dropped.

    Gradient: gathered at the places of each.
    """
    check_triple(a_indices, a_values, a_shape)
    check_triple(b_indices, b_values, b_shape)
    sizes = shapes.merge(static_dims(a_shape), static_dims(b_shape))
    rank = _rank_of(a_indices, a_shape)
    return [(None, rank), (None,), (len(sizes),) if sizes is not None else (rank,)]


@define_op(
    "SparseAddGrad",
    "backprop_val_grad: T, a_indices: int64, b_indices: int64, sum_indices: int64 "
    "-> a_val_grad: T, b_val_grad: T",
    T=dtypes.NUMBERS,
)
def sparse_add_grad_op(
    backprop_val_grad: Tensor, a_indices: Tensor, b_indices: Tensor, sum_indices: Tensor
) -> list[Dims]:
    """The gradient of a sum's values where a and b have theirs; 0 where dropped.

    Gradient: put back and added.
    """
    a = None if a_indices.dims is None else a_indices.dims[0]
    b = None if b_indices.dims is None else b_indices.dims[0]
    return [(a,), (b,)]


@sparse_add_op.gradient
def sparse_add_gradient(op: Any, _: Any, grad: Tensor, __: Any) -> list[Any]:
    a_grad, b_grad = sparse_add_grad_op(grad, op.inputs[0], op.inputs[3], op.outputs[0])
    return [None, a_grad, None, None, b_grad, None, None]


@sparse_add_grad_op.gradient
def sparse_add_grad_gradient(op: Any, a_grad: Tensor, b_grad: Tensor) -> list[Any]:
    """The map is linear: the sum's place of each value, found by matching coordinates."""
    from dataflow.ops.math import reduce_max

    _, a_indices, b_indices, sum_indices = op.inputs
    whole = reduce_max(concat([a_indices, b_indices, sum_indices], 0), 0) + 1
    dense = scatter_nd(a_indices, a_grad, whole) + scatter_nd(b_indices, b_grad, whole)
    return [gather_nd(dense, sum_indices), None, None, None]


@define_op(
    "SparseTensorDenseAdd",
    "a_indices: Tindices, a_values: T, a_shape: Tindices, b: T -> output: T",
    T=dtypes.NUMBERS,
    Tindices=dtypes.INDICES,
)
def sparse_tensor_dense_add_op(
    a_indices: Tensor, a_values: Tensor, a_shape: Tensor, b: Tensor
) -> Dims:
    """The dense sum of a sparse and a dense tensor of one shape. Gradient: gathered for a."""
    check_triple(a_indices, a_values, a_shape)
    return shapes.merge(static_dims(a_shape), b.dims)


@sparse_tensor_dense_add_op.gradient
def sparse_tensor_dense_add_gradient(op: Any, grad: Tensor) -> list[Any]:
    return [None, gather_nd(grad, op.inputs[0]), None, grad]


def sparse_add(a: Any, b: Any, threshold: Any = None, thresh: Any = None) -> Any:
    """The sum of two tensors at least one of which is sparse; dense when one is dense."""
    threshold = deprecated_argument("threshold", threshold, "thresh", thresh)
    threshold = 0 if threshold is None else threshold
    if not is_sparse(a) and not is_sparse(b):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if is_sparse(a) and is_sparse(b):
        a, b = to_sparse(a), to_sparse(b)
        limit = convert_to_tensor(threshold, a.dtype.real_dtype.base_dtype, "thresh")
        result = sparse_add_op(
            a.indices, a.values, a.dense_shape, b.indices, b.values, b.dense_shape, limit
        )
        merged = SparseTensor(*result)
        merged._static = a.shape.merge_with(b.shape)._dims
        return merged
    if is_sparse(b):
        a, b = b, a
    a = to_sparse(a)
    return sparse_tensor_dense_add_op(a.indices, a.values, a.dense_shape, b)


def _define_extremum(name: str, text: str, kind: Any) -> Any:
    def rule(
        a_indices: Tensor,
        a_values: Tensor,
        a_shape: Tensor,
        b_indices: Tensor,
        b_values: Tensor,
        b_shape: Tensor,
    ) -> list[Dims]:
        check_triple(a_indices, a_values, a_shape)
        check_triple(b_indices, b_values, b_shape)
        return [(None, _rank_of(a_indices, a_shape)), (None,)]

    rule.__doc__ = text
    return define_op(
        name,
        "a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, "
        "b_shape: int64 -> output_indices: int64, output_values: T",
        T=kind,
    )(rule)


sparse_maximum_op = _define_extremum(
    "SparseSparseMaximum",
    "The larger of two sparse tensors, zero where one has no value. Not differentiable.",
    dtypes.REAL_NUMBERS,
)
sparse_minimum_op = _define_extremum(
    "SparseSparseMinimum",
    "The smaller of two sparse tensors, zero where one has no value. Not differentiable.",
    dtypes.NUMBERS,
)
not_differentiable(sparse_maximum_op, sparse_minimum_op)


def _extremum(op_def: Any, sp_a: Any, sp_b: Any, name: str | None, default: str) -> SparseTensor:
    with op_scope(name, default, [sp_a.indices, sp_b.indices]) as scope:
        indices, values = op_def(
            sp_a.indices,
            sp_a.values,
            sp_a.dense_shape,
            sp_b.indices,
            sp_b.values,
            sp_b.dense_shape,
            name=scope,
        )
        return SparseTensor(indices, values, sp_a.dense_shape)


def sparse_maximum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """Element by element the larger; missing elements count as zero."""
    return _extremum(sparse_maximum_op, sp_a, sp_b, name, "SparseSparseMaximum")


def sparse_minimum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """Element by element the smaller; missing elements count as zero."""
    return _extremum(sparse_minimum_op, sp_a, sp_b, name, "SparseSparseMinimum")


def _reduced_dims(dense_shape: Tensor, axes: Tensor, keep_dims: bool) -> Dims:
    sizes, known = static_dims(dense_shape), static_value(axes)
    if sizes is None or known is None:
        return None
    gone = {shapes.normalize_axis(int(a), len(sizes)) for a in np.asarray(known).reshape(-1)}
    if keep_dims:
        return tuple(1 if i in gone else d for i, d in enumerate(sizes))
    return tuple(d for i, d in enumerate(sizes) if i not in gone)


_REDUCE = "input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32"


def _define_reduce(name: str, text: str, kind: Any, sparse: bool) -> Any:
    if sparse:

        def rule(
            input_indices: Tensor,
            input_values: Tensor,
            input_shape: Tensor,
            reduction_axes: Tensor,
            *,
            keep_dims: bool = False,
        ) -> list[Dims]:
            check_triple(input_indices, input_values, input_shape)
            dims = _reduced_dims(input_shape, reduction_axes, keep_dims)
            rank = None if dims is None else len(dims)
            return [(None, rank), (None,), (rank,)]

        outputs = "output_indices: int64, output_values: T, output_shape: int64"
    else:

        def rule(  # type: ignore[misc]
            input_indices: Tensor,
            input_values: Tensor,
            input_shape: Tensor,
            reduction_axes: Tensor,
            *,
            keep_dims: bool = False,
        ) -> Dims:
            check_triple(input_indices, input_values, input_shape)
            return _reduced_dims(input_shape, reduction_axes, keep_dims)

        outputs = "output: T"
    rule.__doc__ = text
    return define_op(name, f"{_REDUCE} -> {outputs}", T=kind)(rule)


sparse_reduce_sum_op = _define_reduce(
    "SparseReduceSum",
    "The dense sum of a sparse tensor over axes. Gradient: each value gets its sum's.",
    dtypes.NUMBERS,
    False,
)
sparse_reduce_max_op = _define_reduce(
    "SparseReduceMax",
    "The dense maximum of a sparse tensor's values over axes. Not differentiable.",
    dtypes.REAL_NUMBERS,
    False,
)
sparse_reduce_sum_sparse_op = _define_reduce(
    "SparseReduceSumSparse",
    "The sparse sum of a sparse tensor over axes. Not differentiable.",
    dtypes.NUMBERS,
    True,
)
sparse_reduce_max_sparse_op = _define_reduce(
    "SparseReduceMaxSparse",
    "The sparse maximum of a sparse tensor's values over axes. Not differentiable.",
    dtypes.REAL_NUMBERS,
    True,
)
not_differentiable(sparse_reduce_max_op, sparse_reduce_sum_sparse_op, sparse_reduce_max_sparse_op)


@sparse_reduce_sum_op.gradient
def sparse_reduce_sum_gradient(op: Any, grad: Tensor) -> list[Any]:
    indices, _, dense_shape, axes = op.inputs
    rank, known = _rank_of(indices, dense_shape), static_value(axes)
    if rank is None or known is None:
        raise NotImplementedError(f"the gradient of {op.name!r} needs axes that are known")
    gone = {shapes.normalize_axis(int(a), rank) for a in np.asarray(known).reshape(-1)}
    kept = [i for i in range(rank) if i not in gone]
    if op.attrs["keep_dims"]:
        grad = reshape(grad, gather(dense_shape, np.array(kept, np.int64)))
    coordinates = gather(indices, np.array(kept, np.int64), axis=1)
    return [None, gather_nd(grad, coordinates), None, None]


def _reduce_axes(sp: SparseTensor, axis: Any) -> Any:
    from dataflow.ops.array_basics import size
    from dataflow.ops.sequences import range_

    if axis is not None:
        return axis
    rank = sp.shape.ndims
    return list(range(rank)) if rank is not None else range_(size(sp.dense_shape))


def _reduce(
    op_def: Any, sp_input: Any, axis: Any, keepdims: Any, reduction_axes: Any, keep_dims: Any
) -> Any:
    keepdims = deprecated_argument("keepdims", keepdims, "keep_dims", keep_dims)
    axis = deprecated_argument("axis", axis, "reduction_axes", reduction_axes)
    sp = to_sparse(sp_input)
    result = op_def(
        sp.indices,
        sp.values,
        sp.dense_shape,
        _reduce_axes(sp, axis),
        keep_dims=bool(keepdims),
    )
    return result if isinstance(result, Tensor) else SparseTensor(*result)


def sparse_reduce_sum(
    sp_input: Any,
    axis: Any = None,
    keepdims: Any = None,
    reduction_axes: Any = None,
    keep_dims: Any = None,
) -> Tensor:
    """The dense sum over ``axis`` (all axes by default)."""
    return _reduce(sparse_reduce_sum_op, sp_input, axis, keepdims, reduction_axes, keep_dims)  # type: ignore[no-any-return]


def sparse_reduce_max(
    sp_input: Any,
    axis: Any = None,
    keepdims: Any = None,
    reduction_axes: Any = None,
    keep_dims: Any = None,
) -> Tensor:
    """The dense maximum of the values that are there over ``axis``; 0 where there is none."""
    return _reduce(sparse_reduce_max_op, sp_input, axis, keepdims, reduction_axes, keep_dims)  # type: ignore[no-any-return]


def sparse_reduce_sum_sparse(
    sp_input: Any,
    axis: Any = None,
    keepdims: Any = None,
    reduction_axes: Any = None,
    keep_dims: Any = None,
) -> SparseTensor:
    """The sum over ``axis`` as a SparseTensor."""
    return _reduce(  # type: ignore[no-any-return]
        sparse_reduce_sum_sparse_op, sp_input, axis, keepdims, reduction_axes, keep_dims
    )


def sparse_reduce_max_sparse(
    sp_input: Any,
    axis: Any = None,
    keepdims: Any = None,
    reduction_axes: Any = None,
    keep_dims: Any = None,
) -> SparseTensor:
    """The maximum over ``axis`` as a SparseTensor."""
    return _reduce(  # type: ignore[no-any-return]
        sparse_reduce_max_sparse_op, sp_input, axis, keepdims, reduction_axes, keep_dims
    )


@define_op(
    "SparseSoftmax",
    "sp_indices: int64, sp_values: T, sp_shape: int64 -> output: T",
    T=dtypes.FLOATING,
)
def sparse_softmax_op(sp_indices: Tensor, sp_values: Tensor, sp_shape: Tensor) -> Dims:
    """Softmax over the values that are there along the last axis. Gradient: softmax's."""
    check_triple(sp_indices, sp_values, sp_shape)
    return sp_values.dims or (None,)


@sparse_softmax_op.gradient
def sparse_softmax_gradient(op: Any, grad: Tensor) -> list[Any]:
    """s * (g - sum of g * s over the row), rows told apart by a running number."""
    indices, _, dense_shape = op.inputs
    softmax = op.outputs[0]
    product = softmax * grad
    rows = _row_numbers(indices, dense_shape)
    from dataflow.ops.math import reduce_max
    from dataflow.ops.segment import unsorted_segment_sum

    sums = unsorted_segment_sum(product, rows, reduce_max(concat([rows, [-1]], 0)) + 1)
    return [None, product - softmax * gather(sums, rows), None]


def _row_numbers(indices: Tensor, dense_shape: Tensor) -> Tensor:
    """For each element the number of its row (all axes but the last), counted densely."""
    from dataflow.ops.math import cumprod, reduce_sum
    from dataflow.ops.sequences import unique

    weights = cumprod(dense_shape[:-1], exclusive=True, reverse=True)
    flat = reduce_sum(indices[:, :-1] * weights, 1)
    return unique(flat, out_idx=dtypes.int64)[1]  # type: ignore[no-any-return]


def sparse_softmax(sp_input: Any, name: str | None = None) -> SparseTensor:
    """Softmax along the last axis over the values that are there; missing ones stay missing."""
    sp = to_sparse(sp_input)
    with op_scope(name, "SparseSoftmax", [sp.indices, sp.values]):
        return sp.with_values(sparse_softmax_op(sp.indices, sp.values, sp.dense_shape))


# ---- order, shape, parts ------------------------------------------------------------------


@define_op(
    "SparseReorder",
    "input_indices: int64, input_values: T, input_shape: int64 "
    "-> output_indices: int64, output_values: T",
)
def sparse_reorder_op(
    input_indices: Tensor, input_values: Tensor, input_shape: Tensor
) -> list[Dims]:
    """The elements in row-major order. Gradient: put back in the old order."""
    check_triple(input_indices, input_values, input_shape)
    return [input_indices.dims or (None, None), input_values.dims or (None,)]


@sparse_reorder_op.gradient
def sparse_reorder_gradient(op: Any, _: Any, grad: Tensor) -> list[Any]:
    from dataflow.ops.array_basics import size
    from dataflow.ops.sequences import invert_permutation, range_

    indices, values, dense_shape = op.inputs
    numbers = range_(size(values))
    _, order = sparse_reorder_op(indices, numbers, dense_shape)
    return [None, gather(grad, invert_permutation(order)), None]


def sparse_reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """The same SparseTensor with its elements in row-major order, as other ops expect them."""
    sp = to_sparse(sp_input)
    indices, values = sparse_reorder_op(sp.indices, sp.values, sp.dense_shape, name=name)
    result = SparseTensor(indices, values, sp.dense_shape)
    result._static = sp._static
    return result


@define_op(
    "SparseReshape",
    "input_indices: int64, input_shape: int64, new_shape: int64 "
    "-> output_indices: int64, output_shape: int64",
)
def sparse_reshape_op(input_indices: Tensor, input_shape: Tensor, new_shape: Tensor) -> list[Dims]:
    """Coordinates in another shape of as many elements. Not differentiable (the values pass)."""
    check_triple(input_indices, None, input_shape)
    need_rank(new_shape, 1, "the new shape")
    count = None if input_indices.dims is None else input_indices.dims[0]
    rank = None if new_shape.dims is None else new_shape.dims[0]
    old, new = static_value(input_shape), static_value(new_shape)
    if old is not None and new is not None and (np.asarray(new) >= 0).all():
        if int(np.prod(old)) != int(np.prod(new)):
            raise ValueError(
                f"cannot reshape {np.asarray(old).tolist()} ({int(np.prod(old))} elements) to "
                f"{np.asarray(new).tolist()} ({int(np.prod(new))} elements)"
            )
    return [(count, rank), (rank,)]


not_differentiable(sparse_reshape_op)


def sparse_reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """The same elements in another dense shape; one size may be -1."""
    sp = to_sparse(sp_input)
    shape = convert_to_tensor(shape, dtypes.int64) if not isinstance(shape, Tensor) else shape
    if shape.dtype.base_dtype is not dtypes.int64:
        from dataflow.ops.math import cast

        shape = cast(shape, dtypes.int64)
    with op_scope(name, "SparseReshape", [sp.indices]) as scope:
        indices, new_shape = sparse_reshape_op(sp.indices, sp.dense_shape, shape, name=scope)
        result = SparseTensor(indices, sp.values, new_shape)
        wanted, total = static_value(shape), shapes.num_elements(sp.shape._dims)
        if wanted is not None:
            sizes = [int(s) for s in wanted]
            if -1 in sizes and total is not None:
                rest = -int(np.prod(sizes))
                if rest:
                    sizes = [total // rest if s == -1 else s for s in sizes]
            result._static = tuple(None if s == -1 else s for s in sizes)
        return result


def sparse_transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """The axes of a SparseTensor in the order ``perm`` (reversed by default)."""
    sp = to_sparse(sp_input)
    with op_scope(name, "SparseTranspose", [sp.indices]):
        rank = sp.shape.ndims
        if perm is None:
            if rank is None:
                from dataflow.ops.array_basics import size
                from dataflow.ops.sequences import range_

                top = size(sp.dense_shape)
                perm = (top - 1) - range_(0, top, 1)
            else:
                perm = list(range(rank - 1, -1, -1))
        turned = SparseTensor(
            gather(sp.indices, perm, axis=1), sp.values, gather(sp.dense_shape, perm)
        )
        return sparse_reorder(turned)


def sparse_expand_dims(sp_input: Any, axis: Any = None, name: str | None = None) -> SparseTensor:
    """A SparseTensor with an axis of size 1 put in at ``axis`` (last by default)."""
    sp = to_sparse(sp_input)
    rank = sp.shape.ndims
    if rank is None:
        raise ValueError("sparse expand_dims needs a tensor of known rank")
    axis = -1 if axis is None else int(axis)
    at = axis + rank + 1 if axis < 0 else axis
    if not 0 <= at <= rank:
        raise ValueError(f"axis {axis} not in [{-rank - 1}, {rank}]")
    with op_scope(name, "expand_dims", [sp.indices]):
        count = shape(sp.indices, out_type=dtypes.int64)[0]
        zero = zeros(stack([count, 1]), dtypes.int64)
        indices = concat([sp.indices[:, :at], zero, sp.indices[:, at:]], 1)
        one = convert_to_tensor(np.array([1], np.int64))
        sizes = concat([sp.dense_shape[:at], one, sp.dense_shape[at:]], 0)
        return SparseTensor(indices, sp.values, sizes)


def sparse_eye(
    num_rows: int, num_columns: int | None = None, dtype: Any = dtypes.float32, name: Any = None
) -> SparseTensor:
    """The identity matrix as a SparseTensor; sizes are Python numbers."""
    with op_scope(name, "eye"):
        columns = num_rows if num_columns is None else num_columns
        count = min(int(num_rows), int(columns))
        diagonal = np.arange(count, dtype=np.int64)
        values = np.ones(count, dtypes.as_dtype(dtype).numpy)
        return SparseTensor(np.stack([diagonal, diagonal], 1), values, [num_rows, columns])


@define_op(
    "SparseConcat",
    "indices: N * int64, values: N * T, shapes: N * int64 "
    "-> output_indices: int64, output_values: T, output_shape: int64",
)
def sparse_concat_op(
    indices: list[Tensor], values: list[Tensor], shapes: list[Tensor], *, concat_dim: int
) -> list[Dims]:
    """Sparse tensors joined along an axis, in row-major order. Gradient: to each one's values."""
    for i, v, s in zip(indices, values, shapes, strict=True):
        check_triple(i, v, s)
    counts = [None if v.dims is None else v.dims[0] for v in values]
    total = None if None in counts else sum(counts)  # type: ignore[arg-type]
    rank = next((r for r in map(_rank_of, indices, shapes) if r is not None), None)
    return [(total, rank), (total,), (rank,)]


@sparse_concat_op.gradient
def sparse_concat_gradient(op: Any, _: Any, grad: Tensor, __: Any) -> list[Any]:
    """Concatenates running numbers the same way, which tells where each value went."""
    from dataflow.ops.array_basics import size
    from dataflow.ops.joining import split
    from dataflow.ops.sequences import invert_permutation, range_

    count = len(op.inputs) // 3
    indices, values, sizes = op.inputs[:count], op.inputs[count : 2 * count], op.inputs[2 * count :]
    lengths = [size(v) for v in values]
    ends = [lengths[0]]
    for length in lengths[1:]:
        ends.append(ends[-1] + length)
    numbers = [range_(e - n, e) for e, n in zip(ends, lengths, strict=True)]
    _, order, _ = sparse_concat_op(indices, numbers, sizes, concat_dim=op.attrs["concat_dim"])
    back = gather(grad, invert_permutation(order))
    parts = split(back, stack(lengths), 0, num=count)
    return [None] * count + list(parts) + [None] * count


def sparse_concat(
    axis: int,
    sp_inputs: Any,
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: Any = None,
    expand_nonconcat_dims: Any = None,
) -> SparseTensor:
    """SparseTensors joined along ``axis``.

    Other sizes must agree, or with ``expand_nonconcat_dims`` become the largest.
    """
    from dataflow.ops.math import reduce_max

    expand = expand_nonconcat_dim if expand_nonconcat_dims is None else expand_nonconcat_dims
    axis = axis if concat_dim is None else concat_dim
    inputs = [to_sparse(sp) for sp in sp_inputs]
    if len(inputs) == 1:
        return inputs[0]
    sizes = [sp.dense_shape for sp in inputs]
    if expand:
        rank = inputs[0].shape.ndims
        at = axis if axis >= 0 or rank is None else axis + rank
        largest = reduce_max(stack(sizes), 0)
        sizes = [concat([largest[:at], s[at : at + 1], largest[at + 1 :]], 0) for s in sizes]
    result = sparse_concat_op(
        [sp.indices for sp in inputs],
        [sp.values for sp in inputs],
        sizes,
        concat_dim=axis,
        name=name,
    )
    return SparseTensor(*result)


@define_op(
    "SparseSlice",
    "indices: int64, values: T, shape: int64, start: int64, size: int64 "
    "-> output_indices: int64, output_values: T, output_shape: int64",
)
def sparse_slice_op(
    indices: Tensor, values: Tensor, shape: Tensor, start: Tensor, size: Tensor
) -> list[Dims]:
    """The part of a sparse tensor from ``start`` on, of at most ``size``. Gradient: put back."""
    check_triple(indices, values, shape)
    rank = _rank_of(indices, shape)
    return [(None, rank), (None,), (rank,)]


@sparse_slice_op.gradient
def sparse_slice_gradient(op: Any, _: Any, grad: Tensor, __: Any) -> list[Any]:
    """Slices running numbers the same way, which tells where each value came from."""
    from dataflow.ops.array_basics import size as size_of
    from dataflow.ops.sequences import range_

    indices, values, dense_shape, start, size = op.inputs
    count = size_of(values)
    _, numbers, _ = sparse_slice_op(indices, range_(count), dense_shape, start, size)
    back = scatter_nd(reshape(numbers, [-1, 1]), grad, reshape(count, [1]))
    return [None, back, None, None, None]


def sparse_slice(sp_input: Any, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """The part of a SparseTensor that starts at ``start`` and has shape ``size``."""
    sp = to_sparse(sp_input)
    with op_scope(name, "SparseSlice", [sp.indices]) as scope:
        start = convert_to_tensor(start, dtypes.int64)
        size = convert_to_tensor(size, dtypes.int64)
        return SparseTensor(
            *sparse_slice_op(sp.indices, sp.values, sp.dense_shape, start, size, name=scope)
        )


@define_op(
    "SparseSplit",
    "split_dim: int64, indices: int64, values: T, shape: int64 "
    "-> output_indices: num_split * int64, output_values: num_split * T, "
    "output_shape: num_split * int64",
)
def sparse_split_op(
    split_dim: Tensor, indices: Tensor, values: Tensor, shape: Tensor, *, num_split: int
) -> list[Dims]:
    """A sparse tensor cut along an axis; the first parts are one longer where it has a rest.

    Not differentiable.
    """
    check_triple(indices, values, shape)
    rank = _rank_of(indices, shape)
    return [(None, rank)] * num_split + [(None,)] * num_split + [(rank,)] * num_split


not_differentiable(sparse_split_op)


def sparse_split(
    keyword_required: Any = None,
    sp_input: Any = None,
    num_split: int | None = None,
    axis: Any = None,
    name: str | None = None,
    split_dim: Any = None,
) -> list[SparseTensor]:
    """A SparseTensor cut into ``num_split`` parts along ``axis``; give arguments by keyword."""
    if keyword_required is not None:
        raise ValueError("Keyword arguments are required for this function.")
    if sp_input is None or num_split is None:
        raise ValueError("sparse_split needs sp_input and num_split")
    axis = deprecated_argument("axis", axis, "split_dim", split_dim)
    if axis is None:
        raise ValueError("axis is required")
    sp = to_sparse(sp_input)
    axis = convert_to_tensor(axis, dtypes.int64) if not isinstance(axis, Tensor) else axis
    indices, values, sizes = sparse_split_op(
        axis, sp.indices, sp.values, sp.dense_shape, num_split=num_split, name=name
    )
    return [SparseTensor(i, v, s) for i, v, s in zip(indices, values, sizes, strict=True)]


def sparse_retain(sp_input: Any, to_retain: Any) -> SparseTensor:
    """The elements whose flag in the bool vector ``to_retain`` is True."""
    sp = to_sparse(sp_input)
    to_retain = convert_to_tensor(to_retain)
    if not shapes.compatible(to_retain.dims, sp.values.dims):
        raise ValueError(
            f"to_retain has shape {shapes.list_dims(to_retain.dims)}, there are "
            f"{shapes.list_dims(sp.values.dims)} values"
        )
    from dataflow.ops.gather_scatter import where

    chosen = reshape(where(to_retain), [-1])
    return SparseTensor(gather(sp.indices, chosen), gather(sp.values, chosen), sp.dense_shape)


def sparse_reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """The same elements in a larger dense shape, or in the smallest one that holds them."""
    from dataflow.ops.math import maximum, reduce_max

    sp = to_sparse(sp_input)
    if new_shape is None:
        none = convert_to_tensor(np.array(-1, np.int64))
        smallest = (
            maximum(
                reduce_max(concat([sp.indices, reshape(sp.dense_shape * 0 - 1, [1, -1])], 0), 0),
                none,
            )
            + 1
        )
        return SparseTensor(sp.indices, sp.values, smallest)
    wanted = convert_to_tensor(new_shape, dtypes.int64)
    old, new = static_value(sp.dense_shape), static_value(wanted)
    if old is not None and new is not None:
        if len(old) != len(new):
            raise ValueError(f"new_shape must have rank {len(old)}, got {len(new)}")
        if (np.asarray(new) < np.asarray(old)).any():
            raise ValueError(
                f"new_shape {np.asarray(new).tolist()} must not be smaller than "
                f"{np.asarray(old).tolist()}"
            )
    return SparseTensor(sp.indices, sp.values, wanted)


@define_op(
    "SparseFillEmptyRows",
    "indices: int64, values: T, dense_shape: int64, default_value: T -> output_indices: int64, "
    "output_values: T, empty_row_indicator: bool, reverse_index_map: int64",
)
def sparse_fill_empty_rows_op(
    indices: Tensor, values: Tensor, dense_shape: Tensor, default_value: Tensor
) -> list[Dims]:
    """Rows without elements get ``default_value`` at their first place.

    Gradient: to the values by the map of places, the rest to the default.
    """
    check_triple(indices, values, dense_shape)
    need_rank(default_value, 0, "the default value")
    sizes = static_dims(dense_shape)
    rows = None if sizes is None else sizes[0]
    count = None if values.dims is None else values.dims[0]
    return [(None, _rank_of(indices, dense_shape)), (None,), (rows,), (count,)]


@sparse_fill_empty_rows_op.gradient
def sparse_fill_empty_rows_gradient(op: Any, _: Any, grad: Tensor, *__: Any) -> list[Any]:
    from dataflow.ops.math import reduce_sum

    value_grad = gather(grad, op.outputs[3])
    return [None, value_grad, None, reduce_sum(grad) - reduce_sum(value_grad)]


def sparse_fill_empty_rows(
    sp_input: Any, default_value: Any, name: str | None = None
) -> tuple[SparseTensor, Tensor]:
    """``(filled, is_empty)``: rows without elements get ``default_value``, and which they were."""
    sp = to_sparse(sp_input)
    with op_scope(name, "SparseFillEmptyRows", [sp.indices]):
        default = convert_to_tensor(default_value, sp.dtype.base_dtype)
        filled = sparse_fill_empty_rows_op(sp.indices, sp.values, sp.dense_shape, default)
        return SparseTensor(filled[0], filled[1], sp.dense_shape), filled[2]


def sparse_to_indicator(sp_input: Any, vocab_size: Any, name: str | None = None) -> Tensor:
    """A dense bool tensor: the last axis of ``sp_input``'s ids becomes one of ``vocab_size`` flags."""
    from dataflow.ops.array_basics import fill

    sp = to_sparse(sp_input)
    with op_scope(name, "SparseToIndicator", [sp.indices]) as scope:
        flags = fill(shape(sp.values), True)
        merged = sparse_merge(sp, sp.with_values(flags), vocab_size)
        return sparse_tensor_to_dense(merged, False, validate_indices=False, name=scope)


def sparse_merge(
    sp_ids: Any,
    sp_values: Any,
    vocab_size: Any,
    name: str | None = None,
    already_sorted: bool = False,
) -> SparseTensor:
    """Ids and values with one place each become a SparseTensor with the ids as last coordinate."""
    from dataflow.ops.array_basics import expand_dims
    from dataflow.ops.math import cast

    id_list = (
        list(sp_ids) if isinstance(sp_ids, (list, tuple)) and not is_sparse(sp_ids) else [sp_ids]
    )
    sizes = vocab_size if isinstance(vocab_size, (list, tuple)) else [vocab_size]
    if len(id_list) != len(sizes):
        raise ValueError(
            f"{len(id_list)} sp_ids and {len(sizes)} vocab_sizes: they must be as many"
        )
    id_list = [to_sparse(sp) for sp in id_list]
    values = to_sparse(sp_values)
    with op_scope(name, "SparseMerge", [values.indices]):
        columns = [expand_dims(cast(sp.values, dtypes.int64), 1) for sp in id_list]
        first = id_list[0]
        indices = concat([first.indices[:, :-1], *columns], 1)
        limits = [reshape(cast(convert_to_tensor(s), dtypes.int64), [1]) for s in sizes]
        whole = concat([first.dense_shape[:-1], *limits], 0)
        result = SparseTensor(indices, values.values, whole)
        return result if already_sorted else sparse_reorder(result)


def sparse_mask(a: Any, mask_indices: Any, name: str | None = None) -> Any:
    """The rows of an `IndexedSlices` whose index is not in ``mask_indices``."""
    from dataflow.ops.indexed_slices import IndexedSlices
    from dataflow.ops.sequences import setdiff1d

    with op_scope(name, "sparse_mask", [a.values]):
        kept, places = setdiff1d(a.indices, mask_indices)
        return IndexedSlices(gather(a.values, places), kept, a.dense_shape)


# ---- serialized ---------------------------------------------------------------------------


@define_op(
    "SerializeSparse",
    "sparse_indices: int64, sparse_values: T, sparse_shape: int64 -> serialized_sparse: out_type",
)
def serialize_sparse_op(
    sparse_indices: Tensor,
    sparse_values: Tensor,
    sparse_shape: Tensor,
    *,
    out_type: DType = dtypes.string,
) -> Dims:
    """A sparse tensor as three strings, each a serialized tensor. Not differentiable."""
    check_triple(sparse_indices, sparse_values, sparse_shape)
    return (3,)


@define_op(
    "SerializeManySparse",
    "sparse_indices: int64, sparse_values: T, sparse_shape: int64 -> serialized_sparse: out_type",
)
def serialize_many_sparse_op(
    sparse_indices: Tensor,
    sparse_values: Tensor,
    sparse_shape: Tensor,
    *,
    out_type: DType = dtypes.string,
) -> Dims:
    """Each row of a sparse tensor as three strings. Not differentiable."""
    check_triple(sparse_indices, sparse_values, sparse_shape)
    return (None, 3)


@define_op(
    "DeserializeManySparse",
    "serialized_sparse: string -> sparse_indices: int64, sparse_values: dtype, sparse_shape: int64",
)
def deserialize_many_sparse_op(serialized_sparse: Tensor, *, dtype: DType) -> list[Dims]:
    """Rows of three strings each as one sparse tensor with a batch axis. Not differentiable."""
    need_rank(serialized_sparse, 2, "serialized_sparse")
    return [(None, None), (None,), (None,)]


not_differentiable(serialize_sparse_op, serialize_many_sparse_op, deserialize_many_sparse_op)


def serialize_sparse(
    sp_input: Any, name: str | None = None, out_type: Any = dtypes.string
) -> Tensor:
    """A SparseTensor as a vector of three strings."""
    sp = to_sparse(sp_input)
    return serialize_sparse_op(  # type: ignore[no-any-return]
        sp.indices, sp.values, sp.dense_shape, out_type=out_type, name=name
    )


def serialize_many_sparse(
    sp_input: Any, name: str | None = None, out_type: Any = dtypes.string
) -> Tensor:
    """Each row of a SparseTensor as three strings."""
    sp = to_sparse(sp_input)
    return serialize_many_sparse_op(  # type: ignore[no-any-return]
        sp.indices, sp.values, sp.dense_shape, out_type=out_type, name=name
    )


def deserialize_many_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """The SparseTensor whose rows `serialize_sparse` wrote, with a batch axis in front."""
    indices, values, sizes = deserialize_many_sparse_op(serialized_sparse, dtype=dtype, name=name)
    if rank is not None:
        indices.set_shape([None, rank])
        sizes.set_shape([rank])
    return SparseTensor(indices, values, sizes)
