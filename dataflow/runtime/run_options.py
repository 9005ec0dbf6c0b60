"""Runs with `RunOptions` and `RunMetadata`: traces and time-outs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dataflow.device_spec import merge_names
from dataflow.runtime.config import RunOptions
from dataflow.runtime.time_limits import within

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession
    from dataflow.runtime.stepper import Trace


def run_with_options(
    session: BaseSession,
    fetches: Any,
    feed_dict: Mapping[Any, Any] | None,
    options: RunOptions | None,
    run_metadata: Any,
) -> Any:
    """As `Session.run`; fills ``run_metadata`` with step statistics when tracing is on.

    With ``output_partition_graphs``, also with the graph of the nodes that run on each device.

    Raises `DeadlineExceededError` when ``timeout_in_ms`` passes while an op is blocked.
    """
    options = RunOptions() if options is None else options
    if run_metadata is not None:
        run_metadata.Clear()  # it tells of the last run alone
    level, timeout_ms = options.trace_level, options.timeout_in_ms
    if run_metadata is not None and options.output_partition_graphs:
        add_partition_graphs(run_metadata, session, fetches, feed_dict)
    if level == RunOptions.NO_TRACE and timeout_ms:
        return _with_timeout(session, fetches, feed_dict, timeout_ms)
    if level == RunOptions.NO_TRACE or run_metadata is None:
        return session.run_now(fetches, feed_dict)
    from dataflow.runtime.stepper import record

    started = time.time()
    trace = record(session, fetches, feed_dict, values="sizes")
    fill_metadata(run_metadata, trace, started)
    return trace.result


def add_partition_graphs(
    run_metadata: Any, session: BaseSession, fetches: Any, feed_dict: Mapping[Any, Any] | None
) -> None:
    """Adds a ``GraphDef`` for each device: the nodes that a run needs, with the device's whole name.

    Edges between devices are those of the graph: there are no nodes for the copies.
    """
    from dataflow.graph.serialize import PRODUCER, write_node

    plan, _ = session.plan_for(fetches, feed_dict)
    graphs: dict[str, Any] = {}
    for op in plan.ops:
        device = merge_names("/job:localhost/replica:0/task:0/device:CPU:0", op.device)
        if device not in graphs:
            graphs[device] = run_metadata.partition_graphs.add()
            graphs[device].versions.producer = PRODUCER
        node = graphs[device].node.add()
        write_node(node, op, False)
        node.device = device


def _with_timeout(
    session: BaseSession, fetches: Any, feed_dict: Mapping[Any, Any] | None, timeout_ms: int
) -> Any:
    """Runs, and cancels ops that are still waiting when the time is up."""
    if session.remote is not None:
        return session.remote.run(fetches, feed_dict, timeout_ms / 1000)[0]
    with within(timeout_ms / 1000, session.loop_end):
        return session.run_now(fetches, feed_dict)


def fill_metadata(run_metadata: Any, trace: Trace, started_seconds: float) -> None:
    """Writes a recorded run into a ``RunMetadata`` protocol buffer."""
    devices: dict[str, Any] = {}
    ran = {step.op_name for step in trace.steps}
    for step in trace.steps:
        device = step.device or "/device:CPU:0"
        if "/job:" not in device:
            device = "/job:localhost/replica:0/task:0" + device
        if device not in devices:
            devices[device] = run_metadata.step_stats.dev_stats.add(device=device)
        node = devices[device].node_stats.add(
            node_name=step.op_name,
            all_start_micros=int((started_seconds + step.start_seconds) * 1e6),
            op_start_rel_micros=0,
            op_end_rel_micros=max(1, int(step.seconds * 1e6)),
            all_end_rel_micros=max(1, int(step.seconds * 1e6)),
            timeline_label=f"{step.op_name} = {step.op_type}("
            + ", ".join(_input_names(trace, step.op_name, ran))
            + ")",
            scheduled_micros=int((started_seconds + step.start_seconds) * 1e6),
        )
        for slot, value in enumerate(step.outputs):
            if value is None:
                continue
            output = node.output.add(slot=slot)
            description = output.tensor_description
            description.shape.MergeFrom(_shape_proto(value.shape))
            description.allocation_description.requested_bytes = int(value.nbytes)
            description.allocation_description.allocated_bytes = int(value.nbytes)


def _input_names(trace: Trace, op_name: str, ran: set[str]) -> list[str]:
    """What a node read, control inputs with a ``^``; a node that did not run stands for its own.

    Such a node is an Identity or a group whose work was left out, so that its readers wait for what
    is behind it.
    """
    copy = next((c for c in trace.copies if c.name == op_name), None)
    names: dict[str, None] = {}
    seen = set()

    def add(source: Any, mark: str) -> None:
        if source.name in ran or not (source.inputs or source.control_inputs):
            names[mark + source.name] = None
        elif source not in seen:
            seen.add(source)
            for t in source.inputs:
                add(t.op, mark)
            for control in source.control_inputs:
                add(control, "^")

    try:
        if op_name in trace.inputs:
            for text in trace.inputs[op_name]:
                name = text.lstrip("^").partition(":")[0]
                mark = "^" if text.startswith("^") else ""
                if name in ran:
                    names[mark + name] = None
                else:
                    add(trace.graph.get_operation_by_name(name), mark)
            return list(names)
        if copy is not None:
            source = copy.source.partition(":")[0]
            if source in ran:
                return [source]
            add(trace.graph.get_operation_by_name(source), "")
            return list(names)
        op = trace.graph.get_operation_by_name(op_name)
    except KeyError:
        return []
    seen.add(op)
    for t in op.inputs:
        add(t.op, "")
    for control in op.control_inputs:
        add(control, "^")
    return list(names)


def _shape_proto(shape: tuple[int, ...]) -> Any:
    from dataflow.shapes import TensorShape

    return TensorShape(shape).as_proto()
