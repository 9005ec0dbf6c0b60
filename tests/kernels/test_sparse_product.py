"""`tf.sparse_tensor_dense_matmul` of tensors large enough for SciPy, and without it block by block."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels import sparse_dense

INNER, WIDTH = 70, 40


def _entries(order: str) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 50, 6_000)
    if order == "sorted":
        rows.sort()
    columns = rng.integers(0, INNER, rows.size)  # some places come twice
    return rows, columns, rng.normal(size=rows.size)


@pytest.mark.parametrize("with_scipy", [True, False])
@pytest.mark.parametrize("order", ["sorted", "any"])
@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_as_a_dense_product(
    order: str, dtype: Any, adjoint: bool, with_scipy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if with_scipy:
        pytest.importorskip("scipy")
    else:
        monkeypatch.setattr(sparse_dense, "_scipy_sparse", lambda: None)
        monkeypatch.setattr(sparse_dense, "_BLOCK_BYTES", 1 << 12)
    rows, columns, values = _entries(order)
    values = values.astype(dtype)
    assert rows.size * WIDTH >= sparse_dense._WORTH_SCIPY
    a = np.zeros((60, INNER), np.complex128)  # ten rows stay empty
    np.add.at(a, (rows, columns), values)
    b = np.random.default_rng(4).normal(size=(60 if adjoint else INNER, WIDTH)).astype(dtype)
    out = sparse_dense.sparse_tensor_dense_matmul_kernel(
        np,
        np.stack([rows, columns], 1),
        values,
        np.array([60, INNER]),
        b,
        adjoint_a=adjoint,
        adjoint_b=False,
    )
    assert out.dtype == dtype
    np.testing.assert_allclose(out, (a.conj().T if adjoint else a) @ b, rtol=0, atol=2e-4)


def test_what_is_not_stored_meets_no_infinity() -> None:
    rows = np.repeat(np.arange(100), 30)
    columns = np.tile(np.arange(30), 100)
    b = np.ones((31, 40), np.float32)
    b[30] = np.inf  # no entry of the sparse matrix meets it
    out = sparse_dense.sparse_tensor_dense_matmul_kernel(
        np,
        np.stack([rows, columns], 1),
        np.ones(3_000, np.float32),
        np.array([100, 31]),
        b,
        adjoint_a=False,
        adjoint_b=False,
    )
    assert (out == 30).all()
