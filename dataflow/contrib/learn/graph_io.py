"""Records of files in batches, read by queues of the graph: ``read_batch_examples`` and its kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow import errors, gfile, nest
from dataflow.graph.tensor import Tensor
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.parsing import parse_example
from dataflow.ops.queues import FIFOQueue
from dataflow.ops.reader import TFRecordReader
from dataflow.train.batching import batch_join, shuffle_batch_join
from dataflow.train.input import fullness_summary, string_input_producer
from dataflow.train.queue_runner import QueueRunner, add_queue_runner

#: Under which name keys travel with the features that a ``parse_fn`` gives.
_KEY = "__key__"


def _files(file_pattern: Any, shuffled: bool) -> list[str]:
    patterns = file_pattern if isinstance(file_pattern, list) else [file_pattern]
    if not patterns:
        raise ValueError("No files given to dequeue_examples.")
    found = [path for pattern in patterns for path in gfile.Glob(pattern)]
    if not found:
        raise ValueError(f"No files match {file_pattern}.")
    return found if shuffled else sorted(found)


def _positive(**numbers: Any) -> None:
    for name, number in numbers.items():
        if number is not None and not isinstance(number, Tensor) and number <= 0:
            raise ValueError(f"Invalid {name} {number}: it has to be positive.")


def _records(
    files: Any, reader: Any, num_threads: int, at_a_time: int, parse_fn: Callable[[Any], Any] | None
) -> list[Any]:
    """What each of the threads reads: (keys, records), or a dict of what ``parse_fn`` made and the keys."""
    found: list[Any] = []
    for _ in range(num_threads):
        keys, records = (
            reader().read_up_to(files, at_a_time) if at_a_time > 1 else reader().read(files)
        )
        parsed = records if parse_fn is None else parse_fn(records)
        found.append({**parsed, _KEY: keys} if isinstance(parsed, dict) else (keys, parsed))
    return found


def read_keyed_batch_examples(
    file_pattern: Any,
    batch_size: Any,
    reader: Any,
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    num_threads: int = 1,
    read_batch_size: int = 1,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> Any:
    """(keys, records): batches [batch_size] of strings, from the files that match the pattern.

    ``reader`` makes a reader (`tf.TFRecordReader`); ``parse_fn`` is applied to each record (to
    ``read_batch_size`` of them where more than one is read at a time), and may give a dict of features.
    Files and records are shuffled with ``randomize_input``. With ``num_epochs`` (a local variable counts
    them) the last batch may be smaller. Raises `ValueError` where no file matches, and for numbers that
    are not positive.
    """
    files = _files(file_pattern, randomize_input)
    _positive(
        batch_size=batch_size, queue_capacity=queue_capacity, num_threads=num_threads,
        read_batch_size=read_batch_size, num_epochs=num_epochs,
    )  # fmt: skip
    if not isinstance(batch_size, Tensor) and batch_size >= queue_capacity:
        raise ValueError(
            f"Invalid batch_size {batch_size}, with queue_capacity {queue_capacity}: the queue has to hold "
            "more than a batch."
        )
    with name_scope(name, "read_batch_examples") as scope:
        with name_scope(None, "file_name_queue") as queue_scope:
            names = string_input_producer(
                files, num_epochs, shuffle=randomize_input, seed=seed, name=queue_scope
            )
        with name_scope(None, "read"):
            examples = _records(names, reader, num_threads, read_batch_size, parse_fn)
        given = {
            "capacity": queue_capacity,
            "enqueue_many": read_batch_size > 1,
            "allow_smaller_final_batch": num_epochs is not None,
            "name": scope,
        }
        if randomize_input:
            kept = (
                int(queue_capacity * 0.4)
                if isinstance(batch_size, Tensor)
                else max(queue_capacity - 3 * batch_size, batch_size)
            )
            batch = shuffle_batch_join(
                examples, batch_size, min_after_dequeue=kept, seed=seed, **given
            )
        else:
            batch = batch_join(examples, batch_size, **given)
        return (batch.pop(_KEY), batch) if isinstance(batch, dict) else batch


def read_batch_examples(
    file_pattern: Any,
    batch_size: Any,
    reader: Any,
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    num_threads: int = 1,
    read_batch_size: int = 1,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> Any:
    """`read_keyed_batch_examples` without the keys."""
    return read_keyed_batch_examples(
        file_pattern, batch_size, reader, randomize_input, num_epochs, queue_capacity, num_threads,
        read_batch_size, parse_fn, name, seed,
    )[1]  # fmt: skip


def queue_parsed_features(
    parsed_features: dict[str, Any],
    keys: Any = None,
    feature_queue_capacity: int = 100,
    num_enqueue_threads: int = 2,
    name: str | None = None,
) -> tuple[Any, dict[str, Any]]:
    """(keys, features) of batches that wait in a queue, parsed while others are used.

    ``parsed_features``: what `tf.parse_example` gave, tensors and sparse tensors. The keys are None
    where none are given.
    """
    with name_scope(name, "queue_parsed_features"):
        parts = nest.flatten(parsed_features, expand_composites=True)
        num_parts = len(parts)
        if keys is not None:
            parts.append(keys)
        queue = FIFOQueue(feature_queue_capacity, [part.dtype for part in parts])
        fullness_summary(f"queue/parsed_features/{queue.name}", queue, feature_queue_capacity)
        enqueues = [queue.enqueue(parts) for _ in range(num_enqueue_threads)]
        ends = (errors.OutOfRangeError, errors.CancelledError)
        add_queue_runner(QueueRunner(queue, enqueues, queue_closed_exception_types=ends))
        taken = queue.dequeue()
        taken = list(taken) if isinstance(taken, (list, tuple)) else [taken]
        for tensor, part in zip(taken, parts, strict=True):
            tensor.set_shape(part.get_shape())
        features = nest.pack_sequence_as(parsed_features, taken[:num_parts], expand_composites=True)
        return (None if keys is None else taken[-1]), features


def read_keyed_batch_features(
    file_pattern: Any,
    batch_size: Any,
    features: dict[str, Any],
    reader: Any,
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    reader_num_threads: int = 1,
    feature_queue_capacity: int = 100,
    num_enqueue_threads: int = 2,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
    read_batch_size: int | None = None,
) -> tuple[Any, dict[str, Any]]:
    """(keys, features): records of ``tf.train.Example`` in batches, parsed by the specs ``features``.

    The other arguments are those of `read_keyed_batch_examples` and `queue_parsed_features`.
    """
    with name_scope(name, "read_batch_features") as scope:
        keys, examples = read_keyed_batch_examples(
            file_pattern, batch_size, reader, randomize_input, num_epochs, queue_capacity,
            reader_num_threads, read_batch_size or batch_size, parse_fn, scope,
        )  # fmt: skip
        return queue_parsed_features(
            parse_example(examples, features),
            keys,
            feature_queue_capacity,
            num_enqueue_threads,
            scope,
        )


def read_batch_features(
    file_pattern: Any,
    batch_size: Any,
    features: dict[str, Any],
    reader: Any,
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    feature_queue_capacity: int = 100,
    reader_num_threads: int = 1,
    num_enqueue_threads: int = 2,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
    read_batch_size: int | None = None,
) -> dict[str, Any]:
    """`read_keyed_batch_features` without the keys."""
    return read_keyed_batch_features(
        file_pattern, batch_size, features, reader, randomize_input, num_epochs, queue_capacity,
        reader_num_threads, feature_queue_capacity, num_enqueue_threads, parse_fn, name, read_batch_size,
    )[1]  # fmt: skip


def read_batch_record_features(
    file_pattern: Any,
    batch_size: Any,
    features: dict[str, Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    reader_num_threads: int = 1,
    name: str = "dequeue_record_examples",
) -> dict[str, Any]:
    """`read_batch_features` of files of TFRecords."""
    return read_batch_features(
        file_pattern, batch_size, features, TFRecordReader, randomize_input, num_epochs, queue_capacity,
        reader_num_threads=reader_num_threads, name=name,
    )  # fmt: skip
