"""Names that a module or class had, and has no longer."""

from __future__ import annotations

from typing import Any


def put_missing(owner: Any, **names: Any) -> None:
    """Gives ``owner`` those of ``names`` that it lacks."""
    for name, value in names.items():
        if not hasattr(owner, name):
            setattr(owner, name, value)
