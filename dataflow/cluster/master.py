"""The master of a session: cuts the graph, registers the pieces, and runs steps over the tasks.

It lives in the process of the session's target. Its own task's piece runs on the caller's thread,
between the messages of the others; who is waited for, and what an error or a death means, decides
the `StepMachine`.
"""

from __future__ import annotations

import contextlib
import itertools
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dataflow import errors
from dataflow.cluster import read_ahead
from dataflow.cluster.channel import Link
from dataflow.cluster.compiled_piece import CompiledPiece, TaskSession
from dataflow.cluster.connections import LinkPool
from dataflow.cluster.explained import code_of, describe
from dataflow.cluster.master_step import MasterStep
from dataflow.cluster.messages import Kind, Message
from dataflow.cluster.partition import Partition, Piece, partition
from dataflow.cluster.recorder import Recorder
from dataflow.cluster.remote_errors import restore_error
from dataflow.cluster.state_machine import Decision, Fail, StepMachine
from dataflow.cluster.step_flags import (
    CHANNEL_SHIFT,
    MAX_HANDLE,
)
from dataflow.cluster.straight_step import StraightStep, Turn, straight_step
from dataflow.cluster.worker_service import encode_piece, plan_of
from dataflow.errors import OpError
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.rewrites.switches import Switches

#: How long a task may take to drop what a session registered, before the session goes on without.
_CLOSE_SECONDS = 1.0


class RemotePiece:
    """A piece that was registered with another task."""

    def __init__(self, task: str, address: str, piece: Piece, feeds: Sequence[Tensor]) -> None:
        self.task = task
        self.address = address
        #: To register it once more where the task was restarted.
        self.piece = piece
        self.handle = 0
        #: The task's GPU of each node that is placed on one.
        self.on_gpus: dict[str, str] = {}
        self.incarnation = ""
        self.feed_positions = [feeds.index(t) for t in piece.feeds]
        self.fetches = piece.fetches
        #: Nothing begins before the first message of ours, so that RUN can travel with it.
        self.ahead_channels: list[tuple[int, int]] | None = None
        #: Channels whose message goes with the next one.
        self.companions: frozenset[int] = frozenset()
        self.waits = not piece.feeds and all(s.num_pending for s in piece.segments)


class PreparedStep:
    """What is known of a step before it runs: its pieces, and where each fetch comes from."""

    def __init__(
        self,
        cut: Partition,
        local: CompiledPiece | None,
        local_feeds: list[int],
        remotes: list[RemotePiece],
        sources: list[tuple[str, int]],
    ) -> None:
        self.needed = cut.needed
        self.task_of = {op.name: task for op, task in cut.task_of.items()}
        self.on_gpus = local.on_gpus if local is not None else {}
        for remote in remotes:
            self.on_gpus |= remote.on_gpus
        self.local = local
        self.local_feeds = local_feeds
        self.remotes = remotes
        self.fetches_of = {remote.task: remote.fetches for remote in remotes}
        self.companions = {remote.task: remote.companions for remote in remotes}
        self.sources = sources  # per fetch: ("", feed position) or (task, position in its fetches)
        self.num_blocking = local.num_blocking if local is not None else 0
        #: The task that has all of it can do it again without being told.
        self.can_repeat = local is None and len(remotes) == 1 and not sources
        self.can_repeat = self.can_repeat and not remotes[0].feed_positions
        #: It is one message there and one back, if its reads were done ahead.
        self.straight: StraightStep | None = None


class MasterSession:
    """One client's session on a cluster.

    ``addresses`` of the visible tasks by name; ``task`` is the master's own; ``task_session`` holds
    that task's resources.
    """

    def __init__(
        self,
        task: str,
        addresses: dict[str, str],
        pool: LinkPool,
        task_session: TaskSession,
        name: str,
        allow_soft_placement: bool = False,
        timeout_seconds: float | None = None,
        switches: Switches | None = None,
    ) -> None:
        self.task = task
        self.addresses = addresses
        self.pool = pool
        self.name = name
        self.timeout_seconds = timeout_seconds
        self.machine = StepMachine()
        self.num_steps = 0
        #: Tasks that were restarted since this session first used them: what they held is gone.
        self.restarted: set[str] = set()
        self.closed = False
        self._task_session = task_session
        self._soft = allow_soft_placement
        self._switches = switches
        self._lock = threading.Lock()
        self._register_lock = threading.Lock()
        #: The life of each task in which this session first used it.
        self._first_incarnations: dict[str, str] = {}
        self._verdicts: dict[int, Fail] = {}
        self._contacted: set[str] = set()
        self._active: set[MasterStep] = set()
        #: The links of straight steps that are being run.
        self.in_use: set[Link] = set()
        self.step_numbers = itertools.count(secrets.randbits(32) << 31)

    # Preparing

    def prepare(
        self,
        fetch_tensors: Sequence[Tensor],
        fetch_operations: Sequence[Operation],
        feeds: Sequence[Tensor],
        deadline: float | None = None,
    ) -> PreparedStep:
        """Cut the graph for these fetches and feeds and register its pieces with their tasks.

        Raises DeadlineExceededError when these have not answered by the deadline, which is as
        `time.monotonic` tells.
        """
        cut = self._cut(fetch_tensors, fetch_operations, feeds)
        pieces = dict(cut.pieces)
        own = pieces.pop(self.task, None)
        local = None
        if own is not None:
            local = CompiledPiece(plan_of(own), self._task_session, self._switches, self._soft)
        remotes = []
        for task, piece in pieces.items():
            remote = RemotePiece(task, self.addresses[task], piece, feeds)
            if own is None or not any(t.task == task for s in own.segments for t in s.transfers):
                remote.waits = False
            else:
                remote.ahead_channels = read_ahead.ahead_channels(piece, self.task)
                remote.companions = read_ahead.companions(own, task, piece)
            self._register(remote, deadline)
            remotes.append(remote)
        sources = []
        for tensor in fetch_tensors:
            if tensor in feeds:
                sources.append(("", list(feeds).index(tensor)))
                continue
            task = next(t for t, p in cut.pieces.items() if tensor in p.fetches)
            sources.append((task, cut.pieces[task].fetches.index(tensor)))
        local_feeds = [list(feeds).index(t) for t in own.feeds] if own is not None else []
        prepared = PreparedStep(cut, local, local_feeds, remotes, sources)
        if local is not None and len(remotes) == 1:
            prepared.straight = straight_step(self, prepared, pieces[remotes[0].task])
        return prepared

    def explain(
        self,
        fetch_tensors: Sequence[Tensor],
        fetch_operations: Sequence[Operation],
        feeds: Sequence[Tensor],
        deadline: float | None = None,
    ) -> dict[str, Any]:
        """Have each task compile and rewrite its piece, and run nothing; see `explained`.

        ``deadline`` is as for `prepare`.
        """
        cut = self._cut(fetch_tensors, fetch_operations, feeds)
        codes = {}
        for task, piece in cut.pieces.items():
            if task == self.task:
                resources = self._task_session._resources
                codes[task] = code_of(plan_of(piece), resources, self._switches)
                continue
            encoded, arrays = encode_piece(piece)
            link = self.pool.take(self.addresses[task], task, deadline=deadline)
            reply = call(link, "explain", {"piece": encoded, "rewrites": self._switches}, arrays)
            self.pool.give(link)
            codes[task] = (reply.head or {})["code"]
        return describe(cut, codes)

    def _cut(
        self,
        fetch_tensors: Sequence[Tensor],
        fetch_operations: Sequence[Operation],
        feeds: Sequence[Tensor],
    ) -> Partition:
        return partition(
            fetch_tensors,
            fetch_operations,
            feeds,
            sorted(self.addresses),
            self.task,
            self._soft,
        )

    def register_again(self, remote: RemotePiece, incarnation: str, deadline: float | None) -> None:
        """Register a piece with the present life of its task, unless another thread has done so."""
        with held(self._register_lock, deadline):
            if remote.incarnation != incarnation:
                self._register(remote, deadline)

    def _register(self, remote: RemotePiece, deadline: float | None) -> None:
        piece = remote.piece
        encoded, arrays = encode_piece(piece)
        head = {
            "piece": encoded,
            "session": self.name,
            "home": self.task,
            "rewrites": self._switches,
            "soft": self._soft,
            "addresses": {
                t.task: self.addresses[t.task] for s in piece.segments for t in s.transfers
            },
        }
        link = self.pool.take(remote.address, remote.task, deadline=deadline)
        reply = call(link, "register", head, arrays)
        told = reply.head or {}
        remote.handle, remote.on_gpus = int(told["handle"]), told["on_gpus"]
        if remote.handle > MAX_HANDLE or len(piece.channels) >= 1 << (32 - CHANNEL_SHIFT):
            raise errors.ResourceExhaustedError(
                None, None, f"{remote.task} holds too many pieces; close sessions that are done."
            )
        remote.incarnation = link.greeting.get("incarnation", "")
        first = self._first_incarnations.setdefault(remote.task, remote.incarnation)
        if first != remote.incarnation:
            self.restarted.add(remote.task)
        self._contacted.add(remote.task)
        self.pool.give(link)

    # Running

    def run(
        self,
        prepared: PreparedStep,
        values: Sequence[Any],
        timeout_seconds: float | None = None,
        watch: Link | None = None,
        recorders: dict[str, Recorder] | None = None,
        keep_values: bool = True,
        until: Callable[[], bool] | None = None,
    ) -> list[Any]:
        """Run a step on the fed values; return the fetched ones.

        With ``until`` a step that lies wholly on another task and fetches nothing is run again and
        again, until that is true; the time-out is for each time.

        ``recorders`` is filled with what each task did, by task, where it is given.

        ``watch`` is a client's link: when it ends the step is cancelled. Raises the classes of
        `tf.errors`; UnavailableError or AbortedError name the task that was lost.
        """
        self.num_steps += 1
        count = read_ahead.note_run()
        seconds = timeout_seconds or self.timeout_seconds
        if prepared.straight is not None and watch is None and recorders is None:
            results = prepared.straight.run(values, seconds, count)
            if results is not None:
                return results
        run = MasterStep(self, prepared, next(self.step_numbers), watch, count)
        if recorders is not None:
            run.trace(recorders, keep_values)
        elif prepared.can_repeat and watch is None:
            run.until = until
        return self._run(run, values, seconds)

    def take_over(self, turn: Turn, values: Sequence[Any], seconds: float | None) -> list[Any]:
        """Go on with a straight step that has taken a turn."""
        return self._run(
            MasterStep(self, turn.prepared, turn.step, None, turn.run, turn), values, seconds
        )

    def _run(self, run: MasterStep, values: Sequence[Any], seconds: float | None) -> list[Any]:
        self._active.add(run)
        try:
            if self.closed:  # while the step was being prepared
                run.cancel_from_outside()
                self.close()
            with np.errstate(all="ignore"):
                return run.run(values, seconds)
        finally:
            self._active.discard(run)

    def decide(self, event: Callable[..., list[Decision]], *arguments: Any) -> list[Decision]:
        """Give the machine an event; keep what it says about steps of other threads."""
        with self._lock:
            decisions = event(*arguments)
            for decision in decisions:
                if type(decision) is Fail:
                    self._verdicts[decision.step] = decision
        return decisions

    def verdict(self, step: int) -> Fail | None:
        """Return, once, why a step failed."""
        return self._verdicts.pop(step, None)

    def close(self) -> None:
        """Cancel the steps of other threads; let the tasks drop what this session registered.

        A step that another thread is preparing ends as soon as it begins.
        """
        self.closed = True
        for run in list(self._active):
            run.cancel_from_outside()
        for link in list(self.in_use):
            link.wake()  # the thread that waits for it, and closes it
        addresses = (
            self.addresses
        )  # none once the server has stopped: nothing is to be reached then
        for task in sorted(self._contacted & addresses.keys()):
            try:
                link = self.pool.take(addresses[task], task, timeout_seconds=0.2)
                # One that is stopped reads it when it goes on.
                link.deadline = time.monotonic() + _CLOSE_SECONDS
                call(link, "close_session", {"session": self.name})
                self.pool.give(link)
            except OpError:
                pass  # a task that is gone holds nothing any more
        self._contacted.clear()


@contextlib.contextmanager
def held(lock: Any, deadline: float | None) -> Iterator[None]:
    """Hold a lock, under which another thread may be waiting for a task.

    Raises DeadlineExceededError where it waits for too long.
    """
    seconds = -1.0 if deadline is None else max(0.0, deadline - time.monotonic())
    if not lock.acquire(timeout=seconds):
        raise errors.DeadlineExceededError(
            None, None, "Time was up while another thread was waiting for a task of the cluster."
        )
    try:
        yield
    finally:
        lock.release()


def call(
    link: Link, method: str, head: dict[str, Any] | None = None, tensors: Sequence[Any] = ()
) -> Message:
    """Call a method of a task and return its reply; raises what the task raised.

    `Link.deadline` is when it must have come.
    """
    link.send(Kind.CALL, 0, 0, tensors, {"method": method, **(head or {})})
    reply = link.receive()
    if reply.kind == Kind.ERROR:
        raise restore_error(reply.head)
    return reply
