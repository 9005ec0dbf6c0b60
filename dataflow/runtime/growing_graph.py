"""A graph that grows with each run: the most frequent mistake in graph mode, noticed and told once.

A loop that builds what it runs (`sess.run(v.assign_add(1))`, `sess.run(tf.reduce_mean(loss))`) works, and becomes slower
with each turn: every run meets new nodes and is planned anew. Looked at where a run is planned; a run that is
known costs nothing.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataflow.graph.graph import Graph
    from dataflow.graph.operation import Operation

#: So often the same line adds nodes between runs before anything is said.
MOST_TURNS = 50


class GrowingGraphWarning(UserWarning):
    """The same line has added nodes before each of many runs. Given once for a graph."""


class _Growth:
    """What is known of a graph: how many nodes the last run found, and how often each place added some."""

    def __init__(self) -> None:
        self.num_nodes = 0
        self.turns: dict[tuple[int, ...], int] = {}


def watch_growth(graph: Graph) -> None:
    """Called for a run that is planned; warns when one place of a program has added nodes before `MOST_TURNS` such runs.

    The place is the user's lines with what called them: a function that different lines call is none.
    """
    known = graph.attachments
    growth = known.get(_Growth)
    if growth is None:
        if _Growth in known:
            return  # it has been told
        growth = known[_Growth] = _Growth()
        growth.num_nodes = graph.version
        return
    before, growth.num_nodes = growth.num_nodes, graph.version
    if growth.num_nodes <= before:
        return
    first = graph.operations[before]
    place = tuple(part if isinstance(part, int) else id(part) for part in first.frames)
    turns = growth.turns[place] = growth.turns.get(place, 0) + 1
    if turns >= MOST_TURNS and place:
        known[_Growth] = None
        _warn(graph, first)


def _warn(graph: Graph, first: Operation) -> None:
    from dataflow.runtime.nan_origin import level_of_user

    last = graph.operations[-1]
    warnings.warn(
        GrowingGraphWarning(
            f"The graph grows with each run: {first.built_at} has added operations before {MOST_TURNS} runs, "
            f"{last.type} {last.name!r} before this one, and it has {graph.version} now. A run that meets new operations is "
            "planned anew, so that a loop becomes slower and slower. Build them once, before the loop, and only "
            "run them in it. (tf.get_default_graph().finalize() before the loop finds every such line.)"
        ),
        stacklevel=level_of_user(),
    )
