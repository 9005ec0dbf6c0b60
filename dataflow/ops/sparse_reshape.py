"""Order and shape of sparse tensors, and their empty rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops.concat_split import concat, stack
from dataflow.ops.fills import zeros
from dataflow.ops.gather_scatter import gather
from dataflow.ops.identity import identity
from dataflow.ops.reshape import reshape
from dataflow.ops.seeds import count_left_out
from dataflow.ops.shape import need_rank, shape
from dataflow.ops.sources import constant
from dataflow.ops.sparse_dense import check_triple, rank_of, sparse_tensor_to_dense
from dataflow.ops.sparse_tensor import (
    SparseTensor,
    is_sparse,
    to_sparse,
)
from dataflow.ops.static_value import static_dims, static_value
from dataflow.shapes import Dims


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
def sparse_reorder_gradient(op: Operation, _: Any, grad: Tensor) -> list[Any]:
    from dataflow.ops.sequences import invert_permutation, range_
    from dataflow.ops.shape import size

    indices, values, dense_shape = op.inputs
    numbers = range_(size(values))
    _, order = sparse_reorder_op(indices, numbers, dense_shape)
    return [None, gather(grad, invert_permutation(order)), None]


def sparse_reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """The same SparseTensor with its elements in row-major order, as other ops expect them."""
    sp = to_sparse(sp_input)
    indices, values = sparse_reorder_op(sp.indices, sp.values, sp.dense_shape, name=name)
    result = SparseTensor(indices, values, sp.dense_shape)
    result.static_dims = sp.static_dims
    return result


def sizes_after(old: list[int], new: list[int]) -> list[int]:
    """The sizes ``new`` with -1 filled in; `ValueError` where they do not have as many elements."""
    total, sizes = math.prod(old), list(new)
    if sizes.count(-1) > 1:
        raise ValueError(f"At most one dimension can be -1, got the new shape {new}")
    if -1 in sizes:
        rest = -math.prod(sizes)
        sizes[sizes.index(-1)] = total // rest if rest else 0
    if math.prod(sizes) != total:
        raise ValueError(f"Cannot reshape {old} ({total} elements) to {new}")
    return sizes


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
    if old is not None and new is not None:
        sizes_after(np.asarray(old).tolist(), np.asarray(new).tolist())
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
        wanted, total = static_value(shape), shapes.num_elements(shapes.as_dims(sp.shape))
        if wanted is not None:
            sizes = [int(s) for s in wanted]
            if -1 in sizes and total is not None:
                rest = -int(np.prod(sizes))
                if rest:
                    sizes = [total // rest if s == -1 else s for s in sizes]
            if total is not None and total == np.prod(sizes):
                # A constant, of which more can be known.
                result = SparseTensor(indices, sp.values, constant(sizes, dtypes.int64))
                count_left_out(-1)
            result.static_dims = tuple(None if s == -1 else s for s in sizes)
        count_left_out(1)  # the values, passed on
        return result


def sparse_transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """The axes of a SparseTensor in the order ``perm`` (reversed by default)."""
    sp = to_sparse(sp_input)
    with op_scope(name, "SparseTranspose", [sp.indices]):
        rank = sp.shape.ndims
        if perm is None:
            if rank is None:
                from dataflow.ops.sequences import range_
                from dataflow.ops.shape import size

                top = size(sp.dense_shape)
                perm = (top - 1) - range_(0, top, 1)
            else:
                perm = list(range(rank - 1, -1, -1))
        elif rank is not None and not isinstance(perm, Tensor) and len(perm) != rank:
            raise ValueError(
                f"perm {list(perm)} has {len(perm)} axes, and the sparse tensor {rank}: "
                f"give each of {list(range(rank))} once."
            )
        turned = SparseTensor(
            gather(sp.indices, perm, axis=1), sp.values, gather(sp.dense_shape, perm)
        )
        result = sparse_reorder(turned)
        if rank is not None and not isinstance(perm, Tensor):
            dims = sp.shape.as_list()
            result.static_dims = tuple(dims[axis] for axis in perm)
        return result


def sparse_expand_dims(sp_input: Any, axis: Any = None, name: str | None = None) -> SparseTensor:
    """A SparseTensor with an axis of size 1 put in at ``axis`` (last by default)."""
    sp = to_sparse(sp_input)
    rank = sp.shape.ndims
    if rank is None:
        raise ValueError("sparse expand_dims needs a tensor of known rank")
    if isinstance(axis, Tensor):
        axis = static_value(axis)
        if axis is None:
            raise ValueError(
                "sparse expand_dims needs an axis that is known when the graph is built"
            )
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


def _eye_of_any_size(num_rows: Any, num_columns: Any, dtype: DTypeLike) -> SparseTensor:
    from dataflow.ops.fills import ones
    from dataflow.ops.math import cast, minimum
    from dataflow.ops.sequences import range_

    rows, columns = (cast(convert_to_tensor(n), dtypes.int64) for n in (num_rows, num_columns))
    diagonal = range_(minimum(rows, columns))
    values = ones(shape(diagonal), dtypes.as_dtype(dtype))
    return SparseTensor(stack([diagonal, diagonal], 1), values, stack([rows, columns]))


def sparse_eye(
    num_rows: Any,
    num_columns: Any = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> SparseTensor:
    """The identity matrix as a SparseTensor."""
    with op_scope(name, "eye"):
        columns = num_rows if num_columns is None else num_columns
        if isinstance(num_rows, Tensor) or isinstance(columns, Tensor):
            return _eye_of_any_size(num_rows, columns, dtype)
        count = min(int(num_rows), int(columns))
        diagonal = np.arange(count, dtype=np.int64)
        values = np.ones(count, dtypes.as_dtype(dtype).numpy)
        return SparseTensor(np.stack([diagonal, diagonal], 1), values, [num_rows, columns])


def sparse_retain(sp_input: Any, to_retain: Any) -> SparseTensor:
    """The elements whose flag in the bool vector ``to_retain`` is True."""
    sp = to_sparse(sp_input)
    to_retain = convert_to_tensor(to_retain)
    if not shapes.compatible(to_retain.dims, sp.values.dims):
        raise ValueError(
            f"to_retain has shape {shapes.list_dims(to_retain.dims)}, there are "
            f"{shapes.list_dims(sp.values.dims)} values"
        )
    from dataflow.ops.selection import where

    chosen = reshape(where(to_retain), [-1])
    count_left_out(1)  # the shape, passed on
    return SparseTensor(gather(sp.indices, chosen), gather(sp.values, chosen), sp.dense_shape)


def sparse_reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """The same elements in a larger dense shape, or in the smallest one that holds them.

    Raises `ValueError` for a smaller shape, or one of another rank; `InvalidArgumentError` where that shows as
    the graph runs.
    """
    from dataflow.ops.assertions import assert_equal, assert_less_equal
    from dataflow.ops.casts import cast
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
    wanted = cast(convert_to_tensor(new_shape), dtypes.int64)
    ranks = [t.dims[0] for t in (sp.dense_shape, wanted) if t.dims]
    if len(ranks) == 2 and None not in ranks and ranks[0] != ranks[1]:
        raise ValueError(f"new_shape must have rank {ranks[0]}, got {ranks[1]}")
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
    graph = wanted.graph
    same_rank = assert_equal(shape(wanted), shape(sp.dense_shape))
    with graph.control_dependencies([same_rank]):
        not_smaller = assert_less_equal(sp.dense_shape, wanted)
    with graph.control_dependencies([not_smaller]):
        wanted = identity(wanted)
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
    return [(None, rank_of(indices, dense_shape)), (None,), (rows,), (count,)]


@sparse_fill_empty_rows_op.gradient
def sparse_fill_empty_rows_gradient(op: Operation, _: Any, grad: Tensor, *__: Any) -> list[Any]:
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
    from dataflow.ops.fills import fill

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
    from dataflow.ops.math import cast
    from dataflow.ops.reshape import expand_dims

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
        limits = [
            reshape(cast(s, dtypes.int64), [1])
            if isinstance(s, Tensor)
            else convert_to_tensor([s], dtypes.int64)
            for s in sizes
        ]
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
