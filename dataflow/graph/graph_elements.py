"""Looking up nodes and tensors of a graph: by name, or by what stands for one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataflow.dtypes import resource
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor

if TYPE_CHECKING:
    from dataflow.graph.graph import Graph


def of_another_graph(op: Operation) -> str:
    """Where a node of another graph was built, and what to do about it."""
    return (
        f" It belongs to another graph, and was built at {op.built_at}. A session runs the graph that was the "
        "default one when it was made: after tf.reset_default_graph(), build the nodes and make the session anew. "
        "With several graphs, build in `with graph.as_default():`, and make tf.Session(graph=graph)."
    )


def mixed_graphs(op_type: str, name: str, inputs: list[Tensor], stranger: Tensor) -> ValueError:
    """The error for a node whose inputs are of two graphs: where one of each was built, and what to do."""
    other = next((t for t in inputs if t.op.graph is not stranger.op.graph), None)
    places = " and ".join(
        f"{read.name!r} at {read.op.built_at}"
        for read in map(_read_by, (stranger, other) if other is not None else (stranger,))
    )
    return ValueError(
        f"{op_type} {name!r}: the input {stranger.name!r} is from another graph. "
        "All inputs of a node must belong to the graph that the node is added to.\n"
        f"  Built: {places}. What was built before tf.reset_default_graph() is of the graph before: run "
        "the cell again that builds it, or that makes its layer or model."
    )


def _read_by(tensor: Tensor) -> Tensor:
    """Of what reads a variable the variable, which has a name that the learner knows."""
    sources = tensor.op.inputs
    is_read = bool(sources) and (sources[0].dtype.is_ref or sources[0].dtype is resource)
    return sources[0] if is_read else tensor


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
            raise ValueError(f"{obj} is not an element of this graph.{of_another_graph(obj.op)}")
        return obj
    if isinstance(obj, Operation) and allow_operation:
        if obj.graph is not graph:
            raise ValueError(
                f"Operation {obj.name!r} is not an element of this graph.{of_another_graph(obj)}"
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
