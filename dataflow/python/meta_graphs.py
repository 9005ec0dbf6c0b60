"""``tensorflow.python.framework.meta_graph``'s functions beside those of `tf.train`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.train.meta_graph import export_meta_graph, import_scoped_meta_graph as _import

__all__ = ["create_meta_graph_def", "export_scoped_meta_graph", "import_scoped_meta_graph"]


def _by_name(variables: Any, scope: str | None) -> dict[str, Any]:
    """Name, relative to ``scope``, -> variable."""
    prefix = f"{scope.rstrip('/')}/" if scope else ""
    names = {v.op.name: v for v in variables}
    return {n.removeprefix(prefix): v for n, v in names.items() if n.startswith(prefix)}


def export_scoped_meta_graph(
    filename: str | None = None,
    graph_def: Any = None,
    graph: Any = None,
    export_scope: str | None = None,
    as_text: bool = False,
    unbound_inputs_col_name: str = "unbound_inputs",
    clear_devices: bool = False,
    saver_def: Any = None,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    **kwargs: Any,
) -> tuple[Any, dict[str, Any]]:
    """The ``MetaGraphDef`` of a scope's nodes, and its variables by their names within it.

    Raises `ValueError` for nodes that read others outside of the scope.
    """
    graph = graph or default_graph()
    proto = export_meta_graph(
        filename,
        graph_def=graph_def,
        saver_def=saver_def,
        as_text=as_text,
        graph=graph,
        export_scope=export_scope,
        clear_devices=clear_devices,
        clear_extraneous_savers=clear_extraneous_savers,
        strip_default_attrs=strip_default_attrs,
        **kwargs,
    )
    return proto, _by_name(graph.get_collection(GraphKeys.GLOBAL_VARIABLES), export_scope)


def import_scoped_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    graph: Any = None,
    import_scope: str | None = None,
    input_map: Any = None,
    unbound_inputs_col_name: str = "unbound_inputs",
    restore_collections_predicate: Callable[[str], bool] = lambda key: True,
) -> dict[str, Any]:
    """Adds a ``MetaGraphDef``'s nodes and collections below a scope; its variables by their names within it.

    ``import_scope`` is within the current name scope. Collections come along where the predicate of their key is
    true.
    """
    graph = graph or default_graph()
    parts = [graph.get_name_scope(), (import_scope or "").rstrip("/")]
    scope = "/".join(part for part in parts if part)
    with graph.as_default():
        absolute = f"{scope}/" if scope else None
        _, variables = _import(
            meta_graph_or_file,
            clear_devices,
            absolute,
            input_map,
            restores=restore_collections_predicate,
        )
    return _by_name(variables, scope)


def create_meta_graph_def(
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: Any = None,
    graph: Any = None,
    export_scope: str | None = None,
    exclude_nodes: Any = None,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
) -> Any:
    """A ``MetaGraphDef`` of a graph, its default one; ``graph_def`` in place of its nodes."""
    return export_meta_graph(
        None,
        meta_info_def,
        graph_def,
        saver_def,
        collection_list,
        graph=graph,
        export_scope=export_scope,
        clear_extraneous_savers=clear_extraneous_savers,
        strip_default_attrs=strip_default_attrs,
    )
