"""Kernels of casts."""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import DType
from dataflow.kernels.array_types import Module
from dataflow.kernels.registry import kernel


@kernel("Cast", factory=True)
def cast_kernel(xp: Module, *, SrcT: DType, DstT: DType) -> Any:
    target = DstT.numpy
    if SrcT.kind == "c" and DstT.kind not in "cb":
        return lambda x: x.real.astype(target)
    return lambda x: x.astype(target)
