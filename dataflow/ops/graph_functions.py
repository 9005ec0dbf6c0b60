"""Functions that speak to the default graph: scopes, devices, collections."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from dataflow.graph.default_stacks import default_graph
from dataflow.graph.eager import outside_symbolic_graph
from dataflow.graph.name_scopes import scope_in
from dataflow.graph.type_aliases import TensorLike


def _graph_of(values: Any) -> Any:
    """The graph that ``values`` belong to, else the default one; raises `ValueError` when mixed."""
    found: Any = None
    for value in values or ():
        graph = getattr(value, "graph", None) if not isinstance(value, (list, tuple)) else None
        if graph is None or not hasattr(graph, "get_operations"):
            continue
        if found is None:
            found = graph
        elif found is not graph:
            raise ValueError(f"{value!r} must be from the same graph as the values before it.")
    return found if found is not None else default_graph()


class name_scope:  # noqa: N801  (TensorFlow's name)
    """``with tf.name_scope("layer1"):`` prefixes the names of nodes; yields ``"layer1/"``.

    ``values`` choose the graph. With ``name=None`` the name is ``default_name``.
    """

    def __init__(self, name: Any, default_name: str | None = None, values: Any = None) -> None:
        if not (name is None or isinstance(name, str)):
            raise TypeError("name for name_scope must be a string.")
        if not (default_name is None or isinstance(default_name, str)):
            raise TypeError(
                f"default_name for name_scope must be a string, got {type(default_name).__name__}: "
                "tensors are given as values=[...]."
            )
        self._name = default_name if name is None else name
        if self._name is None and values is not None:
            raise ValueError(
                "At least one of name (None) and default_name (None) must be provided."
            )
        self._values = values
        self._stack: list[Any] = []

    @property
    def name(self) -> Any:
        """The name asked for."""
        return self._name

    def __enter__(self) -> str:
        graph = default_graph()
        scope: Any = graph.name_scope(self._name)
        if self._values and not graph.building_function:
            owner = _graph_of(self._values)
            if owner is not graph:
                scope = scope_in(owner, self._name)
        entered: str = scope.__enter__()
        self._stack.append(scope)
        return entered

    def __exit__(self, *exc: Any) -> Any:
        return self._stack.pop().__exit__(*exc)


@contextlib.contextmanager
def op_scope(values: TensorLike, name: str, default_name: str | None = None) -> Iterator[str]:
    """The old form of `name_scope`, with ``values`` first."""
    with name_scope(name, default_name, values) as scope:
        yield scope


def device(device_name_or_function: Any) -> Any:
    """``with tf.device("/cpu:0"):`` pins the nodes made inside; see `Graph.device`."""
    return default_graph().device(device_name_or_function)


def control_dependencies(control_inputs: Any) -> Any:
    """``with tf.control_dependencies([op]):`` nodes made inside run after ``op``."""
    return default_graph().control_dependencies(control_inputs)


@contextlib.contextmanager
def init_scope() -> Iterator[None]:
    """Nodes made inside wait for nothing and belong to no loop or conditional: as initializers need.

    Control dependencies and control-flow contexts around it do not count; name scopes do. In a function
    that eager code calls, what is inside is eager code.
    """
    graph = default_graph()
    with graph.control_dependencies(None):
        with outside_symbolic_graph() if graph.traces_function else contextlib.nullcontext():
            yield


def colocate_with(op: Any, ignore_existing: bool = False) -> Any:
    """Nodes made inside are placed where ``op`` is."""
    return default_graph().colocate_with(op, ignore_existing)


def container(container_name: str) -> Any:
    """Variables and queues made inside live in this container of their server."""
    return default_graph().container(container_name)


def add_to_collection(name: str, value: TensorLike) -> None:
    """Appends ``value`` to a collection of the default graph."""
    default_graph().keep_in_collection(name, value)


def add_to_collections(names: Any, value: TensorLike) -> None:
    """Appends ``value`` to several collections of the default graph."""
    for name in (names,) if isinstance(names, str) else dict.fromkeys(names):
        default_graph().keep_in_collection(name, value)


def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """The items of a collection of the default graph."""
    return default_graph().get_collection(key, scope)


def get_collection_ref(key: Any) -> list[Any]:
    """A collection of the default graph itself."""
    return default_graph().get_collection_ref(key)
