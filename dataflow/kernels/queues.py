"""Queues. Waiting operations sleep on a condition, and are served first come, first served."""

from __future__ import annotations

import collections
import functools
import heapq
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from dataflow.capabilities import THREADS
from dataflow.errors import CancelledError, InvalidArgumentError, OutOfRangeError
from dataflow.kernels.observable_condition import WatchedCondition
from dataflow.kernels.would_block import WouldBlock

#: What knows its shape.
_NUMPYS = (np.ndarray, np.generic)


class Queue:
    """A FIFO queue; the others override how elements are kept.

    Fields: ``enqueuers`` and ``dequeuers`` hold a ticket for each waiting operation, first come
    first served. Invariant: every change under ``condition`` notifies all waiting.
    """

    kind = "FIFOQueue"

    def __init__(self, name: str, types: list[Any], dims: list[Any], capacity: int) -> None:
        self.name = name
        self.given = types, dims, capacity
        self.types = types
        self.dims = [None if d is None else tuple(d) for d in dims]
        self.capacity = capacity if capacity >= 0 else 2**31 - 1
        self.condition = WatchedCondition()
        self.condition.what = self._what
        self.closed = False
        self.enqueuers: collections.deque[Any] = collections.deque()
        self.dequeuers: collections.deque[Any] = collections.deque()
        self.make_store()

    def description(self) -> str:
        """What queues of one name have to agree on."""
        types = [t.name for t in self.types]
        shapes = f", shapes {self.dims}" if self.dims else ""
        return f"{self.kind} of {types}{shapes}, capacity {self.capacity}"

    # ---- how elements are kept ------------------------------------------------------------

    def make_store(self) -> None:
        self.items: Any = collections.deque()
        # The store's own functions, where they do the same: a call less for each token of a cluster's step.
        self.pop = self.items.popleft  # type: ignore[method-assign]
        self.push_all = self.items.extend  # type: ignore
        self.available = self.items.__len__  # type: ignore[method-assign]

    def push(self, element: Any) -> None:
        self.items.append(element)

    def push_all(self, elements: list[Any]) -> None:
        self.items.extend(elements)

    def pop(self) -> Any:
        return self.items.popleft()

    def push_back(self, elements: list[Any]) -> None:
        """Undoes pops, for a dequeue of many that failed half-way."""
        self.items.extendleft(reversed(elements))

    def available(self) -> int:
        """How many elements may be taken now."""
        return len(self.items)

    # ---- operations -----------------------------------------------------------------------

    def _closed_error(self) -> CancelledError:
        return CancelledError(None, None, f"{self.kind} '{self.name}' is closed.")

    def enqueue(self, context: Any, elements: list[Any]) -> None:
        """Puts elements in, waiting for room; raises `CancelledError` when the queue is closed."""
        condition = self.condition
        with condition.lock:
            if self.closed:
                raise self._closed_error()
            if self.enqueuers or len(self.items) + len(elements) > self.capacity:
                context.postpone_unless(
                    condition, lambda: self._has_room(len(elements)), again=False
                )
            else:
                self.push_all(elements)
                condition.notify_all()
                return
            ticket = _Ticket(elements)
            self.enqueuers.append(ticket)
            self._admit()
            context.wait_in_line(
                condition,
                lambda: ticket.cancelled or not ticket.elements,
                lambda: self._withdraw(ticket),
            )

    def _withdraw(self, ticket: _Ticket) -> CancelledError | None:
        """Ends the wait of an enqueue; returns the error if it could not put in all it had."""
        with self.condition.lock:
            if ticket in self.enqueuers:
                self.enqueuers.remove(ticket)
                self._admit()
            if not ticket.elements:
                return None
            return CancelledError(
                None, None, f"Enqueue operation was cancelled: {self.name!r} was closed."
            )

    def _what(self) -> str:
        """What those wait for who wait for this queue."""
        closed = ", closed" if self.closed else ""
        return f"{self.kind} {self.name!r} ({len(self.items)} of {self.capacity} elements{closed})"

    def _admit(self) -> None:
        """Puts in what waiting enqueues have, as far as there is room, and tells all who wait."""
        while self.enqueuers and len(self.items) < self.capacity:
            first = self.enqueuers[0]
            if first.cancelled:
                break
            self.push(first.elements.popleft())
            if not first.elements:
                self.enqueuers.popleft()
        self.condition.notify_all()

    def _has_room(self, count: int) -> bool:
        """Whether that many go in without waiting."""
        return not self.enqueuers and len(self.items) + count <= self.capacity

    def _can_give(self, count: int) -> bool:
        """Whether taking that many out ends without waiting, with an error or without."""
        if self.dequeuers:
            return False
        num_items = len(self.items)  # `available` is no more
        return (num_items >= count and self.available() >= count) or (
            self.closed and not self.enqueuers
        )

    def dequeue(self, context: Any, count: int, up_to: bool = False) -> list[Any]:
        """Takes ``count`` elements out, waiting for them.

        Raises `OutOfRangeError` when the queue is closed and has fewer (none, with ``up_to``).
        """
        condition = self.condition
        with condition.lock:
            if not self.dequeuers and self.available() >= count:
                given = [self.pop()] if count == 1 else [self.pop() for _ in range(count)]
                if not THREADS:
                    context.will_undo(lambda: self.push_back(given))
                if self.enqueuers:
                    self._admit()
                else:
                    condition.notify_all()
                return given
            context.postpone_unless(condition, functools.partial(self._can_give, count))
            ticket = context.carried(_Ticket)
            if not ticket.is_in_line:
                self.dequeuers.append(ticket)
                ticket.is_in_line = True
            taken: list[Any] = ticket.taken
            try:
                while len(taken) < count:
                    context.wait(
                        condition,
                        lambda: self._ready_for(ticket),
                        again=lambda: self._can_give(count),
                        withdraw=lambda: self._give_back(ticket),
                    )
                    while len(taken) < count and self.available() > 0:
                        taken.append(self.pop())
                    self._admit()
                    if len(taken) < count and self._finished():
                        if up_to and taken:
                            break
                        raise OutOfRangeError(
                            None,
                            None,
                            f"{self.kind} '{self.name}' is closed and has insufficient elements "
                            f"(requested {count}, current size {len(taken)})",
                        )
            except WouldBlock:
                raise  # it keeps its place, and what it has
            except BaseException:
                self._give_back(ticket)
                raise
            self._leave(ticket)
            if not THREADS:
                context.will_undo(lambda: self.push_back(taken))
            return taken

    def _leave(self, ticket: _Ticket) -> None:
        self.dequeuers.remove(ticket)
        self.condition.notify_all()

    def _give_back(self, ticket: _Ticket) -> None:
        """Ends a dequeue that did not get all it wanted."""
        with self.condition.lock:
            self.push_back(ticket.taken)
            self._leave(ticket)

    def _ready_for(self, ticket: Any) -> bool:
        return self.dequeuers[0] is ticket and (self.available() > 0 or self._finished())

    def _finished(self) -> bool:
        """True when nothing more will come: closed, and no enqueue that came before is waiting."""
        return self.closed and not self.enqueuers and self.available() == 0

    def close(self, cancel_pending: bool) -> None:
        with self.condition.lock:
            self.closed = True
            if cancel_pending:
                for ticket in self.enqueuers:
                    ticket.cancelled = True
            self.condition.notify_all()

    def size(self) -> int:
        with self.condition.lock:
            return len(self.items)

    # ---- elements -------------------------------------------------------------------------

    def check(self, values: list[Any]) -> None:
        if not self.dims:
            return
        for i, (value, dims) in enumerate(zip(values, self.dims, strict=True)):
            shape = value.shape if isinstance(value, _NUMPYS) else np.shape(value)
            if dims is None or shape == dims:
                continue
            if len(shape) != len(dims) or any(
                d is not None and d != s for s, d in zip(shape, dims, strict=True)
            ):
                wanted = ["?" if d is None else d for d in dims]
                raise InvalidArgumentError(
                    None,
                    None,
                    f"Shape mismatch in tuple component {i}. Expected "
                    f"[{','.join(map(str, wanted))}], got [{','.join(map(str, shape))}] "
                    f"({self.kind} '{self.name}')",
                )

    def check_batchable(self) -> None:
        if not self.dims or any(d is None or None in d for d in self.dims):
            raise InvalidArgumentError(
                None,
                None,
                f"{self.kind}'s DequeueMany and DequeueUpTo require the components to have "
                f"specified shapes. Give shapes when making the queue '{self.name}'.",
            )

    def batch(self, elements: list[Any]) -> tuple[Any, ...]:
        """The elements stacked, component by component."""
        result = []
        for i, dtype in enumerate(self.types):
            parts = [e[i] for e in elements]
            result.append(stack_elements(parts, dtype, self.dims[i]))
        return tuple(result)


class _Ticket:
    """An operation that waits.

    ``elements`` are those that an enqueue has not put in yet, ``taken`` those that a dequeue has.
    """

    __slots__ = ("cancelled", "elements", "is_in_line", "taken")

    def __init__(self, elements: Sequence[Any] = ()) -> None:
        self.cancelled = self.is_in_line = False
        self.elements = collections.deque(elements)
        self.taken: list[Any] = []


def stack_elements(parts: list[Any], dtype: Any, dims: Any) -> Any:
    """Elements of one component as an array [elements, ...]."""
    numpy_dtype = object if dtype.kind == "S" else dtype.numpy
    if not parts:
        return np.empty((0, *[d or 0 for d in dims or ()]), numpy_dtype)
    if np.ndim(parts[0]):
        return np.stack(parts)
    out = np.empty(len(parts), numpy_dtype)
    out[:] = [p[()] if isinstance(p, np.ndarray) else p for p in parts]
    return out


class PaddingQueue(Queue):
    """Pads with zeros (empty strings) to the largest size of the batch."""

    kind = "PaddingFIFOQueue"

    def check_batchable(self) -> None:
        return

    def batch(self, elements: list[Any]) -> tuple[Any, ...]:
        result = []
        for i, dtype in enumerate(self.types):
            parts = [np.asarray(e[i]) for e in elements]
            dims = self.dims[i]
            if not parts or not dims or None not in dims:
                result.append(stack_elements([e[i] for e in elements], dtype, dims))
                continue
            shape = tuple(
                max(p.shape[axis] for p in parts) if d is None else d for axis, d in enumerate(dims)
            )
            if dtype.kind == "S":
                out = np.full((len(parts), *shape), b"", object)
            else:
                out = np.zeros((len(parts), *shape), dtype.numpy)
            for row, part in zip(out, parts, strict=True):
                row[tuple(slice(0, s) for s in part.shape)] = part
            result.append(out)
        return tuple(result)


class ShuffleQueue(Queue):
    """Takes elements at random; keeps ``min_after`` of them back until it is closed."""

    kind = "RandomShuffleQueue"
    min_after = 0
    random: Any = None

    def make_store(self) -> None:
        self.items = []

    def pop(self) -> Any:
        items = self.items
        i = int(self.random.integers(len(items)))
        items[i], items[-1] = items[-1], items[i]
        return items.pop()

    def push_back(self, elements: list[Any]) -> None:
        self.items.extend(elements)

    def available(self) -> int:
        if self.closed and not self.enqueuers:
            return len(self.items)
        return len(self.items) - self.min_after

    def _finished(self) -> bool:
        return self.closed and not self.enqueuers and not self.items


class PriorityQueue(Queue):
    """A heap by the first component; equal priorities in the order they came."""

    kind = "PriorityQueue"

    def make_store(self) -> None:
        self.items = []
        self._order = itertools.count()

    def push(self, element: Any) -> None:
        heapq.heappush(self.items, (int(element[0]), next(self._order), element))

    def push_all(self, elements: list[Any]) -> None:
        for element in elements:
            self.push(element)

    def pop(self) -> Any:
        return heapq.heappop(self.items)[2]

    def push_back(self, elements: list[Any]) -> None:
        self.push_all(elements)
