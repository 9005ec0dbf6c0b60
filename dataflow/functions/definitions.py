"""Traced functions as ``FunctionDef``s: what a SavedModel holds of them, and how other graphs take them over."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from dataflow.graph.default_stacks import default_graph
from dataflow.graph.eager_kinds import is_handle
from dataflow.graph.eager_tensor import EagerTensor
from dataflow.graph.function_def import LibraryFunction, add_library, definition_of, is_function
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.ops.control_flow import with_dependencies
from dataflow.ops.control_flow_defs import CONTEXTS, contexts_of
from dataflow.ops.function_calls import inlined
from dataflow.rewrites.prune import needed_operations


class Definition(NamedTuple):
    """A ``FunctionDef``, those that its nodes name, and what it takes after its arguments."""

    proto: Any
    others: list[Any]
    #: Resources of the code around, and values that may be other ones elsewhere: the paths of files.
    bound: list[Any]


def define(
    name: str,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    effects: Sequence[Operation],
    stand_ins: dict[Any, Tensor],
    also_bound: Collection[Any] = (),
) -> Definition:
    """The definition of a part of a traced graph, from ``inputs`` to ``outputs``, which runs ``effects``.

    ``stand_ins``: values from outside, and what stands for each. Those that are resources, or among
    ``also_bound``, are bound; others are constants of the function.
    """
    from tensorboard.compat.proto.graph_pb2 import GraphDef

    bound = [v for v in stand_ins if _is_resource(v) or any(v is b for b in also_bound)]
    given = [*inputs, *(stand_ins[value] for value in bound)]
    nodes = needed_operations(outputs, effects, given)
    nodes = needed_operations(outputs, [*effects, *_pivots(nodes)], given)
    proto = definition_of(name, given, outputs, nodes, effects)
    shapes = proto.attr["_input_shapes"].list
    shapes.SetInParent()
    for tensor in given:
        proto_of_shape = shapes.shape.add()
        if is_handle(tensor.dtype):
            proto_of_shape.unknown_rank = True
        else:
            proto_of_shape.CopyFrom(tensor.shape.as_proto())
    _drop_lost_groups(proto)
    _write_contexts(proto, given, nodes)
    holder = GraphDef()
    add_library(holder, [v for op in nodes for v in op.attrs.values() if is_function(v)])
    return Definition(proto, list(holder.library.function), bound)


def _pivots(nodes: Sequence[Operation]) -> list[Operation]:
    """The nodes that say when the branches and loops of ``nodes`` run, which belong to these."""
    found: dict[Operation, None] = {}
    for op in nodes:
        context = op.control_flow_context
        while context is not None:
            found[context.pivot_op()] = None
            context = context.outer
    return list(found)


def _write_contexts(proto: Any, inputs: Sequence[Tensor], nodes: Sequence[Operation]) -> None:
    """Which nodes are in which branch and loop."""
    arguments = {tensor.name: f"arg_{i}:0" for i, tensor in enumerate(inputs)}
    there = {op.name for op in nodes}

    def new_name(name: str) -> str | None:
        if name in arguments:
            return arguments[name]
        own = name[1:] if name[0] == "^" else name.rpartition(":")[0]
        return name if own in there else None

    for node in proto.node_def:  # those that a node had in the function that it came from
        if CONTEXTS in node.attr:
            del node.attr[CONTEXTS]
    if proto.node_def and (found := contexts_of(nodes[0].graph, new_name)):
        proto.node_def[0].attr[CONTEXTS].list.s.extend(found)


def _is_resource(value: Any) -> bool:
    return isinstance(value, Tensor) and is_handle(value.dtype)


def _drop_lost_groups(proto: Any) -> None:
    """Takes out colocations with nodes that are not in the function: variables above all."""
    names = {b"loc:@" + node.name.encode() for node in proto.node_def}
    for node in proto.node_def:
        if "_class" in node.attr:
            kept = [group for group in node.attr["_class"].list.s if group in names]
            del node.attr["_class"]
            if kept:
                node.attr["_class"].list.s.extend(kept)


def add_to_graph(
    function: LibraryFunction, tensors: Sequence[Tensor], bound: Sequence[Any], name: str
) -> list[Tensor]:
    """The nodes of a function in the default graph, in a scope of that name; what it returns, after its effects.

    ``tensors`` of the graph are its arguments, ``bound`` what it takes after them from the code around.
    """
    graph = default_graph()
    given = [*tensors, *(in_graph(value, graph) for value in bound)]
    with graph.name_scope(name) as scope:
        outputs, effects = inlined(function, given, scope)
    if (
        not effects or graph.traces_function
    ):  # the whole of a traced graph is put in order when it is there
        return outputs
    return [with_dependencies(effects, tensor) for tensor in outputs]


def library_function(definition: Definition) -> LibraryFunction:
    """The function of a definition, to be called."""
    proto = definition.proto
    library = {f.signature.name: f for f in [proto, *definition.others]}
    return LibraryFunction(proto.signature.name, library)


def in_graph(value: Any, graph: Any) -> Tensor:
    """What stands for a value of the code around in ``graph``."""
    if isinstance(value, EagerTensor):
        return value.in_graph(graph)
    is_outside = value.graph is not graph and graph.captures is not None
    return graph.capture(value) if is_outside else value  # type: ignore[no-any-return]
