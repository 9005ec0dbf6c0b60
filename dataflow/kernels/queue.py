"""The queues. Waiting operations sleep on a condition, and are served in the order they came."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.queues import PaddingQueue, PriorityQueue, Queue, ShuffleQueue
from dataflow.kernels.registry import kernel

if TYPE_CHECKING:
    from dataflow.runtime.kernel_context import KernelContext


def _make(context: KernelContext, kind: type[Queue], types: Any, dims: Any, capacity: int) -> Any:
    def create() -> Queue:
        return kind(context.resource_name, types, dims, capacity)

    def check(queue: Queue) -> None:
        if type(queue) is kind and queue.given == (types, dims, capacity):
            return
        if (got := queue.description()) != (needed := create().description()):
            raise InvalidArgumentError(
                None,
                None,
                f"Shared queue {context.resource_name!r} is a {got}, which does not fit {needed}. "
                "Queues of one shared_name have to be made alike.",
            )

    return context.resource("queue", create, check)


_REASON = "queues hold their elements in the host's memory"
#: The kinds of dtypes whose vectors are iterated over as NumPy's numbers.
_NUMBERS = "biufc"


@kernel("FIFOQueueV2", stateful=True, looks_up=True)
def fifo_queue_kernel(
    context: KernelContext, *, component_types: Any, shapes: Any, capacity: int
) -> Any:
    return _make(context, Queue, component_types, shapes, capacity)


@kernel("PaddingFIFOQueueV2", stateful=True, looks_up=True)
def padding_fifo_queue_kernel(
    context: KernelContext, *, component_types: Any, shapes: Any, capacity: int
) -> Any:
    return _make(context, PaddingQueue, component_types, shapes, capacity)


@kernel("PriorityQueueV2", stateful=True, looks_up=True)
def priority_queue_kernel(
    context: KernelContext, *, component_types: Any, shapes: Any, capacity: int
) -> Any:
    from dataflow.dtypes import int64

    dims = [(), *shapes] if shapes or not component_types else []
    return _make(context, PriorityQueue, [int64, *component_types], dims, capacity)


@kernel("RandomShuffleQueueV2", stateful=True)
def random_shuffle_queue_kernel(
    context: KernelContext,
    *,
    component_types: Any,
    shapes: Any,
    capacity: int,
    min_after_dequeue: int,
    seed: int,
    seed2: int,
) -> Any:
    queue = _make(context, ShuffleQueue, component_types, shapes, capacity)
    with queue.condition:
        if queue.random is None:
            queue.min_after = min_after_dequeue
            key = None if seed == seed2 == 0 else [seed, seed2]
            queue.random = np.random.Generator(np.random.Philox(np.random.SeedSequence(key)))
    return queue


def owned(value: Any) -> Any:
    """A value that the queue may keep: arrays are copied."""
    if isinstance(value, np.generic):
        return value
    get = getattr(value, "get", None)
    if get is not None and type(value).__module__.startswith("cupy"):
        return get()
    return value.copy() if isinstance(value, np.ndarray) else value


def _owned_elements(component: Any) -> Iterable[Any]:
    """The elements of a component, which the queue may keep; NumPy's numbers belong to nobody."""
    if type(component) is np.ndarray and component.ndim == 1 and component.dtype.kind in _NUMBERS:
        return component
    return [owned(element) for element in component]


@kernel("QueueEnqueueV2", stateful=True, cpu_only=_REASON)
def queue_enqueue_kernel(context: KernelContext, handle: Any, components: list[Any]) -> tuple[()]:
    handle.check(components)
    handle.enqueue(context, [tuple(owned(c) for c in components)])
    return ()


@kernel("QueueEnqueueManyV2", stateful=True, cpu_only=_REASON)
def queue_enqueue_many_kernel(
    context: KernelContext, handle: Any, components: list[Any]
) -> tuple[()]:
    if len(components) == 1:
        elements = list(zip(_owned_elements(components[0])))
    else:
        counts = {np.shape(c)[0] for c in components}
        if len(counts) != 1:
            raise InvalidArgumentError(
                None,
                None,
                f"All input tensors must have the same size in the 0th dimension, got {sorted(counts)}",
            )
        elements = list(zip(*[_owned_elements(c) for c in components], strict=True))
    if elements:
        handle.check(elements[0])
    handle.enqueue(context, elements)
    return ()


@kernel("QueueDequeueV2", stateful=True, cpu_only=_REASON)
def queue_dequeue_kernel(context: KernelContext, handle: Any) -> tuple[Any, ...]:
    return handle.dequeue(context, 1)[0]  # type: ignore[no-any-return]


def _dequeue_many(context: KernelContext, handle: Any, n: Any, up_to: bool) -> tuple[Any, ...]:
    if n < 0:
        raise InvalidArgumentError(None, None, f"DequeueMany: n must be >= 0, got {n}")
    handle.check_batchable()
    return handle.batch(handle.dequeue(context, int(n), up_to))  # type: ignore[no-any-return]


@kernel("QueueDequeueManyV2", stateful=True, cpu_only=_REASON)
def queue_dequeue_many_kernel(context: KernelContext, handle: Any, n: Array) -> tuple[Any, ...]:
    return _dequeue_many(context, handle, n, False)


@kernel("QueueDequeueUpToV2", stateful=True, cpu_only=_REASON)
def queue_dequeue_up_to_kernel(context: KernelContext, handle: Any, n: Array) -> tuple[Any, ...]:
    return _dequeue_many(context, handle, n, True)


@kernel("QueueCloseV2")
def queue_close_kernel(xp: Module, handle: Any, *, cancel_pending_enqueues: bool) -> tuple[()]:
    handle.close(cancel_pending_enqueues)
    return ()


@kernel("QueueIsClosedV2")
def queue_is_closed_kernel(xp: Module, handle: Any) -> Any:
    return np.bool_(handle.closed)


@kernel("QueueSizeV2")
def queue_size_kernel(xp: Module, handle: Any) -> Any:
    return np.int32(handle.size())
