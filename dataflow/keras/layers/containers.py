"""A layer made of others, which it names itself."""

from __future__ import annotations

from typing import Any

from dataflow.keras.base_layer import Layer


class LayerOfLayers(Layer):
    """Say in `_inner` which layers are within: their weights, losses and updates are its own."""

    def _inner(self) -> list[Any]:
        raise NotImplementedError

    def sublayers(self) -> list[Any]:
        return self._inner()
