"""``tf.contrib.checkpoint``: what object-based checkpoints of eager programs are made of."""

from __future__ import annotations

from typing import Any

from dataflow.contrib.tracked_containers import List, Mapping, TrackedContainer
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


class NoDependency:
    """``self.x = NoDependency(value)``: the attribute is ``value``; what it holds is saved none the less."""

    def __new__(cls, value: Any) -> Any:
        return value


class UniqueNameTracker(TrackedContainer, AutoTrackable):
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

    def _held(self) -> list[Any]:
        return list(self._tracked.values())


__getattr__ = explain_absent(__name__)
