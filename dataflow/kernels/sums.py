"""Kernels of sums of many tensors."""

from __future__ import annotations

from typing import Any

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.indexed_list import add_lists
from dataflow.kernels.item_list import is_list
from dataflow.kernels.registry import kernel


@kernel("AddN", "AccumulateNV2")
def add_n_kernel(xp: Module, inputs: list[Array]) -> Any:
    first = inputs[0]
    if is_list(first):
        return add_lists(inputs)
    for other in inputs[1:]:
        if other.shape != first.shape:
            raise ValueError(f"all inputs must have the same shape: {first.shape}, {other.shape}")
    if len(inputs) == 1:
        return first.copy()
    total = first + inputs[1]
    for other in inputs[2:]:
        total += other  # `total` is our own since the first sum
    return total
