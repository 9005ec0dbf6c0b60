"""Python functions that nodes call, by token. A function lives as long as the graph it is in."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

_functions: weakref.WeakValueDictionary[str, _Holder] = weakref.WeakValueDictionary()


class _Holder:
    __slots__ = ("__weakref__", "function")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function


def register_function(graph: Any, token: str, function: Callable[..., Any]) -> None:
    """Keeps ``function`` under ``token`` for the life of ``graph``."""
    holder = _Holder(function)
    graph.attachments.setdefault("python_functions", []).append(holder)
    _functions[token] = holder


def num_functions() -> int:
    """How many functions there are, of graphs that still live."""
    return len(_functions)


def find_function(token: str) -> Callable[..., Any] | None:
    """The function, or ``None`` when its graph is gone or it belongs to another process."""
    holder = _functions.get(token)
    return None if holder is None else holder.function
