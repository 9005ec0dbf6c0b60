"""Kernels that take and put elements by index."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda import gather_scatter
from dataflow.kernels.index_arrays import (
    all_below,
    are_places_of_all,
    as_intp,
    int_tuple,
    scalar_int,
)
from dataflow.kernels.jit.table_rows import add_rows, change_rows
from dataflow.kernels.registry import kernel
from dataflow.kernels.scatter_at import scatter_at


def check_indices(indices: Array, size: int) -> None:
    """Raises `ValueError` for an index outside of [0, size); NumPy would wrap negative ones."""
    if not indices.size or all_below(indices, size):
        return
    if int(indices.min()) < 0 or int(indices.max()) >= size:
        flat = np.asarray(indices).reshape(-1)
        at = int(np.flatnonzero((flat < 0) | (flat >= size))[0])
        place = list(map(int, np.unravel_index(at, indices.shape))) if indices.shape else []
        raise ValueError(
            f"indices{place or ''} = {int(flat[at])} is not in [0, {size})\n"
            "  Every index must name a row that exists."
        )


@kernel("GatherV2", takes_out=True, any_dtype=True)
def gather_kernel(
    xp: Module, params: Array, indices: Array, axis: Array, out: Any = None, *, batch_dims: int
) -> Any:
    at = scalar_int(axis)
    at += params.ndim if at < 0 else 0
    if not 0 <= at < params.ndim:
        raise ValueError(f"axis {at} is out of range for a tensor of rank {params.ndim}")
    if batch_dims < 0:
        batch_dims += indices.ndim
    if batch_dims == 0:
        return _take(xp, params, indices, at, out)
    check_indices(indices, params.shape[at])
    batch = params.shape[:batch_dims]
    if batch != indices.shape[:batch_dims]:
        raise ValueError(f"batch axes differ: {list(params.shape)} and {list(indices.shape)}")
    outer, inner = params.shape[batch_dims:at], params.shape[at + 1 :]
    # [batch, outer, n, inner] taken by [batch, 1, k]
    flat = params.reshape(int(np.prod(batch)), int(np.prod(outer)), params.shape[at], -1)
    asked = indices.reshape(flat.shape[0], -1)
    numbers = xp.arange(flat.shape[0])[:, None]
    taken = xp.moveaxis(flat, 2, 1)[numbers, asked]  # [batch, k, outer, inner]
    shape = (*batch, *outer, *indices.shape[batch_dims:], *inner)
    return xp.moveaxis(taken, 1, 2).reshape(shape)


@kernel("Gather", "ResourceGather", takes_out=True, any_dtype=True)
def gather_v1_kernel(xp: Module, params: Array, indices: Array, out: Any = None) -> Any:
    return _take(xp, params, indices, 0, out)


def _take(xp: Module, params: Any, indices: Array, axis: int, out: Any) -> Any:
    if xp is not np and gather_scatter.can_gather(xp, indices):
        return gather_scatter.gather(xp, params, indices, axis)
    check_indices(indices, params.shape[axis])
    if out is None:
        return params.take(indices, axis=axis)
    shape = params.shape[:axis] + indices.shape + params.shape[axis + 1 :]
    if out.shape != shape or out.dtype != params.dtype:
        return params.take(indices, axis=axis)
    return params.take(indices, axis=axis, out=out, mode="clip")  # "raise" writes elsewhere first


def _coordinates(indices: Array, shape: Any) -> tuple[Any, ...]:
    """The last axis of ``indices`` as a NumPy index, checked against ``shape``."""
    depth = indices.shape[-1]
    if depth > len(shape):
        raise ValueError(f"coordinates of {depth} numbers for a tensor of rank {len(shape)}")
    parts = tuple(indices[..., i] for i in range(depth))
    for axis, part in enumerate(parts):
        if not part.size or all_below(part, shape[axis]):
            continue
        if int(part.min()) < 0 or int(part.max()) >= shape[axis]:
            flat = np.asarray(indices).reshape(-1, depth)
            bad = int(np.flatnonzero((flat[:, axis] < 0) | (flat[:, axis] >= shape[axis]))[0])
            raise ValueError(
                f"indices[{bad}] = {flat[bad].tolist()} does not index into shape {list(shape)}"
            )
    return parts


@kernel("GatherNd", "ResourceGatherNd", any_dtype=True)
def gather_nd_kernel(xp: Module, params: Array, indices: Array) -> Any:
    if indices.shape[-1] == 0:
        return xp.broadcast_to(params, indices.shape[:-1] + params.shape).copy()
    if gather_scatter.can_gather(xp, indices):
        numbers, count = _flat_numbers(xp, indices, params.shape)
        inner = params.shape[indices.shape[-1] :]
        rows = gather_scatter.gather(xp, params.reshape(count, -1), numbers, 0)
        return rows.reshape(*indices.shape[:-1], *inner)
    if are_places_of_all(indices, params.shape):
        return params.flatten()
    return params[_coordinates(indices, params.shape)]


def _flat_numbers(xp: Module, indices: Array, shape: Any) -> tuple[Any, int]:
    """Coordinates as row numbers of a table, and how many rows it has.

    Where the table's rows are a GPU's to find, those of no row become -1.
    """
    depth = indices.shape[-1]
    unchecked = depth <= len(shape) and gather_scatter.can_gather(xp, indices)
    if unchecked:
        parts = tuple(indices[..., i] for i in range(depth))
    else:
        parts = _coordinates(indices, shape)
    rows = int(np.prod(shape[:depth], dtype=np.int64))
    if depth == 0:
        return xp.zeros(indices.shape[:-1], np.int64).reshape(-1), 1
    numbers = xp.zeros(indices.shape[:-1], np.int64)
    for part, size in zip(parts, shape, strict=False):
        numbers = numbers * size + part
    if unchecked:
        for part, size in zip(parts, shape, strict=False):
            numbers = xp.where((part >= 0) & (part < size), numbers, -1)
    return numbers.reshape(-1), rows


def sum_rows(xp: Module, numbers: Any, rows: Any, count: int) -> Any:
    """``out[numbers[i]] += rows[i]`` for [count, ...] zeros; repeated numbers add up.

    Single numbers go to `bincount`, which adds in double precision.
    """
    out = xp.zeros((count, *rows.shape[1:]), rows.dtype)
    if not rows.size:
        return out
    if gather_scatter.can_change(xp, rows, numbers):
        gather_scatter.change_rows(xp, "Add", out, numbers, rows)
        return out
    if xp is not np:
        scatter_at(xp, "add", out, numbers, rows)
        return out
    if rows.size == len(numbers):
        flat = rows.reshape(-1)
        if rows.dtype.kind == "f":
            return (
                np.bincount(as_intp(numbers), flat, count)
                .astype(rows.dtype, copy=False)
                .reshape(out.shape)
            )
        np.add.at(out.reshape(-1), numbers, flat)
        return out
    if not change_rows("Add", out, numbers, rows):
        add_rows(out, numbers, rows)
    return out


def need_updates(indices: Array, updates: Array, shape: tuple[int, ...]) -> None:
    """Raises ValueError unless there is one slice of updates for each index into an array of ``shape``."""
    wanted = indices.shape[:-1] + shape[indices.shape[-1] :]
    if updates.shape != wanted:
        raise ValueError(f"updates has shape {list(updates.shape)}, expected {list(wanted)}")


@kernel("ScatterNd")
def scatter_nd_kernel(xp: Module, indices: Array, updates: Array, shape: Array) -> Any:
    sizes = int_tuple(shape)
    depth = indices.shape[-1]
    need_updates(indices, updates, sizes)
    numbers, count = _flat_numbers(xp, indices, sizes)
    if updates.dtype.kind == "O":
        out = np.full(sizes, b"", object)
        np.add.at(out.reshape(count, -1), numbers, updates.reshape(len(numbers), -1))
        return out
    rows = updates.reshape(len(numbers), *sizes[depth:])
    if updates.dtype == bool:
        return sum_rows(xp, numbers, rows.astype(np.int64), count).reshape(sizes) > 0
    return sum_rows(xp, numbers, rows, count).reshape(sizes)


@kernel("TensorScatterUpdate")
def tensor_scatter_update_kernel(xp: Module, tensor: Array, indices: Array, updates: Array) -> Any:
    need_updates(indices, updates, tensor.shape)
    out = tensor.copy()
    out[_coordinates(indices, tensor.shape)] = updates
    return out


@kernel("TensorScatterAdd", "ScatterNdNonAliasingAdd")
def tensor_scatter_add_kernel(xp: Module, tensor: Array, indices: Array, updates: Array) -> Any:
    need_updates(indices, updates, tensor.shape)
    numbers, count = _flat_numbers(xp, indices, tensor.shape)
    rows = updates.reshape(len(numbers), *tensor.shape[indices.shape[-1] :])
    return tensor + sum_rows(xp, numbers, rows, count).reshape(tensor.shape)


@kernel("TensorScatterSub")
def tensor_scatter_sub_kernel(xp: Module, tensor: Array, indices: Array, updates: Array) -> Any:
    need_updates(indices, updates, tensor.shape)
    numbers, count = _flat_numbers(xp, indices, tensor.shape)
    rows = updates.reshape(len(numbers), *tensor.shape[indices.shape[-1] :])
    return tensor - sum_rows(xp, numbers, rows, count).reshape(tensor.shape)


@kernel("TensorScatterMax")
def tensor_scatter_max_kernel(xp: Module, tensor: Array, indices: Array, updates: Array) -> Any:
    need_updates(indices, updates, tensor.shape)
    out = tensor.copy()
    scatter_at(xp, "maximum", out, _coordinates(indices, tensor.shape), updates)
    return out


@kernel("TensorScatterMin")
def tensor_scatter_min_kernel(xp: Module, tensor: Array, indices: Array, updates: Array) -> Any:
    need_updates(indices, updates, tensor.shape)
    out = tensor.copy()
    scatter_at(xp, "minimum", out, _coordinates(indices, tensor.shape), updates)
    return out


@kernel("OneHot")
def one_hot_kernel(
    xp: Module, indices: Array, depth: Array, on_value: Array, off_value: Array, *, axis: int
) -> Any:
    size = int(depth)
    if xp is np and not indices.shape:  # a label at a time, in a dataset's function
        row = np.empty(size, getattr(on_value, "dtype", object))
        row.fill(off_value)
        if 0 <= indices < size:
            row[indices] = on_value
        return row
    flat = indices.reshape(-1) if hasattr(indices, "reshape") else np.asarray(indices).reshape(-1)
    if xp is np:
        dtype = getattr(on_value, "dtype", np.dtype(object))
        out = np.empty((flat.size, size), dtype)
        out[...] = off_value
        if flat.size and all_below(flat, size):
            out[np.arange(flat.size), flat] = on_value
        else:
            inside = np.flatnonzero((flat >= 0) & (flat < size))
            out[inside, flat[inside]] = on_value
    else:  # how many lie inside is not asked: the host would wait
        out = xp.where(xp.arange(size) == flat[:, None], on_value, off_value)
    out = out.reshape(*indices.shape, size)
    return out if axis == -1 else xp.moveaxis(out, -1, axis)
