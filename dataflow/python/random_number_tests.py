"""Helpers of TensorFlow's tests of kernels: of random numbers, signals and Fourier transforms."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = [
    "anderson_darling",
    "chi_squared",
    "fft_kernel_label_map",
    "normal_cdf",
    "test_moment_matching",
    "test_truncated_normal",
]


def moment_scores(samples: Any, number_moments: int, dist: Any, stride: int = 0) -> list[Any]:
    """For each of the first moments, how many standard errors that of the samples is off SciPy's ``dist``.

    Of the i-th moment each ``(i - 1) * stride + 1``-th sample counts.
    """
    flat = samples.flat
    scores = []
    for i in range(1, number_moments + 1):
        chosen = flat[:: (i - 1) * stride + 1]
        variance = (dist.moment(2 * i) - dist.moment(i) ** 2) / len(chosen)
        variance += i * np.finfo(samples.dtype).eps  # each product has a rounding error
        variance = max(variance, np.finfo(samples.dtype).tiny)
        scores.append(abs((np.mean(chosen**i) - dist.moment(i)) / np.sqrt(variance)))
    return scores


def chi_squared(x: Any, bins: int) -> Any:
    """Pearson's statistic of numbers that are to be uniform in [0, 1)."""
    counts, _ = np.histogram(np.ravel(x), bins=bins, range=(0, 1))
    expected = np.size(x) / bins
    return np.sum((counts - expected) ** 2 / expected)


def normal_cdf(x: Any) -> Any:
    """The distribution function of the standard normal distribution, element by element."""
    return 0.5 + 0.5 * np.vectorize(math.erf)(x / math.sqrt(2))


def anderson_darling(x: Any) -> Any:
    """Anderson's and Darling's statistic of numbers that are to be standard normal."""
    ordered = np.sort(np.ravel(x))
    n = len(ordered)
    i = np.arange(1, n + 1)
    p = normal_cdf(ordered)
    total = np.sum((2 * i - 1) * np.log(p) + (2 * (n - i) + 1) * np.log(1 - p))
    return -n - total / n


def _density(x: float) -> float:
    return math.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)


def check_truncated_normal(
    assert_equal: Callable[..., Any],
    assert_all_close: Callable[..., Any],
    n: int,
    y: Any,
    mean_atol: float = 5e-4,
    median_atol: float = 8e-4,
    variance_rtol: float = 1e-3,
) -> None:
    """Checks ``n`` numbers ``y`` to be standard normal ones within [-2, 2]: limits, mean, median, variance."""
    low, high = -2.0, 2.0
    assert_equal((y >= low).sum(), n)
    assert_equal((y <= high).sum(), n)
    y = y.astype(float)
    inside = normal_cdf(high) - normal_cdf(low)
    assert_all_close(np.mean(y), (_density(low) - _density(high)) / inside, atol=mean_atol)
    assert_all_close(np.median(y), 0.0, atol=median_atol)
    variance = 1 + (low * _density(low) - high * _density(high)) / inside
    assert_all_close(np.var(y), variance, rtol=variance_rtol)


def fft_kernel_label_map() -> contextlib.AbstractContextManager[None]:
    """A context for Fourier transforms, which have one kernel each: nothing to choose."""
    return contextlib.nullcontext()


#: TensorFlow's names: functions that a test calls, not tests themselves.
test_moment_matching, test_truncated_normal = moment_scores, check_truncated_normal
