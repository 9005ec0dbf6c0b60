"""What a layer needs of those above it, by the name of the need.

A lower layer imports no higher one. Where the higher one completes it (a session that connects to a
cluster, a graph that a notebook draws), the lower one asks for what is *provided*; `dataflow/__init__.py`
says what provides each need, in one list, and that is loaded when it is first asked for.
"""

from __future__ import annotations

import importlib
from typing import Any

_providers: dict[str, Any] = {}


def provide(**providers: Any) -> None:
    """Says what provides each need from now on, in place of what did.

    A string is ``"module"`` or ``"module:name"``, loaded on first use; anything else is the object itself.
    """
    _providers.update(providers)


def provided(need: str) -> Any:
    """What provides ``need``. Raises `KeyError` where nothing does."""
    found = _providers[need]
    if isinstance(found, str):
        module, _, name = found.partition(":")
        loaded = importlib.import_module(module)
        found = _providers[need] = getattr(loaded, name) if name else loaded
    return found
