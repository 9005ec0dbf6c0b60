"""Kernels that solve linear equations, invert matrices and take determinants."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.batched_linalg import adjoint_of, by_batch, for_lapack, in_dtype_of
from dataflow.kernels.blas import inverse, solve_triangle
from dataflow.kernels.registry import kernel


def _singular(e: Exception) -> ValueError:
    return ValueError(f"Input matrix is not invertible ({e}).")


@kernel("MatrixInverse")
def matrix_inverse_kernel(xp: Module, x: Array, *, adjoint: bool) -> Any:
    try:
        given = for_lapack(adjoint_of(xp, x) if adjoint else x)
        return in_dtype_of(x, by_batch(xp, inverse if xp is np else xp.linalg.inv, 2, given))
    except np.linalg.LinAlgError as e:
        raise _singular(e) from e


@kernel("MatrixDeterminant")
def matrix_determinant_kernel(xp: Module, x: Array) -> Any:
    return in_dtype_of(x, xp.linalg.det(for_lapack(x)))


@kernel("LogMatrixDeterminant")
def log_matrix_determinant_kernel(xp: Module, x: Array) -> Any:
    sign, logarithm = xp.linalg.slogdet(for_lapack(x))
    return in_dtype_of(x, sign, logarithm)


def _solve(xp: Any, matrix: Any, rhs: Any) -> Any:
    try:
        return in_dtype_of(rhs, xp.linalg.solve(for_lapack(matrix), for_lapack(rhs)))
    except np.linalg.LinAlgError as e:
        raise _singular(e) from e


@kernel("MatrixSolve")
def matrix_solve_kernel(xp: Module, matrix: Array, rhs: Array, *, adjoint: bool) -> Any:
    return _solve(xp, adjoint_of(xp, matrix) if adjoint else matrix, rhs)


@kernel("MatrixTriangularSolve")
def matrix_triangular_solve_kernel(
    xp: Module, matrix: Array, rhs: Array, *, lower: bool, adjoint: bool
) -> Any:
    if xp is np:
        if not np.diagonal(matrix, axis1=-2, axis2=-1).all():
            raise _singular(np.linalg.LinAlgError("Singular matrix"))
        if _are_many(matrix, rhs):
            return _solve_many(adjoint_of(xp, matrix) if adjoint else matrix, rhs, lower != adjoint)
        found = solve_triangle(matrix, rhs, lower, adjoint)
        if found is not None:
            return found
    # NumPy itself has no triangular solver; LU of a triangle needs no elimination, so this is exact too.
    triangle = xp.tril(matrix) if lower else xp.triu(matrix)
    if adjoint:
        triangle, lower = adjoint_of(xp, triangle), not lower
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


def _are_many(matrix: Array, rhs: Array) -> bool:
    """Whether there are so many small triangles that a call of BLAS for each takes longer than `_solve_many`."""
    size = matrix.shape[-1]
    is_plain = matrix.dtype == rhs.dtype and rhs.dtype.char in "fdFD"
    same_batch = matrix.shape[:-1] == rhs.shape[:-1]
    many = 0 < size <= _BLOCK and matrix.size > _MANY * size * size * size
    return is_plain and same_batch and many


def _solve_many(matrix: Array, rhs: Array, lower: bool) -> Any:
    """Substitution, a row of all triangles at a time: they lie side by side, the batch last."""
    size, columns = rhs.shape[-2:]
    triangles = np.ascontiguousarray(matrix.reshape(-1, size, size).transpose(1, 2, 0))
    out = np.ascontiguousarray(rhs.reshape(-1, size, columns).transpose(1, 2, 0))
    for i in range(size) if lower else reversed(range(size)):
        out[i] /= triangles[i, i]
        rest = slice(i + 1, None) if lower else slice(0, i)
        out[rest] -= triangles[rest, i, None] * out[i]
    return np.ascontiguousarray(out.transpose(2, 0, 1)).reshape(rhs.shape)


#: Rows of a triangle that are solved at a time.
_BLOCK = 48
#: For each row of a triangle, how many triangles a batch has at least that `_solve_many` is for.
_MANY = 4
