"""Different elements in order of first appearance, found by a table and by sorting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow import dtypes
from dataflow.kernels import sequences
from dataflow.kernels.jit import unique


@pytest.mark.parametrize("out_idx", [dtypes.int32, dtypes.int64])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_machine_code_finds_the_same(at_once: None, dtype: Any, out_idx: Any) -> None:
    pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")
    rng = np.random.default_rng(0)
    for x in (
        rng.integers(-50, 50, 1000),
        rng.integers(-(2**31), 2**31, 5000),
        np.arange(777) * 65536,
        np.full(9, -1),
        np.array([0]),
        rng.integers(0, 9, 100)[::2],
    ):
        x = x.astype(dtype)[:: 1 if x.size != 50 else 2]
        got = sequences.unique_kernel(np, x, out_idx=out_idx)
        values, which, _ = sequences.unique_in_order(x)
        np.testing.assert_array_equal(got[0], values)
        np.testing.assert_array_equal(got[1], which)
        assert (got[0].dtype, got[1].dtype) == (x.dtype, out_idx.as_numpy_dtype)
    assert unique.unique(np.zeros(0, dtype), np.dtype("i")) is None


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8])
@pytest.mark.parametrize("values", [[3], [5, 5, 2, 7, 2, 5, 0], [100, 90, 100], [0, 127, 0]])
def test_both_ways_agree(monkeypatch: pytest.MonkeyPatch, values: list[int], dtype: Any) -> None:
    x = np.array(values, dtype)
    if dtype is not np.uint8:
        x = x - dtype(1)  # below zero, too
    by_table = sequences.unique_in_order(x)
    monkeypatch.setattr(sequences, "_LARGEST_TABLE", 0)
    for got, wanted in zip(by_table, sequences.unique_in_order(x), strict=True):
        np.testing.assert_array_equal(got, wanted)
        assert got.dtype == wanted.dtype


def test_the_whole_range_of_a_small_type() -> None:
    x = np.array([100, -28, 73, -128, 100], np.int8)
    values, which, counts = sequences.unique_in_order(x)
    assert values.tolist() == [100, -28, 73, -128]
    assert (which.tolist(), counts.tolist()) == ([0, 1, 2, 3, 0], [2, 1, 1, 1])


def test_large_numbers_without_a_sign() -> None:
    x = np.array([2**64 - 1, 2**64 - 3, 2**64 - 1], np.uint64)
    values, which, _ = sequences.unique_in_order(x)
    assert (values.tolist(), which.tolist()) == ([2**64 - 1, 2**64 - 3], [0, 1, 0])
