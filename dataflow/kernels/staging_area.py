"""Kernels of staging areas."""

from __future__ import annotations

import collections
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.kernels.queue import owned
from dataflow.kernels.registry import kernel

if TYPE_CHECKING:
    from dataflow.runtime.kernel_context import KernelContext

_REASON = "elements are held in the host's memory"


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
