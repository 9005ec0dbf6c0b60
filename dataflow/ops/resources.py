"""Lists of resources and how they are initialized (TensorFlow's ``tensorflow.python.ops.resources``).

A resource is a node that makes something of a handle, a node that says whether it was made, and the
handle. Variables and tables have lists and initializers of their own; what is registered here are the
further ones that a program makes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dataflow import dtypes
from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor

__all__ = [
    "initialize_resources",
    "local_resources",
    "register_resource",
    "report_uninitialized_resources",
    "shared_resources",
]


class _Resource(NamedTuple):
    handle: Any
    create: Any
    is_initialized: Any


def register_resource(
    handle: Any, create_op: Any, is_initialized_op: Any, is_shared: bool = True
) -> None:
    """Registers a resource: what makes it, and a bool of shape () that says whether it is there.

    A shared one is listed by `shared_resources`, and initialized with a model's global variables by
    `tf.train.Scaffold`; another by `local_resources`.
    """
    key = GraphKeys.RESOURCES if is_shared else GraphKeys.LOCAL_RESOURCES
    default_graph().add_to_collection(key, _Resource(handle, create_op, is_initialized_op))


def shared_resources() -> list[Any]:
    """The resources that tasks share, of the default graph."""
    return default_graph().get_collection(GraphKeys.RESOURCES)


def local_resources() -> list[Any]:
    """The resources of this process alone, of the default graph."""
    return default_graph().get_collection(GraphKeys.LOCAL_RESOURCES)


def initialize_resources(resource_list: Sequence[Any], name: str = "init") -> Any:
    """An op that makes the resources of the list; one that does nothing where it is empty."""
    from dataflow.ops.control_flow import group

    return group(*[resource.create for resource in resource_list], name=name)


def report_uninitialized_resources(
    resource_list: Sequence[Any] | None = None, name: str = "report_uninitialized_resources"
) -> Tensor:
    """A string vector: the names of the handles whose resource was not made yet.

    ``None`` stands for all resources, shared and local.
    """
    from dataflow.ops.array import boolean_mask, stack
    from dataflow.ops.math import logical_not
    from dataflow.ops.sources import constant

    if resource_list is None:
        resource_list = shared_resources() + local_resources()
    graph = default_graph()
    with graph.name_scope(name), graph.device("/cpu:0"):
        if not resource_list:
            return constant([], dtype=dtypes.string)
        names = constant([resource.handle.name for resource in resource_list])
        made = stack([resource.is_initialized for resource in resource_list])
        return boolean_mask(names, logical_not(made))
