"""Queues as objects: values that one run puts in and another takes out."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes, shapes
from dataflow.dtypes import DType, as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.queue import (
    fifo_queue_op,
    padding_fifo_queue_op,
    priority_queue_op,
    queue_close_op,
    queue_dequeue_many_op,
    queue_dequeue_op,
    queue_dequeue_up_to_op,
    queue_enqueue_many_op,
    queue_enqueue_op,
    queue_is_closed_op,
    queue_size_op,
    random_shuffle_queue_op,
)
from dataflow.ops.static_value import static_value
from dataflow.shapes import Dims, TensorShape


def _as_list(value: TensorLike) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _as_types(value: TensorLike) -> list[DType]:
    return [as_dtype(d).base_dtype for d in _as_list(value)]


def _as_shapes(value: Any, types: list[DType]) -> list[Dims] | None:
    """One dims for each component; a single shape may be given for a single component."""
    if value is None:
        return None
    if isinstance(value, TensorShape) or (
        isinstance(value, (list, tuple)) and all(v is None or isinstance(v, int) for v in value)
    ):
        if not (isinstance(value, (list, tuple)) and not value and len(types) != 1):
            value = [value]
    result = [shapes.as_dims(v) for v in value]
    if len(result) != len(types):
        raise ValueError(
            f"Queue shapes must have the same length as dtypes, received {len(result)} shapes, "
            f"{len(types)} dtypes"
        )
    return result


def _as_full_shapes(value: Any, types: list[DType]) -> list[Dims] | None:
    """`_as_shapes` of a queue that cannot pad: a size that is not known is refused."""
    dims = _as_shapes(value, types)
    if any(d is None or None in d for d in dims or ()):
        raise ValueError(
            f"All shapes must be fully defined: {[str(TensorShape(d)) for d in dims or ()]}. "
            "tf.PaddingFIFOQueue takes components of varying sizes; without shapes= the components may have any size."
        )
    return dims


def _as_names(value: TensorLike | None, types: list[DType]) -> list[str] | None:
    if value is None:
        return None
    names = _as_list(value)
    if len(names) != len(types):
        raise ValueError(
            f"Queue names must have the same length as dtypes, received {len(names)} names, "
            f"{len(types)} dtypes"
        )
    return names


class QueueBase:
    """What all queues share. Elements are tuples of tensors, one for each of ``dtypes``.

    Operations on a full or empty queue wait; closing the queue or the session, or interrupting the
    run, ends the wait with an error of `tf.errors`.
    """

    def __init__(self, dtypes: Any, shapes: Any, names: Any, queue_ref: Tensor) -> None:
        self._dtypes = list(dtypes)
        if shapes is not None:
            if len(shapes) != len(self._dtypes):
                raise ValueError("Queue shapes must have the same length as dtypes.")
            self._dims: list[Dims] = [TensorShape(s)._dims for s in shapes]
        else:
            self._dims = [None] * len(self._dtypes)
        self._names = names
        self._queue_ref = queue_ref
        self._name = queue_ref.op.name.split("/")[-1]

    @staticmethod
    def from_list(index: Any, queues: list[QueueBase]) -> QueueBase:
        """The queue ``queues[index]``, chosen by a tensor when the graph runs.

        Raises `TypeError` for anything but a queue, `ValueError` when dtypes or names differ.
        """
        from dataflow.ops.array import gather, stack

        if (
            not queues
            or not isinstance(queues, list)
            or not all(isinstance(q, QueueBase) for q in queues)
        ):
            raise TypeError("A list of queues expected")
        first = queues[0]
        if any(q.dtypes != first.dtypes for q in queues):
            raise TypeError("Queues do not have matching component dtypes.")
        if any(q.names != first.names for q in queues):
            raise TypeError("Queues do not have matching component names.")
        dims = [_common([q._dims[i] for q in queues]) for i in range(len(first.dtypes))]
        ref = gather(stack([q.queue_ref for q in queues]), index)
        return QueueBase(first.dtypes, dims, first.names, ref)

    @property
    def queue_ref(self) -> Tensor:
        """The handle."""
        return self._queue_ref

    @property
    def name(self) -> str:
        """The name of the queue's operation."""
        return self._queue_ref.op.name

    @property
    def dtypes(self) -> list[DType]:
        """Dtypes of the components."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """Static shapes of the components."""
        return [TensorShape(d) for d in self._dims]

    @property
    def names(self) -> Any:
        """Names of the components, or ``None``."""
        return self._names

    def _values(self, vals: Any) -> list[Tensor]:
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names, key=str) != sorted(vals, key=str):
                raise ValueError(
                    f"Keys in dictionary to enqueue do not match names of Queue.  Dictionary: "
                    f"{sorted(vals)}, Queue: {sorted(self._names)}"
                )
            vals = [vals[n] for n in self._names]
        else:
            if self._names:
                raise ValueError("You must enqueue a dictionary in a Queue with names")
            vals = _as_list(vals)
        if len(vals) != len(self._dtypes):
            raise ValueError(
                f"The queue {self.name!r} has {len(self._dtypes)} components, got {len(vals)} values."
            )
        return [
            convert_to_tensor(v, dtype=d, name=f"component_{i}")
            for i, (v, d) in enumerate(zip(vals, self._dtypes, strict=True))
        ]

    def _check(self, tensor: Tensor, dims: Dims, wanted: Dims, index: int) -> None:
        if not shapes.compatible(dims, wanted):
            raise ValueError(
                f"Shapes {shapes.format_dims(dims)} and {shapes.format_dims(wanted)} are "
                f"incompatible: component {index} of the queue {self.name!r}, got {tensor.name!r}."
            )

    def enqueue(self, vals: Any, name: str | None = None) -> Any:
        """An operation that puts one element in: a tensor, a list of them, or a dict by names.

        Waits while the queue is full; `CancelledError` when it is closed.
        """
        with self._queue_ref.graph.name_scope(name or f"{self._name}_enqueue") as scope:
            tensors = self._values(vals)
            for i, (tensor, dims) in enumerate(zip(tensors, self._dims, strict=True)):
                self._check(tensor, tensor.dims, dims, i)
            return queue_enqueue_op(self._queue_ref, tensors, name=scope)

    def enqueue_many(self, vals: Any, name: str | None = None) -> Any:
        """An operation that puts in one element for each row of the given tensors."""
        with self._queue_ref.graph.name_scope(name or f"{self._name}_EnqueueMany") as scope:
            tensors = self._values(vals)
            count: int | None = None
            for i, (tensor, dims) in enumerate(zip(tensors, self._dims, strict=True)):
                if tensor.dims is None:
                    continue
                if not tensor.dims:
                    raise ValueError(
                        f"enqueue_many needs tensors of rank at least 1: {tensor.name!r} is a scalar."
                    )
                if count is not None and tensor.dims[0] not in (None, count):
                    raise ValueError(
                        f"Dimensions {tensor.dims[0]} and {count} are not compatible: all "
                        "components must have the same number of rows."
                    )
                count = tensor.dims[0] if count is None else count
                self._check(tensor, tensor.dims[1:], dims, i)
            return queue_enqueue_many_op(self._queue_ref, tensors, name=scope)

    def _taken(self, result: list[Tensor], front: tuple[int | None, ...]) -> Any:
        for tensor, dims in zip(result, self._dims, strict=True):
            tensor.set_shape(None if dims is None else (*front, *dims))
        if self._names:
            return dict(zip(self._names, result, strict=True))
        return result[0] if len(result) == 1 else list(result)

    def dequeue(self, name: str | None = None) -> Any:
        """Takes one element out: a tensor, a list of them, or a dict by names.

        Waits while the queue is empty; `OutOfRangeError` when it is empty and closed.
        """
        result = queue_dequeue_op(
            self._queue_ref, component_types=self._dtypes, name=name or f"{self._name}_Dequeue"
        )
        return self._taken(result, ())

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """Takes ``n`` elements out, stacked along a new first axis.

        `OutOfRangeError` when the queue is closed and has fewer. The queue's shapes must be known.
        """
        result = queue_dequeue_many_op(
            self._queue_ref,
            n,
            component_types=self._dtypes,
            name=name or f"{self._name}_DequeueMany",
        )
        count = static_value(result[0].op.inputs[1])
        return self._taken(result, (None if count is None else int(count),))

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """As `dequeue_many`, but a closed queue gives the fewer elements that are left."""
        result = queue_dequeue_up_to_op(
            self._queue_ref,
            n,
            component_types=self._dtypes,
            name=name or f"{self._name}_DequeueUpTo",
        )
        return self._taken(result, (None,))

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Any:
        """An operation that closes the queue: nothing more goes in, what is left comes out.

        Waiting enqueues still go in, unless ``cancel_pending_enqueues``.
        """
        return queue_close_op(
            self._queue_ref,
            cancel_pending_enqueues=cancel_pending_enqueues,
            name=name or f"{self._name}_Close",
        )

    def is_closed(self, name: str | None = None) -> Tensor:
        """Whether the queue is closed, a scalar bool."""
        return queue_is_closed_op(self._queue_ref, name=name or f"{self._name}_Is_Closed")  # type: ignore[no-any-return]

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements in the queue, a scalar int32."""
        return queue_size_op(self._queue_ref, name=name or f"{self._name}_Size")  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<tf.{type(self).__name__} {self.name!r} dtypes={[d.name for d in self._dtypes]}>"


def _common(all_dims: list[Dims]) -> Dims:
    result = all_dims[0]
    for dims in all_dims[1:]:
        result = shapes.common(result, dims)
    return result


class FIFOQueue(QueueBase):
    """A queue that gives elements back in the order they came.

    ``capacity``: how many it holds. ``shapes``: of each component; needed by ``enqueue_many`` and
    ``dequeue_many``. ``names``: elements are dicts then. ``shared_name``: sessions on one server
    that use this name share the queue.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        types = _as_types(dtypes)
        dims = _as_full_shapes(shapes, types)
        ref = fifo_queue_op(
            component_types=types,
            shapes=dims or [],
            capacity=capacity,
            shared_name=shared_name or "",
            name=name,
        )
        super().__init__(types, dims, _as_names(names, types), ref)


class PaddingFIFOQueue(QueueBase):
    """A `FIFOQueue` whose shapes may have unknown sizes: ``dequeue_many`` pads with zeros."""

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        types = _as_types(dtypes)
        dims = _as_shapes(shapes, types)
        if dims is None:
            raise ValueError("Shapes must be provided for all components, but received None.")
        if None in dims:
            raise ValueError(
                f"All shapes must have a defined rank: {[str(TensorShape(d)) for d in dims]}"
            )
        ref = padding_fifo_queue_op(
            component_types=types,
            shapes=dims,
            capacity=capacity,
            shared_name=shared_name or "",
            name=name,
        )
        super().__init__(types, dims, _as_names(names, types), ref)


class RandomShuffleQueue(QueueBase):
    """A queue that gives elements back in random order.

    ``min_after_dequeue``: a dequeue waits until that many would be left, so that the order is well
    mixed (not when the queue is closed).
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        from dataflow.ops.seeds import get_seed

        types = _as_types(dtypes)
        dims = _as_full_shapes(shapes, types)
        seed1, seed2 = get_seed(seed)
        if seed1 is None and seed2 is None:
            seed1, seed2 = 0, 0
        ref = random_shuffle_queue_op(
            component_types=types,
            shapes=dims or [],
            capacity=capacity,
            min_after_dequeue=min_after_dequeue,
            seed=seed1,
            seed2=seed2,
            shared_name=shared_name or "",
            name=name,
        )
        super().__init__(types, dims, _as_names(names, types), ref)


class PriorityQueue(QueueBase):
    """A queue that gives back the element with the smallest priority first.

    The first component, an int64 scalar, is the priority; ``types`` are those of the others.
    """

    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        rest = _as_types(types)
        dims = _as_full_shapes(shapes, rest)
        ref = priority_queue_op(
            component_types=rest,
            shapes=dims if dims is not None else [],
            capacity=capacity,
            shared_name=shared_name or "",
            name=name,
        )
        all_types = [dtypes.int64, *rest]
        all_dims = None if dims is None else [(), *dims]
        super().__init__(
            all_types, all_dims or [(), *[None] * len(rest)], _as_names(names, all_types), ref
        )
