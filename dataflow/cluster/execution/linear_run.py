"""Running a linear schedule: segments in a fixed order, some of which may have to wait.

No thread waits. If a segment would have to wait, for a token or for enough gradients, the run is
suspended; the thread whose step makes the condition true resumes it. A linear run has all of its
messages when it begins, whereas `PartitionRun` takes them in any order.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
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

    def may_block(self) -> bool:
        """Whether `ended` may wait for the receiver to make room."""

    def ended(self, results: list[Any]) -> None:
        """Every segment has run; ``results`` is what the schedule collects. The run may begin again."""

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
    """The stages of a chain of segments, in order; ``collect`` takes what is sent after them, and then
    what is fetched, from the slots. ``waits``: a stage may have to wait."""

    stages: list[Stage]
    collect: Callable[[list[Any]], list[Any]]
    waits: bool


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
    sent = [slot for _, _, slots in chain.sends for slot in slots]
    collect = collector([*sent, *partition.plan.fetch_slots])
    return LinearSchedule(stages, collect, any(stage.may_wait for stage in stages))


class LinearRun:
    """The runs of a linear schedule for one transport, one after the other: `begin` begins one.

    It is made once, with all that its runs need, and keeps the index at which a run waits. Invariants of a
    run: a stage runs once, in order; the transport hears `ended` or `failed` once, or, after `cancel`,
    neither, and no stage begins. After `failed` and `cancel` there are no further runs.
    """

    __slots__ = (
        "_at",
        "_cancellation",
        "_collect",
        "_condition",
        "_read_at",
        "_slots",
        "_stages",
        "_stopped",
        "_transport",
        "_watcher",
    )

    def __init__(self, schedule: LinearSchedule, transport: Transport) -> None:
        self._stages, self._collect = schedule.stages, schedule.collect
        self._slots: list[Any] = []
        self._read_at = 0
        self._transport = transport
        self._at = 0
        self._stopped = False
        self._watcher: Callable[[], None] = functools.partial(wake, self.go_on)
        #: The condition that it waits for; it is true when the run is resumed, mostly.
        self._condition: Any = None
        #: The cancellation of the thread that waits, if a thread has to wait after all.
        self._cancellation: Cancellation | None = None

    def begin(self, slots: list[Any], read_at: int) -> None:
        """Run on the values in ``slots``, on a thread that may be kept busy; no run is in progress.

        ``read_at`` is the task's count of updates when the step began.
        """
        self._slots, self._read_at, self._at = slots, read_at, 0
        then_wake(self.go_on, False)

    def go(self) -> None:
        """Run from the present stage on, on a thread that may be kept busy."""
        then_wake(self.go_on, False)

    def waits_for_queue(self) -> bool:
        """Whether it waits for an element of a queue."""
        stages, at = self._stages, self._at
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
        stages, at, slots = self._stages, self._at, self._slots
        try:
            while at < len(stages):
                if self._stopped:
                    return
                stage = stages[at]
                if not stage.may_wait:
                    stage.run(slots, self._read_at)
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
        results = self._collect(slots)
        # Release values in a sender's shared memory before the answer is sent.
        slots.clear()
        try:
            # Another thread may begin the next run before this returns: nothing is touched after it.
            self._transport.ended(results)
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
        if self._condition is not None:
            self._condition = None
        else:
            # This thread may just have woken the run that provides what this one waits for.
            try_woken()
            wait = stage.wait
            if wait is not None and self._slots[wait.slot] is wait.handle:
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
        if self._stopped:
            condition.unwatch(self._watcher)

    def _wait(self) -> None:
        """Run the segment on a thread of its own, which may wait, and then what follows."""
        stage = self._stages[self._at]
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
