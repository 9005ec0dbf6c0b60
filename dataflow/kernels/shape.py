"""Kernels that ask for a shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel


@kernel("Shape")
def shape_kernel(xp: Module, x: Array, *, out_type: DType) -> Any:
    return np.array(x.shape if hasattr(x, "shape") else (), out_type.numpy)


@kernel("ShapeN")
def shape_n_kernel(xp: Module, values: list[Array], *, out_type: DType) -> Any:
    return tuple(np.array(v.shape if hasattr(v, "shape") else (), out_type.numpy) for v in values)


@kernel("Size")
def size_kernel(xp: Module, x: Array, *, out_type: DType) -> Any:
    return out_type.numpy.type(getattr(x, "size", 1))


@kernel("Rank")
def rank_kernel(xp: Module, x: Array) -> Any:
    return np.int32(getattr(x, "ndim", 0))
