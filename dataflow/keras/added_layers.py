"""Losses and metrics that a program adds to a functional model, as layers: they are in its config and in its copies."""

from __future__ import annotations

import warnings
from typing import Any

from dataflow.graph import nest
from dataflow.graph.tensor import Tensor
from dataflow.keras.base_layer import Layer
from dataflow.keras.call_nodes import Node, tag_of
from dataflow.keras.network_order import in_order
from dataflow.keras.op_layers import complete_history
from dataflow.layers.serialization import serialize


class AddLoss(Layer):
    """Adds its input to the losses; ``unconditional``: as one that depends on no inputs."""

    def __init__(self, unconditional: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.unconditional = unconditional

    def call(self, inputs: Any) -> Any:
        """The input."""
        self.add_loss(inputs, inputs=None if self.unconditional else inputs)
        return inputs

    def get_config(self) -> dict[str, Any]:
        """The arguments."""
        return {**super().get_config(), "unconditional": self.unconditional}


class AddMetric(Layer):
    """Reports its input, counted by ``aggregation``, as ``metric_name``."""

    def __init__(
        self, aggregation: str | None = None, metric_name: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.aggregation, self.metric_name = aggregation, metric_name

    def call(self, inputs: Any) -> Any:
        """The input."""
        self.add_metric(inputs, self.aggregation, self.metric_name)
        return inputs

    def get_config(self) -> dict[str, Any]:
        """The arguments."""
        more = {"aggregation": self.aggregation, "metric_name": self.metric_name}
        return {**super().get_config(), **more}


def added(
    model: Any, tensor: Any, layer: type[AddLoss | AddMetric], *args: Any
) -> tuple[list[Any], list[Node]] | None:
    """The layers and calls that are new in ``model`` where ``layer(*args)`` takes ``tensor``.

    None where the tensor was not computed from the model's inputs alone.
    """
    if not isinstance(tensor, Tensor) or tensor.graph is not model.outputs[0].graph:
        return None
    with tensor.graph.as_default():
        complete_history([tensor])
        if tag_of(tensor, "history") is None:
            return None
        try:
            in_order(model.inputs, [tensor])
        except ValueError:  # it needs an Input that is none of the model's
            return None
        outputs = layer(*args)(tensor)
    layers, nodes = in_order(model.inputs, nest.flatten(outputs))
    known = set(map(id, [*model.layers, *model.network_nodes]))
    return [x for x in layers if id(x) not in known], [x for x in nodes if id(x) not in known]


def written(
    layers: list[Any], nodes: list[Node], optional: list[Any]
) -> tuple[dict[str, Any], list[Node]]:
    """(name -> config of the layers, calls): without ``optional`` layers that cannot be data, nor what they give.

    Of those it warns; raises what ``get_config`` of another layer raises.
    """
    left_out: set[int] = set()
    configs: dict[str, Any] = {}
    may_miss = set(map(id, optional))
    kept = []
    for node in nodes:
        origins = {id(tag_of(tensor, "history")[0]) for tensor in nest.flatten(node.inputs)}
        if id(node.layer) in may_miss and not origins.isdisjoint(left_out):
            left_out.add(id(node.layer))
        elif id(node.layer) in may_miss:
            try:
                serialize(node.layer)
            except NotImplementedError:
                left_out.add(id(node.layer))
        if id(node.layer) not in left_out:
            kept.append(node)
    for layer in layers:
        if id(layer) not in left_out:
            configs[layer.name] = serialize(layer)
    if left_out:
        names = [layer.name for layer in layers if id(layer) in left_out]
        warnings.warn(
            f"The model's config is without what was added by an operation that takes a variable: {names} are "
            "left out. Add such a loss in a layer of your own.",
            stacklevel=3,
        )
    return configs, kept
