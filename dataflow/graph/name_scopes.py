"""Name scopes: of a graph, and of functions that add several nodes, as TensorFlow's open them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from dataflow.graph.default_stacks import default_graph, use_graph

if TYPE_CHECKING:
    from dataflow.graph.graph import Graph


class NameScope:
    """One ``with graph.name_scope(name):``. (A class: a generator takes twice as long to enter.)"""

    __slots__ = ("_graph", "_name", "_outer")

    def __init__(self, graph: Graph, name: str | None) -> None:
        self._graph = graph
        self._name = name
        self._outer = ""

    @property
    def name(self) -> str | None:
        """The name asked for."""
        return self._name

    def __enter__(self) -> str:
        graph = self._graph
        new = graph.scope_name(self._name)
        self._outer = graph.name_stack
        graph.name_stack = new
        return new + "/" if new or self._name else ""

    def __exit__(self, *exc: object) -> None:
        self._graph.name_stack = self._outer


def op_scope(
    name: str | None, default: str, values: Iterable[Any] = ()
) -> contextlib.AbstractContextManager[str]:
    """Opens the scope ``name`` (or ``default``) in the graph of ``values``; yields ``"scope/"``.

    The string that is yielded, given as a node's name, gives that node the scope's own name.
    """
    graph = default_graph()
    if graph.building_function:  # a function's own nodes, whatever they take from outside
        return graph.name_scope(name or default)
    for value in values:
        owner = getattr(value, "graph", None)
        if owner is not None and hasattr(owner, "name_scope"):
            if owner.executes_eagerly and not graph.executes_eagerly:
                continue  # a variable of eager code, which a graph reads
            if owner is not graph:
                return scope_in(owner, name or default)
            break
    return graph.name_scope(name or default)


@contextlib.contextmanager
def scope_in(graph: Graph, name: str | None) -> Iterator[str]:
    """A scope of ``graph``, which is the default one inside the block."""
    with use_graph(graph), graph.name_scope(name) as scope:
        yield scope
