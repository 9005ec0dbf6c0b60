"""Kernels of several ufuncs give the same by their one loop; sums of rows the same by theirs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels import gather_scatter, matrix_diag, quantize
from dataflow.kernels.jit import native_ufunc
from tests.results_of import results_of

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")


@pytest.fixture(autouse=True)
def every_size(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_ufunc, "SMALL_ELEMENTS", 0)


def _both(monkeypatch: pytest.MonkeyPatch, function: Any) -> tuple[Any, Any]:
    """What a kernel gives with and without a loop."""
    with monkeypatch.context() as patch:
        used = results_of(patch, native_ufunc.Mapping, "run")
        got = function()
    assert used == [True]
    monkeypatch.setattr(native_ufunc.Mapping, "run", lambda *arguments: False)
    return got, function()


@pytest.mark.parametrize("narrow_range", [False, True])
def test_fake_quantization(monkeypatch: pytest.MonkeyPatch, narrow_range: bool) -> None:
    x = np.random.default_rng(0).standard_normal((7, 33)).astype(np.float32) * 2
    x[0, :3] = np.inf, -np.inf, 0
    got, wanted = _both(
        monkeypatch,
        lambda: quantize.fake_quant_args_kernel(
            np, x, min=-1.0, max=2.0, num_bits=6, narrow_range=narrow_range
        ),
    )
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("band", [(-1, 0), (1, 2), (0, -1), (-1, -1)])
def test_bands(monkeypatch: pytest.MonkeyPatch, band: tuple[int, int], dtype: str) -> None:
    x = np.random.default_rng(0).standard_normal((3, 9, 17)).astype(dtype)
    x[0, 0, 16], x[0, 8, 0] = np.nan, np.inf
    got, wanted = _both(monkeypatch, lambda: matrix_diag.matrix_band_part_kernel(np, x, *band))
    assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(got, wanted)


def test_sums_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    numbers, rows = rng.integers(0, 9, 50), rng.standard_normal((50, 3, 7)).astype(np.float32)
    used = results_of(monkeypatch, gather_scatter, "change_rows")
    got = gather_scatter.sum_rows(np, numbers, rows, 10)
    assert used == [True]
    wanted = np.zeros((10, 3, 7))
    np.add.at(wanted, numbers, rows)
    np.testing.assert_allclose(got, wanted, atol=1e-5)
    with pytest.raises(IndexError):
        gather_scatter.sum_rows(np, numbers + 5, rows, 10)
