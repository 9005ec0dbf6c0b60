"""Fetches: any nesting of tensors, operations and names, flattened and put together again."""

from __future__ import annotations

import inspect
import numbers
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor

if TYPE_CHECKING:
    from dataflow.graph.graph import Graph
    from dataflow.runtime.base_session import BaseSession


#: type -> (function(fetch) -> (list of tensors, rebuild(list of values) -> value))
_expanders: list[tuple[Any, Callable[[Any], tuple[list[Any], Callable[[list[Any]], Any]]]]] = []


def register_fetch_expander(base_type: type, function: Callable[[Any], Any]) -> None:
    """Fetches of ``base_type`` stand for several tensors: ``function(f) -> (parts, rebuild)``."""
    _expanders.insert(0, (base_type, function))


#: Op types whose fetched value is wrapped for the user: f(tensor, value, session).
_wrappers: dict[str, Callable[[Tensor, Any, Any], Any]] = {}


def register_fetch_wrapper(op_type: str, function: Callable[[Tensor, Any, Any], Any]) -> None:
    """Fetched values of ops of this type are wrapped by ``function``."""
    _wrappers[op_type] = function


def cache_key(fetches: Any) -> Any:
    """A hashable key that is equal for equal fetches; raises `TypeError` where there is none."""
    kind = type(fetches)
    if kind is Tensor or kind is Operation or kind is str:
        return fetches
    if isinstance(fetches, (list, tuple)):
        return (kind, *[cache_key(f) for f in fetches])
    if isinstance(fetches, Mapping):
        return (kind, tuple(fetches), *[cache_key(f) for f in fetches.values()])
    hash(fetches)
    return fetches


class FetchPlan:
    """The requirements of a fetch structure: ``tensors`` and ``operations`` (unique), and how to rebuild."""

    def __init__(self, graph: Graph, fetches: Any, session: BaseSession | None = None) -> None:
        self.tensors: list[Tensor] = []
        self.operations: list[Operation] = []
        self._graph = graph
        self._session = session
        self._fetches = fetches
        self._positions: dict[Tensor, int] = {}
        self.rebuild: Callable[[list[Any]], Any] = self._compile(fetches)
        self.names = [t.name for t in self.tensors] + [o.name for o in self.operations]

    def _compile(self, fetch: Any) -> Callable[[list[Any]], Any]:
        if fetch is None:
            raise TypeError(
                f"Fetch argument {fetch!r} has invalid type {type(fetch)}{_why_none(self._fetches)}"
            )
        if isinstance(fetch, Mapping):
            keys = list(fetch)
            parts = [self._compile(f) for f in fetch.values()]
            kind: Any = type(fetch)

            def rebuild_mapping(values: list[Any]) -> Any:
                pairs = [(k, p(values)) for k, p in zip(keys, parts, strict=True)]
                if kind is dict:
                    return dict(pairs)
                if isinstance(fetch, defaultdict):
                    return defaultdict(fetch.default_factory, pairs)
                return kind(pairs)

            return rebuild_mapping
        for base, expand in _expanders:
            if isinstance(fetch, base):
                members, rebuild_members = expand(fetch)
                parts = [self._compile(m) for m in members]
                return lambda values: rebuild_members([p(values) for p in parts])
        if isinstance(fetch, (list, tuple)):
            parts = [self._compile(f) for f in fetch]
            if isinstance(fetch, tuple) and hasattr(fetch, "_fields"):
                named: Any = type(fetch)
                return lambda values: named(*[p(values) for p in parts])
            if isinstance(fetch, tuple):
                return lambda values: tuple([p(values) for p in parts])
            return lambda values: [p(values) for p in parts]
        if hasattr(fetch, "__attrs_attrs__"):
            names = [a.name for a in fetch.__attrs_attrs__]
            parts = [self._compile(getattr(fetch, n)) for n in names]
            made: Any = type(fetch)
            return lambda values: made(**{n: p(values) for n, p in zip(names, parts, strict=True)})
        return self._compile_leaf(fetch)

    def _compile_leaf(self, fetch: Any) -> Callable[[list[Any]], Any]:
        try:
            element = self._graph.as_graph_element(fetch)
        except TypeError as e:
            raise TypeError(
                f"Fetch argument {fetch!r} has invalid type {type(fetch)}, "
                f"must be a string or Tensor. ({e}){_hint_for(fetch)}"
            ) from e
        except (ValueError, KeyError) as e:
            raise ValueError(
                f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({e.args[0]})"
            ) from e
        if not self._graph.is_fetchable(element):
            raise ValueError(f"Operation {element.name!r} has been marked as not fetchable.")
        if isinstance(element, Operation):
            if element not in self.operations:
                self.operations.append(element)
            return _nothing
        position = self._positions.setdefault(element, len(self.tensors))
        if position == len(self.tensors):
            self.tensors.append(element)
        wrap = _wrappers.get(element.op.type)
        if wrap is not None:
            session = self._session
            return lambda values: wrap(element, values[position], session)
        return lambda values: values[position]


def _hint_for(fetch: Any) -> str:
    """What to do about a value that was fetched, as after ``loss = sess.run(loss)``, or a function that was not called."""
    if inspect.isroutine(fetch):
        return (
            f"\n  This is a function, and was not called: {fetch.__name__}() gives what can be run."
        )
    if not isinstance(fetch, (np.ndarray, np.generic, numbers.Number)):
        return ""
    return (
        "\n  This is a value, not a node of the graph. Was a run's result given the node's name, as in "
        "`loss = sess.run(loss)`? Give it another name, and build the graph again."
    )


def _why_none(fetches: Any) -> str:
    """Where in the fetches None stands, and how it may have come there."""
    path = _path_to_none(fetches) or ""
    return (
        f"\n  fetches{path} is None. tf.gradients gives None for what the loss does not depend on, "
        "sess.run for an operation such as an optimizer's step, and a function without `return`, as print is. "
        "Fetch a tensor or an operation."
    )


def _path_to_none(part: Any) -> str | None:
    """How to come from ``part`` to the None in it, as ``[1]['loss']``; None where there is none."""
    if part is None:
        return ""
    pairs: Any = ()
    if isinstance(part, Mapping):
        pairs = part.items()
    elif isinstance(part, (list, tuple)):
        pairs = enumerate(part)
    for key, inner in pairs:
        if (path := _path_to_none(inner)) is not None:
            return f"[{key!r}]{path}"
    return None


def _nothing(values: list[Any]) -> None:
    return None
