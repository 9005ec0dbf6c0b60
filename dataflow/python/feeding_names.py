"""Private names of TensorFlow's modules that feed arrays and frames to queues."""

from __future__ import annotations

from dataflow.train.feeding_queue_runner import (
    FeedingQueueRunner as _FeedingQueueRunner,
    enqueue_data as _enqueue_data,
    feed_of,
)

__all__ = [
    "FeedingQueueRunner",
    "_ArrayFeedFn",
    "_FeedingQueueRunner",
    "_OrderedDictNumpyFeedFn",
    "_PandasFeedFn",
    "_enqueue_data",
    "enqueue_data",
]

FeedingQueueRunner = _FeedingQueueRunner
enqueue_data = _enqueue_data
_ArrayFeedFn = _PandasFeedFn = _OrderedDictNumpyFeedFn = feed_of
