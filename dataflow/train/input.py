"""Input pipelines of queues: producers of file names, numbers and slices. (`batching` collects examples.)"""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.array import identity, shape, size
from dataflow.ops.queues import FIFOQueue
from dataflow.train.queue_runner import QueueRunner, add_queue_runner


def match_filenames_once(pattern: Any, name: str | None = None) -> Any:
    """A local variable that holds the names of the files that fit ``pattern``.

    Initialize it with `tf.local_variables_initializer`.
    """
    from dataflow.ops.reader import matching_files
    from dataflow.ops.variables import Variable

    with default_graph().name_scope(name or "matching_filenames") as scope:
        return Variable(
            matching_files(pattern),
            trainable=False,
            name=scope,
            validate_shape=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )


def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Tensor:
    """``tensor``, which may be computed ``num_epochs`` times; then `OutOfRangeError`.

    Counts in a local variable: run `tf.local_variables_initializer` first.
    """
    if num_epochs is None:
        return tensor  # type: ignore[no-any-return]
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    from dataflow.ops.sources import constant
    from dataflow.ops.state import count_up_to
    from dataflow.ops.variables import Variable

    graph = default_graph()
    with graph.name_scope(name or "limit_epochs") as scope:
        epochs = Variable(
            constant(0, dtype=dtypes.int64),
            name="epochs",
            trainable=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )
        counter = count_up_to(epochs, num_epochs)
        with graph.control_dependencies([counter]):
            return identity(tensor, name=scope)


def input_producer(
    input_tensor: TensorLike,
    element_shape: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> FIFOQueue:
    """A queue filled with the rows of ``input_tensor``, ``num_epochs`` times over (or forever).

    Its `QueueRunner` is added to the graph: start it with `start_queue_runners`. ``shuffle`` gives
    each epoch a new order. Raises `ValueError` when the shape of a row is not known.
    """
    from dataflow.ops.random import random_shuffle

    graph = default_graph()
    with graph.name_scope(name or "input_producer") as scope:
        tensor = convert_to_tensor(input_tensor, name="input_tensor")
        rows = tensor.shape[1:].merge_with(element_shape)
        if not rows.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must be "
                f"specified: {tensor.name!r} has shape {tensor.shape}."
            )
        if shuffle:
            tensor = random_shuffle(tensor, seed=seed)
        tensor = limit_epochs(tensor, num_epochs)
        queue = FIFOQueue(
            capacity=capacity,
            dtypes=[tensor.dtype.base_dtype],
            shapes=[rows],
            shared_name=shared_name,
            name=scope,
        )
        enqueue = queue.enqueue_many([tensor])
        add_queue_runner(QueueRunner(queue, [enqueue], cancel_op=cancel_op))
        if summary_name is not None:
            fullness_summary(summary_name, queue, capacity)
        return queue


def fullness_summary(name: str, queue: Any, capacity: int, kept_back: int = 0) -> None:
    """Adds a scalar summary of how full the queue is, beyond the elements that it keeps back."""
    from dataflow.ops.arithmetic import maximum
    from dataflow.ops.casts import cast
    from dataflow.summary import scalar

    filled = queue.size()
    if kept_back:
        filled = maximum(0, filled - kept_back)
    scalar(name, cast(filled, dtypes.float32) * (1.0 / (capacity - kept_back)))


def string_input_producer(
    string_tensor: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> FIFOQueue:
    """A queue of strings (file names for a reader); see `input_producer`.

    Raises `ValueError` for an empty list.
    """
    if not isinstance(string_tensor, Tensor) and not hasattr(string_tensor, "op"):
        if not len(string_tensor):
            raise ValueError("string_input_producer requires a non-null input tensor: no files.")
    graph = default_graph()
    with graph.name_scope(name or "input_producer") as scope:
        tensor = convert_to_tensor(string_tensor, dtype=dtypes.string)
        from dataflow.ops.comparison import greater
        from dataflow.ops.logging_ops import Assert

        check = Assert(
            greater(size(tensor), 0), ["string_input_producer requires a non-null input tensor"]
        )
        with graph.control_dependencies([check]):
            tensor = identity(tensor)
        return input_producer(
            tensor,
            element_shape=[],
            num_epochs=num_epochs,
            shuffle=shuffle,
            seed=seed,
            capacity=capacity,
            shared_name=shared_name,
            name=scope,
            summary_name=f"fraction_of_{capacity}_full",
            cancel_op=cancel_op,
        )


def range_input_producer(
    limit: TensorLike,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> FIFOQueue:
    """A queue of the integers from 0 to ``limit`` - 1; see `input_producer`."""
    from dataflow.ops.sequences import range_

    with default_graph().name_scope(name or "input_producer") as scope:
        return input_producer(
            range_(limit),
            [],
            num_epochs,
            shuffle,
            seed,
            capacity,
            shared_name,
            f"fraction_of_{capacity}_full",
            scope,
        )


def slice_input_producer(
    tensor_list: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """One row of each tensor at a time, the same row of all; a list of tensors.

    The rows come in a queue's order; see `input_producer`.
    """
    from dataflow.ops.array import gather

    with default_graph().name_scope(name or "input_producer"):
        tensors = [convert_to_tensor(t) for t in tensor_list]
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        count = shape(tensors[0])[0]
        queue = range_input_producer(
            count,
            num_epochs=num_epochs,
            shuffle=shuffle,
            seed=seed,
            capacity=capacity,
            shared_name=shared_name,
        )
        index = queue.dequeue()
        return [gather(t, index) for t in tensors]
