"""Convolution kernels against the definition, on random geometry, in many small pieces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dataflow.errors import InvalidArgumentError
from dataflow.kernels import conv
from tests.samples.conv import convolve


@st.composite
def problems(draw: Any) -> dict[str, Any]:
    rank = draw(st.integers(1, 3))

    def numbers(low: int, high: int) -> list[int]:
        return draw(st.lists(st.integers(low, high), min_size=rank, max_size=rank))

    return {
        "sizes": numbers(3, 7),
        "taps": numbers(1, 3),
        "strides": numbers(1, 3),
        "dilations": numbers(1, 2),
        "padding": draw(st.sampled_from(["SAME", "VALID"])),
        "channels": draw(st.sampled_from([1, 2, 3, 40])),
        "outputs": draw(st.integers(1, 3)),
        "batch": draw(st.integers(1, 3)),
        "channels_first": draw(st.booleans()),
        "piece_bytes": draw(st.sampled_from([100, 3000, 1 << 20])),
        "seed": draw(st.integers(0, 100)),
    }


@settings(max_examples=150, deadline=None)
@given(problem=problems())
def test_forward_and_both_gradients(problem: dict[str, Any]) -> None:
    p = problem
    rng = np.random.default_rng(p["seed"])
    x = rng.standard_normal((p["batch"], *p["sizes"], p["channels"]))
    filters = rng.standard_normal((*p["taps"], p["channels"], p["outputs"]))
    try:
        want = convolve(x, filters, p["strides"], p["padding"], p["dilations"])
    except ValueError:
        return  # the window does not fit
    first = p["channels_first"]
    layout = conv.Layout(first)

    def attr(values: list[int]) -> list[int]:
        return [1, 1, *values] if first else [1, *values, 1]

    def arranged(array: Any) -> Any:
        return np.moveaxis(array, -1, 1) if first else array

    rest = (layout, attr(p["strides"]), attr(p["dilations"]), p["padding"], [])
    saved, conv._CPU_PIECE_BYTES = conv._CPU_PIECE_BYTES, p["piece_bytes"]
    small, conv._SMALL_BYTES = conv._SMALL_BYTES, 0
    try:
        got = conv.convolve(np, arranged(x), filters, *rest)
        np.testing.assert_allclose(got, arranged(want), rtol=1e-9, atol=1e-9)
        # The gradients are the transposes of the two linear maps.
        grad = rng.standard_normal(got.shape)
        shape = np.array(arranged(x).shape)
        to_x = conv._convolve_input_gradient(np, shape, filters, grad, *rest)
        to_f = conv._convolve_filter_gradient(np, arranged(x), np.array(filters.shape), grad, *rest)
        dx, df = rng.standard_normal(to_x.shape), rng.standard_normal(filters.shape)
        assert np.isclose((conv.convolve(np, dx, filters, *rest) * grad).sum(), (to_x * dx).sum())
        assert np.isclose(
            (conv.convolve(np, arranged(x), df, *rest) * grad).sum(), (to_f * df).sum()
        )
    finally:
        conv._CPU_PIECE_BYTES, conv._SMALL_BYTES = saved, small


def test_half_precision_is_computed_in_single() -> None:
    x = np.full((1, 4, 4, 64), 8, np.float16)
    filters = np.full((3, 3, 64, 1), 1, np.float16)
    layout = conv.Layout(False)
    out = conv.convolve(np, x, filters, layout, [1] * 4, [1] * 4, "VALID", [])
    assert out.dtype == np.float16
    assert out.ravel().tolist() == [4608.0] * 4


def test_a_gradient_of_the_wrong_shape_is_refused() -> None:
    layout = conv.Layout(False)
    with pytest.raises(InvalidArgumentError, match="out_backprop has shape"):
        conv._convolve_input_gradient(
            np,
            np.array([1, 4, 4, 1]),
            np.ones((3, 3, 1, 1)),
            np.ones((1, 4, 4, 1)),
            layout,
            [1] * 4,
            [1] * 4,
            "VALID",
            [],
        )


def test_a_large_pointwise_convolution() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 40, 40, 128)).astype(np.float32)
    filters = rng.standard_normal((1, 1, 128, 96)).astype(np.float32)
    layout = conv.Layout(False)
    rest = (layout, [1] * 4, [1] * 4, "VALID", [])
    want = x @ filters[0, 0]
    np.testing.assert_allclose(conv.convolve(np, x, filters, *rest), want, rtol=1e-3, atol=1e-3)
    to_f = conv._convolve_filter_gradient(np, x, np.array(filters.shape), want, *rest)
    flat = x.reshape(-1, 128).T @ want.reshape(-1, 96)
    np.testing.assert_allclose(to_f[0, 0], flat, rtol=1e-3, atol=1)
    to_x = conv._convolve_input_gradient(np, np.array(x.shape), filters, want, *rest)
    np.testing.assert_allclose(to_x, want @ filters[0, 0].T, rtol=1e-3, atol=1e-2)
