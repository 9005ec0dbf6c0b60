"""The default graph and the default session: one stack of each per thread."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataflow.graph.graph import Graph


class _Stacks(threading.local):
    def __init__(self) -> None:
        self.graphs: list[Graph] = []
        self.sessions: list[Any] = []


_stacks = _Stacks()
_global_graph: Graph | None = None
_global_lock = threading.Lock()


def default_graph() -> Graph:
    """The graph that new nodes go to: the innermost ``as_default()``, else the global one."""
    graphs = _stacks.graphs
    if graphs:
        return graphs[-1]
    return _make_global_graph() if _global_graph is None else _global_graph


def _make_global_graph() -> Graph:
    global _global_graph
    with _global_lock:
        if _global_graph is None:
            from dataflow.graph.graph import Graph

            _global_graph = Graph()
        return _global_graph


def reset_default_graph() -> None:
    """Starts a new, empty default graph; raises `AssertionError` inside a ``with graph`` block."""
    global _global_graph
    if _stacks.graphs:
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs: leave the "
            "`with graph.as_default():` block first, or use a new tf.Graph()."
        )
    with _global_lock:
        _global_graph = None


@contextlib.contextmanager
def use_graph(graph: Graph) -> Iterator[Graph]:
    """Makes ``graph`` the default inside the block."""
    _stacks.graphs.append(graph)
    try:
        yield graph
    finally:
        _remove_last(_stacks.graphs, graph)


def default_session() -> Any:
    """The innermost default session of this thread, or ``None``."""
    sessions = _stacks.sessions
    return sessions[-1] if sessions else None


def push_session(session: Any) -> None:
    """Makes ``session`` the default of this thread until `pop_session`."""
    _stacks.sessions.append(session)


def pop_session(session: Any) -> None:
    """Takes ``session`` off the stack, wherever it stands (an InteractiveSession may be below)."""
    _remove_last(_stacks.sessions, session)


def push_graph(graph: Graph) -> None:
    """Makes ``graph`` the default of this thread until `pop_graph`."""
    _stacks.graphs.append(graph)


def pop_graph(graph: Graph) -> None:
    """Takes ``graph`` off the stack."""
    _remove_last(_stacks.graphs, graph)


def swap(stacks: tuple[list[Graph], list[Any]] | None) -> tuple[list[Graph], list[Any]]:
    """Exchanges both stacks of this thread for others (None: empty ones) and returns those it had."""
    former = _stacks.graphs, _stacks.sessions
    _stacks.graphs, _stacks.sessions = stacks if stacks is not None else ([], [])
    return former


def _remove_last(stack: list[Any], item: Any) -> None:
    for i in range(len(stack) - 1, -1, -1):
        if stack[i] is item:
            del stack[i]
            return
