"""Batch normalization in machine code: against float64, for every number of channels, and nothing beyond its rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dataflow.kernels import normalization, parallel
from dataflow.kernels.jit import channel_norm, channel_norm_codegen
from dataflow.kernels.jit.isa import Isa
from tests.kernels.jit.test_microkernel import COMPILED, assembly

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")
pytestmark = pytest.mark.simd

EPSILON = 1e-3
#: Few channels, which share a vector, and many; rows that fill blocks, and some left over; several shares and chunks.
SHAPES = [
    *((5, 1), (4097, 3), (3, 7), (2048, 16), (1000, 10), (999, 17), (70, 63), (70, 64), (70, 65)),
    *((33, 100), (64, 128), (8, 500), (2, 1024), (50_001, 3), (20_000, 16)),
]
TOLERANCES = {"f": 3e-6, "d": 1e-13}


@pytest.fixture(autouse=True)
def small_shares(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(channel_norm, "SMALL_ELEMENTS", 0)
    monkeypatch.setattr(channel_norm, "_LEAST_SHARE", 1000)
    channel_norm._shares_of.cache_clear()
    yield
    channel_norm._shares_of.cache_clear()


def _inputs(shape: tuple[int, int], kind: str, seed: int = 0) -> Any:
    draw = np.random.default_rng(seed)
    rows, channels = shape
    spread, mean = draw.uniform(0.5, 2, channels), draw.uniform(-2, 2, channels)
    x = draw.standard_normal(shape) * spread + mean
    vectors = draw.uniform(0.5, 1.5, (4, channels))
    # What follows the rows in memory must not be used.
    around = np.full((rows + 64, channels), np.nan, kind)
    around[:rows] = x
    grad = around.copy()
    grad[:rows] = draw.standard_normal(shape)
    return around[:rows], grad[:rows], vectors.astype(kind)


def _guarded(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Outputs lie within larger arrays, which are returned."""
    made: list[Any] = []

    def empty(shape: tuple[int, int], dtype: Any) -> Any:
        around = np.full((shape[0] + 128, shape[1]), 7, dtype)
        made.append(around)
        return around[64:-64]

    monkeypatch.setattr(channel_norm, "empty", empty)
    return made


def _error(found: Any, wanted: Any) -> float:
    return float(np.abs(found - wanted).max() / max(1.0, np.abs(wanted).max()))


@pytest.mark.parametrize("kind", ["f", "d"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_normalized_as_by_float64(
    shape: tuple[int, int], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, _, (scale, offset, old_mean, old_variance) = _inputs(shape, kind)
    guarded = _guarded(monkeypatch)
    found = channel_norm.train(x, scale, offset, (old_mean, old_variance), 0.25, EPSILON)
    assert found is not None
    y, (new_mean, new_variance), (mean, variance) = found
    exact = x.astype(np.float64)
    wanted = (exact - exact.mean(0)) / np.sqrt(exact.var(0) + EPSILON) * scale + offset
    unbiased = exact.var(0) * shape[0] / (shape[0] - 1)
    pairs = [
        (y, wanted),
        (mean, exact.mean(0)),
        (variance, exact.var(0)),
        (new_mean, 0.75 * old_mean + 0.25 * exact.mean(0)),
        (new_variance, 0.75 * old_variance + 0.25 * unbiased),
    ]
    if shape[0] > 4:  # of fewer rows, the deviation may be small
        assert max(_error(*pair) for pair in pairs) < TOLERANCES[kind]
    given = channel_norm.infer(x, scale, offset, mean, variance, EPSILON)
    assert np.array_equal(given, y)
    assert len(guarded) == 2
    assert all((a[:64] == 7).all() and (a[-64:] == 7).all() for a in guarded)


@pytest.mark.parametrize("kind", ["f", "d"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gradients_as_by_float64(
    shape: tuple[int, int], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, grad, (scale, *_) = _inputs(shape, kind)
    exact, g, count = x.astype(np.float64), grad.astype(np.float64), shape[0]
    mean, variance = exact.mean(0).astype(kind), exact.var(0).astype(kind)
    guarded = _guarded(monkeypatch)
    found = channel_norm.gradient(grad, x, scale, mean, variance, EPSILON)
    assert found is not None
    inverse = 1 / np.sqrt(variance.astype(np.float64) + EPSILON)
    centered = exact - mean
    scale_grad, offset_grad = (g * centered).sum(0) * inverse, g.sum(0)
    slope = g - offset_grad / count - centered * inverse * scale_grad / count
    wanted = slope * scale * inverse, scale_grad, offset_grad
    assert max(map(_error, found, wanted)) < 10 * TOLERANCES[kind]
    assert all((a[:64] == 7).all() and (a[-64:] == 7).all() for a in guarded)


def test_a_large_mean_takes_no_precision_from_a_small_variance() -> None:
    draw = np.random.default_rng(0)
    x = (draw.standard_normal((40_000, 8)) * 0.01 + 100).astype(np.float32)
    one = np.ones(8, np.float32)
    found = channel_norm.train(x, one, one, (one, one), 1.0, 0.0)
    assert found is not None
    variance = found[2][1]
    assert np.abs(variance / x.astype(np.float64).var(0) - 1).max() < 1e-4


@pytest.mark.parametrize("shape", [(5000, 3), (700, 64), (300, 200)], ids=str)
def test_the_bits_do_not_depend_on_the_threads(
    shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    x, grad, (scale, offset, *old) = _inputs(shape, "f")
    results = []
    for workers in (1, 3):
        monkeypatch.setattr(channel_norm, "num_workers", lambda n=workers: n)
        monkeypatch.setattr(parallel, "num_workers", lambda n=workers: n)
        found = channel_norm.train(x, scale, offset, (old[0], old[1]), 0.5, EPSILON)
        assert found is not None
        y, new, (mean, variance) = found
        slopes = channel_norm.gradient(grad, x, scale, mean, variance, EPSILON)
        assert slopes is not None
        given = channel_norm.infer(x, scale, offset, mean, variance, EPSILON)
        results.append([y, *new, mean, variance, *slopes, given])
    for alone, together in zip(*results, strict=True):
        assert np.array_equal(alone, together)


def test_the_kernel_uses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine code and NumPy agree through the kernels, in both layouts and with no old averages."""
    image = np.random.default_rng(0).standard_normal((4, 5, 6, 3)).astype(np.float32)
    scale, offset = np.array([[1, 2, 3], [0, 1, -1]], np.float32)
    empty = np.empty(0, np.float32)

    def computed(data_format: str) -> list[Any]:
        x = image if data_format == "NHWC" else np.ascontiguousarray(image.transpose(0, 3, 1, 2))
        options: Any = {"epsilon": EPSILON, "data_format": data_format, "is_training": True}
        y, *statistics = normalization.fused_batch_norm_kernel(
            np, x, scale, offset, empty, empty, exponential_avg_factor=1.0, **options
        )
        slopes = normalization.fused_batch_norm_grad_kernel(
            np, np.cos(x), x, scale, *statistics[2:4], empty, **options
        )
        return [y, *statistics, *slopes]

    calls: list[int] = []
    run = channel_norm._run

    def counted(*arguments: Any) -> None:
        calls.append(1)
        run(*arguments)

    monkeypatch.setattr(channel_norm, "_run", counted)
    found = [computed("NHWC"), computed("NCHW")]
    assert len(calls) == 4
    monkeypatch.setattr(channel_norm, "_compiled", {})
    for native, plain in zip(found, (computed("NHWC"), computed("NCHW")), strict=True):
        for a, b in zip(native, plain, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
    assert len(calls) == 4


def test_other_vectors_are_left_to_numpy() -> None:
    x = np.zeros((64, 4), np.float32)
    vector, wide = np.ones(4, np.float32), np.ones(4, np.float64)
    half = np.ones(2, np.float32)
    assert channel_norm.infer(x, vector, vector, vector, vector, EPSILON) is not None
    assert channel_norm.infer(x, wide, vector, vector, vector, EPSILON) is None
    assert channel_norm.infer(x, half, vector, vector, vector, EPSILON) is None
    assert channel_norm.infer(x[:, ::2], half, half, half, half, EPSILON) is None


@pytest.mark.parametrize("element", ["float", "double"])
@pytest.mark.parametrize("isa", COMPILED, ids=lambda x: x.name)
def test_the_code_compiles_for_every_processor(isa: Isa, element: str) -> None:
    found = assembly(isa, channel_norm_codegen.source(element))
    assert all(f"\n{name}:" in found for name in channel_norm_codegen.FUNCTIONS)
    assert "sqrtf" not in found  # a call of the C library for each number
