"""Numbers that the host gives the kernels of a captured graph anew before each launch.

A captured launch has its arguments for good. What is another number each time, the position in a
stream of random numbers, is read from the GPU's memory instead, where the host puts it before the
graph is launched: all of a graph's numbers in one copy.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Module

#: The most numbers that a graph can be given.
MOST_NUMBERS = 4096


class HostNumbers:
    """One graph's numbers, uint64: where they lie on its GPU, and what gives the next ones."""

    def __init__(self, xp: Module) -> None:
        self._buffer = xp.empty(MOST_NUMBERS, np.uint64)
        self._sources: list[Callable[[], int]] = []

    def place(self, source: Callable[[], int]) -> Any:
        """An array of one number, on the GPU: before each launch what ``source()`` returns."""
        at = len(self._sources)
        if at == MOST_NUMBERS:
            raise RuntimeError(f"a CUDA graph takes at most {MOST_NUMBERS} numbers of the host")
        self._sources.append(source)
        return self._buffer[at : at + 1]

    def next_ones(self) -> tuple[Any, Any] | None:
        """The part of the GPU's memory that is used, and what it has to hold; `None` if nothing."""
        if not self._sources:
            return None
        values = np.array([source() for source in self._sources], np.uint64)
        return self._buffer[: values.size], values


class _Collecting(threading.local):
    numbers: HostNumbers | None = None


_collecting = _Collecting()


def collected() -> HostNumbers | None:
    """The numbers of the graph that this thread is capturing."""
    return _collecting.numbers


@contextlib.contextmanager
def collecting(numbers: HostNumbers) -> Iterator[None]:
    """Kernels launched in the block are captured, and their numbers become ``numbers``."""
    before, _collecting.numbers = _collecting.numbers, numbers
    try:
        yield
    finally:
        _collecting.numbers = before
