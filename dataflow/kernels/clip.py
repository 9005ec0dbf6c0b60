"""Kernels that keep values within bounds."""

from __future__ import annotations

from typing import Any

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel


@kernel("ClipByValue")
def clip_by_value_kernel(xp: Module, t: Array, low: Array, high: Array) -> Any:
    return xp.maximum(xp.minimum(t, high), low)
