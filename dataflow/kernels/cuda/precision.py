"""How exactly a GPU multiplies single-precision matrices: in full, or rounded to TF32.

CuPy decides at the first product, by the variable ``CUPY_TF32``, unless it was told before. Here it
is told when a session first reaches it, so that the variable has no say.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array

_enabled = False
#: CuPy, once a session has reached it.
_cupy: Any = None


def enable_tf32(enabled: bool) -> None:
    """Lets GPUs round the inputs of products of ``float32`` to TF32, or forbids it."""
    global _enabled
    _enabled = bool(enabled)
    if _cupy is not None:
        _tell(_cupy)


def tf32_enabled() -> bool:
    """Whether inputs may be rounded; ``False`` unless `enable_tf32` said so."""
    return _enabled


def keep_precise(cupy: Any) -> None:
    """Tells CuPy what holds, now and whenever `enable_tf32` changes it."""
    global _cupy
    if _cupy is not cupy:
        _cupy = cupy
        _tell(cupy)


def _tell(cupy: Any) -> None:
    types = importlib.import_module(f"{cupy.__name__}._core._routines_linalg")
    wanted = types.COMPUTE_TYPE_TF32 if _enabled else types.COMPUTE_TYPE_DEFAULT
    types.set_compute_type(np.float32, wanted)  # complex64 has the same setting


def rounded_to_tf32(array: Array) -> Any:
    """A ``float32`` array with 10 bits after the point, to nearest; NaN and infinity stay."""
    bits = np.ascontiguousarray(array).view(np.uint32)
    even = (bits >> np.uint32(13)) & np.uint32(1)
    rounded = ((bits + np.uint32(0xFFF) + even) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(array), rounded, array)
