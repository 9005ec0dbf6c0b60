"""The random numbers of TensorFlow's own kernels, for programs that run as TensorFlow's.

A book prints what `tf.set_random_seed(42)` gave its author. Here a seeded op draws the same numbers, but for the
last bits of logarithms and sines: TensorFlow's Philox4x32-10 has the first seed as its key and the second one as
the upper half of its counter. A run takes 256 blocks of four 32-bit words for each number, as
``PhiloxRandomOp`` of TensorFlow 1.15 (``core/kernels/random_op.cc``) does, whose distributions these are
(``core/lib/random/random_distributions.h``).

In use while `tensorflow_numbers.draws_as_tensorflow`; `philox.Stream` draws what has no seed. Machine code makes the
words where there is some (`jit.philox_words`), NumPy else: a fifteenth of its time a word.
"""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.kernels.jit.philox_words import MULTIPLIERS, ROUNDS, draw
from dataflow.kernels.philox import refuse_capture
from dataflow.tensorflow_numbers import draws_as_tensorflow

if TYPE_CHECKING:
    from dataflow.runtime.kernel_context import KernelContext

#: The multipliers of a round, and what is added to the key after it (Salmon et al. 2011).
_MULTIPLIERS = np.uint64(MULTIPLIERS[0]), np.uint64(MULTIPLIERS[1])
_WEYL = 0x9E3779B9, 0xBB67AE85
#: Fewer words than this are not worth a call of machine code.
_FEW = 64
#: NumPy makes so many blocks at once: what lies between the steps stays in the cache (8 ns a word, 12 with 65,536).
_PIECE = 4096
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
#: Blocks that a run takes for each number; also the distance between two groups of numbers that are drawn
#: by rejection, in words.
BLOCKS_PER_NUMBER = 256
_WORDS = 4
#: Blocks that a candidate sampler takes for each class that it draws.
_BLOCKS_PER_SAMPLE = 512
#: The key of the block that scrambles the seeds of an op without state.
_SCRAMBLER = 0x02461E29_3EC8F720, 0
#: The least number whose logarithm is taken, and what a truncated normal number is smaller than.
_LEAST, _BOUND = 1e-7, 2.0


def tensorflow_stream(context: KernelContext, seed: int, seed2: int) -> TensorFlowStream | None:
    """The stream of the op that a kernel runs for, or ``None`` where it draws from a `philox.Stream`."""
    stream = context.state.get("stream")
    if stream is None and draws_as_tensorflow() and (seed or seed2):
        stream = context.state.setdefault("stream", TensorFlowStream(seed, seed2))
    return stream if isinstance(stream, TensorFlowStream) else None


def stateless_stream(seed: int, seed2: int) -> TensorFlowStream:
    """The stream of an op without state: its seeds, scrambled by a block, are key and counter.

    As ``GenerateKey`` of TensorFlow 1.15 (``core/kernels/stateless_random_ops.cc``).
    """
    scrambler = TensorFlowStream(*_SCRAMBLER)
    scrambler._upper = [np.uint64((seed2 >> shift) & 0xFFFFFFFF) for shift in (0, 32)]
    words = scrambler.blocks_of(np.array([seed % 2**64], np.uint64))[0].tolist()
    return TensorFlowStream(words[0] | words[1] << 32, words[2] | words[3] << 32)


class TensorFlowStream:
    """The blocks of one seeded op in one session; ``blocks`` of them belong to earlier runs."""

    def __init__(self, seed: int, seed2: int) -> None:
        self._seeds = seed, seed2
        self._key = [(seed >> shift) & 0xFFFFFFFF for shift in (0, 32)]
        self._upper = [np.uint64((seed2 >> shift) & 0xFFFFFFFF) for shift in (0, 32)]
        self.blocks = 0
        self._lock = threading.Lock()

    def take(self, blocks: int) -> int:
        refuse_capture()
        with self._lock:
            first = self.blocks
            self.blocks += blocks
        return first

    def copy(self, blocks: int = 0) -> TensorFlowStream:
        """A stream of its own that goes on where this one is, or ``blocks`` later or earlier."""
        other = TensorFlowStream(*self._seeds)
        with self._lock:
            other.blocks = self.blocks + blocks
        return other

    def blocks_of(self, numbers: Any) -> Any:
        """The blocks with these numbers (uint64), uint32 [len(numbers), 4]."""
        x0, x1 = numbers & _LOW, numbers >> _HALF
        x2, x3 = (np.full_like(x0, upper) for upper in self._upper)
        a, b = np.empty_like(x0), np.empty_like(x0)
        for k0, k1 in self._keys:
            np.multiply(x0, _MULTIPLIERS[0], out=a)
            np.multiply(x2, _MULTIPLIERS[1], out=b)
            np.right_shift(b, _HALF, out=x0)
            x0 ^= x1
            x0 ^= np.uint64(k0)
            np.right_shift(a, _HALF, out=x2)
            x2 ^= x3
            x2 ^= np.uint64(k1)
            np.bitwise_and(b, _LOW, out=x1)
            np.bitwise_and(a, _LOW, out=x3)
        found = np.empty((len(numbers), _WORDS), np.uint32)
        for column, x in enumerate((x0, x1, x2, x3)):
            found[:, column] = x
        return found

    @functools.cached_property
    def _keys(self) -> list[tuple[int, int]]:
        """The key of each round."""
        k0, k1 = self._key
        return [
            ((k0 + i * _WEYL[0]) & 0xFFFFFFFF, (k1 + i * _WEYL[1]) & 0xFFFFFFFF)
            for i in range(ROUNDS)
        ]

    def _drawn(self, count: int, dtype: Any, first: int, stride: int = 1) -> Any:
        """Words or uniform numbers by machine code; ``None`` where there is none, or they are few."""
        if count < _FEW:
            return None
        return draw(count, dtype, first, stride, self._upper, self._keys)

    def _words(self, first: int, count: int) -> Any:
        """``count`` words (uint32) from a block on."""
        drawn = self._drawn(count, np.uint32, first)
        if drawn is not None:
            return drawn
        found = np.empty((-(-count // _WORDS), _WORDS), np.uint32)
        for start in range(0, len(found), _PIECE):
            part = found[start : start + _PIECE]
            part[...] = self.blocks_of(
                np.arange(first + start, first + start + len(part), dtype=np.uint64)
            )
        return found.reshape(-1)[:count]

    def words(self, count: int) -> Any:
        """The next ``count`` words (uint32), a multiple of four, with no gap to those before."""
        return self._words(self.take(count // _WORDS), count)

    def _words_of_run(self, count: int, per_number: int) -> Any:
        """The words for ``count`` numbers of a run."""
        return self._words(self.take(count * BLOCKS_PER_NUMBER), count * per_number)

    def uniform(self, count: int, dtype: Any) -> Any:
        """``count`` numbers in [0, 1) of a floating type."""
        double = dtype == np.float64
        if dtype == np.float32:
            first = self.take(count * BLOCKS_PER_NUMBER)
            drawn = self._drawn(count, np.float32, first)
            return uniform_of(self._words(first, count), dtype) if drawn is None else drawn
        return uniform_of(self._words_of_run(count, 2 if double else 1), dtype)

    def standard_normal(self, count: int, dtype: Any) -> Any:
        """``count`` normal numbers of a floating type."""
        double = dtype == np.float64
        first = self.take(count * BLOCKS_PER_NUMBER)
        group = 2 if double else _WORDS
        words = self._words(first, -(-count // group) * _WORDS)
        return normal_of(words, double)[:count].astype(dtype, copy=False)

    def truncated_normal(self, count: int, dtype: Any) -> Any:
        """``count`` normal numbers that are nearer to 0 than 2; the others are drawn again."""
        double = dtype == np.float64
        first = self.take(count * BLOCKS_PER_NUMBER)
        group = 2 if double else _WORDS
        num_groups = -(-count // group)
        stride = group * BLOCKS_PER_NUMBER // _WORDS
        starts = np.uint64(first) + np.arange(num_groups, dtype=np.uint64) * np.uint64(stride)
        found = np.empty((num_groups, group), np.float64 if double else np.float32)
        filled = np.zeros(num_groups, np.intp)
        open_groups, block = np.arange(num_groups), np.uint64(0)
        words = self._drawn(num_groups * _WORDS, np.uint32, first, stride)
        while len(open_groups):
            if words is None or block:
                words = self.blocks_of(starts[open_groups] + block)
            drawn = normal_of(words.reshape(-1), double).reshape(len(open_groups), -1)
            for column in drawn.T:
                fits = (np.abs(column) < _BOUND) & (filled[open_groups] < group)
                at = open_groups[fits]
                found[at, filled[at]] = column[fits]
                filled[at] += 1
            open_groups = open_groups[filled[open_groups] < group]
            block += np.uint64(1)
        return found.reshape(-1)[:count].astype(dtype, copy=False)

    def integers(self, low: int, high: int, count: int, dtype: Any) -> Any:
        """``count`` numbers from ``low`` to ``high - 1``, int32 or int64."""
        wide = np.dtype(dtype).itemsize == 8
        words = self._words_of_run(count, 2 if wide else 1)
        if wide:
            words = words.view(np.uint64)
        offsets = words % words.dtype.type(high - low)
        return (offsets.astype(np.uint64) + np.uint64(low % 2**64)).astype(np.int64).astype(dtype)

    def bits(self, count: int, dtype: Any) -> Any:
        """``count`` integers of 32 or 64 bits, any of them."""
        wide = np.dtype(dtype).itemsize == 8
        return self._words_of_run(count, 2 if wide else 1).view(dtype)

    def order(self, size: int) -> Any:
        """A permutation of ``range(size)``, by Fisher and Yates."""
        order = list(range(size))
        draws = self._words(self.take(-(-(size - 1) // _WORDS)), max(size - 1, 0)).tolist()
        for i, word in enumerate(draws):
            other = i + word % (size - i)
            order[i], order[other] = order[other], order[i]
        return np.array(order, np.intp)

    def doubles_of_rows(self, rows: int, count: int) -> Any:
        """Uniform numbers for ``count`` samples of each row of a multinomial distribution, float64 [rows, count]."""
        samples = 2 * (-(-count // _WORDS) * _WORDS)
        first = self.take(rows * samples * BLOCKS_PER_NUMBER)
        return uniform_of(self._words(first, 2 * rows * count), np.float64).reshape(rows, count)

    def samples(self, num_sampled: int) -> Samples:
        """Numbers for the runs of a candidate sampler."""
        return Samples(self, num_sampled)


class Samples:
    """Numbers for the runs of a candidate sampler, each a `Sample`.

    A run takes 2,048 words for each class that it draws, and needs a few. Those are made for several runs at once.
    """

    def __init__(self, stream: TensorFlowStream, num_sampled: int) -> None:
        self._stream, self._size = stream, max(num_sampled, 1)
        self._ahead: list[tuple[int, Any]] = []
        self._runs = 1
        self._lock = threading.Lock()

    def next_run(self) -> Sample:
        """The numbers of the next run."""
        with self._lock:
            if not self._ahead:
                blocks = _BLOCKS_PER_SAMPLE * self._size
                firsts = self._stream.take(self._runs * blocks) + blocks * np.arange(self._runs)
                numbers = firsts[:, None] + np.arange(self._size)
                words = self._stream.blocks_of(numbers.reshape(-1).astype(np.uint64))
                rows = zip(firsts.tolist(), words.reshape(self._runs, -1), strict=True)
                self._ahead = list(rows)[::-1]
                self._runs = max(1, min(2 * self._runs, _PIECE // self._size))
            return Sample(self._stream, *self._ahead.pop())


class Sample:
    """Numbers of one run of a candidate sampler (``SimplePhilox`` of ``core/lib/random``)."""

    def __init__(self, stream: TensorFlowStream, first: int, words: Any) -> None:
        self._stream, self._first, self._words = stream, first, words
        self._used = 0

    def _next_pairs(self, count: int) -> Any:
        start, self._used = self._used, self._used + 2 * count
        if self._used > len(self._words):
            self._words = self._stream._words(self._first, 2 * self._used)
        return self._words[start : self._used]

    def doubles(self, count: int) -> Any:
        """``count`` numbers in [0, 1), float64."""
        return uniform_of(self._next_pairs(count), np.float64)

    def integers(self, bound: int, count: int) -> Any:
        """``count`` numbers from 0 to ``bound - 1``, int64; words that would favor the small ones are left out."""
        found = np.zeros(0, np.uint64)
        skipped = (2**64 - 1) % bound + 1 if bound & (bound - 1) else 0
        while len(found) < count:
            pairs = self._next_pairs(count - len(found)).view(np.uint64)
            found = np.concatenate([found, pairs[pairs >= np.uint64(skipped)] % np.uint64(bound)])
        return found.astype(np.int64)


def uniform_of(words: Any, dtype: Any) -> Any:
    """Numbers in [0, 1): the lower bits of words are those of a number in [1, 2)."""
    name = np.dtype(dtype).name
    if name == "float64":
        pairs = words.reshape(-1, 2).astype(np.uint64)
        bits = (pairs[:, 0] & np.uint64(0xFFFFF)) << _HALF | pairs[:, 1] | np.uint64(1023 << 52)
        return bits.view(np.float64) - 1
    if name == "float32":
        bits = words & np.uint32(0x7FFFFF)
        bits |= np.uint32(127 << 23)
        return bits.view(np.float32) - np.float32(1)
    fraction = {"float16": 10, "bfloat16": 7}[name]
    numbers = (words & np.uint32((1 << fraction) - 1)).astype(np.float32)
    return (numbers * np.float32(2.0**-fraction)).astype(dtype)


def normal_of(words: Any, double: bool) -> Any:
    """Normal numbers by Box and Muller (1958): two of two uniform ones."""
    if not double:
        found = uniform_of(words, np.float32)
        angle = (2 * np.pi * found[1::2].astype(np.float64)).astype(np.float32)
    else:
        found = uniform_of(words, np.float64)
        angle = 2 * np.pi * found[1::2]
    radius = np.sqrt(
        found.dtype.type(-2) * np.log(np.maximum(found[::2], found.dtype.type(_LEAST)))
    )
    found[::2] = np.sin(angle) * radius
    found[1::2] = np.cos(angle) * radius
    return found
