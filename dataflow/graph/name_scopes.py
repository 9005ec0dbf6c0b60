"""Name scopes of functions that add several nodes, as TensorFlow's Python functions open them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from dataflow.graph.default_stacks import default_graph, use_graph


@contextlib.contextmanager
def op_scope(name: str | None, default: str, values: Iterable[Any] = ()) -> Iterator[str]:
    """Opens the scope ``name`` (or ``default``) in the graph of ``values``; yields ``"scope/"``.

    The string that is yielded, given as a node's name, gives that node the scope's own name.
    """
    graph = default_graph()
    for value in values:
        owner = getattr(value, "graph", None)
        if owner is not None and hasattr(owner, "name_scope"):
            if owner is not graph:
                with use_graph(owner), owner.name_scope(name or default) as scope:
                    yield scope
                return
            break
    with graph.name_scope(name or default) as scope:
        yield scope
