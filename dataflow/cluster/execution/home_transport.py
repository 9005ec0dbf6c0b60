"""A registered partition, and how its steps answer their master: with results, and the next reads.

The master decides whether it uses the prefetched reads of a next step. If it does not, no harm is
done, as only reads are prefetched.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from dataflow.cluster.execution.compiled_partition import CompiledPartition
from dataflow.cluster.execution.linear_run import LinearRun, LinearSchedule, linear_schedule
from dataflow.cluster.execution.partition_run import check_alive
from dataflow.cluster.execution.schedule import first_chain, next_chain, runner, taker
from dataflow.cluster.execution.step_tracer import StepTracer
from dataflow.cluster.execution.traffic import RESULT, names_of_slots, names_of_transfer
from dataflow.cluster.transport.connection import Connection
from dataflow.cluster.transport.messages import Kind
from dataflow.cluster.transport.remote_errors import describe_error
from dataflow.cluster.transport.step_flags import LAST, PREFETCHED
from dataflow.errors import UnavailableError

if TYPE_CHECKING:
    from dataflow.cluster.execution.worker_service import WorkerService

#: A frame of up to this size finds room in the socket.
_SMALL_BYTES = 1 << 14
_new_tuple = tuple.__new__


class PrefetchedStep(NamedTuple):
    """A step whose reads were done before its master asked for it."""

    registered: Registered
    slots: list[Any]
    read_at: int
    #: That of the step before, on the same connection, which has ended.
    transport: HomeTransport


class Registered:
    """A partition that a master registered, and what can be decided about its steps before they run."""

    def __init__(
        self, partition: CompiledPartition, session: str, home: str, addresses: dict[str, str]
    ) -> None:
        plan = partition.plan
        self.partition = partition
        self._load = partition.session.load
        self.session = session
        self.home = home
        self.addresses = addresses
        self.waits = partition.num_blocking > 0
        self.sends_home = all(task == home for s in plan.segments for task, _, _ in s.transfers)
        #: A step runs on the receiving thread, without waiting for any other task.
        self.is_quick = partition.is_quick and self.sends_home
        self.reads = first_chain(partition)
        read_slots = [slot for _, _, slots in self.reads.sends for slot in slots]
        self._run_reads = runner(partition, self.reads, results=read_slots)
        self.take_in = taker([slot for slots, _ in plan.channels for slot in slots])
        self._empty = partition.new_slots()[:-1]
        rest = next_chain(partition, self.reads, range(len(plan.channels)))
        sends = plan.segments[rest.numbers[-1]].transfers if rest.numbers else []
        is_linear = (
            bool(rest.numbers)
            and not any(rest.pending)
            and not plan.feed_slots
            and not any(plan.segments[n].blocking for n in self.reads.numbers)
            and rest.sends == sends
            and len(sends) <= 1
            and all(send[0] == home for send in (*sends, *self.reads.sends))
        )
        #: The linear schedule, if there is one, that a prefetched step runs once its messages have arrived.
        self.schedule: LinearSchedule | None = None
        if is_linear:
            self.schedule = linear_schedule(partition, rest)
        #: The kind, tag and flags of the frame that ends a linear step.
        self.answer = (Kind.DATA, sends[0][1], LAST) if sends else (Kind.DONE, len(plan.fetches), 0)

    def names_of_answer(self, channel: int) -> list[str]:
        """The names of what goes home at a step's end: a last message, fetches, the next reads."""
        plan = self.partition.plan
        names = [] if channel == RESULT else names_of_transfer(plan, self.home, channel)
        names += [tensor.name for tensor in plan.fetches]
        return names + names_of_slots(plan, [s for _, _, slots in self.reads.sends for s in slots])

    def prefetch(self, transport: HomeTransport) -> list[Any] | None:
        """Do the reads of the next step of the master at the other end of ``transport``; return them.

        ``None`` if a read fails, or the task is slowed down.
        """
        connection, partition = transport.connection, self.partition
        load = self._load
        if load.delay_seconds:
            return None
        if partition.is_new:
            partition.count_run()
        slots = [*self._empty, connection]
        read_at = load.num_updates
        try:
            reads = self._run_reads(slots, read_at)
            if partition.structured:
                for value in reads:
                    check_alive(value)
        except Exception:
            return None  # the step itself will report the error
        for slot in self.reads.sent:
            slots[slot] = None
        # As `PrefetchedStep(...)`, whose `__new__` is a function in Python.
        connection.ahead = _new_tuple(PrefetchedStep, (self, slots, read_at, transport))
        return reads


class HomeTransport:
    """Sends a step's results to its master, and to other tasks the tensors that they need.

    The master hears of the end once, by DONE, DATA with LAST, or ERROR. When a step has ended, a prefetched
    one may take the object over, with its own ``step``: a linear one finds all that it needs in the `LinearRun`
    that the first such step has made.
    """

    __slots__ = (
        *("_answer", "_run", "_service", "connection", "registered", "step", "tracer"),
        "want_next",
    )

    def __init__(
        self,
        service: WorkerService,
        registered: Registered,
        connection: Connection,
        step: int,
        want_next: bool,
        tracer: StepTracer | None = None,
    ) -> None:
        self.registered = registered
        self.connection = connection
        self.want_next = want_next
        self.tracer = tracer
        self._service = service
        self.step = step
        self._run: LinearRun | None = None
        self._answer = registered.answer

    def run_all(self, step: int, slots: list[Any], read_at: int, tensors: list[Any]) -> None:
        """Run a prefetched step, all of whose messages have arrived, by the partition's schedule."""
        registered, run = self.registered, self._run
        schedule = registered.schedule
        assert schedule is not None
        if run is None:
            run = self._run = LinearRun(schedule, self)
        self.step = step
        registered.take_in(slots, tensors)
        tensors.clear()
        if schedule.waits:
            self._service.runs[step] = run, self.connection
        run.begin(slots, read_at)

    def send(self, task: str, channel: int, tensors: list[Any]) -> None:
        if self.tracer is not None:
            self.tracer.send(self._send, task, channel, tensors)
        else:
            self._send(task, channel, tensors)

    def _send(self, task: str, channel: int, tensors: list[Any]) -> None:
        registered = self.registered
        traffic = registered.partition.session.load.traffic
        if not self.step & traffic.mask:
            names = partial(names_of_transfer, registered.partition.plan, task, channel)
            traffic.sent(self.step, task, channel, names, tensors)
        if task == registered.home:
            self.connection.send(Kind.DATA, channel, self.step, tensors)
            return
        pool = self._service.pool
        connection = pool.take(registered.addresses[task], task)
        connection.send(Kind.DATA, channel, self.step, tensors)
        pool.give(connection)

    def may_block(self) -> bool:
        connection = self.connection
        return not connection.may_share and connection.largest_sent > _SMALL_BYTES

    def ended(self, results: list[Any]) -> None:
        """A linear step has ended: answer it, with the reads of the next one."""
        registered, connection, step = self.registered, self.connection, self.step
        kind, tag, flags = self._answer
        service = self._service
        service.runs.pop(step, None)
        if self.want_next:
            reads = registered.prefetch(self)
            if reads is not None:
                results = [*results, *reads] if results else reads
                flags |= PREFETCHED
        traffic = service.load.traffic
        if not step & traffic.mask:
            channel = tag if kind == Kind.DATA else RESULT
            names = partial(registered.names_of_answer, channel)
            traffic.sent(step, registered.home, channel, names, results)
        connection.send(kind, tag, step, results, None, flags)

    def done(self, fetches: list[Any], last: Sequence[tuple[str, int, list[Any]]]) -> None:
        registered, connection, step = self.registered, self.connection, self.step
        home: tuple[str, int, list[Any]] | None = None
        for transfer in last:
            if transfer[0] == registered.home and self.tracer is None:
                home = transfer
            else:
                self.send(*transfer)
        self._service.runs.pop(step, None)
        tensors, head, flags = fetches, None, 0
        if self.tracer is not None:
            head, arrays = self.tracer.encode()
            tensors = [*fetches, *arrays]
        elif self.want_next:
            reads = registered.prefetch(self)
            if reads is not None:
                tensors = [*fetches, *reads] if fetches else reads
                flags = PREFETCHED
        traffic = registered.partition.session.load.traffic
        if not step & traffic.mask and self.tracer is None:
            channel = RESULT if home is None else home[1]
            names = partial(registered.names_of_answer, channel)
            sent = tensors if home is None else [*home[2], *tensors]
            traffic.sent(step, registered.home, channel, names, sent)
        if home is not None:
            tensors = [*home[2], *tensors]
            connection.send(Kind.DATA, home[1], step, tensors, None, flags | LAST)
        else:
            connection.send(Kind.DONE, len(fetches), step, tensors, head, flags)

    def failed(self, error: Exception) -> None:
        self._service.forget(self.step)
        self.connection.ahead = None
        try:
            head = describe_error(error, self._service.task)
            self.connection.send(Kind.ERROR, 0, self.step, head=head)
        except UnavailableError:
            pass  # the master is gone
