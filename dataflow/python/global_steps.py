"""Functions of ``tensorflow.python.training.training_util`` beside the public ones."""

from __future__ import annotations

from typing import Any

from dataflow.graph.default_stacks import default_graph
from dataflow.graph.graph import Graph
from dataflow.ops.array import identity
from dataflow.ops.graph_functions import control_dependencies
from dataflow.train.global_step import get_global_step

__all__: list[str] = []

_READ = "global_step_read_op_cache"


def _get_global_step_read(graph: Graph | None = None) -> Any:
    """The tensor that reads the global step before it is raised; None where none was made."""
    found = (graph or default_graph()).get_collection(_READ)
    if len(found) > 1:
        raise RuntimeError("There are multiple items in collection global_step_read_op_cache.")
    return found[0] if found else None


def _get_or_create_global_step_read(graph: Graph | None = None) -> Any:
    """The tensor that reads the global step before it is raised; None where there is no global step."""
    graph = graph or default_graph()
    read, step = _get_global_step_read(graph), get_global_step(graph)
    if read is not None or step is None:
        return read
    with graph.as_default(), graph.name_scope(None), graph.name_scope(step.op.name + "/"):
        read = identity(step)
    graph.add_to_collection(_READ, read)
    return read


def _increment_global_step(increment: int, graph: Graph | None = None) -> Any:
    """Adds to the global step after it was read; raises `ValueError` where there is none."""
    graph = graph or default_graph()
    step = get_global_step(graph)
    if step is None:
        raise ValueError(
            "Global step tensor should be created by tf.train.get_or_create_global_step."
        )
    read = _get_or_create_global_step_read(graph)
    with graph.as_default(), graph.name_scope(None), graph.name_scope(step.op.name + "/"):
        with control_dependencies([read]):
            return step.assign_add(increment)
