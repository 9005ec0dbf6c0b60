"""``tf.contrib.copy_graph``: operations and variables copied to other graphs."""

from __future__ import annotations

from typing import Any

from dataflow.graph.graph import Graph
from dataflow.graph.import_graph import import_graph_def
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.namespaces import explain_absent
from dataflow.ops.variables import Variable
from dataflow.runtime.session import Session

__all__ = ["copy_op_to_graph", "copy_variable_to_graph", "get_copied_op"]


def _below(scope: str, name: str) -> str:
    return f"{scope}/{name}" if scope else name


def _note(original: Any, copy: Any, graph: Graph, scope: str, kept: tuple[str, ...] = ()) -> None:
    """Adds a copy to the collections that hold the original; most collections get the scope's name in front."""
    source = original.graph
    for key in source.get_all_collection_keys():
        if any(item is original for item in source.get_collection_ref(key)):
            name = key if key in kept or not isinstance(key, str) else _below(scope, key)
            graph.add_to_collection(name, copy)


def copy_variable_to_graph(org_instance: Any, to_graph: Graph, scope: str = "") -> Variable:
    """A variable of ``to_graph`` with the name, the initial value and the collections of ``org_instance``.

    Raises `TypeError` for anything but a variable.
    """
    if not isinstance(org_instance, Variable):
        raise TypeError(f"{org_instance} is not a Variable")
    source: Any = org_instance
    with source.graph.as_default(), Session() as session:
        value = session.run(source.initialized_value())
    name = _below(scope, source.name.partition(":")[0])
    with to_graph.as_default():
        copy = Variable(value, trainable=source.trainable, name=name, collections=[])
    _note(source, copy, to_graph, scope, ("variables", "trainable_variables"))
    return copy


def copy_op_to_graph(org_instance: Any, to_graph: Graph, variables: Any, scope: str = "") -> Any:
    """The copy of an operation or a tensor, and of all that it needs, below ``scope`` of ``to_graph``.

    ``variables``: those that `copy_variable_to_graph` made there, which stand for their originals. What is
    there already is not copied again. Raises `TypeError` for anything else.
    """
    if not isinstance(org_instance, (Operation, Tensor)):
        raise TypeError(f"Could not copy instance: {org_instance}")
    by_name = {v.name: v for v in variables}
    name = _below(scope, org_instance.name)
    if name in by_name:
        return to_graph.get_tensor_by_name(name)
    try:
        return get_copied_op(org_instance, to_graph, scope)
    except (KeyError, ValueError):
        pass
    if isinstance(org_instance, Tensor):
        made = copy_op_to_graph(org_instance.op, to_graph, variables, scope)
        copy = made.outputs[org_instance.value_index]
        _note(org_instance, copy, to_graph, scope)
        return copy
    for needed in (*org_instance.inputs, *org_instance.control_inputs):
        copy_op_to_graph(needed, to_graph, variables, scope)
    return _copied(org_instance, to_graph, scope)


def _copied(operation: Operation, to_graph: Graph, scope: str) -> Operation:
    """One operation, whose inputs are in the other graph by now."""
    from tensorboard.compat.proto.graph_pb2 import GraphDef

    definition = GraphDef()
    definition.node.add().CopyFrom(operation.node_def)
    node = definition.node[0]
    del node.input[:]
    inputs = {}
    for i, tensor in enumerate(operation.inputs):
        node.input.append(f"copied{i}")
        inputs[f"copied{i}:0"] = get_copied_op(tensor, to_graph, scope)
    with to_graph.as_default():
        import_graph_def(definition, input_map=inputs, name=scope and f"{scope}/")
    copy: Operation = to_graph.get_operation_by_name(_below(scope, operation.name))
    copy._add_control_inputs([get_copied_op(c, to_graph, scope) for c in operation.control_inputs])
    return copy


def get_copied_op(org_instance: Any, graph: Graph, scope: str = "") -> Any:
    """The copy of an operation or a tensor in ``graph`` below ``scope``; raises `KeyError` if there is none."""
    return graph.as_graph_element(_below(scope, org_instance.name))


__getattr__ = explain_absent(__name__)
