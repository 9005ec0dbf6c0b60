"""What checkpoints of objects hold: which parts an object has, and under which names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.variables import Variable
from dataflow.shapes import TensorShape


class TrackableReference(NamedTuple):
    """A part of an object that is saved: its name there, and the part."""

    name: str
    ref: Any


#: The attribute with the parts that were named.
_NAMED = "_named_checkpoint_parts"


class NamedParts:
    """What objects with parts for checkpoints have beside their attributes: parts that were named."""

    @property
    def _unconditional_dependency_names(self) -> dict[str, Any]:
        """The parts that were named with `_track_trackable`: classes of libraries read it and add to it."""
        return self.__dict__.setdefault(_NAMED, {})  # type: ignore[no-any-return]

    @property
    def _unconditional_checkpoint_dependencies(self) -> list[Any]:
        return [TrackableReference(*part) for part in self._unconditional_dependency_names.items()]

    def _track_trackable(self, trackable: Any, name: str, overwrite: bool = False) -> Any:
        """Has checkpoints save ``trackable``, which is returned, under ``name``.

        Raises `ValueError` where another part has the name, unless ``overwrite``.
        """
        named = self._unconditional_dependency_names
        if named.get(name, trackable) is not trackable and not overwrite:
            raise ValueError(
                f"Called Trackable._track_trackable() with name={name!r}, but another part of this "
                f"{type(self).__name__} has that name. Give it another name, or overwrite=True."
            )
        named[name] = trackable
        return trackable

    def _no_dependency(self, value: Any) -> Any:
        """``value``: what classes of libraries wrap around attributes that are no parts."""
        return value


def named_parts(value: Any) -> dict[str, Any]:
    """The parts of ``value`` that were named with ``_track_trackable``."""
    return vars(value).get(_NAMED, {})  # type: ignore[no-any-return]


class AutoTrackable(NamedParts):
    """A base for classes whose attributes `tf.train.Checkpoint` saves.

    Attributes that hold variables, layers, optimizers, other such objects, or lists and dicts of
    these, are found when a checkpoint is written or read.
    """

    def checkpoint_parts(self) -> Iterable[tuple[str, Any]]:
        """(name, part) of what a checkpoint saves of this object."""
        named = named_parts(self)
        found = parts_in_attributes(self)
        return [*named.items(), *found] if named else found

    def _lookup_dependency(self, name: str) -> Any:
        """The part of this name, or None; a subclass may make one that only the checkpoint has."""
        return dict(self.checkpoint_parts()).get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        """As ever; ``self.x = self.x`` is passed over, also where x is a property, as in TensorFlow."""
        try:
            super().__setattr__(name, value)
        except AttributeError:
            now = getattr(self, name, None)
            if now is not value and not (isinstance(now, TensorShape) and _is_like(now, value)):
                raise


class PythonState(AutoTrackable):
    """A base class for Python state that is saved with an object-based checkpoint although it is not a variable.

    Subclasses define ``serialize()``, which gives bytes when a checkpoint is written, and
    ``deserialize(string_value)``, which gets them when one is restored: at once, also in graph mode.
    """

    def serialize(self) -> bytes | str:
        """What a checkpoint keeps."""
        raise NotImplementedError(f"{type(self).__name__} has to define serialize().")

    def deserialize(self, string_value: bytes) -> None:
        """Takes what `serialize` gave."""
        raise NotImplementedError(f"{type(self).__name__} has to define deserialize().")


def _is_like(shape: TensorShape, other: Any) -> bool:
    """Whether both are the same shape, known as far; a tensor's ``shape`` is made anew each time."""
    return isinstance(other, TensorShape) and str(shape) == str(other)


def is_trackable(value: Any) -> bool:
    """Whether a checkpoint of objects can hold ``value``: it has variables, or parts that have.

    An object with parts has a method ``checkpoint_parts``.
    """
    if isinstance(value, dict):
        return all(isinstance(k, str) for k in value)
    return isinstance(value, list) or _is_object(value)


def _is_object(value: TensorLike) -> bool:
    return isinstance(value, Variable) or hasattr(type(value), "checkpoint_parts")


def parts_in_attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """Attributes that hold trackable things, in the order in which they were first set."""
    for name, part in list(vars(value).items()):
        if name == _NAMED:
            continue
        if _is_object(part) or (is_trackable(part) and _holds_something(part, set())):
            yield name, part


def _holds_something(part: Any, seen: set[int]) -> bool:
    if not isinstance(part, (list, dict)):
        return _is_object(part)
    if id(part) in seen:
        return False
    seen.add(id(part))
    items = part.values() if isinstance(part, dict) else part
    return any(_holds_something(item, seen) for item in items)


def parts_of(value: Any) -> list[tuple[str, Any]]:
    """(name, part) of the trackable parts of ``value``; a name stands for its last part.

    Raises `NotImplementedError` for a class that says that no checkpoint holds its objects.
    """
    found: Iterable[tuple[str, Any]]
    if getattr(type(value), "is_in_no_checkpoint", False):
        raise NotImplementedError(
            f"{type(value).__name__} derives from NotTrackable: no checkpoint holds its objects. Leave it out of the "
            "Checkpoint, and of the attributes of what it saves."
        )
    if isinstance(value, Variable):
        found = ()
    elif isinstance(value, list):
        found = ((str(i), item) for i, item in enumerate(value) if is_trackable(item))
    elif isinstance(value, dict):
        found = ((k, item) for k, item in value.items() if is_trackable(item))
    else:
        found = value.checkpoint_parts()
    return list(dict(found).items())


def part_to_restore(value: Any, name: str, parts: dict[str, Any]) -> Any:
    """The part that gets what a checkpoint has under ``name``: one of ``parts``, or None.

    Classes of libraries define ``_lookup_dependency(name)`` to make parts that only the checkpoint has.
    """
    if name in parts or not hasattr(value, "_lookup_dependency"):
        return parts.get(name)
    return value._lookup_dependency(name)
