"""`import_graph_def`: nodes of a ``GraphDef`` become nodes of the default graph.

Nothing in the file is executed: unknown ops, missing inputs, cycles and damaged attributes are
refused before the first node is added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataflow import shapes
from dataflow.dtypes import DType
from dataflow.errors import DTypeError, InvalidArgumentError, OpError
from dataflow.graph import tracebacks
from dataflow.graph.attr_kinds import check_kind, check_numbers, kind_of
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.eager_kinds import is_handle
from dataflow.graph.flat_inputs import infer_type_attrs
from dataflow.graph.function_def import FUNCTION_CALLS
from dataflow.graph.import_checks import check_arguments, check_mapped, check_versions
from dataflow.graph.op_def import OpDef
from dataflow.graph.op_signature import normalize_attr
from dataflow.graph.operation import Operation
from dataflow.graph.registry import all_ops, get_op
from dataflow.graph.serialize import attr_value
from dataflow.graph.tensor import Tensor
from dataflow.providers import provided

if TYPE_CHECKING:
    from dataflow.graph.graph import Graph

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


class _Node:
    """A node of the file: its ``NodeDef`` and what was read of it."""

    __slots__ = (
        *("attrs", "controls", "definition", "inputs", "library"),
        *("name", "proto", "shapes", "sources", "type"),
    )

    def __init__(self, proto: Any) -> None:
        self.proto = proto
        self.name: str = proto.name
        self.type: str = proto.op
        self.inputs: list[tuple[str, int]] = []
        self.controls: list[str] = []
        #: What it waits for: nodes and outputs; ``None`` for the output of a control input.
        self.sources: list[tuple[str, int | None]] = []
        for reference in proto.input:
            if reference.startswith("^"):
                self.controls.append(reference[1:])
                self.sources.append((reference[1:], None))
            else:
                self.inputs.append(_split(reference))
                self.sources.append(self.inputs[-1])
        #: The functions of the file, for a node that calls one and therefore has no definition.
        self.library: dict[str, Any] | None = None
        self.definition: OpDef
        self.attrs: dict[str, Any]
        self.shapes: Any = None  # what the file says of the outputs


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
    check_arguments(graph_def, input_map, return_elements)
    check_versions(graph_def.versions)
    mapped = {_split(k): v for k, v in (input_map or {}).items() if not k.startswith("^")}
    order = _read(graph_def, mapped)
    graph = default_graph()
    before = graph.version
    try:
        made = _Importer(graph, mapped).add_all(order, name)
        check_mapped(mapped, {key for node in order for key in node.inputs}, made)
    except Exception:
        graph.remove_from(before)
        raise
    return _returned(return_elements, made, mapped)


def _read(graph_def: Any, mapped: dict[tuple[str, int], Any]) -> list[_Node]:
    """The nodes of the file, each after its inputs, with their definitions and attributes."""
    nodes: dict[str, _Node] = {}
    for proto in graph_def.node:
        node = _Node(proto)
        if node.name in nodes:
            raise ValueError(f"import_graph_def: two nodes are called {node.name!r}.")
        nodes[node.name] = node
    order = _order(nodes, mapped)
    library = {f.signature.name: f for f in graph_def.library.function}
    alike: dict[Any, dict[str, Any]] = {}
    for node in order:
        if node.type in FUNCTION_CALLS or node.type in library:
            node.library = library
            continue
        node.definition = _definition(node)
        node.attrs = _attributes(node, library, alike)
    return order


def _returned(
    return_elements: list[str] | None,
    made: dict[str, Operation],
    mapped: dict[tuple[str, int], Any],
) -> list[Any] | None:
    """The elements asked for; raises `ValueError` for one that is not there."""
    if return_elements is None:
        return None
    result: list[Any] = []
    for element in (e.decode() if isinstance(e, bytes) else e for e in return_elements):
        op_name, colon, index = element.rpartition(":")
        if colon:
            if _split(element) in mapped:
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


def _order(nodes: dict[str, _Node], mapped: dict[tuple[str, int], Any]) -> list[_Node]:
    """The nodes, each after its inputs (the back edges of loops aside)."""
    result: list[_Node] = []
    on_stack: set[str] = set()
    done: set[str] = set()
    for root in nodes:
        if root in done:
            continue
        stack: list[tuple[str, bool]] = [(root, False)]
        while stack:
            current, leaving = stack.pop()
            if current in done:
                continue
            node = nodes[current]
            if leaving:
                done.add(current)
                result.append(node)
                continue
            waiting = []
            for source, index in node.sources:
                if source in done:
                    continue
                if index is not None and (source, index) in mapped:
                    continue
                if source not in nodes:
                    reference = f"{source}:{index}" if index else source
                    raise ValueError(
                        f"import_graph_def: node {current!r} has the input {reference!r}, "
                        "which is not in the graph_def."
                    )
                if node.type in _LOOP_HEADS and nodes[source].type in _BACK_EDGES:
                    continue
                if source in on_stack or source == current:
                    raise ValueError(
                        f"import_graph_def: the graph has a cycle through {source!r} and {current!r} "
                        "that no loop (NextIteration into Merge) closes."
                    )
                waiting.append((source, False))
            if waiting:
                on_stack.add(current)
                stack.append((current, True))
                stack += waiting
            else:
                done.add(current)
                result.append(node)
    return result


def _definition(node: _Node) -> OpDef:
    try:
        return get_op(node.type)
    except KeyError:
        import difflib

        close = difflib.get_close_matches(node.type, all_ops(), n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(
            f"import_graph_def: Op type not registered {node.type!r} (node {node.name!r}).{hint}"
        ) from None


def _attributes(
    node: _Node, library: dict[str, Any], alike: dict[Any, dict[str, Any]]
) -> dict[str, Any]:
    """The attributes of a node, with the defaults; ``alike`` keeps those that nodes can share."""
    definition = node.definition
    given = node.proto.attr
    result: dict[str, Any] = {}
    for spec in definition.attrs:
        if not spec.required and spec.name not in given:
            result[spec.name] = normalize_attr(spec.kind, spec.default)
    for key, proto in given.items():
        kind = kind_of(definition, key)
        try:
            if kind is not None:
                check_kind(kind, proto)
            value = attr_value(proto, library)
            if kind is not None and not key.startswith("_"):
                value = normalize_attr(kind, value)
            result[key] = value
        except (ValueError, TypeError, OpError, MemoryError, ImportError) as e:
            raise ValueError(
                f"import_graph_def: attribute {key!r} of node {node.name!r} ({node.type}) is damaged: {e}"
            ) from e
    try:
        check_numbers(definition, result)
    except ValueError as e:
        raise ValueError(f"import_graph_def: node {node.name!r} ({node.type}): {e}") from e
    missing = [a.name for a in definition.attrs if a.required and a.name not in result]
    if missing:
        raise ValueError(
            f"import_graph_def: node {node.name!r} ({node.type}) is missing the attribute {missing[0]!r}."
        )
    node.shapes = result.pop("_output_shapes", None)
    if not definition.arguments.follow_from_dtypes or not all(
        type(v) is DType for v in result.values()
    ):
        return result
    if any(a.type_attr is not None and a.type_attr not in result for a in definition.inputs):
        return result  # the inputs say the rest
    return alike.setdefault((definition, *result.items()), result)


class _Importer:
    """Adds nodes of a file to a graph: what was made so far, by the names in the file."""

    def __init__(self, graph: Graph, mapped: dict[tuple[str, int], Any]) -> None:
        self.graph = graph
        self.mapped = mapped
        self.made: dict[str, Operation] = {}
        self.scope = ""
        #: Back edges of loops, to be closed at the end: the node, which of its inputs, and its source.
        self.back_edges: list[tuple[Operation, int, tuple[str, int]]] = []
        self.frames = tracebacks.capture()

    def add_all(self, order: list[_Node], name: str | None) -> dict[str, Operation]:
        """Add the nodes, and close the back edges of loops; the new nodes by their names in the file."""
        made = self.made
        with self.graph.name_scope("import" if name is None else name) as self.scope:
            for node in order:
                made[node.name] = self._add(node)
            for op, index, (source, output) in self.back_edges:
                tensor = made[source].outputs[output]
                op._update_input(index, tensor)
                for head in op.outputs[:1]:
                    head.dims = shapes.common(head.dims, tensor.dims)
        return made

    def _add(self, node: _Node) -> Operation:
        inputs, postponed = self._inputs(node)
        if node.library is not None:
            if postponed:
                raise ValueError(
                    f"import_graph_def: node {node.name!r} ({node.type}) reads the way back of a loop."
                )
            return provided("function_calls").add_call(node, inputs, self.made, self.frames)  # type: ignore[no-any-return]
        attrs = node.attrs
        try:
            infer_type_attrs(node.definition, inputs, attrs)
        except InvalidArgumentError as e:
            raise ValueError(f"import_graph_def: node {node.name!r}: {e.message}.") from e
        _check_dtypes(node, inputs)
        groups = attrs.get("_class")
        if groups and self.scope:
            scope = self.scope.encode()
            attrs["_class"] = [
                b"loc:@" + scope + g[5:] if g.startswith(b"loc:@") else g for g in groups
            ]
        override = attrs.pop("_gradient_op_type", None)
        op = self._make(node, inputs)
        if override:
            op.gradient_override = override.decode() if isinstance(override, bytes) else override
        for index, key in postponed:
            self.back_edges.append((op, index, key))
        if node.shapes and not postponed:
            _say_shapes(op, node.shapes, bool(self.mapped))
        return op

    def _inputs(self, node: _Node) -> tuple[list[Tensor], list[tuple[int, tuple[str, int]]]]:
        """The inputs of a node, and which of them only stand in for a back edge (number, source)."""
        inputs: list[Tensor] = []
        postponed: list[tuple[int, tuple[str, int]]] = []
        mapped = self.mapped
        for key in node.inputs:
            if mapped and key in mapped:
                tensor = self.graph.as_graph_element(mapped[key], allow_operation=False)
                inputs.append(tensor)
                continue
            source = self.made.get(key[0])
            if source is None:  # the back edge of a loop: closed when its node is there
                if not inputs:
                    raise ValueError(
                        f"import_graph_def: node {node.name!r} ({node.type}): its first input {key[0]!r} "
                        "is the way back of a loop; needed first is what enters the loop."
                    )
                postponed.append((len(inputs), key))
                inputs.append(inputs[0])
                continue
            if key[1] >= len(source.outputs):
                raise ValueError(
                    f"import_graph_def: node {node.name!r} reads output {key[1]} of {key[0]!r}, "
                    f"which has {len(source.outputs)}."
                )
            inputs.append(source.outputs[key[1]])
        return inputs, postponed

    def _make(self, node: _Node, inputs: list[Tensor]) -> Operation:
        """The node itself, with its control inputs, on its device."""
        graph, definition, attrs = self.graph, node.definition, node.attrs
        name = graph.unique_name(node.name)
        device = node.proto.device
        if not (node.controls or device or graph.device_stack):
            return graph.make_op(definition, name, inputs, attrs, frames=self.frames)
        controls = [self.made[c] for c in node.controls]
        with graph.control_dependencies(controls), graph.device(device or None):
            op = graph.make_op(definition, name, inputs, attrs, frames=self.frames)
        if not device:  # the enclosing tf.device blocks decide
            op._set_device(graph.current_device)
        return op


def _say_shapes(op: Operation, written: list[Any], is_mapped: bool) -> None:
    """Adds the shapes that the file says to those that follow from the inputs.

    Raises `ValueError` for others where tensors were mapped; where none were, those that follow stay. Those of
    handles are left: a file has the handle's own shape, where a tensor here has its variable's.
    """
    for index, (tensor, shape) in enumerate(zip(op.outputs, written, strict=False)):
        dims = shapes.as_dims(shape)
        if dims is None or dims == tensor.dims or is_handle(tensor.dtype):
            continue
        try:
            tensor.dims = shapes.merge(tensor.dims, dims)
        except ValueError as e:
            if not is_mapped:
                continue
            raise ValueError(
                f"Node {op.name!r} has an _output_shapes attribute inconsistent with the GraphDef for output "
                f"#{index}: {shapes.format_dims(dims)} is written, and it has {shapes.format_dims(tensor.dims)}.\n"
                "Does a tensor of input_map have another shape than what it stands for?"
            ) from e


class ImportedDTypeError(DTypeError, ValueError):
    """An input of a node of a file has another dtype than the node says. TensorFlow raises `ValueError`."""


def _check_dtypes(node: _Node, inputs: list[Tensor]) -> None:
    position = 0
    attrs = node.attrs
    for arg in node.definition.inputs:
        if arg.type_list_attr is not None:
            wanted: list[DType] = list(attrs[arg.type_list_attr])
        else:
            dtype: Any = arg.dtype if arg.type_attr is None else attrs.get(arg.type_attr)
            if dtype is None:
                raise ValueError(
                    f"import_graph_def: node {node.name!r} ({node.type}) has neither the attribute "
                    f"{arg.type_attr!r} nor an input that says it."
                )
            wanted = [dtype] * (attrs[arg.number_attr] if arg.number_attr else 1)
        for dtype in wanted:
            got = arg.base_dtype(inputs[position].dtype)
            if got is not dtype.base_dtype:
                raise ImportedDTypeError(
                    None,
                    None,
                    f"import_graph_def: Input {position} of node {node.name!r} ({node.type}) was passed "
                    f"{got.name} from {inputs[position].name!r} incompatible with expected {dtype.name}.",
                )
            position += 1
