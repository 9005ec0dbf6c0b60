"""Words of machine code are NumPy's, and what becomes of them is the same, bit for bit."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dataflow.dtypes import as_dtype
from dataflow.kernels import random
from dataflow.kernels.jit import native_ufunc, philox_native
from dataflow.kernels.normal_quantile import normal_quantile
from dataflow.kernels.philox import Stream, uniform

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")

SEEDS = [(0, 1), (5, -7), (-(2**63), 2**63 - 1)]


@pytest.fixture
def by_numpy(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Calls a function without machine code."""

    def call(function: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(philox_native, "draw", lambda *arguments: None)
            return function()

    return call


@pytest.fixture(autouse=True)
def small(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(philox_native, "SMALL_BLOCKS", 1)
    monkeypatch.setattr(philox_native, "_PIECE_BLOCKS", 100)
    monkeypatch.setattr(native_ufunc, "SMALL_ELEMENTS", 0)


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_a_stream_goes_on_whoever_draws(by_numpy: Any, seeds: tuple[int, int]) -> None:
    mixed, plain = Stream(*seeds), Stream(*seeds)
    for count in (1, 5, 1003):
        wanted = by_numpy(lambda n=count: plain.words(n))
        np.testing.assert_array_equal(mixed.words(count), wanted)
        wanted = by_numpy(lambda n=count: plain.words(n))
        np.testing.assert_array_equal(by_numpy(lambda n=count: mixed.words(n)), wanted)
    wanted = by_numpy(lambda: plain.generator().standard_gamma(2.0, 9))
    np.testing.assert_array_equal(mixed.generator().standard_gamma(2.0, 9), wanted)
    assert mixed.blocks == plain.blocks


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("count", [0, 1, 7, 8, 1001])
def test_uniform_numbers(by_numpy: Any, count: int, dtype: str) -> None:
    got = uniform(np, Stream(1, 2), count, np.dtype(dtype))
    wanted = by_numpy(lambda: uniform(np, Stream(1, 2), count, np.dtype(dtype)))
    assert got.dtype == wanted.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(
    "limits",
    [(0, 1), (-5, 17), (0, 2**31 - 1), (-(2**31), 2**31 - 1), (-(2**63), 2**63 - 1), (3, 2**62)],
    ids=str,
)
def test_integers(by_numpy: Any, limits: tuple[int, int], dtype: str) -> None:
    if dtype == "int32" and max(map(abs, limits)) > 2**31:
        limits = limits[0] % 100, limits[0] % 100 + 2**20
    low, high = (np.array(limit, dtype) for limit in limits)

    def draw() -> Any:
        return random._uniform_int(np, Stream(3, 4), np.array([501]), low, high)

    got, wanted = draw(), by_numpy(draw)
    assert got.dtype == wanted.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_truncated_normal_numbers(
    by_numpy: Any, monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    def draw() -> Any:
        context = SimpleNamespace(xp=np, state={})
        shape, kind = np.array([50, 21]), as_dtype(dtype)
        return random.truncated_normal_kernel(context, shape, dtype=kind, seed=1, seed2=2)

    got = draw()
    monkeypatch.setattr(native_ufunc.Mapping, "run", lambda *arguments: False)
    np.testing.assert_array_equal(got, by_numpy(draw))
    assert got.shape == (50, 21) and np.abs(got).max() <= 2 and (np.abs(got) > 1.5).any()


def test_quantiles_of_all_of_the_line() -> None:
    p = np.array([[0.0, 1e-300, 1e-12, 0.02, 0.5], [0.7, 0.98, 1.0, np.nan, 2.0]])
    with np.errstate(all="ignore"):
        got = normal_quantile(np, p.T)
        wanted = [[float(normal_quantile(np, np.float64(x))) for x in row] for row in p.T]
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_allclose(got[3:, 0], [-2.053748910631823, 0.0], rtol=1e-14)
