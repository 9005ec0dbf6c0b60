"""What a recorded run did with its time: ops on lanes, copies, waiting, and the critical path.

Everything is read from the Chrome trace of the run, so that the picture and the trace cannot
differ. Times are microseconds since the run began.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

#: A lane that does nothing for longer than this share of the run is said to wait.
_WAIT_SHARE = 0.01
_COMPUTE = " Compute"


class TimedOp(NamedTuple):
    """One run of one op. ``lane`` and ``row`` say where it is drawn; ``inputs`` index ops that were
    done before and whose outputs (or whose end) it needed."""

    name: str
    op_type: str
    lane: int
    row: int
    start: int
    duration: int
    num_bytes: int
    inputs: tuple[int, ...]

    @property
    def end(self) -> int:
        """When it was done."""
        return self.start + self.duration


class Copy(NamedTuple):
    """A value that travels from one lane to another: a Send and its Recv.

    It can have been under way from ``start``, when the producer was done, to ``end``, when the
    first op on the other lane began with it. ``source`` and ``target`` index ops.
    """

    source: int
    target: int
    start: int
    end: int
    num_bytes: int


class Wait(NamedTuple):
    """A time in which a lane ran nothing. ``op`` ran next; ``source`` is what it had to wait for,
    on another lane, or None."""

    lane: int
    start: int
    end: int
    op: int
    source: int | None


class RunTimes(NamedTuple):
    """A run taken apart; ``duration`` is from the first start to the last end."""

    lanes: list[str]
    ops: list[TimedOp]
    duration: int
    copies: list[Copy]
    waits: list[Wait]
    critical: list[int]


def chrome_trace(step_stats: Any, **options: Any) -> str:
    """The run as Chrome trace JSON; ``options`` as of `Timeline.generate_chrome_trace_format`."""
    from dataflow.python.client.timeline import Timeline

    return Timeline(step_stats).generate_chrome_trace_format(**options)


def step_stats_of(run: Any) -> Any:
    """The ``StepStats`` of a `RunMetadata` or of a recorded run; raises `TypeError` for others."""
    if hasattr(run, "steps") and hasattr(run, "pruned"):  # a recorded run
        from tensorboard.compat.proto.config_pb2 import RunMetadata

        from dataflow.runtime.run_options import fill_metadata

        metadata = RunMetadata()
        fill_metadata(metadata, run, 0.0)
        run = metadata
    stats = getattr(run, "step_stats", run)
    if not hasattr(stats, "dev_stats"):
        raise TypeError(
            "Timeline takes the RunMetadata of a run, its step_stats, or a recorded run "
            f"(stepper.trace), got {type(run).__name__}"
        )
    return stats


def analyse(step_stats: Any) -> RunTimes:
    """Takes a run apart. Raises `ValueError` when it has no ops."""
    events = json.loads(chrome_trace(step_stats, show_dataflow=False))["traceEvents"]
    lanes = [e["args"]["name"].removesuffix(_COMPUTE) for e in events if e["ph"] == "M"]
    done = sorted((e for e in events if e["ph"] == "X"), key=lambda e: (e["ts"], e["pid"]))
    if not done:
        raise ValueError(
            "This run has no recorded ops. Record one with session.run(fetches, "
            "options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)."
        )
    origin = done[0]["ts"]
    sizes = _sizes(step_stats)
    latest: dict[str, int] = {}
    ops: list[TimedOp] = []
    for i, event in enumerate(done):
        arguments = event["args"]
        sources = [arguments[f"input{k}"] for k in range(len(arguments) - 2)]
        names = [name.lstrip("^").partition(":")[0] for name in sources]
        inputs = tuple(sorted({latest[name] for name in names if name in latest}))
        name = arguments["name"]
        ops.append(
            TimedOp(
                name,
                event["name"],
                event["pid"],
                event["tid"],
                event["ts"] - origin,
                event["dur"],
                sizes.get((event["pid"], name), 0),
                inputs,
            )
        )
        latest[name] = i
    duration = max(op.end for op in ops)
    return RunTimes(
        lanes, ops, duration, _copies(ops), _waits(ops, len(lanes), duration), critical_path(ops)
    )


def _sizes(step_stats: Any) -> dict[tuple[int, str], int]:
    """Bytes of each op's outputs, by device and name."""
    sizes = {}
    for pid, device in enumerate(step_stats.dev_stats):
        for node in device.node_stats:
            sizes[pid, node.node_name] = sum(
                int(o.tensor_description.allocation_description.allocated_bytes)
                for o in node.output
            )
    return sizes


def _copies(ops: Sequence[TimedOp]) -> list[Copy]:
    first: dict[tuple[int, int], Copy] = {}
    for i, op in enumerate(ops):
        for source in op.inputs:
            if ops[source].lane != op.lane and (source, op.lane) not in first:
                start = ops[source].end
                num_bytes = ops[source].num_bytes
                first[source, op.lane] = Copy(source, i, start, max(start, op.start), num_bytes)
    return list(first.values())


def _waits(ops: Sequence[TimedOp], num_lanes: int, duration: int) -> list[Wait]:
    waits = []
    for lane in range(num_lanes):
        free_from = 0
        for i, op in enumerate(ops):
            if op.lane != lane:
                continue
            if op.start - free_from > duration * _WAIT_SHARE:
                elsewhere = [s for s in op.inputs if ops[s].lane != lane]
                late = max(elsewhere, key=lambda s: ops[s].end, default=None)
                if late is not None and ops[late].end <= free_from:
                    late = None  # it was there in time
                waits.append(Wait(lane, free_from, op.start, i, late))
            free_from = max(free_from, op.end)
    return waits


def critical_path(ops: Sequence[TimedOp]) -> list[int]:
    """The chain of ops, each needing the one before, whose durations add up to the most.

    The run cannot be shorter than that, however many devices there are. Loops are no trouble: an op
    needs only what ran before it.
    """
    total = [0] * len(ops)
    before: list[int | None] = [None] * len(ops)
    for i, op in enumerate(ops):
        longest = max(op.inputs, key=lambda s: total[s], default=None)
        before[i] = longest
        total[i] = op.duration + (total[longest] if longest is not None else 0)
    at: int | None = max(range(len(ops)), key=lambda i: total[i])
    path: list[int] = []
    while at is not None:
        path.append(at)
        at = before[at]
    return path[::-1]
