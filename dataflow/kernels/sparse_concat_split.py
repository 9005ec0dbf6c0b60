"""Kernels that join sparse tensors along an axis, and cut them into parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel
from dataflow.kernels.sparse_coordinates import flat_numbers

_REASON = "coordinates are sorted and matched on the host"


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
