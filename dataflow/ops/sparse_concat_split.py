"""Sparse tensors joined along an axis, and cut into parts."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import AxisLike, TensorLike
from dataflow.ops.concat_split import concat, stack
from dataflow.ops.gather_scatter import gather, scatter_nd
from dataflow.ops.renamed_arguments import renamed
from dataflow.ops.reshape import reshape
from dataflow.ops.sparse_dense import check_triple, rank_of
from dataflow.ops.sparse_tensor import SparseTensor, to_sparse
from dataflow.shapes import Dims


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
    ranks = {r for r in map(rank_of, indices, shapes) if r is not None}
    if len(ranks) > 1:
        raise ValueError(f"the sparse tensors must have the same rank, got {sorted(ranks)}")
    rank = ranks.pop() if ranks else None
    return [(total, rank), (total,), (rank,)]


@sparse_concat_op.gradient
def sparse_concat_gradient(op: Operation, _: Any, grad: Tensor, __: Any) -> list[Any]:
    """Concatenates running numbers the same way, which tells where each value went."""
    from dataflow.ops.concat_split import split
    from dataflow.ops.sequences import invert_permutation, range_
    from dataflow.ops.shape import size

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
    joined = SparseTensor(*result)
    shapes = [sp.shape for sp in inputs]
    ranks = {shape.ndims for shape in shapes}
    if len(ranks) == 1 and None not in ranks:
        columns = list(zip(*[shape.as_list() for shape in shapes], strict=True))
        at = axis % len(columns)
        joined.static_dims = tuple(
            (None if None in sizes else sum(sizes))
            if i == at
            else (None if expand else next((s for s in sizes if s is not None), None))
            for i, sizes in enumerate(columns)
        )
    return joined


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
    rank = rank_of(indices, shape)
    return [(None, rank), (None,), (rank,)]


@sparse_slice_op.gradient
def sparse_slice_gradient(op: Operation, _: Any, grad: Tensor, __: Any) -> list[Any]:
    """Slices running numbers the same way, which tells where each value came from."""
    from dataflow.ops.sequences import range_
    from dataflow.ops.shape import size as size_of

    indices, values, dense_shape, start, size = op.inputs
    count = size_of(values)
    _, numbers, _ = sparse_slice_op(indices, range_(count), dense_shape, start, size)
    back = scatter_nd(reshape(numbers, [-1, 1]), grad, reshape(count, [1]))
    return [None, back, None, None, None]


def sparse_slice(
    sp_input: Any, start: TensorLike, size: TensorLike, name: str | None = None
) -> SparseTensor:
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
    rank = rank_of(indices, shape)
    return [(None, rank)] * num_split + [(None,)] * num_split + [(rank,)] * num_split


not_differentiable(sparse_split_op)


def sparse_split(
    keyword_required: Any = None,
    sp_input: Any = None,
    num_split: int | None = None,
    axis: AxisLike | None = None,
    name: str | None = None,
    split_dim: Any = None,
) -> list[SparseTensor]:
    """A SparseTensor cut into ``num_split`` parts along ``axis``; give arguments by keyword."""
    if keyword_required is not None:
        raise ValueError("Keyword arguments are required for this function.")
    if sp_input is None or num_split is None:
        raise ValueError("sparse_split needs sp_input and num_split")
    axis = renamed("axis", axis, "split_dim", split_dim)
    if axis is None:
        raise ValueError("axis is required")
    sp = to_sparse(sp_input)
    axis = convert_to_tensor(axis, dtypes.int64) if not isinstance(axis, Tensor) else axis
    indices, values, sizes = sparse_split_op(
        axis, sp.indices, sp.values, sp.dense_shape, num_split=num_split, name=name
    )
    return [SparseTensor(i, v, s) for i, v, s in zip(indices, values, sizes, strict=True)]
