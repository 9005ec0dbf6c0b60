"""The graph of a plan after each rewrite, as what goes and what comes: what a player replays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.introspect.graph_json import node_to_dict
from dataflow.rewrites.journal import Hit
from dataflow.rewrites.working_graph import WorkingGraph

#: Nodes looked at in all, after which several hits share a step: a player must open at once.
_BUDGET_NODES = 400_000


class RewriteStep(NamedTuple):
    """What one rewrite (or some, in very large graphs) did to the graph.

    ``equation`` says what it does; ``at`` names the tensor that was replaced, ``after`` what stands
    in its place ("" where nothing does). ``removed`` names nodes, ``put`` holds node dictionaries
    (see `graph_json`) of new and of changed nodes. ``num_hits`` counts the rewrites in the step,
    ``kernel`` is the generated source of a fused kernel.
    """

    rule: str
    equation: str
    at: str
    after: str
    removed: list[str]
    put: list[dict[str, Any]]
    num_hits: int = 1
    kernel: str = ""


class RewriteHistory:
    """Writes steps while `rewrites.engine.apply` works; pass `watch` to it.

    ``nodes`` are all nodes of the graph, ``ops`` those that pruning leaves, ``feeds`` the fed
    tensors. Pruning is the first step.
    """

    def __init__(
        self, nodes: Sequence[dict[str, Any]], ops: Sequence[Operation], feeds: Sequence[Tensor]
    ) -> None:
        self._feeds = feeds
        # A fed tensor's node does not run, but the graph is drawn from it.
        self._sources = {t.op.name: node_to_dict(t.op) for t in feeds}
        kept = {op.name: node_to_dict(op) for op in ops} | self._sources
        gone = [node["name"] for node in nodes if node["name"] not in kept]
        self.steps = [RewriteStep("pruning", "what no fetch needs -> nothing", "", "", gone, [])]
        self._state = kept
        self._known: dict[Operation, tuple[Any, dict[str, Any]]] = {}
        self._looked_at = 0
        self._every = 1
        self._waiting: list[Hit] = []
        self._names: dict[str, str] = {}
        self._work: Any = None

    def watch(self, work: WorkingGraph, hit: Hit) -> None:
        """A rewrite has been made."""
        self._waiting.append(hit)
        self._work = work
        if len(self._waiting) >= self._every:
            self._write()

    def finish(self) -> list[RewriteStep]:
        """All steps."""
        if self._waiting:
            self._write()
        if self._work is not None:
            self._settle()
        return self.steps

    def _write(self) -> None:
        hits, self._waiting = self._waiting, []
        after = self._look()
        before, self._state = self._state, after
        removed = [name for name in before if name not in after]
        put = [node for name, node in after.items() if before.get(name) != node]
        last = hits[-1]
        self.steps.append(
            RewriteStep(
                last.rule,
                last.equation,
                self._original(last.before),
                self._original(last.after),
                removed,
                put,
                len(hits),
                "\n".join(hit.source for hit in hits if hit.source),
            )
        )

    def _settle(self) -> None:
        """What changed after the last hit (effects that wait for what its rewrite let go)."""
        after = self._look()
        last = self.steps[-1]
        put = {node["name"]: node for node in last.put}
        put |= {name: node for name, node in after.items() if self._state.get(name) != node}
        removed = dict.fromkeys([*last.removed, *(n for n in self._state if n not in after)])
        put = {name: node for name, node in put.items() if name in after}
        self.steps[-1] = last._replace(removed=list(removed), put=list(put.values()))
        self._state = after

    def _look(self) -> dict[str, dict[str, Any]]:
        """The nodes that are needed now, by name, with fed tensors called as in the user's graph."""
        if not self._names:
            for mine, fed in zip(self._work.feed_tensors, self._feeds, strict=True):
                self._names[mine.name] = fed.name
        needed = self._work.needed()
        self._looked_at += len(needed)
        if self._looked_at > _BUDGET_NODES:
            self._every, self._looked_at = self._every * 2, 0
        state = dict(self._sources)
        for op in needed:
            state[op.name] = self._node(op)
        return state

    def _node(self, op: Operation) -> dict[str, Any]:
        key = (tuple(op.inputs), tuple(op.control_inputs))
        known = self._known.get(op)
        if known is not None and known[0] == key:
            return known[1]
        node = node_to_dict(op)
        node["inputs"] = [self._original(name) for name in node["inputs"]]
        self._known[op] = (key, node)
        return node

    def _original(self, tensor_name: str) -> str:
        return self._names.get(tensor_name, tensor_name)


def replay(
    nodes: Sequence[dict[str, Any]], steps: Sequence[RewriteStep], count: int
) -> dict[str, dict[str, Any]]:
    """The nodes by name after the first ``count`` steps."""
    state = {node["name"]: node for node in nodes}
    for step in steps[:count]:
        for name in step.removed:
            state.pop(name, None)
        for node in step.put:
            state[node["name"]] = node
    return state
