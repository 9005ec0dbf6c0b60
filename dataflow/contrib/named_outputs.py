"""Outputs of layers by name: what ``outputs_collections`` collects (``slim.utils``)."""

from __future__ import annotations

from typing import Any

from dataflow.graph.default_stacks import default_graph


def append_tensor_alias(tensor: Any, alias: str) -> Any:
    """Notes another name of ``tensor``; returns the tensor."""
    if tensor.extras is None:
        tensor.extras = {}
    tensor.aliases.append(alias.removesuffix("/"))
    return tensor


def collect_named_outputs(collections: Any, alias: str, outputs: Any) -> Any:
    """Puts ``outputs`` into collections of the default graph, with ``alias`` as a name; returns it."""
    if collections:
        append_tensor_alias(outputs, alias)
        default_graph().add_to_collections(collections, outputs)
    return outputs


def get_tensor_aliases(tensor: Any) -> list[str]:
    """The names that layers gave to ``tensor``, or that of its op where none did."""
    return list(tensor.aliases) or [tensor.op.name.removesuffix("/")]


def gather_tensors_aliases(tensors: Any) -> list[str]:
    """The names of several tensors, in one list."""
    return [alias for tensor in tensors for alias in get_tensor_aliases(tensor)]


def convert_collection_to_dict(collection: str, clear_collection: bool = False) -> dict[str, Any]:
    """The tensors of a collection by their names, such as a network's ``end_points``."""
    graph = default_graph()
    found = {a: t for t in graph.get_collection(collection) for a in get_tensor_aliases(t)}
    if clear_collection:
        graph.clear_collection(collection)
    return found
