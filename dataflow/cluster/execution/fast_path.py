"""A step that is one message there and one back, as its master runs it.

The steps of a training loop are alike. Where the reads came with the end of the previous step
(`prefetch`), all that is left of a step is: compute, send the results, take the answer. There
are no decisions in that, and no state that another thread might ask for. If anything differs from the
last step (another fetch or feed, an old read, a traced step), `MasterSession.run` takes over before
anything has been sent; if something else comes instead of the answer (an error, a death, a time-out, a
closed session), the general step goes on from a `Fallback`.

Its two halves are chains that `schedule.runner` compiles, as the stages of a `LinearRun` are. It is not
a `LinearRun` because none of its segments ever waits (`fast_step`): there is nothing to suspend.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from dataflow.cluster.execution import prefetch
from dataflow.cluster.execution.schedule import (
    SegmentChain,
    first_chain,
    next_chain,
    runner,
    taker,
)
from dataflow.cluster.execution.traffic import ALL_CHANNELS, RESULT, names_of_slots
from dataflow.cluster.partition.graph_partition import GraphPartition
from dataflow.cluster.transport.connection import Connection
from dataflow.cluster.transport.messages import Kind, Message
from dataflow.cluster.transport.remote_errors import error_of
from dataflow.cluster.transport.step_flags import ADOPT, ALL, LAST, PREFETCHED
from dataflow.errors import DeadlineExceededError, UnavailableError
from dataflow.kernels.subnormals import Computing

if TYPE_CHECKING:
    from dataflow.cluster.execution.master import MasterSession
    from dataflow.cluster.execution.prepared_step import PreparedStep


class Fallback(NamedTuple):
    """A fast-path step that must fall back after its message was sent."""

    prepared: PreparedStep
    step: int
    run: int
    connection: Connection
    #: The segments of the local partition that have run, and the values in its slots.
    chain: SegmentChain
    slots: list[Any]
    read_at: int
    messages: list[Message]
    error: UnavailableError | None
    is_late: bool


def fast_step(
    master: MasterSession, prepared: PreparedStep, partition: GraphPartition
) -> FastStep | None:
    """The fast path of a step, if it has one; ``partition`` is that of its remote task."""
    local, remote = prepared.local, prepared.remotes[0]
    if local is None or remote.prefetch_channels is None or local.num_blocking or local.structured:
        return None
    first = first_chain(local, [number for number, _ in remote.prefetch_channels])
    ahead = {number for number, _ in remote.prefetch_channels}
    left = [n for n in range(len(local.plan.channels)) if n not in ahead]
    last = next_chain(local, first, left)
    sends = sorted(first.sends, key=lambda transfer: transfer[1])
    one_message = (
        all(task == remote.task for task, _, _ in sends)
        and [number for _, number, _ in sends] == list(range(len(partition.channels)))
        # The messages of one half do not wait for the other half.
        and sum(number not in remote.coalesced for _, number, _ in sends) == 1
    )
    if not one_message or len(left) > 1 or last.sends or any(last.pending):
        return None
    out_slots = [slot for _, _, slots in sends for slot in slots]
    return FastStep(master, prepared, first, last, left, out_slots)


class FastStep:
    """A step's fast path, planned once; threads may run it concurrently, each on its own connection."""

    def __init__(
        self,
        master: MasterSession,
        prepared: PreparedStep,
        first: SegmentChain,
        last: SegmentChain,
        left: list[int],
        out_slots: list[int],
    ) -> None:
        assert prepared.local is not None
        plan = prepared.local.plan
        remote = prepared.remotes[0]
        self._master = master
        self._prepared = prepared
        self._local = prepared.local
        self._task, self._address = remote.task, remote.address
        self._tasks = (remote.task, master.task)
        self._first, self._last = first, last
        read_slots = [
            slot
            for number, _ in remote.prefetch_channels or ()
            for slot in plan.channels[number][0]
        ]
        self._take_reads = taker(read_slots)
        self._empty = self._local.new_slots()[:-1]
        self._feeds = list(zip(plan.feed_slots, prepared.local_feeds, strict=True))
        self._out_slots = out_slots
        self._run_first = runner(self._local, first, results=out_slots)
        self._run_last = runner(self._local, last)
        #: The answer: its kind, tag and flags, and the slots of what the local partition needs of it.
        in_slots = list(plan.channels[left[0]][0]) if left else []
        self._take_in, self._num_inputs = taker(in_slots), len(in_slots)
        self._num_fetches = len(remote.fetches)
        self._answer = (Kind.DATA, left[0], LAST) if left else (Kind.DONE, self._num_fetches, 0)
        self._collect = self._collector(plan.fetch_slots)

    def _collector(self, fetch_slots: Sequence[int]) -> Callable[..., list[Any]]:
        """What is fetched, of the remote partition's fetches, the local one's slots, and the fed values."""
        parts = [
            f"fetched[{position}]"
            if task == self._task
            else f"slots[{int(fetch_slots[position])}]"
            if task
            else f"values[{position}]"
            for task, position in self._prepared.sources
        ]
        scope: dict[str, Any] = {}
        exec(f"def collect(fetched, slots, values):\n    return [{', '.join(parts)}]", scope)
        return scope["collect"]  # type: ignore[no-any-return]

    def run(self, values: Sequence[Any], seconds: float | None) -> list[Any] | None:
        """Run the step on the fed values; return the fetched values.

        ``None``: the fast path does not apply now, and nothing was sent; `MasterSession.run` has to do it.
        Raises as that.
        """
        master, local = self._master, self._local
        load = local.session.load
        if local.is_new or load.delay_seconds:
            return None
        pool = master.pool
        connection = pool.take_warm(self._address)
        if connection is None:
            return None
        count = prefetch.note_run()
        master.in_use.add(connection)
        machine, step = master.machine, next(master.step_numbers)
        try:
            reads = prefetch.take_reads(connection, self._prepared, count)
            if reads is None or master.closed:
                pool.give_unused(connection)
                return None
            with master.lock:
                may_run = machine.begin(step, self._tasks)
            if not may_run:  # its task is dead; the general step will report that
                pool.give_unused(connection)
                return None
            master.num_steps += 1
            with Computing():
                outcome = self._run(
                    connection, step, reads, values, seconds, count, load.num_updates
                )
        except BaseException:
            connection.close()
            master.decide(machine.cancelled, step, "the step was given up")
            master.verdict(step)
            raise
        finally:
            master.in_use.discard(connection)
        if type(outcome) is Fallback:
            return master.take_over(outcome, values, seconds)
        with master.lock:
            finished = machine.finish(step)
        lost = None if finished else master.verdict(step)
        if lost is not None:  # another thread has noticed the task's death
            raise error_of(lost.code, lost.message, lost.task)
        return outcome  # type: ignore[return-value]

    def _run(
        self,
        connection: Connection,
        step: int,
        reads: list[Any],
        values: Sequence[Any],
        seconds: float | None,
        count: int,
        read_at: int,
    ) -> list[Any] | Fallback:
        local, first = self._local, self._first
        if seconds is not None:
            connection.deadline = time.monotonic() + seconds
        slots = [*self._empty, connection]
        self._take_reads(slots, reads)
        # Release reads that lie in the sender's shared memory as soon as they were used.
        reads.clear()
        for slot, position in self._feeds:
            slots[slot] = values[position]
        values_out = self._run_first(slots, read_at)
        messages: list[Message] = []
        error, is_late = None, False
        traffic = local.session.load.traffic
        if not step & traffic.mask:
            names = partial(names_of_slots, local.plan, self._out_slots)
            traffic.sent(step, self._task, ALL_CHANNELS, names, values_out)
        try:
            connection.send(
                Kind.DATA,
                0,
                step,
                values_out,
                None,
                ADOPT | ALL,
                lambda: messages.append(connection.receive()),
            )
            values_out = []
            for slot in first.sent:
                slots[slot] = None
            if not messages:
                if connection.patience_seconds != seconds:
                    connection.set_patience(seconds)
                answer = connection.receive_in_time()
                if answer is None:
                    is_late = True
                else:
                    messages.append(answer)
        except UnavailableError as lost:
            error = lost
        except DeadlineExceededError:
            is_late = True
        if len(messages) == 1:
            kind, tag, id, tensors, _, flags = messages[0]
            if (kind, tag, flags & ~PREFETCHED) == self._answer and id == step:
                if not step & traffic.mask and tensors:
                    traffic.received(step, self._task, tag if kind == Kind.DATA else RESULT)
                return self._end(connection, slots, tensors, flags, values, count, read_at)
        return Fallback(
            self._prepared, step, count, connection, first, slots, read_at, messages, error, is_late
        )

    def _end(
        self,
        connection: Connection,
        slots: list[Any],
        tensors: list[Any],
        flags: int,
        values: Sequence[Any],
        count: int,
        read_at: int,
    ) -> list[Any]:
        num_inputs = self._num_inputs
        num_own = num_inputs + self._num_fetches
        if self._last.numbers:
            self._take_in(slots, tensors[:num_inputs])
            self._run_last(slots, read_at)
        if flags & PREFETCHED:
            prefetch.keep_reads(connection, self._prepared, count, tensors[num_own:])
        self._master.pool.give(connection)
        return self._collect(tensors[num_inputs:num_own], slots, values)
