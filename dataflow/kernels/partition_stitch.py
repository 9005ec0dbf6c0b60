"""Kernels that sort rows into several arrays by number, and put them together again."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel


@kernel("DynamicPartition", any_dtype=True)
def dynamic_partition_kernel(
    xp: Module, data: Array, partitions: Array, *, num_partitions: int
) -> Any:
    numbers = partitions.reshape(-1)
    if numbers.size and (int(numbers.min()) < 0 or int(numbers.max()) >= num_partitions):
        raise ValueError(
            f"partitions must lie in [0, {num_partitions}), got {int(numbers.min())} to "
            f"{int(numbers.max())}"
        )
    if data.shape[: partitions.ndim] != partitions.shape:
        raise ValueError(
            f"data of shape {list(data.shape)} must start with the shape of partitions, "
            f"{list(partitions.shape)}"
        )
    rows = data.reshape(numbers.size, *data.shape[partitions.ndim :])
    return tuple(rows[numbers == i] for i in range(num_partitions))


@kernel("DynamicStitch", "ParallelDynamicStitch")
def dynamic_stitch_kernel(xp: Module, indices: list[Array], data: list[Array]) -> Any:
    flat = [np.reshape(i, -1) for i in indices]
    rest = data[0].shape[np.ndim(indices[0]) :]
    count = max((int(i.max()) for i in flat if i.size), default=-1) + 1
    if any(i.size and int(i.min()) < 0 for i in flat):
        raise ValueError("indices must not be negative")
    for numbers, part in zip(indices, data, strict=True):
        if part.shape != (*np.shape(numbers), *rest):
            raise ValueError(
                f"data of shape {list(part.shape)} belongs to indices of shape {list(np.shape(numbers))}, "
                f"but each row must have shape {list(rest)}, as the first has"
            )
    dtype = data[0].dtype
    out = (
        np.full((count, *rest), b"", object)
        if dtype.kind == "O"
        else xp.zeros((count, *rest), dtype)
    )
    for numbers, part in zip(flat, data, strict=True):
        out[numbers] = part.reshape(numbers.size, *rest)
    return out
