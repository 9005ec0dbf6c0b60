"""Sums, extremes and softmax of sparse tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.op_def import OpDef
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, not_differentiable, refuse_gradient
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import AxisLike
from dataflow.ops.concat_split import concat
from dataflow.ops.gather_scatter import gather, gather_nd, scatter_nd
from dataflow.ops.renamed_arguments import renamed
from dataflow.ops.reshape import reshape
from dataflow.ops.sparse_dense import check_triple, rank_of
from dataflow.ops.sparse_tensor import (
    SparseTensor,
    is_sparse,
    to_sparse,
)
from dataflow.ops.static_value import static_dims, static_value
from dataflow.shapes import Dims


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
    rank = rank_of(a_indices, a_shape)
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
def sparse_add_gradient(op: Operation, _: Any, grad: Tensor, __: Any) -> list[Any]:
    a_grad, b_grad = sparse_add_grad_op(grad, op.inputs[0], op.inputs[3], op.outputs[0])
    return [None, a_grad, None, None, b_grad, None, None]


@sparse_add_grad_op.gradient
def sparse_add_grad_gradient(op: Operation, a_grad: Tensor, b_grad: Tensor) -> list[Any]:
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
    """The dense sum of a sparse and a dense tensor of one shape, which the run checks. Gradient: gathered for a."""
    check_triple(a_indices, a_values, a_shape)
    return static_dims(a_shape) if b.dims is None else b.dims


@sparse_tensor_dense_add_op.gradient
def sparse_tensor_dense_add_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [None, gather_nd(grad, op.inputs[0]), None, grad]


def sparse_add(a: Any, b: Any, threshold: Any = None, thresh: Any = None) -> Any:
    """The sum of two tensors at least one of which is sparse; dense when one is dense."""
    threshold = renamed("threshold", threshold, "thresh", thresh)
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
        merged.static_dims = shapes.as_dims(a.shape.merge_with(b.shape))
        return merged
    if is_sparse(b):
        a, b = b, a
    a = to_sparse(a)
    return sparse_tensor_dense_add_op(a.indices, a.values, a.dense_shape, b)


def _define_extremum(name: str, text: str, kind: Any) -> OpDef:
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
        return [(None, rank_of(a_indices, a_shape)), (None,)]

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


def _define_reduce(name: str, text: str, kind: Any, sparse: bool) -> OpDef:
    outputs = "output: T"
    if sparse:
        outputs = "output_indices: int64, output_values: T, output_shape: int64"

    def rule(
        input_indices: Tensor,
        input_values: Tensor,
        input_shape: Tensor,
        reduction_axes: Tensor,
        *,
        keep_dims: bool = False,
    ) -> Any:
        check_triple(input_indices, input_values, input_shape)
        dims = _reduced_dims(input_shape, reduction_axes, keep_dims)
        rank = None if dims is None else len(dims)
        return [(None, rank), (None,), (rank,)] if sparse else dims

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
refuse_gradient(sparse_reduce_max_op, sparse_reduce_sum_sparse_op, sparse_reduce_max_sparse_op)


@sparse_reduce_sum_op.gradient
def sparse_reduce_sum_gradient(op: Operation, grad: Tensor) -> list[Any]:
    indices, _, dense_shape, axes = op.inputs
    rank, known = rank_of(indices, dense_shape), static_value(axes)
    if rank is None or known is None:
        raise NotImplementedError(f"the gradient of {op.name!r} needs axes that are known")
    gone = {shapes.normalize_axis(int(a), rank) for a in np.asarray(known).reshape(-1)}
    kept = [i for i in range(rank) if i not in gone]
    if op.attrs["keep_dims"]:
        grad = reshape(grad, gather(dense_shape, np.array(kept, np.int64)))
    coordinates = gather(indices, np.array(kept, np.int64), axis=1)
    return [None, gather_nd(grad, coordinates), None, None]


def _reduce_axes(sp: SparseTensor, axis: AxisLike | None) -> Any:
    from dataflow.ops.sequences import range_
    from dataflow.ops.shape import size

    if axis is not None:
        return axis
    rank = sp.shape.ndims
    return list(range(rank)) if rank is not None else range_(size(sp.dense_shape))


def _reduce(
    op_def: Any, sp_input: Any, axis: AxisLike, keepdims: Any, reduction_axes: Any, keep_dims: Any
) -> Any:
    keepdims = renamed("keepdims", keepdims, "keep_dims", keep_dims)
    axis = renamed("axis", axis, "reduction_axes", reduction_axes)
    sp = to_sparse(sp_input)
    result = op_def(
        sp.indices,
        sp.values,
        sp.dense_shape,
        _reduce_axes(sp, axis),
        keep_dims=bool(keepdims),
    )
    return result if isinstance(result, Tensor) else SparseTensor(*result)


def _reduce_function(op_def: OpDef, name: str, what: str) -> Any:
    def reduce(
        sp_input: Any,
        axis: Any = None,
        keepdims: Any = None,
        reduction_axes: Any = None,
        keep_dims: Any = None,
    ) -> Any:
        return _reduce(op_def, sp_input, axis, keepdims, reduction_axes, keep_dims)

    reduce.__name__ = reduce.__qualname__ = name
    reduce.__doc__ = what
    return reduce


sparse_reduce_sum = _reduce_function(
    sparse_reduce_sum_op,
    "sparse_reduce_sum",
    "The dense sum over ``axis`` (all axes by default).",
)
sparse_reduce_max = _reduce_function(
    sparse_reduce_max_op,
    "sparse_reduce_max",
    "The dense maximum of the values that are there over ``axis``; 0 where there is none.",
)
sparse_reduce_sum_sparse = _reduce_function(
    sparse_reduce_sum_sparse_op,
    "sparse_reduce_sum_sparse",
    "The sum over ``axis`` as a SparseTensor.",
)
sparse_reduce_max_sparse = _reduce_function(
    sparse_reduce_max_sparse_op,
    "sparse_reduce_max_sparse",
    "The maximum over ``axis`` as a SparseTensor.",
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
def sparse_softmax_gradient(op: Operation, grad: Tensor) -> list[Any]:
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
