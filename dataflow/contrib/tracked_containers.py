"""Lists and mappings that are parts of what is saved: they only grow, and know the weights of what they hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from dataflow.ops.trackable import is_trackable
from dataflow.ops.variables import Variable


class TrackedContainer:
    """What is read of the layers and variables that a container holds, also in lists and dicts within it."""

    #: Whether the weights count as trained; may be set.
    trainable: bool = True

    def _held(self) -> Iterable[Any]:
        """What the container holds, in order."""
        raise NotImplementedError

    @property
    def layers(self) -> list[Any]:
        """The layers, in their order."""
        return list(_layers(self._held()))

    @property
    def trainable_weights(self) -> list[Any]:
        """What is trained: the layers' weights, then the variables; nothing if ``trainable`` is False."""
        return _trained(self._held()) if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        """What is not trained."""
        others = _not_trained(self._held())
        return others if self.trainable else _trained(self._held()) + others

    @property
    def weights(self) -> list[Any]:
        """All weights, those that are trained first."""
        return self.trainable_weights + self.non_trainable_weights

    @property
    def updates(self) -> list[Any]:
        """The layers' updates."""
        return [update for layer in self.layers for update in getattr(layer, "updates", [])]

    @property
    def losses(self) -> list[Any]:
        """The layers' losses."""
        return [loss for layer in self.layers for loss in getattr(layer, "losses", [])]

    trainable_variables = trainable_weights
    non_trainable_variables = non_trainable_weights
    variables = weights

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other


def _parts(held: Iterable[Any]) -> Iterator[Any]:
    """What has weights, but for variables; a list or dict as one part."""
    for part in held:
        if _is_plain(part) or hasattr(part, "trainable_weights"):
            yield part


def _is_plain(part: Any) -> bool:
    return isinstance(part, (list, dict)) and not isinstance(part, TrackedContainer)


def _inside(part: Any) -> Iterable[Any]:
    return part.values() if isinstance(part, dict) else part


def _layers(held: Iterable[Any]) -> Iterator[Any]:
    for part in _parts(held):
        if _is_plain(part):
            yield from _layers(_inside(part))
        elif isinstance(part, TrackedContainer):
            yield from part.layers
        else:
            yield part


def _trained(held: Iterable[Any]) -> list[Any]:
    held = list(held)
    found: list[Any] = []
    for part in _parts(held):
        found += _trained(_inside(part)) if _is_plain(part) else part.trainable_weights
    return found + [v for v in held if isinstance(v, Variable) and v.trainable]


def _not_trained(held: Iterable[Any]) -> list[Any]:
    held = list(held)
    found: list[Any] = []
    for part in _parts(held):
        found += _not_trained(_inside(part)) if _is_plain(part) else part.non_trainable_weights
    return found + [v for v in held if isinstance(v, Variable) and not v.trainable]


class _Absent:
    """A method of Python's lists and dicts that containers which only grow have not."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> NoReturn:
        raise AttributeError(
            f"{owner.__name__!r} object has no attribute {self._name!r}: it only grows, so that a checkpoint has its "
            "parts in the order in which they came."
        )


def _checked(value: Any) -> Any:
    if not is_trackable(value):
        raise ValueError(
            "Only trackable objects (such as Layers or Optimizers) may be stored in a List object. Got "
            f"{value!r}, which no checkpoint holds: give a variable, a layer, a list, a dict, or an object of a class "
            "that inherits from tf.contrib.checkpoint.Checkpointable."
        )
    return value


class List(TrackedContainer, list):  # type: ignore[misc, type-arg]
    """A list that only grows, whose layers and variables are saved with the object that holds it.

    Raises `ValueError` for an element that no checkpoint holds.
    """

    def __init__(self, values: Iterable[Any] = ()) -> None:
        super().__init__([_checked(value) for value in values])

    def append(self, value: Any) -> None:
        """Adds an element."""
        super().append(_checked(value))

    def extend(self, values: Iterable[Any]) -> None:
        """Adds elements."""
        super().extend([_checked(value) for value in values])

    def copy(self) -> List:
        """A container of its own, with the same elements."""
        return type(self)(self)

    def __add__(self, other: Any) -> List:
        return type(self)([*self, *other])

    def __radd__(self, other: Any) -> List:
        return type(self)([*other, *self])

    def __iadd__(self, values: Iterable[Any]) -> List:  # type: ignore[misc]
        self.extend(values)
        return self

    def __mul__(self, n: Any) -> List:
        return type(self)(list(self) * n)

    __rmul__ = __mul__

    def __imul__(self, n: Any) -> List:
        if n <= 0:
            raise ValueError(
                f"List only supports append, multiplying in place by {n} removes elements."
            )
        self.extend(list(self) * (n - 1))
        return self

    def __contains__(self, value: object) -> bool:
        return any(value is part or _is_equal(value, part) for part in self)

    def __repr__(self) -> str:
        return f"List({list(self)!r})"

    def _held(self) -> Iterable[Any]:
        return self

    pop, remove, insert, clear, sort, reverse = (_Absent() for _ in range(6))
    __setitem__, __delitem__ = _Absent(), _Absent()


def _is_equal(value: Any, part: Any) -> bool:
    return not isinstance(part, Variable) and bool(value == part)


class Mapping(TrackedContainer, dict):  # type: ignore[misc, type-arg]
    """A dict that only grows, with texts as keys, whose layers and variables are saved with the object that holds it.

    Raises `TypeError` for other keys, `ValueError` where a key is given another value, and for a value that no
    checkpoint holds.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self.update(*args, **kwargs)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"Mapping accepts only string keys, but got a key {key!r}.")
        if self.get(key, _checked(value)) is not value:
            raise ValueError(
                f"Mappings are append-only containers: the key {key!r} has the value {self[key]!r} already."
            )
        super().__setitem__(key, value)

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Adds the pairs of a dict."""
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def __repr__(self) -> str:
        return f"Mapping({dict(self)!r})"

    def _held(self) -> Iterable[Any]:
        return [self[key] for key in sorted(self)]

    pop, popitem, clear, setdefault, __delitem__ = (_Absent() for _ in range(5))
