"""The history of a cluster, step by step: which task ran what, which messages traveled, who waited.

A `Recording` is filled by runs of this process (`Recording.run`) or by `tf.cluster.simulate`. It keeps
rows of numbers and each name once, so that 1,000 steps of three tasks take a few megabytes.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dataflow.display import ClusterPicture
from dataflow.graph.operation import Operation
from dataflow.ops.collective import collective_reduce_op
from dataflow.placement.groups import changes_a_variable
from dataflow.runtime.stepper import Hop, Trace, record

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession


class Span(NamedTuple):
    """An op that a task ran, or another thing that took its time; in seconds of the recording."""

    step: int
    task: str
    name: str
    start: float
    end: float


class Sent(NamedTuple):
    """A tensor on its way from ``source`` to ``target``; ``name`` is "" where only an end was reported.

    ``num_bytes`` are those of the tensor; 0 where they are not known.
    """

    step: int
    source: str
    target: str
    name: str
    num_bytes: int
    sent: float
    received: float


class RecordedStep(NamedTuple):
    """A step of one worker. ``version``: how many updates the parameters had when it read them.

    ``staleness``: how many others came between that and its own update, 0 in a synchronous step;
    ``None`` for a step that changes nothing. ``outcome`` is "applied", "dropped" (too late for a synchronous step) or "".
    ``token``: when a synchronous worker was let go on, ``None`` where nothing is waited for.
    """

    number: int
    worker: str
    begin: float
    end: float
    version: int
    staleness: int | None
    outcome: str
    token: float | None


_ROW = np.dtype([("task", "u4"), ("to", "u4"), ("name", "u4"), ("bytes", "u8"), ("from", "f8"), ("until", "f8")])  # fmt: skip


#: Arrays of collective ops of which one end is known, at most.
_MOST_OPEN = 4096


class _Kept(NamedTuple):
    number: int
    worker: str
    begin: float
    end: float
    read_at: float
    applied_at: float | None
    outcome: str
    token: float | None
    version: int | None
    spans: np.ndarray
    messages: np.ndarray


class Recording(ClusterPicture):
    """The last ``max_steps`` steps of a cluster.

        recording = tf.cluster.Recording()
        recording.run(session, [train, loss], feed_dict)    # as session.run, and recorded

    Sessions of several workers, each in a thread of its own, can share one. A recorded run takes
    longer than another (every op is timed), and does the same.
    """

    def __init__(self, max_steps: int = 1000) -> None:
        if max_steps < 1:
            raise ValueError(f"Recording: max_steps must be at least 1, got {max_steps}.")
        self.tasks: list[str] = []
        #: Names of the ops that ran on each task, in the order in which they first did.
        self.ops: dict[str, dict[str, str]] = {}
        #: Names of the tensors that each op on each task has read, by (task, op).
        self.inputs: dict[tuple[str, str], list[str]] = {}
        self.num_steps = 0
        #: The member that each one sends to in a ring of collective ops, and the bytes of the arrays
        #: that are reduced in a step.
        self.next_in_ring: dict[str, str] = {}
        self.reduced_bytes = 0
        #: By hop: the rows of sent messages, and the arrival times of those whose sending is not yet known.
        self._open_hops: dict[tuple[Any, ...], tuple[np.ndarray, int]] = {}
        self._early_hops: dict[tuple[Any, ...], float] = {}
        self._kept: deque[_Kept] = deque(maxlen=max_steps)
        self._names: list[str] = []
        self._number_of: dict[str, int] = {}
        self._origin: float | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many steps it holds."""
        return len(self._kept)

    def __repr__(self) -> str:
        return (
            f"<tf.cluster.Recording of {len(self)} steps on {', '.join(self.tasks) or 'no task'}>"
        )

    # Filling it

    def run(
        self, session: BaseSession, fetches: Any, feed_dict: Mapping[Any, Any] | None = None
    ) -> Any:
        """Run and record; returns and raises what ``session.run`` does.

        Raises ValueError for a session that is on no cluster.
        """
        remote = session.remote
        if remote is None:
            raise ValueError(
                "Recording: this session runs in this process alone; pass a session of a cluster: "
                "tf.Session(cluster.target)."
            )
        trace = record(session, fetches, feed_dict, values="sampled")
        self.add(trace, remote.task)
        return trace.result

    def add(self, trace: Trace, worker: str) -> None:
        """Add a run that was recorded; ``worker`` is the task whose master ran it."""
        spans, messages = [], []
        token = update = version = None
        origin = trace.started if self._origin is None else self._origin
        base = trace.started - origin
        with self._lock:
            self._origin = origin
            for step in trace.steps:
                task = _task_of(step.device)
                op = trace.graph.op_by_name.get(step.op_name)
                begin = base + step.start_seconds
                end = begin + step.seconds
                self.ops.setdefault(self._task(task), {}).setdefault(step.op_name, step.op_type)
                if op is not None and (task, step.op_name) not in self.inputs:
                    self.inputs[task, step.op_name] = trace.inputs.get(
                        step.op_name, [t.name for t in op.inputs]
                    )
                spans.append((self._number(task), 0, self._number(step.op_name), 0, begin, end))
                if op is not None and _is_update(op):
                    update = max(update or 0.0, end)
                if "sync_token_q" in step.op_name and "Dequeue" in step.op_type:
                    token = end
                    value = getattr(step.outputs[0], "sample", None)
                    version = None if value is None else int(value)
            for message in trace.messages:
                sent, received = base + message.sent_seconds, base + message.received_seconds
                sizes = message.sizes or (0,)
                for name, each in zip(message.tensors or ("",), sizes, strict=True):
                    ends = self._number(self._task(message.source)), self._number(message.target)
                    self._task(message.target)
                    messages.append((*ends, self._number(name), each, sent, received))
            first = min((row[4] for row in spans), default=base)
            read = min(
                (row[4] for row in messages if row[1] == self._number(worker)), default=first
            )
            last = max([row[5] for row in (*spans, *messages)], default=base)
            self._task(worker)
            outcome = "applied" if update is not None else ""
            hops = self._add_hops(trace, base, messages)
            self._keep(worker, first, last, read, update, outcome, token, version, spans, messages)
            rows = self._kept[-1].messages
            self._open_hops |= {key: (rows, row) for key, row in hops.items()}
            self._land(trace, base)
            while len(self._open_hops) > _MOST_OPEN:
                del self._open_hops[next(iter(self._open_hops))]

    def _add_hops(self, trace: Trace, base: float, messages: list[Any]) -> dict[Any, int]:
        """Add rows of the arrays that left in collective ops; return those that are under way."""
        found = {}
        reduced = 0
        for step in trace.steps:
            op = trace.graph.op_by_name.get(step.op_name)
            if op is not None and op.op_def is collective_reduce_op:
                tensor = op.inputs[0]
                reduced += (tensor.shape.num_elements() or 0) * tensor.dtype.base_dtype.size
        self.reduced_bytes = max(self.reduced_bytes, reduced)
        for hop in trace.hops:
            if not hop.is_sent:
                continue
            self.next_in_ring[hop.source] = hop.target
            sent = base + hop.seconds
            key = _key(hop)
            arrived = self._early_hops.pop(key, None)
            ends = self._number(self._task(hop.source)), self._number(self._task(hop.target))
            if arrived is None:
                found[key] = len(messages)
            until = max(sent, sent if arrived is None else arrived)
            messages.append((*ends, self._number(hop.name), hop.num_bytes, sent, until))
        return found

    def _land(self, trace: Trace, base: float) -> None:
        """Note when arrays of collective ops arrived here."""
        for hop in trace.hops:
            if hop.is_sent:
                continue
            arrived, key = base + hop.seconds, _key(hop)
            under_way = self._open_hops.pop(key, None)
            if under_way is None:
                self._early_hops[key] = arrived
            else:
                rows, row = under_way
                rows["until"][row] = max(rows["from"][row], arrived)
        while len(self._early_hops) > _MOST_OPEN:
            del self._early_hops[next(iter(self._early_hops))]

    @property
    def ring(self) -> list[str]:
        """The members of the ring of collective ops in their order; empty where there is none."""
        following = self.next_in_ring
        found: list[str] = []
        task: str | None = min(following, default=None)
        while task is not None and task not in found:
            found.append(task)
            task = following.get(task)
        return found if task is not None and task == found[0] else []

    def add_rows(
        self,
        worker: str,
        read_at: float,
        applied_at: float | None,
        outcome: str,
        token: float | None,
        version: int | None,
        spans: Iterable[tuple[str, str, float, float]],
        messages: Iterable[tuple[str, str, str, float, float]],
    ) -> None:
        """Add a step whose parts are given: spans (task, name, from, until) and messages (source,
        target, name, sent, received). ``version`` is what it read, ``None`` to be counted."""
        number = self._number
        span_rows = []
        for task, name, start, end in spans:
            self.ops.setdefault(self._task(task), {}).setdefault(name, name)
            span_rows.append((number(task), 0, number(name), 0, start, end))
        rows = [
            (number(self._task(a)), number(self._task(b)), number(name), 0, sent, received)
            for a, b, name, sent, received in messages
        ]
        times = [row[4] for row in (*span_rows, *rows)] + [row[5] for row in (*span_rows, *rows)]
        begin, end = min(times, default=read_at), max(times, default=read_at)
        self._keep(
            worker, begin, end, read_at, applied_at, outcome, token, version, span_rows, rows
        )

    def _keep(
        self,
        worker: str,
        begin: float,
        end: float,
        read_at: float,
        applied_at: float | None,
        outcome: str,
        token: float | None,
        version: int | None,
        spans: Sequence[tuple[Any, ...]],
        messages: Sequence[tuple[Any, ...]],
    ) -> None:
        self.num_steps += 1
        rows = (np.array(list(each), _ROW) for each in (spans, messages))
        self._kept.append(
            _Kept(
                self.num_steps,
                worker,
                begin,
                end,
                read_at,
                applied_at,
                outcome,
                token,
                version,
                *rows,
            )
        )

    def _number(self, name: str) -> int:
        found = self._number_of.get(name)
        if found is None:
            found = self._number_of[name] = len(self._names)
            self._names.append(name)
        return found

    def _task(self, task: str) -> str:
        if task not in self.tasks:
            self.tasks.append(task)
        return task

    # Looking

    @property
    def num_bytes(self) -> int:
        """The size of the recorded rows, without the names."""
        return sum(kept.spans.nbytes + kept.messages.nbytes for kept in self._kept)

    def steps(self) -> list[RecordedStep]:
        """The steps in the order of their beginnings, with the versions that they read."""
        kept = sorted(self._kept, key=lambda each: each.begin)
        updates = np.sort([k.applied_at for k in kept if k.applied_at is not None and k.outcome == "applied"])  # fmt: skip
        found = []
        for each in kept:
            version = int(np.searchsorted(updates, each.read_at, side="right"))
            late = None
            if each.token is not None:
                version = each.version if each.version is not None else version
                late = 0 if each.outcome == "applied" else None
            elif each.applied_at is not None:
                late = int(np.searchsorted(updates, each.applied_at)) - version
            found.append(
                RecordedStep(
                    each.number, each.worker, each.begin, each.end, version,
                    late, each.outcome, each.token,
                )
            )  # fmt: skip
        return found

    def spans(self) -> list[Span]:
        """The nodes that the tasks ran, in the order of the steps."""
        return [
            Span(kept.number, self._names[row["task"]], self._names[row["name"]], float(row["from"]), float(row["until"]))
            for kept in self._kept
            for row in kept.spans
        ]  # fmt: skip

    def messages(self) -> list[Sent]:
        """The messages between tasks, in the order of the steps."""
        names = self._names
        return [
            Sent(kept.number, names[row["task"]], names[row["to"]], names[row["name"]], int(row["bytes"]), float(row["from"]), float(row["until"]))
            for kept in self._kept
            for row in kept.messages
        ]  # fmt: skip


def _is_update(op: Operation) -> bool:
    """Whether an op changes a variable, or takes in a gradient for a synchronous step."""
    if "ApplyGradient" in op.type:
        return True
    return changes_a_variable(op)


def _key(hop: Hop) -> tuple[Any, ...]:
    return hop.exchange, hop.number, hop.source, hop.target


def _task_of(device: str) -> str:
    return device.partition("/device:")[0].replace("/replica:0", "")
