"""Order, shape and parts of sparse tensors, and their serialized form."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.dtypes import DType
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import AxisLike, DTypeLike, TensorLike
from dataflow.ops.array_basics import need_rank, reshape, shape
from dataflow.ops.concat_split import concat, stack
from dataflow.ops.fills import zeros
from dataflow.ops.gather_scatter import gather, scatter_nd
from dataflow.ops.renamed_arguments import renamed
from dataflow.ops.sparse_dense import check_triple, rank_of, sparse_tensor_to_dense
from dataflow.ops.sparse_tensor import (
    SparseTensor,
    is_sparse,
    to_sparse,
)
from dataflow.ops.static_value import static_dims, static_value
from dataflow.shapes import Dims

# ---- order, shape, parts -----------------------------------------------------------------


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
    result.static_dims = sp.static_dims
    return result


def sizes_after(old: list[int], new: list[int]) -> list[int]:
    """The sizes ``new`` with -1 filled in; `ValueError` where they do not have as many elements."""
    total, sizes = math.prod(old), list(new)
    if sizes.count(-1) > 1:
        raise ValueError(f"at most one size of the new shape may be -1, got {new}")
    if -1 in sizes:
        rest = -math.prod(sizes)
        sizes[sizes.index(-1)] = total // rest if rest else 0
    if math.prod(sizes) != total:
        raise ValueError(f"cannot reshape {old} ({total} elements) to {new}")
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
            result.static_dims = tuple(None if s == -1 else s for s in sizes)
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
        raise ValueError(f"the sparse tensors must have one rank, got {sorted(ranks)}")
    rank = ranks.pop() if ranks else None
    return [(total, rank), (total,), (rank,)]


@sparse_concat_op.gradient
def sparse_concat_gradient(op: Operation, _: Any, grad: Tensor, __: Any) -> list[Any]:
    """Concatenates running numbers the same way, which tells where each value went."""
    from dataflow.ops.array_basics import size
    from dataflow.ops.concat_split import split
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
    from dataflow.ops.array_basics import size as size_of
    from dataflow.ops.sequences import range_

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


# ---- serialized --------------------------------------------------------------------------


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


@define_op(
    "DeserializeSparse",
    "serialized_sparse: Tserialized -> sparse_indices: int64, sparse_values: dtype, "
    "sparse_shape: int64",
)
def deserialize_sparse_op(serialized_sparse: Tensor, *, dtype: DType) -> list[Dims]:
    """What `SerializeSparse` wrote as a sparse tensor; axes before the last one are batch axes.

    ``serialized_sparse`` has the shape [..., 3], strings or variants. Not differentiable.
    """
    return [(None, None), (None,), (None,)]


not_differentiable(
    serialize_sparse_op,
    serialize_many_sparse_op,
    deserialize_many_sparse_op,
    deserialize_sparse_op,
)


def serialize_sparse(
    sp_input: Any, name: str | None = None, out_type: DTypeLike = dtypes.string
) -> Tensor:
    """A SparseTensor as a vector of three strings."""
    sp = to_sparse(sp_input)
    return serialize_sparse_op(  # type: ignore[no-any-return]
        sp.indices, sp.values, sp.dense_shape, out_type=out_type, name=name
    )


def serialize_many_sparse(
    sp_input: Any, name: str | None = None, out_type: DTypeLike = dtypes.string
) -> Tensor:
    """Each row of a SparseTensor as three strings."""
    sp = to_sparse(sp_input)
    return serialize_many_sparse_op(  # type: ignore[no-any-return]
        sp.indices, sp.values, sp.dense_shape, out_type=out_type, name=name
    )


def deserialize_many_sparse(
    serialized_sparse: Any, dtype: DTypeLike, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """The SparseTensor whose rows `serialize_sparse` wrote, with a batch axis in front."""
    indices, values, sizes = deserialize_many_sparse_op(serialized_sparse, dtype=dtype, name=name)
    if rank is not None:
        indices.set_shape([None, rank])
        sizes.set_shape([rank])
    return SparseTensor(indices, values, sizes)


def deserialize_sparse(
    serialized_sparse: Any, dtype: DTypeLike, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """The SparseTensor that `serialize_sparse` wrote, [..., 3], with its batch axes in front.

    ``rank`` is that of the result, where it is known.
    """
    indices, values, sizes = deserialize_sparse_op(serialized_sparse, dtype=dtype, name=name)
    if rank is not None:
        indices.set_shape([None, rank])
        sizes.set_shape([rank])
    return SparseTensor(indices, values, sizes)
