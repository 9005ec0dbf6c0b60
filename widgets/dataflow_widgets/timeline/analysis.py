"""What a recorded run did with its time: ops on lanes, copies, waiting, and the critical path.

Everything is read from the Chrome trace of the run, so that the picture and the trace cannot
differ. Times are microseconds since the run began.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

#: A lane that does nothing for longer than this share of the run is said to wait.
_WAIT_SHARE = 0.01
_COMPUTE = " Compute"
_DEVICE = re.compile(r"/job:(\w+)/(?:replica:\d+/)?task:(\d+)/device:(\w+):(\d+)")


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
    """A run taken apart; ``duration`` is from the first start to the last end.

    ``lane_names`` are short ("worker:0"); ``critical_waits`` holds, for each op of ``critical``, the
    µs for which its lane had nothing to do after the op before it, on another lane, was done: Send,
    Recv and waiting for them.
    """

    lanes: list[str]
    ops: list[TimedOp]
    duration: int
    copies: list[Copy]
    waits: list[Wait]
    critical: list[int]
    lane_names: list[str]
    critical_waits: list[int]


_HOW_TO_RECORD = """Record a run, and show it:
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    session.run(fetches, feed_dict, options=options, run_metadata=metadata)
    Timeline(metadata)"""


def chrome_trace(step_stats: Any, **options: Any) -> str:
    """The run as Chrome trace JSON; ``options`` as of `Timeline.generate_chrome_trace_format`."""
    from dataflow.summary.chrome_trace import Timeline

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
            f"(stepper.trace), got {type(run).__name__}\n{_HOW_TO_RECORD}"
        )
    return stats


def analyze(step_stats: Any) -> RunTimes:
    """Takes a run apart. Raises `ValueError` when it has no ops."""
    events = json.loads(chrome_trace(step_stats, show_dataflow=False))["traceEvents"]
    given = [e["args"]["name"].removesuffix(_COMPUTE) for e in events if e["ph"] == "M"]
    order = sorted(range(len(given)), key=lambda i: _lane_key(given[i]))
    lane_of = {pid: lane for lane, pid in enumerate(order)}
    lanes = [given[pid] for pid in order]
    done = sorted((e for e in events if e["ph"] == "X"), key=lambda e: (e["ts"], e["pid"]))
    if not done:
        raise ValueError(f"This run has no recorded ops.\n{_HOW_TO_RECORD}")
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
                lane_of[event["pid"]],
                event["tid"],
                event["ts"] - origin,
                event["dur"],
                sizes.get((event["pid"], name), 0),
                inputs,
            )
        )
        latest[name] = i
    duration = max(op.end for op in ops)
    transits = _transits(ops, len(lanes))
    critical = critical_path(ops, transits)
    return RunTimes(
        lanes,
        ops,
        duration,
        _copies(ops),
        _waits(ops, len(lanes), duration),
        critical,
        short_names(lanes),
        [0, *(transits.get(pair, 0) for pair in pairwise(critical))],
    )


def _lane_key(device: str) -> tuple[Any, ...]:
    """Jobs by name, tasks by number, the CPU before GPUs; what is no device comes last."""
    found = _DEVICE.fullmatch(device)
    if found is None:
        return (1, device)
    job, task, kind, number = found.groups()
    return (0, job, int(task), kind, int(number))


def short_names(lanes: Sequence[str]) -> list[str]:
    """``"worker:0"``, with the device where a task has several; ``"CPU:0"`` of a run of one process."""
    parsed = [_DEVICE.fullmatch(lane) for lane in lanes]
    tasks = [None if p is None else f"{p[1]}:{p[2]}" for p in parsed]
    names = []
    for lane, found, task in zip(lanes, parsed, tasks, strict=True):
        if found is None:
            names.append(lane)
        elif found[1] == "localhost":
            names.append(f"{found[3]}:{found[4]}")
        else:
            names.append(f"{task} {found[3]}:{found[4]}" if tasks.count(task) > 1 else str(task))
    return names


def _transits(ops: Sequence[TimedOp], num_lanes: int) -> dict[tuple[int, int], int]:
    """For each (source, reader) on two lanes: how long the reader's lane ran nothing between the end
    of the one and the start of the other, so that it waited for the value."""
    starts: list[list[int]] = [[] for _ in range(num_lanes)]
    sums: list[list[int]] = [[0] for _ in range(num_lanes)]
    ends = [0] * num_lanes
    for op in ops:  # in order of their starts
        fresh = max(0, op.end - max(op.start, ends[op.lane]))
        starts[op.lane].append(max(op.start, ends[op.lane]))
        sums[op.lane].append(sums[op.lane][-1] + fresh)
        ends[op.lane] = max(ends[op.lane], op.end)

    def busy_until(lane: int, moment: int) -> int:
        place = bisect_right(starts[lane], moment)
        if not place:
            return 0
        last = sums[lane][place] - sums[lane][place - 1]
        return sums[lane][place - 1] + min(last, moment - starts[lane][place - 1])

    found = {}
    for i, op in enumerate(ops):
        for source in op.inputs:
            end = ops[source].end
            if ops[source].lane != op.lane and end < op.start:
                busy = busy_until(op.lane, op.start) - busy_until(op.lane, end)
                found[source, i] = max(0, op.start - end - busy)
    return found


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


def critical_path(
    ops: Sequence[TimedOp], transits: Mapping[tuple[int, int], int] | None = None
) -> list[int]:
    """The chain of ops, each needing the one before, that takes longest: their durations, and the
    ``transits`` (in µs) of values from lane to lane between them.

    The run cannot be shorter than that, however many devices there are, unless its messages are
    quicker. Loops are no trouble: an op needs only what ran before it.
    """
    transits = transits or {}
    total = [0] * len(ops)
    before: list[int | None] = [None] * len(ops)
    for i, op in enumerate(ops):
        longest = max(
            op.inputs, key=lambda s: (total[s] + transits.get((s, i), 0), ops[s].end), default=None
        )
        before[i] = longest
        if longest is not None:
            total[i] = total[longest] + transits.get((longest, i), 0)
        total[i] += op.duration
    at: int | None = max(range(len(ops)), key=lambda i: total[i])
    path: list[int] = []
    while at is not None:
        path.append(at)
        at = before[at]
    return path[::-1]
