"""Pooling and depthwise convolution in machine code give what slices of whole arrays give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels import depthwise, pooling
from dataflow.kernels.jit import window_kernels
from tests.results_of import results_of

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")
pytestmark = pytest.mark.avx512

SHAPES = [(3, 9, 11, 5), (2, 8, 12, 16), (5, 7, 6, 33), (1, 12, 12, 48)]
CASES: list[dict[str, Any]] = [
    {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "padding": "SAME"},
    {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "padding": "VALID"},
    {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"},
    {"ksize": [1, 2, 3, 1], "strides": [1, 1, 1, 1], "padding": "SAME"},
    {"ksize": [1, 1, 2, 1], "strides": [1, 3, 3, 1], "padding": "VALID"},
    {"ksize": [1, 5, 1, 1], "strides": [1, 1, 1, 1], "padding": "VALID"},
]
KINDS = ("max", "average", "max_gradient", "average_gradient")


@pytest.fixture(autouse=True)
def every_size(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_kernels, "SMALL_ELEMENTS", 0)
    # Windows without overlap have loops of `jit.native_ufunc`, too.
    monkeypatch.setattr(pooling, "_is_tiled", lambda windows: False)


def _run(kind: str, x: Any, grad: Any, case: dict[str, Any]) -> Any:
    windows = pooling._windows(x.shape, case["ksize"], case["strides"], case["padding"])
    match kind:
        case "max":
            return pooling._max_pool(np, x, windows)
        case "average":
            return pooling._avg_pool(np, x, windows)
        case "average_gradient":
            return pooling._avg_pool_gradient(np, x.shape, grad, windows)
    y = pooling._max_pool(np, x, windows)
    return pooling._max_pool_gradient(np, x, y, grad, windows)


@pytest.mark.parametrize("shared_bytes", [1, 1 << 30])
@pytest.mark.parametrize("case", CASES, ids=lambda c: "-".join(map(str, c.values())))
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
@pytest.mark.parametrize("kind", KINDS)
def test_as_by_slices(
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    shape: tuple[int, ...],
    case: dict[str, Any],
    shared_bytes: int,
) -> None:
    monkeypatch.setattr(window_kernels, "_SHARED_BYTES", shared_bytes)
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, shape).astype(np.float32)  # with many equal maxima
    windows = pooling._windows(shape, case["ksize"], case["strides"], case["padding"])
    grad = rng.standard_normal(pooling._output_shape(shape, windows)).astype(np.float32)
    with monkeypatch.context() as patch:
        used = results_of(patch, window_kernels, "slide")
        got = _run(kind, x, grad, case)
    assert used and all(used)
    monkeypatch.setattr(window_kernels, "slide", lambda *arguments, **named: False)
    wanted = _run(kind, x, grad, case)
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


DEPTHWISE_CASES: list[dict[str, Any]] = [
    {"padding": "SAME"},
    {"padding": "SAME", "strides": [1, 2, 2, 1]},
    {"padding": "VALID", "strides": [1, 3, 3, 1]},
    {"padding": "SAME", "dilations": [1, 2, 3, 1]},
    {"padding": "EXPLICIT", "explicit_paddings": [0, 0, 6, 1, 0, 5, 0, 0]},
]


@pytest.mark.parametrize("several", [1, 2, 5])
@pytest.mark.parametrize("taps", [(3, 2), (2, 8)], ids=str)
@pytest.mark.parametrize("shared_bytes", [1, 1 << 30])
@pytest.mark.parametrize("case", DEPTHWISE_CASES, ids=lambda c: "-".join(map(str, c.values())))
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
def test_depthwise_convolutions(
    monkeypatch: pytest.MonkeyPatch,
    shape: tuple[int, ...],
    case: dict[str, Any],
    shared_bytes: int,
    taps: tuple[int, int],
    several: int,
) -> None:
    if taps[1] > shape[2] and case["padding"] == "VALID":
        taps = taps[0], shape[2]
    monkeypatch.setattr(window_kernels, "_SHARED_BYTES", shared_bytes)
    defaults = {"strides": [1] * 4, "dilations": [1] * 4, "explicit_paddings": []}
    attributes = defaults | {"data_format": "NHWC"} | case
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape).astype(np.float32)
    filters = rng.standard_normal((*taps, shape[3], several)).astype(np.float32)

    def all_three() -> list[Any]:
        y = depthwise.depthwise_kernel(np, x, filters, **attributes)
        grad = np.cos(np.arange(y.size, dtype=np.float32)).reshape(y.shape)
        sizes = np.array(shape), np.array(filters.shape)
        return [
            y,
            depthwise.depthwise_backprop_input_kernel(np, sizes[0], filters, grad, **attributes),
            depthwise.depthwise_backprop_filter_kernel(np, x, sizes[1], grad, **attributes),
        ]

    with monkeypatch.context() as patch:
        used = results_of(patch, window_kernels, "slide")
        got = all_three()
    assert used == [True] * 3
    monkeypatch.setattr(window_kernels, "slide", lambda *arguments, **named: False)
    for mine, wanted in zip(got, all_three(), strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-4, atol=1e-4)


def test_nan_and_infinity() -> None:
    x = np.zeros((1, 4, 4, 1), np.float32)
    x[0, 0, 0], x[0, 0, 3], x[0, 3, 3] = np.nan, -np.inf, np.inf
    got = _run("max", x, None, CASES[2])
    np.testing.assert_array_equal(got[0, :, :, 0], [[np.nan, 0], [0, np.inf]])
    lowest = np.full((1, 4, 4, 1), -np.inf, np.float32)
    np.testing.assert_array_equal(_run("max", lowest, None, CASES[0]), lowest[:, :2, :2])


def test_gradients_that_are_no_numbers_stay_with_the_taps_that_meet_them() -> None:
    x, grad = np.ones((1, 3, 5, 2), np.float32), np.zeros((1, 3, 5, 4), np.float32)
    grad[0, 0, 0, 0], grad[0, 2, 4, 3] = np.nan, np.inf
    attributes = {"strides": [1] * 4, "dilations": [1] * 4, "explicit_paddings": []}
    attributes |= {"data_format": "NHWC", "padding": "SAME"}
    sizes = np.array((3, 3, 2, 2))
    got = depthwise.depthwise_backprop_filter_kernel(np, x, sizes, grad, **attributes)
    wanted = np.zeros((3, 3, 2, 2), np.float32)
    wanted[1:, 1:, 0, 0], wanted[:2, :2, 1, 1] = np.nan, np.inf
    np.testing.assert_array_equal(got, wanted)


def test_what_is_left_to_numpy() -> None:
    x = np.ones((2, 4, 4, 8))
    windows = pooling._windows(x.shape, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    out = np.empty((2, 2, 2, 8))
    assert not window_kernels.slide("max", windows[1], windows[2], x=x, y=out, out=out)
