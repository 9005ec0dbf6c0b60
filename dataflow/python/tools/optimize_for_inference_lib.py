"""``from tensorflow.python.tools import optimize_for_inference_lib``: a GraphDef without training."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.graph.tensor_proto import make_ndarray, make_tensor_proto
from dataflow.graph_util import remove_training_nodes

#: Op type -> what each of its inputs is.
_INPUTS = {
    "BatchNormWithGlobalNormalization": ("conv", "mean", "variance", "beta", "gamma"),
    "FusedBatchNorm": ("conv", "gamma", "beta", "mean", "variance"),
    "FusedBatchNormV2": ("conv", "gamma", "beta", "mean", "variance"),
    "FusedBatchNormV3": ("conv", "gamma", "beta", "mean", "variance"),
}
_CONVOLUTIONS = ("Conv2D", "DepthwiseConv2dNative")


def optimize_for_inference(
    input_graph_def: Any,
    input_node_names: Any,
    output_node_names: Any,
    placeholder_type_enum: Any,
    toco_compatible: bool = False,
) -> Any:
    """What the outputs need of the GraphDef, from the inputs on, without nodes of training.

    Batch normalizations are folded into the convolutions before them. TensorFlow also makes one node of a
    resize, a pad and a convolution here; a session of this engine needs no such node.
    """
    from dataflow.python.tools.strip_unused_lib import strip_unused

    part = strip_unused(input_graph_def, input_node_names, output_node_names, placeholder_type_enum)
    part = remove_training_nodes(part, [*input_node_names, *output_node_names])
    return fold_batch_norms(part)


def node_name_from_input(node_name: str) -> str:
    """The node of an input as a NodeDef tells it: without ``^`` and the number of the output."""
    return node_name.removeprefix("^").partition(":")[0]


def fold_batch_norms(input_graph_def: Any) -> Any:
    """The GraphDef with each batch normalization of constants as scaled weights and a BiasAdd.

    What a normalization is of must be a convolution with constant weights that nothing else uses, as
    `freeze_graph` leaves them; others stay. The BiasAdd has the name of the normalization. Raises `ValueError`
    where two nodes have one name.
    """
    nodes = {node.name: node for node in input_graph_def.node}
    if len(nodes) != len(input_graph_def.node):
        raise ValueError(
            "Duplicate node names detected for a GraphDef: give each node its own name."
        )
    users: dict[str, int] = {}
    for node in input_graph_def.node:
        for name in {node_name_from_input(i) for i in node.input}:
            users[name] = users.get(name, 0) + 1
    folded: list[Any] = []
    gone: set[str] = set()
    for node in input_graph_def.node:
        parts = _parts(node, nodes, users)
        if parts is not None:
            folded += _folded(node, parts)
            conv, weights = parts["conv"], nodes[node_name_from_input(parts["conv"].input[1])]
            gone |= {node.name, conv.name, weights.name}
            gone |= {p.name for key, p in parts.items() if key != "conv" and users[p.name] == 1}
    result = type(input_graph_def)()
    result.node.extend([node for node in input_graph_def.node if node.name not in gone])
    result.node.extend(folded)
    if input_graph_def.HasField("versions"):
        result.versions.CopyFrom(input_graph_def.versions)
    return result


def _parts(node: Any, nodes: dict[str, Any], users: dict[str, int]) -> dict[str, Any] | None:
    """The convolution and the constants of a batch normalization that can be folded, by what they are."""
    if node.op not in _INPUTS or node.attr["is_training"].b:
        return None
    parts = {
        key: nodes[node_name_from_input(name)]
        for key, name in zip(_INPUTS[node.op], node.input, strict=False)
    }
    conv = parts["conv"]
    if conv.op not in _CONVOLUTIONS or users[conv.name] != 1:
        return None
    weights = nodes[node_name_from_input(conv.input[1])]
    constants = [weights, *(part for key, part in parts.items() if key != "conv")]
    if any(part.op != "Const" for part in constants) or users[weights.name] != 1:
        return None
    return {**parts, "weights": weights}


def _folded(node: Any, parts: dict[str, Any]) -> list[Any]:
    """The nodes in place of a convolution and its normalization: weights, convolution, offset, BiasAdd."""
    conv = parts["conv"]
    values = {k: make_ndarray(p.attr["value"].tensor) for k, p in parts.items() if k != "conv"}
    is_old = node.op == "BatchNormWithGlobalNormalization"
    epsilon = node.attr["variance_epsilon" if is_old else "epsilon"].f
    scale = 1.0 / np.sqrt(values["variance"] + epsilon)
    if not is_old or node.attr["scale_after_normalization"].b:
        scale = scale * values["gamma"]
    offset = values["beta"] - values["mean"] * scale
    weights = values["weights"]
    # A depthwise convolution's output channels are its last two axes, [..., channels, multiplier].
    is_depthwise = conv.op == "DepthwiseConv2dNative"
    scaled = weights * (scale.reshape(weights.shape[2:]) if is_depthwise else scale)

    bias = type(node)(op="BiasAdd", name=node.name, input=[conv.name, conv.name + "_bn_offset"])
    for attribute in ("T", "data_format"):
        if attribute in conv.attr:
            bias.attr[attribute].CopyFrom(conv.attr[attribute])
    offset_node = _constant(parts["mean"], bias.input[1], offset)
    return [_constant(parts["weights"], parts["weights"].name, scaled), conv, offset_node, bias]


def _constant(like: Any, name: str, value: np.ndarray) -> Any:
    """A Const with the dtype of ``like``, another Const."""
    node = type(like)(op="Const", name=name)
    node.attr["dtype"].CopyFrom(like.attr["dtype"])
    node.attr["value"].tensor.CopyFrom(make_tensor_proto(value, like.attr["dtype"].type))
    return node
