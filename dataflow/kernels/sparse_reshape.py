"""Kernels of the order and shape of sparse tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.index_arrays import as_intp
from dataflow.kernels.registry import kernel
from dataflow.kernels.sparse_coordinates import coordinates, flat_numbers

_REASON = "coordinates are sorted and matched on the host"


@kernel("SparseReorder", cpu_only=_REASON)
def sparse_reorder_kernel(xp: Module, at: Array, values: Array, shape: Array) -> Any:
    order = np.argsort(flat_numbers(at, shape), kind="stable")
    return at[order], values[order]


@kernel("SparseReshape", cpu_only=_REASON)
def sparse_reshape_kernel(xp: Module, at: Array, shape: Array, new_shape: Array) -> Any:
    total = math.prod(shape.tolist())
    sizes = new_shape.tolist()
    if sizes.count(-1) > 1:
        raise ValueError(f"only one output dimension may be -1, got {sizes}")
    if -1 in sizes:
        rest = -math.prod(sizes)
        if rest == 0 or total % rest:
            raise ValueError(
                f"Input to reshape is a tensor with {total} dense values, but the requested shape "
                f"requires a multiple of {rest}: {sizes}"
            )
        sizes[sizes.index(-1)] = total // rest
    if math.prod(sizes) != total:
        raise ValueError(
            f"Input to reshape is a tensor with {total} dense values, of shape {shape.tolist()}, but the "
            f"requested shape has {math.prod(sizes)}: {sizes}"
        )
    if sizes == shape.tolist():
        return at, shape
    return coordinates(flat_numbers(at, shape), sizes), np.array(sizes, np.int64)


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
