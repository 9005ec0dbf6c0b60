"""`Node`: one call of a layer, to which its output tensors refer."""

from __future__ import annotations

from typing import Any, NamedTuple

from dataflow.graph import nest
from dataflow.graph.tensor import Tensor


class KerasHistory(NamedTuple):
    """Where a tensor comes from: the layer, which of its calls, and which output of that."""

    layer: Any
    node_index: int
    tensor_index: int


def tag(tensor: Any, key: str, value: Any) -> None:
    """Attaches Keras metadata to a tensor: its ``history`` or its ``mask``."""
    if tensor is None:
        return
    if getattr(tensor, "extras", None) is None:  # sparse and ragged tensors begin without
        tensor.extras = {}
    tensor.extras[key] = value
    if key == "mask" and isinstance(tensor, Tensor):  # layers of programs read it there
        vars(tensor)["_keras_mask"] = value


def tag_of(tensor: Any, key: str) -> Any:
    """What `tag` attached, or ``None``."""
    extras = getattr(tensor, "extras", None)
    return None if extras is None else extras.get(key)


def mask_of(tensor: Any) -> Any:
    """The mask of a tensor, which a program may have set itself as ``_keras_mask``; None without one."""
    found = tag_of(tensor, "mask")
    return getattr(tensor, "_keras_mask", None) if found is None else found


def _sizes(tensor: Any) -> tuple[int | None, ...] | None:
    return None if tensor.shape.ndims is None else tuple(tensor.shape.as_list())


class Node:
    """One call of a layer: its inputs and its outputs.

    Its properties are Keras's names for that; each is a list, of one where one tensor went in.
    """

    #: Whether another layer, a model say, made the call.
    is_within_call = False

    def __init__(self, layer: Any, inputs: Any, outputs: Any, kwargs: dict[str, Any]) -> None:
        self.layer = layer
        self.inputs = inputs
        self.outputs = outputs
        self.kwargs = kwargs
        layer._nodes.append(self)
        layer.remember_call(inputs, outputs)
        for index, tensor in enumerate(nest.flatten(outputs)):
            tag(tensor, "history", (layer, self, index))
            if isinstance(tensor, Tensor):  # programs ask by it whether a tensor is of Keras
                vars(tensor)["_keras_history"] = KerasHistory(layer, len(layer._nodes) - 1, index)
        for tensor in nest.flatten(inputs):
            tag(tensor, "takers", [*(tag_of(tensor, "takers") or ()), self])

    def _origins(self) -> list[tuple[Any, Node, int]]:
        return [tag_of(tensor, "history") for tensor in nest.flatten(self.inputs)]

    @property
    def outbound_layer(self) -> Any:
        """The layer that was called."""
        return self.layer

    @property
    def inbound_layers(self) -> list[Any]:
        """The layers that the inputs come from."""
        return [layer for layer, _, _ in self._origins()]

    @property
    def node_indices(self) -> list[int]:
        """Which call of its layer made each input."""
        return [layer.inbound_nodes.index(node) for layer, node, _ in self._origins()]

    @property
    def tensor_indices(self) -> list[int]:
        """Which result of that call each input is."""
        return [index for _, _, index in self._origins()]

    @property
    def input_tensors(self) -> list[Any]:
        """The input tensors; of an input layer, its own output."""
        return nest.flatten(self.inputs) or self.output_tensors

    @property
    def output_tensors(self) -> list[Any]:
        """The output tensors."""
        return nest.flatten(self.outputs)

    @property
    def input_shapes(self) -> list[Any]:
        """The inputs' shapes, as tuples."""
        return [_sizes(tensor) for tensor in self.input_tensors]

    @property
    def output_shapes(self) -> list[Any]:
        """The outputs' shapes, as tuples."""
        return [_sizes(tensor) for tensor in self.output_tensors]

    @property
    def input_masks(self) -> list[Any]:
        """The inputs' masks, None for one without."""
        return [tag_of(tensor, "mask") for tensor in self.input_tensors]

    @property
    def output_masks(self) -> list[Any]:
        """The outputs' masks, None for one without."""
        return [tag_of(tensor, "mask") for tensor in self.output_tensors]

    def get_config(self) -> dict[str, Any]:
        """The names and numbers that say what the call is connected to."""
        return {
            "outbound_layer": self.layer.name,
            "inbound_layers": [layer.name for layer in self.inbound_layers],
            "node_indices": self.node_indices,
            "tensor_indices": self.tensor_indices,
        }

    @property
    def arguments(self) -> dict[str, Any]:
        """The other arguments of the call."""
        return self.kwargs
