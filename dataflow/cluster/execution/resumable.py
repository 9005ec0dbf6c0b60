"""Lines: a chain of segments of which some may have to wait, without a thread that waits.

Where a segment would have to wait, for a token or for enough gradients, the line is left, and gone
on with by whoever makes that come: usually the thread that serves another task's message.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

from dataflow.cluster.execution.compiled_partition import CompiledPartition, current_step
from dataflow.cluster.execution.partition_run import run_in_thread, then_wake, try_woken, wake
from dataflow.cluster.execution.schedule import SegmentChain, runner
from dataflow.runtime.resources import Cancellation, Postponed, postponing

#: What follows a segment that has made more than this may take long.
_INLINE_BYTES = 1 << 18


def is_resumable(partition: CompiledPartition, chain: SegmentChain) -> bool:
    """Whether a chain can run as a line: each of its segments can be tried, or does not block."""
    segments = partition.plan.segments
    return not partition.structured and all(
        partition.can_retry[n] or not segments[n].blocking for n in chain.numbers
    )


class Wait(NamedTuple):
    """What a segment waits for that is given ``handle`` in a slot: trying is no use until `ready`."""

    slot: int
    handle: Any
    condition: Any
    ready: Callable[[], bool]


class Stage:
    """One segment of a line that may have to wait, or all of them up to the next such one.

    ``run(slots, read_at)`` as of `runner`; ``made`` are the slots that it fills. ``rest_is_inline_safe``:
    whether what follows takes no longer than the bytes that it is given; ``None``: nothing follows.
    ``handle_slot``: of the only thing that says what the segment waits for; ``wait`` is the last.
    """

    __slots__ = ("handle_slot", "made", "may_wait", "rest_is_inline_safe", "run", "wait")

    def __init__(self, partition: CompiledPartition, chain: SegmentChain, stage: slice) -> None:
        members, rest = chain.numbers[stage], chain.numbers[stage.stop :]
        segments = partition.plan.segments
        self.run = runner(partition, chain, stage)
        self.may_wait = partition.can_retry[members[0]]
        self.made = [slot for n in members for slot in segments[n].output_slots]
        self.rest_is_inline_safe = all(partition.inline_safe[n] for n in rest) if rest else None
        inputs = segments[members[0]].input_slots
        self.handle_slot = inputs[0] if self.may_wait and len(inputs) == 1 else None
        self.wait: Wait | None = None


def stages_in(partition: CompiledPartition, chain: SegmentChain) -> list[Stage]:
    """The stages of a chain that `is_resumable`, in order."""
    numbers = chain.numbers
    stages, at = [], 0
    # Each segment that may wait is a group of its own; what lies between two is one.
    for _, group in itertools.groupby(numbers, lambda n: partition.can_retry[n] and (n,)):
        end = at + len(list(group))
        stages.append(Stage(partition, chain, slice(at, end)))
        at = end
    return stages


class ResumableRun:
    """One run of a chain. What it sends, `_end` sends.

    Invariants: a stage runs once, in its turn; `_end` or `_fail` is called once, or, after
    `cancel`, neither, and no stage begins.
    """

    __slots__ = (
        "_at",
        "_cancellation",
        "_condition",
        "_read_at",
        "_slots",
        "_stages",
        "_stopped",
        "_watcher",
    )

    def __init__(self, stages: list[Stage], slots: list[Any], read_at: int) -> None:
        self._stages = stages
        self._slots = slots
        self._read_at = read_at
        self._at = 0
        self._stopped = False
        self._watcher: Callable[[], None] | None = None
        #: What it waits for.
        self._condition: Any = None
        #: Of the thread that waits, where there is one all the same.
        self._cancellation: Cancellation | None = None

    def _end(self, on_notifier: bool) -> None:
        """Every stage has run; ``on_notifier`` as for `_go_on`."""
        raise NotImplementedError

    def _fail(self, error: Exception) -> None:
        """A segment raised."""
        raise NotImplementedError

    def _hold(self) -> None:
        """The line may have to wait now."""

    def go(self) -> None:
        """Run from the beginning, on a thread that may take its time."""
        then_wake(self._go_on)

    def cancel(self) -> None:
        """Begin no further stage, and take nothing that is waited for."""
        self._stopped = True
        if self._condition is not None:
            self._condition.unwatch(self._watcher)
        if self._cancellation is not None:
            self._cancellation.cancel()

    def _go_on(self, on_notifier: bool = False) -> None:
        """Run until it ends or waits.

        On a ``on_notifier`` thread, one that serves another step, nothing is done that may take long.
        """
        stages, at = self._stages, self._at
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
            if not self._stopped:
                self._stopped = True
                self._fail(error)
            return
        if not self._stopped:
            self._end(on_notifier)

    def _may_continue_inline(self, stage: Stage) -> bool:
        """Whether what follows a segment that has waited takes no time worth a thread."""
        num_bytes = 0
        for slot in stage.made:
            num_bytes += getattr(self._slots[slot], "nbytes", 0) or 0
        return bool(stage.rest_is_inline_safe) and num_bytes <= _INLINE_BYTES

    def _try(self, stage: Stage) -> bool:
        """Run a segment that may have to wait; ``False``: the line goes on when it can."""
        try_woken()  # this thread may just have woken who brings what it waits for
        if self._watcher is None:
            self._watcher = self._wake  # one object: it is known by that
            self._hold()
        wait = stage.wait
        if wait is not None and self._slots[wait.slot] is wait.handle:
            with wait.condition.lock:
                if not wait.ready():
                    wait.condition.watch(self._watcher, wait.ready)
                    self._waits_for(wait.condition)
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

    def _waits_for(self, condition: Any) -> None:
        self._condition = condition
        if self._stopped:
            condition.unwatch(self._watcher)

    def _wake(self) -> None:
        wake(self._try_again)

    def _try_again(self) -> None:
        then_wake(self._go_on, True)

    def _wait(self) -> None:
        """Run the segment on a thread of its own, which waits, and then what follows."""
        stage = self._stages[self._at]
        cancellation = self._cancellation = Cancellation()
        current_step.cancellation = cancellation
        try:
            if self._stopped:
                return
            then_wake(stage.run, self._slots, self._read_at)
        except Exception as error:
            if not self._stopped:
                self._stopped = True
                self._fail(error)
            return
        finally:
            current_step.cancellation = None
        self._at += 1
        self.go()
