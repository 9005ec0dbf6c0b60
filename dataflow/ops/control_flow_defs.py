"""``CondContextDef`` and ``WhileContextDef``: which nodes are in which branch and loop, in a MetaGraph.

TensorFlow needs them to differentiate control flow that comes from a file, and keeps those of the
outermost contexts in two collections; inner ones are nested in them. The tensorboard package does not ship
these messages, so they are described here, in a descriptor pool of their own. Numbers and names are those
of tensorflow/core/protobuf/control_flow.proto.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from dataflow.graph.collections import GraphKeys
from dataflow.graph.graph import Graph
from dataflow.ops.control_flow_context import CondContext, Context, WhileContext, in_context

#: The attribute of a ``FunctionDef``'s first node with the contexts of all; TensorFlow passes over it.
CONTEXTS = "_control_flow_contexts"

_FIELDS: dict[str, list[tuple[str, int, str, bool]]] = {
    "ValuesDef": [
        ("values", 1, "string", True),
        ("external_values", 2, "ValuesDef.ExternalValuesEntry", True),
    ],
    "ControlFlowContextDef": [
        ("cond_ctxt", 1, "CondContextDef", False),
        ("while_ctxt", 2, "WhileContextDef", False),
    ],
    "CondContextDef": [
        ("context_name", 1, "string", False),
        ("pred_name", 2, "string", False),
        ("pivot_name", 3, "string", False),
        ("branch", 4, "int32", False),
        ("values_def", 5, "ValuesDef", False),
        ("nested_contexts", 6, "ControlFlowContextDef", True),
    ],
    "WhileContextDef": [
        ("context_name", 1, "string", False),
        ("parallel_iterations", 2, "int32", False),
        ("back_prop", 3, "bool", False),
        ("swap_memory", 4, "bool", False),
        ("pivot_name", 5, "string", False),
        ("pivot_for_pred_name", 6, "string", False),
        ("pivot_for_body_name", 7, "string", False),
        ("loop_exit_names", 8, "string", True),
        ("values_def", 9, "ValuesDef", False),
        ("loop_enter_names", 10, "string", True),
        ("maximum_iterations_name", 11, "string", False),
        ("nested_contexts", 12, "ControlFlowContextDef", True),
    ],
}


@functools.cache
def _message_classes() -> dict[str, Any]:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="dataflow/ops/control_flow.proto", package="tensorflow", syntax="proto3"
    )

    def add_field(message: Any, name: str, number: int, kind: str, repeated: bool) -> None:
        label = kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL
        added = message.field.add(name=name, number=number, label=label)
        if kind[0].isupper():
            added.type, added.type_name = kinds.TYPE_MESSAGE, f".tensorflow.{kind}"
        else:
            added.type = getattr(kinds, f"TYPE_{kind.upper()}")

    for message_name, fields in _FIELDS.items():
        message = file.message_type.add(name=message_name)
        for field in fields:
            add_field(message, *field)
        if message_name == "ValuesDef":
            entry = message.nested_type.add(name="ExternalValuesEntry")
            entry.options.map_entry = True
            add_field(entry, "key", 1, "string", False)
            add_field(entry, "value", 2, "string", False)
        if message_name == "ControlFlowContextDef":
            message.oneof_decl.add(name="ctxt")
            for kind in message.field:
                kind.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"tensorflow.{name}"))
        for name in _FIELDS
    }


def context_def(context: Context, export_scope: str | None = None) -> Any:
    """The message that describes ``context``; names are relative to ``export_scope``.

    None for a context outside of that scope.
    """
    prefix = f"{export_scope.rstrip('/')}/" if export_scope else ""
    if not context.name.startswith(prefix):
        return None

    def name_of(tensor: Any) -> str:
        return str(tensor.name).removeprefix(prefix)

    kind = "WhileContextDef" if context.is_while else "CondContextDef"
    result = _message_classes()[kind](context_name=context.name.removeprefix(prefix))
    if isinstance(context, CondContext):
        result.pred_name = name_of(context.pred)
        result.pivot_name = name_of(context.pivot)
        result.branch = context.branch
    else:
        assert isinstance(context, WhileContext)
        result.parallel_iterations = context.parallel_iterations
        result.back_prop = context.back_prop
        result.swap_memory = context.swap_memory
        if context.maximum_iterations is not None:
            result.maximum_iterations_name = name_of(context.maximum_iterations)
        result.pivot_name = name_of(context.pivot)
        result.pivot_for_pred_name = name_of(context.pivot_for_pred)
        result.pivot_for_body_name = name_of(context.pivot_for_body)
        result.loop_exit_names.extend(name_of(t) for t in context.loop_exits)
        result.loop_enter_names.extend(name_of(t) for t in context.loop_enters)
    # TensorFlow counts a loop's Exits among its own; here only outer contexts may use their values.
    exits = context.loop_exits if isinstance(context, WhileContext) else []
    result.values_def.values.extend(sorted(name_of(t) for t in {*context.values, *exits}))
    for outside, inside in context.external.items():
        result.values_def.external_values[name_of(outside)] = name_of(inside)
    for inner in context.nested:
        described = context_def(inner, export_scope)
        if described is not None:
            field = "while_ctxt" if inner.is_while else "cond_ctxt"
            getattr(result.nested_contexts.add(), field).CopyFrom(described)
    return result


class CollectedContext:
    """How the contexts of a collection are read: what `from_proto` gives goes into it."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def from_proto(self, data: bytes, import_scope: str | None = None) -> Context | None:
        """The context that ``data`` describes, with the nodes of the default graph in it.

        None where the graph has not all of its nodes, as after a rewrite of the file: gradients then find
        loops by the nodes alone.
        """
        from dataflow.graph.default_stacks import default_graph

        definition = _message_classes()[self._kind].FromString(data)
        try:
            return _restore(default_graph(), definition, import_scope, None)
        except KeyError:
            return None


def contexts_of(graph: Graph, new_name: Callable[[str], str | None]) -> list[bytes]:
    """The messages of all outermost contexts of a graph, for a part of it.

    ``new_name`` says what a tensor of the graph is called in that part, None where it is not there.
    """
    without_outputs: dict[Context, list[str]] = {}
    for op in graph.get_operations():
        if op.control_flow_context is not None and not op.outputs:
            without_outputs.setdefault(op.control_flow_context, []).append(op.name)
    found = []
    for key, field in (
        (GraphKeys.COND_CONTEXT, "cond_ctxt"),
        (GraphKeys.WHILE_CONTEXT, "while_ctxt"),
    ):
        for context in graph.get_collection(key):
            described = context_def(context)
            _add_operations(described, context, without_outputs)
            if _in_part(described, new_name):
                holder = _message_classes()["ControlFlowContextDef"]()
                getattr(holder, field).CopyFrom(described)
                found.append(holder.SerializeToString())
    return found


def _add_operations(definition: Any, context: Context, names: dict[Context, list[str]]) -> None:
    """Adds the operations without outputs, which TensorFlow's messages do not name: ``^assign``."""
    definition.values_def.values.extend(f"^{name}" for name in names.get(context, ()))
    for inner, described in zip(context.nested, definition.nested_contexts, strict=True):
        _add_operations(getattr(described, described.WhichOneof("ctxt")), inner, names)


def _in_part(definition: Any, new_name: Callable[[str], str | None]) -> bool:
    """Renames what a context names, and leaves out what the part has not; whether the part has the context."""
    for field in ("pivot_name", "pred_name", "pivot_for_pred_name", "pivot_for_body_name"):
        if getattr(definition, field, ""):
            name = new_name(getattr(definition, field))
            if name is None:
                return False
            setattr(definition, field, name)
    if getattr(definition, "maximum_iterations_name", ""):
        definition.maximum_iterations_name = new_name(definition.maximum_iterations_name) or ""
    lists = [definition.values_def.values]
    lists += [
        getattr(definition, f)
        for f in ("loop_exit_names", "loop_enter_names")
        if hasattr(definition, f)
    ]
    for names in lists:
        kept = [name for old in names if (name := new_name(old)) is not None]
        del names[:]
        names.extend(kept)
    external = dict(definition.values_def.external_values)
    definition.values_def.external_values.clear()
    for outside, inside in external.items():
        pair = new_name(outside), new_name(inside)
        if pair[0] is not None and pair[1] is not None:
            definition.values_def.external_values[pair[0]] = pair[1]
    inner = [
        c
        for c in definition.nested_contexts
        if _in_part(getattr(c, c.WhichOneof("ctxt")), new_name)
    ]
    del definition.nested_contexts[:]
    definition.nested_contexts.extend(inner)
    return True


def restore_contexts(
    graph: Graph, data: Iterable[bytes], scope: str, given: dict[str, Any]
) -> None:
    """The contexts of `contexts_of` in a graph that has the part's nodes below ``scope``, and ``given`` by name."""
    prefix = scope.removesuffix("/")

    def found(name: str) -> Any:
        return (
            given[name] if name in given else _tensor(graph, f"{prefix}/" if prefix else "", name)
        )

    for text in data:
        holder = _message_classes()["ControlFlowContextDef"].FromString(text)
        definition = getattr(holder, holder.WhichOneof("ctxt"))
        context = _restore(graph, definition, prefix, graph.control_flow_context, found)
        key = GraphKeys.WHILE_CONTEXT if context.is_while else GraphKeys.COND_CONTEXT
        graph.add_to_collection(key, context)


COLLECTIONS = {
    GraphKeys.COND_CONTEXT: CollectedContext("CondContextDef"),
    GraphKeys.WHILE_CONTEXT: CollectedContext("WhileContextDef"),
}


def _restore(
    graph: Graph,
    definition: Any,
    scope: str | None,
    outer: Context | None,
    found: Callable[[str], Any] | None = None,
) -> Context:
    prefix = f"{scope}/" if scope else ""
    if found is None:
        found = functools.partial(_tensor, graph, prefix)
    external = {
        found(outside): found(inside)
        for outside, inside in definition.values_def.external_values.items()
    }
    values = {found(name) for name in definition.values_def.values if name[0] != "^"}
    context: Context
    with in_context(graph, outer):
        if definition.DESCRIPTOR.name == "CondContextDef":
            pred, pivot = found(definition.pred_name), found(definition.pivot_name)
            context = CondContext(graph, pred, pivot, definition.branch)
        else:
            context = _restored_loop(graph, definition, found)
    context.name = prefix + definition.context_name
    context.values, context.external = values, external
    for tensor in values - external.keys():
        tensor.op.control_flow_context = context
    for name in definition.values_def.values:
        if name[0] == "^":
            graph.get_operation_by_name(prefix + name[1:]).control_flow_context = context
    if isinstance(context, WhileContext):
        for tensor in context.loop_exits:
            tensor.op.control_flow_context = context
            values.discard(tensor)
        for op in {tensor.op for tensor in values if tensor.op.type in ("Enter", "RefEnter")}:
            if prefix and op.control_flow_context is context:  # loops of two imports are two loops
                op._set_attr("frame_name", context.name)
    for inner in definition.nested_contexts:
        _restore(graph, getattr(inner, inner.WhichOneof("ctxt")), scope, context, found)
    return context


def _restored_loop(graph: Graph, definition: Any, found: Any) -> WhileContext:
    context = WhileContext(
        graph,
        parallel_iterations=definition.parallel_iterations,
        back_prop=definition.back_prop,
        swap_memory=definition.swap_memory,
        frame_name=definition.context_name,
    )
    if definition.maximum_iterations_name:
        context.maximum_iterations = found(definition.maximum_iterations_name)
    context.pivot = found(definition.pivot_name)
    context.pivot_for_pred = found(definition.pivot_for_pred_name)
    context.pivot_for_body = found(definition.pivot_for_body_name)
    context.loop_exits = [found(name) for name in definition.loop_exit_names]
    context.loop_enters = [found(name) for name in definition.loop_enter_names]
    return context


def _tensor(graph: Graph, prefix: str, name: str) -> Any:
    return graph.get_tensor_by_name(prefix + name)
