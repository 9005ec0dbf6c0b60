"""Clusters: tasks in processes of their own, and the channel between them.

`launch` starts a cluster on Ray from a notebook; `Server` is one task, `ClusterSpec` says where the
tasks are; `simulate` runs the same decisions with virtual workers. Everything is loaded at first
use: importing this package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

#: Name -> its module, relative to this package.
_HOMES = {
    "Cluster": "management.running_cluster",
    "ClusterDef": ".cluster_def",
    "ClusterSpec": ".cluster_spec",
    "Event": "management.running_cluster",
    "JobDef": ".cluster_def",
    "Latency": "execution.simulation",
    "Recording": "execution.recording",
    "Server": "management.server",
    "ServerDef": "management.server",
    "Status": "management.status",
    "Training": "management.training",
    "attach": "management.launcher",
    "backup_curve": "execution.simulation",
    "find": "management.launcher",
    "launch": "management.launcher",
    "on_worker": "management.model_parallel",
    "pipeline": "management.model_parallel",
    "shutdown": "management.launcher",
    "simulate": "execution.simulation",
    "tensor_parallel": "management.model_parallel",
    "trainings": "management.training",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'dataflow.cluster' has no attribute {name!r}")
    value = getattr(importlib.import_module("." + home, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
