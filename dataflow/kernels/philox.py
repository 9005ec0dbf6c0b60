"""Counter-based random bits, and their transforms to uniform and normal numbers.

A random op has one stream of 64-bit words, that of Philox4x64-10 (Salmon et al. 2011) with its two
seeds as the key. A run takes the next words; how many were taken so far is all the state there is.
So a stream can be repeated, split or continued on any device.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.kernels.array_types import Module
from dataflow.kernels.cuda import philox as cuda_philox
from dataflow.kernels.cuda.capture import current_capture
from dataflow.kernels.cuda.compiler import can_compile

if TYPE_CHECKING:
    from dataflow.runtime.kernel_context import KernelContext

#: Words in a block: each value of the counter gives so many.
BLOCK_WORDS = 4
#: So many numbers are transformed at once: what lies between the steps stays in the cache, and does not
#: take many times the memory of the result.
PIECE = 1 << 16


class Stream:
    """The words of one random op in one session. ``blocks`` counts what was taken, in fours.

    Without seeds (both 0) the key comes from the operating system.
    """

    def __init__(self, seed: int, seed2: int) -> None:
        if seed == 0 and seed2 == 0:
            key = np.frombuffer(os.urandom(16), dtype=np.uint64)
        else:
            key = np.array([seed, seed2], dtype=np.int64).view(np.uint64)
        self.key = key
        self.blocks = 0
        self._generator = np.random.Generator(np.random.Philox(key=key))
        self._lock = threading.Lock()

    @property
    def _philox(self) -> Any:
        return self._generator.bit_generator

    def copy(self, blocks: int = 0) -> Stream:
        """A stream of its own that goes on where this one is, or ``blocks`` later or earlier."""
        other = Stream(1, 1)
        other.key = self.key
        with self._lock:
            other.blocks = self.blocks + blocks
        other._generator = np.random.Generator(np.random.Philox(key=self.key))
        other._philox.advance(other.blocks)
        return other

    def words(self, count: int) -> Any:
        """The next ``count`` words, uint64; what is left of the last block is dropped."""
        refuse_capture()
        blocks = -(-count // BLOCK_WORDS)
        with self._lock:
            self.blocks += blocks
            return self._philox.random_raw(blocks * BLOCK_WORDS)[:count]

    def uniform(self, count: int, dtype: Any) -> Any:
        """The next uniform numbers, float32 or float64: the upper 24 or 53 bits of half a word or one.

        NumPy's generator makes them of the same words in the same order, in one pass.
        """
        refuse_capture()
        block = BLOCK_WORDS if dtype == np.float64 else 2 * BLOCK_WORDS
        blocks = -(-count // block)
        with self._lock:
            self.blocks += blocks
            return self._generator.random(blocks * block, dtype)[:count]

    def words_on(self, xp: Module, count: int) -> Any:
        """As `words`, in the memory of ``xp``'s device, drawn there where CUDA C can be compiled."""
        if xp is np or not can_compile(xp):
            return xp.asarray(self.words(count))
        return self.drawn_on(xp, count, "uint64")

    def drawn_on(self, xp: Module, count: int, dtype: str) -> Any:
        """The next words, or the uniform numbers made of them, drawn by a GPU."""
        blocks = cuda_philox.blocks_of(dtype, count)
        capture = current_capture()
        if capture is None:
            first = self._skip(blocks)
        else:  # the launches of a CUDA graph are told where each of them begins
            first = capture.numbers.place(lambda: self._skip(blocks))
        return cuda_philox.draw(xp, self.key, first, count, dtype)

    def _skip(self, blocks: int) -> int:
        """Leaves out so many blocks; returns the counter of the first of them."""
        with self._lock:
            first = self.blocks + 1  # the counter is advanced before a block is drawn
            self.blocks += blocks
            self._philox.advance(blocks)
        return first

    def generator(self) -> np.random.Generator:
        """A NumPy generator for distributions drawn by rejection, started at the next block.

        It owns the 2**64 blocks that have the same upper counter, so nothing overlaps.
        """
        refuse_capture()
        with self._lock:
            self.blocks += 1
            start = self.blocks
            self._philox.random_raw(BLOCK_WORDS)
        counter = np.array([0, start, 1, 0], dtype=np.uint64)
        return np.random.Generator(np.random.Philox(key=self.key, counter=counter))


def refuse_capture() -> None:
    """What the host draws would be the same numbers in every launch of a CUDA graph."""
    if current_capture() is not None:
        raise RuntimeError("the host draws random numbers")


def stream_of(context: KernelContext, seed: int, seed2: int) -> Stream:
    """The stream of the op that a kernel runs for, made at its first run in the session."""
    stream = context.state.get("stream")
    if stream is None:  # setdefault is atomic: two threads get the same one
        stream = context.state.setdefault("stream", Stream(seed, seed2))
    return stream  # type: ignore[no-any-return]


def uniform(xp: Module, stream: Stream, count: int, dtype: Any) -> Any:
    """``count`` numbers in [0, 1): the upper 24 (float32) or 53 (float64) bits of each word.

    Of float16 11 bits and of bfloat16 8: as many as each can hold, so that none is rounded to 1.
    """
    if xp is not np and can_compile(xp):
        return stream.drawn_on(xp, count, np.dtype(dtype).name)
    bits = {"float16": 11, "bfloat16": 8}.get(np.dtype(dtype).name)
    if bits is None:
        return xp.asarray(stream.uniform(count, dtype))
    halves = stream.words_on(xp, -(-count // 2)).view(np.uint32)[:count]
    numbers = (halves >> np.uint32(32 - bits)).astype(np.float32)
    return (numbers * np.float32(2.0**-bits)).astype(dtype)


def standard_normal(xp: Module, stream: Stream, count: int, dtype: Any) -> Any:
    """``count`` normal numbers by Box and Muller (1958): two from two uniform ones."""
    work = np.dtype(np.float64 if dtype == np.float64 else np.float32)
    pairs = -(-count // 2)
    u = uniform(xp, stream, 2 * pairs, work)
    if xp is not np and can_compile(xp):
        cuda_philox.make_normal(xp, u)
        return u[:count].astype(dtype, copy=False)
    for first in range(0, pairs, PIECE):
        radius = u[first : min(first + PIECE, pairs)]
        angle = u[pairs + first : pairs + first + len(radius)]
        xp.subtract(1, radius, out=radius)  # (0, 1], so that the logarithm is finite
        xp.log(radius, out=radius)
        radius *= work.type(-2)
        xp.sqrt(radius, out=radius)
        angle *= work.type(2 * np.pi)
        cosine = xp.cos(angle)
        xp.sin(angle, out=angle)
        angle *= radius
        radius *= cosine
    return u[:count].astype(dtype, copy=False)
