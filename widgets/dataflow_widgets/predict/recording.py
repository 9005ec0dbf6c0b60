"""Which worker read and wrote which variable, recorded from real runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

_VARIABLES = ("Variable", "VariableV2", "VarHandleOp")
_WRITES = ("Assign", "Apply", "Scatter", "ResourceApply", "SparseApply", "CountUpTo")


class Access(NamedTuple):
    """One access: who ("worker 0"), "read" or "write", which variable, and its value then."""

    worker: str
    action: str
    variable: str
    value: Any = None


class Recording:
    """Listens to the runs of some sessions while it is open, and iterates over the accesses.

    A run that only writes (an assignment of a fed value) is a write; a run that reads a variable
    and writes it, such as ``assign_add`` after a fetch of the value, is a read and then a write. The
    values are those right after the run.
    """

    def __init__(self, workers: Mapping[Any, str]) -> None:
        self._workers = {id(session): str(name) for session, name in workers.items()}
        self._name_of = dict(self._workers)
        self._kept = list(workers)  # so that no id is used twice
        self._accesses: list[Access] = []
        self._stop: Callable[[], None] | None = None

    def __enter__(self) -> Recording:
        from dataflow.runtime.events import subscribe

        self._stop = subscribe(self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        if self._stop is not None:
            self._stop()
            self._stop = None

    def __iter__(self) -> Iterator[Access]:
        return iter(self._accesses)

    def _hear(self, event: Any) -> None:
        worker = self._workers.get(id(event.session))
        if worker is None:
            return
        reads, writes = accesses_of(event.graph, event.needed, event.fetches)
        values = self._values(event, {*reads, *writes})
        for name in reads:
            # What it was before the same run wrote it is not known any more.
            value = None if name in writes else values.get(name)
            self._accesses.append(Access(worker, "read", name, value))
        for name in writes:
            self._accesses.append(Access(worker, "write", name, values.get(name)))

    def _values(self, event: Any, names: set[str]) -> dict[str, Any]:
        """The values of variables right after a run; those of other processes are asked for."""
        from dataflow.introspect.variables import snapshot
        from dataflow.kernels.xp import to_host

        kept = snapshot(event.session)
        if kept is not None:
            return {name: to_host(kept.get(name)) for name in names}
        if not names:
            return {}
        del self._workers[id(event.session)]  # the question is no access of the worker
        try:
            found: dict[str, Any] = event.session.run({name: f"{name}:0" for name in names})
        finally:
            self._workers[id(event.session)] = self._name_of[id(event.session)]
        return found


def accesses_of(graph: Any, needed: Any, fetches: Any) -> tuple[list[str], list[str]]:
    """The variables that a run of the operations ``needed`` reads, and those that it writes."""
    reads: dict[str, None] = {}
    writes: dict[str, None] = {}
    fetched = {name.partition(":")[0] for name in fetches}
    for op in (op for op in graph.get_operations() if op.name in needed):
        is_write = op.type.startswith(_WRITES)
        for slot, tensor in enumerate(op.inputs):
            if tensor.op.type not in _VARIABLES:
                continue
            if is_write and slot == 0:
                writes[tensor.op.name] = None
            else:
                reads[tensor.op.name] = None
        if op.type in _VARIABLES and op.name in fetched:
            reads[op.name] = None
    return list(reads), list(writes)
