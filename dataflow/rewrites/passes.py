"""The table of passes: what is done to a plan's nodes, in which order, and what turns it off.

A pass looks at all nodes of a plan, changes its `WorkingGraph`, and writes a `Hit` for each change.
A new one is a file with a function ``run`` and a row here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dataflow.graph.operation import Operation
from dataflow.rewrites import (
    broadcasting,
    dead_branches,
    debug_ops,
    dedupe,
    dependencies,
    fusion,
    gates,
    loop_sums,
    packing,
    pooling,
    regions,
    repeated_rows,
    rules,
    updates,
)
from dataflow.rewrites.gradual import Steps
from dataflow.rewrites.journal import Hit
from dataflow.rewrites.switches import Switches
from dataflow.rewrites.symbolic_shapes import Together
from dataflow.rewrites.working_graph import WorkingGraph

#: How deep constant conditionals may be nested, each known only when the one around it is gone.
_MAX_ROUNDS = 4


@dataclass
class Rewriting:
    """A plan while it is rewritten: what passes change, and what they may ask.

    ``together``, ``guess`` and ``gpu_nodes`` are those of `engine.apply`; ``sums`` are the loop
    variables that `loop_sums.find` told from the user's nodes.
    """

    work: WorkingGraph
    journal: list[Hit]
    switches: Switches
    sums: list[Any] = field(default_factory=list)
    together: Together = field(default_factory=list)
    guess: int | None = None
    gpu_nodes: Collection[Operation] = ()
    #: How many hits each pass had when it was last its turn, by name.
    hits: dict[str, int] = field(default_factory=dict)


class Pass(NamedTuple):
    """A row of the table.

    Runs where one of ``switches``, fields of `Switches`, is on and ``condition`` holds. ``run`` is
    a function or, where it takes long, a generator (`gradual.Steps`).
    """

    name: str
    switches: tuple[str, ...]
    run: Callable[[Rewriting], Steps[None] | None]
    condition: Callable[[Rewriting], bool] = lambda plan: True

    def applies(self, plan: Rewriting) -> bool:
        """Whether it is to run now."""
        return any(getattr(plan.switches, s) for s in self.switches) and self.condition(plan)


#: Once, on the nodes as the user made them.
FIRST = (
    Pass("loop_sums", ("loop_sums",), lambda p: loop_sums.run(p.work, p.journal, p.sums)),
    Pass("debug_ops", ("debug_ops",), lambda p: debug_ops.run(p.work, p.journal)),
)
#: What makes the graph smaller: all of it again after each hit of the last one, `dead_branches`, since
#: walls have gone, and other predicates may be known.
SIMPLIFICATION = (
    Pass("dependencies", ("dependencies",), lambda p: dependencies.run(p.work, p.journal)),
    Pass("gates", ("dependencies",), lambda p: gates.run(p.work, p.journal)),
    Pass("dedupe", ("common_subgraphs",), lambda p: dedupe.run(p.work, p.journal)),
    Pass(
        "rules",
        ("arithmetic", "constant_folding"),
        lambda p: rules.run(p.work, p.journal, p.switches),
    ),
    Pass(
        "broadcasting",
        ("arithmetic",),
        lambda p: broadcasting.run(p.work, p.journal, p.together),
    ),
    Pass(
        "rules",
        ("arithmetic", "constant_folding"),
        lambda p: rules.run(p.work, p.journal, p.switches),
        condition=lambda p: bool(p.hits["broadcasting"]),
    ),
    Pass(
        "dedupe",
        ("common_subgraphs",),
        lambda p: dedupe.run(p.work, p.journal),
        condition=lambda p: bool(p.journal),
    ),
    Pass("dead_branches", ("dead_branches",), lambda p: dead_branches.run(p.work, p.journal)),
)
#: Once, on what is left: one kernel does the work of several nodes.
FUSION = (
    Pass(
        "repeated_rows",
        ("regions",),
        lambda p: repeated_rows.run(p.work, p.journal, p.gpu_nodes),
        condition=lambda p: bool(p.gpu_nodes),
    ),
    Pass("pooling", ("for_cpu",), lambda p: pooling.run(p.work, p.journal)),
    Pass("packing", ("for_cpu",), lambda p: packing.run(p.work, p.journal)),
    Pass(
        "fusion",
        ("remapping",),
        lambda p: fusion.run(p.work, p.journal, p.guess, reductions=bool(p.gpu_nodes)),
    ),
    Pass(
        "regions",
        ("regions",),
        lambda p: regions.run(p.work, p.journal, p.guess, p.gpu_nodes),
    ),
    Pass("updates", ("for_cpu",), lambda p: updates.run(p.work, p.journal)),
)
PASSES = (*FIRST, *SIMPLIFICATION, *FUSION)


def run_all(plan: Rewriting) -> Steps[None]:
    """Runs the passes of the table in order, bit by bit."""
    yield from _run(FIRST, plan)
    yield from _run(SIMPLIFICATION, plan)
    for _ in range(_MAX_ROUNDS):
        if not plan.hits[SIMPLIFICATION[-1].name]:
            break
        yield from _run(SIMPLIFICATION, plan)
    yield from _run(FUSION, plan)


def _run(table: tuple[Pass, ...], plan: Rewriting) -> Steps[None]:
    for row in table:
        before = len(plan.journal)
        if row.applies(plan):
            steps = row.run(plan)
            if steps is None:
                yield plan.work.size
            else:
                yield from steps
        plan.hits[row.name] = len(plan.journal) - before
