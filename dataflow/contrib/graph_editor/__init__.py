"""``tf.contrib.graph_editor``: choose parts of a graph, copy them with other inputs, and rewire them."""

from dataflow.contrib.graph_editor.reroute import (
    add_control_inputs,
    remove_control_inputs,
    reroute_ts,
    swap_ts,
)
from dataflow.contrib.graph_editor.select import (
    filter_ops,
    filter_ops_from_regex,
    filter_ts,
    filter_ts_from_regex,
    get_backward_walk_ops,
    get_forward_walk_ops,
    get_name_scope_ops,
    get_walks_intersection_ops,
    get_walks_union_ops,
    get_within_boundary_ops,
    select_ops,
    select_ts,
)
from dataflow.contrib.graph_editor.subgraph import SubGraphView, make_view, sgv, sgv_scope
from dataflow.contrib.graph_editor.transform import (
    TransformerInfo,
    copy,
    copy_with_input_replacements,
    graph_replace,
)
from dataflow.contrib.graph_editor.elements import (
    ControlOutputs,
    get_consuming_ops,
    get_generating_ops,
    get_tensors,
    make_list_of_op,
    make_list_of_t,
    make_placeholder_from_dtype_and_shape,
    make_placeholder_from_tensor,
)
from dataflow.namespaces import explain_absent

ph = make_placeholder_from_dtype_and_shape

__all__ = [
    "ControlOutputs",
    "SubGraphView",
    "TransformerInfo",
    "add_control_inputs",
    "copy",
    "copy_with_input_replacements",
    "filter_ops",
    "filter_ops_from_regex",
    "filter_ts",
    "filter_ts_from_regex",
    "get_backward_walk_ops",
    "get_consuming_ops",
    "get_forward_walk_ops",
    "get_generating_ops",
    "get_name_scope_ops",
    "get_tensors",
    "get_walks_intersection_ops",
    "get_walks_union_ops",
    "get_within_boundary_ops",
    "graph_replace",
    "make_list_of_op",
    "make_list_of_t",
    "make_placeholder_from_dtype_and_shape",
    "make_placeholder_from_tensor",
    "make_view",
    "ph",
    "remove_control_inputs",
    "reroute_ts",
    "select_ops",
    "select_ts",
    "sgv",
    "sgv_scope",
    "swap_ts",
]

__getattr__ = explain_absent(__name__)
