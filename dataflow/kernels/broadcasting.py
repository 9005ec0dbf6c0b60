"""Kernels of broadcasting."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.index_arrays import int_tuple
from dataflow.kernels.registry import kernel


@kernel("BroadcastTo", any_dtype=True)
def broadcast_to_kernel(xp: Module, x: Any, shape: Array) -> Any:
    source = np.asarray(x, object) if isinstance(x, bytes) else x
    sizes = int_tuple(shape)
    if source.ndim > len(sizes):
        return xp.broadcast_to(source, sizes)  # which refuses, and says why
    out = xp.empty(sizes, source.dtype)
    out[...] = source  # a third of the time that `broadcast_to` and a copy take
    return out


@kernel("BroadcastArgs")
def broadcast_args_kernel(xp: Module, a: Array, b: Array) -> Any:
    return np.array(np.broadcast_shapes(int_tuple(a), int_tuple(b)), a.dtype)


@kernel("BroadcastGradientArgs")
def broadcast_gradient_args_kernel(xp: Module, a: Array, b: Array) -> Any:
    first, second = a.tolist(), b.tolist()
    rank = max(len(first), len(second))
    first = [1] * (rank - len(first)) + first
    second = [1] * (rank - len(second)) + second
    pad_a, pad_b = rank - len(a), rank - len(b)
    left = [i for i in range(rank) if i < pad_a or (first[i] == 1 and second[i] != 1)]
    right = [i for i in range(rank) if i < pad_b or (second[i] == 1 and first[i] != 1)]
    return np.array(left, a.dtype), np.array(right, a.dtype)
