"""`Session.partial_run`: one computation whose feeds and fetches are given step by step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dataflow.errors import InvalidArgumentError
from dataflow.graph.tensor import Tensor
from dataflow.runtime.feeds import flatten_feeds
from dataflow.runtime.fetches import FetchPlan
from dataflow.runtime.plan import Plan

if TYPE_CHECKING:
    from dataflow.runtime.session import BaseSession


class PartialRun:
    """The state of one partial run: computed values are kept, as if fed, for later calls."""

    def __init__(self, session: BaseSession, fetches: Any, feeds: Iterable[Any]) -> None:
        graph = session.graph
        self._session = session
        self._fetchable = FetchPlan(graph, list(fetches))
        self._feedable = {graph.as_graph_element(f, allow_operation=False) for f in feeds}
        self._known: dict[Tensor, Any] = {}

    def run(self, fetches: Any, feed_dict: Mapping[Any, Any]) -> Any:
        """Computes ``fetches`` from everything fed and computed so far."""
        session = self._session
        wanted = FetchPlan(session.graph, fetches)
        elements: list[Any] = [*wanted.tensors, *wanted.operations]
        for element in elements:
            if element not in self._fetchable.tensors and element not in self._fetchable.operations:
                raise InvalidArgumentError(
                    None, None, f"{element.name!r} was not given to partial_run_setup as a fetch."
                )
        for tensor, value in flatten_feeds(session.graph, feed_dict).items():
            if tensor not in self._feedable:
                raise InvalidArgumentError(
                    None, None, f"{tensor.name!r} was not given to partial_run_setup as a feed."
                )
            if tensor in self._known:
                raise InvalidArgumentError(
                    None, None, f"{tensor.name!r} was fed already in this partial run."
                )
            self._known[tensor] = value
        # All intermediate values are kept, so that no node runs twice.
        plan = Plan(session, wanted, list(self._known))
        inner = [
            t
            for op in plan.ops
            for t in op.outputs
            if t not in self._known and t.dtype.is_numpy_compatible and not t.dtype.is_ref
        ]
        full = Plan(session, FetchPlan(session.graph, [fetches, inner]), list(self._known))
        result, values = full.run(self._known.values())
        self._known.update(zip(inner, values, strict=True))
        return result
