"""Layers around a layer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataflow.graph import nest
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.keras.base_layer import Layer
from dataflow.keras.layer_tree import inner_part
from dataflow.keras.layers.containers import LayerOfLayers
from dataflow.layers.serialization import serialize
from dataflow.ops import array
from dataflow.ops.math import cast
from dataflow.ops.reduce import reduce_any
from dataflow.ops.seeds import counted_as
from dataflow.shapes import TensorShape


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

    def build(self, input_shape: Any = None) -> None:
        """Makes the weights of the layer within, which is given what the wrapper is: subclasses use them."""
        if not self.layer.built:
            self.layer.build(input_shape)
            self.layer.built = True
        self.built = True

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self.own_config()}

    def _copy(self) -> Any:
        return type(self).from_config({**self.get_config(), "layer": self.layer._copy()})

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """The wrapper of a config; subclasses get the layer, not what describes it."""
        return cls(**{**config, "layer": _made(config["layer"])})


class TimeDistributed(Wrapper):
    """The layer, applied to every step of [batch, steps, ...]."""

    not_parts = Wrapper.not_parts | {"_input_map"}

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        if not isinstance(layer, (Layer, dict)):
            raise ValueError(
                "Please initialize `TimeDistributed` layer with a `tf.keras.layers.Layer` instance. "
                f"You passed: {layer!r}"
            )
        super().__init__(layer, **kwargs)
        #: What the layer within was given for each input, by the identity of the input.
        self._input_map: dict[str, Any] = {}

    def _needs_phase(self) -> bool:
        return False  # the layer takes it

    def build(self, input_shape: Any = None) -> None:
        """Makes the weights of the layer within, which is given a step, under the wrapper's name alone."""
        batch, *sizes = TensorShape(input_shape).as_list()
        if len(sizes) < 2:
            raise ValueError(
                "`TimeDistributed` Layer should be passed an `input_shape ` with at least 3 dimensions, "
                f"received: {[batch, *sizes]}"
            )
        super().build(TensorShape([batch, *sizes[1:]]))

    def call(self, inputs: Any, training: bool | Tensor | None = None, mask: Any = None) -> Any:
        static = inputs.shape.as_list()
        accepted = self.layer._call_arguments()
        with counted_as(0):  # weights come first in TensorFlow
            sizes = array.shape(inputs)
            flat = self._flat(inputs)
        given = {"training": training} if "training" in accepted else {}
        if mask is not None and "mask" in accepted:
            given["mask"] = self._flat(mask)
        if not default_graph().is_of_calls:
            self._input_map[str(id(inputs))] = flat
        outputs = self.layer(flat, **given)
        inner = outputs.shape.as_list()[1:]
        with counted_as(4):
            result = array.reshape(outputs, array.concat([sizes[:2], array.shape(outputs)[1:]], 0))
        result.set_shape([*static[:2], *inner])
        return result

    supports_masking = True

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """[batch, steps, ...]: what the layer within says of one step, for each step."""
        batch, steps, *rest = TensorShape(input_shape).as_list()
        inner = TensorShape(self.layer.compute_output_shape(TensorShape([batch, *rest]))).as_list()
        return TensorShape([inner[0], steps, *inner[1:]])

    def _flat(self, inputs: Any) -> Any:
        """[batch, steps, ...] as [batch * steps, ...]."""
        flat = array.reshape(inputs, array.concat([[-1], array.shape(inputs)[2:]], 0))
        flat.set_shape([None, *inputs.shape.as_list()[2:]])
        return flat

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The inner layer's mask for each step; without one, the steps that are not masked whole."""
        if mask is None and type(self.layer).compute_mask is Layer.compute_mask:
            return None
        made = None
        if self.layer.supports_masking or type(self.layer).compute_mask is not Layer.compute_mask:
            inner = None if mask is None or mask.shape.ndims == 2 else self._flat(mask)
            made = self.layer.compute_mask(self._flat(inputs), inner)
        if made is None:
            axes = [] if mask is None else list(range(2, mask.shape.ndims))
            return reduce_any(mask, axis=axes) if axes else mask
        sizes = array.concat([array.shape(inputs)[:2], array.shape(made)[1:]], 0)
        result = array.reshape(made, sizes)
        result.set_shape([*inputs.shape.as_list()[:2], *made.shape.as_list()[1:]])
        return result


class Bidirectional(Wrapper):
    """A recurrent layer forwards and a copy of it backwards; ``merge_mode`` says how they join.

    "concat", "sum", "mul", "ave", or ``None`` for a list of both. ``backward_layer``: another
    layer in place of the copy, which must go backwards.
    """

    # The layers within build themselves when they are called.
    build = Layer.build  # type: ignore[assignment]

    def __init__(
        self,
        layer: Any,
        merge_mode: Any = "concat",
        weights: Any = None,
        backward_layer: Any = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(layer, (Layer, dict)):
            raise ValueError(
                "Please initialize `Bidirectional` layer with a `Layer` instance. "
                f"You passed: {layer!r}"
            )
        layer = _made(layer)
        self._num_constants = kwargs.pop("num_constants", None) or 0
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
        self._given_backward = None if backward_layer is None else _made(backward_layer)
        if self._given_backward is None:
            self.backward_layer = type(layer).from_config(config)
        else:
            self.backward_layer = _checked_backward(self._given_backward, layer)
        self.return_state = layer.return_state
        self.merge_mode = merge_mode
        self.return_sequences = layer.return_sequences
        shape = layer.given_input_shape
        if shape is not None and "input_shape" not in kwargs:
            kwargs.setdefault("batch_input_shape", shape)
        super().__init__(layer, **kwargs)

    def checkpoint_parts(self) -> Iterable[tuple[str, Any]]:
        """(name, part) for checkpoints of objects: the two directions, as in TensorFlow."""
        both = {"0": self.forward_layer, "1": self.backward_layer}
        return [
            ("forward_layer", self.forward_layer),
            ("_layers", inner_part(self, **both)),
            ("backward_layer", self.backward_layer),
        ]

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
        own = {"layer": serialize(self.layer), "merge_mode": self.merge_mode}
        if self._num_constants:
            own["num_constants"] = self._num_constants
        if self._given_backward is not None:
            own["backward_layer"] = serialize(self._given_backward)
        return own

    @property
    def constraints(self) -> dict[Any, Any]:
        """The constraint of each variable that has one."""
        return {w: w.constraint for w in self.weights if w.constraint is not None}

    def __call__(
        self,
        inputs: Any,
        *args: Any,
        initial_state: Any = None,
        constants: Any = None,
        **kwargs: Any,
    ) -> Any:
        """``initial_state``: the states of the forward layer, then those of the backward one.

        ``constants``: what both layers, of a cell of one's own, are given at each step.
        """
        states = [] if initial_state is None else initial_state
        if not isinstance(states, (list, tuple)) or len(states) % 2:
            raise ValueError(
                "Bidirectional: initial_state is a list of the states of both layers, an even "
                f"number of tensors; got {initial_state!r}."
            )
        given = [] if constants is None else nest.flatten(constants)
        if given:
            self._num_constants = len(given)
        if states or given:
            inputs = [inputs, *states, *given]
        return super().__call__(inputs, *args, **kwargs)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return mask if self.return_sequences and self.merge_mode is not None else None

    def _needs_phase(self) -> bool:
        return False  # the layers take it

    def call(self, inputs: Any, mask: Any = None, training: bool | Tensor | None = None) -> Any:
        first: dict[str, Any] = {}
        second: dict[str, Any] = {}
        constants: list[Any] = []
        if isinstance(inputs, (list, tuple)):
            inputs, *others = inputs
            count = len(others) - self._num_constants
            states, constants = others[:count], others[count:]
            if states:
                half = len(states) // 2
                first, second = {"initial_state": states[:half]}, {"initial_state": states[half:]}
            if constants:
                first["constants"] = second["constants"] = constants
        mask = mask[0] if isinstance(mask, (list, tuple)) else mask
        for layer in self._inner():  # the weights of both come first, as in TensorFlow
            if not layer.built:
                with default_graph().name_scope(layer.name):
                    if constants:
                        layer._num_constants = len(constants)
                    layer._make_sure_of_weights([inputs, *constants] if constants else inputs)
        given = {"mask": mask, "training": training}
        forward, backward = (
            layer(
                inputs, **{k: v for k, v in given.items() if k in layer._call_arguments()}, **more
            )
            for layer, more in ((self.forward_layer, first), (self.backward_layer, second))
        )
        states = []
        if isinstance(forward, list):
            states = [*forward[1:], *backward[1:]]
            forward, backward = forward[0], backward[0]
        if self.return_sequences:
            backward = array.reverse(backward, [1])
            if (
                mask is not None and not self.as_package_keras
            ):  # tf.keras has 0 where there is nothing
                forward, backward = (_zero_where_masked(one, mask) for one in (forward, backward))
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


def _zero_where_masked(outputs: Any, mask: Any) -> Any:
    shape = array.concat([array.shape(mask), [1] * (outputs.shape.ndims - 2)], 0)
    return outputs * cast(array.reshape(mask, shape), outputs.dtype.base_dtype)


def _checked_backward(backward: Any, forward: Any) -> Any:
    """The backward layer of one's own; raises `ValueError` where the two do not go together."""
    if backward.go_backwards == forward.go_backwards:
        raise ValueError(
            "Bidirectional: forward layer and backward layer should have different `go_backwards` value."
        )
    for name in ("stateful", "return_sequences", "return_state"):
        if getattr(backward, name) != getattr(forward, name):
            raise ValueError(
                "Bidirectional: forward layer and backward layer are expected to have the same value for "
                f"attribute {name}, got {getattr(forward, name)} and {getattr(backward, name)}"
            )
    return backward
