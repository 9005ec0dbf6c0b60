"""Sums over the iterations of a loop are computed in one go after the loop.

The gradient of weights in a loop is a loop variable to which each iteration adds a product (or, for a
bias, a sum of rows). Its value is not used before the last iteration, so the iterations only record
the factors (`kernels.rounds_sum`).

One large product rounds differently from a sum of many. So that a value does not depend on how it is
run, every plan has these sums, from its first run and with all rewrites off, and they are recognized
in the user's graph alone: neither the fetches nor other rewrites make a difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from dataflow.graph.default_stacks import use_graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import get_op
from dataflow.graph.tensor import Tensor
from dataflow.ops.fused import add_product_op, add_rows_op, rounds_sum_op, rounds_total_op
from dataflow.rewrites.control_dependency_gates import may_be_opened
from dataflow.rewrites.control_flow_positions import Position, positions
from dataflow.rewrites.dependencies import wait_instead
from dataflow.rewrites.journal import Hit
from dataflow.rewrites.working_graph import WorkingGraph

_SUMS = ("Add", "AddV2")


class _Sum(NamedTuple):
    """The nodes of one loop variable to which each iteration adds a term."""

    enter: Operation
    head: Operation
    switch: Operation
    add: Operation
    term: Operation
    exit: Operation


def find(
    ops: Sequence[Operation], feeds: Iterable[Tensor], fetches: Iterable[Tensor]
) -> list[_Sum]:
    """The sums among the user's nodes ``ops``, the needed ones of a plan."""
    if not any(op.op_def.control_flow == "next_iteration" for op in ops):
        return []
    where, members, fetched = positions(ops, feeds), set(ops), set(fetches)
    found = [_sum_of(op, where) for op in ops if op.type == "Merge"]
    return [
        s for s in found if s is not None and members.issuperset(s) and not _is_seen(s, fetched)
    ]


def run(work: WorkingGraph, journal: list[Hit], found: list[_Sum]) -> None:
    """Defers the terms of the sums that `find` returned."""
    for sum_ in found:
        _put_off(work, journal, _Sum(*(work.copy_of(op) for op in sum_)))


def _is_seen(found: _Sum, fetched: set[Tensor]) -> bool:
    """True where a value inside the loop is fetched, as in a partial run."""
    return any(t in fetched for op in found[1:-1] for t in op.outputs)


def _only(tensor: Tensor) -> Operation | None:
    """The only consumer of a value, where nothing else waits for it."""
    users = tensor.uses
    return users[0] if len(users) == 1 and not tensor.op.control_outputs else None


def _sum_of(head: Operation, where: dict[Operation, Position]) -> _Sum | None:
    """The sum whose loop variable is ``head``; ``None`` where it is no such variable."""
    if len(head.inputs) != 2 or head.outputs[1].uses:
        return None
    enter, back = (t.op for t in head.inputs)
    switch = _only(head.outputs[0])
    if enter.type != "Enter" or back.type != "NextIteration" or switch is None:
        return None
    if switch.type != "Switch" or switch.inputs[0] is not head.outputs[0]:
        return None
    leave, add = _only(switch.outputs[0]), _only(switch.outputs[1])
    while add is not None and add.type == "Identity" and not add.control_inputs:
        add = _only(add.outputs[0])
    if leave is None or leave.type != "Exit" or add is None or add.type not in _SUMS:
        return None
    if add.control_inputs or back.inputs[0] is not add.outputs[0]:
        return None
    if _only(add.outputs[0]) is not back or where.get(add) != where.get(head):
        return None
    # One operand is the variable itself, the other the term.
    terms = [t for t in (_behind_gates(t, add) for t in add.inputs) if t is not None]
    if len(terms) != 1 or where.get(terms[0].op) != where.get(head):
        return None
    (term,) = terms
    dims = enter.inputs[0].dims
    if term.op.control_inputs or dims is None or None in dims or term.dims != dims:
        return None
    if term.dtype.name not in ("float32", "float64"):
        return None
    if term.op.type == "BiasAddGrad" and term.op.attrs.get("data_format") == "NCHW":
        return None
    return _Sum(enter, head, switch, add, term.op, leave)


def _behind_gates(t: Tensor, user: Operation) -> Tensor | None:
    """The term that ``user`` adds, behind the gate of a gradient; ``None`` where it is something else
    or has other consumers."""
    while t.op.type == "Identity" and t.uses == [user] and not t.op.control_outputs:
        if not may_be_opened(t.op):
            return None
        user = t.op
        t = t.op.inputs[0]
    if t.op.type not in ("MatMul", "BiasAddGrad") or t.uses != [user]:
        return None
    # Only its own gate waits for it.
    return t if all(c.type == "NoOp" for c in t.op.control_outputs) else None


def _put_off(work: WorkingGraph, journal: list[Hit], found: _Sum) -> None:
    enter, head, switch, add, term, leave = found
    old = leave.outputs[0]
    with use_graph(work.graph):
        work.begin(old)
        start = rounds_sum_op(enter.inputs[0], name="sum")
        entered = get_op("Enter")(
            start, frame_name=enter.attrs["frame_name"], is_constant=False, name="Enter"
        )
        for control in enter.control_inputs:
            entered.op.add_control_edge(control)
        value: Any = get_op("Merge")([entered, entered], name="Merge")[0]
        stop, go_on = get_op("Switch")(value, switch.inputs[1], name="Switch")
        if term.type == "MatMul":
            transposed = {name: term.attrs[name] for name in ("transpose_a", "transpose_b")}
            noted = add_product_op(go_on, *term.inputs, name="term", **transposed)
        else:
            noted = add_rows_op(go_on, *term.inputs, name="term")
        for waiting in list(term.control_outputs):  # only its inputs are left to wait for
            wait_instead(waiting, term, [t.op for t in term.inputs])
        # The node that an error is reported for.
        work.origin[noted.op] = work.origin[term]
        noted.op.frames = work.origin[term].frames
        work.set_input(value.op, 1, get_op("NextIteration")(noted, name="NextIteration"))
        total = rounds_total_op(
            get_op("Exit")(stop, name="Exit"), T=old.dtype, output_shape=old.dims, name="total"
        )
        work.replace(old, total)
    journal.append(
        Hit(
            "loop_sums",
            f"sum over rounds of {term.type} -> factors noted in the rounds, added up after them",
            old.name,
            total.name,
            (head.name, add.name, term.name),
            (noted.op.name, total.op.name),
        )
    )
