"""Kernels of the ops in `dataflow.ops.decompositions`, `solvers` and `tensor_products`."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.batched_linalg import by_batch
from dataflow.kernels.blas import inverse, solve_triangle
from dataflow.kernels.parallel import batch_of_products, matrix_product
from dataflow.kernels.registry import kernel


def _lapack(x: Array) -> Any:
    """LAPACK has no half precision."""
    return x.astype(np.float32) if x.dtype.char == "e" else x


def _same(x: Array, *results: Any) -> Any:
    out = tuple(r.astype(x.dtype, copy=False) for r in results)
    return out[0] if len(out) == 1 else out


def _adjoint(xp: Module, x: Array) -> Any:
    return xp.conj(xp.swapaxes(x, -1, -2))


@kernel("Cholesky")
def cholesky_kernel(xp: Module, x: Array) -> Any:
    try:
        factor = by_batch(xp, xp.linalg.cholesky, 2, _lapack(x))
    except np.linalg.LinAlgError as e:
        raise ValueError(
            "Cholesky decomposition was not successful. The input might not be valid: "
            "it must be symmetric and positive definite."
        ) from e
    return _same(x, factor)


@kernel("Qr")
def qr_kernel(xp: Module, x: Array, *, full_matrices: bool) -> Any:
    mode = "complete" if full_matrices else "reduced"
    q, r = by_batch(xp, lambda part: tuple(xp.linalg.qr(part, mode=mode)), 2, _lapack(x))
    return _same(x, q, r)


@kernel("Svd")
def svd_kernel(xp: Module, x: Array, *, compute_uv: bool, full_matrices: bool) -> Any:
    if not compute_uv:
        s = by_batch(xp, lambda part: xp.linalg.svd(part, compute_uv=False), 2, _lapack(x))
        return s.astype(x.dtype, copy=False), xp.empty(0, x.dtype), xp.empty(0, x.dtype)

    def decompose(part: Array) -> Any:
        return tuple(xp.linalg.svd(part, full_matrices=full_matrices))

    u, s, vh = by_batch(xp, decompose, 2, _lapack(x))
    return _same(x, s, u, _adjoint(xp, vh))


@kernel("SelfAdjointEigV2")
def self_adjoint_eig_kernel(xp: Module, x: Array, *, compute_v: bool) -> Any:
    if not compute_v:
        return _same(x, by_batch(xp, xp.linalg.eigvalsh, 2, _lapack(x))), xp.empty(0, x.dtype)
    e, v = by_batch(xp, lambda part: tuple(xp.linalg.eigh(part)), 2, _lapack(x))
    return _same(x, e, v)


def _singular(e: Exception) -> ValueError:
    return ValueError(f"Input matrix is not invertible ({e}).")


@kernel("MatrixInverse")
def matrix_inverse_kernel(xp: Module, x: Array, *, adjoint: bool) -> Any:
    try:
        given = _lapack(_adjoint(xp, x) if adjoint else x)
        return _same(x, by_batch(xp, inverse if xp is np else xp.linalg.inv, 2, given))
    except np.linalg.LinAlgError as e:
        raise _singular(e) from e


@kernel("MatrixDeterminant")
def matrix_determinant_kernel(xp: Module, x: Array) -> Any:
    return _same(x, xp.linalg.det(_lapack(x)))


@kernel("LogMatrixDeterminant")
def log_matrix_determinant_kernel(xp: Module, x: Array) -> Any:
    sign, logarithm = xp.linalg.slogdet(_lapack(x))
    return _same(x, sign, logarithm)


def _solve(xp: Any, matrix: Any, rhs: Any) -> Any:
    try:
        return _same(rhs, xp.linalg.solve(_lapack(matrix), _lapack(rhs)))
    except np.linalg.LinAlgError as e:
        raise _singular(e) from e


@kernel("MatrixSolve")
def matrix_solve_kernel(xp: Module, matrix: Array, rhs: Array, *, adjoint: bool) -> Any:
    return _solve(xp, _adjoint(xp, matrix) if adjoint else matrix, rhs)


@kernel("MatrixTriangularSolve")
def matrix_triangular_solve_kernel(
    xp: Module, matrix: Array, rhs: Array, *, lower: bool, adjoint: bool
) -> Any:
    if xp is np:
        if not np.diagonal(matrix, axis1=-2, axis2=-1).all():
            raise _singular(np.linalg.LinAlgError("Singular matrix"))
        found = solve_triangle(matrix, rhs, lower, adjoint)
        if found is not None:
            return found
    # NumPy itself has no triangular solver; LU of a triangle needs no elimination, so this is exact too.
    triangle = xp.tril(matrix) if lower else xp.triu(matrix)
    if adjoint:
        triangle, lower = _adjoint(xp, triangle), not lower
    size = triangle.shape[-1]
    is_plain = rhs.dtype.char != "e" and triangle.shape[:-1] == rhs.shape[:-1]
    if size <= 2 * _BLOCK or not is_plain:
        return _solve(xp, triangle, rhs)
    # By blocks: what is known goes to the other side, in one product.
    starts = range(0, size, _BLOCK)
    out = xp.empty(rhs.shape, rhs.dtype)
    for start in starts if lower else reversed(starts):
        own = slice(start, min(start + _BLOCK, size))
        known = slice(0, start) if lower else slice(own.stop, size)
        rest = rhs[..., own, :] - triangle[..., own, known] @ out[..., known, :]
        out[..., own, :] = _solve(xp, triangle[..., own, own], rest)
    return out


#: Rows of a triangle that are solved at a time.
_BLOCK = 48


@kernel("Cross")
def cross_kernel(xp: Module, a: Array, b: Array) -> Any:
    return xp.cross(a, b)


class _Contraction(NamedTuple):
    """The orders of axes that make an equation a matrix product: batch, rows and columns."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    out: tuple[int, ...]
    batch: int
    summed: int


@functools.lru_cache(256)
def _contraction(equation: str, ranks: tuple[int, int]) -> _Contraction | None:
    """``None`` for an equation of another kind: diagonals, sums of one operand, an ellipsis."""
    inputs, arrow, out = equation.replace(" ", "").partition("->")
    a, _, b = inputs.partition(",")
    if not arrow or not (a + b + out).isalpha() or (len(a), len(b)) != ranks:
        return None
    if any(len(set(labels)) < len(labels) for labels in (a, b, out)):
        return None
    if set(out) - set(a + b) or (set(a) ^ set(b)) - set(out):
        return None
    batch = [x for x in out if x in a and x in b]
    summed = [x for x in a if x not in out]
    rows, columns = ([x for x in labels if x not in other] for labels, other in ((a, b), (b, a)))
    made = [*batch, *rows, *columns]
    return _Contraction(
        tuple(a.index(x) for x in [*batch, *rows, *summed]),
        tuple(b.index(x) for x in [*batch, *summed, *columns]),
        tuple(made.index(x) for x in out),
        len(batch),
        len(summed),
    )


def _as_product(equation: str, a: Array, b: Array) -> Any:
    """What one matrix product, or one for each of a batch, makes; ``None`` where there is none."""
    plan = _contraction(equation, (a.ndim, b.ndim))
    if plan is None or a.dtype != b.dtype or a.dtype.char not in "fd" or not a.size or not b.size:
        return None
    a, b = a.transpose(plan.left), b.transpose(plan.right)
    first, rows = a.shape[: plan.batch], a.shape[plan.batch : a.ndim - plan.summed]
    columns, end = b.shape[plan.batch + plan.summed :], plan.batch + plan.summed
    if (
        first != b.shape[: plan.batch]
        or a.shape[a.ndim - plan.summed :] != b.shape[plan.batch : end]
    ):
        return None  # `einsum` says so
    steps = math.prod(b.shape[plan.batch : end])
    left = a.reshape(*first, math.prod(rows), steps)
    right = b.reshape(*first, steps, math.prod(columns))
    product = batch_of_products(left, right) if first else matrix_product(left, right)
    return product.reshape((*first, *rows, *columns)).transpose(plan.out)


@kernel("Einsum")
def einsum_kernel(xp: Module, inputs: list[Array], *, equation: str) -> Any:
    if xp is np and len(inputs) == 2:
        found = _as_product(equation, *inputs)
        if found is not None:
            return found
    # `optimize` turns contractions into matrix products; for one or two small ones it costs more.
    return xp.asarray(xp.einsum(equation, *inputs, optimize=len(inputs) > 1))
