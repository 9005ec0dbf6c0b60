"""Rules: rewrites that look at one tensor. How they are registered, and how they are applied to a plan."""

from __future__ import annotations

from collections.abc import Callable

from dataflow.graph.default_stacks import use_graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import get_op
from dataflow.graph.tensor import Tensor
from dataflow.rewrites import control_dependency_gates, folding
from dataflow.rewrites.gradual import Steps, in_steps
from dataflow.rewrites.journal import Hit
from dataflow.rewrites.options import RewriteOptions
from dataflow.rewrites.working_graph import WorkingGraph

Rule = Callable[[Tensor], Tensor | None]

#: Rules by the op type of the tensor that they match, in order of registration.
_rules: dict[str, list[Rule]] = {}
_MAX_HITS_PER_NODE = 8
#: How many levels above a node its rules look.
_MOST_LEVELS = 3


def rewrite(*op_types: str) -> Callable[[Rule], Rule]:
    """Registers a rule ``rule(tensor) -> tensor to put in its place, or None`` for these op types.

    The docstring's first line is the equation, shown to learners. The switch ``arithmetic`` turns
    all rules off.
    """

    def register(rule: Rule) -> Rule:
        for op_type in op_types:
            _rules.setdefault(op_type, []).append(rule)
        return rule

    return register


def forget_rule(rule: Rule) -> None:
    """Takes a rule out again, for the plans that are made from now on."""
    for rules in _rules.values():
        if rule in rules:
            rules.remove(rule)


def run(work: WorkingGraph, journal: list[Hit], options: RewriteOptions) -> Steps[None]:
    """Applies rules from the sources down, at each node until none matches.

    Constants are folded along the way (`folding.fold`), as rules create new ones.
    """
    ops = work.needed()
    changed = control_dependency_gates.changed_variables(ops)
    for some in in_steps(ops):
        with use_graph(work.graph):
            for op in some:
                if len(op.outputs) == 1 and op.outputs[0] not in work.fixed:
                    _run_at(work, op.outputs[0], options, journal, changed)
        yield len(some)


def _run_at(
    work: WorkingGraph,
    tensor: Tensor,
    options: RewriteOptions,
    journal: list[Hit],
    changed: set[Operation],
) -> None:
    """``changed``: the variables that the plan may assign to."""
    for _ in range(_MAX_HITS_PER_NODE):
        hit = _first_hit(work, tensor, options)
        if hit is None:
            break
        rule, replacement = hit
        if changed and control_dependency_gates.variable_read(replacement.op) in changed:
            # A computed value does not change when the variable does.
            replacement = get_op("Identity")(replacement)
        work.replace(tensor, replacement)
        journal.append(Hit.of(rule, tensor, replacement))
        if replacement.op in work.origin_ops or len(replacement.op.outputs) != 1:
            break
        tensor = replacement


def _first_hit(
    work: WorkingGraph, tensor: Tensor, options: RewriteOptions
) -> tuple[Rule, Tensor] | None:
    rules = _rules.get(tensor.op.type, []) if options.arithmetic else []
    if options.constant_folding and folding.may_fold(tensor):
        rules = [folding.fold, *rules]
    for rule in rules:
        work.begin(tensor)
        if rule is folding.fold:
            replacement = folding.fold(tensor, options.max_folded_bytes)
        else:
            replacement = rule(tensor)
        if replacement is None or replacement is tensor:
            work.roll_back()
            continue
        if not isinstance(replacement, Tensor):
            work.roll_back()
            raise TypeError(
                f"the rewrite {rule.__name__} returned {type(replacement).__name__} for {tensor.name!r}, needed a "
                "tensor or None; the tensor that an operation makes is op.outputs[0]."
            )
        if replacement.dtype.base_dtype is not tensor.dtype.base_dtype:
            work.roll_back()
            continue
        if rule is not folding.fold and _loses_order(tensor, replacement):
            work.roll_back()
            continue
        return rule, replacement
    return None


def _loses_order(tensor: Tensor, replacement: Tensor) -> bool:
    """True when a node that the rule would remove has control inputs, which would be lost."""
    waiting = {op for op in _cone(tensor) if op is not tensor.op and op.control_inputs}
    return bool(waiting) and not waiting <= _cone(replacement)


def _cone(tensor: Tensor) -> set[Operation]:
    """The nodes above ``tensor`` that rules look at."""
    result = {tensor.op}
    edge = [tensor.op]
    for _ in range(_MOST_LEVELS):
        edge = [t.op for op in edge for t in op.inputs]
        result.update(edge)
    return result
