"""``from tensorflow.python.tools import optimize_for_inference_lib``: a GraphDef without training."""

from __future__ import annotations

from typing import Any

from dataflow.graph_util import remove_training_nodes


def optimize_for_inference(
    input_graph_def: Any,
    input_node_names: Any,
    output_node_names: Any,
    placeholder_type_enum: Any,
    toco_compatible: bool = False,
) -> Any:
    """What the outputs need of the GraphDef, from the inputs on, without nodes of training.

    TensorFlow also folds batch normalizations into convolutions here; a session of this engine folds
    constants by itself, so that they stay in the file.
    """
    from dataflow.python.tools.strip_unused_lib import strip_unused

    part = strip_unused(input_graph_def, input_node_names, output_node_names, placeholder_type_enum)
    return remove_training_nodes(part, [*input_node_names, *output_node_names])


def node_name_from_input(node_name: str) -> str:
    """The node of an input as a NodeDef tells it: without ``^`` and the number of the output."""
    return node_name.removeprefix("^").partition(":")[0]
