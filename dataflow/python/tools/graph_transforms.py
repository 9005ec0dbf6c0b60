"""``from tensorflow.tools.graph_transforms import TransformGraph``: a GraphDef made ready for inference."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from dataflow.dtypes import as_dtype
from dataflow.errors import InvalidArgumentError
from dataflow.graph.graph import Graph
from dataflow.graph.import_graph import import_graph_def
from dataflow.graph.registry import all_ops
from dataflow.graph.tensor_proto import make_ndarray, make_tensor_proto
from dataflow.graph_util import extract_sub_graph
from dataflow.python.tools.optimize_for_inference_lib import (
    fold_batch_norms as fold_normalizations,
    node_name_from_input,
)
from dataflow.rewrites.effects import can_merge
from dataflow.runtime.session import Session

__all__ = ["TransformGraph"]

#: Name of a parameter -> its values, in the order in which they were given.
Parameters = dict[str, list[str]]

#: TensorFlow's other transforms.
_ABSENT = frozenset(
    [
        "add_default_attributes",
        "backport_concatv2",
        "backport_tensor_array_v3",
        "flatten_atrous_conv",
        "freeze_requantization_ranges",
        "fuse_pad_and_conv",
        "fuse_remote_graph",
        "fuse_resize_and_conv",
        "fuse_resize_pad_and_conv",
        "insert_logging",
        "obfuscate_names",
        "quantize_nodes",
        "quantize_weights",
        "rename_node",
        "round_weights",
        "sparsify_gather",
    ]
)
_CALL = re.compile(r'(\w+)\s*(?:\(((?:"[^"]*"|[^()"])*)\))?')
_PARAMETER = re.compile(r'\s*(\w+)\s*=\s*(?:"([^"]*)"|([^,\s]*))\s*(?:,|$)')


def TransformGraph(
    input_graph_def: Any, inputs: Sequence[str], outputs: Sequence[str], transforms: Sequence[str]
) -> Any:
    """The GraphDef after each of the ``transforms``, such as ``"strip_unused_nodes"`` or ``"remove_nodes(op=Identity)"``.

    ``inputs`` and ``outputs`` are names of nodes. Raises `InvalidArgumentError` for a transform that is unknown or not
    part of this engine, and for an output that the graph does not have.
    """
    ends = (
        [node_name_from_input(name) for name in inputs],
        [node_name_from_input(name) for name in outputs],
    )
    calls = [call for text in transforms for call in _CALL.findall(text)]
    for name, _ in calls:
        if name not in _TRANSFORMS:
            raise InvalidArgumentError(None, None, _not_here(name))
    known = {node.name for node in input_graph_def.node}
    for name in ends[1]:
        if calls and name not in known:
            raise InvalidArgumentError(None, None, f"Input node {name} not found in graph")
    graph_def = type(input_graph_def)()
    graph_def.CopyFrom(input_graph_def)
    for name, text in calls:
        parameters: Parameters = {}
        for key, quoted, bare in _PARAMETER.findall(text):
            parameters.setdefault(key, []).append(quoted or bare)
        graph_def = _TRANSFORMS[name](graph_def, *ends, parameters)
    return graph_def


def _not_here(name: str) -> str:
    if name not in _ABSENT:
        return f"Transform '{name}' not recognized."
    here = ", ".join(sorted(_TRANSFORMS))
    return f"Transform '{name}' is not part of dataflow: leave it out. Here are {here}."


def _with_nodes(graph_def: Any, nodes: Iterable[Any]) -> Any:
    """A GraphDef like ``graph_def`` with other nodes."""
    result = type(graph_def)()
    result.CopyFrom(graph_def)
    del result.node[:]
    result.node.extend(nodes)
    return result


def _strip_unused_nodes(
    graph_def: Any, inputs: list[str], outputs: list[str], parameters: Parameters
) -> Any:
    dtype = as_dtype(parameters.get("type", ["float32"])[0]).as_datatype_enum
    sizes = [int(size) for size in parameters.get("shape", [""])[0].split(",") if size]
    of_one = dict(
        zip(parameters.get("name", ()), parameters.get("type_for_name", ()), strict=False)
    )
    shapes = dict(
        zip(parameters.get("name", ()), parameters.get("shape_for_name", ()), strict=False)
    )
    nodes = []
    for node in graph_def.node:
        if node.name in inputs and node.op != "Placeholder":
            made = type(node)(name=node.name, op="Placeholder")
            kind = of_one.get(node.name)
            made.attr["dtype"].type = as_dtype(kind).as_datatype_enum if kind else dtype
            own = [int(s) for s in shapes[node.name].split(",")] if node.name in shapes else sizes
            made.attr["shape"].shape.SetInParent()
            for size in own:
                made.attr["shape"].shape.dim.add().size = size
            node = made
        nodes.append(node)
    kept = [name for name in inputs if any(node.name == name for node in nodes)]
    return extract_sub_graph(_with_nodes(graph_def, nodes), [*outputs, *kept])


def _replaced(graph_def: Any, names: dict[str, str], gone: Collection[str]) -> Any:
    """The graph without the nodes that are ``gone``, reading ``names[a]`` where it read ``a``, as a reference."""
    nodes = []
    for node in graph_def.node:
        if node.name in gone:
            continue
        copy = type(node)()
        copy.CopyFrom(node)
        del copy.input[:]
        for reference in node.input:
            name = node_name_from_input(reference)
            while name in names:
                control = reference.startswith("^")
                reference = ("^" + node_name_from_input(names[name])) if control else names[name]
                name = node_name_from_input(reference)
            copy.input.append(reference)
        nodes.append(copy)
    return _with_nodes(graph_def, nodes)


def _remove_nodes(
    graph_def: Any, inputs: list[str], outputs: list[str], parameters: Parameters
) -> Any:
    """Without the nodes of the types ``op`` that have one input and no control input."""
    names = {
        node.name: node.input[0]
        for node in graph_def.node
        if node.op in parameters.get("op", ())
        and node.name not in (*inputs, *outputs)
        and len(node.input) == 1
        and not node.input[0].startswith("^")
    }
    return _replaced(graph_def, names, names)


def _fold_constants(
    graph_def: Any, inputs: list[str], outputs: list[str], parameters: Parameters
) -> Any:
    """What the outputs need, with what depends on constants alone computed."""
    graph_def = extract_sub_graph(graph_def, outputs)
    graph = Graph()
    with graph.as_default():
        import_graph_def(graph_def, name="")
    constant: set[str] = set()
    for op in graph.get_operations():
        sources = [*(t.op for t in op.inputs), *op.control_inputs]
        can = can_merge(op) and not {op.name} & {*inputs, *outputs}
        if can and op.outputs and all(source.name in constant for source in sources):
            constant.add(op.name)
    read = {
        node_name_from_input(i) for n in graph_def.node if n.name not in constant for i in n.input
    }
    wanted = [op for op in graph.get_operations() if op.name in constant & read]
    folded = [op for op in wanted if op.type != "Const" and len(op.outputs) == 1]
    with Session(graph=graph) as session:
        values = session.run([op.outputs[0] for op in folded])
    computed = {op.name: value for op, value in zip(folded, values, strict=True)}
    nodes = []
    for node in graph_def.node:
        if node.name in computed:
            dtype = graph.get_operation_by_name(node.name).outputs[0].dtype
            node = type(node)(name=node.name, op="Const", device=node.device)
            node.attr["dtype"].type = dtype.as_datatype_enum
            node.attr["value"].tensor.CopyFrom(make_tensor_proto(computed[node.name], dtype))
        nodes.append(node)
    return extract_sub_graph(_with_nodes(graph_def, nodes), outputs)


def _fold_batch_norms(
    graph_def: Any, inputs: list[str], outputs: list[str], parameters: Parameters
) -> Any:
    """With the factor of a convolution's or a product's channels, a Mul with a constant, in its constant weights."""
    nodes = {node.name: node for node in graph_def.node}
    users: dict[str, int] = {}
    for node in graph_def.node:
        for name in {node_name_from_input(i) for i in node.input}:
            users[name] = users.get(name, 0) + 1
    gone: set[str] = set()
    made: dict[str, list[Any]] = {}
    for mul in graph_def.node:
        if mul.op != "Mul":
            continue
        conv, factor = (nodes[node_name_from_input(i)] for i in mul.input[:2])
        if conv.op not in ("Conv2D", "MatMul", "DepthwiseConv2dNative") or factor.op != "Const":
            continue
        weights = nodes[node_name_from_input(conv.input[1])]
        if weights.op != "Const" or users[conv.name] != 1 or users[weights.name] != 1:
            continue
        scale, value = (make_ndarray(n.attr["value"].tensor) for n in (factor, weights))
        channels = value.shape[2:] if conv.op == "DepthwiseConv2dNative" else value.shape[-1:]
        turned = conv.attr["transpose_b"].b or conv.attr["data_format"].s == b"NCHW"
        if turned or scale.ndim != 1 or scale.size != int(_product(channels)):
            continue
        scaled = type(weights)()
        scaled.CopyFrom(weights)
        dtype = weights.attr["dtype"].type
        scaled.attr["value"].tensor.CopyFrom(
            make_tensor_proto(value * scale.reshape(channels), dtype)
        )
        renamed = type(conv)()
        renamed.CopyFrom(conv)
        renamed.name = mul.name
        made[mul.name] = [scaled, renamed]
        gone |= {conv.name, weights.name} | ({factor.name} if users[factor.name] == 1 else set())
    result = []
    for node in graph_def.node:
        if node.name not in gone:
            result += made.get(node.name, [node])
    return _with_nodes(graph_def, result)


def _product(sizes: Iterable[int]) -> int:
    result = 1
    for size in sizes:
        result *= size
    return result


def _merge_duplicate_nodes(
    graph_def: Any, inputs: list[str], outputs: list[str], parameters: Parameters
) -> Any:
    """With one node for those of one type, with the same attributes, inputs and device, that have no state."""
    while True:
        first: dict[bytes, str] = {}
        names: dict[str, str] = {}
        for node in graph_def.node:
            op_def = all_ops().get(node.op)
            if op_def is None or op_def.stateful or node.op == "Placeholder":
                continue
            bare = type(node)()
            bare.CopyFrom(node)
            bare.name = ""
            kept = first.setdefault(bare.SerializeToString(deterministic=True), node.name)
            if kept != node.name and node.name not in (*inputs, *outputs):
                names[node.name] = kept
        if not names:
            return graph_def
        graph_def = _renamed(graph_def, names)


def _renamed(graph_def: Any, names: dict[str, str]) -> Any:
    """Without the nodes that ``names`` has, whose users read another node's outputs of the same numbers."""
    nodes = []
    for node in graph_def.node:
        if node.name in names:
            continue
        copy = type(node)()
        copy.CopyFrom(node)
        for i, reference in enumerate(node.input):
            name = node_name_from_input(reference)
            if name in names:
                mark, colon = reference[: reference.startswith("^")], reference.partition(":")[1:]
                copy.input[i] = mark + names[name] + "".join(colon)
        nodes.append(copy)
    return _with_nodes(graph_def, nodes)


def _sort_by_execution_order(
    graph_def: Any, inputs: list[str], outputs: list[str], parameters: Parameters
) -> Any:
    nodes = {node.name: node for node in graph_def.node}
    done: dict[str, Any] = {}
    for root in graph_def.node:
        stack = [(root.name, False)]
        while stack:
            name, leaving = stack.pop()
            if leaving:
                done.setdefault(name, nodes[name])
            elif name not in done and (name, True) not in stack:
                stack.append((name, True))
                if nodes[name].op != "NextIteration":
                    stack += [(node_name_from_input(i), False) for i in nodes[name].input]
    return _with_nodes(graph_def, done.values())


def _each(change: Callable[[Any, Parameters], None]) -> Callable[..., Any]:
    """A transform that changes each node by itself."""

    def transform(
        graph_def: Any, inputs: list[str], outputs: list[str], parameters: Parameters
    ) -> Any:
        for node in graph_def.node:
            change(node, parameters)
        return graph_def

    return transform


def _remove_device(node: Any, parameters: Parameters) -> None:
    node.device = ""


def _set_device(node: Any, parameters: Parameters) -> None:
    if not (node.device and parameters.get("if_default", ["false"])[0] == "true"):
        node.device = parameters.get("device", [""])[0]


def _remove_control_dependencies(node: Any, parameters: Parameters) -> None:
    kept = [reference for reference in node.input if not reference.startswith("^")]
    del node.input[:]
    node.input.extend(kept)


def _is_meant(node: Any, parameters: Parameters) -> bool:
    return parameters.get("op_name", ["*"])[0] in ("*", node.op)


def _remove_attribute(node: Any, parameters: Parameters) -> None:
    if _is_meant(node, parameters):
        node.attr.pop(parameters["attribute_name"][0], None)


def _rename_attribute(node: Any, parameters: Parameters) -> None:
    old, new = parameters["old_attribute_name"][0], parameters["new_attribute_name"][0]
    if _is_meant(node, parameters) and old in node.attr:
        node.attr[new].CopyFrom(node.attr[old])
        del node.attr[old]


def _rename_op(node: Any, parameters: Parameters) -> None:
    if node.op == parameters["old_op_name"][0]:
        node.op = parameters["new_op_name"][0]


_TRANSFORMS: dict[str, Callable[..., Any]] = {
    "fold_batch_norms": _fold_batch_norms,
    "fold_constants": _fold_constants,
    "fold_old_batch_norms": lambda graph_def, *_: fold_normalizations(graph_def),
    "merge_duplicate_nodes": _merge_duplicate_nodes,
    "remove_attribute": _each(_remove_attribute),
    "remove_control_dependencies": _each(_remove_control_dependencies),
    "remove_device": _each(_remove_device),
    "remove_nodes": _remove_nodes,
    "rename_attribute": _each(_rename_attribute),
    "rename_op": _each(_rename_op),
    "set_device": _each(_set_device),
    "sort_by_execution_order": _sort_by_execution_order,
    "strip_unused_nodes": _strip_unused_nodes,
}
