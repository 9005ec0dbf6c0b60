"""Copies of parts of a graph, with other inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.contrib.graph_editor.elements import ControlOutputs, as_tensor
from dataflow.contrib.graph_editor.select import get_walks_intersection_ops
from dataflow.contrib.graph_editor.subgraph import SubGraphView, make_view
from dataflow.graph import nest
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.graph import Graph
from dataflow.graph.import_graph import import_graph_def
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor


class TransformerInfo:
    """Which operation and tensor became which."""

    def __init__(self, ops: dict[Any, Any]) -> None:
        self._transformed_ops = ops
        self._transformed_ts = {
            old: new
            for op, copied in ops.items()
            for old, new in zip(op.outputs, copied.outputs, strict=True)
        }

    @staticmethod
    def _mapped(table: dict[Any, Any], top: Any, missing_fn: Callable[[Any], Any] | None) -> Any:
        if top in table:
            return table[top]
        return None if missing_fn is None else missing_fn(top)

    def transformed(self, original: Any, missing_fn: Callable[[Any], Any] | None = None) -> Any:
        """What an operation, a tensor, or a nesting of them became; None for what was not copied."""
        return nest.map_structure(
            lambda item: self._mapped(self._table(item), item, missing_fn), original
        )

    def original(self, transformed: Any, missing_fn: Callable[[Any], Any] | None = None) -> Any:
        """What an operation or a tensor of the copy was."""
        return nest.map_structure(
            lambda item: self._mapped(
                {new: old for old, new in self._table(item).items()}, item, missing_fn
            ),
            transformed,
        )

    def _table(self, item: Any) -> dict[Any, Any]:
        return self._transformed_ops if isinstance(item, Operation) else self._transformed_ts


def copy_with_input_replacements(
    sgv: Any,
    replacement_ts: Any,
    dst_graph: Any = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, TransformerInfo]:
    """A copy of a part of the graph that reads ``replacement_ts[t]`` in place of its input t.

    Other inputs are read as before. The copies are named like what they copy, below ``dst_scope``, with a
    number behind where that name is taken. Returns (a view of the copy, what became what). Raises
    `ValueError` where an input has nothing to be read from in another ``dst_graph``.
    """
    view = make_view(sgv)
    graph = view.graph if dst_graph is None else dst_graph
    with graph.as_default():
        replaced = {
            as_tensor(old): convert_to_tensor(new) for old, new in dict(replacement_ts).items()
        }
        return _copied(view, replaced, graph, dst_scope, src_scope, reuse_dst_scope)


def _names_of_copies(
    view: SubGraphView, graph: Graph, dst_scope: str, src_scope: str, reuse_dst_scope: bool
) -> dict[str, str]:
    """The name of each node's copy, under the other scope; none is in use."""
    scope = dst_scope.rstrip("/")
    if scope and not reuse_dst_scope:
        scope = graph.unique_name(scope)
    src_scope = src_scope and src_scope.rstrip("/") + "/"
    names = {}
    for op in view.ops:
        name = op.name.removeprefix(src_scope)
        names[op.name] = graph.unique_name(f"{scope}/{name}" if scope else name, mark_as_used=False)
    # Two may have asked for one name, as none is marked as used before the import.
    taken: set[str] = set()
    for old, name in names.items():
        number, base = 1, name
        while name in taken:
            name = f"{base}_{number}"
            number += 1
        taken.add(name)
        names[old] = name
    return names


def _copied(
    view: SubGraphView,
    replaced: dict[Tensor, Tensor],
    graph: Graph,
    dst_scope: str,
    src_scope: str,
    reuse_dst_scope: bool,
) -> tuple[SubGraphView, TransformerInfo]:
    source = view.graph
    if source is None:
        return SubGraphView(), TransformerInfo({})
    inside = set(view.ops)
    names = _names_of_copies(view, graph, dst_scope, src_scope, reuse_dst_scope)
    inputs = {}
    from dataflow.core.framework import graph_pb2

    graph_def = graph_pb2.GraphDef()
    graph_def.versions.CopyFrom(source.graph_def_versions)
    for op in view.ops:
        node = graph_def.node.add()
        node.CopyFrom(op.node_def)
        node.name = names[op.name]
        del node.input[:]
        for t in op.inputs:
            if t in replaced or t.op not in inside:
                key = f"outside/{t.op.name}:{t.value_index}"
                if t not in replaced and graph is not source:
                    raise ValueError(
                        f"{t.name!r} enters the copied part and is not in the other graph: give a "
                        "tensor for it in replacement_ts."
                    )
                inputs[key] = replaced.get(t, t)
                node.input.append(key)
            else:
                node.input.append(f"{names[t.op.name]}:{t.value_index}")
        for before in op.control_inputs:
            if before in inside:
                node.input.append(f"^{names[before.name]}")
    import_graph_def(graph_def, input_map=inputs, name="")
    made = {op: graph.get_operation_by_name(names[op.name]) for op in view.ops}
    if graph is source:
        for op, copied in made.items():
            outside = [before for before in op.control_inputs if before not in inside]
            copied._add_control_inputs(outside)
    return SubGraphView(list(made.values())), TransformerInfo(made)


def copy(
    sgv: Any,
    dst_graph: Any = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, TransformerInfo]:
    """`copy_with_input_replacements` that reads the same inputs; in another graph, placeholders."""
    view = make_view(sgv)
    replaced = {}
    if dst_graph is not None and dst_graph is not view.graph:
        from dataflow.contrib.graph_editor.elements import make_placeholder_from_tensor

        with dst_graph.as_default():
            replaced = {t: make_placeholder_from_tensor(t) for t in view.inputs}
    return copy_with_input_replacements(
        view, replaced, dst_graph, dst_scope, src_scope, reuse_dst_scope
    )


def graph_replace(
    target_ts: Any,
    replacement_ts: Any,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> Any:
    """The targets (a tensor, or a nesting) as they are with ``replacement_ts[t]`` in place of t.

    What lies between the replaced tensors and the targets is copied. Targets that depend on none stay.
    Raises `ValueError` where no target depends on a replaced tensor.
    """
    replaced = {as_tensor(old): new for old, new in dict(replacement_ts).items()}
    targets = nest.flatten(target_ts)
    ops = get_walks_intersection_ops(
        list(replaced), targets, control_ios=ControlOutputs(targets[0].graph)
    )
    if not ops:
        raise ValueError("Targets and replacements are not connected!")
    _, info = copy_with_input_replacements(
        ops, replaced, None, dst_scope, src_scope, reuse_dst_scope
    )
    return info.transformed(target_ts, missing_fn=lambda original: original)
