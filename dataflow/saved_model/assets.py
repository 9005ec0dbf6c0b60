"""`Asset`: a file that is saved with a model."""

from __future__ import annotations

from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.ops.trackable import AutoTrackable


class TrackableAsset(AutoTrackable):
    """A file that is saved with a model; ``asset_path``: its path, a scalar string."""

    def __init__(self, path: Any) -> None:
        self._path = convert_to_tensor(path, name="asset_path")

    @property
    def asset_path(self) -> Any:
        """Its path."""
        return self._path
