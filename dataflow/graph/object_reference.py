"""`Reference`: a key that stands for one object, whatever the object makes of ``==`` and of its hash."""

from __future__ import annotations

from typing import Any


class Reference:
    """Stands for ``wrapped``: equal to another reference of the same object, and hashed by its identity."""

    __slots__ = ("_wrapped",)

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    def deref(self) -> Any:
        """The object."""
        return self._wrapped

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Reference):
            raise TypeError("Cannot compare wrapped object with unwrapped object")
        return self._wrapped is other._wrapped

    def __hash__(self) -> int:
        return id(self._wrapped)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} wrapping {self._wrapped!r}>"
