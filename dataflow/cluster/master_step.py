"""One step of a master in progress, of any kind: pieces on several tasks, in any order of messages.

The steps that repeat themselves without turns are `straight_step`'s, until something unusual comes.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dataflow import errors
from dataflow.cluster import channel, read_ahead
from dataflow.cluster.channel import Link
from dataflow.cluster.messages import Kind, Message
from dataflow.cluster.pieces import PieceRun
from dataflow.cluster.recorder import Recorder
from dataflow.cluster.remote_errors import error_of, restore_error, with_restart
from dataflow.cluster.repeats import REPORT_SECONDS
from dataflow.cluster.state_machine import Complete, Decision, Fail
from dataflow.cluster.step_flags import (
    ADOPT,
    AHEAD,
    CHANNEL_SHIFT,
    HAS_DATA,
    LAST,
    REPEAT,
    TRACE,
    VALUES,
    WANT_NEXT,
)
from dataflow.cluster.straight_step import Turn
from dataflow.errors import DeadlineExceededError, OpError, UnavailableError

if TYPE_CHECKING:
    from dataflow.cluster.master import MasterSession, PreparedStep, RemotePiece


class MasterStep:
    """One step in progress; also where the local piece's results go."""

    def __init__(
        self,
        master: MasterSession,
        prepared: PreparedStep,
        step: int,
        watch: Link | None,
        count: int,
        turn: Turn | None = None,
    ) -> None:
        self.master = master
        self.turn = turn
        self.prepared = prepared
        self.step = step
        self.watch = watch
        self.owner = threading.get_ident()
        self.links: dict[str, Link] = {}
        self.count = count
        self.unstarted: dict[str, RemotePiece] = {}
        self.adopted: set[str] = set()
        self.reads: list[tuple[int, list[Any]]] = []
        self.results: dict[str, list[Any]] = {}
        #: The reads of the next step, by the task that has done them.
        self.brought: dict[str, list[Any]] = {}
        self.inbox: list[tuple[str, Message]] = []
        self.local: PieceRun | None = None
        self.error: Exception | None = None
        self.complete = False
        self.closing = False
        self.wake_fd = -1
        self.recorders: dict[str, Recorder] | None = None
        self.flags = 0
        #: When the step must be done, and how long after its beginning that is.
        self.deadline: float | None = None
        self.seconds = 0.0
        self.until: Callable[[], bool] | None = None
        self.num_repeats = 0

    def trace(self, recorders: dict[str, Recorder], keep_values: bool) -> None:
        """Let every task note what it does."""
        self.recorders = recorders
        self.flags = TRACE | VALUES if keep_values else TRACE

    def cancel_from_outside(self) -> None:
        """Give the step up from another thread: the session is closed."""
        self.closing = True
        self._cancel()
        if self.local is not None:
            self.local.cancel()
        for task, link in list(self.links.items()):
            if task not in self.results:
                link.wake()  # the thread that waits for it, and closes it
        if self.wake_fd >= 0:
            with contextlib.suppress(OSError):
                os.eventfd_write(self.wake_fd, 1)

    def _cancel(self) -> None:
        why = "The session was closed during the step."
        self._take(self.master.decide(self.master.machine.cancelled, self.step, why))

    # The local piece's transport

    def send(self, task: str, channel: int, tensors: list[Any]) -> None:
        link = self.links[task]
        unstarted = self.unstarted.pop(task, None) if self.unstarted else None
        while_full = self._take_in if threading.get_ident() == self.owner else None
        try:
            if unstarted is not None:
                tag = unstarted.handle | channel << CHANNEL_SHIFT
                link.send(Kind.RUN, tag, self.step, tensors, None, HAS_DATA, while_full)
            else:
                flags = 0
                if self.adopted and task in self.adopted:
                    self.adopted.discard(task)
                    flags = ADOPT
                hold = channel in self.prepared.companions[task]
                link.send(Kind.DATA, channel, self.step, tensors, None, flags, while_full, hold)
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
        if self.wake_fd >= 0 and threading.get_ident() != self.owner:
            os.eventfd_write(self.wake_fd, 1)

    def _take_in(self) -> None:
        """Receive while a send waits for room."""
        for task, link in self.links.items():
            if task not in self.results and not link.closed and not link.is_quiet():
                try:
                    self.inbox.append((task, link.receive()))
                except UnavailableError as error:
                    self._lost(task, error)
                    raise

    # The step

    def run(self, values: Sequence[Any], timeout_seconds: float | None) -> list[Any]:
        master, prepared = self.master, self.prepared
        if timeout_seconds is not None:
            self.seconds = timeout_seconds
            self.deadline = time.monotonic() + timeout_seconds
        try:
            if self.turn is None:
                self._begin(values)
            else:
                self._take_over(self.turn)
            if self.until is not None:
                self._follow(self.until, timeout_seconds)
            else:
                while not self.complete and self.error is None:
                    self._receive()
        except BaseException as error:
            if self.error is None and isinstance(error, OpError):
                self.error = error
            self._take(master.decide(master.machine.cancelled, self.step, "the step was given up"))
            self._give_up()
            if self.error is not None and isinstance(error, OpError):
                raise self.error from None
            raise
        finally:
            if self.local is not None and self.error is None:
                # Each refers to the other; what was received must go now, and not when Python
                # looks for circles: it lies in memory that the sender wants to use again.
                self.local.slots = []
                self.local = None
            if self.wake_fd >= 0:
                with_fd, self.wake_fd = self.wake_fd, -1
                os.close(with_fd)
        if self.error is not None:
            self._give_up()
            raise self.error
        for task, link in self.links.items():
            if task in self.brought:
                read_ahead.keep_reads(link, prepared, self.count, self.brought[task])
            master.pool.give(link)
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
        if self.closing:  # before there was anything to cancel
            self._cancel()
        if self.error is not None:
            return
        for remote in prepared.remotes:
            if remote.waits and not self.flags:
                self.unstarted[remote.task] = remote
                continue
            flags = self.flags if self.until is None else REPEAT
            if remote.ahead_channels is not None and self.watch is None and not flags:
                if self._use_reads(remote):
                    continue
                flags = WANT_NEXT
            feeds = [values[position] for position in remote.feed_positions]
            try:
                self.links[remote.task].send(
                    Kind.RUN, remote.handle, self.step, feeds, None, flags, self._take_in
                )
            except UnavailableError as error:
                self._lost(remote.task, error)
                raise
        if prepared.local is not None:
            # With nothing else to wait for, a dequeue may block this very thread.
            alone = not prepared.remotes and prepared.num_blocking == 1 and self.watch is None
            alone = alone and self.deadline is None
            if prepared.num_blocking and not alone:
                self.wake_fd = os.eventfd(0)
            recorder = None
            if self.recorders is not None:
                recorder = self.recorders[master.task] = Recorder(bool(self.flags & VALUES))
            # Only one other task: its link lends memory for what it is sent.
            lends = recorder is None and len(self.links) == 1
            lender = next(iter(self.links.values())) if lends else None
            self.local = PieceRun(prepared.local, self.step, self, alone, recorder, lender)
            self.local.start([values[position] for position in prepared.local_feeds])
            while self.reads:
                self.local.deliver(*self.reads.pop(0))

    def _take_over(self, turn: Turn) -> None:
        """Begin where a straight step has taken a turn: it waits for its remote task."""
        master, prepared = self.master, self.prepared
        machine, task = master.machine, prepared.remotes[0].task
        assert prepared.local is not None
        self.links[task] = turn.link
        self._take(master.decide(machine.start, self.step, [task, master.task]))
        if self.closing:
            self._cancel()
        if self.error is not None:
            return
        local = PieceRun(prepared.local, self.step, self)
        local.go_on(turn.stretch, turn.slots, turn.read_at)
        if local.remaining:
            self.local = local
        else:
            self.results[master.task] = [turn.slots[n] for n in prepared.local.plan.fetch_slots]
            self._take(master.decide(machine.done, self.step, master.task))
        self.inbox += [(task, message) for message in turn.messages]
        if turn.error is not None:
            self._lost(task, turn.error)
        elif turn.is_late:
            self._late()

    def _use_reads(self, remote: RemotePiece) -> bool:
        """Begin with what the last step's end brought along, if that is still as good as new."""
        reads = read_ahead.take_reads(self.links[remote.task], self.prepared, self.count)
        if reads is None:
            return False
        at = 0
        for number, size in remote.ahead_channels or ():
            self.reads.append((number, reads[at : at + size]))
            at += size
        self.adopted.add(remote.task)
        return True

    def _connect(self, remote: RemotePiece) -> None:
        master = self.master
        try:
            link = master.pool.take(remote.address, remote.task, deadline=self.deadline)
            self.links[remote.task] = link
            incarnation = link.greeting.get("incarnation", "")
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
        """Ask the task of a step that repeats itself how far it is, and tell it when to end.

        Its time is up when it says so long after it last got on that it still has not, or when it
        has not answered for so long: this process may have been the one that was held up, and then
        an answer is there.
        """
        ((task, link),) = self.links.items()
        link.deadline = None  # it is for each time, not for all of them
        known, since, told = 0, time.monotonic(), False
        asked: float | None = None
        while not self.complete and self.error is None:
            fd, late = link.fileno(), False
            heard = fd < 0 or link.has_frame() or channel.wait_readable([fd], REPORT_SECONDS)
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
                    link.send(Kind.CANCEL, 0, self.step)
                    told = True
                asked = time.monotonic()
                link.send(Kind.PING, 0, self.step)
            except UnavailableError as error:
                self._lost(task, error)

    def _receive(self) -> None:
        deadline = self.deadline
        if self.inbox:
            task, message = self.inbox.pop(0)
            self._on_message(task, message)
            return
        waiting = [task for task in self.links if task not in self.results]
        if len(waiting) == 1 and self.wake_fd < 0 and deadline is None and self.watch is None:
            self._receive_from(waiting[0])
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

    def _wait(self, waiting: list[str], deadline: float | None) -> list[str]:
        buffered = [task for task in waiting if self.links[task].has_frame()]
        if buffered:
            return buffered
        timeout = None if deadline is None else max(0.0, deadline - time.monotonic())
        by_fd = {self.links[task].fileno(): task for task in waiting}
        if -1 in by_fd:  # closed from outside
            self._receive_from(by_fd[-1])
            return []
        if self.watch is not None:
            by_fd[self.watch.fileno()] = ""
        if self.wake_fd >= 0:
            by_fd[self.wake_fd] = "wake"
        if not by_fd:
            raise errors.InternalError(
                None, None, f"Step {self.step} waits for nobody: {self.master.machine.waiting}."
            )
        return [by_fd[fd] for fd in channel.wait_readable(by_fd, timeout)]

    def _receive_from(self, task: str) -> None:
        try:
            message = self.links[task].receive()
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
        if message.kind == Kind.DATA:
            assert self.local is not None
            tensors = message.tensors
            if message.flags & LAST:
                count = len(self.local.piece.plan.channels[message.tag][0])
                fetches, tensors = tensors[count:], tensors[:count]
                if message.flags & AHEAD:
                    number = len(self.prepared.fetches_of[task])
                    self.brought[task] = fetches[number:]
                    fetches = fetches[:number]
                self.results[task] = fetches
                self._take(self.master.decide(machine.done, self.step, task))
            self.local.deliver(message.tag, tensors)
        elif message.kind == Kind.DONE:
            self.results[task] = message.tensors
            if message.flags & AHEAD:
                self.results[task] = message.tensors[: message.tag]
                self.brought[task] = message.tensors[message.tag :]
            if self.recorders is not None and message.head is not None:
                self.results[task] = message.tensors[: message.tag]
                recorder = self.recorders[task] = Recorder(True)
                recorder.decode(message.head, message.tensors[message.tag :])
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
        """A task cannot be reached any more: whatever waits for it fails."""
        self._take(self.master.decide(self.master.machine.died, task, error.message))
        verdict = self.master.verdict(self.step)
        if self.error is None:
            message = verdict.message if verdict is not None else error.message
            self.error = error_of(errors.UNAVAILABLE, message, task)

    def _give_up(self) -> None:
        """Close the links that still have something to come: that cancels the other pieces."""
        if self.local is not None:
            self.local.cancel()
            self.local = None
        for task, link in self.links.items():
            if task in self.results:
                self.master.pool.give(link)
            else:
                link.close()
        self.master.verdict(self.step)
