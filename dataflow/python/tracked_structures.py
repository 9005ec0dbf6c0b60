"""``tensorflow.python.training.tracking.data_structures``: what objects that are saved hold."""

from __future__ import annotations

from typing import Any

__all__ = ["NoDependency"]


class NoDependency:
    """``self.x = NoDependency(value)``: the attribute is ``value``.

    Attributes are not wrapped here, so there is nothing to keep from being wrapped.
    """

    def __new__(cls, value: Any) -> Any:
        return value
