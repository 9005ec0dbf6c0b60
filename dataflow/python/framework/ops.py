"""``from tensorflow.python.framework import ops``: the core of graphs."""

from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor, register_tensor_conversion_function
from dataflow.graph.default_stacks import (
    default_graph as get_default_graph,
    default_session as get_default_session,
    reset_default_graph,
)
from dataflow.graph.graph import Graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import RegisterGradient, not_differentiable as NotDifferentiable
from dataflow.graph.tensor import Tensor
from dataflow.ops.graph_functions import (
    add_to_collection,
    add_to_collections,
    colocate_with,
    control_dependencies,
    device,
    get_collection,
    get_collection_ref,
    name_scope,
    op_scope,
)
from dataflow.ops.indexed_slices import IndexedSlices

NoGradient = NotDifferentiable

__all__ = [
    "Graph",
    "GraphKeys",
    "IndexedSlices",
    "NoGradient",
    "NotDifferentiable",
    "Operation",
    "RegisterGradient",
    "Tensor",
    "add_to_collection",
    "add_to_collections",
    "colocate_with",
    "control_dependencies",
    "convert_to_tensor",
    "device",
    "get_collection",
    "get_collection_ref",
    "get_default_graph",
    "get_default_session",
    "name_scope",
    "op_scope",
    "register_tensor_conversion_function",
    "reset_default_graph",
]
