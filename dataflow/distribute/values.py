"""Values that differ from replica to replica, and variables that have a copy on each device."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dataflow.graph.default_stacks import default_graph
from dataflow.graph.operation import Operation
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops.array import identity
from dataflow.ops.control_flow import group
from dataflow.ops.math import add_n
from dataflow.ops.replicas import state
from dataflow.ops.variable_replication import VariableAggregation, VariableSynchronization
from dataflow.ops.variables import Variable

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession


class PerReplica:
    """One value for each replica, in the order of the replicas: ``values``."""

    def __init__(self, values: Any) -> None:
        self.values = tuple(values)

    def get(self, device: Any = None) -> Any:
        """The value of the replica that is being built; the first one outside of replicas."""
        return self.values[0 if state.replica is None else state.replica.index]

    def __repr__(self) -> str:
        return f"PerReplica:{{{', '.join(f'{i}: {v!r}' for i, v in enumerate(self.values))}}}"


def select(structure: Any, index: int) -> Any:
    """``structure`` as replica ``index`` sees it."""
    if isinstance(structure, PerReplica):
        return structure.values[index]
    if isinstance(structure, dict):
        return type(structure)((k, select(v, index)) for k, v in structure.items())
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*(select(v, index) for v in structure))
    if isinstance(structure, (list, tuple)):
        return type(structure)(select(v, index) for v in structure)
    return structure


def regroup(results: list[Any]) -> Any:
    """The results of the replicas as one structure of `PerReplica`; the same objects stay as they are."""
    first = results[0]
    if isinstance(first, dict):
        return type(first)((k, regroup([r[k] for r in results])) for k in first)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(regroup(list(parts)) for parts in zip(*results, strict=True)))
    if isinstance(first, (list, tuple)):
        return type(first)(regroup(list(parts)) for parts in zip(*results, strict=True))
    if all(r is first for r in results):
        return first
    if all(isinstance(r, Operation) for r in results):
        return group(*results)
    return PerReplica(results)


def components(value: Any) -> tuple[Any, ...]:
    """The values of the replicas, or the value itself, alone."""
    if isinstance(value, PerReplica):
        return value.values
    return getattr(value, "copies", None) or (value,)


class _Copies:
    """A variable with a copy on each device: in a replica its own copy, outside the first one.

    Changes reach all copies. What is not said here is asked of the copy, so this is a `Variable`.
    """

    copies: tuple[Any, ...]
    _on_read: bool
    _how: VariableAggregation

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Not called: `mirrored` makes these."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.get(), name)

    def get(self, device: Any = None) -> Any:
        """The copy of the replica that is being built; the first one outside of replicas."""
        return self.copies[0 if state.replica is None else state.replica.index]

    @property
    def values(self) -> tuple[Any, ...]:
        """The copies, in the order of the devices."""
        return self.copies

    @property
    def primary(self) -> Any:
        """The copy on the first device, which is saved."""
        return self.copies[0]

    @property
    def initializer(self) -> Any:
        """An operation that initializes all copies, alike."""
        return group(*[copy.initializer for copy in self.copies])

    def _all(self, method: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        """The method of each copy; the first one's result, once all are done."""
        results = []
        for i, copy in enumerate(self.copies):
            with default_graph().device(copy.device):
                results.append(getattr(copy, method)(select(value, i), *args, **kwargs))
        with default_graph().control_dependencies([getattr(r, "op", r) for r in results]):
            return identity(results[0])

    def _change(self, method: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        if state.replica is None:
            return self._all(method, value, *args, **kwargs)
        if self._on_read or len(self.copies) == 1:
            return getattr(self.get(), method)(value, *args, **kwargs)
        if self._how is VariableAggregation.NONE:
            raise ValueError(
                f"You must specify an aggregation method to update a MirroredVariable in Replica "
                f"Context: {self.op.name!r} was made without one. Give tf.Variable(..., aggregation="
                "tf.VariableAggregation.MEAN), or SUM, or ONLY_FIRST_REPLICA."
            )

        def merge(strategy: Any, given: Any) -> Any:
            reduced = reduce_by(self._how, given)
            return PerReplica([self._all(method, reduced, *args, **kwargs)] * len(self.copies))

        return state.replica.merge_call(merge, args=(value,))

    def _lazy_read(self, op: Operation) -> Any:
        return self.get()._lazy_read(op)

    def value(self) -> Any:
        """The value of the copy, or of all copies together where they are synchronized on reading."""
        if self._on_read and state.replica is None:
            return reduce_by(self._how, PerReplica([c.value() for c in self.copies]))
        return self.get().value()

    read_value = value

    def _dense_var_to_tensor(
        self, dtype: DTypeLike | None = None, name: str | None = None, as_ref: bool = False
    ) -> Any:
        if self._on_read and state.replica is None and not as_ref:
            return self.value()
        return self.get()._dense_var_to_tensor(dtype, name, as_ref)

    def load(self, value: Any, session: BaseSession | None = None) -> None:
        """Gives all copies the value."""
        for copy in self.copies:
            copy.load(value, session)

    def __repr__(self) -> str:
        return f"MirroredVariable:{list(self.copies)!r}"


def _changing(name: str) -> Callable[..., Any]:
    @functools.wraps(getattr(Variable, name))
    def change(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self._change(name, *args, **kwargs)

    return change


for _name in ("assign", "assign_add", "assign_sub", "scatter_add", "scatter_sub", "scatter_update"):
    setattr(_Copies, _name, _changing(_name))


@functools.cache
def _mirrored_class(kind: Any) -> type:
    return type("MirroredVariable", (_Copies, kind), {"__module__": __name__})


def mirrored(
    copies: list[Any],
    aggregation: Any = None,
    synchronization: Any = None,
) -> Any:
    """One variable for the copies of it on several devices."""
    kind: Any = _mirrored_class(type(copies[0]))  # type: ignore[arg-type]
    result = object.__new__(kind)
    vars(result).update(
        copies=tuple(copies),
        _on_read=synchronization is VariableSynchronization.ON_READ,
        _how=aggregation or VariableAggregation.NONE,
    )
    return result


def reduce_by(how: Any, value: Any) -> Any:
    """The values of the replicas as one tensor: their sum, their mean, or the first."""
    values = components(value)
    name = getattr(how, "name", str(how))
    if len(values) == 1 and not isinstance(value, PerReplica):
        return values[0]
    if name == "ONLY_FIRST_REPLICA" or name == "NONE":
        return values[0]
    total = add_n(list(values)) if len(values) > 1 else identity(values[0])
    return total if name == "SUM" else total / len(values)
