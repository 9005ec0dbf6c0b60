"""CheckNumerics."""

from __future__ import annotations

from typing import Any

from dataflow.errors import InvalidArgumentError
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel


@kernel("CheckNumerics")
def check_numerics_kernel(xp: Module, tensor: Array, *, message: str) -> Any:
    if xp.isfinite(tensor).all():
        return tensor
    found = []
    if xp.isinf(tensor).any():
        found.append("Inf")
    if xp.isnan(tensor).any():
        found.append("NaN")
    raise InvalidArgumentError(None, None, f"{message} : Tensor had {' and '.join(found)} values")
