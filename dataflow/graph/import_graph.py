"""`import_graph_def`: nodes of a ``GraphDef`` become nodes of the default graph.

Nothing in the file is executed: unknown ops, missing inputs, cycles and damaged attributes are
refused before the first node is added.
"""

from __future__ import annotations

from typing import Any

from dataflow import shapes
from dataflow.dtypes import DType
from dataflow.errors import DTypeError, InvalidArgumentError
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.graph import infer_type_attrs
from dataflow.graph.operation import Operation
from dataflow.graph.registry import OpDef, _normalize_attr, all_ops, get_op
from dataflow.graph.serialize import attr_value
from dataflow.graph.tensor import Tensor

_BACK_EDGES = frozenset({"NextIteration", "RefNextIteration"})
_LOOP_HEADS = frozenset({"Merge", "RefMerge"})


def _split(reference: str) -> tuple[str, int]:
    """``"a:1"`` as ("a", 1); an input without a number is output 0."""
    name, colon, index = reference.rpartition(":")
    if not colon:
        return reference, 0
    if not (name and index.isdecimal() and index.isascii()):
        raise ValueError(
            f"import_graph_def: {reference!r} names no tensor: write 'node', 'node:0' or '^node'."
        )
    return name, int(index)


def import_graph_def(
    graph_def: Any,
    input_map: dict[str, Any] | None = None,
    return_elements: list[str] | None = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
) -> list[Any] | None:
    """Adds the nodes of ``graph_def`` to the default graph, under the scope ``name`` ("import").

    ``input_map`` puts tensors of this graph in place of tensors of the file. Returns the elements
    named in ``return_elements`` ("op" or "op:0"), or ``None``.

    Raises `TypeError` for something that is no GraphDef, `ValueError` for a graph that cannot be
    taken over (unknown op, missing input, cycle, damaged attribute); the graph is then unchanged.
    """
    if not hasattr(graph_def, "node") or not hasattr(graph_def, "SerializeToString"):
        raise TypeError(
            f"Argument `graph_def` must be a GraphDef proto. Got {type(graph_def).__name__}."
        )
    mapped = {_split(k): v for k, v in (input_map or {}).items() if not k.startswith("^")}
    nodes = {}
    for node in graph_def.node:
        if node.name in nodes:
            raise ValueError(f"import_graph_def: two nodes are called {node.name!r}.")
        nodes[node.name] = node
    order = _order(nodes, mapped)
    definitions = {n.name: _definition(n) for n in order}
    library = {f.signature.name: f for f in graph_def.library.function}
    attributes = {n.name: _attributes(n, definitions[n.name], library) for n in order}
    graph = default_graph()
    used = {
        key
        for node in order
        for ref in node.input
        if not ref.startswith("^")
        for key in [_split(ref)]
    }
    unused = [k for k in mapped if k not in used]
    if unused:
        names = [f"{n}:{i}" for n, i in unused]
        raise ValueError(f"Attempted to map inputs that were not found in graph_def: {names}")
    before = graph.version
    try:
        made = _add_all(graph, order, definitions, attributes, mapped, name)
    except Exception:
        graph._remove_from(before)
        raise
    return _returned(return_elements, made, mapped)


def _add_all(
    graph: Any,
    order: list[Any],
    definitions: dict[str, OpDef],
    attributes: dict[str, dict[str, Any]],
    mapped: dict[tuple[str, int], Any],
    name: str | None,
) -> dict[str, Operation]:
    """Adds the nodes, and closes the back edges of loops; the new nodes by their names in the file."""
    made: dict[str, Operation] = {}
    later: list[tuple[Operation, int, str]] = []
    with graph.name_scope("import" if name is None else name) as scope:
        for node in order:
            made[node.name] = _add(
                graph,
                node,
                definitions[node.name],
                attributes[node.name],
                made,
                mapped,
                scope,
                later,
            )
        for op, index, reference in later:
            source, output = _split(reference)
            tensor = made[source].outputs[output]
            op._update_input(index, tensor)
            for head in op.outputs[:1]:
                head.dims = shapes.common(head.dims, tensor.dims)
    return made


def _returned(
    return_elements: list[str] | None,
    made: dict[str, Operation],
    mapped: dict[tuple[str, int], Any],
) -> list[Any] | None:
    """The elements asked for; raises `ValueError` for one that is not there."""
    if return_elements is None:
        return None
    result: list[Any] = []
    for element in return_elements:
        op_name, colon, index = element.rpartition(":")
        if colon:
            if _split(element) in mapped and op_name not in made:
                result.append(mapped[_split(element)])
                continue
            if op_name not in made or _split(element)[1] >= len(made[op_name].outputs):
                raise ValueError(f"Requested return_element {element!r} not found in graph_def.")
            result.append(made[op_name].outputs[int(index)])
        else:
            if element not in made:
                raise ValueError(f"Requested return_element {element!r} not found in graph_def.")
            result.append(made[element])
    return result


def _order(nodes: dict[str, Any], mapped: dict[tuple[str, int], Any]) -> list[Any]:
    """The nodes, each after its inputs (the back edges of loops aside)."""
    result: list[Any] = []
    state: dict[str, int] = {}  # 1: on the stack, 2: done
    for root in nodes:
        if state.get(root) == 2:
            continue
        stack: list[tuple[str, bool]] = [(root, False)]
        while stack:
            current, leaving = stack.pop()
            if leaving:
                if state.get(current) != 2:
                    state[current] = 2
                    result.append(nodes[current])
                continue
            if state.get(current) == 2:
                continue
            state[current] = 1
            stack.append((current, True))
            node = nodes[current]
            for reference in node.input:
                is_control = reference.startswith("^")
                source = reference[1:] if is_control else _split(reference)[0]
                if not is_control and _split(reference) in mapped:
                    continue
                if source not in nodes:
                    raise ValueError(
                        f"import_graph_def: node {current!r} has the input {reference!r}, "
                        "which is not in the graph_def."
                    )
                if node.op in _LOOP_HEADS and nodes[source].op in _BACK_EDGES:
                    continue
                if state.get(source) == 1:
                    raise ValueError(
                        f"import_graph_def: the graph has a cycle through {source!r} and {current!r} "
                        "that no loop (NextIteration into Merge) closes."
                    )
                if state.get(source) is None:
                    stack.append((source, False))
    return result


def _definition(node: Any) -> OpDef:
    try:
        return get_op(node.op)
    except KeyError:
        import difflib

        close = difflib.get_close_matches(node.op, all_ops(), n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(
            f"import_graph_def: Op type not registered {node.op!r} (node {node.name!r}).{hint}"
        ) from None


def _attributes(node: Any, definition: OpDef, library: dict[str, Any]) -> dict[str, Any]:
    kinds = {a.name: a.kind for a in definition.attrs}
    result: dict[str, Any] = {}
    for spec in definition.attrs:
        if spec.name not in node.attr and not spec.required:
            result[spec.name] = _normalize_attr(spec.kind, spec.default)
    for key in node.attr:
        try:
            value = attr_value(node.attr[key], library)
            if key in kinds and value is not None:
                value = _normalize_attr(kinds[key], value)
        except Exception as e:
            raise ValueError(
                f"import_graph_def: attribute {key!r} of node {node.name!r} ({node.op}) is damaged: {e}"
            ) from e
        result[key] = value
    missing = [a.name for a in definition.attrs if a.required and a.name not in result]
    if missing:
        raise ValueError(
            f"import_graph_def: node {node.name!r} ({node.op}) misses the attribute {missing[0]!r}."
        )
    result.pop("_output_shapes", None)
    return result


def _add(
    graph: Any,
    node: Any,
    definition: OpDef,
    attrs: dict[str, Any],
    made: dict[str, Operation],
    mapped: dict[tuple[str, int], Any],
    scope: str,
    later: list[tuple[Operation, int, str]],
) -> Operation:
    inputs: list[Tensor] = []
    controls: list[Operation] = []
    postponed: list[tuple[int, str]] = []
    for reference in node.input:
        if reference.startswith("^"):
            controls.append(made[reference[1:]])
            continue
        key = _split(reference)
        if key in mapped:
            tensor = graph.as_graph_element(mapped[key], allow_operation=False)
            inputs.append(tensor)
            continue
        source = made.get(key[0])
        if source is None:  # the back edge of a loop: closed when its node is there
            postponed.append((len(inputs), reference))
            inputs.append(inputs[0])
            continue
        if key[1] >= len(source.outputs):
            raise ValueError(
                f"import_graph_def: node {node.name!r} reads output {key[1]} of {key[0]!r}, "
                f"which has {len(source.outputs)}."
            )
        inputs.append(source.outputs[key[1]])
    try:
        infer_type_attrs(definition, inputs, attrs)
    except InvalidArgumentError as e:
        raise ValueError(f"import_graph_def: node {node.name!r}: {e.message}.") from e
    _check_dtypes(node, definition, inputs, attrs)
    groups = attrs.get("_class")
    if groups and scope:
        attrs["_class"] = [
            b"loc:@" + scope.encode() + g[5:] if g.startswith(b"loc:@") else g for g in groups
        ]
    override = attrs.pop("_gradient_op_type", None)
    with graph.control_dependencies(controls), graph.device(node.device or None):
        # An empty device string lets enclosing tf.device blocks decide.
        op = graph._make_op(definition, graph.unique_name(node.name), inputs, attrs)
    if not node.device:
        op._set_device(graph._device)
    if override:
        op._gradient_override = override.decode() if isinstance(override, bytes) else override
    for index, reference in postponed:
        later.append((op, index, reference))
    return op  # type: ignore[no-any-return]


def _check_dtypes(
    node: Any, definition: OpDef, inputs: list[Tensor], attrs: dict[str, Any]
) -> None:
    position = 0
    for arg in definition.inputs:
        if arg.type_list_attr is not None:
            wanted: list[DType] = list(attrs[arg.type_list_attr])
        else:
            dtype: Any = arg.dtype if arg.type_attr is None else attrs[arg.type_attr]
            wanted = [dtype] * (attrs[arg.number_attr] if arg.number_attr else 1)
        for dtype in wanted:
            got = inputs[position].dtype.base_dtype
            if got is not dtype.base_dtype:
                raise DTypeError(
                    None,
                    None,
                    f"import_graph_def: Input {position} of node {node.name!r} ({node.op}) was passed "
                    f"{got.name} from {inputs[position].name!r} incompatible with expected {dtype.name}.",
                )
            position += 1
