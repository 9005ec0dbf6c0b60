"""The worker service of a task: partitions are registered once and then only run.

One thread per connection receives messages and runs what they make ready. A connection whose other end
is a master is the *home* of that master's steps: their results are sent on it, and they are canceled
when it ends.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from dataflow.cluster.execution.collectives import Collectives
from dataflow.cluster.execution.compiled_partition import CompiledPartition
from dataflow.cluster.execution.explain import code_of
from dataflow.cluster.execution.home_transport import HomeTransport, PrefetchedStep, Registered
from dataflow.cluster.execution.linear_run import LinearRun
from dataflow.cluster.execution.partition_run import PartitionRun
from dataflow.cluster.execution.server_loop import ServerSideLoop
from dataflow.cluster.execution.step_tracer import StepTracer
from dataflow.cluster.execution.task_load import TaskLoad
from dataflow.cluster.execution.task_session import TaskSession
from dataflow.cluster.execution.traffic import ALL_CHANNELS, FEEDS
from dataflow.cluster.execution.worker_threads import run_in_thread
from dataflow.cluster.partition.partition_codec import decode_partition
from dataflow.cluster.transport.connection import Connection
from dataflow.cluster.transport.connection_pool import ConnectionPool
from dataflow.cluster.transport.messages import Kind, Message, ProtocolError
from dataflow.cluster.transport.method_table import LATER, MethodTable, answers
from dataflow.cluster.transport.remote_errors import describe_error
from dataflow.cluster.transport.shm_send import SHARE_FROM_BYTES
from dataflow.cluster.transport.step_flags import (
    ADOPT,
    ALL,
    CHANNEL_SHIFT,
    HAS_DATA,
    MAX_HANDLE,
    REPEAT,
    TRACE,
    VALUES,
    WANT_NEXT,
)
from dataflow.errors import NotFoundError, OpError, UnavailableError
from dataflow.rewrites.options import RewriteOptions
from dataflow.runtime.resources import ResourceManager

log = logging.getLogger("dataflow.cluster")

#: Messages up to this size may be handled on a shared thread, if what is sent on their connection is no
#: larger either: in shared memory, and in a frame, for which the socket must have room.
_SHORT_BYTES, _SHORT_FRAME_BYTES = 1 << 18, 1 << 14
#: The threads of so many sessions' connections do not get in each other's way.
_FEW_SESSIONS = 8
_DATA = int(Kind.DATA)
#: Messages for steps that have not begun here are kept this long.
_EARLY_SECONDS = 600.0


class WorkerService:
    """Holds a task's variables and runs partitions on them.

    Calls are answered by its methods and those of ``services`` that are marked (`method_table.answers`).
    """

    def __init__(
        self,
        task: str,
        pool: ConnectionPool,
        resources: ResourceManager,
        services: Sequence[object] = (),
        collectives: Collectives | None = None,
    ) -> None:
        self.task = task
        self.pool = pool
        self.resources = resources
        self.num_steps = 0
        self.load = TaskLoad()
        self.started = time.time()
        self.methods = MethodTable(
            task, (self, *([] if collectives is None else [collectives]), *services)
        )
        self.collectives = collectives
        self.on_connection_closed: list[Callable[[Connection], None]] = []
        self._partitions: dict[int, Registered] = {}
        self._sessions: dict[str, TaskSession] = {}
        #: The steps in progress, so that the end of their connection cancels them; of linear runs those
        #: that may wait.
        self.runs: dict[int, tuple[PartitionRun | ServerSideLoop | LinearRun, Connection]] = {}
        self._repeated: dict[int, ServerSideLoop] = {}
        self._early: OrderedDict[int, tuple[float, list[tuple[int, list[Any]]]]] = OrderedDict()
        self._next_handle = 0
        self._lock = threading.Lock()

    def task_session(self, session: str) -> TaskSession:
        """Return the state that a master's session keeps on this task."""
        with self._lock:
            found = self._sessions.get(session)
            if found is None:
                found = self._sessions[session] = TaskSession(
                    self.resources, self.load, self.task, session, self.collectives
                )
            return found

    # Messages

    def handle(self, connection: Connection, message: Message) -> None:
        """Handle one message, on the connection's thread."""
        kind, _, step, tensors, _, flags = message
        load = self.load
        if not step & load.traffic.mask and tensors:
            self._note_received(connection, message)
        if kind == _DATA:
            if flags & ADOPT:
                ahead: PrefetchedStep | None = connection.ahead
                if flags & ALL and ahead is not None and not load.delay_seconds:
                    registered, slots, read_at, transport = ahead
                    if registered.schedule is not None:
                        # The usual step of a loop, all of which is known.
                        connection.ahead = None
                        self.num_steps += 1
                        transport.run_all(step, slots, read_at, tensors)
                        return
                self._adopt(connection, message)
            else:
                self._data(connection, message)
        elif kind == Kind.RUN:
            self._run(connection, message)
        elif kind == Kind.CALL:
            self._call(connection, message)
        elif kind == Kind.COLLECTIVE and self.collectives is not None:
            self.collectives.receive(connection, message)
        elif kind == Kind.PING:
            repeated = self._repeated.get(message.id)
            count = 0 if repeated is None else repeated.count & 0xFFFFFFFF
            connection.send(Kind.PONG, count, message.id)
        elif kind == Kind.CANCEL:
            repeated = self._repeated.get(message.id)
            if repeated is not None:
                repeated.finish()
        else:
            raise ProtocolError(f"a task was sent {Kind(kind).name}, which it does not take")

    def _note_received(self, connection: Connection, message: Message) -> None:
        flags, channel = message.flags, message.tag
        if message.kind == Kind.RUN:
            channel = channel >> CHANNEL_SHIFT if flags & HAS_DATA else FEEDS
        elif message.kind != _DATA:
            return
        elif flags & ADOPT and flags & ALL:
            channel = ALL_CHANNELS
        self.load.traffic.received(message.id, connection.peer, channel)

    @answers("traffic")
    def _traffic(
        self, connection: Connection, head: dict[str, Any], tensors: list[Any]
    ) -> dict[str, Any]:
        """What `Traffic.read` returns, and where each master is with its steps here."""
        load = self.load
        with self._lock:
            runs = list(self.runs.values())
        waiting = {
            home.peer
            for run, home in runs
            if not isinstance(run, ServerSideLoop) and run.waits_for_queue()
        }
        tokens = [q.size() for name, q in self.resources.items("queue") if "sync_token" in name]
        return load.traffic.read(int(head["mask"])) | {
            "updates": load.num_updates,
            "versions": dict(load.version_of),
            "waiting": sorted(waiting),
            "tokens": tokens[-1] if tokens else None,
        }

    def is_short(self, connection: Connection, message: Message) -> bool:
        """Whether one thread should handle a message for all connections.

        It must be a small step of updates and reads, as other connections wait in the meantime; and
        whatever is sent on the connection must fit into the socket's buffer unread, as a peer may be
        stopped. A thread per connection is still better, by a quarter of the steps per second, if a
        worker and its thread only alternate, as they stay on one processor then. Threads get in each
        other's way if steps wait for each other, if NumPy releases the interpreter's lock in the
        middle of a step, as it does for larger arrays, or if there are many: with 64 workers a small
        step took four changes of threads and a sixth more of the processor's time.
        """
        limit = _SHORT_BYTES if connection.may_share else _SHORT_FRAME_BYTES
        size = connection.largest_sent
        if size > limit:
            return False
        kind, flags, registered = message.kind, message.flags, None
        if kind == _DATA:
            if flags & ADOPT:
                ahead = connection.ahead
                registered = ahead.registered if ahead is not None else None
            else:
                run, home = self.runs.get(message.id, (None, None))
                if home is connection and type(run) is PartitionRun:
                    registered = getattr(run.transport, "registered", None)
        elif kind == Kind.RUN:
            if not flags & (REPEAT | TRACE):
                registered = self._partitions.get(message.tag & MAX_HANDLE)
        else:
            return kind == Kind.PING
        if registered is None or not registered.is_quick or self.load.delay_seconds:
            return False
        if (
            not registered.waits
            and size < SHARE_FROM_BYTES
            and len(self._sessions) <= _FEW_SESSIONS
        ):
            return False
        for tensor in message.tensors:
            limit -= tensor.nbytes
        return limit >= 0

    def connection_closed(self, connection: Connection) -> None:
        """Cancel the steps whose master was at the other end."""
        with self._lock:
            orphans = [step for step, (_, home) in list(self.runs.items()) if home is connection]
            runs = [self.runs.pop(step)[0] for step in orphans]
            for step in orphans:
                self._repeated.pop(step, None)
        for run in runs:
            run.cancel()
        for callback in self.on_connection_closed:
            callback(connection)

    def _run(self, connection: Connection, message: Message) -> None:
        step = message.id
        registered = self._partitions.get(message.tag & MAX_HANDLE)
        if registered is None:
            error = NotFoundError(
                None,
                None,
                f"{self.task} has no partition {message.tag & MAX_HANDLE}: its session was closed.",
            )
            connection.send(Kind.ERROR, 0, step, head=describe_error(error, self.task))
            return
        connection.ahead = None
        if message.flags & REPEAT:
            self._repeat(registered.partition, connection, step)
            return
        self.num_steps += 1
        flags = message.flags
        tracer = StepTracer(bool(flags & VALUES)) if flags & TRACE else None
        want_next = bool(flags & WANT_NEXT)
        transport = HomeTransport(self, registered, connection, step, want_next, tracer)
        allocator = connection if registered.sends_home and tracer is None else None
        run = PartitionRun(
            registered.partition, step, transport, tracer=tracer, allocator=allocator
        )
        with self._lock:
            self.runs[step] = (run, connection)
            early = self._early.pop(step, None)
        if message.flags & HAS_DATA:
            run.start(())
            run.deliver(message.tag >> CHANNEL_SHIFT, message.tensors)
        else:
            run.start(message.tensors)
        if early is not None:
            for channel, tensors in early[1]:
                run.deliver(channel, tensors)

    def _repeat(self, partition: CompiledPartition, connection: Connection, step: int) -> None:
        repeated = ServerSideLoop(self, partition, connection, step)
        with self._lock:
            self.runs[step] = (repeated, connection)
            self._repeated[step] = repeated
        repeated.begin()

    def _adopt(self, connection: Connection, message: Message) -> None:
        prefetched: PrefetchedStep | None = connection.ahead
        connection.ahead = None
        if prefetched is None:
            raise ProtocolError("a step is to be adopted that was not begun")
        registered, slots, read_at, transport = prefetched
        self.num_steps += 1
        step = message.id
        partition, transport.step = registered.partition, step
        run = PartitionRun(partition, step, transport)
        run.go_on(registered.reads, slots, read_at)
        with self._lock:
            self.runs[step] = (run, connection)
            early = self._early.pop(step, None)
        if message.flags & ALL:
            at = 0
            for channel, (slots, _) in enumerate(partition.plan.channels):
                run.deliver(channel, message.tensors[at : at + len(slots)])
                at += len(slots)
        else:
            run.deliver(message.tag, message.tensors)
        if early is not None:
            for channel, tensors in early[1]:
                run.deliver(channel, tensors)

    def _data(self, connection: Connection, message: Message) -> None:
        with self._lock:
            found = self.runs.get(message.id)
            if found is None:
                self._keep_early(message)
                return
        run, home = found
        if type(run) is not PartitionRun:
            raise ProtocolError(f"step {message.id} was sent a tensor that it does not wait for")
        # Computing never holds up a connection between two tasks: both might be sending to each
        # other, and neither would receive.
        run.deliver(message.tag, message.tensors, elsewhere=home is not connection)

    def _keep_early(self, message: Message) -> None:
        now = time.monotonic()
        while self._early:
            step, (since, _) = next(iter(self._early.items()))
            if now - since < _EARLY_SECONDS:
                break
            del self._early[step]
        _, messages = self._early.setdefault(message.id, (now, []))
        messages.append((message.tag, message.tensors))

    def forget(self, step: int) -> None:
        """The step is over on this task."""
        self.runs.pop(step, None)
        if self._repeated:
            self._repeated.pop(step, None)

    # Calls

    def _call(self, connection: Connection, message: Message) -> None:
        head = message.head or {}

        def answer() -> None:
            try:
                method = self.methods.find(str(head.get("method", "")))
                result = method(connection, head, message.tensors)
                if result is LATER:
                    return
                reply, tensors = result if isinstance(result, tuple) else (result, ())
                connection.send(Kind.REPLY, 0, message.id, tensors, reply or {})
            except UnavailableError as error:
                if not connection.closed:
                    connection.send(
                        Kind.ERROR, 0, message.id, head=describe_error(error, self.task)
                    )
            except Exception as error:
                if not isinstance(error, OpError):
                    log.exception("%s: %s failed", self.task, head.get("method"))
                if not connection.closed:
                    connection.send(
                        Kind.ERROR, 0, message.id, head=describe_error(error, self.task)
                    )

        if head.get("slow"):
            run_in_thread(answer)  # so that the connection's thread notices when the caller is gone
        else:
            answer()

    @answers("register")
    def _register(
        self, connection: Connection, head: dict[str, Any], tensors: list[Any]
    ) -> dict[str, Any]:
        session = str(head["session"])
        plan = decode_partition(head["partition"], tensors)
        options = head.get("rewrites")
        self.task_session(session).group_by(*head.get("collectives", ("", None)))
        partition = CompiledPartition(
            plan,
            self.task_session(session),
            None if options is None else RewriteOptions(*options),
            bool(head.get("soft", True)),
            bool(head.get("traced", False)),
        )
        with self._lock:
            self._next_handle += 1
            handle = self._next_handle
            self._partitions[handle] = Registered(
                partition, session, str(head["home"]), dict(head["addresses"])
            )
        return {"handle": handle, "on_gpus": partition.on_gpus}

    @answers("explain")
    def _explain(
        self, connection: Connection, head: dict[str, Any], tensors: list[Any]
    ) -> dict[str, Any]:
        options = head.get("rewrites")
        plan = decode_partition(head["partition"], tensors)
        return {
            "code": code_of(
                plan, self.resources, None if options is None else RewriteOptions(*options)
            )
        }

    @answers("close_session")
    def close_session(
        self, connection: Connection, head: dict[str, Any], tensors: list[Any]
    ) -> None:
        session = str(head["session"])
        with self._lock:
            self._sessions.pop(session, None)
            for handle in [h for h, r in self._partitions.items() if r.session == session]:
                del self._partitions[handle]
        if self.collectives is not None:
            self.collectives.end_session(session)

    @answers("reset")
    def _reset(self, connection: Connection, head: dict[str, Any], tensors: list[Any]) -> None:
        self.resources.reset(head.get("containers") or None)

    def cancel_all(self) -> None:
        """Cancel every step; called when the task stops."""
        with self._lock:
            runs = [run for run, _ in self.runs.values()]
            self.runs.clear()
            self._repeated.clear()
        for run in runs:
            run.cancel()
