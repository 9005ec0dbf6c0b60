"""Depthwise convolutions in machine code against NumPy's, tap by tap."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from dataflow.kernels import depthwise, depthwise_lines, direct_depthwise
from dataflow.kernels.jit import depthwise_codegen, isa
from dataflow.windows import window
from tests.kernels.jit.test_microkernel import COMPILED, assembly

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
    ((2, 13, 18, 21), (5, 5), 1, 1, "SAME"),
    ((2, 21, 22, 50), (5, 4), 2, 1, "SAME"),
    ((1, 6, 70, 48), (3, 1), 1, 1, "SAME"),
    ((9, 3, 3, 80), (3, 3), 1, 1, "SAME"),
    ((1, 90, 80, 3), (3, 3), 1, 1, "VALID"),
    ((2, 20, 22, 20), (7, 7), 1, 1, "SAME"),
    ((2, 21, 24, 18), (3, 8), 2, 1, "SAME"),
    ((2, 22, 32, 3), (1, 11), 1, 1, "VALID"),
]
#: What `direct_depthwise` leaves to others: dilated columns, large strides.
OTHERS = [p for p in PROBLEMS if p[2] > 2 or p[3] > 1]


def _results(
    shape: tuple[int, ...],
    taps: tuple[int, int],
    stride: int,
    dilation: int,
    padding: str,
    multiplier: int = 1,
) -> list[Any]:
    """The result and the gradients by the input and the filters."""
    rng = np.random.default_rng(1)
    image = rng.standard_normal(shape, np.float32)
    filters = rng.standard_normal((*taps, shape[3], multiplier), np.float32)
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
    monkeypatch.setattr(direct_depthwise, "_function", lambda *_, **__: None)
    loops = _results(*problem)
    monkeypatch.setattr(depthwise, "_MAX_NATIVE_TAPS", 0)
    by_lines = _results(*problem)
    monkeypatch.setattr(depthwise_lines, "_BLOCK_ELEMENTS", 1000)
    monkeypatch.setattr(depthwise_lines, "_PIECE_ELEMENTS", 1000)
    in_blocks = _results(*problem)
    monkeypatch.setattr(depthwise, "_is_worthwhile", lambda *_: False)
    by_numpy = _results(*problem)
    for results in (native, loops, by_lines, in_blocks):
        for found, expected in zip(results, by_numpy, strict=True):
            assert found.shape == expected.shape
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_filters_in_half_precision_are_added_up_in_single() -> None:
    image, grad = np.full((2, 64, 64, 1), 1, np.float16), np.full((2, 64, 64, 1), 0.25, np.float16)
    grad[:, ::2] = 0.0001
    windows = [window(64, 1)] * 2
    found = depthwise_lines.filter_gradient(image, grad, windows)
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, grad.astype(np.float64).sum(), rtol=1e-3)


@pytest.mark.parametrize("problem", [p for p in PROBLEMS if p not in OTHERS])
def test_blocks_of_places_serve_the_usual_strides(
    problem: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    functions: list[int | None] = []
    original = direct_depthwise._function

    def watched(*arguments: Any, **options: Any) -> int | None:
        functions.append(original(*arguments, **options))
        return functions[-1]

    monkeypatch.setattr(direct_depthwise, "_function", watched)
    _results(*problem)
    assert functions
    assert None not in functions


@pytest.mark.parametrize("multiplier", [2, 3])
def test_several_outputs_for_a_channel(multiplier: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for problem in PROBLEMS[:4]:
        with monkeypatch.context() as patch:
            test_machine_code_and_numpy_agree((*problem, multiplier), patch)
            patch.undo()
            patch.setattr(depthwise, "taps_of", None)  # tap by tap nothing is left to do
            _results(*problem, multiplier)


def test_pieces_of_images_and_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct_depthwise, "SHARED_PRODUCT", 1)
    for problem in PROBLEMS:
        with monkeypatch.context() as patch:
            test_machine_code_and_numpy_agree(problem, patch)


def test_all_processors_sum_to_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for one in {
        isa.NEON,
        isa.AVX2,
        isa.host(),
    }:  # the text is LLVM's own language: all of it runs here
        assert one is not None
        with monkeypatch.context() as patch:
            patch.setattr(isa, "host", lambda one=one: one)
            direct_depthwise._code.cache_clear()
            found.append([x.tobytes() for p in PROBLEMS if p not in OTHERS for x in _results(*p)])
    direct_depthwise._code.cache_clear()
    assert len(found) >= 2
    assert all(results == found[0] for results in found)


@pytest.mark.parametrize("of_filters", [False, True])
@pytest.mark.parametrize("one", COMPILED, ids=lambda x: x.name)
def test_blocks_stay_in_registers(one: isa.Isa, of_filters: bool) -> None:
    for columns, stride in ((3, 1), (3, 2), (5, 1)):
        text = assembly(one, depthwise_codegen.source(one, columns, stride, of_filters))
        assert "fmaf" not in text
        if one is isa.NEON:  # results, a row of the filter, a vector of the image
            assert not re.search(r"(str|stp)\tq[^\n]*\[sp", text)


def test_what_lies_around_a_result_stays() -> None:
    rng = np.random.default_rng(4)
    image = rng.standard_normal((2, 9, 10, 21), np.float32)
    weights = rng.standard_normal((3, 3, 21), np.float32)
    around = np.full((2, 11, 22, 40), 7, np.float32)
    height, width = window(9, 3, 1, 1, "SAME"), window(10, 3, 1, 1, "SAME")
    inside = around[:, 1:-1, 1:-1:2, 5:26]
    assert direct_depthwise.forward(image, weights, [height, width], inside)
    assert (inside != 7).all()
    inside[...] = 7
    assert (around == 7).all()


def test_infinity_outside_of_a_window_stays_there() -> None:
    image = np.ones((1, 40, 40, 16), np.float32)
    image[0, 39, 39] = np.inf
    filters = np.ones((3, 3, 16, 1), np.float32)
    got = depthwise.depthwise_kernel(
        np, image, filters, strides=[1, 1, 1, 1], dilations=[1, 1, 1, 1], padding="SAME",
        explicit_paddings=[], data_format="NHWC",
    )  # fmt: skip
    assert np.isinf(got).sum() == 4 * 16
    assert not np.isnan(got).any()


def test_the_strided_gradient_of_the_input_is_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("tap by tap")

    monkeypatch.setattr(depthwise_lines, "_met", refuse)
    for problem in PROBLEMS[:3]:
        _results(*problem)
    with pytest.raises(AssertionError, match="tap by tap"):  # more taps than a loop has
        _results((2, 20, 20, 16), (2, 12), 1, 1, "SAME")
    monkeypatch.undo()
    monkeypatch.setattr(direct_depthwise, "forward", refuse)
    with pytest.raises(AssertionError, match="tap by tap"):  # few numbers, and many taps
        _results((2, 22, 32, 3), (1, 11), 1, 1, "VALID")
    _results((2, 8, 12, 3), (1, 3), 1, 1, "VALID")  # few of both
