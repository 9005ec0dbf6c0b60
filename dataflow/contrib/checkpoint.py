"""``tf.contrib.checkpoint``: what object-based checkpoints of eager programs are made of."""

from __future__ import annotations

from typing import Any

from dataflow.namespaces import explain_absent
from dataflow.ops.trackable import AutoTrackable, PythonState, is_trackable
from dataflow.train import CheckpointManager
from dataflow.train.object_graph import list_objects

__all__ = [
    "CheckpointManager",
    "Checkpointable",
    "CheckpointableBase",
    "List",
    "Mapping",
    "NoDependency",
    "PythonStateWrapper",
    "UniqueNameTracker",
    "list_objects",
]

Checkpointable = CheckpointableBase = AutoTrackable
PythonStateWrapper = PythonState


class _HasLayers:
    """What is read of the layers among the parts of a container."""

    def _parts(self) -> list[Any]:
        raise NotImplementedError

    @property
    def layers(self) -> list[Any]:
        """The layers, in their order."""
        return [part for part in self._parts() if hasattr(part, "trainable_weights")]

    def _weights(self, name: str) -> list[Any]:
        return [w for layer in self.layers for w in getattr(layer, name)]

    @property
    def trainable_weights(self) -> list[Any]:
        """The weights of the layers that are trained."""
        return self._weights("trainable_weights")

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The weights of the layers that are not."""
        return self._weights("non_trainable_weights")

    @property
    def weights(self) -> list[Any]:
        """All weights of the layers."""
        return self._weights("weights")

    trainable_variables = trainable_weights
    variables = weights


class List(_HasLayers, list):  # type: ignore[type-arg]
    """A list whose layers and variables are saved with the object that holds it: ``List([a, b])`` or ``List(a, b)``."""

    def __init__(self, *values: Any) -> None:
        only = values[0] if len(values) == 1 else None
        super().__init__(only if isinstance(only, (list, tuple)) else values)

    def _parts(self) -> list[Any]:
        return list(self)


class Mapping(_HasLayers, dict):  # type: ignore[type-arg]
    """A dict with texts as keys, whose layers and variables are saved with the object that holds it.

    Raises `TypeError` for other keys, `ValueError` where a key is given another value.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"Mapping accepts only string keys, but got a key {key!r}.")
        if self.get(key, value) is not value:
            raise ValueError(
                f"Mappings are append-only containers: the key {key!r} has the value {self[key]!r} already."
            )
        super().__setitem__(key, value)

    def _parts(self) -> list[Any]:
        return list(self.values())


class NoDependency:
    """``self.x = NoDependency(value)``: the attribute is ``value``; what it holds is saved none the less."""

    def __new__(cls, value: Any) -> Any:
        return value


class UniqueNameTracker(_HasLayers, AutoTrackable):
    """Keeps variables and layers under the names that are hinted at, made unique: ``x``, ``x_1``."""

    def __init__(self) -> None:
        self._tracked: dict[str, Any] = {}

    def track(self, trackable: Any, base_name: str) -> Any:
        """Keeps ``trackable`` under ``base_name``, or that with a number; returns it.

        Raises `ValueError` for something that a checkpoint cannot hold.
        """
        if not is_trackable(trackable):
            raise ValueError(
                f"Expected a trackable value, got {trackable!r}: give a variable, a layer, or an object of a "
                "class that inherits from tf.contrib.checkpoint.Checkpointable."
            )
        name, count = base_name, 0
        while name in self._tracked:
            count += 1
            name = f"{base_name}_{count}"
        self._tracked[name] = trackable
        return trackable

    def checkpoint_parts(self) -> list[tuple[str, Any]]:
        """What is kept, by name."""
        return list(self._tracked.items())

    def _parts(self) -> list[Any]:
        return list(self._tracked.values())


__getattr__ = explain_absent(__name__)
