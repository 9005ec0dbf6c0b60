"""Maximum pooling whose windows overlap or reach beyond the array: loops over all taps, beside NumPy's slices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels import pooling, window_maxima, window_sums
from dataflow.kernels.jit import channel_maxima, native_ufunc
from dataflow.kernels.loader import get_kernel

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")
pytestmark = pytest.mark.simd

#: (taps, strides) of height and width.
POOLS = [
    ((3, 3), (2, 2)),
    ((2, 2), (2, 2)),
    ((3, 3), (1, 1)),
    ((2, 3), (3, 2)),
    ((3, 2), (1, 4)),
    ((1, 4), (1, 3)),
]
SIZES = [(3, 8, 12, 5), (2, 9, 7, 16), (1, 5, 6, 33)]


def _kernel(op_type: str) -> Any:
    found = get_kernel(op_type)
    assert found is not None
    return found.function


@pytest.fixture(autouse=True)
def loops(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """However few elements there are."""
    monkeypatch.setattr(window_sums, "_LEAST_ELEMENTS", 1)


def _both_ways(monkeypatch: pytest.MonkeyPatch, name: str, function: Any) -> tuple[Any, Any]:
    """By loops, which must have been used, and by NumPy."""
    used: list[bool] = []
    original = getattr(window_maxima, name)

    def watched(*arguments: Any) -> bool:
        used.append(original(*arguments))
        return used[-1]

    with monkeypatch.context() as patch:
        patch.setattr(pooling, name, watched)
        got = function()
        assert used == [True]
        patch.setattr(pooling, "has_loops", lambda *_: False)
        patch.setattr(pooling, "has_gradient_loops", lambda *_: False)
        return got, function()


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_maxima_and_their_gradient(
    monkeypatch: pytest.MonkeyPatch, dtype: Any, pool: Any, size: Any, padding: str
) -> None:
    taps, strides = pool
    ksize, steps = [1, *taps, 1], [1, *strides, 1]
    attributes = {"ksize": ksize, "strides": steps, "padding": padding}
    windows = pooling._windows(size, ksize, steps, padding)
    if pooling._is_tiled(windows):
        return  # has loops of its own
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, size).astype(dtype)  # often equal
    x[0, 2, 3, 1] = np.nan
    x[0, 1, 1, 0] = -np.inf
    got, wanted = _both_ways(
        monkeypatch, "window_maxima", lambda: _kernel("MaxPool")(np, x, **attributes)
    )
    np.testing.assert_array_equal(got, wanted)
    grad = rng.standard_normal(got.shape).astype(dtype)
    back = _kernel("MaxPoolGrad")
    got, wanted = _both_ways(
        monkeypatch, "maxima_gradient", lambda: back(np, x, got, grad, **attributes)
    )
    np.testing.assert_array_equal(got, wanted)
    assert np.count_nonzero(got)


def test_explicit_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    x = -np.ones((2, 6, 7, 16), np.float32)
    attributes = {
        "ksize": [1, 3, 3, 1],
        "strides": [1, 2, 2, 1],
        "padding": "EXPLICIT",
        "explicit_paddings": [0, 0, 1, 1, 2, 0, 0, 0],
    }
    got, wanted = _both_ways(
        monkeypatch, "window_maxima", lambda: _kernel("MaxPool")(np, x, **attributes)
    )
    assert got.tobytes() == wanted.tobytes()
    assert (got == -1).all()


def test_small_arrays_and_what_is_not_compiled_are_left_to_numpy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attributes = {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
    x = np.random.default_rng(1).standard_normal((2, 9, 9, 8), np.float32)
    wanted = _kernel("MaxPool")(np, x, **attributes)
    monkeypatch.setattr(native_ufunc.Mapping, "run", lambda *_: False)
    assert _kernel("MaxPool")(np, x, **attributes).tobytes() == wanted.tobytes()
    monkeypatch.setattr(window_sums, "_LEAST_ELEMENTS", x.size + 1)
    monkeypatch.setattr(pooling, "window_maxima", None)  # not to be called
    assert _kernel("MaxPool")(np, x, **attributes).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "size, ksize, strides",
    [
        ((2, 7, 6, 5, 20), [1, 3, 2, 3, 1], [1, 2, 1, 2, 1]),  # 18 taps, volumes
        ((3, 9, 8, 37), [1, 5, 5, 1], [1, 1, 2, 1]),
        ((2, 6, 6, 16), [1, 6, 6, 1], [1, 1, 1, 1]),  # one window is all
        ((5, 11, 24), [1, 3, 1], [1, 2, 1]),
        ((9, 20, 18, 8), [1, 3, 3, 1], [1, 2, 2, 1]),  # shared among threads
    ],
)
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_gradients_by_channels_have_the_bits_of_numpy(
    dtype: Any,
    size: tuple[int, ...],
    ksize: list[int],
    strides: list[int],
    padding: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(channel_maxima, "_SHARED_ELEMENTS", 1 << 13)
    windows = pooling._windows(size, ksize, strides, padding)
    rng = np.random.default_rng(3)
    x = rng.integers(-3, 4, size).astype(dtype)  # often equal
    x[0, ..., 1] = np.nan
    y = pooling._max_pool(np, x, windows)
    grad = rng.standard_normal(y.shape).astype(dtype)
    assert channel_maxima.fits(x, windows)
    got = np.full_like(x, np.nan)
    assert channel_maxima.gradient(x, y, grad, windows, got)
    monkeypatch.setattr(pooling, "has_gradient_loops", lambda *_: False)
    wanted = pooling._max_pool_gradient(np, x, y, grad, windows)
    assert got.tobytes() == wanted.tobytes()
    assert np.count_nonzero(got)


@pytest.mark.parametrize("by_loops", [True, False])
@pytest.mark.parametrize("channels", [3, 16])
def test_an_infinite_gradient_stays_at_its_maximum(
    by_loops: bool, channels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in TensorFlow: the other elements of its window get nothing, rather than infinity times zero."""
    if not by_loops:
        monkeypatch.setattr(pooling, "has_gradient_loops", lambda *_: False)
    x = np.zeros((1, 5, 5, channels), np.float32)
    x[0, 2, 2] = 1
    windows = pooling._windows(x.shape, [1, 3, 3, 1], [1, 1, 1, 1], "VALID")
    y = pooling._max_pool(np, x, windows)
    got = pooling._max_pool_gradient(np, x, y, np.full_like(y, np.inf), windows)
    wanted = np.where(x == 1, np.float32(np.inf), np.float32(0))
    np.testing.assert_array_equal(got, wanted)
