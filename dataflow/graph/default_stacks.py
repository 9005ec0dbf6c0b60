"""The default graph and the default session: one stack of each per thread."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dataflow.providers import provided

if TYPE_CHECKING:
    from dataflow.graph.graph import Graph
    from dataflow.runtime.base_session import BaseSession


class _Stacks(threading.local):
    def __init__(self) -> None:
        self.graphs: list[Graph] = []
        self.sessions: list[Any] = []
        #: False once an InteractiveSession was made, which may be closed in any order.
        self.sessions_nest = True


_stacks = _Stacks()
_global_graph: Graph | None = None
_global_lock = threading.Lock()


def default_graph() -> Graph:
    """The graph that new nodes go to: the innermost ``as_default()``, else the global one."""
    graphs = _stacks.graphs
    if graphs:
        return graphs[-1]
    return make_global_graph() if _global_graph is None else _global_graph


def make_global_graph() -> Graph:
    """The global graph, which is made when it is first needed."""
    global _global_graph
    with _global_lock:
        if _global_graph is None:
            _global_graph = provided("graph")()
        return _global_graph


def set_global_graph(graph: Graph | None) -> None:
    """Makes ``graph`` the default one of all threads where they are in no block; None: a new one."""
    global _global_graph
    with _global_lock:
        _global_graph = graph


def is_nested() -> bool:
    """Whether this thread is in a ``with graph.as_default():`` block."""
    return bool(_stacks.graphs)


def reset_default_graph() -> None:
    """Starts a new, empty default graph; raises `AssertionError` inside a ``with graph`` block.

    With eager execution the values stay, and so does the seed: collections, the global step and the numbers
    in layers' names begin anew.
    """
    global _global_graph
    if _stacks.graphs:
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs: leave the "
            "`with graph.as_default():` block first, or use a new tf.Graph()."
        )
    with _global_lock:
        if _global_graph is not None and _global_graph.executes_eagerly:
            _global_graph.forget_collections()  # type: ignore[attr-defined]
        else:
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


def push_session(session: BaseSession, nests: bool = True) -> None:
    """Makes ``session`` the default of this thread until `pop_session`.

    One that does not nest (an InteractiveSession) lets all of this thread go in any order.
    """
    if not nests:
        _stacks.sessions_nest = False
    _stacks.sessions.append(session)


def pop_session(session: BaseSession) -> None:
    """Takes ``session`` off the stack; raises `AssertionError` where one entered later is on it."""
    sessions = _stacks.sessions
    if _stacks.sessions_nest and session in sessions and sessions[-1] is not session:
        raise AssertionError(
            f"Nesting violated for default stack of {type(session)} objects: the block of a session "
            "that became the default later is still open. Leave the inner one first; `with` does."
        )
    _remove_last(sessions, session)


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
