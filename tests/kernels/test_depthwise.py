"""Depthwise convolutions in machine code against NumPy's, tap by tap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels import depthwise

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")
pytestmark = pytest.mark.simd

#: (batch, height, width, channels), taps, stride, dilation, padding
PROBLEMS = [
    ((3, 17, 19, 16), (3, 3), 1, 1, "SAME"),
    ((3, 17, 19, 16), (3, 3), 2, 1, "SAME"),
    ((2, 16, 22, 40), (3, 3), 2, 1, "VALID"),
    ((2, 23, 20, 33), (2, 3), 3, 1, "SAME"),
    ((2, 14, 15, 130), (3, 2), 1, 1, "VALID"),
    ((2, 20, 21, 24), (3, 3), 1, 2, "SAME"),
    ((4, 40, 9, 8), (1, 3), 2, 1, "SAME"),
    ((1, 30, 30, 20), (1, 1), 3, 1, "SAME"),
    ((2, 31, 30, 20), (2, 3), 4, 1, "VALID"),
]


def _results(
    shape: tuple[int, ...], taps: tuple[int, int], stride: int, dilation: int, padding: str
) -> list[Any]:
    """The result and the gradients by the input and the filters."""
    rng = np.random.default_rng(1)
    image = rng.standard_normal(shape, np.float32)
    filters = rng.standard_normal((*taps, shape[3], 1), np.float32)
    attrs: dict[str, Any] = {
        "strides": [1, stride, stride, 1],
        "dilations": [1, dilation, dilation, 1],
        "padding": padding,
        "explicit_paddings": [],
        "data_format": "NHWC",
    }
    result = depthwise.depthwise_kernel(np, image, filters, **attrs)
    grad = rng.standard_normal(result.shape, np.float32)
    of_input = depthwise.depthwise_backprop_input_kernel(
        np, np.array(shape), filters, grad, **attrs
    )
    of_filters = depthwise.depthwise_backprop_filter_kernel(
        np, image, np.array(filters.shape), grad, **attrs
    )
    return [result, of_input, of_filters]


@pytest.mark.parametrize("problem", PROBLEMS)
def test_machine_code_and_numpy_agree(problem: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    native = _results(*problem)
    monkeypatch.setattr(depthwise, "_MAX_NATIVE_TAPS", 0)
    monkeypatch.setattr(depthwise, "_native_input_gradient", lambda *_: False)
    for found, expected in zip(native, _results(*problem), strict=True):
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_the_strided_gradient_of_the_input_is_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("tap by tap")

    monkeypatch.setattr(depthwise, "taps_of", refuse)
    for problem in PROBLEMS[:3]:
        _results(*problem)
    with pytest.raises(AssertionError, match="tap by tap"):  # more taps than a loop has
        _results((2, 20, 20, 16), (4, 4), 1, 1, "SAME")
