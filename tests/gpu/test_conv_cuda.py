"""The CUDA C of convolutions, run on the CPU: result and both gradients against the CPU's kernels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from dataflow.kernels import depthwise
from dataflow.kernels.cuda import conv as cuda_conv
from dataflow.kernels.loader import get_kernel
from dataflow.kernels.xp import pretend_module

TOLERANCE = {"float16": 1e-2, "float32": 2e-6, "float64": 1e-13}


class Case(NamedTuple):
    """One geometry; ``groups`` of channels, or the multiplier of a depthwise convolution."""

    dtype: str
    image: tuple[int, ...]
    taps: tuple[int, ...]
    outputs: int
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: str = "SAME"
    channels_first: bool = False
    groups: int = 1


CASES = {
    "aligned": Case("float32", (3, 6, 7, 8), (3, 2), 5, (1, 1), (1, 1)),
    "odd channels, strides": Case("float64", (2, 7, 8, 3), (3, 3), 4, (2, 3), (1, 1)),
    "dilated, channels first": Case(
        "float32", (2, 9, 8, 3), (3, 2), 4, (1, 1), (2, 3), "VALID", True
    ),
    "pairs of padding": Case("float32", (2, 4, 5, 4), (2, 3), 3, (3, 2), (1, 1), "EXPLICIT"),
    "half": Case("float16", (2, 5, 5, 8), (3, 3), 4, (1, 1), (1, 1)),
    "three axes": Case("float32", (2, 4, 3, 5, 2), (2, 3, 2), 3, (1, 2, 2), (1, 1, 1)),
    "groups": Case("float32", (2, 5, 4, 8), (3, 3), 6, (1, 1), (1, 1), groups=2),
    "a plain product": Case("float32", (2, 3, 4, 8), (1, 1), 5, (1, 1), (1, 1)),
    "gaps": Case("float64", (2, 7, 7, 2), (1, 2), 3, (3, 3), (1, 1)),
    "wider than the image": Case("float32", (1, 2, 2, 4), (5, 5), 2, (1, 1), (1, 1)),
}


def values(case: Case) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """An image, a filter and the attributes of its op."""
    rng = np.random.RandomState(0)
    x = rng.randn(*case.image).astype(case.dtype)
    filters = rng.randn(*case.taps, case.image[-1] // case.groups, case.outputs).astype(case.dtype)
    rank = len(case.taps)

    def attr(numbers: tuple[int, ...]) -> list[int]:
        return [1, 1, *numbers] if case.channels_first else [1, *numbers, 1]

    attrs: dict[str, Any] = {
        "strides": attr(case.strides),
        "dilations": attr(case.dilations),
        "padding": case.padding,
    }
    if rank == 3:
        return x, filters, {**attrs, "data_format": "NDHWC"}
    pairs = [0, 0, 1, 2, 0, 1, 0, 0] if case.padding == "EXPLICIT" else []
    layout = "NCHW" if case.channels_first else "NHWC"
    if case.channels_first:
        x = np.ascontiguousarray(np.moveaxis(x, -1, 1))
    return x, filters, {**attrs, "explicit_paddings": pairs, "data_format": layout}


def kernel_of(op_type: str) -> Any:
    """The registered kernel, for any module of arrays."""
    found = get_kernel(op_type, family="conv")
    assert found is not None
    return found.function


def check(xp: Any, kernel: Any, arguments: tuple[Any, ...], attrs: Any, like: str) -> None:
    """The kernel on ``xp`` gives what it gives on the CPU, in double precision."""
    exact = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in arguments]
    want = kernel(np, *exact, **attrs)
    on_device = [xp.asarray(a) if a.dtype.kind == "f" else a for a in arguments]
    result = kernel(xp, *on_device, **attrs)
    assert result.dtype == like and result.flags.c_contiguous
    scale = np.abs(want).max()
    np.testing.assert_allclose(result.get() / scale, want / scale, atol=TOLERANCE[like], rtol=0)


def check_case(xp: Any, case: Case) -> None:
    """Result, input gradient and filter gradient."""
    x, filters, attrs = values(case)
    two = len(case.taps) == 2
    kind, version = ("Conv2D", "") if two else ("Conv3D", "V2")
    forward = kernel_of(kind)
    to_input = kernel_of(f"{kind}BackpropInput{version}")
    to_filter = kernel_of(f"{kind}BackpropFilter{version}")
    grad = np.random.RandomState(1).randn(*forward(np, x, filters, **attrs).shape)
    grad = grad.astype(case.dtype)
    check(xp, forward, (x, filters), attrs, case.dtype)
    check(xp, to_input, (np.array(x.shape), filters, grad), attrs, case.dtype)
    check(xp, to_filter, (x, np.array(filters.shape), grad), attrs, case.dtype)


@pytest.mark.parametrize("name", CASES)
def test_as_on_the_cpu(cuda_on_host: Any, name: str) -> None:
    check_case(pretend_module(0), CASES[name])
    launched = cuda_on_host.launches
    assert ("im2col" in launched) == ("col2im" in launched) == (name != "a plain product")


def test_in_pieces_of_the_batch(cuda_on_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_conv, "PIECE_BYTES", 1)
    check_case(pretend_module(0), CASES["aligned"])
    assert cuda_on_host.launches.count("im2col") == 6 and cuda_on_host.launches.count("col2im") == 3


def test_channels_that_are_not_aligned_are_copied_one_by_one(cuda_on_host: Any) -> None:
    xp = pretend_module(0)
    x = xp.asarray(np.arange(2 * 3 * 3 * 8, dtype=np.float32).reshape(2, 3, 3, 8))
    assert cuda_conv._vector(x) == 4
    assert cuda_conv._vector(x[..., 4:]) == 4
    for view in (x[..., 1:5], x[..., :3], x.transpose(0, 3, 1, 2)):
        assert cuda_conv._vector(view) == 1


def test_nothing_to_convolve(cuda_on_host: Any) -> None:
    xp = pretend_module(0)
    _, _, attrs = values(CASES["aligned"])
    shapes = [
        ((0, 4, 4, 8), (2, 2, 8, 3)),
        ((1, 4, 4, 0), (2, 2, 0, 3)),
        ((1, 4, 4, 2), (2, 2, 2, 0)),
    ]
    for image, filters in shapes:
        x, w = xp.ones(image, np.float32), xp.ones(filters, np.float32)
        y = kernel_of("Conv2D")(xp, x, w, **attrs)
        assert y.shape == (*image[:3], filters[3]) and not y.get().any()
        sizes = np.array(image), np.array(filters)
        back = kernel_of("Conv2DBackpropInput")(xp, sizes[0], w, xp.ones_like(y), **attrs)
        assert back.shape == image and not back.get().any()
        back = kernel_of("Conv2DBackpropFilter")(xp, x, sizes[1], xp.ones_like(y), **attrs)
        assert back.shape == filters and not back.get().any()


DEPTHWISE = {
    "one each": Case("float32", (2, 6, 5, 4), (3, 3), 4, (1, 1), (1, 1)),
    "two each, strides": Case("float64", (2, 7, 8, 3), (2, 3), 6, (2, 3), (1, 1), groups=2),
    "dilated": Case("float32", (1, 9, 9, 2), (3, 2), 2, (1, 1), (2, 3), "VALID", True),
    "half": Case("float16", (2, 5, 5, 4), (3, 3), 8, (1, 1), (1, 1), groups=2),
}


@pytest.mark.parametrize("name", DEPTHWISE)
def test_depthwise(cuda_on_host: Any, name: str) -> None:
    check_depthwise(pretend_module(0), DEPTHWISE[name])
    assert cuda_on_host.launches == ["depthwise", "depthwise_input", "depthwise_filter"]


def check_depthwise(xp: Any, case: Case) -> None:
    """Result, input gradient and filter gradient of a depthwise convolution."""
    x, _, attrs = values(case)
    rng = np.random.RandomState(2)
    shape = (*case.taps, case.image[-1], case.groups)
    filters = rng.randn(*shape).astype(case.dtype)
    y = depthwise.depthwise_kernel(np, x, filters, **attrs)
    grad = rng.randn(*y.shape).astype(case.dtype)
    check(xp, depthwise.depthwise_kernel, (x, filters), attrs, case.dtype)
    to_input = depthwise.depthwise_backprop_input_kernel
    check(xp, to_input, (np.array(x.shape), filters, grad), attrs, case.dtype)
    to_filter = depthwise.depthwise_backprop_filter_kernel
    check(xp, to_filter, (x, np.array(shape), grad), attrs, case.dtype)
