"""A step's partition whose messages come together, on the task that serves it: no turns, one answer.

Such a partition reads (`begin`, at the end of the step before), is sent what a worker has made of that,
and answers once: with what it fetches, and with the next reads. If it has to wait before its end,
for a token, that is its last segment, and it is tried again when there is news. `PartitionRun` does the
same for any partition and in any order of messages; it does the steps that are not of this kind, and
those that were not begun ahead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataflow.cluster.execution.compiled_partition import CompiledPartition
from dataflow.cluster.execution.partition_run import check_alive, run_in_thread
from dataflow.cluster.execution.resumable import ResumableRun, is_resumable, stages_in
from dataflow.cluster.execution.schedule import first_chain, next_chain, runner, take_in
from dataflow.cluster.transport.connection import Connection
from dataflow.cluster.transport.messages import Kind, ProtocolError
from dataflow.cluster.transport.remote_errors import describe_error
from dataflow.cluster.transport.step_flags import LAST, PREFETCHED
from dataflow.errors import UnavailableError

if TYPE_CHECKING:
    from dataflow.cluster.execution.worker_service import Registered, WorkerService

#: An answer in a frame of up to this size finds room in the socket, whoever's thread sends it.
_SMALL_BYTES = 1 << 14


class FastRunPlan:
    """The way of a partition that has no turns: what it reads, and what it does with the answer."""

    def __init__(self, partition: CompiledPartition, home: str) -> None:
        plan = partition.plan
        self.partition = partition
        self.reads = first_chain(partition)
        read_slots = [slot for _, _, slots in self.reads.sends for slot in slots]
        self.run_reads = runner(partition, self.reads, results=read_slots)
        self.rest = next_chain(partition, self.reads, range(len(plan.channels)))
        self.in_slots = [slot for slots, _ in plan.channels for slot in slots]
        last = self.rest.numbers[-1:]
        sends = plan.segments[last[0]].transfers if last else []
        self.channel = sends[0][1] if sends else None
        self.out_slots = [*(sends[0][2] if sends else ()), *plan.fetch_slots]
        self.is_fast = (
            bool(last)
            and not any(self.rest.pending)
            and not plan.feed_slots
            and not any(plan.segments[n].blocking for n in self.reads.numbers)
            and is_resumable(partition, self.rest)
            and self.rest.sends == list(sends)
            and len(sends) <= 1
            and all(task == home for task, _, _ in (*sends, *self.reads.sends))
        )
        self.stages = stages_in(partition, self.rest) if self.is_fast else []


class PrefetchedStep:
    """A step whose reads were done before anybody asked for it."""

    __slots__ = ("read_at", "registered", "slots")

    def __init__(self, registered: Registered, slots: list[Any], read_at: int) -> None:
        self.registered = registered
        self.slots = slots
        self.read_at = read_at


def begin(
    registered: Registered, connection: Connection
) -> tuple[PrefetchedStep, list[Any]] | None:
    """Do the reads of a step of the master on a connection; return it, and them.

    ``None`` where that fails, or is slowed down.

    The answer to a gradient then brings the new parameters. The master decides whether it uses
    them; if not, nothing has happened: only reads are done ahead.
    """
    plan = registered.fast_plan
    partition = plan.partition
    load = partition.session.load
    if load.delay_seconds:
        return None
    if partition.is_new:
        partition.count_run()
    slots = partition.new_slots(connection)
    prefetched = PrefetchedStep(registered, slots, load.num_updates)
    try:
        reads = plan.run_reads(slots, prefetched.read_at)
        if partition.structured:
            for value in reads:
                check_alive(value)
    except Exception:
        return None  # the step will say so when it is asked for
    for slot in plan.reads.sent:
        slots[slot] = None
    return prefetched, reads


class FastRun(ResumableRun):
    """The rest of a step that was prefetched: from its messages to its answer.

    The master hears of the end once, by DONE, DATA with LAST, or ERROR; after `cancel` it is told
    nothing.
    """

    __slots__ = ("_connection", "_registered", "_service", "_step")

    def __init__(
        self,
        service: WorkerService,
        prefetched: PrefetchedStep,
        connection: Connection,
        step: int,
        tensors: list[Any],
    ) -> None:
        """Take the messages, which are given away."""
        registered = prefetched.registered
        plan = registered.fast_plan
        super().__init__(plan.stages, prefetched.slots, prefetched.read_at)
        self._service = service
        self._registered = registered
        self._connection = connection
        self._step = step
        take_in(prefetched.slots, plan.in_slots, tensors)
        # What came through memory that the sender wants to use again must go when it was used.
        tensors.clear()

    def deliver(self, channel: int, tensors: Any, elsewhere: bool = False) -> None:
        """A step that has all of its messages gets no other."""
        raise ProtocolError(f"step {self._step} was sent a tensor, and had all of them")

    def _hold(self) -> None:
        self._service.keep(self._step, self, self._connection)

    def _end(self, on_notifier: bool) -> None:
        connection = self._connection
        if on_notifier and not connection.may_share and connection.largest_sent > _SMALL_BYTES:
            run_in_thread(self._answer)
        else:
            self._answer()

    def _answer(self) -> None:
        registered, slots, connection = self._registered, self._slots, self._connection
        plan = registered.fast_plan
        if self._watcher is not None:
            self._service.forget(self._step)
        tensors = [slots[slot] for slot in plan.out_slots]
        slots.clear()
        flags = 0
        ahead = begin(registered, connection)
        if ahead is not None:
            connection.ahead, reads = ahead
            tensors += reads
            del ahead, reads
            flags = PREFETCHED
        try:
            if plan.channel is not None:
                connection.send(Kind.DATA, plan.channel, self._step, tensors, None, flags | LAST)
            else:
                count = len(plan.partition.plan.fetch_slots)
                connection.send(Kind.DONE, count, self._step, tensors, None, flags)
        except UnavailableError:
            pass  # the master is gone
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self._service.forget(self._step)
        self._connection.ahead = None
        try:
            head = describe_error(error, self._service.task)
            self._connection.send(Kind.ERROR, 0, self._step, head=head)
        except UnavailableError:
            pass  # the master is gone; nobody wants to know any more
