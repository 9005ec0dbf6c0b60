"""Plans for one value of a fed predicate each, as ``training=True`` (`rewrites.known_predicates`).

The first runs are those of one plan. When it would be rewritten, a copy of it is, for the values that are fed, and
another one when others are. All share what their ops keep between runs: one plan goes on where the last one stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dataflow.graph.tensor import Tensor
    from dataflow.rewrites.options import RewriteOptions
    from dataflow.runtime.plan import Plan

#: With more combinations of values there is one plan for all of them.
_MOST_FORMS = 4


class Forms:
    """The forms of a plan: one for each combination of values of the feeds that decide conditionals."""

    def __init__(self, plan: Plan, deciding: Sequence[Tensor]) -> None:
        self._plan = plan
        self._deciding = deciding
        self._positions = [plan.feeds.index(t) for t in deciding]
        self._plans: dict[tuple[bool, ...], Plan] = {}

    @classmethod
    def of(cls, plan: Plan, options: RewriteOptions | None) -> Forms | None:
        """``None`` where no feed decides a conditional, or conditionals are to stay."""
        if options is None or not options.dead_branches or len(plan.ops) < options.min_nodes:
            return None
        if plan.session.has_gpu or not any(t.dtype.name == "bool" for t in plan.feeds):
            return None
        from dataflow.rewrites import known_predicates

        deciding = known_predicates.find(plan.ops, plan.feeds)
        return cls(plan, deciding) if deciding else None

    def plan_for(self, values: Sequence[Any]) -> Plan | None:
        """The plan for runs that are fed these values, in the order of the plan's feeds.

        ``None`` where one plan serves them all: for too many combinations, or a predicate that is no scalar.
        """
        deciding = [values[i] for i in self._positions]
        if any(np.shape(v) != () for v in deciding):
            return None
        key = tuple([bool(v) for v in deciding])
        plan = self._plans.get(key)
        if plan is not None:
            return plan
        with self._plan.session.lock:
            if len(self._plans) == _MOST_FORMS:
                return None
            plan = self._plan.in_runs_with(dict(zip(self._deciding, key, strict=True)))
            return self._plans.setdefault(key, plan)
