"""The global step: one counter of training steps for each graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataflow import dtypes
from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.graph import Graph
from dataflow.graph.tensor import Tensor
from dataflow.ops.initializers import zeros_initializer
from dataflow.ops.variable_scope import get_variable
from dataflow.ops.variables import Variable

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession


def global_step(sess: BaseSession, global_step_tensor: Any) -> int:
    """The value of the global step in ``sess``, as an int."""
    return int(sess.run(global_step_tensor))


def get_global_step(graph: Graph | None = None) -> Any:
    """The global step of ``graph`` (by default the current one), or ``None``.

    It is what the collection ``GLOBAL_STEP`` holds, else the tensor ``global_step:0``. Raises
    `TypeError` where that is no integer scalar.
    """
    graph = graph or default_graph()
    candidates = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(candidates) > 1:
        return None
    if candidates:
        found = candidates[0]
    else:
        try:
            found = graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
    assert_global_step(found)
    return found


def create_global_step(graph: Graph | None = None) -> Variable:
    """Makes the global step: an int64 variable called ``global_step`` that starts at 0.

    Raises `ValueError` where the graph has one.
    """
    graph = graph or default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        step = get_variable(
            GraphKeys.GLOBAL_STEP,
            shape=[],
            dtype=dtypes.int64,
            initializer=zeros_initializer(),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )
    return step  # type: ignore[no-any-return]


def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """The global step, made if need be."""
    graph = graph or default_graph()
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


def assert_global_step(global_step_tensor: Any) -> None:
    """Raises `TypeError` unless this is an integer scalar: a variable, a tensor."""
    if not isinstance(global_step_tensor, (Variable, Tensor)):
        raise TypeError(
            "Existing 'global_step' must be a Variable or Tensor, got "
            f"{type(global_step_tensor).__name__}."
        )
    if not global_step_tensor.dtype.base_dtype.is_integer:
        raise TypeError(
            "Existing 'global_step' does not have integer type: "
            f"{global_step_tensor.dtype.base_dtype.name}"
        )
    shape = global_step_tensor.get_shape()
    if shape.ndims not in (None, 0):
        raise TypeError(f"Existing 'global_step' is not scalar: {shape}")
