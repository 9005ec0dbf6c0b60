"""Layers around a layer."""

from __future__ import annotations

from typing import Any

from dataflow.keras.base_layer import Layer
from dataflow.keras.layers.containers import LayerOfLayers
from dataflow.keras.serialization import serialize
from dataflow.ops import array


def _made(layer: Any) -> Any:
    if isinstance(layer, dict):
        from dataflow.keras.layers import deserialize

        return deserialize(layer)
    if not isinstance(layer, Layer):
        raise ValueError(f"A wrapper needs a layer of tf.keras.layers, got {layer!r}.")
    return layer


class Wrapper(LayerOfLayers):
    """A layer that contains another one."""

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        self.layer = _made(layer)
        super().__init__(**kwargs)

    def _inner(self) -> list[Any]:
        return [self.layer]

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self.own_config()}


class TimeDistributed(Wrapper):
    """The layer, applied to every step of [batch, steps, ...]."""

    def call(self, inputs: Any, training: Any = None) -> Any:
        static = inputs.shape.as_list()
        sizes = array.shape(inputs)
        flat = array.reshape(inputs, array.concat([[-1], sizes[2:]], 0))
        flat.set_shape([None, *static[2:]])
        takes = "training" in self.layer._call_arguments()
        outputs = self.layer(flat, training=training) if takes else self.layer(flat)
        inner = outputs.shape.as_list()[1:]
        result = array.reshape(outputs, array.concat([sizes[:2], array.shape(outputs)[1:]], 0))
        result.set_shape([*static[:2], *inner])
        return result

    supports_masking = True


class Bidirectional(Wrapper):
    """A recurrent layer forwards and a copy of it backwards; ``merge_mode`` says how they join.

    "concat", "sum", "mul", "ave", or ``None`` for a list of both.
    """

    def __init__(
        self, layer: Any, merge_mode: Any = "concat", weights: Any = None, **kwargs: Any
    ) -> None:
        layer = _made(layer)
        if merge_mode not in ("concat", "sum", "mul", "ave", None):
            raise ValueError(
                "Invalid merge mode. Merge mode should be one of concat, sum, mul, ave, None; "
                f"got {merge_mode!r}."
            )
        if not hasattr(layer, "go_backwards"):
            raise ValueError(f"Bidirectional needs a recurrent layer, got {layer!r}.")
        config = layer.get_config()
        config.update(name="backward_" + layer.name, go_backwards=not layer.go_backwards)
        forward = layer.get_config()
        forward.update(name="forward_" + layer.name)
        self.forward_layer = type(layer).from_config(forward)
        self.backward_layer = type(layer).from_config(config)
        self.merge_mode = merge_mode
        self.return_sequences = layer.return_sequences
        shape = layer._batch_input_shape
        if shape is not None and "input_shape" not in kwargs:
            kwargs.setdefault("batch_input_shape", shape)
        super().__init__(layer, **kwargs)

    def _inner(self) -> list[Any]:
        return [self.forward_layer, self.backward_layer]

    @property
    def stateful(self) -> bool:  # type: ignore[override]
        """Whether the two layers keep their states."""
        return bool(self.forward_layer.stateful)

    @property
    def state_updates(self) -> list[Any]:
        """Ops that keep the states."""
        return [u for layer in self._inner() for u in layer.state_updates]

    def reset_states(self) -> None:
        """Sets the states of both layers to 0."""
        for layer in self._inner():
            layer.reset_states()

    def own_config(self) -> dict[str, Any]:
        return {"layer": serialize(self.layer), "merge_mode": self.merge_mode}

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return mask if self.return_sequences and self.merge_mode is not None else None

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> Any:
        forward = self.forward_layer(inputs, mask=mask, training=training)
        backward = self.backward_layer(inputs, mask=mask, training=training)
        states = []
        if isinstance(forward, list):
            states = [*forward[1:], *backward[1:]]
            forward, backward = forward[0], backward[0]
        if self.return_sequences:
            backward = array.reverse(backward, [1])
        result: Any
        if self.merge_mode == "concat":
            result = array.concat([forward, backward], -1)
        elif self.merge_mode == "sum":
            result = forward + backward
        elif self.merge_mode == "mul":
            result = forward * backward
        elif self.merge_mode == "ave":
            result = (forward + backward) / 2
        else:
            result = [forward, backward]
        if not states:
            return result
        return [*(result if isinstance(result, list) else [result]), *states]
