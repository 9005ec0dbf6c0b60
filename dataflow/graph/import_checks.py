"""What `import_graph_def` is given, checked."""

from __future__ import annotations

from typing import Any

from dataflow.graph.operation import Operation
from dataflow.graph.serialize import PRODUCER


def check_arguments(graph_def: Any, input_map: Any, return_elements: Any) -> None:
    if not hasattr(graph_def, "node") or not hasattr(graph_def, "SerializeToString"):
        raise TypeError(
            f"Argument `graph_def` must be a GraphDef proto. Got {type(graph_def).__name__}."
        )
    if input_map is not None and not isinstance(input_map, dict):
        raise TypeError(
            f"Argument `input_map` must be a dictionary. Got {type(input_map).__name__}."
        )
    elements = return_elements or ()
    if not isinstance(elements, (list, tuple)) or not all(
        isinstance(e, (str, bytes)) for e in elements
    ):
        raise TypeError(
            f"Argument `return_elements` must be a list of strings. Got {return_elements!r}."
        )


def check_mapped(
    mapped: dict[tuple[str, int], Any], read: set[tuple[str, int]], made: dict[str, Operation]
) -> None:
    """Raises `ValueError` for keys of ``input_map`` that are not among the outputs of the file's nodes.

    ``read`` are the outputs (name, index) that its nodes read, ``made`` the nodes by their names in the file.
    """
    missing = [
        f"{name}:{index}"
        for name, index in mapped
        if (name, index) not in read and not (name in made and index < len(made[name].outputs))
    ]
    if missing:
        raise ValueError(
            f"Attempted to map inputs that were not found in graph_def: [{', '.join(missing)}]"
        )


def check_versions(versions: Any) -> None:
    if versions.min_consumer > PRODUCER:
        raise ValueError(
            f"GraphDef min consumer version {versions.min_consumer} above current version {PRODUCER} "
            "for TensorFlow 1.15, whose graphs this engine reads. Write the graph for an older version."
        )
    if PRODUCER in versions.bad_consumers:
        raise ValueError(
            f"GraphDef disallows consumer version {PRODUCER}. Please upgrade its program: the graph "
            "says that this version reads it wrongly."
        )
