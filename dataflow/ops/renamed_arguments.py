"""Arguments that TensorFlow 1 has under two names."""

from __future__ import annotations

from typing import Any


def renamed(new_name: str, new: Any, old_name: str, old: Any) -> Any:
    """The argument under either of its two names; raises `ValueError` when both are given."""
    if new is not None:
        if old is not None:
            raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'.")
        return new
    return old
