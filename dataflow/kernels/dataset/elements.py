"""Datasets at run time: objects that can be iterated again and again.

An iteration goes on after an element that could not be computed: its error is raised once, and the
next element follows. A Python generator ends with the error that leaves it, so iterations are made
of `pulled` functions where an error may come from below.

An element is a tuple of arrays. A dataset of rows (`Rows`) hands out row numbers as long as it
can: shuffling, repeating and taking move numbers, and a batch gathers its rows in one go.
"""

from __future__ import annotations

import contextlib
import os
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dataflow.dtypes import as_dtype
from dataflow.errors import InvalidArgumentError
from dataflow.formats.object_arrays import object_array

Element = tuple[Any, ...]

#: Numbers of elements that are no numbers, as `tf.data` says them.
INFINITE = -1
UNKNOWN = -2


class Dataset:
    """A dataset at run time. ``iterate()`` starts anew.

    ``num_elements``: how many there are, where that is known without reading them; else `INFINITE` or
    `UNKNOWN`.
    """

    num_elements: int = UNKNOWN
    #: How it is shuffled, where that is done as in TensorFlow: a `tensorflow_shuffle.Shuffling`.
    shuffling: Any = None

    def iterate(self) -> Iterator[Element]:
        """An iterator over the elements."""
        raise NotImplementedError

    def rows(self) -> tuple[tuple[Any, ...], Iterator[int]] | None:
        """Arrays and an iterator over row numbers, where the elements are rows; else ``None``."""
        return None


class FromFunction(Dataset):
    """A dataset given by a function that starts an iteration."""

    def __init__(self, start: Callable[[], Iterator[Element]], num_elements: int = UNKNOWN) -> None:
        self.iterate = start  # type: ignore[method-assign]
        self.num_elements = num_elements


class Rows(Dataset):
    """Rows of arrays, in the order of a function that starts an iteration over their numbers."""

    def __init__(
        self, arrays: tuple[Any, ...], numbers: Callable[[], Iterator[int]], num_elements: int
    ) -> None:
        self.arrays = arrays
        self.numbers = numbers
        self.num_elements = num_elements

    def iterate(self) -> Iterator[Element]:
        arrays = self.arrays
        if len(arrays) == 1:
            (only,) = arrays
            return ((only[i],) for i in self.numbers())
        return (tuple([a[i] for a in arrays]) for i in self.numbers())

    def rows(self) -> tuple[tuple[Any, ...], Iterator[int]] | None:
        return self.arrays, self.numbers()


def same_kind(
    source: Dataset, change: Callable[[Iterator[Any]], Iterator[Any]], num_elements: int
) -> Dataset:
    """A dataset whose order or choice of elements is changed without looking at them."""
    if isinstance(source, Rows):
        return Rows(source.arrays, lambda: change(source.numbers()), num_elements)
    return FromFunction(lambda: change(source.iterate()), num_elements)


END: Any = object()
_drawn_from = threading.local()


@contextlib.contextmanager
def chance_from(seed: int) -> Iterator[None]:
    """In the block the numbers of `by_chance` follow from ``seed``."""
    before = getattr(_drawn_from, "random", None)
    _drawn_from.random = random.Random(seed)
    try:
        yield
    finally:
        _drawn_from.random = before


def by_chance() -> int:
    """A number of 56 bits that nobody gave a seed for."""
    drawn: random.Random | None = getattr(_drawn_from, "random", None)
    return int.from_bytes(os.urandom(7), "little") if drawn is None else drawn.getrandbits(56)


def pulled(pull: Callable[[], Any]) -> Iterator[Any]:
    """An iterator over what ``pull()`` returns until that is `END`; it outlives errors."""
    return iter(pull, END)


def limited(elements: Iterator[Any], skip: int, count: int | None, step: int = 1) -> Iterator[Any]:
    """`itertools.islice` that outlives errors: ``count`` elements after ``skip``, each ``step``-th."""
    left = skip
    done = 0

    def pull() -> Any:
        nonlocal left, done
        if count is not None and done >= count:
            return END
        while left:
            left -= 1
            if next(elements, END) is END:
                return END
        element = next(elements, END)
        done += 1
        left = step - 1
        return element

    return pulled(pull)


def flattened(iterators: Iterator[Iterator[Any]]) -> Iterator[Any]:
    """The elements of one iterator after the other; `itertools.chain` that outlives errors."""
    current: Iterator[Any] = iter(())

    def pull() -> Any:
        nonlocal current
        while True:
            element = next(current, END)
            if element is not END:
                return element
            following = next(iterators, END)
            if following is END:
                return END
            current = following

    return pulled(pull)


def with_errors(elements: Iterator[Any]) -> Iterator[tuple[Any, Exception | None]]:
    """Pairs of an element and None, or of None and the error that came in its place."""

    def pull() -> Any:
        try:
            element = next(elements, END)
        except Exception as e:
            return None, e
        return END if element is END else (element, None)

    return pulled(pull)


def stack(parts: list[Any], component: int = 0) -> Any:
    """Parts ``component`` of several elements as one array; raises for shapes that differ."""
    first = parts[0]
    if isinstance(first, Dataset):
        raise InvalidArgumentError(None, None, "datasets cannot be batched; use flat_map first")
    if isinstance(first, bytes) and all(isinstance(p, bytes) for p in parts):
        return object_array(parts)
    if (isinstance(first, np.ndarray) and first.dtype == object) or isinstance(first, bytes):
        parts = [as_array(p) for p in parts]
        shapes = [p.shape for p in parts]
        if len(set(shapes)) == 1:
            out = np.empty((len(parts), *shapes[0]), dtype=object)
            for i, part in enumerate(parts):
                out[i] = part if part.ndim else part[()]
            return out
    else:
        try:
            return np.stack(parts) if np.ndim(first) else np.array(parts, dtype=first.dtype)
        except ValueError:
            shapes = [np.shape(p) for p in parts]
    other = next(i for i, shape in enumerate(shapes) if shape != shapes[0])
    raise InvalidArgumentError(
        None,
        None,
        f"Cannot batch tensors with different shapes in component {component}. First element had "
        f"shape {_listed(shapes[0])} and element {other} had shape {_listed(shapes[other])}. "
        "Use padded_batch, or bring them to one shape in map.",
    )


def _listed(shape: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, shape))}]"


def as_array(component: Any) -> Any:
    """A component of an element as an array: a string may be Python's ``bytes``."""
    return np.asarray(component, object if isinstance(component, bytes) else None)


def as_element_array(value: Any, dtype: Any) -> Any:
    """A Python value that a generator yielded, as an array of ``dtype``."""
    dtype = as_dtype(dtype)
    if dtype.kind == "S":
        array = np.asarray(value, dtype=object)
        flat = [v.encode() if isinstance(v, str) else v for v in array.reshape(-1).tolist()]
        return object_array(flat, array.shape)
    return np.asarray(value, dtype=dtype.numpy)[()]
