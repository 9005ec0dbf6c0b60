"""A plan as it is after its rewrites."""

from __future__ import annotations

from typing import Any

from dataflow.runtime.fetches import FetchPlan
from dataflow.runtime.plan import Plan


def rewritten(session: Any, fetches: Any, feeds: list[Any]) -> Plan:
    """The rewritten plan of a run with these fetches and fed tensors."""
    plan = Plan(session, FetchPlan(session.graph, fetches), feeds)
    plan.rewrite()
    return plan


def types(plan: Any) -> list[str]:
    """The types of a plan's nodes, in the order in which they run."""
    return [line.op.type for line in plan.generated.lines if line.op is not None]
