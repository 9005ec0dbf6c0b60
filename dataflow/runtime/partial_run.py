"""`Session.partial_run`: one computation whose feeds and fetches are given step by step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dataflow.errors import InvalidArgumentError, OpError
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.rewrites.control_flow_positions import OUTSIDE, position_after, positions
from dataflow.runtime.feeds import flatten_feeds
from dataflow.runtime.fetches import FetchPlan
from dataflow.runtime.plan import Plan

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession


class PartialRun:
    """The state of one partial run: computed values are kept, as if fed, so that no node runs twice.

    ``fetches`` and ``feeds``: all that its steps may ask for and be given, in any nesting.
    """

    def __init__(self, session: BaseSession, fetches: Any, feeds: Any) -> None:
        graph = session.graph
        self._session = session
        self._fetchable = FetchPlan(graph, fetches)
        one = isinstance(feeds, (str, Tensor)) or not isinstance(feeds, Iterable)
        given = FetchPlan(graph, feeds if one else list(feeds))
        for op in given.operations:
            graph.as_graph_element(op, allow_operation=False)  # which raises
        self._feedable = frozenset(given.tensors)
        for tensor in self._fetchable.tensors:
            if tensor in self._feedable:
                raise _refused(f"{tensor.name} is both fed and fetched.")
        self._known: dict[Tensor, Any] = {}
        self._done: set[Operation] = set()
        self._fetched: set[Tensor | Operation] = set()
        self._has_failed = False

    def run(self, session: BaseSession, fetches: Any, feed_dict: Mapping[Any, Any]) -> Any:
        """Computes ``fetches`` from everything fed and computed so far."""
        wanted = FetchPlan(session.graph, fetches)
        feeds = flatten_feeds(session.graph, feed_dict)
        self._check(session, wanted, feeds)
        known = {**self._known, **feeds}
        plan = Plan(session, wanted, list(known), done=self._done)
        # Nodes of branches and loops run with the whole of it; what it gives is kept.
        places = positions(plan.ops, known)
        outside = [
            op
            for op in plan.ops
            if op.op_def.control_flow != "switch" and position_after(op, places) == OUTSIDE
        ]
        inner = [
            t
            for op in outside
            for t in op.outputs
            if t not in known
            and t.dtype.is_numpy_compatible
            and not op.op_def.is_variable
            and session.graph.is_fetchable(t)
        ]
        both = FetchPlan(session.graph, [fetches, inner])
        try:
            plan = Plan(session, both, list(known), done=self._done)
            result, values = both.rebuild(plan.run_flat(plan.convert_feeds(known.values())))
        except OpError:
            self._has_failed = True
            raise
        self._known = known | dict(zip(inner, values, strict=True))
        self._done.update(outside)
        self._fetched.update(wanted.tensors, wanted.operations)
        return result

    def _check(self, session: BaseSession, wanted: FetchPlan, feeds: Iterable[Tensor]) -> None:
        """Raises `InvalidArgumentError` for what this partial run cannot do now."""
        if session is not self._session:
            raise _refused("This partial run was set up by another session.")
        if self._has_failed:
            raise _refused(
                "A step of this partial run has failed, which ended it: begin again with "
                "partial_run_setup."
            )
        for tensor in feeds:
            if tensor not in self._feedable:
                raise _refused(f"{tensor.name!r} was not given to partial_run_setup as a feed.")
            if tensor in self._known:
                raise _refused(f"{tensor.name!r} was fed already in this partial run.")
        elements: list[Any] = [*wanted.tensors, *wanted.operations]
        for element in elements:
            if element not in self._fetchable.tensors and element not in self._fetchable.operations:
                raise _refused(f"{element.name!r} was not given to partial_run_setup as a fetch.")
            if element in self._fetched:
                raise _refused(
                    f"{element.name!r} was fetched already in this partial run: each fetch is given once."
                )


def _refused(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, message)
