"""Many products at a time are those that NumPy makes, for all layouts and batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels import matmul
from dataflow.kernels.jit import batched_gemm
from dataflow.kernels.jit.batched_gemm import multiply_each

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")
pytestmark = pytest.mark.avx512


@pytest.fixture(autouse=True)
def every_size(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batched_gemm, "SMALL_PRODUCT", 0)
    monkeypatch.setattr(batched_gemm, "num_threads", lambda: 2)


#: Batches of the left and the right operand; rows, steps and columns.
CASES = [
    ((4,), (4,), (4, 1, 16)),
    ((9,), (9,), (7, 33, 17)),
    ((3, 5), (3, 5), (20, 8, 50)),
    ((3, 1), (1, 4), (5, 300, 64)),
    ((6,), (2, 1), (30, 6, 19)),
]


def _numbers(shape: tuple[int, ...], seed: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("adjoint", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_products(monkeypatch: pytest.MonkeyPatch, case: Any, adjoint: tuple[bool, bool]) -> None:
    left, right, (rows, steps, columns) = case
    x = _numbers((*left, *((steps, rows) if adjoint[0] else (rows, steps))), 0)
    y = _numbers((*right, *((columns, steps) if adjoint[1] else (steps, columns))), 1)
    flags = dict(zip(("adj_x", "adj_y"), adjoint, strict=True))
    got = matmul.batch_mat_mul_kernel(np, x, y, **flags)
    turned = x.swapaxes(-1, -2) if adjoint[0] else x, y.swapaxes(-1, -2) if adjoint[1] else y
    assert multiply_each(*turned) is not None
    monkeypatch.setattr(matmul, "multiply_each", lambda *arguments: None)
    wanted = matmul.batch_mat_mul_kernel(np, x, y, **flags)
    assert got.shape == wanted.shape and got.dtype == np.float32
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


def test_operands_that_are_views() -> None:
    x = _numbers((2, 6, 4, 24), 0).transpose(0, 2, 1, 3)  # heads of attention
    y = _numbers((2, 7, 4, 24), 1).transpose(0, 2, 3, 1)
    y = np.concatenate([y, y, y], -1)[..., ::-1][..., ::-1]
    got = multiply_each(x, y)
    np.testing.assert_allclose(got, np.matmul(x, y), rtol=1e-4, atol=1e-4)


def test_what_is_left_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones((8, 16, 16), np.float32)
    assert multiply_each(x, x) is not None
    assert multiply_each(x[:3], x[:3]) is None  # too few
    assert multiply_each(x.astype(np.float64), x.astype(np.float64)) is None
    assert multiply_each(x, x[0]) is None
    assert multiply_each(x, np.repeat(x, 2, -1)[..., ::2]) is None
    assert multiply_each(x, x[..., :9]) is None
    assert multiply_each(x, np.ones((7, 16, 16), np.float32)) is None  # which is an error
    monkeypatch.undo()
    assert multiply_each(x, x) is None
