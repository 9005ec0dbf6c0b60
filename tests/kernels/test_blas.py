"""Products added to an array, in every layout that the kernels use, and BLAS's thread count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels import blas
from dataflow.kernels.parallel import matrix_product, run_pieces


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize(("m", "k", "n"), [(5, 4, 3), (1, 4, 3), (5, 1, 3), (5, 4, 1), (0, 2, 3)])
def test_add_product(
    dtype: Any, transpose_a: bool, transpose_b: bool, m: int, k: int, n: int
) -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(-3, 4, (k, m) if transpose_a else (m, k)).astype(dtype)
    b = rng.integers(-3, 4, (n, k) if transpose_b else (k, n)).astype(dtype)
    a, b = (a.T if transpose_a else a), (b.T if transpose_b else b)
    out = rng.integers(-3, 4, (m, n)).astype(dtype)
    want = out + a @ b
    blas.add_product(np, a, b, out)
    np.testing.assert_array_equal(out, want)


def test_add_product_to_a_part_of_a_larger_array() -> None:
    whole = np.ones((6, 8), np.float32)
    a, b = np.full((6, 2), 2, np.float32), np.full((2, 3), 3, np.float32)
    blas.add_product(np, a, b, whole[:, 2:5])
    assert whole[:, 2:5].tolist() == [[13.0] * 3] * 6
    assert whole[:, [0, 1, 5, 6, 7]].tolist() == [[1.0] * 5] * 6


def test_without_openblas_numpy_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "_cblas", lambda letter: None)
    out = np.ones((2, 2), np.float32)
    blas.add_product(np, np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32), out)
    assert out.tolist() == [[2.0, 1.0], [1.0, 2.0]]


def test_the_number_of_threads_is_restored() -> None:
    before = blas.num_threads()
    with blas.single_threaded(), blas.single_threaded():
        functions = blas._thread_functions()
        if functions is not None:
            assert functions[0]() == 1
        assert blas.num_threads() == before
    assert blas.num_threads() == before
    functions = blas._thread_functions()
    if functions is not None:
        assert functions[0]() == before


def test_pieces_are_all_done_once_and_errors_come_out() -> None:
    done: list[int] = []
    run_pieces(list(range(100)), lambda: done.append)
    assert sorted(done) == list(range(100))

    def fail(piece: int) -> None:
        raise RuntimeError(f"piece {piece}")

    with pytest.raises(RuntimeError, match="piece"):
        run_pieces(list(range(8)), lambda: fail)


@pytest.mark.parametrize(("m", "k", "n"), [(50, 1500, 1000), (1000, 1500, 50), (410, 410, 413)])
def test_a_large_product_in_parts(m: int, k: int, n: int) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    np.testing.assert_allclose(matrix_product(a, b), a @ b)
    np.testing.assert_allclose(matrix_product(b.T, a.T), b.T @ a.T)
    with pytest.raises(ValueError, match="do not fit"):
        matrix_product(a[:, 1:], b)


@pytest.mark.parametrize("with_lapack", [True, False], ids=["LAPACK", "NumPy"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(3, 3), (40, 40), (2, 3, 31, 31), (0, 30, 30), (0, 0)], ids=str)
def test_inverse(
    shape: tuple[int, ...], dtype: str, with_lapack: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not with_lapack:
        monkeypatch.setattr(blas, "_lapack_inversion", lambda letter: None)
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal(shape).astype(dtype)
    if dtype.startswith("complex"):
        matrix += (1j * rng.standard_normal(shape)).astype(dtype)
    before = matrix.copy()
    # Also of a view whose rows are not beside each other.
    for given in (matrix, matrix.swapaxes(-1, -2)):
        got = blas.inverse(given)
        assert got.dtype == matrix.dtype and got.shape == given.shape
        identity = np.broadcast_to(np.eye(shape[-1]), shape)
        tolerance = 2e-4 if dtype in ("float32", "complex64") else 1e-12
        np.testing.assert_allclose(given @ got, identity, atol=tolerance)
    np.testing.assert_array_equal(matrix, before)


@pytest.mark.parametrize("size", [3, 40])
def test_a_singular_matrix_of_a_batch_has_no_inverse(size: int) -> None:
    batch = np.stack([np.eye(size), np.ones((size, size))]).astype(np.float32)
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        blas.inverse(batch)
    assert np.isnan(blas.inverse(np.full((size, size), np.nan, np.float32))).all()
