"""Partitioners: into how many parts a variable is cut, and along which axis."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dataflow.dtypes import DType, as_dtype
from dataflow.graph.type_aliases import DTypeLike, DynamicShapeLike
from dataflow.shapes import TensorShape, as_dims

Partitioner = Callable[..., list[int]]


def _sizes(shape: DynamicShapeLike) -> list[int]:
    dims = as_dims(shape)
    if dims is None or None in dims:
        raise ValueError(f"A partitioner needs a fully defined shape, got {shape}.")
    return [int(d) for d in dims if d is not None]


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """Cuts into ``num_shards`` parts along ``axis`` (no more than the axis is long)."""

    def partitioner(shape: DynamicShapeLike, **_: Any) -> list[int]:
        sizes = _sizes(shape)
        parts = [1] * len(sizes)
        parts[axis] = min(num_shards, sizes[axis])
        return parts

    return partitioner


def variable_axis_size_partitioner(
    max_shard_bytes: int, axis: int = 0, bytes_per_string_element: int = 16, max_shards: Any = None
) -> Partitioner:
    """Cuts along ``axis`` so that no part is larger than ``max_shard_bytes``.

    Raises `ValueError` for sizes that are not positive.
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError("Both max_shard_bytes and bytes_per_string_element must be positive.")
    if max_shards is not None and max_shards < 1:
        raise ValueError("max_shards must be positive.")

    def partitioner(shape: DynamicShapeLike, dtype: DTypeLike, **_: Any) -> list[int]:
        sizes = _sizes(shape)
        kind = as_dtype(dtype)
        element_bytes = bytes_per_string_element if kind.kind == "S" else kind.size
        parts = [1] * len(sizes)
        slice_bytes = (math.prod(sizes) // max(sizes[axis], 1)) * element_bytes
        slices_per_part = max(1, max_shard_bytes // max(slice_bytes, 1))
        count = math.ceil(sizes[axis] / slices_per_part)
        if max_shards is not None:
            count = min(max_shards, count)
        parts[axis] = max(count, 1)
        return parts

    return partitioner


def min_max_variable_partitioner(
    max_partitions: int = 1,
    axis: int = 0,
    min_slice_size: int = 256 << 10,
    bytes_per_string_element: int = 16,
) -> Partitioner:
    """Cuts into at most ``max_partitions`` parts of at least ``min_slice_size`` bytes."""

    def partitioner(shape: DynamicShapeLike, dtype: DTypeLike, **_: Any) -> list[int]:
        sizes = _sizes(shape)
        kind = as_dtype(dtype)
        element_bytes = bytes_per_string_element if kind.kind == "S" else kind.size
        total_bytes = math.prod(sizes) * element_bytes
        count = max(1, math.ceil(total_bytes / min_slice_size))
        parts = [1] * len(sizes)
        parts[axis] = max(1, min(sizes[axis], max_partitions, count))
        return parts

    return partitioner


def partitions_of(name: str, dims: Any, dtype: DType, partitioner: Callable[..., Any]) -> list[int]:
    """How many parts ``partitioner`` wants along each axis; raises `ValueError`."""
    if not callable(partitioner):
        raise ValueError(f"Partitioner must be callable, but received: {partitioner!r}")
    if dims is None or None in dims:
        raise ValueError(
            f"Shape of a new partitioned variable ({name}) must be fully defined, but instead was "
            f"{TensorShape(dims)}."
        )
    if not dims:
        raise ValueError(f"A partitioned variable must have rank at least 1: {name} is a scalar.")
    partitions = partitioner(shape=TensorShape(dims), dtype=dtype)
    if not isinstance(partitions, (list, tuple)):
        raise ValueError(f"Partitioner must return a list of numbers, but got {partitions!r}.")
    if len(partitions) != len(dims) or any(p < 1 for p in partitions):
        raise ValueError(
            f"The partitioner returned {partitions} for shape {TensorShape(dims)}: "
            "it must say a positive number for every axis."
        )
    if sum(p > 1 for p in partitions) > 1:
        raise ValueError(
            f"Variables can be cut along one axis only, the partitioner said {partitions}."
        )
    return list(partitions)
