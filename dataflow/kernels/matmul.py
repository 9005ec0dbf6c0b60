"""Kernels of the ops in `dataflow.ops.matmul`."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from dataflow.dtypes import DType, float16, float32
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda.concat import concatenate
from dataflow.kernels.cuda.matmul import product
from dataflow.kernels.parallel import (
    batch_of_products,
    matrix_product,
    product_with_packed,
    sum_of_products,
)
from dataflow.kernels.registry import kernel

_CPU_ONLY = "BLAS packs what it multiplies itself; no rewrite makes one for a GPU"


@kernel("MatMul", factory=True, takes_out=True)
def mat_mul_kernel(xp: Module, *, transpose_a: bool, transpose_b: bool, T: DType) -> Any:
    dot = matrix_product if xp is np else functools.partial(product, xp)
    if T is float16 and xp is np:
        dot = _in_single

    if transpose_a and transpose_b:
        return lambda a, b, out=None: dot(a.T, b.T, out)
    if transpose_a:
        return lambda a, b, out=None: dot(a.T, b, out)
    if transpose_b:
        return lambda a, b, out=None: dot(a, b.T, out)

    def checked(a: Array, b: Array, out: Any = None) -> Any:
        if a.ndim != 2 or b.ndim != 2:
            raise ValueError(f"both must be matrices, got shapes {a.shape} and {b.shape}")
        return dot(a, b, out)

    return checked


@kernel("_MatMulSum", factory=True)
def mat_mul_sum_kernel(xp: Module, *, transpose_a: bool, transpose_b: bool) -> Any:
    def on_gpu(a: list[Any], b: list[Any]) -> Any:  # joined, they are one product
        left = concatenate(xp, a, 0).T if transpose_a else concatenate(xp, a, 1)
        right = concatenate(xp, b, 1).T if transpose_b else concatenate(xp, b, 0)
        return product(xp, left, right)

    if xp is not np:
        return on_gpu

    def run(a: list[Any], b: list[Any]) -> Any:
        lefts = [x.T for x in a] if transpose_a else a
        rights = [x.T for x in b] if transpose_b else b
        return sum_of_products(lefts, rights)

    return run


@kernel("_PackedMatrix", cpu_only=_CPU_ONLY)
def packed_matrix_kernel(xp: Module, b: Array, *, transpose_b: bool) -> Any:
    from dataflow.kernels.jit.gemm import PackedMatrix  # with the first loop that has products

    return PackedMatrix(b.T if transpose_b else b)


@kernel("_PackedProduct", cpu_only=_CPU_ONLY)
def packed_product_kernel(xp: Module, a: Array, packed: Any) -> Any:
    if a.ndim != 2 or packed.matrix.ndim != 2:
        shapes = f"{a.shape} and {packed.matrix.shape}"
        raise ValueError(f"both must be matrices, got shapes {shapes}")
    return product_with_packed(a, packed)


def _in_single(a: Array, b: Array, out: Any = None) -> Any:
    """Half precision has no BLAS: in single precision it is faster and loses less."""
    return np.matmul(a.astype(np.float32), b.astype(np.float32)).astype(np.float16)


@kernel("SparseMatMul")
def sparse_mat_mul_kernel(
    xp: Module, a: Array, b: Array, *, transpose_a: bool, transpose_b: bool
) -> Any:
    left, right = a.T if transpose_a else a, b.T if transpose_b else b
    found = np.dot(left, right) if xp is np else product(xp, left, right)
    return found.astype(float32.numpy, copy=False)


def _adjoint(xp: Module, x: Array) -> Any:
    swapped = xp.swapaxes(x, -1, -2)
    return swapped.conj() if x.dtype.kind == "c" else swapped


@kernel("BatchMatMul", "BatchMatMulV2")
def batch_mat_mul_kernel(xp: Module, x: Array, y: Array, *, adj_x: bool, adj_y: bool) -> Any:
    if adj_x:
        x = _adjoint(xp, x)
    if adj_y:
        y = _adjoint(xp, y)
    if x.dtype.char == "e" and xp is np:
        return _in_single(x, y)
    if xp is not np:
        return product(xp, x, y)
    return batch_of_products(x, y)
