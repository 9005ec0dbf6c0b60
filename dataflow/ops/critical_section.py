"""`CriticalSection`: functions that only one run at a time computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dataflow.dtypes import resource
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.declared_ops import declare_op
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.nest import flatten, pack_like
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.shapes import Dims


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


def _is_of_one_branch(op: Operation) -> bool:
    """Whether ``op`` computes in one branch alone; what waits for it would never run in the other."""
    switches = ("Switch", "RefSwitch")
    return op.type in switches or (
        op.type != "Merge" and any(t.op.type in switches for t in op.inputs)
    )


#: The collections of the sections of a graph, and of what is executed in them.
CRITICAL_SECTIONS = "critical_sections"
CRITICAL_SECTION_EXECUTIONS = "critical_section_executions"


class _Execution(NamedTuple):
    """A function in a section: the operation that takes the lock, and the resources that it uses."""

    op: Operation
    handle: Tensor
    resources: list[Tensor]
    exclusive_resource_access: bool


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
        graph.add_to_collection(CRITICAL_SECTIONS, self)

    @property
    def name(self) -> str:
        """The name of the lock's operation."""
        return str(self._handle.op.name)

    def execute(
        self, fn: Callable[[], Any], exclusive_resource_access: bool = True, name: str | None = None
    ) -> Any:
        """What ``fn()`` returns, computed while the lock is held.

        Only nodes that ``fn`` makes are inside; what they use is computed before the lock is taken. Its
        results are available when all of them are done and the lock is given back. Raises `ValueError`
        where ``fn`` executes something in this section too, which would wait forever, and where it uses
        a resource (such as a resource variable) that is used in another section, unless both executions
        have ``exclusive_resource_access=False``.
        """
        from dataflow.ops.array import identity
        from dataflow.ops.control_flow import group, tuple_

        graph = default_graph()
        with graph.name_scope(name or "critical_section_execute"):
            lock = mutex_lock_op(self._handle)
            before = graph.version
            with graph.control_dependencies([lock.op]):
                result = fn()
            if not graph.executes_eagerly:
                self._check_and_note(graph.operations[before:], lock.op, exclusive_resource_access)
            flat = flatten(result) if result is not None else []
            inside = [
                op
                for op in graph.operations[before:]
                if op.control_flow_context is graph.control_flow_context
            ]
            ends = [
                op
                for op in inside
                if not any(t.uses for t in op.outputs) and not _is_of_one_branch(op)
            ]
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

    def _is_of(self, handle: Tensor) -> bool:
        """Whether ``handle`` is this section's lock."""
        name = "shared_name"
        return handle.op.type == "MutexV2" and handle.op.attrs[name] == self._handle.op.attrs[name]

    def _check_and_note(self, made: list[Operation], lock: Operation, exclusive: bool) -> None:
        """Lets the lock wait for what the operations ``made`` use, and refuses what cannot go well."""
        from dataflow.ops.control_flow import group

        resources = list(dict.fromkeys(t for op in made for t in op.inputs if t.dtype == resource))
        if any(self._is_of(handle) for handle in resources):
            raise ValueError(
                f"The function executes something in the CriticalSection {self._name!r} itself, which would "
                "wait forever: leave out the inner execute()."
            )
        for other in lock.graph.get_collection_ref(CRITICAL_SECTION_EXECUTIONS):
            shared = [t for t in resources if any(t is r for r in other.resources)]
            both = exclusive or other.exclusive_resource_access
            if shared and both and not self._is_of(other.handle):
                raise ValueError(
                    f"{', '.join(t.op.name for t in shared)}: used in the CriticalSection {self._name!r} and in "
                    f"{other.handle.op.name!r}, and one of them requested exclusive resource access. Use one "
                    "section for both, or exclusive_resource_access=False for reading."
                )
        own = {*made, lock, *lock.control_inputs, *(t.op for t in lock.inputs)}
        used = dict.fromkeys(
            op
            for m in made
            if m.op_def.control_flow != "enter"  # what a loop takes in is there when it begins
            for op in (*(t.op for t in m.inputs), *m.control_inputs)
            if op not in own and op.op_def.control_flow != "enter"
        )
        if used:  # in a group, which has the control flow context of the lock
            lock.add_control_edge(group(*used))
            lock.graph.mutated()
        lock.graph.add_to_collection(
            CRITICAL_SECTION_EXECUTIONS, _Execution(lock, self._handle, resources, exclusive)
        )


not_differentiable(mutex_op, mutex_lock_op)
