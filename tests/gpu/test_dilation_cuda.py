"""The CUDA C of dilation and its gradients, run on the CPU, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels import dilation
from dataflow.kernels.xp import pretend_module

#: Shape of the image, taps, stride, rate, padding.
CASES: dict[str, tuple[tuple[int, ...], tuple[int, int], int, int, str]] = {
    "plain": ((2, 9, 11, 8), (3, 3), 1, 1, "SAME"),
    "rate": ((2, 9, 8, 35), (3, 2), 1, 2, "VALID"),
    "stride": ((1, 11, 12, 3), (5, 4), 2, 1, "SAME"),
    "both": ((2, 10, 13, 1), (2, 3), 3, 2, "SAME"),
    "one": ((1, 1, 1, 1), (1, 1), 1, 1, "VALID"),
    "no images": ((0, 4, 4, 2), (2, 2), 1, 1, "VALID"),
}
TOLERANCE = {"float16": 2e-2, "float32": 1e-5, "float64": 1e-12}


def check_case(xp: Any, name: str, dtype: str) -> None:
    """The three kernels on ``xp`` against NumPy; many sums are equal, and some are no numbers."""
    shape, taps, stride, rate, padding = CASES[name]
    rng = np.random.RandomState(0)
    x = rng.randint(-3, 4, shape).astype(dtype)
    if x.dtype.kind == "f":
        x.reshape(-1)[:30] = ([np.nan, np.inf, -np.inf] * 10)[: x.size]
    filter = rng.randint(-2, 3, (*taps, shape[3])).astype(dtype)
    attrs = {"strides": [1, stride, stride, 1], "rates": [1, rate, rate, 1], "padding": padding}
    y = dilation.dilation2d_kernel(np, x, filter, **attrs)
    grad = rng.randint(-4, 5, y.shape).astype(dtype)
    for function, operands in (
        (dilation.dilation2d_kernel, [x, filter]),
        (dilation.dilation2d_backprop_input_kernel, [x, filter, grad]),
        (dilation.dilation2d_backprop_filter_kernel, [x, filter, grad]),
    ):
        want = function(np, *operands, **attrs)
        got = function(xp, *[xp.asarray(a) for a in operands], **attrs)
        assert got.dtype == want.dtype == dtype
        rtol = TOLERANCE.get(dtype, 0)
        np.testing.assert_allclose(got.get(), want, rtol=rtol, atol=rtol)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *[(name, "float32") for name in CASES],
        *[("both", dtype) for dtype in ("float64", "float16", "int32", "int8")],
    ],
)
def test_as_on_the_cpu(cuda_on_host: Any, name: str, dtype: str) -> None:
    check_case(pretend_module(0), name, dtype)
    if name != "no images":
        kernels = ["dilation", "dilation_taken", "dilation_image", "dilation_taken"]
        assert cuda_on_host.launches == [*kernels, "dilation_filter"]
