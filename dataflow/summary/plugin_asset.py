"""`PluginAsset`: files of a TensorBoard plugin, which `FileWriter.add_graph` writes beside the events."""

from __future__ import annotations

import os
from typing import Any

from dataflow.formats.atomic_files import write_atomically
from dataflow.formats.local_paths import local_path
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.graph import Graph

__all__ = ["PluginAsset", "get_all_plugin_assets", "get_plugin_asset"]

_NAMES = "__tensorboard_plugin_asset_set"


class PluginAsset:
    """What a plugin wants to have beside the events of a graph: a subclass gives its name and files.

    ``plugin_name`` is an attribute of the class; ``assets()`` gives a dict of name -> str or bytes.
    """

    plugin_name: str | None = None

    def assets(self) -> dict[str, Any]:
        """The files: name -> what stands in it."""
        raise NotImplementedError


def get_plugin_asset(plugin_asset_cls: type, graph: Graph | None = None) -> Any:
    """The graph's asset of this class, made when first asked for.

    Raises `ValueError` for a class without ``plugin_name``, and where an asset of another class has
    its name.
    """
    graph = graph or default_graph()
    name = getattr(plugin_asset_cls, "plugin_name", None)
    if not name:
        raise ValueError(f"Class {plugin_asset_cls.__name__} has no plugin_name")
    key = f"__tensorboard_plugin_asset_{name}"
    found = graph.get_collection(key)
    if found:
        if not isinstance(found[0], plugin_asset_cls):
            raise ValueError(
                f"Plugin name collision: two assets of different classes have {name!r}."
            )
        return found[0]
    asset = plugin_asset_cls()
    graph.add_to_collection(key, asset)
    graph.add_to_collection(_NAMES, name)
    return asset


def get_all_plugin_assets(graph: Graph | None = None) -> list[Any]:
    """The assets that `get_plugin_asset` has made for a graph, in order."""
    graph = graph or default_graph()
    names = graph.get_collection(_NAMES)
    return [graph.get_collection(f"__tensorboard_plugin_asset_{name}")[0] for name in names]


def write_assets(graph: Graph, logdir: str) -> None:
    """Writes the files of a graph's assets to ``logdir/plugins/<plugin_name>/``."""
    for asset in get_all_plugin_assets(graph):
        folder = os.path.join(local_path(logdir), "plugins", asset.plugin_name)
        os.makedirs(folder, exist_ok=True)
        for name, content in asset.assets().items():
            data = content.encode() if isinstance(content, str) else content
            write_atomically(os.path.join(folder, name), data)
