"""Kernels of staging areas by keys."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.kernels.queue import owned
from dataflow.kernels.registry import kernel

if TYPE_CHECKING:
    from dataflow.runtime.kernel_context import KernelContext

_REASON = "elements are held in the host's memory"


class MapStaging:
    """Tuples by their keys: those that are whole, in the order in which they became so, and the others.

    A part that was taken, or is yet to come, is missing. ``condition`` guards all fields.
    """

    def __init__(self) -> None:
        self.num_parts = 0  # as many as the op that puts some in says
        self.condition = threading.Condition()
        self.whole: dict[int, dict[int, Any]] = {}
        self.incomplete: dict[int, dict[int, Any]] = {}
        self.num_bytes = 0

    def put(self, key: int, places: list[int], values: list[Any]) -> None:
        if key in self.whole:
            raise _wrong(f"The key {key} has all of its values already: get them first.")
        parts = self.incomplete.setdefault(key, {})
        for place, value in zip(places, values, strict=True):
            if not 0 <= place < self.num_parts:
                raise _wrong(
                    f"There is no component {place}: this area has {self.num_parts}, numbered from 0."
                )
            if place in parts:
                raise _wrong(f"The component {place} of the key {key} is there already.")
            parts[place] = owned(value)
            self.num_bytes += _size(value)
        if len(parts) == self.num_parts:
            self.whole[key] = self.incomplete.pop(key)

    def read(self, key: int, places: list[int]) -> tuple[Any, ...]:
        parts = self.whole[key]
        for place in places:
            if place not in parts:
                raise _wrong(f"The component {place} of the key {key} is not there: it was taken.")
        return tuple(parts[place] for place in places)

    def take(self, key: int, places: list[int]) -> tuple[Any, ...]:
        found = self.read(key, places)
        parts = self.whole[key]
        for place, value in zip(places, found, strict=True):
            del parts[place]
            self.num_bytes -= _size(value)
        if not parts:
            del self.whole[key]
        return found


def _wrong(text: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, text)


def _size(value: Any) -> int:
    return int(np.asarray(value).nbytes)


def _places(indices: Any) -> list[int]:
    places: list[int] = np.asarray(indices).tolist()
    if any(a >= b for a, b in itertools.pairwise(places)):
        raise _wrong(
            f"Indices are not strictly ordered: {places}. Name each component once, the smallest first."
        )
    return places


def _area(context: KernelContext) -> MapStaging:
    return context.resource("map_staging", MapStaging)  # type: ignore[no-any-return]


def _next_key(area: MapStaging, is_ordered: bool) -> int:
    return min(area.whole) if is_ordered else next(iter(area.whole))


def _both(name: str, **options: Any) -> Callable[[Any], Any]:
    return kernel(name, f"Ordered{name}", stateful=True, **options)


@_both("MapStage", cpu_only=_REASON)
def map_stage_kernel(
    context: KernelContext,
    key: Any,
    indices: Any,
    values: list[Any],
    *,
    capacity: int,
    memory_limit: int,
    dtypes: list[Any],
) -> tuple[()]:
    area, size = _area(context), sum(map(_size, values))
    number, places = int(key), _places(indices)
    if memory_limit and size > memory_limit:
        raise _wrong(f"The values of {size} bytes are larger than memory_limit {memory_limit}.")

    def room() -> bool:
        fits = not memory_limit or area.num_bytes + size <= memory_limit
        if number in area.incomplete:  # it may become whole
            return fits
        return fits and (not capacity or len(area.whole) + len(area.incomplete) < capacity)

    with area.condition:
        context.wait(area.condition, room)
        area.num_parts = len(dtypes)
        area.put(number, places, values)
        area.condition.notify_all()
    return ()


@_both("MapUnstage", cpu_only=_REASON)
def map_unstage_kernel(context: KernelContext, key: Any, indices: Any) -> Any:
    area, number = _area(context), int(key)
    with area.condition:
        context.wait(area.condition, lambda: number in area.whole)
        found = area.take(number, _places(indices))
        area.condition.notify_all()
    return found


def _unstage_any(context: KernelContext, indices: Any, is_ordered: bool) -> Any:
    area = _area(context)
    with area.condition:
        context.wait(area.condition, lambda: bool(area.whole))
        number = _next_key(area, is_ordered)
        found = area.take(number, _places(indices))
        area.condition.notify_all()
    return (np.int64(number), *found)


@kernel("MapUnstageNoKey", stateful=True, cpu_only=_REASON)
def map_unstage_no_key_kernel(context: KernelContext, indices: Any) -> Any:
    return _unstage_any(context, indices, False)


@kernel("OrderedMapUnstageNoKey", stateful=True, cpu_only=_REASON)
def ordered_map_unstage_no_key_kernel(context: KernelContext, indices: Any) -> Any:
    return _unstage_any(context, indices, True)


@_both("MapPeek", cpu_only=_REASON)
def map_peek_kernel(context: KernelContext, key: Any, indices: Any) -> Any:
    area, number = _area(context), int(key)
    with area.condition:
        context.wait(area.condition, lambda: number in area.whole)
        found = area.read(number, _places(indices))
    return tuple(owned(value) for value in found)


@_both("MapSize")
def map_size_kernel(context: KernelContext) -> Any:
    return np.int32(len(_area(context).whole))


@_both("MapIncompleteSize")
def map_incomplete_size_kernel(context: KernelContext) -> Any:
    return np.int32(len(_area(context).incomplete))


@_both("MapClear")
def map_clear_kernel(context: KernelContext) -> tuple[()]:
    area = _area(context)
    with area.condition:
        area.whole.clear()
        area.incomplete.clear()
        area.num_bytes = 0
        area.condition.notify_all()
    return ()
