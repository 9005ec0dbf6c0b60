"""Kernels of the ops in `dataflow.ops.tridiagonal`: loops over rows, each of a whole stack at once."""

from __future__ import annotations

from typing import Any

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel


@kernel("TridiagonalMatMul")
def tridiagonal_mat_mul_kernel(
    xp: Module, above: Array, middle: Array, below: Array, rhs: Array
) -> Any:
    out = xp.swapaxes(middle, -1, -2) * rhs
    out[..., :-1, :] += xp.swapaxes(above, -1, -2)[..., :-1, :] * rhs[..., 1:, :]
    out[..., 1:, :] += xp.swapaxes(below, -1, -2)[..., 1:, :] * rhs[..., :-1, :]
    return out


@kernel("TridiagonalSolve")
def tridiagonal_solve_kernel(
    xp: Module, diagonals: Array, rhs: Array, *, partial_pivoting: bool
) -> Any:
    """Gauss's elimination; a row that is exchanged for the next has a third element beyond it.

    As in TensorFlow the solution is NaN where the matrix is singular.
    """
    size = rhs.shape[-2]
    dtype = xp.float32 if rhs.dtype.char == "e" else rhs.dtype
    x = rhs.astype(dtype)  # a copy
    band = xp.moveaxis(diagonals, -1, 0).astype(dtype)  # [m, ..., 3]
    # Of each row: its element on the main diagonal, and the two after it.
    zero = xp.zeros_like(band[0][..., 0])
    singular = xp.zeros(zero.shape + (1,), bool)
    rows = [xp.stack([b[..., 1], b[..., 0], zero], -1) for b in band]
    for i in range(size - 1):
        here = rows[i]
        below = xp.stack([band[i + 1][..., k] for k in (2, 1, 0)], -1)
        if i == size - 2:
            below[..., 2] = 0
        if partial_pivoting:
            exchange = (xp.abs(below[..., 0]) > xp.abs(here[..., 0]))[..., None]
            here, below = xp.where(exchange, below, here), xp.where(exchange, here, below)
            first, second = x[..., i, :].copy(), x[..., i + 1, :].copy()
            x[..., i, :] = xp.where(exchange, second, first)
            x[..., i + 1, :] = xp.where(exchange, first, second)
        pivot, singular = _nonzero(xp, here[..., :1], singular)
        factor = below[..., :1] / pivot
        below = below - factor * here
        x[..., i + 1, :] -= factor * x[..., i, :]
        rows[i] = here
        rows[i + 1] = xp.stack([below[..., 1], below[..., 2], zero], -1)
    for i in reversed(range(size)):
        for step in (1, 2):
            if i + step < size:
                x[..., i, :] -= rows[i][..., step, None] * x[..., i + step, :]
        pivot, singular = _nonzero(xp, rows[i][..., :1], singular)
        x[..., i, :] /= pivot
    x = xp.where(singular[..., None], xp.nan, x)
    return x.astype(rhs.dtype, copy=False)


def _nonzero(xp: Module, pivot: Any, singular: Any) -> tuple[Any, Any]:
    """``pivot`` with ones for zeros, and where there was a zero now or before."""
    zero = pivot == 0
    return xp.where(zero, 1, pivot), singular | zero
