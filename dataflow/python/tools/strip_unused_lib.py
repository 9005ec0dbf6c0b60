"""``from tensorflow.python.tools import strip_unused_lib``: the part of a GraphDef that outputs need."""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import as_dtype
from dataflow.graph_util import extract_sub_graph


def strip_unused(
    input_graph_def: Any, input_node_names: Any, output_node_names: Any, placeholder_type_enum: Any
) -> Any:
    """The nodes between the named inputs, which become placeholders, and the named outputs.

    ``placeholder_type_enum`` is the dtype of all placeholders, or a list with one for each input. Raises
    `KeyError` for an input that is not a node of the graph.
    """
    for name in input_node_names:
        if ":" in name:
            raise ValueError(f"Name '{name}' appears to refer to a Tensor, not an Operation.")
    known = {node.name for node in input_graph_def.node}
    absent = [name for name in input_node_names if name not in known]
    if absent:
        raise KeyError(f"The following input nodes were not found: {absent}")
    kinds = placeholder_type_enum
    if not isinstance(kinds, (list, tuple)):
        kinds = [kinds] * len(input_node_names)
    dtypes = dict(zip(input_node_names, kinds, strict=True))
    result = type(input_graph_def)()
    for node in input_graph_def.node:
        added = result.node.add()
        if node.name not in dtypes:
            added.CopyFrom(node)
            continue
        added.op, added.name = "Placeholder", node.name
        added.attr["dtype"].type = as_dtype(dtypes[node.name]).as_datatype_enum
        for attribute in ("shape", "_output_shapes"):
            if attribute in node.attr:
                added.attr[attribute].CopyFrom(node.attr[attribute])
    if input_graph_def.HasField("versions"):
        result.versions.CopyFrom(input_graph_def.versions)
    return extract_sub_graph(result, output_node_names)
