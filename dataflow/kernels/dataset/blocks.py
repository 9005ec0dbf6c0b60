"""Rows in the blocks in which they are read from files: a batch cuts and joins them, row by row only
where a function asks for it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from dataflow.kernels.dataset.elements import (
    END,
    UNKNOWN,
    Dataset,
    Element,
    flattened,
    pulled,
)

#: A tuple of arrays of the same length, of one row or more.
Block = tuple[Any, ...]

#: Rows of the first block of a file, which somebody waits for, and of the largest.
_FEWEST, _MOST = 16, 1024


class Blocks(Dataset):
    """A dataset whose ``blocks()`` starts an iteration over its rows, many at a time."""

    def __init__(self, blocks: Callable[[], Iterator[Block]], num_elements: int = UNKNOWN) -> None:
        self.blocks = blocks
        self.num_elements = num_elements

    def iterate(self) -> Iterator[Element]:
        return flattened(map(_rows_of, self.blocks()))


def _rows_of(block: Block) -> Iterator[Element]:
    return zip(*[a.tolist() if a.dtype == object else a for a in block], strict=True)


def in_lists(items: Iterable[Any]) -> Iterator[list[Any]]:
    """The items in lists that grow; what comes before an error is handed out before it is raised."""
    items, size = iter(items), _FEWEST
    while True:
        found: list[Any] = []
        try:
            found.extend(itertools.islice(items, size))
        except Exception:
            if found:
                yield found
            raise
        if not found:
            return
        yield found
        size = min(2 * size, _MOST)


def batches(blocks: Iterator[Block], size: int, drop: bool) -> Iterator[Element]:
    """``size`` rows at a time, and at the end those that are left, unless they are to be dropped."""
    rest: Block | None = None

    def pull() -> Any:
        nonlocal rest
        parts: list[Block] = []
        missing = size
        while missing:
            block = rest if rest is not None else next(blocks, END)
            if block is END:
                break
            length = len(block[0])
            rest = tuple([a[missing:] for a in block]) if length > missing else None
            parts.append(tuple([a[:missing] for a in block]))
            missing -= min(length, missing)
        if not parts or (drop and missing):
            return END
        if len(parts) == 1:
            return tuple([a.copy() for a in parts[0]])
        return tuple([np.concatenate(column) for column in zip(*parts, strict=True)])

    return pulled(pull)


def rows_between(blocks: Iterator[Block], skip: int, count: int | None) -> Iterator[Block]:
    """The blocks of ``count`` rows after the first ``skip``; all of them for ``None``."""
    left = skip
    missing = count

    def pull() -> Any:
        nonlocal left, missing
        while missing is None or missing > 0:
            block = next(blocks, END)
            if block is END:
                return END
            length = len(block[0])
            if left >= length:
                left -= length
                continue
            end = length if missing is None else min(left + missing, length)
            part = tuple([a[left:end] for a in block])
            if missing is not None:
                missing -= end - left
            left = 0
            return part
        return END

    return pulled(pull)
