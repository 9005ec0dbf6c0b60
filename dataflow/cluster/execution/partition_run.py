"""Running a partition: compiled segments, woken by messages.

A `CompiledPartition` belongs to a task and a session; a `PartitionRun` is one step of it, whose
messages may come in any order. The thread that delivers the last message that a segment waits for runs
the segment, so that the usual step costs no thread switch; segments that may block run on threads of
their own.
"""

from __future__ import annotations

import functools
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from dataflow.capabilities import THREADS
from dataflow.cluster.execution.compiled_partition import CompiledPartition
from dataflow.cluster.execution.schedule import SegmentChain, take_in
from dataflow.cluster.execution.step_tracer import StepTracer
from dataflow.cluster.execution.task_session import current_step
from dataflow.cluster.execution.wake_queue import then_wake, wake_segment
from dataflow.cluster.execution.worker_threads import run_in_thread
from dataflow.cluster.partition.graph_partition import Segment
from dataflow.errors import InvalidArgumentError
from dataflow.runtime.cancellation import Cancellation, Postponed, postponing
from dataflow.runtime.codegen import DEAD
from dataflow.runtime.output_allocator import OutputAllocator

#: Results up to this size are sent on the thread that produced them: the socket has room.
_SMALL_BYTES = 1 << 14
#: Even inline-safe segments may take long after results larger than this.
_INLINE_BYTES = 1 << 18


class Transport(Protocol):
    """Receives a partition's results, on the thread that ran the segment."""

    def send(self, task: str, channel: int, tensors: list[Any]) -> None:
        """Pass tensors on to another task's partition of the same step."""

    def done(self, fetches: list[Any], last: Sequence[tuple[str, int, list[Any]]]) -> None:
        """Every segment has run; ``last`` is what the last of them sends (task, channel, tensors)."""

    def failed(self, error: Exception) -> None:
        """A segment raised; nothing more of the partition will run. Called once."""


class PartitionRun:
    """One step of a partition.

    Invariants: a segment runs once, after everything it waits for; after `cancel` or an error no
    further segment begins; the transport hears `done` or `failed` exactly once, or, after
    `cancel`, nothing.
    """

    def __init__(
        self,
        partition: CompiledPartition,
        step: int,
        transport: Transport,
        inline: bool = False,
        tracer: StepTracer | None = None,
        allocator: OutputAllocator | None = None,
    ) -> None:
        """``allocator``: the connection on which all results are sent, if there is only one."""
        self.partition = partition
        self.step = step
        self.transport = transport
        self.slots = partition.new_slots(allocator)
        self.pending = partition.pending.copy()
        self.remaining = len(self.pending)
        self.cancellation: Cancellation | None = Cancellation() if partition.num_blocking else None
        self.stopped = False
        self.tracer = tracer
        if tracer is not None:
            tracer.begin(partition.plan)
        self.read_at = partition.session.load.num_updates
        self._held = False
        self._watchers: dict[int, Callable[[], None]] = {}
        self._inline = inline  # run blocking segments on the calling thread, last
        self._lock = threading.Lock()

    def go_on(self, chain: SegmentChain, slots: list[Any], read_at: int) -> None:
        """Called instead of `start`: a chain of the partition has run already, and left these values."""
        self.slots = slots
        self.pending = chain.pending.copy()
        self.remaining -= len(chain.numbers)
        self.read_at = read_at

    def start(self, feeds: Sequence[Any]) -> None:
        """Take the fed values and run the segments that wait for nothing else."""
        if self.partition.is_new:
            self.partition.count_run()
        slots = self.slots
        for slot, value in zip(self.partition.plan.feed_slots, feeds, strict=True):
            slots[slot] = value
        if self.partition.initial:
            if self.partition.is_plain and len(self.partition.initial) == 1:
                self._run_one(self.partition.initial[0])
            else:
                self._run(self.partition.initial)
        elif not self.pending:
            self.transport.done([slots[slot] for slot in self.partition.plan.fetch_slots], ())

    def deliver(self, channel: int, tensors: list[Any], elsewhere: bool = False) -> None:
        """Take a message and its tensors; run the segments that waited for nothing else.

        With ``elsewhere`` they run on another thread, and the caller goes on receiving.
        """
        if self.tracer is not None:
            self.tracer.note_received(channel)
        where, wakes = self.partition.plan.channels[channel]
        take_in(self.slots, where, tensors)
        tensors.clear()
        ready = self._count_down(wakes)
        if ready:
            if self.partition.is_plain and len(ready) == 1 and not elsewhere:
                self._run_one(ready[0])
            elif elsewhere:
                run_in_thread(lambda: self._run(ready))
            else:
                self._run(ready)

    def waits_for_queue(self) -> bool:
        """Whether a segment of it waits for an element of a queue."""
        segments, done = self.partition.plan.segments, self.stopped or not self.remaining
        return not done and any(_dequeues(segments[number]) for number in self._watchers)

    def cancel(self) -> None:
        """Begin no further segment, and wake segments that wait, for example for a queue."""
        with self._lock:
            self.stopped = True
        if self.cancellation is not None:
            self.partition.session.loop_end.due = 1
            self.cancellation.cancel()

    def _count_down(self, numbers: Sequence[int]) -> list[int]:
        pending = self.pending
        ready = []
        with self._lock:
            for number in numbers:
                pending[number] -= 1
                if not pending[number]:
                    ready.append(number)
        return ready

    def _run(self, numbers: Sequence[int], on_notifier: bool = False) -> None:
        """Run segments, and then the ones that they make ready. ``on_notifier`` as for `_try`."""
        queue = deque(numbers)
        segments = self.partition.plan.segments
        while queue:
            number = queue.popleft()
            segment = segments[number]
            if segment.blocking:
                if not self._inline:
                    if self.partition.can_retry[number] and not (
                        THREADS and self.partition.session.load.delay_seconds
                    ):
                        queue.extend(self._try(number, on_notifier))
                    else:
                        run_in_thread(functools.partial(self._run_one, number))
                    continue
                if any(not segments[other].blocking for other in queue):
                    queue.append(number)  # segments that do not block go first
                    continue
            if not self._compute(number):
                continue
            if on_notifier:
                queue.extend(self._finish_elsewhere(number, segment))
            else:
                queue.extend(self._finish(number, segment))

    def _run_one(self, number: int) -> None:
        followers = self._step(number, self.partition.plan.segments[number])
        if followers:
            self._run(followers)

    def _try(self, number: int, on_notifier: bool = False) -> Sequence[int]:
        """Run a segment that may have to wait; if it does, it is tried again when its condition changes.

        Returns the segments that can follow. With ``on_notifier``, on a thread that serves another
        step, nothing that may take long is done.
        """
        watcher = self._watchers.get(number)
        fresh = watcher is None
        if watcher is None:
            watcher = self._watchers[number] = functools.partial(wake_segment, self, number)
        outer = postponing.callback
        postponing.callback = watcher
        try:
            computed = self._compute(number)
        except Postponed as postponed:
            if postponed.condition is None:
                run_in_thread(functools.partial(self._run_one, number))
            elif fresh and self.cancellation is not None:
                self.cancellation.register(functools.partial(postponed.condition.unwatch, watcher))
            return ()
        finally:
            postponing.callback = outer
        if not computed:
            return ()
        segment = self.partition.plan.segments[number]
        if on_notifier:
            return self._finish_elsewhere(number, segment)
        return self._finish(number, segment)

    def retry(self, number: int, on_notifier: bool) -> None:
        """Try a segment again whose condition has changed, and run what can follow."""
        followers = self._try(number, on_notifier)
        if followers:
            self._run(followers, on_notifier)

    def _finish_elsewhere(self, number: int, segment: Segment) -> Sequence[int]:
        """As `_finish`, on a thread that serves another step: work that may take long gets another thread.

        Handing over costs more than most work that follows here, such as the update after an average
        and the tokens after the update.
        """
        num_bytes = self._num_bytes(segment)
        if num_bytes > _SMALL_BYTES and (segment.transfers or self.remaining == 1):
            run_in_thread(lambda: self._run(self._finish(number, segment)))
            return ()
        followers = self._finish(number, segment)
        light = self.partition.inline_safe
        if num_bytes <= _INLINE_BYTES and all(light[follower] for follower in followers):
            return followers
        run_in_thread(lambda: self._run(followers))
        return ()

    def _num_bytes(self, segment: Segment) -> int:
        return sum(getattr(self.slots[slot], "nbytes", 0) or 0 for slot in segment.output_slots)

    def _step(self, number: int, segment: Segment) -> list[int]:
        return self._finish(number, segment) if self._compute(number) else []

    def _compute(self, number: int) -> bool:
        """Run a segment, then retry what waited for its effects; return whether it succeeded."""
        return then_wake(self._compute_alone, number)

    def _compute_alone(self, number: int) -> bool:
        if self.stopped:
            return False
        slots = self.slots
        load = self.partition.session.load
        if load.delay_seconds and not self._held:
            self._held = True
            load.hold(lambda: self.stopped)
        try:
            if self.cancellation is not None:
                current_step.cancellation = self.cancellation
                current_step.segment = number
                current_step.tracer = self.tracer
                try:
                    self.partition.run_segment(number, slots, self.tracer)
                finally:
                    current_step.cancellation = current_step.tracer = None
            else:
                self.partition.run_segment(number, slots, self.tracer)
            if self.partition.updates[number]:
                self.partition.session.updated(self.read_at)
                self.read_at += 1  # the step is not behind what it has changed itself
        except Exception as error:
            self._fail(error)
            return False
        return True

    def _finish(self, number: int, segment: Segment) -> list[int]:
        """Send the results of a segment; return the segments that can follow it."""
        slots = self.slots
        try:
            transfers = []
            for task, channel, which in segment.transfers:
                tensors = [slots[slot] for slot in which]
                if self.partition.structured:
                    for value in tensors:
                        check_alive(value)
                transfers.append((task, channel, tensors))
            # A sender's shared memory is released before it gets our message.
            for slot in self.partition.releases[number]:
                slots[slot] = None
            with self._lock:
                last = self.remaining == 1 and not self.stopped
                if last:
                    self.remaining = 0
            if last:
                fetches = [check_alive(slots[slot]) for slot in self.partition.plan.fetch_slots]
                self.slots = slots = []
                self.transport.done(fetches, transfers)
                return []
            for task, channel, tensors in transfers:
                self.transport.send(task, channel, tensors)
        except Exception as error:
            self._fail(error)
            return []
        # Counted only now: `done` is called when all other segments have sent their results.
        with self._lock:
            self.remaining -= 1
            last = not self.remaining and not self.stopped
        if last:
            try:
                fetches = [check_alive(slots[slot]) for slot in self.partition.plan.fetch_slots]
                self.transport.done(fetches, ())
            except Exception as error:
                self._fail(error)
            return []
        return self._count_down(segment.followers) if segment.followers else []

    def _fail(self, error: Exception) -> None:
        with self._lock:
            if self.stopped:
                return
            self.stopped = True
        if self.cancellation is not None:
            self.partition.session.loop_end.due = 1
            self.cancellation.cancel()
        self.transport.failed(error)


def _dequeues(segment: Segment) -> bool:
    return any("Dequeue" in op.type for op in segment.ops)


def check_alive(value: Any) -> Any:
    """Return the value; raise InvalidArgumentError if it is dead, of a branch that was not taken."""
    if value is DEAD:
        raise InvalidArgumentError(
            None, None, "Retval does not have value: the tensor is in a branch not taken."
        )
    return value
