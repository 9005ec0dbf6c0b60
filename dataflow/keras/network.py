"""`Model`: layers between inputs and outputs, or a class of your own with ``call``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from dataflow.graph import nest
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.keras import backend as K
from dataflow.keras.added_layers import AddLoss, AddMetric, added, written
from dataflow.keras.base_layer import Layer
from dataflow.keras.base_metric import Metric
from dataflow.keras.call_configs import (
    described,
    entries_of,
    keys_in,
    with_structure,
    with_tensors,
    written_calls,
)
from dataflow.keras.call_nodes import Node, tag, tag_of
from dataflow.keras.eager_steps import meet_inputs
from dataflow.keras.layer_tree import distinct, inner_part
from dataflow.keras.network_order import in_order
from dataflow.keras.op_layers import complete_history
from dataflow.keras.package_shapes import is_ours
from dataflow.keras.private_names import PrivateNames
from dataflow.keras.training import Training
from dataflow.layers.layer_calls import shapes_of
from dataflow.layers.serialization import serialize
from dataflow.ops import array


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _state_updates(layer: Any) -> list[Any]:
    """What `predict` runs, too: the updates of a layer that says that it is ``stateful``."""
    if hasattr(layer, "state_updates"):
        return layer.state_updates  # type: ignore[no-any-return]
    return layer.updates if getattr(layer, "stateful", False) else []


class Model(PrivateNames, Layer):
    """A network that can be trained, evaluated, used, and saved.

    ``Model(inputs, outputs)`` is everything between tensors that came from `Input` and tensors
    that layers returned. A subclass makes layers in ``__init__`` and calls them in
    ``call(inputs)``; its inputs are known when it first sees data.
    """

    def __init__(
        self, inputs: Any = None, outputs: Any = None, name: str | None = None, **kwargs: Any
    ) -> None:
        if (inputs is None) != (outputs is None):
            raise ValueError("Model(inputs, outputs): give both, or neither in a subclass.")
        self._layers: list[Layer] = []
        super().__init__(name=name, **kwargs)
        self._init_training()
        self._graph = K.building_graph()
        self._network_nodes: list[Node] = []
        #: Those of `add_loss` and `add_metric`.
        self._added_layers: list[Layer] = []
        self._inputs_structure: Any = None
        self._outputs_structure: Any = None
        if inputs is not None:
            self._set_network(inputs, outputs)

    not_parts = (
        Layer.not_parts | Training.not_parts | {"_layers", "_network_nodes", "_added_layers"}
    )

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, (Layer, list, tuple, dict)) and "_layers" not in self.__dict__:
            if name != "_layers" and any(isinstance(part, Layer) for part in nest.flatten(value)):
                raise RuntimeError(
                    f"{type(self).__name__}.{name} is set before the model is one: you forgot to call "
                    f"super({type(self).__name__}, self).__init__(). Always start __init__ with this line."
                )
        super().__setattr__(name, value)

    def sublayers(self) -> list[Any]:
        """The layers of the network, then those that attributes hold."""
        return distinct([*self._layers, *super().sublayers()])

    #: The checkpoint that `load_weights` was given before there were weights.
    _awaited_checkpoint: str | None = None

    def _load_awaited(self) -> None:
        prefix, self._awaited_checkpoint = self._awaited_checkpoint, None
        if prefix is not None:
            self.load_weights(prefix)

    # ---- structure ------------------------------------------------------------------------

    def _set_network(self, inputs: Any, outputs: Any) -> None:
        flat_inputs, flat_outputs = nest.flatten(inputs), nest.flatten(outputs)
        unknown = [t for t in flat_outputs if not hasattr(t, "graph")]
        if unknown:
            raise ValueError(
                f"Output tensors to a Model must be tensors that layers returned. Got {unknown[0]!r}."
            )
        for tensor in flat_inputs:
            if tag_of(tensor, "history") is None:
                raise ValueError(
                    f"Input tensors to a Model must come from `tf.keras.Input`. Got {tensor}."
                )
        if len({id(tensor) for tensor in flat_inputs}) < len(flat_inputs):
            raise ValueError(
                "The list of inputs passed to the model is redundant. All inputs should only appear once. "
                f"Found: {inputs}"
            )
        if isinstance(inputs, list) and len(flat_inputs) == 1:
            inputs = inputs[0]  # a list of one is not a list
        if isinstance(outputs, list) and len(flat_outputs) == 1:
            outputs = outputs[0]
        self._inputs_structure, self._outputs_structure = inputs, outputs
        self._graph = flat_outputs[0].graph
        with self._graph.as_default():
            complete_history(flat_outputs)
        layers, self._network_nodes = in_order(flat_inputs, flat_outputs)
        names: set[str] = set()
        for layer in layers:
            if layer.name in names:
                raise ValueError(
                    f"The name {layer.name!r} is used twice in the model. All layer names "
                    "should be unique."
                )
            names.add(layer.name)
        self._layers = layers
        self.built = True

    #: Whether losses and metrics of the outputs become layers of the network, as in TensorFlow 1.15.
    _takes_added_layers = True

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """As of a layer; of tensors between a functional model's inputs and outputs, which its config keeps."""
        others = []
        for loss in losses if isinstance(losses, (list, tuple)) else [losses]:
            if not self._adds(loss, AddLoss):
                others.append(loss)
        super().add_loss(others, inputs)

    def add_metric(
        self, value: Any, aggregation: str | None = None, name: str | None = None
    ) -> None:
        """As of a layer; of tensors between a functional model's inputs and outputs, which its config keeps."""
        by_layer = aggregation == "mean" and name is not None and tag_of(value, "metric") is None
        if not (by_layer and self._adds(value, AddMetric, aggregation, name)):
            super().add_metric(value, aggregation, name)

    def _adds(self, tensor: Any, layer: type[AddLoss | AddMetric], *args: Any) -> bool:
        """Has the network go on to ``layer(*args)`` from ``tensor``, where it can."""
        if not self._is_network() or not self._takes_added_layers or self.as_package_keras:
            return False
        made = added(self, tensor, layer, *args)
        if made is None:
            return False
        self._grow(*made)
        return True

    def _grow(self, layers: list[Layer], nodes: list[Node]) -> None:
        self._layers = [*self._layers, *layers]
        self._added_layers = [*self._added_layers, *layers]
        self._network_nodes = [*self._network_nodes, *nodes]

    def _init_graph_network(self, inputs: Any, outputs: Any, name: str | None = None) -> None:
        """TensorFlow's name: subclasses of its Network lay out their network in ``build`` with it."""
        self._set_network(inputs, outputs)

    def checkpoint_parts(self) -> Iterable[tuple[str, Any]]:
        """(name, part) for checkpoints of objects: layers by number, attributes, the optimizer."""
        if getattr(self, "inputs", None):
            inner: list[Any] = list(self.layers)
            if not any(type(layer).__name__ == "InputLayer" for layer in inner):
                inner.insert(0, inner_part(self))  # of a Sequential, where TensorFlow counts it
            with_weights = 0
            for i, layer in enumerate(inner):
                if getattr(layer, "weights", None):
                    yield f"layer_with_weights-{with_weights}", layer
                    with_weights += 1
                yield f"layer-{i}", layer
        for name, part in super().checkpoint_parts():
            if not isinstance(part, Metric):
                yield name, part
        if self.optimizer is not None:
            yield "optimizer", self.optimizer

    @property
    def layers(self) -> list[Layer]:
        """The layers by depth, the one that is farthest from an output first, as in Keras."""
        return self.sublayers()

    @property
    def inputs(self) -> list[Any]:  # type: ignore[override]
        """The input tensors."""
        return nest.flatten(self._inputs_structure) if self._inputs_structure is not None else []

    @property
    def outputs(self) -> list[Any]:  # type: ignore[override]
        """The output tensors."""
        return nest.flatten(self._outputs_structure) if self._outputs_structure is not None else []

    @property
    def input(self) -> Any:
        """The input tensor, or the list of them."""
        return self.inputs[0] if len(self.inputs) == 1 else self._inputs_structure

    @property
    def output(self) -> Any:
        """The output tensor, or the list of them."""
        return self.outputs[0] if len(self.outputs) == 1 else self._outputs_structure

    @property
    def input_shape(self) -> Any:
        """The shape of `input`, as a tuple."""
        return shapes_of(self.input)

    @property
    def output_shape(self) -> Any:
        """The shape of `output`, as a tuple."""
        return shapes_of(self.output)

    @property
    def structure_of_inputs(self) -> Any:
        """The inputs as `Model` or the first data had them: a tensor, a list or a dictionary; None before."""
        return self._inputs_structure

    @property
    def input_names(self) -> list[str]:
        """Names of the input layers; of a model with a ``call`` of its own "input_1", "input_2" ..."""
        names = [tag_of(t, "history")[0].name for t in self.inputs]
        if self._is_called_as_a_whole() and all(re.fullmatch(r"input_\d+", n) for n in names):
            return [f"input_{i + 1}" for i in range(len(names))]
        return names

    @property
    def output_names(self) -> list[str]:
        """Names of the layers that give the outputs; a model without any has no such attribute.

        Those of a model with a ``call`` of its own are "output_1", "output_2" ...
        """
        if not self.outputs:
            raise AttributeError(f"{self.name} has no outputs yet, and no `output_names`")
        names = []
        for i, tensor in enumerate(self.outputs):
            history = tag_of(tensor, "history")
            is_own = history is None or history[0] is self
            name = f"output_{i + 1}" if is_own else history[0].name
            names.append(name if name not in names else f"{name}_{i}")
        return names

    def _is_called_as_a_whole(self) -> bool:
        """Whether the outputs are what the model's own ``call`` returned."""
        histories = [tag_of(tensor, "history") for tensor in self.outputs]
        return any(history is not None and history[0] is self for history in histories)

    def get_layer(self, name: str | None = None, index: int | None = None) -> Layer:
        """The layer of a name or a number; raises `ValueError` with the names there are."""
        if index is not None:
            if not -len(self.layers) <= index < len(self.layers):
                raise ValueError(
                    f"Was asked to retrieve layer at index {index} but model only has "
                    f"{len(self.layers)} layers."
                )
            return self.layers[index]
        if name is None:
            raise ValueError("Provide either a layer name or layer index.")
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise ValueError(f"No such layer: {name}. There are: {[x.name for x in self.layers]}")

    # ---- calling --------------------------------------------------------------------------

    def _needs_phase(self) -> bool:
        return not is_ours(type(self).call)  # our own leaves it to the layers

    def call(self, inputs: Any, training: bool | Tensor | None = None, mask: Any = None) -> Any:
        """The outputs for other inputs, with the same weights."""
        if not self._network_nodes and self._outputs_structure is None:
            raise NotImplementedError(
                f"{type(self).__name__} has neither inputs and outputs nor a `call` method."
            )
        values = {id(old): new for old, new in zip(self.inputs, nest.flatten(inputs), strict=True)}
        for node in self._network_nodes:
            arguments = nest.map_structure(lambda t: values[id(t)], node.inputs)
            kwargs = nest.map_structure(lambda t: values.get(id(t), t), dict(node.kwargs))
            if training is not None and "training" in node.layer._call_arguments():
                kwargs.setdefault("training", training)
            results = node.layer(arguments, **kwargs)
            for old, new in zip(nest.flatten(node.outputs), nest.flatten(results), strict=True):
                values[id(old)] = new
        return nest.map_structure(lambda t: values[id(t)], self._outputs_structure)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The masks of the outputs for inputs with ``mask``; None for each where there are none."""
        if not self._is_network():
            return super().compute_mask(inputs, mask)
        given, masks = nest.flatten(inputs), _list(mask)
        outputs = self._outputs_structure
        made = [tag_of(tensor, "mask") for tensor in nest.flatten(outputs)]
        if any(m is not None for m in [*masks, *made]):
            given = [array.identity(tensor) for tensor in given]
            for tensor, one in zip(given, masks or [None] * len(given), strict=True):
                tag(tensor, "mask", one)
            outputs = self.call(nest.pack_like(inputs, given), mask=mask)
        return nest.map_structure(lambda tensor: tag_of(tensor, "mask"), outputs)

    compute_mask.is_default = True  # type: ignore[attr-defined]  # of a call the layers do it

    def _build_from_inputs(self, inputs: Any, arrays: Any = ()) -> None:
        """A subclass meets its inputs: placeholders for ``arrays``, which it gets where it only runs eagerly."""
        outputs = meet_inputs(self, inputs, arrays)
        self._inputs_structure, self._outputs_structure = inputs, outputs

    def forget_inputs(self) -> None:
        """Has a class of your own meet its inputs anew, and be compiled anew, as if it had just been made."""
        self._inputs_structure = self._outputs_structure = None
        self.inbound_nodes = []
        self.built = False
        self._init_training()

    def build(self, input_shape: Any = None) -> None:
        """Makes the weights of a class of your own, for inputs of a shape or of a list of shapes, with the batch.

        Raises `ValueError` for what is no shape, and where ``call`` needs more than the inputs.
        """
        if not self._is_network() and not self.inputs and not K.is_in_call(default_graph()):
            from dataflow.keras.shape_builds import build_from_shapes

            build_from_shapes(self, input_shape)
            self.built = True
            self._load_awaited()
        self.built = True

    build.is_default = True  # type: ignore[attr-defined]  # a call makes the weights itself

    @property
    def _input_layers(self) -> list[Layer]:
        """TensorFlow's name: the layers of the inputs."""
        return [tag_of(tensor, "history")[0] for tensor in self.inputs]

    @property
    def _output_layers(self) -> list[Layer]:
        """TensorFlow's name: the layers that give the outputs."""
        return [tag_of(tensor, "history")[0] for tensor in self.outputs]

    @property
    def network_nodes(self) -> list[Node]:
        """The calls of layers between the inputs and the outputs; none of a class of your own."""
        return list(self._network_nodes)

    def _all_inputs(self) -> list[Any]:
        return [*super()._all_inputs(), *self.inputs]

    def _is_network(self) -> bool:
        return bool(self._network_nodes)

    @property
    def _is_graph_network(self) -> bool:
        """TensorFlow's name, which libraries read: whether inputs and outputs made the model, not data."""
        return self._is_network()

    # ---- weights --------------------------------------------------------------------------

    @property  # type: ignore[misc]  # of a layer they can be set; as in Keras not of a model
    def trainable_weights(self) -> list[Any]:
        """Variables that `fit` changes."""
        if not self.trainable:
            return []
        own = [*self._trainable_weights, *self.own_variables(trainable=True)]
        return distinct([*self.gathered("trainable_weights"), *own])

    @property  # type: ignore[misc]  # of a layer they can be set; as in Keras not of a model
    def non_trainable_weights(self) -> list[Any]:
        """The other variables."""
        trainable = {id(w) for w in self.trainable_weights}
        return [w for w in self.weights if id(w) not in trainable]

    @property
    def weights(self) -> list[Any]:
        """All variables, layer by layer."""
        kinds = (True, False)
        own = [*self._trainable_weights, *self._non_trainable_weights]
        own += [v for kind in kinds for v in self.own_variables(kind)]
        return distinct([*self.gathered("weights"), *own])

    variables = weights
    trainable_variables = trainable_weights
    non_trainable_variables = non_trainable_weights

    @property
    def metrics(self) -> list[Any]:
        """The metrics of `compile`, then those of the layers; the loss is none."""
        return distinct([*self._compiled_metrics, *super().metrics])

    @property
    def state_updates(self) -> list[Any]:
        """Ops that keep the states of stateful layers."""
        return [u for layer in self.sublayers() for u in _state_updates(layer)]

    @property
    def stateful(self) -> bool:  # type: ignore[override]
        """Whether a layer keeps its state from batch to batch."""
        return any(getattr(layer, "stateful", False) for layer in self.sublayers())

    def reset_states(self) -> None:
        """Sets the states of all stateful layers to 0."""
        for layer in self.sublayers():
            if getattr(layer, "stateful", False):
                layer.reset_states()

    def count_params(self) -> int:
        """The number of values in all weights."""
        return sum(K.count_params(w) for w in self.weights)

    # ---- text -----------------------------------------------------------------------------

    def summary(
        self, line_length: int | None = None, positions: Any = None, print_fn: Any = None
    ) -> None:
        """Prints the layers with their output shapes and numbers of parameters.

        Where layers are not in one row, with those that each is connected to. ``positions``: where
        the columns end, as shares of the line.
        """
        from dataflow.keras.model_summary import summary_lines

        self._warn_of_discrepancy()
        for line in summary_lines(self, line_length, positions):
            (print_fn or print)(line)

    def get_config(self) -> dict[str, Any]:
        """Layers, and how they are connected.

        Raises `NotImplementedError` for a subclass, whose code is not data.
        """
        if not self._is_network():
            raise NotImplementedError(
                f"{type(self).__name__} is a class of your own, which cannot be saved as data: use "
                "save_weights, and make the model with its class before load_weights."
            )
        numbers: dict[int, list[Any]] = {}
        for tensor in self.inputs:
            numbers[id(tensor)] = [tag_of(tensor, "history")[0].name, 0, 0]
        configs, nodes = written(self._layers, self._network_nodes, self._added_layers)
        calls: dict[str, list[Any]] = {name: [] for name in configs}
        for node in nodes:
            name = node.layer.name
            for i, tensor in enumerate(nest.flatten(node.outputs)):
                numbers[id(tensor)] = [name, len(calls[name]) + _first_call(node.layer), i]
            kwargs = serialize(nest.map_structure(lambda t: described(t, numbers), node.kwargs))
            calls[name].append(written_calls(node.inputs, numbers, kwargs))
        return {
            "name": self.name,
            "layers": [
                {**config, "name": name, "inbound_nodes": calls[name]}
                for name, config in configs.items()
            ],
            "input_layers": written_calls(self._inputs_structure, numbers),
            "output_layers": written_calls(self._outputs_structure, numbers),
        }

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: Any = None, inputs: Any = None
    ) -> Any:
        """The model of a config, with new weights; on ``inputs``, a list of tensors, if given."""
        from dataflow.keras.layers import deserialize
        from dataflow.keras.layers.core import InputLayer

        starts, given = entries_of(config["input_layers"]), {}
        if inputs is not None:
            given = {end[0]: t for end, t in zip(starts, inputs, strict=True)}
        layers = {
            (name := c["name"]): InputLayer(input_tensor=given[name], name=name)
            if name in given
            else deserialize(c, custom_objects)
            for c in config["layers"]
        }
        tensors: dict[tuple[Any, ...], Any] = {
            (name, 0, 0): layers[name].output for name, *_ in starts
        }
        waiting = [
            (c["name"], number, node)
            for c in config["layers"]
            for number, node in enumerate(c["inbound_nodes"])
        ]
        while waiting:
            later = []
            for name, number, node in waiting:
                entries = entries_of(node)
                keys = [tuple(entry[:3]) for entry in entries]
                kwargs = entries[0][3] if len(entries[0]) > 3 else {}
                if any(key not in tensors for key in [*keys, *keys_in(kwargs, layers)]):
                    later.append((name, number, node))
                    continue
                kwargs = with_tensors(kwargs, tensors)
                results = layers[name](with_structure(node, tensors), **kwargs)
                for i, tensor in enumerate(nest.flatten(results)):
                    tensors[(name, number + _first_call(layers[name]), i)] = tensor
            if len(later) == len(waiting):
                raise ValueError(
                    "The architecture is not whole: nothing gives the inputs of "
                    f"{sorted({name for name, *_ in later})}."
                )
            waiting = later
        model = cls(
            with_structure(config["input_layers"], tensors),
            with_structure(config["output_layers"], tensors),
            name=config.get("name"),
        )
        known = set(map(id, [*model.layers, *model.network_nodes]))
        more = [x for x in layers.values() if id(x) not in known]  # of add_loss and add_metric
        model._grow(more, [n for x in more for n in x.inbound_nodes if nest.flatten(n.inputs)])
        return model

    def to_json(self, **kwargs: Any) -> str:
        """The architecture as JSON: see `tf.keras.models.model_from_json`."""
        return json.dumps(
            {"class_name": type(self).__name__, "config": self.get_config(), "backend": "dataflow"},
            **{"default": serialize, **kwargs},
        )

    def to_yaml(self, **kwargs: Any) -> str:
        """The architecture as YAML: see `tf.keras.models.model_from_yaml`. Needs PyYAML."""
        from dataflow.keras.models import yaml_module

        return str(yaml_module().safe_dump(json.loads(self.to_json()), **kwargs))

    # ---- files ----------------------------------------------------------------------------

    def save(
        self,
        filepath: Any,
        overwrite: bool = True,
        include_optimizer: bool = True,
        save_format: Any = None,
        signatures: Any = None,
    ) -> None:
        """Writes architecture, weights and optimizer to one file: see `load_model`.

        ``save_format``: "h5" (the default for names that end so, where h5py is installed) or
        "safetensors". ``signatures`` are those of a SavedModel, which this does not write: raises
        `NotImplementedError`.
        """
        if signatures is not None:
            raise NotImplementedError(
                "save(signatures=...): write a SavedModel with "
                "tf.keras.experimental.export_saved_model(model, folder)."
            )
        from dataflow.keras.saving import save_model

        save_model(self, filepath, overwrite, include_optimizer, save_format)

    def functions_to_save(self) -> dict[str, Any]:
        """What `tf.saved_model.save` writes beside the layers."""
        from dataflow.keras.saved_models import functions_to_save

        return functions_to_save(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickles and deep copies have what `save` writes; models that it cannot save as other objects."""
        if not self._is_network():
            return super().__reduce_ex__(protocol)
        from dataflow.keras.pickled import reduced

        return reduced(self)

    def save_weights(self, filepath: Any, overwrite: bool = True, save_format: Any = None) -> None:
        """Writes the weights: HDF5 or safetensors where the name says so, else a checkpoint.

        ``save_format`` as of `save`, or "tf": a checkpoint, with the optimizer's variables.
        """
        from dataflow.keras.saving import save_weights

        save_weights(self, filepath, overwrite, save_format)

    def load_weights(self, filepath: Any, by_name: bool = False, **kwargs: Any) -> None:
        """Reads weights that `save_weights` or `save` wrote; arguments as of `saving.load_weights`."""
        from dataflow.keras.saving import load_weights

        load_weights(self, filepath, by_name, **kwargs)

    def get_weights(self) -> list[np.ndarray[Any, Any]]:
        """The values of all variables, layer by layer."""
        return K.batch_get_value(self.weights)


def _first_call(layer: Layer) -> int:
    """The number of a layer's first call: in a model inside a model, 0 is its own input."""
    return int(isinstance(layer, Model) and bool(layer.inputs))
