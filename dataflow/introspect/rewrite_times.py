"""What a rewrite saves in a run, measured: the plan with it and without it, run in turn.

Nothing that a run could change is touched. Where a node changes something (an assignment, a queue,
a file), or only gives a value once, nothing is run and `NotMeasured` says why. Random ops draw from
streams of the measured plans' own.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dataflow.errors import OpError
from dataflow.runtime.fetches import FetchPlan
from dataflow.runtime.plan import Plan

if TYPE_CHECKING:
    from dataflow.graph.operation import Operation
    from dataflow.graph.tensor import Tensor
    from dataflow.runtime.base_session import BaseSession

#: Making and running the two plans of one rewrite takes so long at most, one run apart.
BUDGET_SECONDS = 0.5
_MOST_PAIRS = 400
#: Fewer tell nothing of how much runs differ among themselves.
_LEAST_PAIRS = 5
#: Runs before those that are timed: machine code takes over after some twenty.
_WARM_UP_PAIRS = 30


class NotMeasured(Exception):
    """A rewrite's saving cannot be measured; the text says why."""


class RewriteTime(NamedTuple):
    """How long a run takes without and with a rewrite: medians, in seconds.

    ``saved_seconds`` is the median of the differences between runs made one after the other, negative
    where the run became slower, and ``None`` where it is less than what such differences vary by
    (three standard errors of the median). ``num_pairs`` counts the pairs of runs.
    """

    before_seconds: float
    after_seconds: float
    saved_seconds: float | None
    num_pairs: int


class RewriteTimes:
    """Measures the rewrites of ``session.run(fetches, feed_dict)``, each when it is asked for.

    ``feeds`` are the fed tensors, ``feed_dict`` their values; ``None`` where only names were given.
    """

    def __init__(
        self,
        session: BaseSession,
        fetches: Any,
        feeds: Sequence[Tensor],
        feed_dict: Mapping[Any, Any] | None,
    ) -> None:
        self._session, self._fetches, self._feeds = session, fetches, list(feeds)
        self._values = feed_dict
        self._known: dict[tuple[int, int], RewriteTime] = {}

    def measure(self, first: int, last: int) -> RewriteTime:
        """What rewrites number ``first`` to ``last`` of the journal (from 1) save together.

        Measured once, for `BUDGET_SECONDS` at most; nothing is rewritten or run by the session's own
        plans. Raises `NotMeasured`.
        """
        if (first, last) not in self._known:
            self._known[first, last] = self._measure(first - 1, last)
        return self._known[first, last]

    def _measure(self, num_before: int, num_after: int) -> RewriteTime:
        deadline = time.perf_counter() + BUDGET_SECONDS
        if self._session.has_gpu:
            raise NotMeasured("runs on a GPU are not timed here: profile the run instead")
        plans = []
        for num_hits in (num_before, num_after):
            plan = Plan(
                self._session, FetchPlan(self._session.graph, self._fetches), self._feeds, {}
            )
            _refuse(plan.ops)
            if plan.forms is not None:
                plan = plan.forms.plan_for(self._fed(plan.feeds)) or plan
            plan.told_of_nan = True  # that was, or will be, said of the learner's own run
            plan.rewrite(_Until(deadline), num_hits=num_hits)
            plans.append(plan)
        arguments = plans[0].convert_feeds(self._fed(plans[0].feeds))
        try:
            return _compare(plans[0], plans[1], arguments, deadline)
        except OpError as e:
            raise NotMeasured(f"the run fails: {str(e).splitlines()[0]}") from e

    def _fed(self, feeds: Sequence[Tensor]) -> list[Any]:
        if self._values is None and feeds:
            raise NotMeasured(
                f"no value was given for {feeds[0].name}: call explain with a feed_dict"
            )
        from dataflow.runtime.feeds import flatten_feeds

        flat = flatten_feeds(self._session.graph, dict(self._values or {}))
        return [flat[tensor] for tensor in feeds]


class _Until:
    """A watch of rewrites that ends them when time is up."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline

    def __call__(self, _work: Any, _hit: Any) -> None:
        _check(self._deadline)


def _check(deadline: float) -> None:
    if time.perf_counter() > deadline:
        raise NotMeasured(f"to rewrite and run this graph takes longer than {BUDGET_SECONDS:g} s")


def _refuse(ops: Sequence[Operation]) -> None:
    """Raises for a node that must not run once more."""
    for op in ops:
        traits = op.op_def
        if traits.is_variable or traits.is_handle or traits.control_flow:
            continue  # who writes to what a handle stands for is looked at by itself
        writes = not traits.is_alias and any(t.dtype.is_ref for t in op.inputs)
        acts = traits.stateful and traits.family != "random"
        if writes or acts or traits.has_side_effect or traits.blocks:
            raise NotMeasured(
                f"{op.type} {op.name!r} changes something or is seen outside, so it must not run twice"
            )


def _compare(before: Plan, after: Plan, arguments: list[Any], deadline: float) -> RewriteTime:
    pairs: list[tuple[float, float]] = []
    number = 0
    while len(pairs) < _MOST_PAIRS:
        # The second of two may find caches warm: each comes first as often as the other.
        if number % 2:
            second = _seconds(after, arguments)
            first = _seconds(before, arguments)
        else:
            first = _seconds(before, arguments)
            second = _seconds(after, arguments)
        number += 1
        now = time.perf_counter()
        # The first runs of what takes long are timed, too: all but the very first.
        if number > _WARM_UP_PAIRS or (number > 2 and first + second > 0.01):
            pairs.append((first, second))
        if now > deadline:
            break
    if len(pairs) < _LEAST_PAIRS:
        raise NotMeasured(f"{_LEAST_PAIRS} pairs of runs take longer than {BUDGET_SECONDS:g} s")
    differences = [first - second for first, second in pairs]
    saved = statistics.median(differences)
    spread = statistics.median(abs(d - saved) for d in differences)
    # 1.4826 x MAD is the standard deviation of normal numbers; their median varies by 1.2533 of that
    # over the root of how many there are.
    error = 1.2533 * 1.4826 * spread / len(pairs) ** 0.5
    return RewriteTime(
        statistics.median(first for first, _ in pairs),
        statistics.median(second for _, second in pairs),
        saved if abs(saved) > 3 * error else None,
        len(pairs),
    )


def _seconds(plan: Plan, arguments: list[Any]) -> float:
    start = time.perf_counter()
    plan.run_flat(arguments)
    return time.perf_counter() - start
