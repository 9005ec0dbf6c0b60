"""``tensorflow.python.framework.op_def_registry``: the op types that there are."""

from __future__ import annotations

from typing import Any

from dataflow.graph.registry import all_ops


def get_registered_ops() -> dict[str, Any]:
    """The op types by name."""
    return dict(all_ops())


def get(name: str) -> Any:
    """The op type of that name; None where there is none."""
    return all_ops().get(name)


def sync() -> None:
    """Nothing to do: op types are registered as their modules load."""
