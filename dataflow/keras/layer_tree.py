"""The parts of a layer: the layers, metrics and variables that its attributes hold."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from typing import Any

from dataflow.keras.autocast_variables import AutoCastVariable
from dataflow.layers.base import Layer
from dataflow.ops.trackable import AutoTrackable, parts_in_attributes
from dataflow.ops.variables import Variable


def distinct(items: Iterable[Any]) -> list[Any]:
    """``items`` in order, each object once (tensors and variables compare by name of their own)."""
    seen: set[int] = set()
    return [item for item in items if not (id(item) in seen or seen.add(id(item)))]  # type: ignore[func-returns-value]


def _leaves(value: Any) -> Iterator[Any]:
    """What lists, tuples and dicts within each other hold."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


class LayerTree:
    """Attributes that hold layers or variables, or lists and dicts of them, make them parts.

    They are looked up when they are asked for, so a list may be filled after it was assigned.
    """

    #: Attributes that make nothing a part, whatever they hold.
    not_parts: frozenset[str] = frozenset(
        {"_trainable_weights", "_non_trainable_weights", "_initial_weights", "_nodes", "_calls"}
        | {"_updates", "_losses", "_penalties", "_added_metrics", "_kept_states", "_state_updates"}
    )

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "trainable" and "trainable" in self.__dict__:
            for layer in self.sublayers():
                layer.trainable = value
        holds = isinstance(value, (list, tuple, dict, Variable, Layer))
        if holds and name not in self.not_parts:
            self.__dict__.setdefault("_part_names", {})[name] = None
        super().__setattr__(name, value)

    def _parts(self) -> Iterator[Any]:
        for name in list(self.__dict__.get("_part_names", ())):
            yield from _leaves(self.__dict__.get(name))

    def sublayers(self) -> list[Any]:
        """The layers (and models) directly within, in the order of the attributes; no metrics."""
        return distinct(p for p in self._parts() if isinstance(p, Layer) and not _is_metric(p))

    def own_metrics(self) -> list[Any]:
        """The metrics directly within."""
        return distinct(p for p in self._parts() if _is_metric(p))

    def own_variables(self, trainable: bool) -> list[Any]:
        """Variables that `add_weight` did not make: attributes of the layer."""
        found = (p for p in self._parts() if isinstance(p, Variable))
        return [v for v in distinct(found) if bool(v.trainable) is trainable]

    def gathered(self, what: str) -> list[Any]:
        """The lists in the attribute ``what`` of the layers within, joined."""
        return distinct(item for layer in self.sublayers() for item in getattr(layer, what, ()))

    def checkpoint_parts(self) -> Iterable[tuple[str, Any]]:
        """(name, part) of what a checkpoint of objects saves: weights and attributes."""
        yield from super().checkpoint_parts()  # type: ignore[misc]
        for name, part in parts_in_attributes(self):
            if name not in self.not_parts:
                yield name, part
        for name, part in vars(self).items():
            if isinstance(part, AutoCastVariable):
                yield name, part.variable

    @property
    def submodules(self) -> tuple[Any, ...]:
        """All nested layers."""
        found: list[Any] = []
        for layer in self.sublayers():
            found += [layer, *getattr(layer, "submodules", ())]
        return tuple(distinct(found))


def _is_metric(value: Any) -> bool:
    from dataflow.keras.base_metric import Metric

    return isinstance(value, Metric)


#: Objects that TensorFlow's layers have within and ours do not, by layer.
_inner_parts: weakref.WeakKeyDictionary[Any, AutoTrackable] = weakref.WeakKeyDictionary()


def inner_part(layer: Any, **parts: Any) -> AutoTrackable:
    """An object that stands for one within ``layer``, the same each time, with these parts."""
    part = _inner_parts.setdefault(layer, AutoTrackable())
    vars(part).update({k: v for k, v in parts.items() if v is not None})
    return part
