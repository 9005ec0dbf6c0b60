"""The order of a network's layers, and of its calls: by depth, as in Keras.

The numbers of layers (``model.layers[:249]``), weights in HDF5 files and checkpoints of objects
go by this order, so it has to be Keras's own.
"""

from __future__ import annotations

from typing import Any

from dataflow.graph import nest
from dataflow.keras.base_layer import Layer
from dataflow.keras.call_nodes import Node, tag_of


class _Depths:
    """How far each call, and each layer, is from the end: the last one has depth 0."""

    def __init__(self, inputs: list[Any], outputs: list[Any]) -> None:
        self._nodes = {id(t): tag_of(t, "history")[1] for t in inputs}
        self.of_inputs = {id(node) for node in self._nodes.values()}
        self.met: dict[Layer, int] = {}  # layers in the order in which the walk met them
        finished = self._walk(inputs, outputs)
        self.nodes: dict[Node, int] = {}
        self.layers: dict[Layer, int] = {}
        for node in reversed(finished):
            depth = max(self.nodes.get(node, 0), self.layers.get(node.layer, 0))
            self.layers[node.layer] = self.nodes[node] = depth
            for needed in self._needed(node):
                self.nodes[needed] = max(depth + 1, self.nodes.get(needed, 0))
        for tensor in inputs:
            node = self._nodes[id(tensor)]
            if node.layer not in self.layers:  # it leads to no output
                self.layers[node.layer] = self.nodes[node] = 0
                self.met[node.layer] = -1

    def _needed(self, node: Node) -> list[Node]:
        if id(node) in self.of_inputs:
            return []
        return [tag_of(t, "history")[1] for t in tensors_of(node)]

    def _walk(self, inputs: list[Any], outputs: list[Any]) -> list[Node]:
        """The calls from the outputs back to the inputs, each after those that it needs."""
        finished: list[Node] = []
        done: set[int] = set()
        stack: list[tuple[Any, bool]] = [(t, False) for t in reversed(outputs)]
        while stack:
            tensor, expanded = stack.pop()
            history = tag_of(tensor, "history")
            if history is None:
                raise ValueError(
                    "Output tensors to a Model must be the output of a Keras layer. "
                    f"Got {tensor}, which was made by an operation.\n"
                    "Wrap the operation: tf.keras.layers.Lambda(lambda x: ...)(x)."
                )
            node = history[1]
            if id(node) in done:
                continue
            if expanded:
                done.add(id(node))
                finished.append(node)
                continue
            self.met.setdefault(node.layer, len(self.met))
            needed = [] if id(node) in self.of_inputs else tensors_of(node)
            if not needed and id(node) not in self.of_inputs:
                raise ValueError(
                    f"Graph disconnected: cannot obtain value for tensor {tensor} at layer "
                    f"{history[0].name!r}, which is not among the model's inputs."
                )
            stack.append((tensor, True))
            stack.extend((t, False) for t in reversed(needed))
        return finished


def layers_by_depth(inputs: list[Any], outputs: list[Any]) -> dict[int, list[Layer]]:
    """The layers of each depth; those that give the outputs have depth 0."""
    found: dict[int, list[Layer]] = {}
    depths = _Depths(inputs, outputs)
    for layer in sorted(depths.layers, key=lambda layer: depths.met[layer]):
        found.setdefault(depths.layers[layer], []).append(layer)
    return found


def nodes_by_depth(inputs: list[Any], outputs: list[Any]) -> dict[int, list[Node]]:
    """The calls of each depth, those that made the inputs too; those that give the outputs have depth 0."""
    found: dict[int, list[Node]] = {}
    for node, depth in _Depths(inputs, outputs).nodes.items():
        found.setdefault(depth, []).append(node)
    return found


def tensors_of(node: Node) -> list[Any]:
    """What the call needs of others: its inputs, and tensors of layers among its arguments."""
    others = [t for t in nest.flatten(node.kwargs) if tag_of(t, "history") is not None]
    return [*nest.flatten(node.inputs), *others]


def in_order(inputs: list[Any], outputs: list[Any]) -> tuple[list[Layer], list[Node]]:
    """The layers, and the calls without those that made the inputs, the deepest first.

    Layers of one depth stand as a walk from the outputs meets them. Raises `ValueError` where a tensor
    came from no layer, or from no input.
    """
    depths = _Depths(inputs, outputs)
    layers = sorted(depths.layers, key=lambda layer: (-depths.layers[layer], depths.met[layer]))
    nodes = sorted(depths.nodes, key=lambda node: -depths.nodes[node])
    return layers, [node for node in nodes if id(node) not in depths.of_inputs]
