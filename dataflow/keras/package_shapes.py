"""Shapes as the package ``keras`` gives them to layers: tuples of whole numbers and None."""

from __future__ import annotations

from typing import Any

from dataflow.shapes import TensorShape


class _Size(int):
    """A size of an axis. Layers written for `tf.keras` beside the package ask for its ``value``."""

    @property
    def value(self) -> int:
        """The size."""
        return int(self)


class _Sizes(tuple[Any, ...]):
    """A shape, which can also be asked as a `TensorShape` is."""

    __slots__ = ()

    @property
    def ndims(self) -> int:
        """The number of axes."""
        return len(self)

    def as_list(self) -> list[int | None]:
        """The sizes."""
        return [None if size is None else int(size) for size in self]


def plain_shape(shape: TensorShape) -> Any:
    """``shape`` as a tuple; itself where its rank is unknown."""
    if shape.ndims is None:
        return shape
    return _Sizes(None if size is None else _Size(size) for size in shape.as_list())


def is_ours(thing: Any) -> bool:
    """Whether a function or class is the engine's, not a program's."""
    return (getattr(thing, "__module__", None) or "").partition(".")[0] == "dataflow"
