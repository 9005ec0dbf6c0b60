"""``tensorflow.python.framework.meta_graph``'s functions beside those of `tf.train`."""

from __future__ import annotations

from typing import Any

from dataflow.train.meta_graph import export_meta_graph

__all__ = ["create_meta_graph_def"]


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
