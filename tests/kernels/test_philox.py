"""Streams of random words go on wherever they are, and numbers made of them are their upper bits."""

from __future__ import annotations

import tracemalloc
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dataflow.dtypes import as_dtype
from dataflow.kernels import philox, random
from dataflow.kernels.jit import native_ufunc
from dataflow.kernels.normal_quantile import normal_quantile
from dataflow.kernels.philox import Stream, uniform

SEEDS = [(0, 1), (5, -7), (-(2**63), 2**63 - 1)]


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_a_stream_goes_on_after_draws_of_all_kinds(seeds: tuple[int, int]) -> None:
    """Each draw begins at a new block of four words."""
    stream, plain = Stream(*seeds), Stream(*seeds)
    blocks = plain.words(4 * 200).reshape(-1, 4)
    assert stream.words(5).tolist() == blocks[:2].reshape(-1)[:5].tolist()
    stream.uniform(9, np.float32)
    np.testing.assert_array_equal(stream.words(1), blocks[4, :1])
    stream.uniform(5, np.float64)
    np.testing.assert_array_equal(stream.words(4), blocks[7])
    assert stream.blocks == 8
    np.testing.assert_array_equal(stream.copy().words(8), blocks[8:10].reshape(-1))
    np.testing.assert_array_equal(stream.copy(-8).words(4), blocks[0])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("count", [0, 1, 7, 8, 1001])
def test_uniform_numbers_are_the_upper_bits(count: int, dtype: str) -> None:
    got = uniform(np, Stream(1, 2), count, np.dtype(dtype))
    words = Stream(1, 2).words(count)
    if dtype == "float64":
        wanted = (words >> np.uint64(11)) * 2.0**-53
    else:
        bits = {"float16": 11, "float32": 24}[dtype]
        halves = words.view(np.uint32)[:count] >> np.uint32(32 - bits)
        wanted = (halves * 2.0**-bits).astype(dtype)
    assert got.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(
    "limits",
    [(0, 1), (-5, 17), (0, 2**31 - 1), (-(2**31), 2**31 - 1), (-(2**63), 2**63 - 1), (3, 2**62)],
    ids=str,
)
def test_integers(limits: tuple[int, int], dtype: str) -> None:
    if dtype == "int32" and max(map(abs, limits)) > 2**31:
        limits = limits[0] % 100, limits[0] % 100 + 2**20
    low, high = (np.array(limit, dtype) for limit in limits)
    got = random._uniform_int(np, Stream(3, 4), np.array([501]), low, high)
    wanted = [
        limits[0] + word % (limits[1] - limits[0]) for word in Stream(3, 4).words(501).tolist()
    ]
    assert got.dtype == np.dtype(dtype)
    assert got.tolist() == wanted


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_truncated_normal_numbers(
    at_once: None, monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")
    monkeypatch.setattr(native_ufunc, "SMALL_ELEMENTS", 0)

    def draw() -> Any:
        context = SimpleNamespace(xp=np, state={})
        shape, kind = np.array([50, 21]), as_dtype(dtype)
        return random.truncated_normal_kernel(context, shape, dtype=kind, seed=1, seed2=2)

    got = draw()
    monkeypatch.setattr(native_ufunc.Mapping, "run", lambda *arguments: False)
    np.testing.assert_array_equal(got, draw())
    assert got.shape == (50, 21) and np.abs(got).max() <= 2 and (np.abs(got) > 1.5).any()


def test_quantiles_of_all_of_the_line() -> None:
    p = np.array([[0.0, 1e-300, 1e-12, 0.02, 0.5], [0.7, 0.98, 1.0, np.nan, 2.0]])
    with np.errstate(all="ignore"):
        got = normal_quantile(np, p.T)
        wanted = [[float(normal_quantile(np, np.float64(x))) for x in row] for row in p.T]
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_allclose(got[3:, 0], [-2.053748910631823, 0.0], rtol=1e-14)


@pytest.mark.parametrize("draw", [random._truncated_normal, philox.standard_normal])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_pieces_change_no_number_and_save_memory(
    monkeypatch: pytest.MonkeyPatch, draw: Any, dtype: Any
) -> None:
    count = 1_000_001
    wanted = np.dtype(np.float64 if dtype == np.float64 else np.float32).itemsize * count
    tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        in_pieces = draw(np, Stream(3, 4), count, np.dtype(dtype))
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    bytes_of_a_piece = philox.PIECE * 8
    assert peak < 1.6 * wanted + 8 * bytes_of_a_piece
    for module in (philox, random):
        monkeypatch.setattr(module, "PIECE", count)
    at_once = draw(np, Stream(3, 4), count, np.dtype(dtype))
    assert in_pieces.tobytes() == at_once.tobytes()
