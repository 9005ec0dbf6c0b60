"""The CUDA C of batch normalization and sums over channels, run on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels import bias, normalization
from dataflow.kernels.cuda import batch_norm
from dataflow.kernels.xp import pretend_module

TOLERANCE = {"float16": 2e-3, "float32": 3e-6, "float64": 1e-13}
#: shape, data format, dtype
CASES = [
    ((2, 3, 4, 5), "NHWC", "float32"),
    ((2, 5, 3, 4), "NCHW", "float32"),
    ((2, 3, 4, 8), "NHWC", "float32"),  # four numbers at a time
    ((2, 3, 4, 8), "NHWC", "float16"),
    ((2, 5, 3, 5), "NCHW", "float32"),
    ((5, 9, 9, 40), "NHWC", "float64"),
    ((3, 9, 11, 13), "NCHW", "float16"),
]


def close(got: Any, want: Any, dtype: str) -> None:
    """Equal but for rounding, in units of the largest number."""
    scale = max(1.0, np.abs(want).max()) if want.size else 1.0
    assert got.shape == want.shape
    np.testing.assert_allclose(got.get() / scale, want / scale, rtol=0, atol=TOLERANCE[dtype])


def check_batch_norm(xp: Any, shape: Any, data_format: str, dtype: str, training: bool) -> None:
    """Result and gradients on ``xp`` against the CPU in double precision."""
    rng = np.random.RandomState(0)
    count = shape[1 if data_format == "NCHW" else 3]
    x, grad = (rng.randn(*shape) + 100).astype(dtype), rng.randn(*shape).astype(dtype)
    kind = "float64" if dtype == "float64" else "float32"
    scale, offset, mean, variance = (rng.rand(4, count) + 0.5).astype(kind)
    mean += 99
    attrs = {"epsilon": 0.01, "data_format": data_format, "is_training": training}

    def both(kernel: Any, *arrays: Any, **more: Any) -> Any:
        want = kernel(np, *[a.astype(np.float64) for a in arrays], **attrs, **more)
        got = kernel(xp, *[xp.asarray(a) for a in arrays], **attrs, **more)
        for number, (one, other) in enumerate(zip(got, want, strict=True)):
            assert one.dtype == (dtype if number == 0 else kind)
            close(one, other, dtype)
        return want

    forward = normalization.fused_batch_norm_kernel
    results = both(forward, x, scale, offset, mean, variance, exponential_avg_factor=0.25)
    if training:
        both(forward, x, scale, offset, mean[:0], variance[:0], exponential_avg_factor=1.0)
    saved = [r.astype(kind) for r in results[3:]]
    both(normalization.fused_batch_norm_grad_kernel, grad, x, scale, *saved)


@pytest.mark.parametrize(("shape", "data_format", "dtype"), CASES)
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(
    cuda_on_host: Any, shape: Any, data_format: str, dtype: str, training: bool
) -> None:
    check_batch_norm(pretend_module(0), shape, data_format, dtype, training)
    forward = ["moments", "moments_total", "normalize"] * 2 if training else ["normalize"]
    backward = ["gradient_sums", "gradient_sums_total", "normalize_gradient"]
    assert cuda_on_host.launches == forward + backward


def test_a_large_mean_takes_nothing_from_the_variance(cuda_on_host: Any) -> None:
    xp = pretend_module(0)
    x = (np.arange(400).reshape(200, 2) % 7 + 1e6).astype(np.float32)
    empty = xp.empty(0, np.float32)
    mean, variance, _, _ = batch_norm.moments(xp, xp.asarray(x), -1, empty, empty, 1.0)
    exact = x.astype(np.float64)
    np.testing.assert_allclose(mean.get(), exact.mean(0), rtol=1e-7)
    np.testing.assert_allclose(variance.get(), exact.var(0), rtol=1e-6)


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_gradient_of_a_bias(cuda_on_host: Any, data_format: str) -> None:
    xp = pretend_module(0)
    for dtype, shape in (("float32", (7, 9, 11, 35)), ("float16", (2, 3, 4, 5))):
        x = np.random.RandomState(0).randn(*shape).astype(dtype)
        got = bias.bias_add_grad_kernel(xp, xp.asarray(x), data_format=data_format)
        want = x.astype(np.float64).sum((0, 1, 2) if data_format == "NHWC" else (0, 2, 3))
        assert got.dtype == dtype
        close(got, want, dtype)
    assert batch_norm.channel_sums(xp, xp.ones((0, 3), np.float32), 1).get().tolist() == [0, 0, 0]


def test_parts_of_the_places(cuda_on_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_norm, "_PLACES", 1)
    monkeypatch.setattr(batch_norm, "_MAX_CHUNKS", 11)
    xp = pretend_module(0)
    x = np.random.RandomState(0).randn(250, 3)
    close(batch_norm.channel_sums(xp, xp.asarray(x), 1), x.sum(0), "float64")
    x = x.reshape(10, 3, 25)
    close(batch_norm.channel_sums(xp, xp.asarray(x), 1), x.sum((0, 2)), "float64")
