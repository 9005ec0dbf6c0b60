"""A value for each graph, kept by the graph itself."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

from dataflow.graph.graph import Graph

__all__ = ["PerGraph"]

T = TypeVar("T")
#: Where a graph keeps its values (`Graph.attachments`).
_VALUES = "values of owners"


class PerGraph(Generic[T]):
    """The value that its owner has in each graph: a tensor, a variable, a scope.

    Such a value refers to its graph, so a mapping from graphs to values would keep every graph alive for
    as long as the owner lives, even one with weak keys. Here the graph keeps the value and knows the
    owner weakly: each of the two may go first.
    """

    def get(self, graph: Graph, make: Callable[[], T]) -> T:
        """The value in ``graph``; ``make()`` gives it the first time."""
        values: weakref.WeakKeyDictionary[PerGraph[T], T] = graph.attachments.setdefault(
            _VALUES, weakref.WeakKeyDictionary()
        )
        if self not in values:
            values[self] = make()
        return values[self]
