"""What kernels need to know while this thread captures a stream: `Capture`.

A captured launch has its arguments for good. A number that differs from launch to launch, such as a
position in a stream of random numbers, is read from the GPU's memory instead. The host writes it there
before each launch, all of a graph's numbers in one copy.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels.array_types import Module

#: The most numbers that a graph can be given.
MOST_NUMBERS = 4096


class HostNumbers:
    """The uint64 numbers of one graph: where they lie on its GPU, and what gives the next ones."""

    def __init__(self, xp: Module) -> None:
        self._buffer = xp.empty(MOST_NUMBERS, np.uint64)
        self._sources: list[Callable[[], int]] = []

    def place(self, source: Callable[[], int]) -> Any:
        """An array of one number on the GPU, set to what ``source()`` returns before each launch."""
        at = len(self._sources)
        if at == MOST_NUMBERS:
            raise RuntimeError(f"a CUDA graph takes at most {MOST_NUMBERS} numbers from the host")
        self._sources.append(source)
        return self._buffer[at : at + 1]

    def next_ones(self) -> tuple[Any, Any] | None:
        """The part of the GPU's memory that is used, and what it has to hold; `None` if nothing."""
        if not self._sources:
            return None
        values = np.array([source() for source in self._sources], np.uint64)
        return self._buffer[: values.size], values


class Capture(NamedTuple):
    """A stream that is captured: ``blas`` multiplies on it, ``numbers`` are those of its graph."""

    blas: Any
    numbers: HostNumbers


class _OfThisThread(threading.local):
    capture: Capture | None = None


_own = _OfThisThread()


def current_capture() -> Capture | None:
    """What this thread is capturing."""
    return _own.capture


@contextlib.contextmanager
def capturing(blas: Any, numbers: HostNumbers) -> Iterator[None]:
    """Kernels that this thread launches in the block are captured."""
    before, _own.capture = _own.capture, Capture(blas, numbers)
    try:
        yield
    finally:
        _own.capture = before
