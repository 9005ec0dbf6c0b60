"""Kernels of the candidate samplers. They run on the host: a sample is a few dozen numbers.

Random numbers are drawn ahead, for several runs at once: a call of NumPy costs more than the
hundred numbers that one run needs. The numbers of each run are those that it would draw itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.formats.local_paths import local_path
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.index_arrays import as_intp
from dataflow.kernels.philox import Stream, stream_of, uniform
from dataflow.kernels.registry import kernel
from dataflow.kernels.tensorflow_random import Sample, tensorflow_stream

if TYPE_CHECKING:
    from dataflow.runtime.kernel_context import KernelContext

_HOST = "draws a few numbers, one after the other, from a distribution that is kept on the host"
_FLOAT64 = np.dtype(np.float64)

#: Draws ``count`` classes.
Draw = Callable[[int], Any]
#: At most so many draws, and numbers, are made ahead.
_MOST_DRAWS_AHEAD, _MOST_NUMBERS_AHEAD = 64, 1 << 16
#: Of so many classes, what their probabilities amount to is kept.
_MOST_KEPT_CLASSES = 1 << 17
_BLOCK_WORDS = 4  # a draw begins at a new block of the stream
_UNSIGNED = {"i": np.uint32, "l": np.uint64, "q": np.uint64}


class Ahead:
    """What an op's next runs draw: rows of ``transform(uniform numbers)``.

    ``transform`` works element by element. Rows are made for twice as many runs each time.
    """

    def __init__(self, stream: Stream, transform: Callable[[Any], Any]) -> None:
        self._stream = stream
        self._transform = transform
        self._lock = threading.Lock()
        self._rows: list[Any] = []
        self._count = -1
        self._draws = 1

    def draw(self, count: int) -> Any:
        """The next row, of ``count`` numbers (for an op always as many)."""
        with self._lock:
            if count != self._count:
                assert not self._rows, "an op draws as many numbers in each run"
                self._count = count
            if not self._rows:
                whole = -(-count // _BLOCK_WORDS) * _BLOCK_WORDS
                draws = max(1, min(self._draws, _MOST_NUMBERS_AHEAD // max(whole, 1)))
                self._draws = min(2 * self._draws, _MOST_DRAWS_AHEAD)
                numbers = uniform(np, self._stream, draws * whole, _FLOAT64)
                rows = self._transform(numbers.reshape(draws, whole)[:, :count])
                self._rows = list(rows[::-1])
            return self._rows.pop()


def _ahead(
    context: KernelContext,
    seed: int,
    seed2: int,
    transform: Callable[[Any], Any] = lambda numbers: numbers,
) -> Ahead:
    """The one of the op that a kernel runs for, made at its first run in the session."""
    found = context.state.get("ahead")
    if found is None:  # setdefault is atomic: two threads get the same one
        stream = stream_of(context, seed, seed2)
        found = context.state.setdefault("ahead", Ahead(stream, transform))
    return found  # type: ignore[no-any-return]


def _tensorflow_sample(
    context: KernelContext, seed: int, seed2: int, num_sampled: int
) -> Sample | None:
    """TensorFlow's numbers for this run, where they are to be drawn."""
    samples = context.state.get("samples")
    if samples is None:
        stream = tensorflow_stream(context, seed, seed2)
        if stream is None:
            return None
        samples = context.state.setdefault("samples", stream.samples(num_sampled))
    return samples.next_run()  # type: ignore[no-any-return]


def _bad(text: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, text)


def _sample(draw: Draw, num_sampled: int, unique: bool) -> tuple[Any, int]:
    """The sample, and how many draws it took (repeated classes are drawn again)."""
    if not unique:
        return draw(num_sampled), num_sampled
    # A set that keeps the order: NumPy's sorting takes four times as long.
    found: dict[int, None] = {}
    num_draws = 0
    while True:
        drawn = draw(2 * num_sampled).tolist()
        found.update(dict.fromkeys(drawn))
        if len(found) >= num_sampled:
            sampled = list(found)[:num_sampled]
            return np.array(sampled, np.int64), num_draws + drawn.index(sampled[-1]) + 1
        num_draws += len(drawn)


class _Probabilities:
    """Those of classes, and the logarithms of what they leave: log(1 - p)."""

    def __init__(self, of: Callable[[Any], Any]) -> None:
        self.of = of

    def missed(self, classes: Any) -> Any:
        """log(1 - p)"""
        with np.errstate(divide="ignore"):
            return np.log1p(-self.of(classes))


class _KeptProbabilities(_Probabilities):
    """As `_Probabilities`, looked up in tables."""

    def __init__(self, of: Callable[[Any], Any], num_classes: int) -> None:
        self._of = of(np.arange(num_classes))
        super().__init__(self._of.take)
        self._missed = super().missed(np.arange(num_classes))
        self.missed = self._missed.take  # type: ignore[method-assign]


def _expected(probabilities: _Probabilities, classes: Any, num_sampled: int, draws: int) -> Any:
    """How often each class is to be expected in the sample."""
    if draws == num_sampled:
        count = probabilities.of(classes) * num_sampled
    else:
        count = probabilities.missed(classes)
        count *= draws
        np.expm1(count, out=count)
        np.negative(count, out=count)
    return count.astype(np.float32)


def _result(
    true_classes: Any,
    draw: Draw,
    probabilities: _Probabilities,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
) -> tuple[Any, Any, Any]:
    true_classes = np.asarray(true_classes)
    if true_classes.ndim != 2 or true_classes.shape[1] != num_true:
        raise _bad(
            f"true_classes must have {num_true} columns, got shape {list(true_classes.shape)}"
        )
    # As numbers without a sign, negative ones are large: one pass finds both kinds.
    if true_classes.size and int(_without_sign(true_classes).max()) >= range_max:
        outside = true_classes[(true_classes < 0) | (true_classes >= range_max)]
        raise _bad(f"the true class {int(outside[0])} is not in [0, {range_max})")
    sampled, num_draws = _sample(draw, num_sampled, unique)
    sampled = sampled.astype(np.int64, copy=False)
    both = np.concatenate([true_classes.reshape(-1), sampled])
    expected = _expected(probabilities, both, num_sampled, num_draws)
    size = true_classes.size
    return sampled, expected[:size].reshape(true_classes.shape), expected[size:]


def _without_sign(x: Array) -> Any:
    unsigned = _UNSIGNED.get(x.dtype.char)
    return x.view(unsigned) if unsigned is not None else x.astype(np.uint64)


@kernel("UniformCandidateSampler", stateful=True, cpu_only=_HOST)
def uniform_sampler_kernel(
    context: KernelContext,
    true_classes: Array,
    *,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int,
    seed2: int,
) -> tuple[Any, Any, Any]:
    def classes_of(numbers: Array) -> Any:
        return (numbers * range_max).astype(np.int64)

    def probability(classes: Array) -> Any:
        return np.full(classes.shape, 1 / range_max)

    sample = _tensorflow_sample(context, seed, seed2, num_sampled)
    if sample is None:
        draw = _ahead(context, seed, seed2, classes_of).draw
    else:
        draw = lambda count: sample.integers(range_max, count)
    chances = _Probabilities(probability)
    return _result(true_classes, draw, chances, num_true, num_sampled, unique, range_max)


@kernel("LogUniformCandidateSampler", stateful=True, cpu_only=_HOST)
def log_uniform_sampler_kernel(
    context: KernelContext,
    true_classes: Array,
    *,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int,
    seed2: int,
) -> tuple[Any, Any, Any]:
    log_range = np.log1p(range_max)

    def classes_of(numbers: Array) -> Any:
        # The inverse of the distribution function log(k + 1) / log(range_max + 1).
        classes = np.exp(numbers * log_range).astype(np.int64) - 1
        return np.minimum(classes, range_max - 1)

    def probability(classes: Array) -> Any:
        return (np.log(classes + 2.0) - np.log(classes + 1.0)) / log_range

    chances = context.state.get("chances")
    if chances is None:
        kept = range_max <= _MOST_KEPT_CLASSES
        chances = (
            _KeptProbabilities(probability, range_max) if kept else _Probabilities(probability)
        )
        context.state["chances"] = chances
    sample = _tensorflow_sample(context, seed, seed2, num_sampled)
    if sample is None:
        draw = _ahead(context, seed, seed2, classes_of).draw
    else:
        draw = lambda count: classes_of(sample.doubles(count))
    return _result(true_classes, draw, chances, num_true, num_sampled, unique, range_max)


def _by_weights(ahead: Ahead, weights: Any) -> tuple[Draw, _Probabilities]:
    bounds = np.cumsum(weights, dtype=np.float64)
    total = bounds[-1]

    def draw(count: int) -> Any:
        places = ahead.draw(count) * total
        return np.minimum(np.searchsorted(bounds, places, side="right"), weights.size - 1)

    def probability(classes: Any) -> Any:
        return weights[classes] / total

    return draw, _Probabilities(probability)


@kernel(
    "LearnedUnigramCandidateSampler",
    "ThreadUnsafeUnigramCandidateSampler",
    stateful=True,
    cpu_only=_HOST,
)
def learned_unigram_sampler_kernel(
    context: KernelContext,
    true_classes: Array,
    *,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int,
    seed2: int,
) -> tuple[Any, Any, Any]:
    ahead = _ahead(context, seed, seed2)
    weights, lock = context.state.setdefault(
        "weights", (np.ones(range_max, np.float64), threading.Lock())
    )
    with lock:
        draw, chances = _by_weights(ahead, weights)
        result = _result(true_classes, draw, chances, num_true, num_sampled, unique, range_max)
        weights += np.bincount(as_intp(np.asarray(true_classes)).reshape(-1), minlength=range_max)
    return result


def _counts_of_file(path: str) -> list[float]:
    """The last column of a CSV file, one line for each class."""
    try:
        with open(local_path(path), encoding="utf-8") as lines:
            return [float(line.strip().rsplit(",", 1)[-1]) for line in lines if line.strip()]
    except OSError as e:
        raise _bad(f"cannot read the vocabulary file {path!r}: {e}") from e
    except ValueError as e:
        raise _bad(f"{path!r}: the last column of each line must be a count: {e}") from e


def _fixed_weights(
    range_max: int,
    vocab_file: str,
    distortion: float,
    num_reserved_ids: int,
    num_shards: int,
    shard: int,
    unigrams: list[float],
) -> Any:
    counts = _counts_of_file(vocab_file) if vocab_file else unigrams
    weights = np.concatenate([np.zeros(num_reserved_ids), np.asarray(counts, np.float64)])
    with np.errstate(divide="ignore"):
        weights[num_reserved_ids:] **= distortion
    weights = weights[shard::num_shards]
    if weights.size != range_max:
        raise _bad(f"range is {range_max} must be equal to weights size {weights.size}")
    return weights


@kernel("FixedUnigramCandidateSampler", stateful=True, cpu_only=_HOST)
def fixed_unigram_sampler_kernel(
    context: KernelContext,
    true_classes: Array,
    *,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str,
    distortion: float,
    num_reserved_ids: int,
    num_shards: int,
    shard: int,
    unigrams: list[float],
    seed: int,
    seed2: int,
) -> tuple[Any, Any, Any]:
    weights = context.state.get("weights")
    if weights is None:
        weights = context.state["weights"] = _fixed_weights(
            range_max, vocab_file, distortion, num_reserved_ids, num_shards, shard, unigrams
        )
    possible = int(np.count_nonzero(weights))
    if possible == 0 or (unique and num_sampled > possible):
        raise _bad(f"cannot draw {num_sampled} different classes, {possible} have a count")
    draw, chances = _by_weights(_ahead(context, seed, seed2), weights)
    return _result(true_classes, draw, chances, num_true, num_sampled, unique, range_max)


@kernel("AllCandidateSampler", stateful=True, cpu_only=_HOST)
def all_candidate_sampler_kernel(
    context: KernelContext, true_classes: Array, *, num_true: int, num_sampled: int
) -> tuple[Any, Any, Any]:
    shape = np.shape(true_classes)
    if len(shape) != 2 or shape[1] != num_true:
        raise _bad(f"true_classes must have {num_true} columns, got shape {list(shape)}")
    return (
        np.arange(num_sampled, dtype=np.int64),
        np.ones(shape, np.float32),
        np.ones(num_sampled, np.float32),
    )


@kernel("ComputeAccidentalHits", cpu_only=_HOST)
def compute_accidental_hits_kernel(
    xp: Module, true_classes: Array, sampled_candidates: Array, *, num_true: int
) -> tuple[Any, Any, Any]:
    if true_classes.ndim != 2 or true_classes.shape[1] != num_true:
        raise _bad(
            f"true_classes must have {num_true} columns, got shape {list(true_classes.shape)}"
        )
    if not sampled_candidates.size:
        return np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.float32)
    # The last place of each sampled class, as TensorFlow reports it.
    order = np.argsort(sampled_candidates, kind="stable")
    ordered = sampled_candidates[order]
    found = np.searchsorted(ordered, true_classes, side="right") - 1
    hit = (found >= 0) & (ordered[found] == true_classes)
    rows, columns = np.nonzero(hit)
    places = order[found[rows, columns]]
    weights = np.full(rows.size, -np.finfo(np.float32).max, np.float32)
    return rows.astype(np.int32), places.astype(np.int64), weights
