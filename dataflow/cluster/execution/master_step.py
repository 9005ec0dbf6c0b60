"""One step of a master in progress: partitions on several tasks, messages in any order.

Repeated steps whose messages always come in the same order take the fast path (`fast_step`) instead,
as long as nothing unusual happens.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dataflow import errors
from dataflow.capabilities import THREADS
from dataflow.cluster.execution import prefetch
from dataflow.cluster.execution.fast_path import Fallback
from dataflow.cluster.execution.partition_run import PartitionRun
from dataflow.cluster.execution.server_loop import REPORT_SECONDS
from dataflow.cluster.execution.state_machine import Complete, Decision, Fail
from dataflow.cluster.execution.step_tracer import StepTracer
from dataflow.cluster.execution.task_load import TaskLoad
from dataflow.cluster.execution.traffic import FEEDS, RESULT, names_of_transfer
from dataflow.cluster.transport.connection import Connection
from dataflow.cluster.transport.in_process import leave_or_wait, wait_until
from dataflow.cluster.transport.messages import Kind, Message
from dataflow.cluster.transport.remote_errors import error_of, restore_error, with_restart
from dataflow.cluster.transport.sockets import wait_readable
from dataflow.cluster.transport.step_flags import (
    ADOPT,
    CHANNEL_SHIFT,
    HAS_DATA,
    LAST,
    PREFETCHED,
    REPEAT,
    TRACE,
    VALUES,
    WANT_NEXT,
)
from dataflow.errors import DeadlineExceededError, OpError, UnavailableError
from dataflow.runtime.cooperative import Suspended, Wait

if TYPE_CHECKING:
    from dataflow.cluster.execution.master import MasterSession
    from dataflow.cluster.execution.prepared_step import PreparedStep, RemotePartition


def _is_running(load: TaskLoad) -> Callable[[], bool]:
    was_paused = load.is_paused
    return lambda: was_paused and not load.is_paused


class MasterStep:
    """One step in progress. It is also the transport of the local partition."""

    def __init__(
        self,
        master: MasterSession,
        prepared: PreparedStep,
        step: int,
        watch: Connection | None,
        count: int,
        fallback: Fallback | None = None,
    ) -> None:
        self.master = master
        self.fallback = fallback
        self.prepared = prepared
        self.step = step
        self.watch = watch
        self.owner = threading.get_ident()
        self.connections: dict[str, Connection] = {}
        self.count = count
        self.unstarted: dict[str, RemotePartition] = {}
        self.adopted: set[str] = set()
        self.reads: list[tuple[int, list[Any]]] = []
        self.results: dict[str, list[Any]] = {}
        #: The reads of the next step, by the task that has done them.
        self.brought: dict[str, list[Any]] = {}
        self.inbox: list[tuple[str, Message]] = []
        self.local: PartitionRun | None = None
        self.error: Exception | None = None
        self.complete = False
        self.closing = False
        self.wake_fd = -1
        self.wake_lock = threading.Lock()
        self.tracers: dict[str, StepTracer] | None = None
        self.flags = 0
        #: The step's deadline, and the time-out in seconds that it was computed from.
        self.deadline: float | None = None
        self.seconds = 0.0
        self.until: Callable[[], bool] | None = None
        self.num_repeats = 0
        self.has_begun = False
        #: When the delay of this task is over, where there are no threads.
        self.begins_at: float | None = None

    def trace(self, tracers: dict[str, StepTracer], keep_values: bool) -> None:
        """Make every task record its work."""
        self.tracers = tracers
        self.flags = TRACE | VALUES if keep_values else TRACE

    def cancel_from_outside(self) -> None:
        """Cancel the step from another thread, which is closing the session."""
        self.closing = True
        self._cancel()
        if self.local is not None:
            self.local.cancel()
        for task, connection in list(self.connections.items()):
            if task not in self.results:
                connection.wake()  # wakes the thread that waits for it, which closes it
        self._write_wake()

    def _cancel(self) -> None:
        why = "The session was closed during the step."
        self._take(self.master.decide(self.master.machine.cancelled, self.step, why))

    # The local partition's transport

    def send(self, task: str, channel: int, tensors: list[Any]) -> None:
        if self.tracers is not None:
            self.tracers[self.master.task].send(self._send, task, channel, tensors)
        else:
            self._send(task, channel, tensors)

    def _send(self, task: str, channel: int, tensors: list[Any]) -> None:
        connection = self.connections[task]
        traffic = self.master.traffic
        if not self.step & traffic.mask:
            assert self.prepared.local is not None
            names = partial(names_of_transfer, self.prepared.local.plan, task, channel)
            traffic.sent(self.step, task, channel, names, tensors)
        unstarted = self.unstarted.pop(task, None) if self.unstarted else None
        while_full = self._take_in if threading.get_ident() == self.owner else None
        try:
            if unstarted is not None:
                tag = unstarted.handle | channel << CHANNEL_SHIFT
                connection.send(Kind.RUN, tag, self.step, tensors, None, HAS_DATA, while_full)
            else:
                flags = 0
                if self.adopted and task in self.adopted:
                    self.adopted.discard(task)
                    flags = ADOPT
                hold = channel in self.prepared.coalesced[task]
                connection.send(
                    Kind.DATA, channel, self.step, tensors, None, flags, while_full, hold
                )
        except UnavailableError as error:
            self._lost(task, error)
            raise

    def done(self, fetches: list[Any], last: Sequence[tuple[str, int, list[Any]]]) -> None:
        for transfer in last:
            self.send(*transfer)
        self.results[self.master.task] = fetches
        self._take(self.master.decide(self.master.machine.done, self.step, self.master.task))
        self._wake()

    def failed(self, error: Exception) -> None:
        if self.error is None:
            self.error = error
        code = getattr(error, "error_code", errors.UNKNOWN)
        self._take(
            self.master.decide(
                self.master.machine.failed, self.step, self.master.task, code, str(error)
            )
        )
        self._wake()

    def _wake(self) -> None:
        if threading.get_ident() != self.owner:
            self._write_wake()

    def _write_wake(self) -> None:
        with self.wake_lock:
            if self.wake_fd >= 0:
                os.eventfd_write(self.wake_fd, 1)

    def _close_wake(self) -> None:
        """Waits for who writes: a late one would write to a file that has got the number since."""
        with self.wake_lock:
            os.close(self.wake_fd)
            self.wake_fd = -1

    def _take_in(self) -> None:
        """Receive messages while a send waits for room in the socket."""
        for task, connection in self.connections.items():
            if task not in self.results and not connection.closed and not connection.is_quiet():
                try:
                    self.inbox.append((task, connection.receive()))
                except UnavailableError as error:
                    self._lost(task, error)
                    raise

    # The step

    def run(self, values: Sequence[Any], timeout_seconds: float | None) -> list[Any]:
        master, prepared = self.master, self.prepared
        if timeout_seconds is not None and self.deadline is None:
            self.seconds = timeout_seconds
            self.deadline = time.monotonic() + timeout_seconds
        left = False
        try:
            if not self.has_begun:
                if not THREADS and prepared.local is not None:
                    self._hold()
                self.has_begun = True
                if self.fallback is None:
                    self._begin(values)
                else:
                    self._take_over(self.fallback)
            if self.until is not None:
                self._follow(self.until, timeout_seconds)
            else:
                while not self.complete and self.error is None:
                    self._receive()
        except Suspended:
            left = True  # to be called again
            raise
        except BaseException as error:
            if self.error is None and isinstance(error, OpError):
                self.error = error
            self._take(master.decide(master.machine.cancelled, self.step, "the step was given up"))
            self._give_up()
            if self.error is not None and isinstance(error, OpError):
                raise self.error from None
            raise
        finally:
            if self.local is not None and self.error is None and not left:
                # These refer to each other. What was received must be released now, not when Python collects
                # cycles: it lies in memory that the sender wants to use again.
                self.local.slots = []
                self.local = None
            if self.wake_fd >= 0:
                self._close_wake()
        if self.error is not None:
            self._give_up()
            raise self.error
        for task, connection in self.connections.items():
            if task in self.brought:
                prefetch.keep_reads(connection, prepared, self.count, self.brought[task])
            master.pool.give(connection)
        results = self.results
        return [
            results[task][position] if task else values[position]
            for task, position in prepared.sources
        ]

    def _begin(self, values: Sequence[Any]) -> None:
        master, prepared = self.master, self.prepared
        machine = master.machine
        for remote in prepared.remotes:
            self._connect(remote)
        tasks = [remote.task for remote in prepared.remotes]
        if prepared.local is not None:
            tasks.append(master.task)
        self._take(master.decide(machine.start, self.step, tasks))
        if self.closing:  # the session was closed before there was anything to cancel
            self._cancel()
        if self.error is not None:
            return
        for remote in prepared.remotes:
            if remote.waits and not self.flags:
                self.unstarted[remote.task] = remote
                continue
            flags = self.flags if self.until is None else REPEAT
            may_prefetch = remote.prefetch_channels is not None and self.watch is None
            if THREADS and may_prefetch and not flags:
                if self._use_reads(remote):
                    continue
                flags = WANT_NEXT
            feeds = [values[position] for position in remote.feed_positions]
            if not self.step & master.traffic.mask:
                names = partial(_names_of_feeds, remote)
                master.traffic.sent(self.step, remote.task, FEEDS, names, feeds)
            try:
                self.connections[remote.task].send(
                    Kind.RUN, remote.handle, self.step, feeds, None, flags, self._take_in
                )
            except UnavailableError as error:
                self._lost(remote.task, error)
                raise
        if prepared.local is not None:
            # With nothing else to wait for, a dequeue may block this very thread.
            alone = not prepared.remotes and prepared.num_blocking == 1 and self.watch is None
            alone = alone and self.deadline is None and THREADS
            if prepared.num_blocking and not alone and THREADS:
                self.wake_fd = os.eventfd(0)
            tracer = None
            if self.tracers is not None:
                tracer = self.tracers[master.task] = StepTracer(bool(self.flags & VALUES))
            # Only one other task: its connection allocates memory for its messages.
            allocates = tracer is None and len(self.connections) == 1
            allocator = next(iter(self.connections.values())) if allocates else None
            self.local = PartitionRun(prepared.local, self.step, self, alone, tracer, allocator)
            self.local.start([values[position] for position in prepared.local_feeds])
            while self.reads:
                self.local.deliver(*self.reads.pop(0))

    def _take_over(self, fallback: Fallback) -> None:
        """Begin where a fast-path step left off: waiting for its remote task."""
        master, prepared = self.master, self.prepared
        machine, task = master.machine, prepared.remotes[0].task
        assert prepared.local is not None
        self.connections[task] = fallback.connection
        if self.closing:
            self._cancel()
        if self.error is not None:
            return
        local = PartitionRun(prepared.local, self.step, self)
        local.go_on(fallback.chain, fallback.slots, fallback.read_at)
        if local.remaining:
            self.local = local
        else:
            self.results[master.task] = [fallback.slots[n] for n in prepared.local.plan.fetch_slots]
            self._take(master.decide(machine.done, self.step, master.task))
        self.inbox += [(task, message) for message in fallback.messages]
        if fallback.error is not None:
            self._lost(task, fallback.error)
        elif fallback.is_late:
            self._late()

    def _use_reads(self, remote: RemotePartition) -> bool:
        """Use the reads that came with the end of the last step, if they are still fresh enough."""
        reads = prefetch.take_reads(self.connections[remote.task], self.prepared, self.count)
        if reads is None:
            return False
        at = 0
        for number, size in remote.prefetch_channels or ():
            self.reads.append((number, reads[at : at + size]))
            at += size
        self.adopted.add(remote.task)
        return True

    def _connect(self, remote: RemotePartition) -> None:
        master = self.master
        try:
            connection = master.pool.take(remote.address, remote.task, deadline=self.deadline)
            self.connections[remote.task] = connection
            incarnation = connection.greeting.get("incarnation", "")
            if incarnation != remote.incarnation:
                master.register_again(remote, incarnation, self.deadline)
        except (UnavailableError, DeadlineExceededError) as error:
            if isinstance(error, UnavailableError):
                self._lost(remote.task, error)
            error.task = remote.task  # type: ignore[union-attr]
            raise
        machine = master.machine
        if machine.incarnations.get(remote.task) != incarnation or machine.dead:
            master.decide(machine.joined, remote.task, incarnation)

    def _follow(self, until: Callable[[], bool], timeout_seconds: float | None) -> None:
        """Ask the task of a step that repeats itself how far it has come, and tell it when to end.

        A repetition has timed out when the task, asked after the time-out, reports no progress, or when
        it has not answered for the time-out. As it may be this process that was held up, an answer
        that has arrived is read first.
        """
        ((task, connection),) = self.connections.items()
        connection.deadline = None  # the time-out holds for each repetition, not for all of them
        known, since, told = 0, time.monotonic(), False
        asked: float | None = None
        while not self.complete and self.error is None:
            fd, late = connection.fileno(), False
            heard = fd < 0 or connection.has_frame() or wait_readable([fd], REPORT_SECONDS)
            if heard:
                self._receive_from(task)
                if self.num_repeats != known:
                    known, since = self.num_repeats, time.monotonic()
                elif timeout_seconds is not None and asked is not None:
                    late = asked - since > timeout_seconds
                asked = None
            elif timeout_seconds is not None and asked is not None:
                late = time.monotonic() - asked > timeout_seconds
            if self.complete or self.error is not None:
                return
            if late:
                self._late()
                return
            if heard or asked is not None:
                continue
            try:
                if not told and until():
                    connection.send(Kind.CANCEL, 0, self.step)
                    told = True
                asked = time.monotonic()
                connection.send(Kind.PING, 0, self.step)
            except UnavailableError as error:
                self._lost(task, error)

    def _receive(self) -> None:
        deadline = self.deadline
        if self.inbox:
            task, message = self.inbox.pop(0)
            self._on_message(task, message)
            return
        waiting = [task for task in self.connections if task not in self.results]
        if not THREADS:
            self._receive_in_process(waiting)
            return
        if len(waiting) == 1 and self.wake_fd < 0 and self.watch is None:
            self._receive_from(waiting[0])  # for no longer than its connection's deadline
            return
        ready = self._wait(waiting, deadline)
        if not ready:
            if deadline is not None and time.monotonic() >= deadline:
                self._late()
            return
        for task in ready:
            if self.complete or self.error is not None:
                return
            if task == "":
                if not self.watch.is_quiet():  # type: ignore[union-attr]
                    self._take(
                        self.master.decide(
                            self.master.machine.cancelled, self.step, "its client is gone"
                        )
                    )
            elif task == "wake":
                os.eventfd_read(self.wake_fd)
            elif task not in self.results:
                self._receive_from(task)

    def _receive_in_process(self, waiting: list[str]) -> None:
        """As `_receive`, where all tasks live in this thread; raises `Suspended` in a task's own run."""

        def ready() -> bool:
            if self.complete or self.error is not None:
                return True
            connections = [self.connections[task] for task in waiting]
            return any(c.has_frame() or c.closed or c.ended for c in connections)

        what = " and ".join(f"an answer of {task}" for task in waiting) or "its own partition"
        what = f"step of {self.master.task}, which waits for {what}"
        if not wait_until(what, ready, self.deadline, may_leave=True):
            self._late()
            return
        for task in waiting:
            connection = self.connections[task]
            if self.complete or self.error is not None:
                return
            if connection.has_frame() or connection.closed or connection.ended:
                self._receive_from(task)

    def _hold(self) -> None:
        """Let the delay of this task pass before its partition begins, where there are no threads.

        (With threads `TaskLoad.hold` waits within the partition.)
        """
        load = self.master.load
        if self.begins_at is None:
            self.begins_at = time.monotonic() + (0.0 if load.has_held else load.delay_seconds)
        while load.is_paused or time.monotonic() < self.begins_at:
            what = f"{self.master.task}, which is {'paused' if load.is_paused else 'slowed down'}"
            until = None if load.is_paused else self.begins_at
            leave_or_wait(Wait(what, _is_running(load), until))

    def _wait(self, waiting: list[str], deadline: float | None) -> list[str]:
        buffered = [task for task in waiting if self.connections[task].has_frame()]
        if buffered:
            return buffered
        timeout = None if deadline is None else max(0.0, deadline - time.monotonic())
        by_fd = {self.connections[task].fileno(): task for task in waiting}
        if -1 in by_fd:  # closed by another thread
            self._receive_from(by_fd[-1])
            return []
        if self.watch is not None:
            by_fd[self.watch.fileno()] = ""
        if self.wake_fd >= 0:
            by_fd[self.wake_fd] = "wake"
        if not by_fd:
            lost = self.master.verdict(self.step)
            if lost is not None:  # another thread has noticed the death of a task that had answered
                self.error = error_of(lost.code, lost.message, lost.task)
                return []
            raise errors.InternalError(
                None, None, f"Step {self.step} waits for nobody: {self.master.machine.waiting}."
            )
        return [by_fd[fd] for fd in wait_readable(by_fd, timeout)]

    def _receive_from(self, task: str) -> None:
        try:
            message = self.connections[task].receive()
        except UnavailableError as error:
            self._lost(task, error)
            return
        except DeadlineExceededError:
            self._late()
            return
        self._on_message(task, message)

    def _on_message(self, task: str, message: Message) -> None:
        if message.id != self.step:
            raise errors.InternalError(
                None, None, f"{task} answered for step {message.id} in step {self.step}."
            )
        machine = self.master.machine
        traffic = self.master.traffic
        if not self.step & traffic.mask and message.tensors:
            traffic.received(self.step, task, message.tag if message.kind == Kind.DATA else RESULT)
        if message.kind == Kind.DATA:
            assert self.local is not None
            tensors = message.tensors
            if message.flags & LAST:
                count = len(self.local.partition.plan.channels[message.tag][0])
                fetches, tensors = tensors[count:], tensors[:count]
                if message.flags & PREFETCHED:
                    number = len(self.prepared.fetches_of[task])
                    self.brought[task] = fetches[number:]
                    fetches = fetches[:number]
                self.results[task] = fetches
                self._take(self.master.decide(machine.done, self.step, task))
            self.local.deliver(message.tag, tensors)
        elif message.kind == Kind.DONE:
            self.results[task] = message.tensors
            if message.flags & PREFETCHED:
                self.results[task] = message.tensors[: message.tag]
                self.brought[task] = message.tensors[message.tag :]
            if self.tracers is not None and message.head is not None:
                self.results[task] = message.tensors[: message.tag]
                tracer = self.tracers[task] = StepTracer(True)
                tracer.decode(message.head, message.tensors[message.tag :])
            self._take(self.master.decide(machine.done, self.step, task))
        elif message.kind == Kind.PONG:
            self.master.num_steps += (message.tag - self.num_repeats) & 0xFFFFFFFF
            self.num_repeats = message.tag
        elif message.kind == Kind.ERROR:
            error = restore_error(message.head)
            if task in self.master.restarted:
                error = with_restart(error, task)
            if self.error is None:
                self.error = error
            self._take(
                self.master.decide(machine.failed, self.step, task, error.error_code, str(error))
            )
        else:
            raise errors.InternalError(None, None, f"{task} sent a {Kind(message.kind).name}.")

    # Outcomes

    def _take(self, decisions: list[Decision]) -> None:
        for decision in decisions:
            if type(decision) is Complete and decision.step == self.step:
                self.complete = True
            elif type(decision) is Fail and decision.step == self.step:
                self.master.verdict(self.step)
                if self.error is None:
                    self.error = error_of(decision.code, decision.message, decision.task)

    def _late(self) -> None:
        """The step's time is up."""
        self._take(self.master.decide(self.master.machine.timed_out, self.step, self.seconds))

    def _lost(self, task: str, error: UnavailableError) -> None:
        """A task can no longer be reached: every step that waits for it fails."""
        self._take(self.master.decide(self.master.machine.died, task, error.message))
        verdict = self.master.verdict(self.step)
        if self.error is None:
            message = verdict.message if verdict is not None else error.message
            self.error = error_of(errors.UNAVAILABLE, message, task)

    def _give_up(self) -> None:
        """Close the connections that have not answered, which cancels their partitions."""
        if self.local is not None:
            self.local.cancel()
            self.local = None
        for task, connection in self.connections.items():
            if task in self.results:
                self.master.pool.give(connection)
            else:
                connection.close()
        self.master.verdict(self.step)


def _names_of_feeds(remote: RemotePartition) -> list[str]:
    return [tensor.name for tensor in remote.partition.feeds]
