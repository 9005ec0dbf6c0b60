"""Kernels of barriers."""

from __future__ import annotations

import heapq
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.errors import CancelledError, InvalidArgumentError, OutOfRangeError
from dataflow.formats.object_arrays import object_array
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.queue import owned
from dataflow.kernels.queues import stack_elements
from dataflow.kernels.registry import kernel

if TYPE_CHECKING:
    from dataflow.runtime.kernel_context import KernelContext

_REASON = "elements are held in the host's memory"


class BarrierState:
    """``incomplete`` maps a key to (index of its first insertion, components, ``None``: missing)."""

    def __init__(self, name: str, types: Any, dims: Any) -> None:
        self.name = name
        self.types = types
        self.dims = dims or [None] * len(types)
        self.condition = threading.Condition()
        self.incomplete: dict[Any, tuple[int, list[Any]]] = {}
        #: A heap of (index, number of those that were complete before, key, components).
        self.ready: list[tuple[int, int, Any, list[Any]]] = []
        self.num_completed = 0
        self.next_index = -(2**63)
        self.closed = False
        self.cancelled = False

    def insert(self, keys: list[Any], values: Any, component: int) -> None:
        with self.condition:
            if self.cancelled or (self.closed and any(k not in self.incomplete for k in keys)):
                raise CancelledError(None, None, f"Barrier '{self.name}' is closed.")
            any_new = any(key not in self.incomplete for key in keys)
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
                    heapq.heappush(self.ready, (index, self.num_completed, key, parts))
                    self.num_completed += 1
            if any_new:  # all new keys of one call have the same index, as in TensorFlow
                self.next_index += 1
            self.condition.notify_all()

    def take(self, context: Any, count: int, small: bool, timeout_seconds: float | None) -> Any:
        def enough() -> bool:
            return (
                len(self.ready) >= count
                or (self.closed and not self.incomplete)
                or (self.cancelled)
            )

        with self.condition:
            if self.closed and small:  # what is complete, at once
                count = min(count, max(len(self.ready), 1))
            later = 0 if small else len(self.incomplete)
            if not self.closed or len(self.ready) + later >= count:
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
            taken = [heapq.heappop(self.ready) for _ in range(min(count, have))]
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
    keys = object_array([k for _, _, k, _ in taken])
    columns = [
        stack_elements([parts[i] for *_, parts in taken], dtype, handle.dims[i])
        for i, dtype in enumerate(handle.types)
    ]
    return (np.array([i for i, *_ in taken], np.int64), keys, *columns)


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
