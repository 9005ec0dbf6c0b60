"""``slim.parallel_reader``: records of many files through several readers and one common queue."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes as _dtypes, gfile
from dataflow.graph.default_stacks import default_graph
from dataflow.namespaces import explain_absent
from dataflow.ops.casts import cast
from dataflow.ops.math import add_n
from dataflow.ops.queues import FIFOQueue, RandomShuffleQueue
from dataflow.ops.reader import ReaderBase
from dataflow.train.input import string_input_producer
from dataflow.train.queue_runner import QueueRunner, add_queue_runner

__all__ = ["ParallelReader", "get_data_files", "parallel_read", "single_pass_read"]

__getattr__ = explain_absent(__name__)


class ParallelReader(ReaderBase):
    """Several readers that put what they read into ``common_queue``, from which `read` takes.

    ``common_queue`` has two string components, as each record is a pair (key, value).
    """

    def __init__(
        self,
        reader_class: Any,
        common_queue: Any,
        num_readers: int = 4,
        reader_kwargs: dict[str, Any] | None = None,
    ) -> None:
        if len(common_queue.dtypes) != 2:
            raise TypeError(
                "common_queue must have two components, for the key and the value of a record, "
                f"and has {len(common_queue.dtypes)}: {common_queue.dtypes}."
            )
        self._readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]
        self._common_queue = common_queue

    @property
    def common_queue(self) -> Any:
        """The queue that the readers fill."""
        return self._common_queue

    def read(self, queue: Any, name: str | None = None) -> Any:
        """``[key, value]``, strings of shape (); ``queue`` has the names of the files."""
        self._fill([self._common_queue.enqueue(r.read(queue)) for r in self._readers])
        return self._common_queue.dequeue(name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """``[keys, values]``, of as many records as there are, ``num_records`` at the most."""
        pairs = [r.read_up_to(queue, num_records) for r in self._readers]
        self._fill([self._common_queue.enqueue_many(pair) for pair in pairs])
        return self._common_queue.dequeue_up_to(num_records, name)

    def _fill(self, enqueue_ops: list[Any]) -> None:
        add_queue_runner(QueueRunner(self._common_queue, enqueue_ops))

    def num_records_produced(self, name: str | None = None) -> Any:
        """An int64: how many records the readers have read."""
        return add_n([r.num_records_produced() for r in self._readers], name=name)

    def num_work_units_completed(self, name: str | None = None) -> Any:
        """An int64: how many files the readers have finished."""
        return add_n([r.num_work_units_completed() for r in self._readers], name=name)


def parallel_read(
    data_sources: Any,
    reader_class: Any,
    num_epochs: int | None = None,
    num_readers: int = 4,
    reader_kwargs: dict[str, Any] | None = None,
    shuffle: bool = True,
    dtypes: Any = None,
    capacity: int = 256,
    min_after_dequeue: int = 128,
    seed: int | None = None,
    scope: str | None = None,
) -> Any:
    """``[key, value]`` of one record of the files, read by ``num_readers`` readers.

    ``data_sources`` are names or patterns (`get_data_files`). ``shuffle`` mixes files and records.
    Run `tf.local_variables_initializer` where ``num_epochs`` is given, and
    `tf.train.start_queue_runners`.
    """
    from dataflow import summary

    files = get_data_files(data_sources)
    with default_graph().name_scope(scope or "parallel_read"):
        names = string_input_producer(
            files, num_epochs=num_epochs, shuffle=shuffle, seed=seed, name="filenames"
        )
        of = dtypes or [_dtypes.string, _dtypes.string]
        if shuffle:
            common: Any = RandomShuffleQueue(
                capacity, min_after_dequeue, dtypes=of, seed=seed, name="common_queue"
            )
        else:
            common = FIFOQueue(capacity, dtypes=of, name="common_queue")
        filled = cast(common.size(), _dtypes.float32) * (1.0 / capacity)
        summary.scalar(f"fraction_of_{capacity}_full", filled)
        return ParallelReader(reader_class, common, num_readers, reader_kwargs).read(names)


def single_pass_read(
    data_sources: Any,
    reader_class: Any,
    reader_kwargs: dict[str, Any] | None = None,
    scope: str | None = None,
) -> Any:
    """``[key, value]`` of the files' records, each once and in order; then `OutOfRangeError`."""
    files = get_data_files(data_sources)
    with default_graph().name_scope(scope or "single_pass_read"):
        names = string_input_producer(files, num_epochs=1, shuffle=False, capacity=1)
        return reader_class(**(reader_kwargs or {})).read(names)


def get_data_files(data_sources: Any) -> list[str]:
    """The files that the names and patterns (``*``, ``?``, ``[``) of ``data_sources`` stand for.

    Raises `ValueError` when there are none.
    """
    if isinstance(data_sources, (list, tuple)):
        found = [name for source in data_sources for name in get_data_files(source)]
    elif any(sign in data_sources for sign in "*?["):
        found = gfile.Glob(data_sources)
    else:
        found = [data_sources]
    if not found:
        raise ValueError(f"No data files found in {data_sources}")
    return found
