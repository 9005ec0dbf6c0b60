"""Convolutions made of tiles in registers give what those made of BLAS's products give."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from dataflow.kernels import (
    conv,
    direct_conv,
    direct_conv_common,
    direct_few_outputs,
    direct_filter_gradient,
)
from dataflow.kernels.jit import compiler, implicit_gemm, isa
from dataflow.kernels.loader import get_kernel

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")
pytestmark = pytest.mark.simd


def _function(op_type: str) -> Any:
    found = get_kernel(op_type)
    assert found is not None
    return found.function


CONV2D = _function("Conv2D")
CONV2D_BACKPROP_INPUT = _function("Conv2DBackpropInput")
CONV2D_BACKPROP_FILTER = _function("Conv2DBackpropFilter")


@pytest.fixture(autouse=True)
def direct(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """However small the problem."""
    monkeypatch.setattr(direct_conv_common, "_SMALL_PRODUCT", 0)
    monkeypatch.setattr(direct_conv_common, "_LEAST_OUTPUTS", 1)


#: (batch, height, width, channels, filter height, filter width, outputs)
SIZES = [
    (3, 9, 15, 3, 3, 5, 32),
    (2, 12, 7, 16, 5, 3, 16),
    (5, 4, 13, 32, 2, 2, 48),
    (2, 8, 27, 5, 3, 3, 21),
    (1, 11, 8, 1, 3, 3, 70),
    (4, 14, 14, 2, 5, 5, 1),
    (3, 1, 40, 8, 1, 3, 16),
    (3, 40, 1, 8, 4, 1, 16),
    (2, 30, 13, 4, 3, 5, 20),
]
CASES = [
    {"padding": "SAME"},
    {"padding": "VALID"},
    {"padding": "SAME", "strides": [1, 2, 2, 1]},
    {"padding": "VALID", "strides": [1, 2, 3, 1]},
    {"padding": "SAME", "strides": [1, 3, 1, 1]},
    {"padding": "VALID", "strides": [1, 4, 6, 1]},
    {"padding": "SAME", "dilations": [1, 2, 2, 1]},
    {"padding": "VALID", "dilations": [1, 1, 3, 1]},
    {"padding": "EXPLICIT", "explicit_paddings": [0, 0, 3, 1, 0, 2, 0, 0]},
    {"padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 1, 2, 2, 0, 0], "strides": [1, 2, 2, 1]},
    {"padding": "EXPLICIT", "explicit_paddings": [0, 0, 6, 6, 0, 0, 0, 0]},
    {"padding": "EXPLICIT", "explicit_paddings": [0, 0, 0, 0, 7, 6, 0, 0]},
    {
        "padding": "EXPLICIT",
        "explicit_paddings": [0, 0, 5, 6, 7, 6, 0, 0],
        "dilations": [1, 2, 3, 1],
    },
]


def _attributes(case: dict[str, Any]) -> dict[str, Any]:
    defaults = {
        "strides": [1, 1, 1, 1],
        "dilations": [1, 1, 1, 1],
        "explicit_paddings": [],
        "data_format": "NHWC",
    }
    return defaults | case


def _compare(
    monkeypatch: pytest.MonkeyPatch, name: str, function: Any, *, may_be_blas: bool = False
) -> None:
    """The result with tiles and without; fails when the tiles were not used."""
    used: list[bool] = []
    direct = f"_direct_{name}"
    original = getattr(conv, direct)

    def watched(*arguments: Any) -> bool:
        used.append(original(*arguments))
        return used[-1]

    with monkeypatch.context() as patch:
        patch.setattr(conv, direct, watched)
        got = function()
        assert used == [True] or may_be_blas
        patch.setattr(conv, direct, lambda *arguments: False)
        wanted = function()
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("case", CASES, ids=lambda c: "-".join(map(str, c.values())))
@pytest.mark.parametrize("size", SIZES, ids=lambda s: "x".join(map(str, s)))
def test_all_three_convolutions(
    monkeypatch: pytest.MonkeyPatch, size: tuple[int, ...], case: dict[str, Any]
) -> None:
    batch, high, wide, channels, taps_high, taps_wide, outputs = size
    rng = np.random.default_rng(0)
    x = rng.standard_normal((batch, high, wide, channels)).astype(np.float32)
    filters = rng.standard_normal((taps_high, taps_wide, channels, outputs)).astype(np.float32)
    attributes = _attributes(case)

    def forward() -> Any:
        return CONV2D(np, x, filters, **attributes)

    _compare(monkeypatch, "forward", forward)
    grad = rng.standard_normal(forward().shape).astype(np.float32)
    _compare(
        monkeypatch,
        "filter_gradient",
        lambda: CONV2D_BACKPROP_FILTER(np, x, np.array(filters.shape), grad, **attributes),
    )
    irregular = attributes["padding"] == "EXPLICIT"  # more padding than a phase has taps
    _compare(
        monkeypatch,
        "input_gradient",
        lambda: CONV2D_BACKPROP_INPUT(np, np.array(x.shape), filters, grad, **attributes),
        may_be_blas=irregular,
    )


@pytest.mark.parametrize("piece_bytes", [1, 3000])
def test_pieces_of_the_batch_and_chunks_of_lines(
    monkeypatch: pytest.MonkeyPatch, piece_bytes: int
) -> None:
    monkeypatch.setattr(direct_conv, "_PIECE_BYTES", piece_bytes)
    monkeypatch.setattr(direct_filter_gradient, "_CHUNK_BYTES", piece_bytes)
    test_all_three_convolutions(monkeypatch, SIZES[1], CASES[0])


@pytest.mark.parametrize("channels", [3, 32], ids=["in blocks", "single places"])
def test_phases_that_were_done_are_undone_when_another_is_left_to_blas(
    monkeypatch: pytest.MonkeyPatch, channels: int
) -> None:
    forward = direct_conv.forward
    calls: list[bool] = []

    def only_the_first(*arguments: Any) -> bool:
        calls.append(not calls and forward(*arguments))
        return calls[-1]

    rng = np.random.default_rng(2)
    filters = rng.random((3, 3, channels, 16), np.float32)
    grad = rng.random((2, 4, 4, 16), np.float32)
    attributes = _attributes({"padding": "SAME", "strides": [1, 2, 2, 1]})
    sizes = np.array([2, 8, 8, channels])
    wanted = CONV2D_BACKPROP_INPUT(np, sizes, filters, grad, **attributes)
    monkeypatch.setattr(direct_conv, "forward", only_the_first)
    got = CONV2D_BACKPROP_INPUT(np, sizes, filters, grad, **attributes)
    assert calls[:2] == [True, False]
    np.testing.assert_allclose(got, wanted, rtol=1e-5)


#: (batch, height, width, channels, filter height, filter width, outputs)
FEW = [
    (3, 6, 28, 4, 5, 5, 1),
    (2, 9, 12, 7, 3, 3, 3),
    (5, 4, 14, 16, 1, 5, 8),
    (2, 7, 15, 3, 2, 1, 6),
    (1, 8, 16, 32, 4, 4, 2),
    (2, 5, 18, 3, 3, 4, 12),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: "-".join(map(str, c.values())))
@pytest.mark.parametrize("size", FEW, ids=lambda size: "x".join(map(str, size)))
def test_few_outputs_in_blocks(
    monkeypatch: pytest.MonkeyPatch, size: tuple[int, ...], case: dict[str, Any]
) -> None:
    """Forwards, and as the gradient of an input with as few channels."""
    batch, high, wide, channels, taps_high, taps_wide, outputs = size
    attributes = _attributes(case)
    rng = np.random.default_rng(3)
    x = rng.standard_normal((batch, high, wide, channels), np.float32)
    filters = rng.standard_normal((taps_high, taps_wide, channels, outputs), np.float32)
    _compare(monkeypatch, "forward", lambda: CONV2D(np, x, filters, **attributes))
    few = rng.standard_normal((batch, high, wide, outputs), np.float32)
    turned = np.ascontiguousarray(filters.transpose(0, 1, 3, 2))
    grad = CONV2D(np, few, turned, **attributes)
    sizes = np.array(few.shape)
    _compare(
        monkeypatch,
        "input_gradient",
        lambda: CONV2D_BACKPROP_INPUT(np, sizes, turned, grad, **attributes),
        may_be_blas=True,
    )


#: Those whose taps are multiplied at every place, and then added up.
BY_PLACES = [
    (3, 6, 28, 4, 5, 5, 1),
    (1, 17, 16, 32, 4, 4, 2),
    (4, 9, 13, 21, 3, 3, 4),
    (2, 40, 1, 16, 4, 1, 3),
]


@pytest.mark.parametrize("chunk_bytes", [1, 1 << 20])
@pytest.mark.parametrize("case", CASES, ids=lambda c: "-".join(map(str, c.values())))
@pytest.mark.parametrize("size", BY_PLACES, ids=lambda size: "x".join(map(str, size)))
def test_few_outputs_of_many_channels(
    monkeypatch: pytest.MonkeyPatch, size: tuple[int, ...], case: dict[str, Any], chunk_bytes: int
) -> None:
    monkeypatch.setattr(direct_few_outputs, "_CHUNK_BYTES", chunk_bytes)
    monkeypatch.setattr(direct_few_outputs, "SHARED_PRODUCT", chunk_bytes)
    calls: list[bool] = []
    forward = direct_few_outputs.forward

    def watched(*arguments: Any) -> bool:
        calls.append(forward(*arguments))
        return calls[-1]

    monkeypatch.setattr(direct_few_outputs, "forward", watched)
    test_few_outputs_in_blocks(monkeypatch, size, case)
    if "strides" not in case:
        assert all(calls)
        # Forwards, and for the gradient of the input.
        assert len(calls) >= (1 if "explicit_paddings" in case else 2)
    test_all_three_convolutions(monkeypatch, size, case)


def test_shares_of_the_lines_of_few_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct_filter_gradient, "SHARED_PRODUCT", 1)
    for chunk_bytes in (1, 5000, 1 << 20):
        monkeypatch.setattr(direct_filter_gradient, "_CHUNK_BYTES", chunk_bytes)
        for batch in (1, 2, 3, 9):
            for case in CASES[:4]:
                test_all_three_convolutions(monkeypatch, (batch, 21, 33, 5, 3, 3, 17), case)


@pytest.mark.parametrize("case", CASES, ids=lambda c: "-".join(map(str, c.values())))
@pytest.mark.parametrize("chunk_bytes", [1, 1 << 20])
@pytest.mark.parametrize("shared", [1, 1 << 40], ids=["shared", "whole"])
def test_gradients_of_filters_without_copies_of_lines(
    monkeypatch: pytest.MonkeyPatch, case: dict[str, Any], chunk_bytes: int, shared: int
) -> None:
    """Places at the ends of lines meet some taps only; in narrow images no place meets all of them."""
    monkeypatch.setattr(direct_filter_gradient, "SHARED_PRODUCT", shared)
    monkeypatch.setattr(direct_filter_gradient, "_CHUNK_BYTES", chunk_bytes)
    monkeypatch.setattr(direct_filter_gradient, "_LEAST_CHANNELS", 1)
    sizes = [*SIZES, (9, 13, 12, 9, 3, 3, 20)]
    if case["padding"] == "SAME":
        sizes += [(3, 12, 3, 8, 3, 5, 16), (3, 2, 2, 8, 4, 7, 16), (2, 12, 4, 3, 1, 9, 5)]
    for batch, high, wide, channels, taps_high, taps_wide, outputs in sizes:
        rng = np.random.default_rng(0)
        x = rng.standard_normal((batch, high, wide, channels)).astype(np.float32)
        shape = (taps_high, taps_wide, channels, outputs)
        attributes = _attributes(case)
        grad = CONV2D(np, x, np.ones(shape, np.float32), **attributes)
        grad = rng.standard_normal(grad.shape).astype(np.float32)
        gradient = partial(CONV2D_BACKPROP_FILTER, np, x, np.array(shape), grad, **attributes)
        _compare(monkeypatch, "filter_gradient", gradient)


def test_infinity_reaches_the_sums_of_the_taps_that_see_it_and_no_others() -> None:
    x = np.ones((1, 5, 6, 4), np.float32)
    x[0, 4, 5] = np.inf
    filters = np.ones((2, 2, 4, 1), np.float32)
    got = CONV2D(np, x, filters, **_attributes({"padding": "VALID"}))
    wanted = np.full((1, 4, 5, 1), 16, np.float32)
    wanted[0, 3, 4] = np.inf
    np.testing.assert_array_equal(got, wanted)


def test_what_is_not_compiled_yet_is_left_to_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler.JitEntry, "get", lambda lazy: None)
    x, filters = np.ones((1, 4, 4, 1), np.float32), np.ones((2, 2, 1, 16), np.float32)
    got = CONV2D(np, x, filters, **_attributes({"padding": "VALID"}))
    np.testing.assert_array_equal(got, np.full((1, 3, 3, 16), 4))
    few = np.ones((2, 4, 5, 17), np.float32), np.ones((2, 4, 5, 3), np.float32)
    for _ in range(5):  # memory that was in use before
        junk = np.full((2, 2, 17, 3), np.nan, np.float32)
        del junk
        same = _attributes({"padding": "SAME"})
        sums = CONV2D_BACKPROP_FILTER(np, few[0], np.array([2, 2, 17, 3]), few[1], **same)
        places = np.array([[40.0, 32.0], [30.0, 24.0]])
        np.testing.assert_array_equal(sums, np.broadcast_to(places[..., None, None], sums.shape))


def test_nan_and_infinity_reach_the_windows_that_see_them_and_no_others() -> None:
    x = np.ones((1, 5, 6, 1), np.float32)
    x[0, 0, 0] = np.nan
    x[0, 4, 5] = np.inf
    filters = np.ones((2, 2, 1, 16), np.float32)
    got = CONV2D(np, x, filters, **_attributes({"padding": "VALID"}))
    wanted = np.full((1, 4, 5, 16), 4, np.float32)
    wanted[0, 0, 0], wanted[0, 3, 4] = np.nan, np.inf
    np.testing.assert_array_equal(got, wanted)


def test_without_avx_512_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isa, "host", lambda: None)
    with pytest.raises(ImportError):
        implicit_gemm.compile_code()
