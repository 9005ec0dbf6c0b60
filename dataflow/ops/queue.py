"""Queues: values that one run puts in and another takes out."""

from __future__ import annotations

from typing import Any

from dataflow.graph.declared_ops import declare_op
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.shapes import Dims

_COMMON = "shapes: list[Shape] = (), capacity: int = -1"
_NAMES = "container: str = '', shared_name: str = ''"
_HANDLE: dict[str, Any] = {"stateful": True, "is_handle": True}
_WAITS: dict[str, Any] = {"stateful": True, "blocks": True, "can_retry": True}

fifo_queue_op = declare_op(
    "FIFOQueueV2",
    "-> handle: resource",
    "A queue that gives elements back in the order they came. A scalar handle.",
    attrs=f"component_types: list[DType], {_COMMON}, {_NAMES}",
    **_HANDLE,
)
padding_fifo_queue_op = declare_op(
    "PaddingFIFOQueueV2",
    "-> handle: resource",
    "As `FIFOQueueV2`; elements of different sizes are padded with zeros when batched.",
    attrs=f"component_types: list[DType], {_COMMON}, {_NAMES}",
    **_HANDLE,
)
random_shuffle_queue_op = declare_op(
    "RandomShuffleQueueV2",
    "-> handle: resource",
    "A queue that gives elements back in random order. A scalar handle.",
    attrs=f"component_types: list[DType], {_COMMON}, min_after_dequeue: int = 0, seed: int = 0, "
    f"seed2: int = 0, {_NAMES}",
    **_HANDLE,
)
priority_queue_op = declare_op(
    "PriorityQueueV2",
    "-> handle: resource",
    "A queue that gives back the element with the smallest first component (int64).",
    attrs=f"component_types: list[DType] = (), {_COMMON}, {_NAMES}",
    **_HANDLE,
)
queue_enqueue_op = declare_op(
    "QueueEnqueueV2",
    "handle: resource, components: list(Tcomponents)",
    "Puts one element in; waits while the queue is full. No output.",
    attrs="timeout_ms: int = -1",
    **_WAITS,
)
queue_enqueue_many_op = declare_op(
    "QueueEnqueueManyV2",
    "handle: resource, components: list(Tcomponents)",
    "Puts each row of the components in as an element; waits while the queue is full.",
    attrs="timeout_ms: int = -1",
    **_WAITS,
)
queue_dequeue_op = declare_op(
    "QueueDequeueV2",
    "handle: resource -> components: list(component_types)",
    "Takes one element out; waits while the queue is empty. Shapes: those of the queue.",
    None,
    attrs="component_types: list[DType], timeout_ms: int = -1",
    **_WAITS,
)
queue_dequeue_many_op = declare_op(
    "QueueDequeueManyV2",
    "handle: resource, n: int32 -> components: list(component_types)",
    "Takes ``n`` elements out, stacked; `OutOfRangeError` when a closed queue has fewer.",
    None,
    attrs="component_types: list[DType], timeout_ms: int = -1",
    **_WAITS,
)
queue_dequeue_up_to_op = declare_op(
    "QueueDequeueUpToV2",
    "handle: resource, n: int32 -> components: list(component_types)",
    "Takes ``n`` elements out, or what is left in a closed queue.",
    None,
    attrs="component_types: list[DType], timeout_ms: int = -1",
    **_WAITS,
)


@define_op("QueueCloseV2", "handle: resource", stateful=True)
def queue_close_op(handle: Tensor, *, cancel_pending_enqueues: bool = False) -> list[Dims]:
    """Closes the queue: nothing more goes in."""
    return []


queue_is_closed_op = declare_op(
    "QueueIsClosedV2",
    "handle: resource -> is_closed: bool",
    "Whether the queue is closed, a scalar.",
    stateful=True,
    host_outputs=("is_closed",),
)


@define_op("QueueSizeV2", "handle: resource -> size: int32", stateful=True, host_outputs=("size",))
def queue_size_op(handle: Tensor) -> Dims:
    """The number of elements now, a scalar."""
    return ()


not_differentiable(queue_close_op, queue_size_op)
