"""Kernels of the ops in `dataflow.ops.random`."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda.compiler import can_compile
from dataflow.kernels.cuda.elementwise import bind_region
from dataflow.kernels.jit.expression import Region
from dataflow.kernels.jit.tracer import region_of
from dataflow.kernels.normal_quantile import normal_cdf, normal_quantile
from dataflow.kernels.philox import PIECE, Stream, standard_normal, stream_of, uniform
from dataflow.kernels.registry import kernel
from dataflow.kernels.tensorflow_random import (
    TensorFlowStream,
    stateless_stream,
    tensorflow_stream,
)
from dataflow.kernels.tensorflow_rejection import gamma, poisson
from dataflow.tensorflow_numbers import draws_as_tensorflow

if TYPE_CHECKING:
    from dataflow.runtime.kernel_context import KernelContext

_HOST = "drawn by rejection, one number at a time: there is nothing for a GPU to do at once"
#: So many classes are drawn from one after the other, which takes a third of the time of a search.
_FEW_CLASSES = 32


def _sizes(shape: Any) -> tuple[int, ...]:
    sizes = tuple(shape.tolist())
    for size in sizes:
        if size < 0:
            raise ValueError(f"Dimension {size} must be >= 0")
    return sizes


def _count(sizes: tuple[int, ...]) -> int:
    count = 1
    for size in sizes:
        count *= size
    return count


def _floats(
    context: KernelContext,
    shape: Array,
    dtype: DType,
    seeds: tuple[int, int],
    draw: Callable[[Module, Stream, int, Any], Any],
    draw_as_tensorflow: Callable[[TensorFlowStream, int, Any], Any],
) -> Any:
    """Floating-point numbers from the stream of the op that a kernel runs for."""
    sizes, xp = _sizes(shape), context.xp
    own = tensorflow_stream(context, *seeds)
    if own is not None:
        return xp.asarray(draw_as_tensorflow(own, _count(sizes), dtype.numpy)).reshape(sizes)
    return draw(xp, stream_of(context, *seeds), _count(sizes), dtype.numpy).reshape(sizes)


@kernel("RandomUniform", stateful=True)
def random_uniform_kernel(
    context: KernelContext, shape: Array, *, dtype: DType, seed: int, seed2: int
) -> Any:
    seeds = seed, seed2
    return _floats(context, shape, dtype, seeds, uniform, TensorFlowStream.uniform)


@kernel("RandomStandardNormal", stateful=True)
def random_standard_normal_kernel(
    context: KernelContext, shape: Array, *, dtype: DType, seed: int, seed2: int
) -> Any:
    seeds = seed, seed2
    return _floats(context, shape, dtype, seeds, standard_normal, TensorFlowStream.standard_normal)


_TAIL = float(normal_cdf(np, np.float64(-2.0)))


def _truncated_normal(xp: Module, stream: Stream, count: int, dtype: Any) -> Any:
    """By the inverse of the distribution function: no number has to be drawn again."""
    work = np.float64 if dtype == np.float64 else np.float32
    u = uniform(xp, stream, count, np.dtype(work))
    if xp is not np and can_compile(xp):
        z = xp.empty(u.shape, work)
        bind_region(xp, _truncated(np.dtype(work).name))(u.shape, [u], [z])
        return z.astype(dtype, copy=False)
    for first in range(0, count, PIECE):
        piece = u[first : first + PIECE]
        piece[...] = _truncated_of(xp, piece, work)
    return u.astype(dtype, copy=False)


def _truncated_of(xp: Module, u: Any, number: Callable[[float], Any]) -> Any:
    """Truncated normal numbers of uniform ones."""
    p = u * number(1 - 2 * _TAIL)
    p += number(_TAIL)
    return xp.clip(normal_quantile(xp, p), -2, 2)


@functools.cache
def _truncated(dtype: str) -> Region:
    """`_truncated_of` in steps, for a kernel of CUDA C."""
    return region_of(lambda xp, u: _truncated_of(xp, u, float), 1, dtype)


@kernel("TruncatedNormal", stateful=True)
def truncated_normal_kernel(
    context: KernelContext, shape: Array, *, dtype: DType, seed: int, seed2: int
) -> Any:
    seeds = seed, seed2
    return _floats(
        context, shape, dtype, seeds, _truncated_normal, TensorFlowStream.truncated_normal
    )


@kernel("ParameterizedTruncatedNormal", stateful=True)
def parameterized_truncated_normal_kernel(
    context: KernelContext,
    shape: Array,
    means: Array,
    stdevs: Array,
    minvals: Array,
    maxvals: Array,
    *,
    dtype: DType,
    seed: int,
    seed2: int,
) -> Any:
    sizes = _sizes(shape)
    xp = context.xp
    u = uniform(xp, stream_of(context, seed, seed2), _count(sizes), np.dtype(np.float64))
    u = u.reshape(sizes)

    def column(parameter: Any) -> Any:
        parameter = xp.asarray(parameter, np.float64)
        return (
            parameter.reshape(-1, *([1] * (len(sizes) - 1)))
            if parameter.size > 1
            else (parameter.reshape(()))
        )

    mean, deviation, low, high = (column(p) for p in (means, stdevs, minvals, maxvals))
    lower, upper = ((bound - mean) / deviation for bound in (low, high))
    # Beyond the mean the distribution function is close to 1, and has no digits left: drawn in its mirror image.
    side = xp.where(lower > 0, -1.0, 1.0)
    start, stop = xp.where(lower > 0, -upper, lower), xp.where(lower > 0, -lower, upper)
    start, stop = normal_cdf(xp, start), normal_cdf(xp, stop)
    drawn = mean + deviation * side * normal_quantile(xp, start + u * (stop - start))
    return xp.clip(drawn, low, high).astype(dtype.numpy)


@kernel("RandomUniformInt", stateful=True)
def random_uniform_int_kernel(
    context: KernelContext, shape: Array, minval: Array, maxval: Array, *, seed: int, seed2: int
) -> Any:
    sizes, low, high = _range_of(shape, minval, maxval)
    if (own := tensorflow_stream(context, seed, seed2)) is not None and low < high:
        drawn = own.integers(low, high, _count(sizes), minval.dtype)
        return context.xp.asarray(drawn).reshape(sizes)
    return _uniform_int(context.xp, stream_of(context, seed, seed2), shape, minval, maxval)


def _range_of(shape: Any, minval: Any, maxval: Any) -> tuple[tuple[int, ...], int, int]:
    sizes, low, high = _sizes(shape), int(minval), int(maxval)
    if low >= high and _count(sizes):
        raise ValueError(f"Need minval < maxval, got {low} >= {high}")
    return sizes, low, high


def _uniform_int(xp: Module, stream: Stream, shape: Any, minval: Any, maxval: Any) -> Any:
    sizes, low, high = _range_of(shape, minval, maxval)
    words = stream.words_on(xp, _count(sizes))
    offsets = words % np.uint64(max(high - low, 1))
    # Modular arithmetic: a range wider than int64 still lands where it should.
    return (offsets + np.uint64(low % 2**64)).astype(np.int64).astype(minval.dtype).reshape(sizes)


@kernel("RandomShuffle", stateful=True)
def random_shuffle_kernel(context: KernelContext, value: Array, *, seed: int, seed2: int) -> Any:
    if not value.shape:
        return value
    if (own := tensorflow_stream(context, seed, seed2)) is not None:
        if value.size <= 1 or len(value) <= 1:  # nothing is drawn
            return value
        return value.take(context.xp.asarray(own.order(len(value))), axis=0)
    words = stream_of(context, seed, seed2).words_on(context.xp, value.shape[0])
    order = context.xp.argsort(words)
    return value.take(order, axis=0)


@kernel("Multinomial", stateful=True)
def multinomial_kernel(
    context: KernelContext,
    logits: Array,
    num_samples: Array,
    *,
    seed: int,
    seed2: int,
    output_dtype: DType,
) -> Any:
    count = int(num_samples)
    own = tensorflow_stream(context, seed, seed2)
    if own is not None and count > 0:
        u = context.xp.asarray(own.doubles_of_rows(len(logits), count))
    else:
        u = _uniform_of_rows(context.xp, stream_of(context, seed, seed2), logits, count)
    return _multinomial(context.xp, u, logits, output_dtype)


def _uniform_of_rows(xp: Module, stream: Stream, logits: Any, count: int) -> Any:
    if count < 0:
        raise ValueError(f"num_samples should be nonnegative, got {count}")
    u = uniform(xp, stream, len(logits) * count, np.dtype(np.float64))
    return u.reshape(len(logits), count)


def _multinomial(xp: Module, u: Any, logits: Any, output_dtype: DType) -> Any:
    """By inversion: the first class at which the summed probabilities exceed a uniform number."""
    batch, classes = logits.shape
    count = u.shape[1]
    if not batch or not count:
        return xp.zeros((batch, count), output_dtype.numpy)
    if not classes:
        raise ValueError("num_classes should be positive, got 0")
    if xp is np and classes <= _FEW_CLASSES:
        found = _of_few_classes(logits, u)
        return found.astype(output_dtype.numpy)
    wide = logits.astype(np.float64)
    wide -= wide.max(axis=1, keepdims=True)
    cumulative = xp.exp(wide).cumsum(axis=1)
    cumulative /= cumulative[:, -1:]
    # One sorted search for all rows: row i occupies [i, i + 1].
    rows = xp.arange(batch, dtype=np.float64)[:, None]
    flat = (cumulative + rows).reshape(-1)
    found = xp.searchsorted(flat, (u + rows).reshape(-1), side="right")
    found = found.reshape(batch, count) - xp.arange(batch)[:, None] * classes
    return xp.clip(found, 0, classes - 1).astype(output_dtype.numpy)


def _of_few_classes(logits: Any, u: Any) -> Any:
    """As `_multinomial`, a class after the other: the loops of NumPy then run along the batch."""
    sums = np.array(logits.T, np.float64, order="C")
    sums -= sums.max(axis=0)
    np.exp(sums, out=sums)
    for before, this in itertools.pairwise(sums):
        this += before
    sums /= sums[-1]
    found = np.zeros(u.shape, np.int64)
    for k in range(len(sums) - 1):
        found += sums[k][:, None] <= u
    return found


@kernel("RandomGamma", stateful=True, cpu_only=_HOST)
def random_gamma_kernel(
    context: KernelContext, shape: Array, alpha: Array, *, seed: int, seed2: int
) -> Any:
    sizes = _sizes(shape) + alpha.shape
    own = tensorflow_stream(context, seed, seed2)
    if own is not None:
        return gamma(own, _count(_sizes(shape)), alpha).reshape(sizes).astype(alpha.dtype)
    generator = stream_of(context, seed, seed2).generator()
    return generator.standard_gamma(np.asarray(alpha, np.float64), size=sizes).astype(alpha.dtype)


@kernel("RandomPoissonV2", stateful=True, cpu_only=_HOST)
def random_poisson_kernel(
    context: KernelContext, shape: Array, rate: Array, *, dtype: DType, seed: int, seed2: int
) -> Any:
    sizes = _sizes(shape) + rate.shape
    own = tensorflow_stream(context, seed, seed2)
    if own is not None:
        return poisson(own, _count(_sizes(shape)), rate).reshape(sizes).astype(dtype.numpy)
    generator = stream_of(context, seed, seed2).generator()
    return generator.poisson(np.asarray(rate, np.float64), size=sizes).astype(dtype.numpy)


# ---- without state: the stream starts anew in each run --------------------------------------------


def _fresh(seed: Any) -> Stream:
    """The stream of a seed given as a tensor; the bit keeps it apart from "not seeded"."""
    first, second = (int(v) for v in seed.tolist())
    return Stream(first, (second & (2**63 - 1)) - 2**63)


def _as_tensorflow(seed: Any) -> TensorFlowStream | None:
    """TensorFlow's stream of such a seed, or ``None`` where its numbers are not drawn."""
    return stateless_stream(*map(int, seed.tolist())) if draws_as_tensorflow() else None


def _stateless(
    xp: Module,
    shape: Array,
    seed: Any,
    dtype: DType,
    draw: Callable[[Module, Stream, int, Any], Any],
    draw_as_tensorflow: Callable[[TensorFlowStream, int, Any], Any],
) -> Any:
    """Floating-point numbers of a seed, the same in each run."""
    sizes, own = _sizes(shape), _as_tensorflow(seed)
    if own is not None:
        return xp.asarray(draw_as_tensorflow(own, _count(sizes), dtype.numpy)).reshape(sizes)
    return draw(xp, _fresh(seed), _count(sizes), dtype.numpy).reshape(sizes)


@kernel("StatelessRandomUniform", any_dtype=True)
def stateless_uniform_kernel(xp: Module, shape: Array, seed: Array, *, dtype: DType) -> Any:
    return _stateless(xp, shape, seed, dtype, uniform, TensorFlowStream.uniform)


@kernel("StatelessRandomNormal", any_dtype=True)
def stateless_normal_kernel(xp: Module, shape: Array, seed: Array, *, dtype: DType) -> Any:
    draw = TensorFlowStream.standard_normal
    return _stateless(xp, shape, seed, dtype, standard_normal, draw)


@kernel("StatelessTruncatedNormal", any_dtype=True)
def stateless_truncated_normal_kernel(
    xp: Module, shape: Array, seed: Array, *, dtype: DType
) -> Any:
    draw = TensorFlowStream.truncated_normal
    return _stateless(xp, shape, seed, dtype, _truncated_normal, draw)


@kernel("StatelessRandomUniformInt")
def stateless_uniform_int_kernel(
    xp: Module, shape: Array, seed: Array, minval: Array, maxval: Array
) -> Any:
    sizes, low, high = _range_of(shape, minval, maxval)
    if (own := _as_tensorflow(seed)) is not None and low < high:
        return xp.asarray(own.integers(low, high, _count(sizes), minval.dtype)).reshape(sizes)
    return _uniform_int(xp, _fresh(seed), shape, minval, maxval)


@kernel("StatelessMultinomial")
def stateless_multinomial_kernel(
    xp: Module, logits: Array, num_samples: Array, seed: Array, *, output_dtype: DType
) -> Any:
    count, own = int(num_samples), _as_tensorflow(seed)
    if own is not None and count > 0:
        u = xp.asarray(own.doubles_of_rows(len(logits), count))
    else:
        u = _uniform_of_rows(xp, _fresh(seed), logits, count)
    return _multinomial(xp, u, logits, output_dtype)
