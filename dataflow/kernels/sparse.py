"""Kernels of sparse tensors: indices [n, rank], values [n], dense shape [rank]."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dataflow.kernels.array_basics import int_tuple
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.gather_scatter import sum_rows
from dataflow.kernels.index_arrays import as_intp
from dataflow.kernels.registry import kernel

_REASON = "coordinates are sorted and matched on the host"


def flat_numbers(indices: Array, shape: Any) -> Any:
    """Each coordinate as the number of its element in row-major order; checked."""
    sizes = int_tuple(shape)
    if indices.shape[1] != len(sizes):
        raise ValueError(f"indices of {indices.shape[1]} numbers for the shape {list(sizes)}")
    if indices.size:
        # A negative number is a large one without a sign.
        wrong = indices.astype(np.int64, copy=False).view(np.uint64) >= np.array(sizes, np.uint64)
        if wrong.any():
            at = int(np.flatnonzero(wrong.any(1))[0])
            raise ValueError(
                f"indices[{at}] = {indices[at].tolist()} is out of bounds: need 0 <= index < "
                f"{list(sizes)}"
            )
    if not sizes:
        return np.zeros(len(indices), np.int64)
    numbers = indices[:, 0].astype(np.int64)
    for i, size in enumerate(sizes[1:], 1):
        numbers *= size
        numbers += indices[:, i]
    return numbers


def coordinates(numbers: Any, shape: Any) -> Any:
    """The inverse of `flat_numbers`."""
    if not len(shape):
        return np.zeros((len(numbers), 0), np.int64)
    if len(shape) == 2 and shape[1]:
        found = np.empty((len(numbers), 2), np.int64)
        np.divmod(numbers, shape[1], out=(found[:, 0], found[:, 1]))
        return found
    return np.stack(np.unravel_index(numbers, shape), 1).astype(np.int64).reshape(-1, len(shape))


def _zero(dtype: Any) -> Any:
    return b"" if dtype.kind == "O" else dtype.type(0)


@kernel("SparseToDense", cpu_only=_REASON)
def sparse_to_dense_kernel(
    xp: Module,
    indices: Array,
    shape: Array,
    values: Array,
    default: Array,
    *,
    validate_indices: bool,
) -> Any:
    if np.ndim(default):
        raise ValueError(f"default_value should be a scalar, got shape {np.shape(default)}")
    sizes = int_tuple(shape)
    at = np.reshape(indices, (-1, 1)) if np.ndim(indices) < 2 else indices
    numbers = flat_numbers(at.astype(np.int64, copy=False), np.asarray(sizes))
    if np.ndim(values) and len(values) != len(numbers):
        raise ValueError(f"{len(numbers)} indices for {len(values)} values")
    if validate_indices and len(numbers) > 1:
        steps = np.diff(numbers)
        if (steps <= 0).any():
            bad = int(np.flatnonzero(steps <= 0)[0]) + 1
            what = "is repeated" if steps[bad - 1] == 0 else "is out of order"
            raise ValueError(
                f"indices[{bad}] = {at[bad].tolist()} {what}\n"
                "  Sort them with tf.sparse_reorder, or pass validate_indices=False."
            )
    dtype = getattr(values, "dtype", np.dtype(object))
    out = np.empty(sizes, dtype)
    out[...] = default if not isinstance(default, np.ndarray) else default[()]
    if len(numbers):
        out.reshape(-1)[numbers] = values
    return out


@kernel("SparseTensorDenseMatMul")
def sparse_tensor_dense_matmul_kernel(
    xp: Any, indices: Any, values: Any, shape: Any, b: Any, *, adjoint_a: bool, adjoint_b: bool
) -> Any:
    rows, columns = indices[:, 0], indices[:, 1]
    num_rows, inner = int_tuple(shape)
    if adjoint_a:
        rows, columns, num_rows, inner = columns, rows, inner, num_rows
        values = values.conj() if values.dtype.kind == "c" else values
    if adjoint_b:
        b = b.conj().T if b.dtype.kind == "c" else b.T
    if b.shape[0] != inner:
        raise ValueError(f"inner dimensions differ: [{num_rows}, {inner}] x {list(b.shape)}")
    if rows.size:
        if int(rows.min()) < 0 or int(rows.max()) >= num_rows:
            raise ValueError(f"a row index lies outside of [0, {num_rows})")
        if int(columns.min()) < 0 or int(columns.max()) >= inner:
            raise ValueError(f"a column index lies outside of [0, {inner})")
    if xp is np:
        products = b.take(columns, 0)
        products = np.multiply(products, values[:, None], products)
        return sum_rows(np, np.ascontiguousarray(rows), products, num_rows)
    return sum_rows(xp, rows, b[columns] * values[:, None], num_rows)


def _met(indices: Array, shape: Any, dense: Any) -> Any:
    """The element of ``dense``, broadcast to the sparse shape, at each place."""
    return np.broadcast_to(dense, int_tuple(shape))[tuple(indices.T)]


@kernel("SparseDenseCwiseAdd", cpu_only=_REASON)
def sparse_dense_add_kernel(
    xp: Module, indices: Array, values: Array, shape: Array, dense: Array
) -> Any:
    return values + _met(indices, shape, dense)


@kernel("SparseDenseCwiseMul", cpu_only=_REASON)
def sparse_dense_mul_kernel(
    xp: Module, indices: Array, values: Array, shape: Array, dense: Array
) -> Any:
    return values * _met(indices, shape, dense)


@kernel("SparseDenseCwiseDiv", cpu_only=_REASON)
def sparse_dense_div_kernel(
    xp: Module, indices: Array, values: Array, shape: Array, dense: Array
) -> Any:
    met = _met(indices, shape, dense)
    return values // met if values.dtype.kind in "iu" else values / met


@kernel("SparseAdd", cpu_only=_REASON)
def sparse_add_kernel(
    xp: Any, a_at: Any, a: Any, a_shape: Any, b_at: Any, b: Any, b_shape: Any, thresh: Any
) -> Any:
    if int_tuple(a_shape) != int_tuple(b_shape):
        raise ValueError(f"shapes differ: {a_shape.tolist()} and {b_shape.tolist()}")
    numbers = np.concatenate([flat_numbers(a_at, a_shape), flat_numbers(b_at, b_shape)])
    places, which = np.unique(numbers, return_inverse=True)
    sums = sum_rows(np, which.reshape(-1), np.concatenate([a, b]), len(places))
    if thresh > 0:
        keep = np.abs(sums) >= thresh
        places, sums = places[keep], sums[keep]
    return coordinates(places, int_tuple(a_shape)), sums, a_shape.copy()


@kernel("SparseAddGrad", cpu_only=_REASON)
def sparse_add_grad_kernel(xp: Module, grad: Array, a_at: Array, b_at: Array, sum_at: Array) -> Any:
    everything = np.concatenate([a_at, b_at, sum_at])
    shape = everything.max(0) + 1 if len(everything) else np.ones(a_at.shape[1], np.int64)
    places = flat_numbers(sum_at, shape)
    result = []
    for at in (a_at, b_at):
        numbers = flat_numbers(at, shape)
        found = np.minimum(np.searchsorted(places, numbers), max(len(places) - 1, 0))
        if not len(places):
            result.append(np.zeros(len(numbers), grad.dtype))
            continue
        hit = places[found] == numbers
        result.append(np.where(hit, grad[found], grad.dtype.type(0)))
    return tuple(result)


@kernel("SparseTensorDenseAdd", cpu_only=_REASON)
def sparse_tensor_dense_add_kernel(
    xp: Module, at: Array, values: Array, shape: Array, b: Array
) -> Any:
    if int_tuple(shape) != b.shape:
        raise ValueError(f"shapes differ: {shape.tolist()} and {list(b.shape)}")
    numbers = flat_numbers(at.astype(np.int64, copy=False), shape)
    return b + sum_rows(np, numbers, values, b.size).reshape(b.shape)


def _extremum(
    function: Any, a_at: Any, a: Array, a_shape: Any, b_at: Any, b: Array, b_shape: Any
) -> Any:
    if int_tuple(a_shape) != int_tuple(b_shape):
        raise ValueError(f"shapes differ: {a_shape.tolist()} and {b_shape.tolist()}")
    first, second = flat_numbers(a_at, a_shape), flat_numbers(b_at, b_shape)
    places = np.union1d(first, second)
    left, right = np.zeros(len(places), a.dtype), np.zeros(len(places), b.dtype)
    left[np.searchsorted(places, first)] = a
    right[np.searchsorted(places, second)] = b
    return coordinates(places, int_tuple(a_shape)), function(left, right)


@kernel("SparseSparseMaximum", cpu_only=_REASON)
def sparse_maximum_kernel(
    xp: Module, a_at: Array, a: Array, a_shape: Array, b_at: Array, b: Array, b_shape: Array
) -> Any:
    return _extremum(np.maximum, a_at, a, a_shape, b_at, b, b_shape)


@kernel("SparseSparseMinimum", cpu_only=_REASON)
def sparse_minimum_kernel(
    xp: Module, a_at: Array, a: Array, a_shape: Array, b_at: Array, b: Array, b_shape: Array
) -> Any:
    return _extremum(np.minimum, a_at, a, a_shape, b_at, b, b_shape)


def _groups(at: Any, shape: Any, axes: Any) -> tuple[Any, list[int], list[int]]:
    """For each element the number of its group, the sizes of the axes kept, and those axes."""
    sizes = int_tuple(shape)
    gone = {int(a) % len(sizes) for a in np.reshape(axes, -1)}
    kept = [i for i in range(len(sizes)) if i not in gone]
    kept_sizes = [sizes[i] for i in kept]
    return flat_numbers(at[:, kept], np.array(kept_sizes, np.int64)), kept_sizes, kept


def _group_max(numbers: Any, values: Any) -> tuple[Any, Any]:
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]][: len(ordered)])
    if not len(order):
        return numbers, values
    return ordered[starts], np.maximum.reduceat(values[order], starts)


def _with_ones(kept_sizes: list[int], kept: list[int], rank: int, keep_dims: bool) -> list[int]:
    if not keep_dims:
        return kept_sizes
    sizes = [1] * rank
    for axis, size in zip(kept, kept_sizes, strict=True):
        sizes[axis] = size
    return sizes


@kernel("SparseReduceSum", cpu_only=_REASON)
def sparse_reduce_sum_kernel(
    xp: Module, at: Array, values: Array, shape: Array, axes: Array, *, keep_dims: bool
) -> Any:
    numbers, sizes, kept = _groups(at, shape, axes)
    out = sum_rows(np, numbers, values, int(np.prod(sizes, dtype=np.int64)))
    return out.reshape(_with_ones(sizes, kept, len(shape), keep_dims))


@kernel("SparseReduceMax", cpu_only=_REASON)
def sparse_reduce_max_kernel(
    xp: Module, at: Array, values: Array, shape: Array, axes: Array, *, keep_dims: bool
) -> Any:
    numbers, sizes, kept = _groups(at, shape, axes)
    out = np.zeros(int(np.prod(sizes, dtype=np.int64)), values.dtype)
    places, largest = _group_max(numbers, values)
    out[places] = largest
    return out.reshape(_with_ones(sizes, kept, len(shape), keep_dims))


@kernel("SparseReduceSumSparse", cpu_only=_REASON)
def sparse_reduce_sum_sparse_kernel(
    xp: Module, at: Array, values: Array, shape: Array, axes: Array, *, keep_dims: bool
) -> Any:
    numbers, sizes, kept = _groups(at, shape, axes)
    places, which = np.unique(numbers, return_inverse=True)
    sums = sum_rows(np, which.reshape(-1), values, len(places))
    full = _with_ones(sizes, kept, len(shape), keep_dims)
    return coordinates(places, full), sums, np.array(full, np.int64)


@kernel("SparseReduceMaxSparse", cpu_only=_REASON)
def sparse_reduce_max_sparse_kernel(
    xp: Module, at: Array, values: Array, shape: Array, axes: Array, *, keep_dims: bool
) -> Any:
    numbers, sizes, kept = _groups(at, shape, axes)
    places, largest = _group_max(numbers, values)
    full = _with_ones(sizes, kept, len(shape), keep_dims)
    return coordinates(places, full), largest, np.array(full, np.int64)


@kernel("SparseSoftmax", cpu_only=_REASON)
def sparse_softmax_kernel(xp: Module, at: Array, values: Array, shape: Array) -> Any:
    if not len(values):
        return values.copy()
    rows = flat_numbers(at[:, :-1], shape[:-1])
    places, which = np.unique(rows, return_inverse=True)
    which = which.reshape(-1)
    largest = np.full(len(places), -np.inf, values.dtype)
    np.maximum.at(largest, which, values)
    powers = np.exp(values - largest[which])
    return powers / sum_rows(np, which, powers, len(places))[which]


@kernel("SparseReorder", cpu_only=_REASON)
def sparse_reorder_kernel(xp: Module, at: Array, values: Array, shape: Array) -> Any:
    order = np.argsort(flat_numbers(at, shape), kind="stable")
    return at[order], values[order]


@kernel("SparseReshape", cpu_only=_REASON)
def sparse_reshape_kernel(xp: Module, at: Array, shape: Array, new_shape: Array) -> Any:
    total = math.prod(shape.tolist())
    sizes = new_shape.tolist()
    if sizes.count(-1) > 1:
        raise ValueError(f"only one size may be -1, got {sizes}")
    if -1 in sizes:
        rest = -math.prod(sizes)
        if rest == 0 or total % rest:
            raise ValueError(f"cannot reshape {total} elements to {sizes}")
        sizes[sizes.index(-1)] = total // rest
    if math.prod(sizes) != total:
        raise ValueError(f"cannot reshape {shape.tolist()} ({total} elements) to {sizes}")
    if sizes == shape.tolist():
        return at, shape
    return coordinates(flat_numbers(at, shape), sizes), np.array(sizes, np.int64)


@kernel("SparseConcat", cpu_only=_REASON)
def sparse_concat_kernel(
    xp: Module, indices: list[Array], values: list[Array], shapes: list[Array], *, concat_dim: int
) -> Any:
    axis = concat_dim % len(shapes[0])
    whole = shapes[0].copy()
    whole[axis] = 0
    parts = []
    for at, shape in zip(indices, shapes, strict=True):
        for i, (have, want) in enumerate(zip(shape.tolist(), shapes[0].tolist(), strict=True)):
            if i != axis and have != want:
                raise ValueError(
                    f"sizes of axis {i} differ: {shapes[0].tolist()} and {shape.tolist()}"
                )
        moved = at.copy()
        moved[:, axis] += whole[axis]
        whole[axis] += shape[axis]
        parts.append(moved)
    joined, together = np.concatenate(parts), np.concatenate(values)
    order = np.argsort(flat_numbers(joined, whole), kind="stable")
    return joined[order], together[order], whole


@kernel("SparseSlice", cpu_only=_REASON)
def sparse_slice_kernel(
    xp: Module, at: Array, values: Array, shape: Array, start: Array, size: Array
) -> Any:
    inside = ((at >= start) & (at < start + size)).all(1)
    whole = np.clip(np.minimum(size, shape - start), 0, None)
    return at[inside] - start, values[inside], whole


@kernel("SparseSplit", cpu_only=_REASON)
def sparse_split_kernel(
    xp: Module, axis: Any, at: Array, values: Array, shape: Any, *, num_split: int
) -> Any:
    axis = int(np.reshape(axis, -1)[0]) % len(shape)
    total = int(shape[axis])
    if num_split > total:
        raise ValueError(f"axis {axis} of size {total} cannot be cut into {num_split} parts")
    base, longer = divmod(total, num_split)
    indices, parts, sizes, position = [], [], [], 0
    for i in range(num_split):
        length = base + (i < longer)
        inside = (at[:, axis] >= position) & (at[:, axis] < position + length)
        moved = at[inside]
        moved[:, axis] -= position
        whole = shape.copy()
        whole[axis] = length
        indices.append(moved)
        parts.append(values[inside])
        sizes.append(whole)
        position += length
    return (*indices, *parts, *sizes)


@kernel("SparseFillEmptyRows", cpu_only=_REASON)
def sparse_fill_empty_rows_kernel(
    xp: Module, at: Array, values: Array, shape: Array, default: Array
) -> Any:
    rows = int(shape[0])
    counts = np.bincount(as_intp(at[:, 0]), minlength=rows) if len(at) else np.zeros(rows, np.int64)
    if len(counts) > rows:
        raise ValueError(f"a row index lies outside of [0, {rows})")
    empty = counts == 0
    if not empty.any() and (at[1:, 0] >= at[:-1, 0]).all():  # as it should be
        return at, values, empty, np.arange(len(at))
    added = np.zeros((int(empty.sum()), at.shape[1]), np.int64)
    added[:, 0] = np.flatnonzero(empty)
    filler = np.empty(len(added), values.dtype)
    filler[...] = default if not isinstance(default, np.ndarray) else default[()]
    joined = np.concatenate([at, added])
    order = np.argsort(joined[:, 0], kind="stable")
    reverse = np.empty(len(order), np.int64)
    reverse[order] = np.arange(len(order))
    together = np.concatenate([values, filler])
    return joined[order], together[order], empty, reverse[: len(at)]


def _one_serialized(at: Any, values: Any, shape: Any, out_type: Any) -> Any:
    """Three strings; as variants, the three arrays themselves."""
    from dataflow.kernels.tensor_messages import tensor_bytes

    out = np.empty(3, object)
    for i, part in enumerate((at, values, shape)):
        out[i] = tensor_bytes(part) if out_type.kind == "S" else part
    return out


@kernel("SerializeSparse", cpu_only=_REASON)
def serialize_sparse_kernel(
    xp: Module, at: Array, values: Array, shape: Array, *, out_type: Any
) -> Any:
    return _one_serialized(at, values, shape, out_type)


@kernel("SerializeManySparse", cpu_only=_REASON)
def serialize_many_sparse_kernel(
    xp: Module, at: Array, values: Array, shape: Array, *, out_type: Any
) -> Any:
    rows = int(shape[0])
    out = np.empty((rows, 3), object)
    order = np.argsort(at[:, 0], kind="stable")
    ends = np.searchsorted(at[order, 0], np.arange(rows + 1))
    for i in range(rows):
        inside = order[ends[i] : ends[i + 1]]
        out[i] = _one_serialized(at[inside][:, 1:], values[inside], shape[1:], out_type)
    return out


@kernel("DeserializeManySparse", cpu_only=_REASON)
def deserialize_many_sparse_kernel(xp: Module, serialized: Array, *, dtype: Any) -> Any:
    return deserialize_sparse_kernel(xp, serialized.reshape(-1, 3), dtype=dtype)


@kernel("DeserializeSparse", cpu_only=_REASON)
def deserialize_sparse_kernel(xp: Module, serialized: Array, *, dtype: Any) -> Any:
    from dataflow.kernels.tensor_messages import tensor_from_bytes

    if not serialized.ndim or serialized.shape[-1] != 3:
        raise ValueError(f"the last axis must hold 3 values, got shape {serialized.shape}")
    if not serialized.size:
        raise ValueError("there is nothing to deserialize")
    batch = serialized.shape[:-1]
    indices, values, shapes = [], [], []
    for place in np.ndindex(batch):
        at, part, shape = (
            tensor_from_bytes(text) if isinstance(text, bytes) else text
            for text in serialized[place]
        )
        if part.dtype != dtype.numpy:
            raise ValueError(f"row {place} holds {part.dtype}, {dtype.name} was asked for")
        front = np.broadcast_to(np.array(place, np.int64), (len(at), len(place)))
        indices.append(np.concatenate([front, at], 1))
        values.append(part)
        shapes.append(shape)
    if len({len(shape) for shape in shapes}) > 1:
        raise ValueError("sparse tensors of different ranks cannot be batched")
    whole = np.concatenate([batch, np.max(shapes, 0)]).astype(np.int64)
    return np.concatenate(indices), np.concatenate(values), whole
