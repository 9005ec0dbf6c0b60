"""Batches of examples that a queue collects: `batch`, `shuffle_batch`, and from several sources."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.ops.queues import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from dataflow.ops.static_value import static_value
from dataflow.train.input import fullness_summary
from dataflow.train.queue_runner import QueueRunner, add_queue_runner


class Components:
    """The tensors of one example, in the list or dict that they came in.

    A `SparseTensor` travels through the queue as one string vector.
    """

    def __init__(self, tensors: Any, enqueue_many: bool) -> None:
        if isinstance(tensors, Tensor) or hasattr(tensors, "_dense_var_to_tensor"):
            tensors = [tensors]
        self.keys = sorted(tensors) if isinstance(tensors, dict) else None
        values = [tensors[k] for k in self.keys] if self.keys is not None else list(tensors)
        if not values:
            raise ValueError("Expected at least one tensor in batch().")
        self.sparse: list[Any] = []
        self.tensors: list[Tensor] = []
        for value in values:
            if type(value).__name__ == "SparseTensor":
                from dataflow.ops.sparse import serialize_many_sparse, serialize_sparse

                serialize = serialize_many_sparse if enqueue_many else serialize_sparse
                rank = value.shape.ndims
                if rank is not None and not enqueue_many:
                    rank += 1  # a batch has the axis of its examples before theirs
                self.sparse.append((value.dtype, rank))
                self.tensors.append(serialize(value))
            else:
                self.sparse.append(None)
                self.tensors.append(convert_to_tensor(value))

    def unpack(self, taken: Any) -> Any:
        """What came out of the queue as it went in: sparse tensors again, in the list or dict."""
        values = [taken] if isinstance(taken, Tensor) else list(taken)
        result = []
        for value, kind in zip(values, self.sparse, strict=True):
            if kind is not None:
                from dataflow.ops.sparse import deserialize_many_sparse

                value = deserialize_many_sparse(value, dtype=kind[0], rank=kind[1])
            result.append(value)
        if self.keys is not None:
            return dict(zip(self.keys, result, strict=True))
        # A list of one gives its tensor alone: dequeue_many does, and TensorFlow lets it.
        return result[0] if len(result) == 1 else result


def _element_shapes(
    all_tensors: list[list[Tensor]], shapes_given: Any, enqueue_many: bool, padded: bool
) -> list[Any]:
    """The shape of one example's component, from what is given or from all tensors."""
    from dataflow import shapes as shape_rules
    from dataflow.shapes import TensorShape

    if shapes_given is not None:
        return list(shapes_given)
    result = []
    for column in zip(*all_tensors, strict=True):
        dims = column[0].dims
        for other in column[1:]:
            dims = shape_rules.common(dims, other.dims)
        if enqueue_many and dims is not None:
            dims = dims[1:]
        if dims is None or (None in dims and not padded):
            raise ValueError(
                f"All shapes must be fully defined: {column[0].name!r} has shape "
                f"{TensorShape(column[0].dims)}. Call set_shape, give shapes=, or use "
                "dynamic_pad=True."
            )
        result.append(TensorShape(dims))
    return result


def _keep(keep_input: Any, enqueue_many: bool) -> Any:
    """``None`` for "always", else a tensor."""
    tensor = convert_to_tensor(keep_input, dtype=dtypes.bool_)
    known = static_value(tensor)
    if known is not None and known.ndim == 0 and bool(known):
        return None
    if tensor.dims is not None and len(tensor.dims) > (1 if enqueue_many else 0):
        raise ValueError(
            "keep_input must be a scalar, or with enqueue_many a vector with one value for each row."
        )
    return tensor


def _enqueue_one(queue: Any, tensors: list[Tensor], keep: Any, many: bool) -> Any:
    from dataflow.ops.array import boolean_mask
    from dataflow.ops.conditionals import cond
    from dataflow.ops.control_flow import no_op

    if keep is not None and keep.dims is not None and len(keep.dims) == 1:
        tensors = [boolean_mask(t, keep) for t in tensors]
        keep = None
    enqueue = queue.enqueue_many if many else queue.enqueue
    if keep is None:
        return enqueue(tensors)
    return cond(keep, lambda: enqueue(tensors), no_op)


def _batched(
    queue_of: Any,
    lists: list[Any],
    num_threads: int,
    batch_size: int | Tensor,
    capacity: int,
    enqueue_many: bool,
    shapes_given: Any,
    padded: bool,
    smaller: bool,
    keep_input: Any,
    name: str,
    kept_back: int | None = None,
) -> Any:
    graph = default_graph()
    with graph.name_scope(name) as scope:
        components = [Components(t, enqueue_many) for t in lists]
        all_tensors = [c.tensors for c in components]
        for source in components[1:]:
            if source.keys != components[0].keys:
                raise ValueError(
                    f"{name}: all dictionaries must have the same keys, got {components[0].keys} and "
                    f"{source.keys}; give each source the same components by the same names."
                )
        types = [t.dtype.base_dtype for t in all_tensors[0]]
        for other in all_tensors[1:]:
            if [t.dtype.base_dtype for t in other] != types:
                raise TypeError(
                    f"Cannot join tensors of different types: {[d.name for d in types]} and "
                    f"{[t.dtype.base_dtype.name for t in other]}."
                )
        element_shapes = _element_shapes(all_tensors, shapes_given, enqueue_many, padded)
        queue = queue_of(types, element_shapes)
        keep = _keep(keep_input, enqueue_many)
        ops = [_enqueue_one(queue, t, keep, enqueue_many) for t in all_tensors]
        if len(ops) == 1:
            ops = ops * num_threads
        add_queue_runner(QueueRunner(queue, ops))
        if kept_back is None:
            fullness_summary(f"fraction_of_{capacity}_full", queue, capacity)
        else:
            what = f"fraction_over_{kept_back}_of_{capacity - kept_back}_full"
            fullness_summary(what, queue, capacity, kept_back)
        take = queue.dequeue_up_to if smaller else queue.dequeue_many
        return components[0].unpack(take(batch_size, name=scope))


def _of_all_examples(conditional: Callable[..., Any], what: str) -> Callable[..., Any]:
    """``conditional`` (named ``maybe_...``) without its ``keep_input``: all examples are kept."""
    signature = inspect.signature(conditional)
    parameters = [p for p in signature.parameters.values() if p.name != "keep_input"]
    signature = signature.replace(parameters=parameters)

    def batches(*args: Any, **kwargs: Any) -> Any:
        return conditional(**signature.bind(*args, **kwargs).arguments, keep_input=True)

    batches.__name__ = batches.__qualname__ = conditional.__name__.removeprefix("maybe_")
    batches.__doc__ = what
    batches.__signature__ = signature  # type: ignore[attr-defined]
    return batches


def _queue_kind(dynamic_pad: bool, capacity: int, shared_name: Any) -> Any:
    kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    default = "padding_fifo_queue" if dynamic_pad else "fifo_queue"
    return lambda types, element_shapes: kind(
        capacity=capacity,
        dtypes=types,
        shapes=element_shapes,
        shared_name=shared_name,
        name=default,
    )


def maybe_batch(
    tensors: Sequence[Any],
    keep_input: Any,
    batch_size: int | Tensor,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`batch` of the examples for which ``keep_input`` is true."""
    return _batched(
        _queue_kind(dynamic_pad, capacity, shared_name),
        [tensors],
        num_threads,
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        keep_input,
        name or "batch",
    )


def maybe_batch_join(
    tensors_list: Any,
    keep_input: Any,
    batch_size: int | Tensor,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`batch_join` of the examples for which ``keep_input`` is true."""
    return _batched(
        _queue_kind(dynamic_pad, capacity, shared_name),
        list(tensors_list),
        1,
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        keep_input,
        name or "batch_join",
    )


def _shuffle_kind(capacity: int, min_after_dequeue: int, seed: Any, shared_name: Any) -> Any:
    return lambda types, element_shapes: RandomShuffleQueue(
        capacity=capacity,
        min_after_dequeue=min_after_dequeue,
        dtypes=types,
        shapes=element_shapes,
        seed=seed,
        shared_name=shared_name,
    )


def maybe_shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`shuffle_batch` of the examples for which ``keep_input`` is true.

    Raises `ValueError` where ``capacity`` is not above ``min_after_dequeue``: no batch could ever be full.
    """
    if (
        isinstance(capacity, int)
        and isinstance(min_after_dequeue, int)
        and capacity <= min_after_dequeue
    ):
        raise ValueError(
            f"capacity must be larger than min_after_dequeue, got capacity {capacity} and "
            f"min_after_dequeue {min_after_dequeue}. Often it is min_after_dequeue + 3 * batch_size."
        )
    return _batched(
        _shuffle_kind(capacity, min_after_dequeue, seed, shared_name),
        [tensors],
        num_threads,
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        False,
        allow_smaller_final_batch,
        keep_input,
        name or "shuffle_batch",
        min_after_dequeue,
    )


def maybe_shuffle_batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`shuffle_batch_join` of the examples for which ``keep_input`` is true."""
    return _batched(
        _shuffle_kind(capacity, min_after_dequeue, seed, shared_name),
        list(tensors_list),
        1,
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        False,
        allow_smaller_final_batch,
        keep_input,
        name or "shuffle_batch_join",
        min_after_dequeue,
    )


batch = _of_all_examples(
    maybe_batch,
    """Batches of examples that a queue collects; the structure of ``tensors``, [batch_size, ...].

    ``tensors``: those of one example, a list or dict (with ``enqueue_many``, of many at once).
    ``num_threads`` fill the queue once `start_queue_runners` was called. ``dynamic_pad`` pads
    examples of different sizes. At the end of the input, `OutOfRangeError`; an incomplete last
    batch is given only with ``allow_smaller_final_batch``.
    """,
)

batch_join = _of_all_examples(
    maybe_batch_join,
    "As `batch`, from several sources: one thread for each of ``tensors_list``.",
)

shuffle_batch = _of_all_examples(
    maybe_shuffle_batch,
    "As `batch`, in random order: a larger ``min_after_dequeue`` mixes better.",
)

shuffle_batch_join = _of_all_examples(
    maybe_shuffle_batch_join,
    "As `shuffle_batch`, from several sources: one thread for each of ``tensors_list``.",
)
