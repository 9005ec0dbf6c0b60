"""Graphs that several threads build, each in scopes of its own: `Graph.switch_to_thread_local`."""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataflow.graph.graph import Graph

KEY = "scopes_of_threads"
_NAMES = (
    "device_stack",
    "current_device",
    "_device_is_dynamic",
    "control_stack",
    "_colocation_stack",
)


class _Scopes(threading.local):
    """What is in force for a thread's nodes; each begins with what was in force at the switch."""

    def __init__(self, at_the_switch: dict[str, Any]) -> None:
        vars(self).update(at_the_switch)


def _of_thread(name: str) -> Any:
    def get(graph: Graph) -> Any:
        return getattr(graph.attachments[KEY], name)

    def put(graph: Graph, value: Any) -> None:
        setattr(graph.attachments[KEY], name, value)

    return property(get, put)


@functools.cache
def _scoped(kind: Any) -> type:
    """The graphs of class ``kind`` whose scopes belong to threads.

    A class of its own, so that building in one thread, as everybody does, pays nothing for it.
    """
    return type(kind.__name__, (kind,), {name: _of_thread(name) for name in _NAMES})


def switch(graph: Graph) -> None:
    """Gives each thread scopes of its own in ``graph``, from now on. A second time changes nothing."""
    if KEY not in graph.attachments:
        state = vars(graph)
        graph.attachments[KEY] = _Scopes({name: state.pop(name) for name in _NAMES})
        kind: Any = type(graph)
        graph.__class__ = _scoped(kind)
