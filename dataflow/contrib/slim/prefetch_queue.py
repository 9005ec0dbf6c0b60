"""``slim.prefetch_queue``: a queue that is filled in the background with what a model needs next."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.namespaces import explain_absent
from dataflow.ops.casts import cast
from dataflow.ops.queues import FIFOQueue, PaddingFIFOQueue
from dataflow.train.queue_runner import QueueRunner, add_queue_runner

__all__ = ["prefetch_queue"]

__getattr__ = explain_absent(__name__)


def prefetch_queue(
    tensors: Any,
    capacity: int = 8,
    num_threads: int = 1,
    dynamic_pad: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """A queue whose ``num_threads`` threads hold ``capacity`` values of ``tensors`` ready.

    ``tensors`` is a list, or a dictionary (``dequeue`` then gives one). Start its threads with
    `tf.train.start_queue_runners`. ``dynamic_pad`` takes shapes that are partly unknown.
    """
    from dataflow import summary

    names = list(tensors) if isinstance(tensors, dict) else None
    parts = [tensors[n] for n in names] if names is not None else list(tensors)
    with default_graph().name_scope(name or "prefetch_queue") as scope:
        parts = [convert_to_tensor(part) for part in parts]
        queue = (PaddingFIFOQueue if dynamic_pad else FIFOQueue)(
            capacity=capacity,
            dtypes=[part.dtype.base_dtype for part in parts],
            shapes=[part.shape for part in parts],
            names=names,
            shared_name=shared_name,
            name=scope,
        )
        values = parts if names is None else dict(zip(names, parts, strict=True))
        add_queue_runner(QueueRunner(queue, [queue.enqueue(values)] * num_threads))
        filled = cast(queue.size(), dtypes.float32) * (1.0 / capacity)
        summary.scalar(f"fraction_of_{capacity}_full", filled)
    return queue
