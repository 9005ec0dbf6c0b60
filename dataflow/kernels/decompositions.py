"""Kernels that take matrices apart: Cholesky, QR, singular values, eigenvalues."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.batched_linalg import adjoint_of, by_batch, for_lapack, in_dtype_of
from dataflow.kernels.registry import kernel


@kernel("Cholesky")
def cholesky_kernel(xp: Module, x: Array) -> Any:
    try:
        factor = by_batch(xp, xp.linalg.cholesky, 2, for_lapack(x))
    except np.linalg.LinAlgError as e:
        raise ValueError(
            "Cholesky decomposition was not successful. The input might not be valid: "
            "it must be symmetric and positive definite."
        ) from e
    return in_dtype_of(x, factor)


@kernel("Qr")
def qr_kernel(xp: Module, x: Array, *, full_matrices: bool) -> Any:
    mode = "complete" if full_matrices else "reduced"
    q, r = by_batch(xp, lambda part: tuple(xp.linalg.qr(part, mode=mode)), 2, for_lapack(x))
    return in_dtype_of(x, q, r)


@kernel("Svd")
def svd_kernel(xp: Module, x: Array, *, compute_uv: bool, full_matrices: bool) -> Any:
    if not compute_uv:
        s = by_batch(xp, lambda part: xp.linalg.svd(part, compute_uv=False), 2, for_lapack(x))
        return s.astype(x.dtype, copy=False), xp.empty(0, x.dtype), xp.empty(0, x.dtype)

    def decompose(part: Array) -> Any:
        return tuple(xp.linalg.svd(part, full_matrices=full_matrices))

    u, s, vh = by_batch(xp, decompose, 2, for_lapack(x))
    return in_dtype_of(x, s, u, adjoint_of(xp, vh))


@kernel("SelfAdjointEigV2")
def self_adjoint_eig_kernel(xp: Module, x: Array, *, compute_v: bool) -> Any:
    if not compute_v:
        return in_dtype_of(x, by_batch(xp, xp.linalg.eigvalsh, 2, for_lapack(x))), xp.empty(
            0, x.dtype
        )
    e, v = by_batch(xp, lambda part: tuple(xp.linalg.eigh(part)), 2, for_lapack(x))
    return in_dtype_of(x, e, v)
