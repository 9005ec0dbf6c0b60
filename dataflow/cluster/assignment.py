"""Which task runs each node: device names, variables and their ops, and what is left open.

Rules, in the order of their strength: nodes that share a variable, a queue or another resource stay
together, where that is, and so do nodes that ask for it (``colocate_with``); a device name that says job and task
decides; a partial one takes the first task that fits; all else runs where the session's target is.
"""

from __future__ import annotations

from collections.abc import Sequence

from dataflow.device_spec import DeviceSpec
from dataflow.errors import InvalidArgumentError
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor


def reference_inputs(op: Operation) -> list[Tensor]:
    """Return the inputs through which ``op`` changes a variable, or holds a queue or iterator."""
    result = []
    at = 0
    for arg in op.op_def.inputs:
        if arg.number_attr is not None:
            count = op.attrs[arg.number_attr]
        elif arg.type_list_attr is not None:
            count = len(op.attrs[arg.type_list_attr])
        else:
            count = 1
        if arg.is_ref:
            result += op.inputs[at : at + count]
        else:
            result += [
                tensor
                for tensor in op.inputs[at : at + count]
                if tensor.dtype.base_dtype.kind == "x"  # resource and variant: process-local
            ]
        at += count
    return result


class _Groups:
    """Union-find over operations."""

    def __init__(self) -> None:
        self._parent: dict[Operation, Operation] = {}

    def find(self, op: Operation) -> Operation:
        parent = self._parent.get(op, op)
        if parent is op:
            return op
        root = self._parent[op] = self.find(parent)
        return root

    def join(self, a: Operation, b: Operation) -> None:
        a, b = self.find(a), self.find(b)
        if a is not b:
            self._parent[b] = a


def assign_tasks(
    ops: Sequence[Operation],
    units: Sequence[Sequence[Operation]],
    task_names: Sequence[str],
    default_task: str,
    allow_soft_placement: bool = False,
) -> dict[Operation, str]:
    """Return the task (``/job:ps/task:0``) of every operation.

    ``units`` are sets of nodes that must run in one place (a loop, a conditional). Raises
    InvalidArgumentError that names the node, what its device asks for and which tasks there are.
    """
    groups = _Groups()
    members = set(ops)
    by_name = {op.name: op for op in ops}
    for op in ops:
        for tensor in reference_inputs(op):
            if tensor.op in members:
                groups.join(tensor.op, op)
        for group in op.attrs.get("_class") or ():
            text = group.decode() if isinstance(group, bytes) else group
            leader = by_name.get(text.removeprefix("loc:@"))
            if leader is not None:
                groups.join(leader, op)
    for unit in units:
        _join_unit(groups, unit)
    wanted: dict[Operation, tuple[str, Operation]] = {}
    for op in ops:
        task = _wanted_task(op, task_names, default_task, allow_soft_placement)
        if task is None:
            continue
        root = groups.find(op)
        known = wanted.setdefault(root, (task, op))
        if known[0] != task and not _in_unit(op, units):
            if _is_anchor(op) and not _is_anchor(known[1]):
                wanted[root] = (task, op)
            elif _is_anchor(known[1]) and _is_anchor(op):
                raise InvalidArgumentError(
                    op,
                    op,
                    f"Cannot colocate nodes {known[1].name!r} and {op.name!r}: the first is pinned "
                    f"to {known[0]}, the second to {task}, but they share a variable or resource, "
                    "or ask for each other with tf.colocate_with. Pin both to the same task."
                    f"\n  built at {op.built_at}",
                )
    return {
        op: wanted[root][0] if (root := groups.find(op)) in wanted else default_task for op in ops
    }


def _is_anchor(op: Operation) -> bool:
    """Whether the node holds state, so that others come to it and not it to them.

    As in TensorFlow, an assignment runs where its variable is, whatever its own device says.
    """
    holds = op.op_def.stateful or any(t.dtype.is_ref for t in op.outputs)
    return holds and not reference_inputs(op)


def _in_unit(op: Operation, units: Sequence[Sequence[Operation]]) -> bool:
    return any(op in unit for unit in units)


def _join_unit(groups: _Groups, unit: Sequence[Operation]) -> None:
    first = unit[0]
    for op in unit[1:]:
        groups.join(first, op)


def _wanted_task(
    op: Operation, task_names: Sequence[str], default_task: str, allow_soft_placement: bool
) -> str | None:
    if not op.device:
        return None
    spec = DeviceSpec.from_string(op.device)
    if spec.job is None and spec.task is None:
        return None
    fitting = [name for name in task_names if _fits(spec, name)]
    if default_task in fitting:
        return default_task
    if fitting:
        return fitting[0]
    if allow_soft_placement and spec.job is None:
        return None
    raise InvalidArgumentError(
        op,
        op,
        f"Cannot assign a device for operation {op.name!r}: it is pinned to {op.device}, but the "
        f"cluster has only {', '.join(task_names)} (seen from {default_task}; device_filters hide "
        f"the others). Change the tf.device or the ClusterSpec.\n  built at {op.built_at}",
    )


def _fits(spec: DeviceSpec, task_name: str) -> bool:
    task = DeviceSpec.from_string(task_name)
    return (spec.job is None or spec.job == task.job) and (
        spec.task is None or spec.task == task.task
    )
