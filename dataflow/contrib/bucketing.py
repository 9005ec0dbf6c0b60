"""Batches of examples that are alike: queues for sequences of similar length."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from dataflow import dtypes, errors
from dataflow.graph import nest
from dataflow.graph.conversion import convert_to_tensor
from dataflow.ops.conditionals import cond
from dataflow.ops.control_flow import group, no_op
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import argmax, cast, equal, logical_and
from dataflow.ops.queues import FIFOQueue, PaddingFIFOQueue
from dataflow.shapes import TensorShape
from dataflow.train.batching import Components
from dataflow.train.queue_runner import QueueRunner, add_queue_runner

_CLOSED = (errors.OutOfRangeError, errors.CancelledError)


def _sizes_and_capacities(
    batch_size: Any, num_buckets: int, bucket_capacities: Any, capacity: int
) -> tuple[list[Any], list[Any]]:
    """The batch size and the capacity of each bucket; raises `ValueError` where they do not fit."""
    sizes = [batch_size] * num_buckets if np.ndim(batch_size) == 0 else list(batch_size)
    if len(sizes) != num_buckets:
        raise ValueError(
            f"If batch_size is a list it must have num_buckets ({num_buckets}) elements"
        )
    capacities = bucket_capacities or [capacity] * num_buckets
    if len(capacities) != num_buckets:
        raise ValueError(
            f"The list bucket_capacities must have exactly num_buckets ({num_buckets}) elements"
        )
    if any(size > limit for size, limit in zip(sizes, capacities, strict=True)):
        raise ValueError("a bucket's capacity must not be below its batch_size")
    return sizes, capacities


def _batches_taken(
    queues: list[Any], sizes: list[Any], top: Any, allow_smaller_final_batch: bool
) -> list[Any]:
    """For each bucket, the op that puts a batch of it into the queue ``top``."""
    taken = []
    for i, (queue, size) in enumerate(zip(queues, sizes, strict=True)):
        take = queue.dequeue_up_to if allow_smaller_final_batch else queue.dequeue_many
        parts = take(size, name=f"read_bucket_{i}")
        parts = list(parts) if isinstance(parts, (list, tuple)) else [parts]
        taken.append(top.enqueue([convert_to_tensor(i, dtypes.int32), *parts]))
    return taken


def _run_queues(queues: list[Any], enqueues: list[Any], top: Any, taken: list[Any]) -> None:
    """Let `tf.train.start_queue_runners` fill the buckets, and ``top`` from them."""
    add_queue_runner(
        QueueRunner(
            queues[0],
            enqueues,
            close_op=group(*[queue.close() for queue in queues]),
            cancel_op=group(*[queue.close(cancel_pending_enqueues=True) for queue in queues]),
            queue_closed_exception_types=_CLOSED,
        )
    )
    add_queue_runner(QueueRunner(top, taken, queue_closed_exception_types=_CLOSED))


def bucket(
    tensors: Any,
    which_bucket: Any,
    batch_size: Any,
    num_buckets: int,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Any = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Batches of examples of one bucket each: ``(bucket, tensors)``, the second as ``tensors`` is.

    ``tensors`` are those of one example, ``which_bucket`` (int32 scalar) is its bucket, in 0, ...,
    ``num_buckets - 1``; a `SparseTensor` among them has an axis of examples more. ``batch_size`` is a number, or one for each bucket. ``dynamic_pad`` pads the
    examples of a batch to their largest. Start the queues with `tf.train.start_queue_runners`; at the end of
    the input, `OutOfRangeError`.
    """
    sizes, capacities = _sizes_and_capacities(batch_size, num_buckets, bucket_capacities, capacity)
    with name_scope(name, "bucket"):
        components = Components(nest.flatten(tensors), enqueue_many=False)
        flat = components.tensors
        kinds = [t.dtype.base_dtype for t in flat]
        known = (
            [t.get_shape() for t in flat] if shapes is None else [TensorShape(s) for s in shapes]
        )
        kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queues = [
            kind(capacity=limit, dtypes=kinds, shapes=known, name=f"bucket_queue_{i}")
            for i, limit in enumerate(capacities)
        ]
        which_bucket = cast(which_bucket, dtypes.int32)
        keep = convert_to_tensor(keep_input, dtypes.bool_)

        def put(queue: Any) -> Any:
            return lambda: group(queue.enqueue(flat))

        enqueue = group(
            *[
                cond(logical_and(keep, equal(which_bucket, i)), put(queue), no_op)
                for i, queue in enumerate(queues)
            ],
            name="group_enqueues",
        )
        top = FIFOQueue(
            capacity=capacity,
            dtypes=[dtypes.int32, *kinds],
            shared_name=shared_name,
            name="top_queue",
        )
        taken = _batches_taken(queues, sizes, top, allow_smaller_final_batch)
        _run_queues(queues, [enqueue] * num_threads, top, taken)
        number, *found = top.dequeue(name="dequeue_top")
        same = sizes[0] if len(set(sizes)) == 1 and not allow_smaller_final_batch else None
        number.set_shape([])
        for tensor, shape in zip(found, known, strict=True):
            tensor.set_shape(TensorShape([same]).concatenate(shape))
        values = components.unpack(found)
        return number, nest.pack_like(tensors, values if len(found) > 1 else [values])


def bucket_by_sequence_length(
    input_length: Any,
    tensors: Any,
    batch_size: Any,
    bucket_boundaries: Any,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Any = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Batches of sequences of similar length: ``(lengths, tensors)``.

    ``input_length`` (int32 scalar) falls into one of the intervals between the increasing integers
    ``bucket_boundaries``: below the first, ..., not below the last. The rest as `bucket`. Raises `TypeError` for
    boundaries that are not integers, `ValueError` where they do not increase.
    """
    if not isinstance(bucket_boundaries, (list, tuple)):
        raise TypeError(
            f"bucket_boundaries must be a list or tuple, but received: {bucket_boundaries}"
        )
    if not bucket_boundaries:
        raise ValueError("bucket_boundaries must not be empty")
    for low, high in itertools.pairwise(bucket_boundaries):
        if not isinstance(low, int) or not isinstance(high, int):
            raise TypeError(f"bucket boundaries must be integers, but saw: {low} and {high}")
        if low >= high:
            raise ValueError(
                f"Buckets must contain sequential increasing lengths, but saw: {low} before {high}"
            )
    largest = np.iinfo(np.int32).max
    with name_scope(name, "bucket_by_sequence_length"):
        length = cast(input_length, dtypes.int32)
        lower = np.array([np.iinfo(np.int32).min, *bucket_boundaries], np.int32)
        upper = np.array([*bucket_boundaries, largest], np.int32)
        within = logical_and(lower <= length, length < upper)
        which = cast(argmax(cast(within, dtypes.int32), 0), dtypes.int32)
        values = nest.flatten(tensors)
        _, found = bucket(
            [length, *values],
            which,
            batch_size,
            len(bucket_boundaries) + 1,
            num_threads,
            capacity,
            bucket_capacities,
            None if shapes is None else [[], *shapes],
            dynamic_pad,
            allow_smaller_final_batch,
            keep_input,
            shared_name,
        )
        return found[0], nest.pack_like(tensors, found[1:])
