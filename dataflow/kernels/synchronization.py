"""Barriers, staging areas and locks."""

from __future__ import annotations

import collections
import functools
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.errors import CancelledError, InvalidArgumentError, OutOfRangeError
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.mutex import Mutex, held_mutexes
from dataflow.kernels.queue import owned, stack_elements
from dataflow.kernels.registry import kernel

if TYPE_CHECKING:
    from dataflow.runtime.resources import KernelContext

_REASON = "elements are held in the host's memory"


class BarrierState:
    """``incomplete`` maps a key to (index of its first insertion, components, ``None``: missing)."""

    def __init__(self, name: str, types: Any, dims: Any) -> None:
        self.name = name
        self.types = types
        self.dims = dims or [None] * len(types)
        self.condition = threading.Condition()
        self.incomplete: dict[Any, tuple[int, list[Any]]] = {}
        self.ready: collections.deque[Any] = collections.deque()
        self.next_index = -(2**63)
        self.closed = False
        self.cancelled = False

    def insert(self, keys: list[Any], values: Any, component: int) -> None:
        with self.condition:
            if self.cancelled or (self.closed and any(k not in self.incomplete for k in keys)):
                raise CancelledError(None, None, f"Barrier '{self.name}' is closed.")
            for key, value in zip(keys, values, strict=True):
                if key not in self.incomplete:
                    self.incomplete[key] = (self.next_index, [None] * len(self.types))
                _, parts = self.incomplete[key]
                if parts[component] is not None:
                    raise InvalidArgumentError(
                        None,
                        None,
                        f"Key {key!r} already has a value for component {component} in barrier "
                        f"'{self.name}'",
                    )
                parts[component] = owned(value)
                if all(p is not None for p in parts):
                    index, parts = self.incomplete.pop(key)
                    self.ready.append((index, key, parts))
            self.next_index += 1  # all keys of one call have the same, as in TensorFlow
            self.condition.notify_all()

    def take(self, context: Any, count: int, small: bool, timeout_seconds: float | None) -> Any:
        def enough() -> bool:
            return (
                len(self.ready) >= count
                or (self.closed and not self.incomplete)
                or (self.cancelled)
            )

        with self.condition:
            context.wait(self.condition, enough, timeout_seconds)
            have = len(self.ready)
            if have < count and not (
                small and have and (self.closed or timeout_seconds is not None)
            ):
                raise OutOfRangeError(
                    None,
                    None,
                    f"Barrier '{self.name}' is closed and has insufficient elements "
                    f"(requested {count}, total size {have})",
                )
            taken = sorted(
                (self.ready.popleft() for _ in range(min(count, have))), key=lambda item: item[0]
            )
            self.condition.notify_all()
            return taken


@kernel("Barrier", stateful=True)
def barrier_kernel(context: KernelContext, *, component_types: Any, shapes: Any) -> Any:
    return context.resource(
        "barrier", lambda: BarrierState(context.resource_name, list(component_types), list(shapes))
    )


@kernel("BarrierInsertMany", cpu_only=_REASON)
def barrier_insert_many_kernel(
    xp: Module, handle: Any, keys: Array, values: Array, *, component_index: int
) -> tuple[()]:
    handle.insert(np.asarray(keys, object).tolist(), values, component_index)
    return ()


@kernel("BarrierTakeMany", stateful=True, cpu_only=_REASON)
def barrier_take_many_kernel(
    context: Any, handle: Any, num_elements: Any, *, allow_small_batch: bool, timeout_ms: int
) -> Any:
    seconds = None if timeout_ms < 0 else timeout_ms / 1000
    taken = handle.take(context, int(num_elements), allow_small_batch, seconds)
    keys = np.empty(len(taken), object)
    keys[:] = [k for _, k, _ in taken]
    columns = [
        stack_elements([parts[i] for _, _, parts in taken], dtype, handle.dims[i])
        for i, dtype in enumerate(handle.types)
    ]
    return (np.array([i for i, _, _ in taken], np.int64), keys, *columns)


@kernel("BarrierClose")
def barrier_close_kernel(xp: Module, handle: Any, *, cancel_pending_enqueues: bool) -> tuple[()]:
    with handle.condition:
        handle.closed = True
        handle.cancelled = handle.cancelled or cancel_pending_enqueues
        handle.condition.notify_all()
    return ()


@kernel("BarrierReadySize")
def barrier_ready_size_kernel(xp: Module, handle: Any) -> Any:
    return np.int32(len(handle.ready))


@kernel("BarrierIncompleteSize")
def barrier_incomplete_size_kernel(xp: Module, handle: Any) -> Any:
    return np.int32(len(handle.incomplete))


class Staging:
    """A staging area: tuples in the order they came, up to a number or a size in bytes."""

    def __init__(self, capacity: int, memory_limit: int) -> None:
        self.capacity = capacity
        self.memory_limit = memory_limit
        self.condition = threading.Condition()
        self.items: collections.deque[Any] = collections.deque()
        self.num_bytes = 0


def _staging(context: KernelContext, capacity: int, memory_limit: int) -> Staging:
    return context.resource("staging", lambda: Staging(capacity, memory_limit))  # type: ignore[no-any-return]


@kernel("Stage", stateful=True, cpu_only=_REASON)
def stage_kernel(
    context: KernelContext, values: list[Any], *, capacity: int, memory_limit: int
) -> tuple[()]:
    area = _staging(context, capacity, memory_limit)
    size = sum(int(np.asarray(v).nbytes) for v in values)
    if memory_limit and size > memory_limit:
        raise InvalidArgumentError(
            None, None, f"The tuple of {size} bytes is larger than memory_limit {memory_limit}."
        )

    def room() -> bool:
        return (not capacity or len(area.items) < capacity) and (
            not memory_limit or area.num_bytes + size <= memory_limit
        )

    with area.condition:
        context.wait(area.condition, room)
        area.items.append((tuple(owned(v) for v in values), size))
        area.num_bytes += size
        area.condition.notify_all()
    return ()


@kernel("Unstage", stateful=True, cpu_only=_REASON)
def unstage_kernel(context: KernelContext, *, capacity: int, memory_limit: int) -> Any:
    area = _staging(context, capacity, memory_limit)
    with area.condition:
        context.wait(area.condition, lambda: bool(area.items))
        values, size = area.items.popleft()
        area.num_bytes -= size
        area.condition.notify_all()
    return values


@kernel("StagePeek", stateful=True, cpu_only=_REASON)
def stage_peek_kernel(context: Any, index: Any, *, capacity: int, memory_limit: int) -> Any:
    area = _staging(context, capacity, memory_limit)
    with area.condition:
        context.wait(area.condition, lambda: len(area.items) > index)
        values, _ = area.items[int(index)]
    return tuple(owned(v) for v in values)


@kernel("StageSize", stateful=True)
def stage_size_kernel(context: KernelContext, *, capacity: int, memory_limit: int) -> Any:
    return np.int32(len(_staging(context, capacity, memory_limit).items))


@kernel("StageClear", stateful=True)
def stage_clear_kernel(context: KernelContext, *, capacity: int, memory_limit: int) -> tuple[()]:
    area = _staging(context, capacity, memory_limit)
    with area.condition:
        area.items.clear()
        area.num_bytes = 0
        area.condition.notify_all()
    return ()


@kernel("MutexV2", stateful=True)
def mutex_kernel(context: KernelContext) -> Any:
    return context.resource("mutex", lambda: Mutex(context.resource_name))


@kernel("MutexLock", stateful=True)
def mutex_lock_kernel(context: KernelContext, mutex: Any) -> Any:
    cancellation = context.cancellation
    holder = cancellation.holder
    with mutex.condition:
        context.wait(mutex.condition, lambda: mutex.owner in (None, holder))
        mutex.owner = holder
        mutex.num_holds += 1
    if cancellation.of_one_step:
        cancellation.register(functools.partial(mutex.release, holder))
    else:
        held_mutexes().append(mutex)
    return mutex


@kernel("ConsumeMutexLock")
def consume_mutex_lock_kernel(xp: Module, mutex_lock: Any) -> tuple[()]:
    mutex_lock.give_back()
    if mutex_lock in held_mutexes():
        held_mutexes().remove(mutex_lock)
    return ()
