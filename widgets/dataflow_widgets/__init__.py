"""Widgets that show what the engine does: the graph, live; a run, step by step, or by its times;
what the rewrites make of it.

In a notebook: ``from dataflow_widgets import GraphView, Stepper, predict``, or just display a
graph, tensor, session, or what ``session.explain(fetches)`` returns. ``%load_ext dataflow_widgets`` adds ``%%graph``, which shows what a cell
added.

Names load when they are first used, so that the static pictures need neither anywidget nor Jupyter.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "AttentionExplorer": "dataflow_widgets.explorer.attention",
    "BoundaryExplorer": "dataflow_widgets.explorer.boundary",
    "ClusterPanel": "dataflow_widgets.cluster_panel",
    "ClusterView": "dataflow_widgets.cluster_view",
    "ConvolutionExplorer": "dataflow_widgets.explorer.convolution",
    "EmbeddingView": "dataflow_widgets.embedding_view",
    "Explorer": "dataflow_widgets.explorer",
    "GradientFlowExplorer": "dataflow_widgets.explorer.gradient_flow",
    "GraphView": "dataflow_widgets.graph_view",
    "OptimizerExplorer": "dataflow_widgets.explorer.optimizer",
    "PipelineExplorer": "dataflow_widgets.explorer.pipeline",
    "Predict": "dataflow_widgets.predict",
    "RooflineExplorer": "dataflow_widgets.explorer.roofline",
    "RewritePlayer": "dataflow_widgets.rewrite_player",
    "StalenessExplorer": "dataflow_widgets.explorer.staleness",
    "Stepper": "dataflow_widgets.stepper",
    "Timeline": "dataflow_widgets.timeline",
    "TrainingMonitor": "dataflow_widgets.training_monitor",
}
_FUNCTIONS = {"to_graphviz": "dataflow_widgets.static.digraph"}
_MODULES = ("predict",)

__all__ = [*_HOMES, *_FUNCTIONS, *_MODULES, "load_ipython_extension"]


def __getattr__(name: str) -> Any:
    if home := _HOMES.get(name) or _FUNCTIONS.get(name):
        return getattr(importlib.import_module(home), name)
    if name in _MODULES:
        return importlib.import_module(f"dataflow_widgets.{name}")
    raise AttributeError(f"module 'dataflow_widgets' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES, *_FUNCTIONS, *_MODULES])


def load_ipython_extension(ipython: Any) -> None:
    """Registers ``%%graph``; called by ``%load_ext dataflow_widgets``."""
    from dataflow_widgets.magics import GraphMagics

    ipython.register_magics(GraphMagics)
