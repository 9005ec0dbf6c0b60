"""The CUDA C of pooling, run on the CPU: results and gradients of every window, ties and NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.dtypes import int64
from dataflow.kernels import pooling
from dataflow.kernels.xp import pretend_module

#: shape, ksize, strides, padding, dtype
CASES = {
    "tiles": ((2, 4, 6, 3), [1, 2, 2, 1], [1, 2, 2, 1], "VALID", "float32"),
    "overlap": ((2, 7, 6, 3), [1, 3, 3, 1], [1, 2, 2, 1], "SAME", "float64"),
    "gaps": ((2, 7, 7, 2), [1, 2, 1, 1], [1, 3, 3, 1], "SAME", "float32"),
    "channels first": ((2, 3, 5, 6), [1, 1, 2, 3], [1, 1, 1, 2], "SAME", "float32"),
    "over the channels": ((2, 3, 4, 6), [1, 1, 1, 3], [1, 1, 1, 3], "VALID", "float32"),
    "three axes": ((2, 4, 3, 5, 2), [1, 2, 2, 2, 1], [1, 2, 1, 2, 1], "SAME", "float32"),
    "everything": ((2, 4, 4, 3), [1, 4, 4, 1], [1, 4, 4, 1], "VALID", "float32"),
    "half": ((2, 4, 4, 3), [1, 2, 2, 1], [1, 2, 2, 1], "SAME", "float16"),
    "eight channels": ((2, 7, 6, 8), [1, 3, 3, 1], [1, 2, 2, 1], "SAME", "float32"),
    "halves of eight": ((2, 5, 4, 8), [1, 2, 2, 1], [1, 2, 2, 1], "SAME", "float16"),
    "six channels": ((2, 5, 4, 6), [1, 3, 3, 1], [1, 1, 1, 1], "VALID", "float32"),
    "a large window": ((1, 20, 18, 4), [1, 17, 16, 1], [1, 2, 1, 1], "SAME", "float32"),
    "integers": ((2, 4, 5, 3), [1, 3, 3, 1], [1, 1, 1, 1], "SAME", "int32"),
}


def values(name: str) -> tuple[np.ndarray, dict[str, Any]]:
    """An image of few different numbers, so that maxima are met more than once."""
    shape, ksize, strides, padding, dtype = CASES[name]
    x = np.random.RandomState(0).randint(-3, 3, shape).astype(dtype)
    return x, {"ksize": ksize, "strides": strides, "padding": padding}


def check_case(xp: Any, name: str) -> None:
    """Every kernel on ``xp`` gives what it gives on the CPU."""
    x, attrs = values(name)
    tolerance = 2e-3 if x.dtype == np.float16 else 1e-6
    rng = np.random.RandomState(1)

    def check(kernel: Any, *arguments: Any, **more: Any) -> Any:
        want = kernel(np, *arguments, **attrs, **more)
        on_device = [xp.asarray(a) if a.ndim > 1 else a for a in arguments]
        results = kernel(xp, *on_device, **attrs, **more)
        pairs = (
            [(results, want)] if not isinstance(want, tuple) else zip(results, want, strict=True)
        )
        for result, one in pairs:
            assert result.dtype == one.dtype
            np.testing.assert_allclose(result.get(), one, rtol=tolerance, atol=tolerance)
        return want

    deep = x.ndim == 5
    padding: dict[str, Any] = {} if deep else {"explicit_paddings": []}
    y = check(pooling.max_pool_kernel, x, **padding)
    grad = rng.randint(1, 9, y.shape).astype(x.dtype)
    check(pooling.max_pool_grad_kernel, x, y, grad, **padding)
    check(pooling.max_pool_grad_grad_kernel, x, y, rng.randint(1, 9, x.shape).astype(x.dtype))
    check(pooling.max_pool_with_argmax_kernel, x, Targmax=int64, include_batch_in_index=False)
    if x.dtype.kind == "f":
        check(pooling.avg_pool_kernel, x)
        check(pooling.avg_pool_grad_kernel, np.array(x.shape), grad)


@pytest.mark.parametrize("name", CASES)
def test_as_on_the_cpu(cuda_on_host: Any, name: str) -> None:
    check_case(pretend_module(0), name)
    launched = [
        "max_pool",
        "first_tap",
        "max_pool_gradient",
        "first_maximum",
        "max_pool",
        "first_maximum",
    ]
    averages = ["avg_pool", "avg_pool_gradient"] * (name != "integers")
    assert cuda_on_host.launches == launched + averages


def test_padding_that_is_given(cuda_on_host: Any) -> None:
    xp, x = pretend_module(0), -np.arange(1, 33, dtype=np.float32).reshape(2, 4, 4, 1)
    attrs: dict[str, Any] = {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "padding": "EXPLICIT"}
    attrs["explicit_paddings"] = [0, 0, 2, 1, 0, 2, 0, 0]
    y = pooling.max_pool_kernel(np, x, **attrs)
    np.testing.assert_array_equal(pooling.max_pool_kernel(xp, xp.asarray(x), **attrs).get(), y)
    arrays = [x, y, np.arange(1, y.size + 1, dtype=np.float32).reshape(y.shape)]
    want = pooling.max_pool_grad_kernel(np, *arrays, **attrs)
    result = pooling.max_pool_grad_kernel(xp, *[xp.asarray(a) for a in arrays], **attrs)
    np.testing.assert_array_equal(result.get(), want)


def test_a_window_with_nan_gives_nan_and_gets_no_gradient(cuda_on_host: Any) -> None:
    xp = pretend_module(0)
    x = np.array([1, 2, np.nan, 5, 7, 6], np.float32).reshape(1, 3, 2, 1)
    attrs: dict[str, Any] = {"ksize": [1, 1, 2, 1], "strides": [1, 1, 2, 1], "padding": "VALID"}
    attrs["explicit_paddings"] = []
    y = pooling.max_pool_kernel(xp, xp.asarray(x), **attrs)
    np.testing.assert_array_equal(y.get().ravel(), [2, np.nan, 7])
    grad = pooling.max_pool_grad_kernel(xp, xp.asarray(x), y, xp.ones_like(y), **attrs)
    np.testing.assert_array_equal(grad.get().ravel(), [0, 1, 0, 0, 1, 0])
