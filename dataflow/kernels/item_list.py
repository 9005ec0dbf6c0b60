"""Lists of tensors as kernels hold them: by index (`ItemList`), or as pairs of the others and the last.

`dataflow.kernels.tensor_list` says what the pairs are; each function here takes both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dataflow.errors import InvalidArgumentError

#: What is known of the elements' shape; ``None`` for a rank or a size that is not.
Sizes = tuple[int | None, ...] | None


class ItemList:
    """Elements by index, ``None`` for those that are not set; nobody changes ``items``.

    ``most`` is how many there may be, -1 for any number.
    """

    __slots__ = ("items", "most", "sizes")

    def __init__(self, items: Sequence[Any], sizes: Sizes, most: int = -1) -> None:
        self.items, self.sizes, self.most = items, sizes, most

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        if not self.items or self.items[-1] is None:
            raise wrong_list("Trying to pop from an empty list, or an element that is not set.")
        return iter((ItemList(self.items[:-1], self.sizes), self.items[-1]))


class LimitedPair(tuple[Any, Any]):
    """(rest, last) of a list whose first part, ``limits``, says what may be pushed; ``num_elements`` in all."""

    limits: ItemList
    num_elements: int


def pushed(handle: Any, element: Any) -> Any:
    """The list with one more element. Raises `InvalidArgumentError` for another shape, or too many."""
    limits = handle if isinstance(handle, ItemList) else getattr(handle, "limits", None)
    if limits is None:
        return (handle, element)
    count = handle.num_elements if isinstance(handle, LimitedPair) else len(handle)
    if 0 <= limits.most <= count:
        raise wrong_list(
            f"Tried to push item into a full list: it may have {limits.most} elements."
        )
    check_shape(element, limits.sizes)
    pair = LimitedPair((handle, element))
    pair.limits, pair.num_elements = limits, count + 1
    return pair


def check_shape(element: Any, sizes: Sizes, place: str = "") -> None:
    found = () if is_list(element) else np.shape(element)
    if sizes is not None and not shapes_fit(found, sizes):
        raise wrong_list(
            f"An element of incompatible shape{place}: got {list(found)}, and the list's elements "
            f"have the shape {list(sizes)}."
        )


def shapes_fit(first: Sequence[int | None], second: Sequence[int | None]) -> bool:
    return len(first) == len(second) and all(
        a is None or b is None or a == b for a, b in zip(first, second, strict=True)
    )


def merged_sizes(sizes: Sizes, other: Sizes) -> Sizes:
    """What both say of the shape. Raises `InvalidArgumentError` where they differ."""
    if sizes is None or other is None:
        return other if sizes is None else sizes
    if not shapes_fit(sizes, other):
        raise wrong_list(f"Incompatible shapes of elements: {list(sizes)} and {list(other)}.")
    return tuple(b if a is None else a for a, b in zip(sizes, other, strict=True))


def wrong_list(text: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, text)


def is_list(value: Any) -> bool:
    """True for a list of tensors of either kind."""
    return isinstance(value, (tuple, ItemList))


def items_of(handle: Any) -> Sequence[Any]:
    """The elements of a list of either kind, the first one first."""
    last: list[Any] = []
    while isinstance(handle, tuple):
        if not handle:
            return last[::-1]
        handle, element = handle
        last.append(element)
    return [*handle.items, *last[::-1]] if last else handle.items


def sizes_of(handle: Any) -> Sizes:
    while isinstance(handle, tuple) and handle:
        handle = handle[0]
    return handle.sizes if isinstance(handle, ItemList) else None


def read_sizes(element_shape: Any) -> Sizes:
    """The shape that a shape tensor holds: a scalar stands for any, a negative size for any size."""
    if np.ndim(element_shape) == 0:
        return None
    return tuple(None if size < 0 else int(size) for size in np.asarray(element_shape))
