"""Triangles solved by blocks, and products with sparse matrices, give what dense ones give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels import solvers, sparse_dense
from dataflow.kernels.jit import native_ufunc
from tests.results_of import results_of


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("flags", [(True, False), (False, False), (True, True), (False, True)])
@pytest.mark.parametrize("shape", [(5,), (97,), (2, 130), (30, 7), (5, 7, 4)], ids=str)
@pytest.mark.parametrize("with_blas", [True, False], ids=["BLAS", "NumPy"])
def test_triangles(
    shape: tuple[int, ...],
    flags: tuple[bool, bool],
    dtype: str,
    with_blas: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not with_blas:
        monkeypatch.setattr(solvers, "solve_triangle", lambda *arguments: None)
    rng = np.random.default_rng(0)
    matrix = (rng.standard_normal((*shape, shape[-1])) / shape[-1]).astype(dtype)
    matrix += 2 * np.eye(shape[-1], dtype=dtype)
    rhs = rng.standard_normal((*shape, 3)).astype(dtype)
    if dtype == "complex64":
        matrix += matrix.swapaxes(-1, -2) * np.complex64(0.5j)
    lower, adjoint = flags
    got = solvers.matrix_triangular_solve_kernel(np, matrix, rhs, lower=lower, adjoint=adjoint)
    triangle = np.tril(matrix) if lower else np.triu(matrix)
    triangle = triangle.conj().swapaxes(-1, -2) if adjoint else triangle
    assert got.dtype == rhs.dtype
    np.testing.assert_allclose(triangle @ got, rhs, atol=1e-12 if dtype == "float64" else 1e-5)


def test_only_the_triangle_is_read_and_nothing_is_written() -> None:
    matrix = np.tril(np.ones((6, 6), np.float32))
    matrix[0, 5] = np.nan
    rhs = np.asfortranarray(np.arange(12, dtype=np.float32).reshape(6, 2))
    before = rhs.copy()
    got = solvers.matrix_triangular_solve_kernel(np, matrix, rhs, lower=True, adjoint=False)
    np.testing.assert_array_equal(got, [[0, 1], *[[2, 2]] * 5])
    np.testing.assert_array_equal(rhs, before)
    empty = solvers.matrix_triangular_solve_kernel(
        np, matrix[:0, :0], rhs[:0], lower=True, adjoint=False
    )
    assert empty.shape == (0, 2)


def test_many_small_triangles_are_solved_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solvers, "solve_triangle", None)
    matrix = np.tril(np.ones((100, 3, 3), np.float32))
    matrix[:, 0, 2] = np.nan
    rhs = np.arange(300, dtype=np.float32).reshape(100, 3, 1)
    got = solvers.matrix_triangular_solve_kernel(np, matrix, rhs, lower=True, adjoint=False)
    np.testing.assert_array_equal(got[:, 0], rhs[:, 0])
    np.testing.assert_array_equal(got[:, 1:], np.ones((100, 2, 1)))


def test_a_triangle_that_cannot_be_inverted() -> None:
    matrix = np.eye(120, dtype=np.float32)
    matrix[100, 100] = 0
    with pytest.raises(ValueError, match="not invertible"):
        solvers.matrix_triangular_solve_kernel(
            np, matrix, np.ones((120, 2), np.float32), lower=True, adjoint=False
        )


@pytest.mark.parametrize("adjoint", [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_sparse_products(
    at_once: None, monkeypatch: pytest.MonkeyPatch, dtype: str, adjoint: tuple[bool, bool]
) -> None:
    pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")
    monkeypatch.setattr(native_ufunc, "SMALL_ELEMENTS", 0)
    rng = np.random.default_rng(0)
    indices = np.stack([rng.integers(0, 9, 40), rng.integers(0, 7, 40)], 1)
    values = rng.integers(-5, 5, 40).astype(dtype)
    matrix = np.zeros((9, 7), dtype)
    np.add.at(matrix, tuple(indices.T), values)
    left = matrix.T if adjoint[0] else matrix
    b: Any = rng.integers(-5, 5, (left.shape[1], 6)).astype(dtype)
    used = results_of(monkeypatch, sparse_dense, "change_rows")
    got = sparse_dense.sparse_tensor_dense_matmul_kernel(
        np,
        indices,
        values,
        np.array([9, 7]),
        np.ascontiguousarray(b.T) if adjoint[1] else b,
        adjoint_a=adjoint[0],
        adjoint_b=adjoint[1],
    )
    assert used == [dtype != "int32"]
    np.testing.assert_array_equal(got, left @ b)
