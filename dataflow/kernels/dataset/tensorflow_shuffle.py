"""The order in which TensorFlow 1.15 shuffles a dataset, for programs that run as TensorFlow's.

Its kernel (``core/kernels/data/shuffle_dataset_op.cc``) keeps a buffer whose parts belong to one epoch each. An element
is drawn from the oldest part by a word of Philox4x32-10, and the first of that part takes its place. A dataset that is
shuffled anew in each iteration takes the seeds of an iteration from a generator with its own two seeds; one that is
repeated right after it was shuffled draws from one stream for all epochs, since 1.15 makes one dataset of both.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from dataflow.kernels.dataset.elements import END, Dataset, FromFunction, Rows, pulled
from dataflow.kernels.tensorflow_random import TensorFlowStream

#: The buffer is not filled further while it has elements of more epochs than this.
_MOST_EPOCHS = 3
#: So many words are made at once, and a first time so many.
_MANY, _FEW = 4096, 64


def words_of(seed: int, seed2: int) -> Callable[[], int]:
    """Gives the words of a stream, one in each call."""
    stream = TensorFlowStream(seed, seed2)
    made: list[int] = []
    count = _FEW

    def word() -> int:
        nonlocal made, count
        if not made:
            made = stream.words(count)[::-1].tolist()
            count = _MANY
        return made.pop()

    return word


class Shuffling:
    """How a dataset is shuffled: ``size`` elements are kept, and ``seeds`` are those of the op."""

    def __init__(self, source: Dataset, size: int, seeds: tuple[int, int], anew: bool) -> None:
        self._source = source
        self._size = size
        self.seeds = seeds
        self.is_anew = anew
        self._word = words_of(*seeds)

    def once(self) -> Dataset:
        """The dataset shuffled."""
        return self._dataset(1, self._seeds_of_iteration, self._source.num_elements)

    def repeated(self, times: int, num_elements: int) -> Dataset:
        """The dataset shuffled and repeated; ``times`` is negative: without end."""
        return self._dataset(times, lambda: self.seeds, num_elements)

    def _seeds_of_iteration(self) -> tuple[int, int]:
        return (self._word(), self._word()) if self.is_anew else self.seeds

    def _dataset(
        self, times: int, seeds: Callable[[], tuple[int, int]], num_elements: int
    ) -> Dataset:
        source = self._source

        def start(epoch: Callable[[], Iterator[Any]]) -> Iterator[Any]:
            return _shuffled(epoch, times, self._size, words_of(*seeds()))

        found: Dataset
        if isinstance(source, Rows):
            found = Rows(source.arrays, lambda: start(source.numbers), num_elements)
        else:
            found = FromFunction(lambda: start(source.iterate), num_elements)
        return found


def _shuffled(
    epoch: Callable[[], Iterator[Any]], times: int, size: int, word: Callable[[], int]
) -> Iterator[Any]:
    """The elements of ``times`` epochs; ``epoch`` starts one."""
    buffer: list[Any] = []  # position i of what was read stands at i % size
    parts: deque[list[int]] = deque([[0, 0]])  # from where to where each epoch stands
    elements: Iterator[Any] | None = epoch() if times else None
    num_started, num_held, is_first = 1, 0, True

    def read() -> Any:
        """The next element, of a later epoch if need be."""
        nonlocal elements, num_started, is_first
        while elements is not None:
            element = next(elements, END)
            if element is not END:
                is_first = False
                return element
            if num_started == times or (is_first and times < 0):
                elements = None
                break
            num_started += 1
            elements = epoch()
            end = parts[-1][1]
            parts.append([end, end])
        return END

    def pull() -> Any:
        nonlocal num_held
        while elements is not None and num_held < size:
            element = read()
            if element is END:
                break
            end = parts[-1][1]
            if len(buffer) < size:
                buffer.append(element)
            else:
                buffer[end % size] = element
            parts[-1][1] = end + 1
            num_held += 1
            if len(parts) > _MOST_EPOCHS:
                break
        while parts and parts[0][0] == parts[0][1]:
            if len(parts) == 1:
                return END
            parts.popleft()
        first, end = parts[0]
        place, chosen = first % size, (first + word() % (end - first)) % size
        element, buffer[chosen] = buffer[chosen], buffer[place]
        buffer[place] = None
        parts[0][0] += 1
        num_held -= 1
        return element

    return pulled(pull)
