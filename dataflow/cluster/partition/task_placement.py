"""Which task runs each node: device names, variables and their ops, and the rest.

Rules, in the order of their strength: nodes that share a variable, a queue or another resource stay
together, where that is, and so do nodes that ask for it (``colocate_with``); a device name that says job and task
decides; a partial one takes the first task that fits; all else runs where the session's target is.
"""

from __future__ import annotations

from collections.abc import Sequence

from dataflow.device_spec import DeviceSpec
from dataflow.errors import InvalidArgumentError
from dataflow.graph.operation import Operation
from dataflow.placement.groups import Groups, join_colocated, reference_inputs


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
    groups = Groups()
    join_colocated(ops, groups)
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
                raise _conflict(ops, known[1], known[0], op, task)
    return {
        op: wanted[root][0] if (root := groups.find(op)) in wanted else default_task for op in ops
    }


def _conflict(
    ops: Sequence[Operation], first: Operation, first_task: str, second: Operation, task: str
) -> InvalidArgumentError:
    groups = Groups()
    join_colocated(ops, groups)
    pins = f"the first is pinned to {first_task}, the second to {task}"
    if groups.find(first) is groups.find(second):
        why = (
            f"Cannot colocate nodes {first.name!r} and {second.name!r}: {pins}, but they share a "
            "variable or resource, or ask for each other with tf.colocate_with. Pin both to the "
            "same task."
        )
    else:
        why = (
            f"One loop or conditional uses what {first.name!r} and {second.name!r} hold: {pins}. "
            "A loop or conditional runs on one task; values come and go, variables, queues and "
            "other state do not. Pin both to the same task, or use one of them outside of it."
        )
    return InvalidArgumentError(second, second, f"{why}\n  built at {second.built_at}")


def _is_anchor(op: Operation) -> bool:
    """Whether the node holds state, so that others come to it and not it to them.

    As in TensorFlow, an assignment runs where its variable is, regardless of its own device.
    """
    holds = op.op_def.stateful or any(t.dtype.is_ref for t in op.outputs)
    return holds and not reference_inputs(op)


def _in_unit(op: Operation, units: Sequence[Sequence[Operation]]) -> bool:
    return any(op in unit for unit in units)


def _join_unit(groups: Groups, unit: Sequence[Operation]) -> None:
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
