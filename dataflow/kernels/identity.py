"""Kernels of EnsureShape and GuaranteeConst; other ops that pass a value on need none."""

from __future__ import annotations

from typing import Any

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel


@kernel("EnsureShape", any_dtype=True)
def ensure_shape_kernel(xp: Module, x: Array, *, shape: Any) -> Any:
    from dataflow.shapes import compatible, list_dims

    if not compatible(shape, x.shape):
        raise ValueError(
            f"Shape of tensor {list(x.shape)} is not compatible with expected shape "
            f"{list_dims(shape)}."
        )
    return x


@kernel("GuaranteeConst", any_dtype=True)
def guarantee_const_kernel(xp: Module, x: Array) -> Any:
    return x
