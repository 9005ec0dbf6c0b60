"""The largest numbers of rows in machine code are those that sorting gives, equals in their order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels import sequences
from dataflow.kernels.jit import top_k
from tests.results_of import results_of

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")
pytestmark = pytest.mark.avx512


@pytest.fixture(autouse=True)
def every_size(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(top_k, "SMALL_ELEMENTS", 0)


def _compare(monkeypatch: pytest.MonkeyPatch, x: Any, k: int, by_code: bool = True) -> None:
    with monkeypatch.context() as patch:
        used = results_of(patch, sequences, "largest")
        values, places = sequences.top_k_kernel(np, x, k, sorted=True)
    assert (used[0][1].min() >= 0) == by_code
    monkeypatch.setattr(sequences, "largest", lambda *arguments: None)
    wanted = sequences.top_k_kernel(np, x, k, sorted=True)
    assert values.dtype == x.dtype and places.dtype == np.int32
    np.testing.assert_array_equal(values, wanted[0])
    np.testing.assert_array_equal(places, wanted[1])


@pytest.mark.parametrize("is_shared", [True, False], ids=["shared", "alone"])
@pytest.mark.parametrize("k", [2, 3, 7, 12])
@pytest.mark.parametrize("shape", [(1, 100), (7, 111), (3, 4, 128), (2, 1000)], ids=str)
def test_as_by_sorting(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], k: int, is_shared: bool
) -> None:
    if is_shared:
        monkeypatch.setattr(top_k, "_SHARED_BYTES", 0)
        monkeypatch.setattr(top_k, "_PIECE_BYTES", 900)
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    _compare(monkeypatch, x, k)


def test_equal_numbers_and_such_that_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).integers(-2, 3, (40, 64)).astype(np.float32)
    x[3, 5], x[4, 60], x[5, :60] = np.nan, np.inf, -np.inf
    _compare(monkeypatch, x, 4)


def test_rows_with_too_few_numbers_are_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones((3, 64), np.float32)
    x[1, 1:], x[2, 2:] = -np.inf, np.nan
    _compare(monkeypatch, x, 4, by_code=False)


@pytest.mark.parametrize("columns", [1, 2, 7, 300])
def test_sorting_by_packed_numbers(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, (5, 9, columns)).astype(np.float32)  # with many ties
    x[0] += rng.standard_normal(columns).astype(np.float32)
    x.reshape(-1)[:: max(1, columns // 3)] = rng.choice([0.0, -0.0, np.inf, -np.inf, 1e-45])
    x[3, 1, 0], x[3, 2, -1] = 0.0, -0.0
    monkeypatch.setattr(sequences, "_PACKED_FROM", 1 << 60)
    wanted = sequences._largest_first(np, x)
    monkeypatch.setattr(sequences, "_PACKED_FROM", 0)
    used = results_of(monkeypatch, sequences, "_order_by_packed")
    np.testing.assert_array_equal(sequences._largest_first(np, x), wanted)
    assert used
    used.clear()
    x[1, 1, 0] = np.nan  # one that is no number comes last
    assert sequences._largest_first(np, x)[1, 1, -1] == 0
    assert not used
