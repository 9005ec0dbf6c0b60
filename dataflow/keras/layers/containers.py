"""A layer made of others: their weights, losses and updates are its own."""

from __future__ import annotations

from typing import Any

from dataflow.keras.base_layer import Layer


class LayerOfLayers(Layer):
    """Say in `_inner` which layers are within."""

    def _inner(self) -> list[Any]:
        raise NotImplementedError

    @property
    def trainable_weights(self) -> list[Any]:
        return [w for x in self._inner() for w in x.trainable_weights] if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        if not self.trainable:
            return self.weights
        return [w for x in self._inner() for w in x.non_trainable_weights]

    @property
    def weights(self) -> list[Any]:
        return [w for x in self._inner() for w in x.weights]

    @property
    def losses(self) -> list[Any]:
        return [*self._losses, *(loss for x in self._inner() for loss in x.losses)]

    @property
    def updates(self) -> list[Any]:
        return [*self._updates, *(u for x in self._inner() for u in x.updates)]

    variables = weights
    trainable_variables = trainable_weights
    non_trainable_variables = non_trainable_weights
