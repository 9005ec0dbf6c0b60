"""Waiting for each other: `Barrier`, `StagingArea` and `CriticalSection`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.dtypes import DType, as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.declared_ops import declare_op
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.nest import flatten, pack_like
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.static_value import static_value
from dataflow.shapes import Dims, as_dims

barrier_op = declare_op(
    "Barrier",
    "-> handle: resource",
    "A map from keys to tuples, whose components are put in one by one. A scalar handle.",
    attrs="component_types: list[DType], shapes: list[Shape] = (), capacity: int = -1, "
    "container: str = '', shared_name: str = ''",
    stateful=True,
    is_handle=True,
)
barrier_insert_many_op = declare_op(
    "BarrierInsertMany",
    "handle: resource, keys: string, values: T",
    "Puts component ``component_index`` of several keys in.",
    attrs="component_index: int",
    stateful=True,
)


@define_op(
    "BarrierTakeMany",
    "handle: resource, num_elements: int32 "
    "-> indices: int64, keys: string, values: list(component_types)",
    stateful=True,
    blocks=True,
)
def barrier_take_many_op(
    handle: Tensor,
    num_elements: Tensor,
    *,
    component_types: list[DType],
    allow_small_batch: bool = False,
    wait_for_incomplete: bool = False,
    timeout_ms: int = -1,
) -> list[Dims]:
    """Takes that many complete tuples out, in the order of their first insertion; waits."""
    return [(None,), (None,), *[None] * len(component_types)]


@define_op("BarrierClose", "handle: resource", stateful=True)
def barrier_close_op(handle: Tensor, *, cancel_pending_enqueues: bool = False) -> list[Dims]:
    """No new keys from now on; with ``cancel_pending_enqueues`` no further components either."""
    return []


barrier_ready_size_op = declare_op(
    "BarrierReadySize",
    "handle: resource -> size: int32",
    "How many tuples are complete, a scalar.",
    stateful=True,
)
barrier_incomplete_size_op = declare_op(
    "BarrierIncompleteSize",
    "handle: resource -> size: int32",
    "How many tuples still miss a component, a scalar.",
    stateful=True,
)


class Barrier:
    """Tuples by key, complete once every component was inserted; then they can be taken out."""

    def __init__(
        self, types: Any, shapes: Any = None, shared_name: str | None = None, name: str = "barrier"
    ) -> None:
        self._types = [
            as_dtype(t) for t in (types if isinstance(types, (list, tuple)) else [types])
        ]
        dims = [] if shapes is None else [as_dims(s) for s in shapes]
        if dims and len(dims) != len(self._types):
            raise ValueError("Barrier: shapes must have the same length as types.")
        self._dims = dims or [None] * len(self._types)
        self._barrier_ref = barrier_op(
            component_types=self._types, shapes=dims, shared_name=shared_name or "", name=name
        )
        self._name = self._barrier_ref.op.name.split("/")[-1]

    @property
    def barrier_ref(self) -> Tensor:
        """The handle."""
        return self._barrier_ref  # type: ignore[no-any-return]

    @property
    def name(self) -> str:
        """The name of the barrier's operation."""
        return str(self._barrier_ref.op.name)

    def insert_many(
        self, component_index: int, keys: TensorLike, values: TensorLike, name: str | None = None
    ) -> Any:
        """An operation that puts one component of several keys in."""
        return barrier_insert_many_op(
            self._barrier_ref,
            keys,
            convert_to_tensor(values, self._types[component_index]),
            component_index=component_index,
            name=name or f"{self._name}_BarrierInsertMany",
        )

    def take_many(
        self,
        num_elements: Any,
        allow_small_batch: bool = False,
        timeout: Any = None,
        name: str | None = None,
    ) -> Any:
        """(indices, keys, list of values) of that many complete tuples; waits for them."""
        result = barrier_take_many_op(
            self._barrier_ref,
            num_elements,
            component_types=self._types,
            allow_small_batch=allow_small_batch,
            timeout_ms=-1 if timeout is None else timeout,
            name=name or f"{self._name}_BarrierTakeMany",
        )
        known = None if allow_small_batch else static_value(result.indices.op.inputs[1])
        count = None if known is None else int(known)
        result.indices.set_shape((count,))
        result.keys.set_shape((count,))
        for tensor, dims in zip(result.values, self._dims, strict=True):
            tensor.set_shape(None if dims is None else (count, *dims))
        return result

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Any:
        """An operation that closes the barrier."""
        return barrier_close_op(
            self._barrier_ref,
            cancel_pending_enqueues=cancel_pending_enqueues,
            name=name or f"{self._name}_BarrierClose",
        )

    def ready_size(self, name: str | None = None) -> Tensor:
        """How many tuples are complete."""
        return barrier_ready_size_op(  # type: ignore[no-any-return]
            self._barrier_ref, name=name or f"{self._name}_BarrierReadySize"
        )

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """How many tuples still miss a component."""
        return barrier_incomplete_size_op(  # type: ignore[no-any-return]
            self._barrier_ref, name=name or f"{self._name}_BarrierIncompleteSize"
        )


# ---- staging ------------------------------------------------------------------------------


stage_op = declare_op(
    "Stage",
    "values: list(dtypes)",
    "Puts a tuple into a staging area; waits while it is full.",
    attrs="capacity: int = 0, memory_limit: int = 0, container: str = '', shared_name: str = ''",
    stateful=True,
    blocks=True,
)
unstage_op = declare_op(
    "Unstage",
    "-> values: list(dtypes)",
    "Takes the oldest tuple out of a staging area; waits for one.",
    None,
    attrs="capacity: int = 0, memory_limit: int = 0, dtypes: list[DType], "
    "container: str = '', shared_name: str = ''",
    stateful=True,
    blocks=True,
)
stage_peek_op = declare_op(
    "StagePeek",
    "index: int32 -> values: list(dtypes)",
    "The tuple at ``index``, which stays; waits until there are so many.",
    None,
    attrs="capacity: int = 0, memory_limit: int = 0, dtypes: list[DType], "
    "container: str = '', shared_name: str = ''",
    stateful=True,
    blocks=True,
)
stage_size_op = declare_op(
    "StageSize",
    "-> size: int32",
    "The number of tuples, a scalar.",
    attrs="capacity: int = 0, memory_limit: int = 0, dtypes: list[DType], "
    "container: str = '', shared_name: str = ''",
    stateful=True,
)
stage_clear_op = declare_op(
    "StageClear",
    "",
    "Empties the staging area.",
    attrs="capacity: int = 0, memory_limit: int = 0, dtypes: list[DType], "
    "container: str = '', shared_name: str = ''",
    stateful=True,
)


class StagingArea:
    """A small queue between two parts of the graph, so that they may overlap.

    ``dtypes``, ``shapes`` and ``names`` of the components; ``capacity`` 0: no limit.
    """

    def __init__(
        self,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        self._dtypes = [as_dtype(d) for d in dtypes]
        self._dims = [None] * len(self._dtypes) if shapes is None else [as_dims(s) for s in shapes]
        if len(self._dims) != len(self._dtypes):
            raise ValueError("StagingArea shapes must be the same length as dtypes")
        self._names = names
        graph = default_graph()
        name = shared_name or graph.unique_name("StagingArea")
        self._name = name
        self._attrs = {"capacity": capacity, "memory_limit": memory_limit, "shared_name": name}

    @property
    def name(self) -> str:
        """The name that the operations share."""
        return self._name

    def put(self, values: Any, name: str | None = None) -> Any:
        """An operation that puts a tuple in: a list, or a dict by names."""
        if isinstance(values, dict):
            values = [values[n] for n in self._names]
        elif not isinstance(values, (list, tuple)):
            values = [values]
        tensors = [convert_to_tensor(v, d) for v, d in zip(values, self._dtypes, strict=True)]
        return stage_op(tensors, name=name or f"{self._name}_put", **self._attrs)

    def _shaped(self, result: Any) -> Any:
        for tensor, dims in zip(result, self._dims, strict=True):
            tensor.set_shape(dims)
        if self._names:
            return dict(zip(self._names, result, strict=True))
        return list(result)

    def get(self, name: str | None = None) -> Any:
        """Takes the oldest tuple out; waits for one."""
        name = name or f"{self._name}_get"
        return self._shaped(unstage_op(dtypes=self._dtypes, name=name, **self._attrs))

    def peek(self, index: Any, name: str | None = None) -> Any:
        """The tuple at ``index``, which stays; waits until there are so many."""
        name = name or f"{self._name}_peek"
        return self._shaped(stage_peek_op(index, dtypes=self._dtypes, name=name, **self._attrs))

    def size(self, name: str | None = None) -> Tensor:
        """The number of tuples."""
        return stage_size_op(dtypes=self._dtypes, name=name or f"{self._name}_size", **self._attrs)  # type: ignore[no-any-return]

    def clear(self, name: str | None = None) -> Any:
        """An operation that empties the area."""
        return stage_clear_op(
            dtypes=self._dtypes, name=name or f"{self._name}_clear", **self._attrs
        )


# ---- critical sections --------------------------------------------------------------------


@define_op("MutexV2", "-> resource: resource", stateful=True, is_handle=True)
def mutex_op(*, container: str = "", shared_name: str = "") -> Dims:
    """A lock that one run at a time can hold. A scalar handle."""
    return ()


@define_op(
    "MutexLock",
    "mutex: resource -> mutex_lock: variant",
    stateful=True,
    blocks=True,
    takes_lock=True,
)
def mutex_lock_op(mutex: Tensor) -> Dims:
    """Waits for the lock and takes it. A scalar that stands for holding it."""
    return ()


consume_mutex_lock_op = declare_op(
    "ConsumeMutexLock", "mutex_lock: variant", "Gives the lock back.", stateful=True
)


class CriticalSection:
    """Runs parts of the graph so that no two of them, in any run or thread, overlap.

    ``shared_name``: sections with this name exclude each other on one server.
    """

    def __init__(
        self,
        name: str | None = None,
        shared_name: str | None = None,
        critical_section_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if critical_section_def is not None:
            raise ValueError("critical_section_def is not supported: make the section again.")
        graph = default_graph()
        with graph.name_scope(name or "CriticalSection") as scope:
            with graph.control_dependencies(None):
                self._handle = mutex_op(shared_name=shared_name or scope.rstrip("/"), name=scope)
        self._name = scope.rstrip("/")

    @property
    def name(self) -> str:
        """The name of the lock's operation."""
        return str(self._handle.op.name)

    def execute(
        self, fn: Callable[[], Any], exclusive_resource_access: bool = True, name: str | None = None
    ) -> Any:
        """What ``fn()`` returns, computed while the lock is held.

        Only nodes that ``fn`` makes are inside. Its results are available when all of them are
        done and the lock is given back.
        """
        from dataflow.ops.array import identity
        from dataflow.ops.control_flow import group, tuple_

        graph = default_graph()
        with graph.name_scope(name or "critical_section_execute"):
            lock = mutex_lock_op(self._handle)
            before = graph.version
            with graph.control_dependencies([lock.op]):
                result = fn()
            flat = flatten(result) if result is not None else []
            inside = [
                op
                for op in graph.operations[before:]
                if op.control_flow_context is graph.control_flow_context
            ]
            ends = [op for op in inside if not any(t.uses for t in op.outputs)]
            values = [
                f if f is None or isinstance(f, Operation) else convert_to_tensor(f) for f in flat
            ]
            passed = [v if v is None or isinstance(v, Operation) else identity(v) for v in values]
            waits = [p for p in passed if p is not None]
            with graph.control_dependencies([*waits, *[op for op in ends if op not in waits]]):
                done = consume_mutex_lock_op(lock)
                if result is not None:
                    values = tuple_(values)  # one of them is there only when all are
            with graph.control_dependencies([done]):
                if result is None:
                    return group(done)
                finished = [
                    v if v is None else group(v) if isinstance(v, Operation) else identity(v)
                    for v in values
                ]
            return pack_like(result, finished)


not_differentiable(barrier_take_many_op, barrier_close_op, mutex_op, mutex_lock_op)
