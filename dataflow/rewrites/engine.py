"""The rewrite engine: the only code that changes a working graph, and it writes down every hit."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from dataflow.graph.default_stacks import use_graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import get_op
from dataflow.graph.tensor import Tensor
from dataflow.rewrites import (
    broadcasting,
    dead_branches,
    debug_ops,
    dedupe,
    dependencies,
    folding,
    fusion,
    gates,
    loop_sums,
    packing,
    pooling,
    regions,
    repeated_rows,
    updates,
)
from dataflow.rewrites.gradual import Steps, finish, in_steps
from dataflow.rewrites.journal import Hit, WatchedJournal
from dataflow.rewrites.switches import Switches
from dataflow.rewrites.symbolic_shapes import Together
from dataflow.rewrites.working_graph import WorkingGraph

Rule = Callable[[Tensor], Tensor | None]
Watch = Callable[[WorkingGraph, Hit], None]

#: Rules by the op type of the tensor that they look at, in order of registration.
_rules: dict[str, list[tuple[str, Rule]]] = {}
_MAX_HITS_PER_NODE = 8
#: How far above a node its rules look.
_MOST_LEVELS = 3
#: How deep constant conditionals may be nested, each known only when the one around it is gone.
_MAX_ROUNDS = 4


def rewrite(*op_types: str, group: str = "arithmetic") -> Callable[[Rule], Rule]:
    """Registers a rule ``rule(tensor) -> tensor to put in its place, or None``.

    ``group`` is the switch of `RewriterConfig` that turns it off. The docstring's first line is
    the equation, shown to learners.
    """

    def register(rule: Rule) -> Rule:
        for op_type in op_types:
            _rules.setdefault(op_type, []).append((group, rule))
        return rule

    return register


class Rewritten(NamedTuple):
    """What to run in place of the original nodes."""

    ops: list[Operation]
    fetches: list[Tensor]
    fetch_operations: list[Operation]
    feeds: list[Tensor]
    journal: list[Hit]
    origin: dict[Operation, Operation]


def apply(
    ops: Sequence[Operation],
    fetches: Sequence[Tensor],
    fetch_operations: Iterable[Operation],
    feeds: Sequence[Tensor],
    switches: Switches,
    watch: Watch | None = None,
    together: Together | None = None,
    guess: int | None = None,
    gpu_nodes: Collection[Operation] = (),
) -> Rewritten:
    """Rewrites the nodes of one plan; the originals stay as they are.

    ``watch(work, hit)`` is called after each rewrite, with the graph as it is then. The result is
    for feeds whose sizes ``together`` are equal. ``guess`` is what sizes that are not known count as
    when it is judged what is worth its while. ``gpu_nodes``: those of ``ops`` whose kernels run on a
    GPU.
    """
    return finish(
        apply_gradually(
            ops, fetches, fetch_operations, feeds, switches, watch, together, guess, gpu_nodes
        )
    )


def apply_gradually(
    ops: Sequence[Operation],
    fetches: Sequence[Tensor],
    fetch_operations: Iterable[Operation],
    feeds: Sequence[Tensor],
    switches: Switches,
    watch: Watch | None = None,
    together: Together | None = None,
    guess: int | None = None,
    gpu_nodes: Collection[Operation] = (),
) -> Steps[Rewritten]:
    """As `apply`, bit by bit."""
    sums = loop_sums.find(ops, feeds, fetches) if switches.loop_sums else []
    work = yield from WorkingGraph.made_gradually(ops, fetches, fetch_operations, feeds)
    journal: list[Hit] = []
    if watch is not None:
        journal = WatchedJournal(functools.partial(watch, work))
    loop_sums.run(work, journal, sums)
    if switches.debug_ops:
        debug_ops.run(work, journal)
    together = together or []
    yield from _simplify(work, switches, journal, together)
    rounds = 0
    while switches.dead_branches and rounds < _MAX_ROUNDS and dead_branches.run(work, journal):
        yield work.size
        # Walls have gone, and other predicates may be known.
        yield from _simplify(work, switches, journal, together)
        rounds += 1
    if gpu_nodes and switches.regions:
        repeated_rows.run(work, journal, gpu_nodes)
        yield work.size
    if switches.for_cpu:
        pooling.run(work, journal)
        yield work.size
        packing.run(work, journal)
        yield work.size
    if switches.remapping:
        yield from fusion.run(work, journal, guess, reductions=bool(gpu_nodes))
    if switches.regions:
        yield from regions.run(work, journal, guess, gpu_nodes)
    if switches.for_cpu:
        yield from updates.run(work, journal)
    return _rewritten(work, journal)


def _rewritten(work: WorkingGraph, journal: list[Hit]) -> Rewritten:
    return Rewritten(
        work.needed(),
        work.fetch_tensors(),
        work.fetch_operations(),
        work.feed_tensors,
        journal,
        work.origin,
    )


def as_always(
    ops: Sequence[Operation],
    fetches: Sequence[Tensor],
    fetch_operations: Iterable[Operation],
    feeds: Sequence[Tensor],
) -> Rewritten | None:
    """What a plan runs from the beginning, and with the rewrites off: `apply` begins with it.

    That is the only change of a graph after which values may be rounded otherwise. ``None`` where
    there is nothing to change, which is told before a node is copied.
    """
    sums = loop_sums.find(ops, feeds, fetches)
    if not sums:
        return None
    work = WorkingGraph(ops, fetches, fetch_operations, feeds)
    journal: list[Hit] = []
    loop_sums.run(work, journal, sums)
    return _rewritten(work, journal)


def _simplify(
    work: WorkingGraph, switches: Switches, journal: list[Hit], together: Together
) -> Steps[None]:
    """One round of everything that makes the graph smaller."""
    if switches.dependencies:
        dependencies.run(work, journal)
        yield work.size
        gates.run(work, journal)
        yield work.size
    if switches.common_subgraphs:
        yield from dedupe.run(work, journal)
    yield from _run_rules(work, switches, journal)
    if switches.arithmetic:
        found = broadcasting.run(work, journal, together)
        yield work.size
        if found:
            yield from _run_rules(work, switches, journal)
    if switches.common_subgraphs and journal:
        yield from dedupe.run(work, journal)


def _run_rules(work: WorkingGraph, switches: Switches, journal: list[Hit]) -> Steps[None]:
    """Applies rules from the sources down, again and again at a node while one fits."""
    ops = work.needed()
    changed = gates.changed_variables(ops)
    for some in in_steps(ops):
        with use_graph(work.graph):
            for op in some:
                if len(op.outputs) == 1 and op.outputs[0] not in work.fixed:
                    _run_rules_at(work, op.outputs[0], switches, journal, changed)
        yield len(some)


def _run_rules_at(
    work: WorkingGraph,
    tensor: Tensor,
    switches: Switches,
    journal: list[Hit],
    changed: set[Operation],
) -> None:
    """``changed``: the variables that the plan may assign to."""
    for _ in range(_MAX_HITS_PER_NODE):
        hit = _first_hit(work, tensor, switches)
        if hit is None:
            break
        rule, replacement = hit
        if changed and gates.variable_read(replacement.op) in changed:
            # A value computed from a variable stays when the variable changes.
            replacement = get_op("Identity")(replacement)
        work.replace(tensor, replacement)
        journal.append(Hit.of(rule, tensor, replacement))
        if replacement.op in work.origin_ops or len(replacement.op.outputs) != 1:
            break
        tensor = replacement


def _first_hit(
    work: WorkingGraph, tensor: Tensor, switches: Switches
) -> tuple[Rule, Tensor] | None:
    rules = _rules.get(tensor.op.type, [])
    if folding.may_fold(tensor):
        rules = [("constant_folding", folding.fold), *rules]
    for group, rule in rules:
        if not switches.allows(group):
            continue
        work.begin(tensor)
        if rule is folding.fold:
            replacement = folding.fold(tensor, switches.max_folded_bytes)
        else:
            replacement = rule(tensor)
        if replacement is None or replacement is tensor:
            work.roll_back()
            continue
        if replacement.dtype.base_dtype is not tensor.dtype.base_dtype:
            work.roll_back()
            continue
        if rule is not folding.fold and _loses_order(tensor, replacement):
            work.roll_back()
            continue
        return rule, replacement
    return None


def _loses_order(tensor: Tensor, replacement: Tensor) -> bool:
    """True when a node that a rule looks through waits for something, and would go with it."""
    waiting = {op for op in _cone(tensor) if op is not tensor.op and op.control_inputs}
    return bool(waiting) and not waiting <= _cone(replacement)


def _cone(tensor: Tensor) -> set[Operation]:
    """The nodes down to which rules look, above ``tensor``."""
    result = {tensor.op}
    edge = [tensor.op]
    for _ in range(_MOST_LEVELS):
        edge = [t.op for op in edge for t in op.inputs]
        result.update(edge)
    return result
