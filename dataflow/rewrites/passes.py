"""The table of passes: what is done to a plan's nodes, in which order, and what turns it off.

A pass looks at all nodes of a plan, changes its `WorkingGraph`, and writes a `Hit` for each change.
A new one is a file with a function ``run`` and a row here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.rewrites import (
    bias_relu_pool,
    broadcasting,
    common_subexpressions,
    control_dependency_gates,
    conv_bias,
    dead_branches,
    debug_ops,
    dependencies,
    fusion,
    known_predicates,
    loop_accumulator_sinking,
    loop_reads,
    multi_output_fusion,
    multi_tensor_updates,
    repeated_rows,
    row_fusion,
    rules,
    sparse_lookups,
    weight_prepacking,
)
from dataflow.rewrites.gradual import Steps
from dataflow.rewrites.journal import Hit
from dataflow.rewrites.options import RewriteOptions
from dataflow.rewrites.symbolic_shapes import EqualDims
from dataflow.rewrites.working_graph import WorkingGraph

#: How deep constant conditionals may be nested: a round resolves one level.
_MAX_ROUNDS = 4


class Rewriting(NamedTuple):
    """A plan while it is rewritten: what passes change, and what they may consult.

    ``equal_dims``, ``batch_size_hint`` and ``gpu_nodes`` are those of `engine.apply`; ``known`` says what fed
    predicates are in all runs of this plan; ``sums`` are the loop variables that
    `loop_accumulator_sinking.find` found among the user's nodes; ``hits`` how many each pass had when it last ran, by
    name.
    """

    work: WorkingGraph
    journal: list[Hit]
    options: RewriteOptions
    sums: list[Any]
    equal_dims: EqualDims
    batch_size_hint: int | None
    gpu_nodes: Collection[Operation]
    known: Mapping[Tensor, bool]
    hits: dict[str, int]


class Pass(NamedTuple):
    """A row of the table.

    Runs where one of ``options``, fields of `RewriteOptions`, is on and ``condition`` holds. ``run`` is
    a function or, if it may take long, a generator (`gradual.Steps`).
    """

    name: str
    options: tuple[str, ...]
    run: Callable[[Rewriting], Steps[None] | None]
    condition: Callable[[Rewriting], bool] = lambda plan: True

    def applies(self, plan: Rewriting) -> bool:
        """Whether the pass runs for this plan now."""
        return any(getattr(plan.options, s) for s in self.options) and self.condition(plan)


#: Once, on the nodes as the user made them.
FIRST = (
    Pass(
        "known_predicates",
        ("dead_branches",),
        lambda p: known_predicates.run(p.work, p.journal, p.known),
    ),
    Pass("loop_reads", ("loop_accumulators",), lambda p: loop_reads.run(p.work, p.journal)),
    Pass(
        "loop_accumulator_sinking",
        ("loop_accumulators",),
        lambda p: loop_accumulator_sinking.run(p.work, p.journal, p.sums),
    ),
    Pass("debug_ops", ("debug_ops",), lambda p: debug_ops.run(p.work, p.journal)),
    Pass("sparse_lookups", ("for_cpu",), lambda p: sparse_lookups.run(p.work, p.journal)),
)
#: Passes that make the graph smaller. All are repeated after a hit of the last one, `dead_branches`,
#: which may make other predicates known.
SIMPLIFICATION = (
    Pass("dependencies", ("dependencies",), lambda p: dependencies.run(p.work, p.journal)),
    Pass(
        "control_dependency_gates",
        ("dependencies",),
        lambda p: control_dependency_gates.run(p.work, p.journal),
    ),
    Pass(
        "common_subexpressions",
        ("common_subgraphs",),
        lambda p: common_subexpressions.run(p.work, p.journal),
    ),
    Pass(
        "rules",
        ("arithmetic", "constant_folding"),
        lambda p: rules.run(p.work, p.journal, p.options),
    ),
    Pass(
        "broadcasting",
        ("arithmetic",),
        lambda p: broadcasting.run(p.work, p.journal, p.equal_dims),
    ),
    Pass(
        "rules",
        ("arithmetic", "constant_folding"),
        lambda p: rules.run(p.work, p.journal, p.options),
        condition=lambda p: bool(p.hits["broadcasting"]),
    ),
    Pass(
        "common_subexpressions",
        ("common_subgraphs",),
        lambda p: common_subexpressions.run(p.work, p.journal),
        condition=lambda p: bool(p.journal),
    ),
    Pass("dead_branches", ("dead_branches",), lambda p: dead_branches.run(p.work, p.journal)),
)
#: Once, on the nodes that remain: several become one kernel.
FUSION = (
    Pass(
        "repeated_rows",
        ("regions",),
        lambda p: repeated_rows.run(p.work, p.journal, p.gpu_nodes),
        condition=lambda p: bool(p.gpu_nodes),
    ),
    Pass("bias_relu_pool", ("for_cpu",), lambda p: bias_relu_pool.run(p.work, p.journal)),
    Pass("conv_bias", ("for_cpu",), lambda p: conv_bias.run(p.work, p.journal)),
    Pass("weight_prepacking", ("for_cpu",), lambda p: weight_prepacking.run(p.work, p.journal)),
    Pass(
        "row_fusion",
        ("regions",),
        lambda p: row_fusion.run(p.work, p.journal, p.gpu_nodes),
    ),
    Pass(
        "fusion",
        ("remapping",),
        lambda p: fusion.run(p.work, p.journal, p.batch_size_hint, reductions=bool(p.gpu_nodes)),
    ),
    Pass(
        "multi_output_fusion",
        ("regions",),
        lambda p: multi_output_fusion.run(p.work, p.journal, p.batch_size_hint, p.gpu_nodes),
    ),
    Pass(
        "multi_tensor_updates", ("for_cpu",), lambda p: multi_tensor_updates.run(p.work, p.journal)
    ),
)
PASSES = (*FIRST, *SIMPLIFICATION, *FUSION)


def run_all(plan: Rewriting) -> Steps[None]:
    """Runs the passes of the table in order, in steps (`gradual.Steps`)."""
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
