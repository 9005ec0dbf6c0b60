"""`FeedingQueueRunner`: threads that feed arrays and frames to a queue, and `enqueue_data`, which makes one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow import errors
from dataflow.dtypes import as_dtype, int64
from dataflow.graph.operation import Operation
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.queues import FIFOQueue, RandomShuffleQueue
from dataflow.ops.sources import placeholder
from dataflow.train.queue_runner import QueueRunner, add_queue_runner

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession

FeedFunction = Callable[[], dict[Any, Any]]


class FeedingQueueRunner(QueueRunner):
    """A `QueueRunner` whose operations are fed: each has a function that gives the next values.

    ``feed_fns``: one for each of ``enqueue_ops``; an `OutOfRangeError` of one ends its thread. It is not
    written to a meta graph. Raises `ValueError` where there are not as many.
    """

    _resumable = False

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Any = None,
        close_op: Any = None,
        cancel_op: Any = None,
        feed_fns: Iterable[FeedFunction] | None = None,
        queue_closed_exception_types: Any = None,
    ) -> None:
        super().__init__(queue, enqueue_ops, close_op, cancel_op, queue_closed_exception_types)
        functions = list(feed_fns or ())
        if len(functions) != len(self.enqueue_ops):
            raise ValueError(
                f"If feed_fns is not None, it must have the same length as enqueue_ops. Got "
                f"{len(functions)} and {len(self.enqueue_ops)}."
            )
        self._feed_fns = dict(zip(self.enqueue_ops, functions, strict=True))

    def _repeated(
        self, session: BaseSession, enqueue_op: Operation, stopped: Callable[[], bool]
    ) -> Callable[[], Any]:
        following = self._feed_fns[enqueue_op]
        return lambda: session.run(enqueue_op, feed_dict=following())

    def to_proto(self, export_scope: str | None = None) -> Any:
        """None: its functions are Python's."""
        return None


class RowsFeed:
    """A function that gives the next rows of columns by the placeholders; the first is for their index.

    Batches go on across the ends of epochs; after ``num_epochs`` (None: never) `OutOfRangeError`. With
    ``random_start`` it begins anywhere. Raises `ValueError` where there are not as many placeholders.
    """

    def __init__(
        self,
        placeholders: list[Any],
        index: Any,
        columns: list[Any],
        batch_size: int,
        random_start: bool = False,
        seed: int | None = None,
        num_epochs: int | None = None,
    ) -> None:
        if len(placeholders) != len(columns) + 1:
            raise ValueError(
                f"expected {len(columns) + 1} placeholders, for the index and the columns; got "
                f"{len(placeholders)}."
            )
        self._placeholders, self._columns = placeholders, [index, *columns]
        self._batch_size = batch_size
        self._num_rows = len(index)
        rng = np.random.default_rng(seed)
        self._next = int(rng.integers(self._num_rows)) if random_start else 0
        self._left = None if num_epochs is None else num_epochs * self._num_rows
        self._num_epochs = num_epochs

    def __call__(self) -> dict[Any, Any]:
        count = self._batch_size
        if self._left is not None:
            if self._left <= 0:
                raise errors.OutOfRangeError(
                    None, None, f"Already emitted {self._num_epochs} epochs."
                )
            count = min(count, self._left)
            self._left -= count
        rows = (self._next + np.arange(count)) % self._num_rows
        self._next = int(rows[-1] + 1) % self._num_rows
        return {p: c[rows] for p, c in zip(self._placeholders, self._columns, strict=True)}


def _columns_of(data: Any) -> tuple[Any, list[Any]]:
    """(The rows' index, the columns) of an array, a dict of arrays, or a frame."""
    if hasattr(data, "iloc"):
        return np.asarray(data.index), [data[name].to_numpy() for name in data.columns]
    columns = [np.asarray(c) for c in data.values()] if isinstance(data, dict) else [data]
    if not all(isinstance(c, np.ndarray) and c.ndim for c in columns) or not columns:
        raise TypeError(
            f"data must be an array, a dict of arrays or a frame with rows, got {type(data)}."
        )
    return np.arange(len(columns[0])), columns


def feed_of(placeholders: list[Any], data: Any, batch_size: int, **settings: Any) -> RowsFeed:
    """A `RowsFeed` of an array, of a dict of arrays, or of a frame, whose index is its own."""
    index, columns = _columns_of(data)
    return RowsFeed(placeholders, index, columns, batch_size, **settings)


def enqueue_data(
    data: Any,
    capacity: int,
    shuffle: bool = False,
    min_after_dequeue: float | None = None,
    num_threads: int = 1,
    seed: int | None = None,
    name: str = "enqueue_input",
    enqueue_size: int = 1,
    num_epochs: int | None = None,
) -> Any:
    """A queue of rows of ``data``, each (its index, its columns), that threads of a `FeedingQueueRunner` fill.

    ``data``: an array, a dict of arrays, or a frame. ``shuffle`` draws from what is in the queue, with at least
    ``min_after_dequeue`` rows in it (a quarter of ``capacity``). Raises `TypeError` for other data.
    """
    index, columns = _columns_of(data)
    kinds = [int64 if index.dtype.kind == "i" else as_dtype(index.dtype)]
    kinds += [as_dtype(c.dtype) for c in columns]
    shapes: list[Any] = [(), *(c.shape[1:] for c in columns)]
    with name_scope(name):
        queue: Any
        if shuffle:
            least = capacity // 4 if min_after_dequeue is None else int(min_after_dequeue)
            queue = RandomShuffleQueue(capacity, least, kinds, shapes, seed=seed)
        else:
            queue = FIFOQueue(capacity, kinds, shapes)
        enqueues, feeds = [], []
        for i in range(num_threads):
            fed = [placeholder(kind) for kind in kinds]
            enqueues.append(queue.enqueue_many(fed))
            feeds.append(
                RowsFeed(
                    fed,
                    index,
                    columns,
                    enqueue_size,
                    random_start=shuffle,
                    seed=None if seed is None else (i + 1) * seed,
                    num_epochs=num_epochs,
                )
            )
        add_queue_runner(FeedingQueueRunner(queue, enqueues, feed_fns=feeds))
    return queue
