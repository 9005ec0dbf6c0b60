"""Dilation in machine code gives what NumPy gives, pass by pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels import dilation
from dataflow.kernels.jit import compiler
from tests.results_of import results_of

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")

CASES: list[tuple[tuple[int, ...], int, int, int, str]] = [
    ((2, 9, 11, 8), 3, 1, 1, "SAME"),
    ((2, 9, 8, 70), 3, 1, 2, "VALID"),
    ((1, 11, 12, 3), 5, 2, 1, "SAME"),
    ((2, 9, 10, 1), 2, 1, 1, "SAME"),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_dilation_and_its_gradients(
    at_once: None, monkeypatch: pytest.MonkeyPatch, case: Any, dtype: str
) -> None:
    monkeypatch.setattr(dilation, "SMALL_ELEMENTS", 0)
    shape, taps, stride, rate, padding = case
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, shape).astype(dtype)  # many are equal: the first of them counts
    x.reshape(-1)[:30] = [np.nan, np.inf, -np.inf] * 10
    filter = rng.integers(-2, 3, (taps, taps, shape[3])).astype(dtype)
    windows = {"strides": [1, stride, stride, 1], "rates": [1, rate, rate, 1], "padding": padding}
    asked = results_of(monkeypatch, dilation, "_run")
    y = dilation.dilation2d_kernel(np, x, filter, **windows)
    grad = rng.standard_normal(y.shape).astype(dtype)
    operands = (np, x, filter, grad)
    by_image = dilation.dilation2d_backprop_input_kernel(*operands, **windows)
    by_filter = dilation.dilation2d_backprop_filter_kernel(*operands, **windows)
    assert asked and all(asked)
    monkeypatch.setattr(compiler.JitEntry, "get", lambda lazy: None)
    np.testing.assert_array_equal(y, dilation.dilation2d_kernel(np, x, filter, **windows))
    for got, function in (
        (by_image, dilation.dilation2d_backprop_input_kernel),
        (by_filter, dilation.dilation2d_backprop_filter_kernel),
    ):
        wanted = function(*operands, **windows)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)
