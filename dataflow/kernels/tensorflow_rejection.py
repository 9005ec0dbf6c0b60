"""Gamma and Poisson numbers as TensorFlow's own kernels draw them, for programs that run as TensorFlow's.

Each number has 256 blocks of the op's stream to itself, so that it does not matter how often the others are rejected
(``core/kernels/random_op.cc`` and ``random_poisson_op.cc`` of TensorFlow 1.15). Here all numbers that are
still rejected are drawn at once, time after time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.kernels.special import lgamma_kernel
from dataflow.kernels.tensorflow_random import (
    BLOCKS_PER_NUMBER,
    TensorFlowStream,
    normal_of,
    uniform_of,
)

#: So many numbers are drawn at once: what lies between the steps stays in the cache.
_PIECE = 4096
#: Up to this rate events are counted one by one.
_FEW_EVENTS = 10.0


class _Pairs:
    """Numbers that a block gives two of, for each of several streams; the second one is taken first."""

    def __init__(self, draws: _Draws, of_words: Callable[[Any], Any]) -> None:
        self._draws = draws
        self._of_words = of_words
        self._values = np.empty((len(draws.next_blocks), 2))
        self._num_left = np.zeros(len(draws.next_blocks), np.intp)

    def __call__(self, rows: Any) -> Any:
        """The next number of each of these rows."""
        empty = rows[self._num_left[rows] == 0]
        if empty.size:
            words = self._draws.next_words(empty)
            self._values[empty] = self._of_words(words.reshape(-1)).reshape(-1, 2)
            self._num_left[empty] = 2
        self._num_left[rows] -= 1
        return self._values[rows, self._num_left[rows]]


class _Draws:
    """The blocks of some numbers from a block on: 256 for each."""

    def __init__(self, stream: TensorFlowStream, first: int, count: int) -> None:
        self._stream = stream
        self.next_blocks = np.uint64(first) + np.arange(count, dtype=np.uint64) * np.uint64(
            BLOCKS_PER_NUMBER
        )
        self.normal = _Pairs(self, lambda words: normal_of(words, True))
        self.uniform = _Pairs(self, lambda words: uniform_of(words, np.float64))

    def next_words(self, rows: Any) -> Any:
        """A block of each of these rows, uint32 [rows, 4]."""
        words = self._stream.blocks_of(self.next_blocks[rows])
        self.next_blocks[rows] += np.uint64(1)
        return words


def _in_pieces(
    draw: Callable[[_Draws, Any], Any], stream: TensorFlowStream, num_samples: int, parameter: Any
) -> Any:
    """``draw(draws, parameters)`` for every sample of every parameter, [num_samples, len(parameter)]."""
    parameters = np.repeat(np.asarray(parameter, np.float64).reshape(-1), num_samples)
    first = stream.take(len(parameters) * BLOCKS_PER_NUMBER)
    found = np.empty(len(parameters))
    for start in range(0, len(parameters), _PIECE):
        own = parameters[start : start + _PIECE]
        draws = _Draws(stream, first + start * BLOCKS_PER_NUMBER, len(own))
        found[start : start + _PIECE] = draw(draws, own)
    return found.reshape(-1, num_samples).T


def gamma(stream: TensorFlowStream, num_samples: int, alpha: Any) -> Any:
    """Gamma numbers of scale 1, float64 [num_samples, len(alpha)], by Marsaglia and Tsang (2000)."""
    return _in_pieces(_gamma, stream, num_samples, alpha)


def _gamma(draws: _Draws, alphas: Any) -> Any:
    found = np.full(len(alphas), np.nan)
    exponential = np.flatnonzero(alphas == 1)
    found[exponential] = -np.log1p(-draws.uniform(exponential))
    small = alphas < 1
    d = alphas + np.where(small, 2.0 / 3, -1.0 / 3)
    rows = np.flatnonzero((alphas >= 0) & (alphas != 1) & np.isfinite(alphas))
    c = np.zeros_like(d)
    c[rows] = 1.0 / 3 / np.sqrt(d[rows])
    while rows.size:
        x = draws.normal(rows)
        v = 1 + c[rows] * x
        positive = v > 0
        tried, x, v = rows[positive], x[positive], v[positive] ** 3
        u = draws.uniform(tried)
        with np.errstate(divide="ignore"):
            exact = np.log(u) < 0.5 * x * x + d[tried] * (1 - v + np.log(v))
        accepted = (u < 1 - 0.0331 * (x * x) * (x * x)) | exact
        done = tried[accepted]
        found[done] = d[done] * v[accepted]
        positive[positive] = accepted
        rows = rows[~positive]
        done = done[small[done]]
        with np.errstate(divide="ignore"):
            found[done] *= draws.uniform(done) ** (1 / alphas[done])
    return found


def poisson(stream: TensorFlowStream, num_samples: int, rate: Any) -> Any:
    """Poisson numbers, float64 [num_samples, len(rate)]: by Knuth, and by Hoermann (1993) for rates from 10 on."""
    return _in_pieces(_poisson, stream, num_samples, rate)


def _poisson(draws: _Draws, rates: Any) -> Any:
    found = np.where(np.isfinite(rates), 0.0, rates)
    _count_events(draws, np.flatnonzero(rates < _FEW_EVENTS), rates, found)
    _transform(draws, np.flatnonzero((rates >= _FEW_EVENTS) & np.isfinite(rates)), rates, found)
    return found


def _count_events(draws: _Draws, rows: Any, rates: Any, found: Any) -> None:
    product = np.ones(len(rates))
    limit = np.exp(-np.minimum(rates, _FEW_EVENTS))
    while rows.size:
        product[rows] *= draws.uniform(rows)
        rows = rows[product[rows] > limit[rows]]
        found[rows] += 1


def _transform(draws: _Draws, rows: Any, rates: Any, found: Any) -> None:
    """Rejection from a distribution that is near the inverse of the cumulative one."""
    b = 0.931 + 2.53 * np.sqrt(np.maximum(rates, 0))
    a = -0.059 + 0.02483 * b
    while rows.size:
        own_a, own_b, own_rate = a[rows], b[rows], rates[rows]
        u = draws.uniform(rows) - 0.5
        v = draws.uniform(rows)
        shifted = 0.5 - np.abs(u)
        with np.errstate(divide="ignore", invalid="ignore"):
            k = np.floor((2 * own_a / shifted + own_b) * u + own_rate + 0.43)
            inverse = 1.1239 + 1.1328 / (own_b - 3.4)
            left = np.log(v * inverse / (own_a / (shifted * shifted) + own_b))
            right = -own_rate + k * np.log(own_rate) - lgamma_kernel(np, np.maximum(k, 0) + 1)
        at_once = (shifted >= 0.07) & (v <= 0.9277 - 3.6224 / (own_b - 2))
        refused = (k < 0) | ((shifted < 0.013) & (v > shifted))
        accepted = at_once | (~refused & (left <= right))
        found[rows[accepted]] = k[accepted]
        rows = rows[~accepted]
