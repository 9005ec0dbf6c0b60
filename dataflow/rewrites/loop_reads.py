"""Reads of resource variables that a loop does not change are made once, before it.

As in TensorFlow, a round reads the variable anew, and a gradient's loop pops what each round read. Weights
do not change within a loop: once read before it they are an invariant, which other rewrites know.
"""

from __future__ import annotations

from dataflow.graph.default_stacks import use_graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import get_op
from dataflow.graph.tensor import Tensor
from dataflow.rewrites.control_flow_positions import OUTSIDE, Position, positions
from dataflow.rewrites.effects import changers, reads_by_handle, variable_behind
from dataflow.rewrites.journal import Hit
from dataflow.rewrites.working_graph import WorkingGraph


def run(work: WorkingGraph, journal: list[Hit]) -> None:
    """Moves the reads out of loops, and replaces what gradients' loops pop of them."""
    ops = work.needed()
    reads = [op for op in ops if reads_by_handle(op) and _entered(op.inputs[0]) is not None]
    if not reads:
        return
    where = positions(ops, work.feed_tensors)
    changed_by = changers(ops)
    for read in reads:
        changes = changed_by.get(variable_behind(read), set())
        if not all(_is_pivot(control) for control in read.control_inputs):
            continue
        if any(where.get(op, OUTSIDE) != OUTSIDE for op in changes) or not changes <= _after(read):
            continue
        invariant = _move_out(work, journal, read)
        for user in dict.fromkeys(invariant.uses):
            if user.type == "TensorListPushBack" and user.inputs[1] is invariant:
                _replace_popped(work, journal, user, where)


def _entered(handle: Tensor) -> Tensor | None:
    """What comes into a loop as the invariant ``handle``; ``None`` for anything else."""
    op = handle.op
    if op.op_def.control_flow == "enter" and op.attrs["is_constant"]:
        return op.inputs[0]
    return None


def _is_pivot(op: Operation) -> bool:
    """Whether a read waits for the node only to be done in each round."""
    if op.type == "Identity" and not op.control_inputs:
        op = op.inputs[0].op
    return bool(op.op_def.control_flow)


def _after(op: Operation) -> set[Operation]:
    """The nodes that depend on ``op``."""
    found: set[Operation] = set()
    stack = [op]
    while stack:
        node = stack.pop()
        users = (user for tensor in node.outputs for user in tensor.uses)
        for following in (*users, *node.control_outputs):
            if following not in found:
                found.add(following)
                stack.append(following)
    return found


def _enter_as(tensor: Tensor, like: Operation, frame_name: str) -> Tensor:
    """``tensor`` as an invariant of a loop, beside the node ``like``, which is one."""
    return get_op("Enter")(  # type: ignore[no-any-return]
        tensor,
        frame_name=frame_name,
        is_constant=True,
        parallel_iterations=like.attrs["parallel_iterations"],
        name="Enter",
    )


def _move_out(work: WorkingGraph, journal: list[Hit], read: Operation) -> Tensor:
    """The invariant that stands for what ``read`` read in each round."""
    loops: list[Operation] = []
    handle = read.inputs[0]
    while (outer := _entered(handle)) is not None:
        loops.append(handle.op)
        handle = outer
    for control in list(read.control_inputs):
        read.remove_control_edge(control)
    old = read.outputs[0]
    with use_graph(work.graph):
        work.begin(old)
        value = get_op("ReadVariableOp")(handle, name="read")
        value.op.device = read.device
        made = value.op
        for control in dict.fromkeys(c for enter in loops for c in enter.control_inputs):
            made.add_control_edge(control)
        for enter in reversed(loops):
            value = _enter_as(value, enter, enter.attrs["frame_name"])
        work.replace(old, value)
    journal.append(
        Hit(
            "loop_read",
            "read(v) in each round -> v is read once, before the loop",
            old.name,
            value.name,
            (read.name,),
            (made.name,),
        )
    )
    return value  # type: ignore[no-any-return]


def _replace_popped(
    work: WorkingGraph, journal: list[Hit], push: Operation, where: dict[Operation, Position]
) -> None:
    """Gives a gradient's loop the invariant itself in place of what it pops from the list of it."""
    invariant = push.inputs[1]
    value = _entered(invariant)
    pop = _popping(push)
    if pop is None or value is None or where.get(value.op, OUTSIDE) != OUTSIDE:
        return
    loops = where[pop].loops
    popped = pop.outputs[1]
    if len(loops) != 1 or where[pop].branches or popped in work.fetch_tensors():
        return
    with use_graph(work.graph):
        work.begin(popped)
        entered = _enter_as(value, invariant.op, loops[0])
        for user in dict.fromkeys(popped.uses):
            for i, tensor in enumerate(user.inputs):
                if tensor is popped:
                    work.set_input(user, i, entered)
        work.adopt(entered.op, pop)
    journal.append(
        Hit(
            "loop_read",
            "pop what is the same in each round -> the value itself",
            popped.name,
            entered.name,
            (pop.name,),
            (entered.op.name,),
        )
    )


def _popping(push: Operation) -> Operation | None:
    """The node of the gradient's loop that pops what ``push`` pushes; ``None`` where more is done."""
    back = _only_user(push.outputs[0], "next_iteration")
    head = None if back is None else _only_user(back.outputs[0], "merge")
    switch = None if head is None else _only_user(head.outputs[0], "switch")
    if switch is None or {*switch.outputs[1].uses} != {push}:
        return None
    leave = _only_user(switch.outputs[0], "exit")
    enter = None if leave is None else _only_user(leave.outputs[0], "enter")
    head = None if enter is None else _only_user(enter.outputs[0], "merge")
    switch = None if head is None else _only_user(head.outputs[0], "switch")
    users = [] if switch is None else list(dict.fromkeys(switch.outputs[1].uses))
    return users[0] if len(users) == 1 and users[0].type == "TensorListPopBack" else None


def _only_user(tensor: Tensor, what: str) -> Operation | None:
    """The only consumer of a tensor; ``None`` if there are others, or it is no control-flow node of this kind."""
    users = list(dict.fromkeys(tensor.uses))
    return users[0] if len(users) == 1 and users[0].op_def.control_flow == what else None
