"""Running a linear schedule: segments in a fixed order, some of which may have to wait.

No thread waits. If a segment would have to wait, for a token or for enough gradients, the run is
suspended; the thread whose step makes the condition true resumes it. A linear run has all of its
messages when it begins, whereas `PartitionRun` takes them in any order.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from dataflow.cluster.execution.compiled_partition import CompiledPartition
from dataflow.cluster.execution.schedule import SegmentChain, collector, runner
from dataflow.cluster.execution.task_session import current_step
from dataflow.cluster.execution.wake_queue import then_wake, try_woken, wake
from dataflow.cluster.execution.worker_threads import run_in_thread
from dataflow.runtime.cancellation import Cancellation, Postponed, postponing

if TYPE_CHECKING:
    from dataflow.kernels.observable_condition import WatchedCondition


#: A segment that follows results larger than this may take long.
_INLINE_BYTES = 1 << 18


class Transport(Protocol):
    """Receives a run's results."""

    def suspended(self, run: LinearRun) -> None:
        """The run may have to wait from now on; `LinearRun.cancel` ends it."""

    def may_block(self) -> bool:
        """Whether `done` may wait for the receiver to make room."""

    def done(self, fetches: list[Any], last: Sequence[tuple[str, int, list[Any]]]) -> None:
        """Every segment has run; ``last`` is what they send (task, channel, tensors)."""

    def failed(self, error: Exception) -> None:
        """A segment raised."""


class Wait(NamedTuple):
    """The condition of a segment whose slot holds ``handle``: it cannot run before `ready` is true."""

    slot: int
    handle: Any
    condition: Any
    ready: Callable[[], bool]


class Stage:
    """One segment that may block, or all segments up to the next one that may.

    ``run(slots, read_at)`` is a `runner`; ``made`` are the slots that it fills. ``rest_is_inline_safe``:
    whether the time of what follows depends only on the bytes it is given; ``None``: nothing follows.
    ``handle_slot`` holds the only input that determines what the segment waits for; ``wait`` is the last
    such condition.
    """

    __slots__ = (
        "dequeues",
        "handle_slot",
        "made",
        "may_wait",
        "rest_is_inline_safe",
        "run",
        "wait",
    )

    def __init__(self, partition: CompiledPartition, chain: SegmentChain, stage: slice) -> None:
        members, rest = chain.numbers[stage], chain.numbers[stage.stop :]
        segments = partition.plan.segments
        self.run = runner(partition, chain, stage)
        self.may_wait = partition.can_retry[members[0]]
        self.dequeues = any("Dequeue" in op.type for n in members for op in segments[n].ops)
        self.made = [slot for n in members for slot in segments[n].output_slots]
        self.rest_is_inline_safe = all(partition.inline_safe[n] for n in rest) if rest else None
        inputs = segments[members[0]].input_slots
        self.handle_slot = inputs[0] if self.may_wait and len(inputs) == 1 else None
        self.wait: Wait | None = None


class LinearSchedule(NamedTuple):
    """The stages of a chain of segments, in order, and a `collector` of what is sent after them."""

    stages: list[Stage]
    collect: Callable[[list[Any]], tuple[list[Any], list[tuple[str, int, list[Any]]]]]


def linear_schedule(partition: CompiledPartition, chain: SegmentChain) -> LinearSchedule | None:
    """Return the schedule; ``None`` if a segment needs a thread of its own to wait on."""
    segments, can_retry = partition.plan.segments, partition.can_retry
    if partition.structured or any(
        segments[n].blocking and not can_retry[n] for n in chain.numbers
    ):
        return None
    stages: list[Stage] = []
    start = 0
    # Each segment that may wait is a stage of its own; all segments between two of them are one.
    for _, group in itertools.groupby(chain.numbers, lambda n: can_retry[n] and (n,)):
        stop = start + len(list(group))
        stages.append(Stage(partition, chain, slice(start, stop)))
        start = stop
    return LinearSchedule(stages, collector(partition.plan.fetch_slots, chain.sends))


class LinearRun:
    """One run of a linear schedule.

    Invariants: a stage runs once, in order; the transport hears `done` or `failed` once, or, after
    `cancel`, neither, and no stage begins.
    """

    __slots__ = (
        "_at",
        "_cancellation",
        "_condition",
        "_read_at",
        "_schedule",
        "_slots",
        "_stopped",
        "_transport",
        "_watcher",
    )

    def __init__(
        self, schedule: LinearSchedule, slots: list[Any], read_at: int, transport: Transport
    ) -> None:
        self._schedule = schedule
        self._slots = slots
        self._read_at = read_at
        self._transport = transport
        self._at = 0
        self._stopped = False
        self._watcher: Callable[[], None] | None = None
        #: The condition that it waits for; it is true when the run is resumed, mostly.
        self._condition: Any = None
        #: The cancellation of the thread that waits, if a thread has to wait after all.
        self._cancellation: Cancellation | None = None

    def go(self) -> None:
        """Run from the present stage on, on a thread that may be kept busy."""
        then_wake(self.go_on, False)

    def waits_for_queue(self) -> bool:
        """Whether it waits for an element of a queue."""
        stages, at = self._schedule.stages, self._at
        return self._condition is not None and at < len(stages) and stages[at].dequeues

    def cancel(self) -> None:
        """Begin no further stage, and consume nothing that the run was waiting for."""
        self._stopped = True
        condition = self._condition
        if condition is not None:
            condition.unwatch(self._watcher)
        if self._cancellation is not None:
            self._cancellation.cancel()

    def go_on(self, on_notifier: bool = True) -> None:
        """Run until it ends or waits; the thread has a wake queue (`then_wake`).

        With ``on_notifier`` (the thread is serving another step) it runs nothing that may take long.
        """
        stages, at = self._schedule.stages, self._at
        try:
            while at < len(stages):
                if self._stopped:
                    return
                stage = stages[at]
                if not stage.may_wait:
                    stage.run(self._slots, self._read_at)
                elif not self._try(stage):
                    return
                at = self._at = at + 1
                if on_notifier and stage.may_wait and stage.rest_is_inline_safe is not None:
                    if not self._may_continue_inline(stage):
                        run_in_thread(self.go)
                        return
        except Exception as error:
            self._fail(error)
            return
        if not self._stopped:
            if on_notifier and self._transport.may_block():
                run_in_thread(self._end)
            else:
                self._end()

    def _end(self) -> None:
        slots = self._slots
        fetches, last = self._schedule.collect(slots)
        # Release values in a sender's shared memory before the answer is sent; and this object with the
        # last reference to it, not when Python collects cycles.
        slots.clear()
        self._watcher = None
        try:
            self._transport.done(fetches, last)
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        if not self._stopped:
            self._stopped = True
            self._transport.failed(error)

    def _may_continue_inline(self, stage: Stage) -> bool:
        """Whether what follows a segment that has waited is too short to be worth a thread."""
        num_bytes = 0
        for slot in stage.made:
            num_bytes += getattr(self._slots[slot], "nbytes", 0) or 0
        return bool(stage.rest_is_inline_safe) and num_bytes <= _INLINE_BYTES

    def _try(self, stage: Stage) -> bool:
        """Run a segment that may have to wait; ``False``: the run is suspended."""
        try_woken()  # this thread may just have woken the run that provides what this one waits for
        if self._watcher is None:
            self._watcher = functools.partial(wake, self.go_on)
            self._transport.suspended(self)
        wait = stage.wait
        if self._condition is not None:
            self._condition = None
        elif wait is not None and self._slots[wait.slot] is wait.handle:
            with wait.condition.lock:
                if not wait.ready():
                    wait.condition.watch(self._watcher, wait.ready)
                    self._condition = wait.condition
                    if self._stopped:
                        wait.condition.unwatch(self._watcher)
                    return False
        outer = postponing.callback
        postponing.callback = self._watcher
        try:
            stage.run(self._slots, self._read_at)
        except Postponed as postponed:
            condition = postponed.condition
            if condition is None:
                run_in_thread(self._wait)
                return False
            if stage.handle_slot is not None:
                handle = self._slots[stage.handle_slot]
                stage.wait = Wait(stage.handle_slot, handle, condition, postponed.ready)
            self._waits_for(condition)
            return False
        finally:
            postponing.callback = outer
        return True

    def _waits_for(self, condition: WatchedCondition) -> None:
        self._condition = condition
        if self._stopped and self._watcher is not None:
            condition.unwatch(self._watcher)

    def _wait(self) -> None:
        """Run the segment on a thread of its own, which may wait, and then what follows."""
        stage = self._schedule.stages[self._at]
        cancellation = self._cancellation = Cancellation()
        current_step.cancellation = cancellation
        try:
            if self._stopped:
                return
            then_wake(stage.run, self._slots, self._read_at)
        except Exception as error:
            self._fail(error)
            return
        finally:
            current_step.cancellation = None
        self._at += 1
        self.go()
