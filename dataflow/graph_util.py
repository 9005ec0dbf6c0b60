"""`tf.graph_util`: freezing and cutting GraphDefs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataflow.dtypes import as_dtype, int32, resource, string
from dataflow.graph.import_graph import import_graph_def as import_graph_def
from dataflow.graph.registry import all_ops


def _node_name(reference: str) -> str:
    name = reference[1:] if reference.startswith("^") else reference
    return name.split(":")[0]


def extract_sub_graph(graph_def: Any, dest_nodes: Any) -> Any:
    """The part of a GraphDef that ``dest_nodes`` (names) depend on.

    Raises `TypeError` for a single string, `AssertionError` for a name that is not there.
    """
    if isinstance(dest_nodes, str):
        raise TypeError("dest_nodes must be an iterable of strings")
    nodes = {node.name: node for node in graph_def.node}
    for name in dest_nodes:
        assert _node_name(name) in nodes, f"{name} is not in graph"
    wanted: set[str] = set()
    stack = [_node_name(n) for n in dest_nodes]
    while stack:
        name = stack.pop()
        if name not in wanted:
            wanted.add(name)
            stack.extend(_node_name(i) for i in nodes[name].input)
    result = type(graph_def)()
    for node in graph_def.node:
        if node.name in wanted:
            result.node.add().CopyFrom(node)
    if graph_def.HasField("versions"):
        result.versions.CopyFrom(graph_def.versions)
    if graph_def.HasField("library"):
        result.library.CopyFrom(graph_def.library)
    return result


def convert_variables_to_constants(
    sess: Any,
    input_graph_def: Any,
    output_node_names: Any,
    variable_names_whitelist: Any = None,
    variable_names_blacklist: Any = None,
) -> Any:
    """The part that the outputs need, with each variable's value in ``sess`` as a constant.

    Reads of a resource variable become the nodes that take the value itself.
    """
    from dataflow.graph.tensor_proto import array_to_proto

    part = extract_sub_graph(input_graph_def, output_node_names)
    names = [
        node.name
        for node in part.node
        if _is_variable(node.op)
        and (variable_names_whitelist is None or node.name in variable_names_whitelist)
        and (variable_names_blacklist is None or node.name not in variable_names_blacklist)
    ]
    values = dict(zip(names, sess.run([n + ":0" for n in names]) if names else [], strict=True))
    result = type(part)()
    value_types = _handles(part, values)
    for node in part.node:
        added = result.node.add()
        if _source(node) in value_types:
            _take_value(result, added, node, value_types)
        elif node.name in values:
            added.op = "Const"
            added.name = node.name
            added.attr["dtype"].CopyFrom(node.attr["dtype"])
            added.attr["value"].tensor.CopyFrom(array_to_proto(values[node.name]))
        else:
            added.CopyFrom(node)
    result.versions.CopyFrom(part.versions)
    result.library.CopyFrom(part.library)
    return result


def _source(node: Any) -> str:
    """The node that the first input is of; "" where there is none."""
    first = node.input[0] if node.input else ""
    return "" if first.startswith("^") else _node_name(first)


def _handles(part: Any, names: Iterable[str]) -> dict[str, Any]:
    """The nodes that hand on the handle of one of these variables, and the variable's dtype."""
    variables = set(names)
    nodes = {node.name: node for node in part.node}
    found = {n: nodes[n].attr["dtype"] for n in variables if nodes[n].op == "VarHandleOp"}
    readers: dict[str, list[Any]] = {}
    for node in part.node:
        readers.setdefault(_source(node), []).append(node)
    waiting = list(found)
    while waiting:
        name = waiting.pop()
        for node in readers.get(name, ()):
            if node.attr["T"].type == resource.as_datatype_enum and node.name not in found:
                found[node.name] = found[name]
                waiting.append(node.name)
    return found


def _take_value(result: Any, added: Any, node: Any, value_types: dict[str, Any]) -> None:
    """Writes ``node``, which gets a handle, as one that gets the variable's value."""
    from dataflow.graph.tensor_proto import make_tensor_proto

    added.CopyFrom(node)
    if node.name in value_types:  # Identity, Enter or Switch
        added.attr["T"].CopyFrom(value_types[node.name])
        return
    kind = value_types[_source(node)]
    if node.op == "VariableShape":
        added.op = "Shape"
        added.attr["T"].CopyFrom(kind)
    elif node.op == "ReadVariableOp":
        added.op = "Identity"
        added.attr.clear()
        added.attr["T"].CopyFrom(kind)
    elif node.op == "ResourceGather":
        axis = result.node.add(name=f"{node.name}/axis", op="Const")
        axis.attr["dtype"].type = int32.as_datatype_enum
        axis.attr["value"].tensor.CopyFrom(make_tensor_proto(0, int32, []))
        added.op = "GatherV2"
        added.input.append(axis.name)
        added.attr.clear()
        added.attr["Tparams"].CopyFrom(kind)
        added.attr["Taxis"].type = int32.as_datatype_enum
        added.attr["Tindices"].CopyFrom(node.attr["Tindices"])
    else:
        raise ValueError(
            f"convert_variables_to_constants: {node.name!r} ({node.op}) needs the variable "
            f"{node.input[0]!r} itself, and not its value alone: it cannot be frozen. Name outputs "
            "that do not need it, or put the variable on `variable_names_blacklist`."
        )


def remove_training_nodes(input_graph: Any, protected_nodes: Iterable[str] | None = None) -> Any:
    """The GraphDef without CheckNumerics and Identity nodes, which only training needs.

    A CheckNumerics goes with the control inputs that wait for it; an Identity stays where control inputs come
    to it or from it, or where it reads a variable.
    """
    protected = set(protected_nodes or ())
    checks = {
        n.name: n.input[0]
        for n in input_graph.node
        if n.op == "CheckNumerics" and n.name not in protected
    }
    kept = [n for n in input_graph.node if n.name not in checks]
    inputs = {
        n.name: [i for i in n.input if i.removeprefix("^") not in checks or i[0] != "^"]
        for n in kept
    }
    used_as_control = {i[1:] for own in inputs.values() for i in own if i.startswith("^")}
    variables = {n.name for n in kept if _is_variable(n.op)}
    removable = dict(checks)
    for node in kept:
        own = inputs[node.name]
        if node.op != "Identity" or node.name in protected | used_as_control or len(own) != 1:
            continue
        if _node_name(own[0]) not in variables:
            removable[node.name] = own[0]

    def resolve(reference: str) -> str:
        while _node_name(reference) in removable and not reference.startswith("^"):
            reference = removable[_node_name(reference)]
        return reference

    result = type(input_graph)()
    for node in kept:
        if node.name in removable:
            continue
        added = result.node.add()
        added.CopyFrom(node)
        del added.input[:]
        added.input.extend(resolve(i) for i in inputs[node.name])
    if input_graph.HasField("versions"):
        result.versions.CopyFrom(input_graph.versions)
    return result


def tensor_shape_from_node_def_name(graph: Any, input_name: str) -> Any:
    """The static shape of a tensor named as in a NodeDef."""
    name = input_name if ":" in input_name else input_name + ":0"
    return graph.get_tensor_by_name(name).get_shape()


def _is_variable(op_type: str) -> bool:
    op_def = all_ops().get(op_type)
    return op_def is not None and op_def.is_variable


def must_run_on_cpu(node: Any, pin_variables_on_cpu: bool = False) -> bool:
    """Whether TensorFlow keeps a node (an `Operation` or a ``NodeDef``) on the CPU: strings and int32 indices.

    With ``pin_variables_on_cpu`` every op of a variable counts, too.
    """
    node_def = getattr(node, "node_def", node)
    op_type = node_def.op
    if pin_variables_on_cpu and _is_variable(op_type):
        return True
    if op_type == "Const":
        return as_dtype(node_def.attr["dtype"].type) in (string, int32)
    if op_type in ("DynamicStitch", "ParallelDynamicStitch"):
        return as_dtype(node_def.attr["T"].type) == int32
    return op_type == "Cast" and as_dtype(node_def.attr["SrcT"].type) == int32
