"""The debug stripper: removes assertions, checks and prints when ``debug_stripper`` is on."""

from __future__ import annotations

from dataflow.graph.default_stacks import use_graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import get_op
from dataflow.rewrites.dependencies import wait_instead
from dataflow.rewrites.journal import Hit
from dataflow.rewrites.working_graph import WorkingGraph


def run(work: WorkingGraph, journal: list[Hit]) -> None:
    """Removes such nodes: their consumers take the input, and inherit the control inputs."""
    with use_graph(work.graph):
        for op in work.needed():
            if op.type == "Assert" and op not in work.fetch_operation_set():
                _strip_assert(op)
                work.changed()
                journal.append(Hit("assert", "assert(x) -> nothing", op.name, "", (op.name,)))
            elif op.op_def.is_debug_identity:
                _pass_on(work, journal, op)


def _strip_assert(op: Operation) -> None:
    before = list(dict.fromkeys([*[t.op for t in op.inputs], *op.control_inputs]))
    for waiter in list(op.control_outputs):
        wait_instead(waiter, op, before)


def _pass_on(work: WorkingGraph, journal: list[Hit], op: Operation) -> None:
    output = op.outputs[0]
    work.begin(output)
    new = get_op("Identity")(op.inputs[0])
    for tensor in op.inputs[1:]:
        if tensor.op not in new.op.control_inputs:
            new.op.add_control_edge(tensor.op)
    work.replace(output, new)
    equation = f"{op.type.lower()}(x) -> x"
    journal.append(Hit("debug_op", equation, output.name, new.name, (op.name,), (new.op.name,)))
