"""`Sequential`: one layer after another."""

from __future__ import annotations

from typing import Any

from dataflow.graph import nest
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.graph import Graph
from dataflow.graph.tensor import Tensor
from dataflow.keras.base_layer import Layer
from dataflow.keras.call_nodes import tag_of
from dataflow.keras.layers.core import Input, InputLayer
from dataflow.keras.network import Model
from dataflow.layers.serialization import serialize


class Sequential(Model):
    """Layers in a row. The weights are made at once when the first layer says its input's shape
    (``input_shape=``), else when the model first sees data.
    """

    _takes_added_layers = False  # its layers are those of its list

    def __init__(self, layers: Any = None, name: str | None = None) -> None:
        super().__init__(name=name)
        self._is_from_data = False
        if layers is not None and not isinstance(layers, (list, tuple)):
            layers = [layers]
        for layer in layers or []:
            self.add(layer)

    @property
    def output_names(self) -> list[str]:
        """As of `Model`; "output_1" where data in a dictionary said what the inputs are."""
        return ["output_1"] if isinstance(self._inputs_structure, dict) else super().output_names

    def add(self, layer: Any) -> None:
        """Puts a layer (or a model) at the end.

        Raises `TypeError` for anything else and for one of several outputs (`ValueError` where it is the first),
        `ValueError` when its input does not fit.
        """
        if isinstance(layer, Tensor) and isinstance((tag_of(layer, "history") or [None])[0], Layer):
            layer = tag_of(layer, "history")[0]
        if not isinstance(layer, Layer):
            raise TypeError(
                "The added layer must be an instance of class tf.keras.layers.Layer. "
                f"Found: {layer!r}. (Is a pair of brackets missing?)"
            )
        if any(layer is x for x in self._layers) or any(layer.name == x.name for x in self._layers):
            raise ValueError(
                f"All layers added to a Sequential model should have unique names. "
                f"{layer.name!r} is already there."
            )
        self._stale()
        if isinstance(layer, InputLayer):
            if self._layers:
                raise ValueError("An InputLayer can only be the first layer.")
            self._start(layer.output)
            return
        if self.inputs and not self.layers and layer.given_input_shape is None:
            if isinstance(self._inputs_structure, Tensor):  # the config says it, as TensorFlow 1's
                layer._batch_input_shape = tuple(self._inputs_structure.shape.as_list())
        if not self._layers or not self.inputs:
            shape = layer.given_input_shape
            dtype = layer.dtype
            if not self._layers and isinstance(layer, Model) and layer.inputs:
                shape, dtype = layer.input.shape.as_list(), layer.input.dtype.base_dtype
            if not self._layers and shape is not None:
                name = layer.name + "_input"
                self._start(Input(batch_shape=shape, dtype=dtype, name=name))
        if self.inputs:
            self._connect(layer)
        else:
            self._layers.append(layer)

    def _start(self, tensor: Any) -> None:
        self._inputs_structure = tensor
        self._outputs_structure = tensor
        inputs = nest.flatten(tensor)
        self._graph = inputs[0].graph
        self._layers[:0] = [tag_of(t, "history")[0] for t in inputs]

    def _connect(self, layer: Layer) -> None:
        with self._graph.as_default():
            outputs = layer(self._outputs_structure)
        if isinstance(outputs, (list, tuple)):
            refusal = TypeError if self._network_nodes else ValueError
            raise refusal(
                "All layers in a Sequential model should have a single output tensor. For "
                "multi-output layers, use the functional API."
            )
        self._network_nodes.append(tag_of(outputs, "history")[1])
        self._outputs_structure = outputs
        if not any(layer is x for x in self._layers):
            self._layers.append(layer)
        self.built = True

    def pop(self) -> None:
        """Removes the last layer."""
        if not self.layers:
            raise TypeError("There are no layers in the model.")
        self._stale()
        self._layers.pop()
        if self._network_nodes:
            node = self._network_nodes.pop()
            self._outputs_structure = node.inputs
        if not self.layers:  # begin anew, with another input if need be
            self._layers.clear()
            self._inputs_structure = self._outputs_structure = None
            self.built = self._is_from_data = False

    def _build_from_inputs(self, inputs: Any, arrays: Any = ()) -> None:
        if isinstance(inputs, (list, tuple)):
            raise ValueError(f"A Sequential model has one input, got {len(inputs)}.")
        pending = list(self._layers)
        self._is_from_data = True
        self._start(inputs)
        for layer in pending:
            self._connect(layer)

    def build(self, input_shape: Any = None) -> None:
        """Makes the weights for inputs of ``input_shape`` (with the batch)."""
        if isinstance(input_shape, dict):  # features by name, which the first layer reads
            self.built = True
        elif not self.inputs and self._layers and input_shape is not None:
            sizes = input_shape.as_list() if hasattr(input_shape, "as_list") else list(input_shape)
            here = default_graph()  # where it is called; not the graph of a function
            with (here if type(here) is Graph else self._graph).as_default():
                self._build_from_inputs(Input(batch_shape=sizes))
        self.built = True

    @property
    def _is_graph_network(self) -> bool:
        return super()._is_graph_network and not self._is_from_data

    def _make_sure_of_weights(self, inputs: Any) -> None:
        """With eager execution the first call makes the weights, in the order in which layers draw."""
        if self.built or self.inputs or not default_graph().executes_eagerly:
            super()._make_sure_of_weights(inputs)

    def call(self, inputs: Any, training: bool | Tensor | None = None, mask: Any = None) -> Any:
        if self._network_nodes:
            return super().call(inputs, training)
        outputs = inputs
        for layer in self._layers:
            takes = training is not None and "training" in layer._call_arguments()
            outputs = layer(outputs, training=training) if takes else layer(outputs)
        if not self.built:
            super()._make_sure_of_weights(inputs)
        return outputs

    @property
    def layers(self) -> list[Layer]:
        """The layers; the input is not counted."""
        return [x for x in self.sublayers() if not isinstance(x, InputLayer)]

    def predict_classes(self, x: Any, batch_size: int = 32, verbose: int = 0) -> Any:
        """The number of the most probable class of each example."""
        probabilities = self.predict(x, batch_size=batch_size, verbose=verbose)
        if probabilities.shape[-1] > 1:
            return probabilities.argmax(axis=-1)
        return (probabilities > 0.5).astype("int32")

    def predict_proba(self, x: Any, batch_size: int = 32, verbose: int = 0) -> Any:
        """As `predict`."""
        return self.predict(x, batch_size=batch_size, verbose=verbose)

    def get_config(self) -> dict[str, Any]:
        """The layers in order. The first one tells the input's shape, or the model does, where it
        was built from data; an input of another dtype than the layer's is listed itself.
        """
        layers = list(self.layers)
        first = layers[0] if layers else None
        sources = [x for x in self._layers if isinstance(x, InputLayer)]
        told = first is not None and (
            first.given_input_shape is not None or (isinstance(first, Model) and first.inputs)
        )
        built: dict[str, Any] = {}
        if len(sources) == 1 and first is not None:
            source = sources[0].output
            if source.dtype.base_dtype != (first.dtype or source.dtype.base_dtype):
                layers = list(self._layers)
            elif not told:
                built["build_input_shape"] = source.shape.as_list()
        elif sources:
            layers = list(self._layers)
        return {"name": self.name, "layers": [serialize(layer) for layer in layers], **built}

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: Any = None, inputs: Any = None
    ) -> Any:
        """The model of a config, with new weights; on ``inputs``, a list of one tensor, if given."""
        from dataflow.keras.layers import deserialize

        described = config["layers"]
        first = [Input(tensor=tensor) for tensor in inputs or ()]
        if first:
            described = [c for c in described if c["class_name"] != "InputLayer"]
        layers = [deserialize(c, custom_objects) for c in described]
        model = cls([*first, *layers], name=config.get("name"))
        if not model.inputs and config.get("build_input_shape"):
            model.build(config["build_input_shape"])
        return model


def class_name(model: Any) -> str:
    """What a file calls the model's class: a subclass of `Model` is saved as its layers."""
    return "Sequential" if isinstance(model, Sequential) else "Model"
