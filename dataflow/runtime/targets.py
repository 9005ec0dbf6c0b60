"""How a session reaches a server: the module that speaks to clusters, loaded when first needed."""

from __future__ import annotations

import importlib
from typing import Any

#: The module with ``connect(target, graph, config)`` and ``reset(target, containers, config)``.
#: Named, not imported: the runtime works without it, and the cluster is built on the runtime.
CONNECTOR = "dataflow.cluster.execution.client"


def connect(target: str, graph: Any, config: Any) -> Any:
    """A remote session on ``target``: an object with ``run``, ``close`` and ``list_devices``."""
    return importlib.import_module(CONNECTOR).connect(target, graph, config)


def reset(target: str, containers: Any, config: Any) -> None:
    """Clears containers of the server at ``target``."""
    importlib.import_module(CONNECTOR).reset(target, containers, config)


def explain(session: Any, fetches: Any, feed_dict: Any) -> Any:
    """What a run would do; the words for it are in a layer above the runtime."""
    return importlib.import_module("dataflow.introspect.explain").explain(
        session, fetches, feed_dict
    )
