"""`tf.contrib.eager.Network`: a layer made of layers, the form of models before `tf.keras.Model`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from dataflow.layers.base import Layer
from dataflow.ops.variable_scope import variable_scope
from dataflow.ops.variable_store import AUTO_REUSE


def _own_name(layer: Layer) -> str:
    """The layer's name within the network: the last part of its scope."""
    try:
        return layer.scope_name.rpartition("/")[2]
    except ValueError:  # it has not been called yet
        return layer.name


class Network(Layer):
    """Subclasses register their layers with `track_layer`, and connect them in ``call``.

    Variables are named below the network (``my_net/dense/kernel``), whose name comes from the
    class, or is ``name``. Raises `ValueError` for a name with slashes.
    """

    def __init__(self, name: str | None = None) -> None:
        if name is not None and "/" in name:
            raise ValueError("Forward slashes ('/') are not allowed in Network names.")
        super().__init__(name=name)
        self._layers: list[Layer] = []

    def track_layer(self, layer: Layer) -> Layer:
        """Registers the layer, so that its variables belong to the network, and returns it.

        Raises `TypeError` for anything but a layer, `RuntimeError` before ``Network.__init__``.
        """
        if not hasattr(self, "_layers"):
            raise RuntimeError("Need to call Network.__init__ before adding layers")
        if not isinstance(layer, Layer):
            raise TypeError(
                f"Network.track_layer() passed type {type(layer)}, not a tf.layers.Layer"
            )
        self._layers.append(layer)
        return layer

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        self._set_scope(None)
        with variable_scope(self._scope, reuse=AUTO_REUSE, auxiliary_name_scope=False):
            outputs = self.call(inputs, *args, **kwargs)
        self.built = True
        return outputs

    @property
    def name(self) -> str:
        """The network's name; raises `ValueError` before it is called, where none was given."""
        if self._scope is None and self._given_name is None:
            raise ValueError(
                "The network does not yet have a final name, but a name was requested for it. "
                "Networks get a name when they are first called."
            )
        return self._given_name or "" if self._scope is None else self.scope_name

    @property
    def layers(self) -> list[Layer]:
        """The layers, in the order in which they were tracked."""
        return list(self._layers)

    def get_layer(self, name: str | None = None, index: int | None = None) -> Layer:
        """A layer by its name within the network, or by its index.

        Raises `ValueError` where there is none, or where not exactly one of the two is given.
        """
        if index is not None and name is not None:
            raise ValueError("Exactly one of 'index' or 'name' must be provided")
        if index is not None:
            if index >= len(self._layers):
                raise ValueError(
                    f"Was asked to retrieve layer at index {index} but model only has "
                    f"{len(self._layers)} layers."
                )
            return self._layers[index]
        if not name:
            raise ValueError("Provide either a layer name or layer index.")
        for layer in self._layers:
            if _own_name(layer) == name:
                return layer
        raise ValueError(f"No such layer: {name}")

    @property
    def trainable_weights(self) -> list[Any]:
        """Variables that training changes."""
        if not self.trainable:
            return []
        return [w for layer in self._layers for w in layer.trainable_weights]

    @property
    def non_trainable_weights(self) -> list[Any]:
        """Variables that training leaves alone."""
        trained = {id(w) for w in self.trainable_weights}
        return [w for w in self.weights if id(w) not in trained]

    @property
    def weights(self) -> list[Any]:
        """All variables."""
        return [w for layer in self._layers for w in layer.weights]

    trainable_variables = trainable_weights
    non_trainable_variables = non_trainable_weights
    variables = weights

    @property
    def losses(self) -> list[Any]:
        """The losses of the layers, such as regularizers'."""
        return [loss for layer in self._layers for loss in layer.losses]

    @property
    def updates(self) -> list[Any]:
        """The updates of the layers, such as moving averages'."""
        return [update for layer in self._layers for update in layer.updates]


class Sequential(Network):
    """Layers, and functions of a tensor, one after another."""

    def __init__(
        self, layers_funcs: Sequence[Callable[..., Any]] | None = None, name: str | None = None
    ) -> None:
        super().__init__(name)
        self._steps: list[tuple[Callable[..., Any], bool]] = []
        for step in layers_funcs or []:
            self.add(step)

    def add(self, layer_func: Callable[..., Any]) -> None:
        """Appends a layer or function, which is passed ``training`` if it takes it; `TypeError` if not callable."""
        if isinstance(layer_func, Layer):
            self.track_layer(layer_func)
            names = inspect.signature(layer_func.call).parameters
        elif callable(layer_func):
            names = {}  # type: ignore[assignment]
        else:
            raise TypeError(
                f"Sequential.add() takes only tf.layers.Layer objects or callables; not {layer_func!r}"
            )
        self._steps.append((layer_func, "training" in names))

    def call(self, inputs: Any, training: Any = None) -> Any:
        """The output of the last layer."""
        for step, told in self._steps:
            inputs = step(inputs, training=training) if told else step(inputs)
        return inputs
