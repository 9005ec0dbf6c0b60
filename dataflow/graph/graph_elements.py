"""Looking up nodes and tensors of a graph: by name, or by what stands for one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor

if TYPE_CHECKING:
    from dataflow.graph.graph import Graph

_ANOTHER_GRAPH = (
    " It belongs to another graph: build both in one `with graph.as_default():` block, and make the "
    "session for it, tf.Session(graph=graph)."
)


def element_of(graph: Graph, obj: Any, allow_tensor: bool, allow_operation: bool) -> Any:
    """What `Graph.as_graph_element` gives; raises as it does."""
    convert = getattr(obj, "_as_graph_element", None)
    if convert is not None:
        obj = convert()
    if isinstance(obj, bytes):
        obj = obj.decode()
    if isinstance(obj, str):
        return _element_by_name(graph, obj, allow_tensor, allow_operation)
    if isinstance(obj, Tensor) and allow_tensor:
        if obj.graph is not graph:
            raise ValueError(f"{obj} is not an element of this graph.{_ANOTHER_GRAPH}")
        return obj
    if isinstance(obj, Operation) and allow_operation:
        if obj.graph is not graph:
            raise ValueError(
                f"Operation {obj.name!r} is not an element of this graph.{_ANOTHER_GRAPH}"
            )
        return obj
    kinds = " or ".join(
        k for k, a in (("Tensor", allow_tensor), ("Operation", allow_operation)) if a
    )
    raise TypeError(f"Can not convert a {type(obj).__name__} into a {kinds}.")


def _element_by_name(graph: Graph, name: str, allow_tensor: bool, allow_operation: bool) -> Any:
    if ":" in name and allow_tensor:
        op_name, _, index_text = name.rpartition(":")
        try:
            if ":" in op_name:
                raise ValueError
            index = int(index_text)
        except ValueError:
            raise ValueError(
                f'The name {name!r} looks like a tensor name, but is not one: write "<op>:<output>".'
            ) from None
        op = graph.op_by_name.get(op_name)
        if op is None:
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                f"{op_name!r}, does not exist in the graph.{_similar(graph, op_name)}"
            )
        if not 0 <= index < len(op.outputs):
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                f"{op_name!r}, exists but only has {len(op.outputs)} outputs."
            )
        return op.outputs[index]
    if ":" in name:
        raise ValueError(f"The name {name!r} is the name of a tensor, but an operation is needed.")
    op = graph.op_by_name.get(name)
    if op is None:
        raise KeyError(
            f"The name {name!r} refers to an Operation not in the graph.{_similar(graph, name)}"
        )
    if not allow_operation:
        raise ValueError(
            f"The name {name!r} refers to an Operation, not a Tensor. "
            f'Tensor names must be of the form "<op_name>:<output_index>", as in "{name}:0".'
        )
    return op


def _similar(graph: Graph, name: str) -> str:
    import difflib

    close = difflib.get_close_matches(name, graph.op_by_name, n=3)
    return f" Did you mean {', '.join(map(repr, close))}?" if close else ""
