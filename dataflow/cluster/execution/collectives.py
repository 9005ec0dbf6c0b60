"""Collective ops between tasks: the members meet at a leader, then the tensors go around a ring.

The leader is the first task of the members' job, or the session's
``config.experimental.collective_group_leader``. It only learns who has come and whether they agree
(`kernels.collective_groups.Rendezvous`); each tensor goes straight from a member to the next, on a
connection like any other (shared memory on one machine).

Who notices what: the leader, that a member's task is gone before all have come; a member, that its
neighbors in the ring are. The one that notices tells all others of the exchange.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.cluster.execution.common_vectors import Chosen, CommonVectors, as_told
from dataflow.cluster.execution.ring_link import RANK_SHIFT, Joined, Mailbox, TaskLink, Told
from dataflow.cluster.execution.task_session import current_step
from dataflow.cluster.execution.worker_threads import run_in_thread
from dataflow.cluster.transport.connection import Connection
from dataflow.cluster.transport.connection_pool import ConnectionPool
from dataflow.cluster.transport.doorbell import has_doorbells
from dataflow.cluster.transport.messages import Kind, Message
from dataflow.cluster.transport.method_table import LATER, answers
from dataflow.cluster.transport.remote_errors import describe_error, restore_error
from dataflow.cluster.transport.shm_common import CommonMemory
from dataflow.cluster.transport.sockets import wait_readable
from dataflow.errors import CancelledError, DeadlineExceededError, OpError, UnavailableError
from dataflow.kernels import collective_ring as ring
from dataflow.kernels.collective import late
from dataflow.kernels.collective_groups import Complete, Member, Rendezvous, Request, Ticket
from dataflow.kernels.malloc_tuning import keep_freed_memory

if TYPE_CHECKING:
    from dataflow.runtime.cancellation import Cancellation


#: How long telling another task of a failure may take.
_TELL_SECONDS = 2.0
#: Exchanges that are over are remembered, as their messages may still come.
_MOST_OVER = 4096
#: How long values are kept for an exchange that its member here has not begun.
_EARLY_SECONDS = 600.0


class Collectives:
    """The collective exchanges of one task, and the meeting place of those that it leads."""

    def __init__(
        self, task: str, pool: ConnectionPool, addresses: Callable[[], dict[str, str]]
    ) -> None:
        self.task = task
        self.pool = pool
        #: Distinguishes this task from one that was restarted at its address.
        self.incarnation = ""
        self._addresses = addresses
        self._rendezvous = Rendezvous()
        self._mailboxes: OrderedDict[tuple[int, int], Mailbox] = OrderedDict()
        self._over: OrderedDict[tuple[int, int], None] = OrderedDict()
        #: By connection: the task that has joined on it, its incarnation, and its sessions; and the
        #: tickets that wait.
        self._joined_on: dict[Connection, tuple[str, str, set[str]]] = {}
        self._tickets: dict[Connection, Ticket] = {}
        #: The incarnation of the leader that each session of this task has met in a group.
        self._led_by: OrderedDict[tuple[str, int | str], str] = OrderedDict()
        #: Cancels the exchanges that members of this task take part in, by number; `None`: closed.
        self._ends: dict[int, Callable[[], object]] | None = {}
        self._numbers = itertools.count()
        self._vectors = CommonVectors()
        #: Whether it failed once to open a leader's memory.
        self._shares_no_memory = False
        #: What a leader has chosen, by exchange, until all members are told.
        self._chosen: dict[int, Chosen | None] = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def _until_close(self, end: Callable[[], object]) -> Iterator[None]:
        """``end`` is called if the task stops inside the block; raises UnavailableError if it has."""
        with self._lock:
            if self._ends is None:
                raise UnavailableError(None, None, f"{self.task} has been stopped")
            number = next(self._numbers)
            self._ends[number] = end
        try:
            yield
        finally:
            with self._lock:
                if self._ends is not None:
                    self._ends.pop(number, None)

    def close(self) -> None:
        """End all exchanges: the task stops. Those who wait for its members find that they are gone."""
        with self._lock:
            ends, self._ends = self._ends or {}, None
        for end in ends.values():
            end()
        self._vectors.close()

    def end_session(self, session: str) -> None:
        """A session is over: give up the memory of its exchanges."""
        self._vectors.forget(session)

    # A member

    def run(self, context: Any, request: Request, value: Any, seconds: float) -> Any:
        """This member's result of an exchange; called by its kernel, on a thread that may wait."""
        keep_freed_memory()
        session = context.session
        seconds = min(seconds, session.exchange_seconds)
        deadline = time.monotonic() + seconds
        member = Member(self.task, context.op_device, session.name, request)
        leader = session.group_leader or self._default_leader()
        joined = self._join(member, leader, context.cancellation, seconds)
        key = joined.id, joined.rank
        mailbox = self._mailbox(key)
        assert mailbox is not None

        def cancel() -> None:
            mailbox.end(CancelledError(None, None, "the step was canceled"))

        token = context.cancellation.register(cancel)
        link = None
        gone = UnavailableError(None, None, f"{self.task} has been stopped")
        try:
            with self._until_close(lambda: mailbox.end(gone)):
                traffic, common = session.load.traffic, joined.common
                if isinstance(common, OpError):
                    raise common
                link = TaskLink(self, joined, request, mailbox, deadline, traffic, common)
                link.tracer = current_step.tracer
                return _exchange(link, request, value, joined.source)
        except BaseException as error:
            raise self._failed(error, member, joined) from None
        finally:
            context.cancellation.unregister(token)
            self._forget(key)
            if link is not None:
                link.close()

    def connect(self, task: str, deadline: float | None = None) -> Connection:
        """A connection to another task; `give` it back."""
        return self.pool.take(self._address(task), task, deadline=deadline)

    def give(self, connection: Connection) -> None:
        """Give a connection back. An exchange that fails at the other end may end it there even now
        (`Mailbox.end`): the next exchange would fail on it, and its leader wait for a member in vain."""
        self.pool.give(connection, may_end=True)

    def _address(self, task: str) -> str:
        address = self._addresses().get(task)
        if address is None:
            raise UnavailableError(
                None, None, f"{task} is not in the cluster that {self.task} belongs to"
            )
        return address

    def _default_leader(self) -> str:
        job = self.task.partition("/task:")[0] + "/task:"
        tasks = [task for task in self._addresses() if task.startswith(job)]
        return min(tasks, key=lambda task: int(task.removeprefix(job)), default=self.task)

    def _join(
        self, member: Member, leader: str, cancellation: Cancellation, seconds: float
    ) -> Joined:
        """Wait until all members have come; returns who they are."""
        outcome: SimpleQueue[Any] = SimpleQueue()
        if leader == self.task:
            # What others are told is chosen by the thread that answers them, in their order.
            ticket = self._rendezvous.join(
                member, lambda told: outcome.put(self._answer(told)), self._held("")
            )
            token = cancellation.register(
                lambda: self._rendezvous.leave(ticket, "was canceled, or another op of it failed")
            )
            try:
                with self._until_close(lambda: self._rendezvous.leave(ticket, "was stopped")):
                    answer = outcome.get(timeout=seconds)
            except Empty:
                error = late(member.request, *self._waiting(member.request), seconds)
                if self._rendezvous.leave(ticket, f"gave up: {error.message}"):
                    raise error from None
                answer = outcome.get()
            finally:
                cancellation.unregister(token)
        else:
            answer = self._join_remotely(member, leader, cancellation, seconds)
        if isinstance(answer, OpError):
            if cancellation.cancelled:
                raise CancelledError(
                    None, None, f"{member.request.name!r} was waiting when its step was canceled."
                )
            raise answer
        assert isinstance(answer, Joined)
        if leader == self.task and answer.common is not None:
            answer.common = self._vectors.of_leader(answer.common)
            if answer.common is None:
                answer.common = UnavailableError(None, None, f"{self.task} has been stopped")
        return answer

    def _join_remotely(
        self, member: Member, leader: str, cancellation: Cancellation, seconds: float
    ) -> Joined | OpError:
        request = member.request
        head: dict[str, Any] = {
            "method": "collective_join",
            "member": [*member[:3], [*request]],
            "incarnation": self.incarnation,
            "held": None,
        }

        try:
            connection = self.connect(leader)
            if connection.may_share:
                head["held"] = self._held(str(connection.greeting.get("incarnation")))
            if self._is_led_anew(member, connection):
                self.give(connection)
                return UnavailableError(
                    None,
                    None,
                    f"It cannot take part in {request.what}: {leader}, where the group meets, was "
                    "started again. Make a new session on every member, and give their variables the "
                    "same values again.",
                )
            token = cancellation.register(
                lambda: run_in_thread(
                    lambda: self._leave(leader, head["member"], "was canceled", connection)
                )
            )
            try:
                with self._until_close(connection.wake):
                    connection.send(Kind.CALL, head=head)
                    came = wait_readable([connection.fileno()], seconds)
                error = None
                if not came:
                    told = self._tell(leader, "collective_waiting", {"request": [*request]})
                    error = late(request, told["came"], told["missing"], seconds)
                    self._leave(leader, head["member"], f"gave up: {error.message}", connection)
                reply = connection.receive()
            finally:
                cancellation.unregister(token)
            if error is not None and reply.kind == Kind.ERROR:
                self.give(connection)
                return error
            self.give(connection)
            if reply.kind == Kind.ERROR:
                return restore_error(reply.head)
            told = reply.head or {}
            common = self._open(connection, as_told(told["common"]))
            return Joined(
                int(told["id"]), told["members"], int(told["rank"]), int(told["source"]), common
            )
        except (UnavailableError, DeadlineExceededError) as error:
            return UnavailableError(
                None,
                None,
                f"It cannot take part in {request.what}: the group meets at {leader}, "
                f"and that is lost: {error.message}",
            )

    def _leave(self, leader: str, member: list[Any], why: str, connection: Connection) -> None:
        """Tell the leader that a member does not wait any more."""
        try:
            self._tell(leader, "collective_leave", {"member": member, "why": why})
        except OpError:
            connection.wake()

    def _held(self, leader: str) -> list[int] | None:
        """Which memory of a leader's holds arrays here; ``None``: this task can share none now."""
        shares = has_doorbells() and not self._shares_no_memory and self.pool.faults.are_whole
        return self._vectors.held(leader) if shares else None

    def _open(self, connection: Connection, chosen: Chosen | None) -> CommonMemory | OpError | None:
        """The memory that a leader has chosen, or why it cannot be had."""
        if chosen is None:
            return None
        try:
            leader = str(connection.greeting.get("incarnation"))
            return self._vectors.open(leader, connection.peer_process, chosen)
        except (OSError, ValueError) as error:
            self._shares_no_memory = True  # the next exchange does without
            return UnavailableError(
                None, None, f"it cannot open the memory of {connection.peer}: {error}"
            )

    def _is_led_anew(self, member: Member, connection: Connection) -> bool:
        """Whether another leader than this one has seen earlier exchanges of the member's session.

        The new one knows nothing of the group, and its own session starts over: neither would end.
        """
        key = member.session, member.request.group_key
        now = str(connection.greeting.get("incarnation"))
        with self._lock:
            before = self._led_by.setdefault(key, now)
            if len(self._led_by) > _MOST_OVER:
                self._led_by.popitem(last=False)
        return before != now

    def _tell(self, task: str, method: str, head: dict[str, Any]) -> dict[str, Any]:
        """Call another task (or this one), which must answer soon."""
        deadline = time.monotonic() + _TELL_SECONDS
        connection = self.pool.take(self._address(task), task, _TELL_SECONDS, deadline)
        connection.send(Kind.CALL, head={"method": method, **head})
        reply = connection.receive()
        self.give(connection)
        if reply.kind == Kind.ERROR:
            raise restore_error(reply.head)
        return reply.head or {}

    def _failed(self, error: BaseException, member: Member, joined: Joined) -> BaseException:
        """The error of an exchange that has begun; the other members hear of it."""
        if isinstance(error, Told):
            return error.error
        if not isinstance(error, OpError):
            told: OpError = UnavailableError(None, None, f"{error}")
        else:
            told = error
        text = f"{member.request.what} failed at {member.task}: {told.message}"
        text = text[0].upper() + text[1:].rstrip(".") + "."
        kind = UnavailableError if isinstance(told, CancelledError) else type(told)
        head = {"id": joined.id, "error": describe_error(kind(None, None, text), self.task)}
        for task in {task for task, _ in joined.members}:
            ranks = [n for n, (t, _) in enumerate(joined.members) if t == task and n != joined.rank]

            def tell(task: str = task, ranks: list[int] = ranks) -> None:
                with contextlib.suppress(OpError):
                    if task == self.task:
                        self._abort(None, {**head, "ranks": ranks}, [])  # type: ignore[arg-type]
                    else:
                        self._tell(task, "collective_abort", {**head, "ranks": ranks})

            if ranks:
                run_in_thread(tell)
        return type(told)(None, None, text) if isinstance(error, OpError) else error

    # Messages

    def receive(self, connection: Connection, message: Message) -> None:
        """Take an array from a member before one of this task's."""
        mailbox = self._mailbox((message.id, message.tag >> RANK_SHIFT))
        if mailbox is not None:
            mailbox.put_first(message.tensors.pop(), connection)
        message.tensors.clear()

    def deliver(self, id: int, rank: int, array: np.ndarray) -> None:
        """Put an array into a member's mailbox, unless its exchange is over."""
        mailbox = self._mailbox((id, rank))
        if mailbox is not None:
            mailbox.items.put(array)

    def _mailbox(self, key: tuple[int, int]) -> Mailbox | None:
        with self._lock:
            found = self._mailboxes.get(key)
            if found is None and key not in self._over:
                found = self._mailboxes[key] = Mailbox()
                oldest, first = next(iter(self._mailboxes.items()))
                if found.since - first.since > _EARLY_SECONDS:
                    del self._mailboxes[oldest]
            return found

    def _forget(self, key: tuple[int, int]) -> None:
        with self._lock:
            self._mailboxes.pop(key, None)
            self._over[key] = None
            if len(self._over) > _MOST_OVER:
                self._over.popitem(last=False)

    @answers("collective_abort")
    def _abort(self, connection: Connection, head: dict[str, Any], tensors: list[Any]) -> None:
        error = restore_error(head["error"])
        for rank in head["ranks"]:
            mailbox = self._mailbox((int(head["id"]), int(rank)))
            if mailbox is not None:
                mailbox.end(Told(error))

    # The leader

    @answers("collective_join")
    def _answer_join(
        self, connection: Connection, head: dict[str, Any], tensors: list[Any]
    ) -> object:
        member = _member(head["member"])

        def answer(outcome: Complete | OpError) -> None:
            with self._lock:
                self._tickets.pop(connection, None)
            with contextlib.suppress(OpError):  # one that has gone meanwhile is missed in the ring
                if isinstance(outcome, OpError):
                    connection.send(Kind.ERROR, head=describe_error(outcome, self.task))
                else:
                    connection.send(Kind.REPLY, head=vars(self._answer(outcome)))

        with self._lock:
            new = (member.task, str(head["incarnation"]), set[str]())
            self._joined_on.setdefault(connection, new)[2].add(member.session)
        held = head["held"] if head["held"] is None else [*map(int, head["held"])]
        ticket = self._rendezvous.join(member, answer, held)
        with self._lock:
            if ticket.is_open:
                self._tickets[connection] = ticket
        return LATER

    def _answer(self, outcome: Complete | OpError) -> Any:
        """What a member is told when all have come; they are answered by rank, on one thread."""
        if isinstance(outcome, OpError):
            return outcome
        members, id, rank = outcome.members, outcome.id, outcome.rank
        if rank == 0:
            who = [(member.task, member.session) for member in members]
            held = [ticket.value for ticket in outcome.tickets]
            self._chosen[id] = self._vectors.choose(members[0].request, who, held)
        chosen = self._chosen[id] if rank + 1 < len(members) else self._chosen.pop(id)
        source = next((n for n, m in enumerate(members) if m.request.sends), 0)
        return Joined(id, [[*m.who] for m in members], rank, source, chosen)

    @answers("collective_leave")
    def _answer_leave(
        self, connection: Connection, head: dict[str, Any], tensors: list[Any]
    ) -> None:
        member = _member(head["member"])
        with self._lock:
            found = [t for t in self._tickets.values() if t.member == member]
        for ticket in found:
            self._rendezvous.leave(ticket, str(head["why"]))

    @answers("collective_waiting")
    def _answer_waiting(
        self, connection: Connection, head: dict[str, Any], tensors: list[Any]
    ) -> dict[str, Any]:
        came, missing = self._waiting(_request(head["request"]))
        return {"came": came, "missing": missing}

    def _waiting(self, request: Request) -> tuple[list[str], list[str]]:
        """Who has come for an exchange, and which tasks of this job have not, if it is all of them."""
        came = self._rendezvous.waiting(request)
        job = self.task.partition("/task:")[0] + "/task:"
        tasks = [task for task in self._addresses() if task.startswith(job)]
        here = {member.task for member in came}
        missing = sorted(set(tasks) - here) if len(tasks) == request.group_size else []
        return [str(member) for member in came], missing

    def connection_closed(self, connection: Connection) -> None:
        """A connection to this task has ended: perhaps its task is gone."""
        with self._lock:
            boxes = [box for box in self._mailboxes.values() if box.connection is connection]
            ticket = self._tickets.pop(connection, None)
            joined = self._joined_on.pop(connection, None)
        for box in boxes:
            box.end(
                UnavailableError(None, None, f"{connection.peer} is gone: its connection has ended")
            )
        if ticket is not None:
            self._rendezvous.leave(ticket, "has left: its connection has ended")
        if joined is not None and self._rendezvous.has_member(joined[0]):
            run_in_thread(lambda: self._look_for(*joined))

    def _look_for(self, task: str, incarnation: str, sessions: set[str]) -> None:
        """Check whether a task is still alive, and restart its groups if not."""
        why = "is gone: it died or was stopped"
        try:
            deadline = time.monotonic() + _TELL_SECONDS
            connection = self.pool.take(self._address(task), task, _TELL_SECONDS, deadline)
            if connection.greeting.get("incarnation") == incarnation:
                why = ""
            self.give(connection)
        except OpError:
            pass
        if why:
            self._rendezvous.lost(task, why, sessions)


def _exchange(link: TaskLink, request: Request, value: np.ndarray, source: int) -> Any:
    if value is not None:
        value = np.ascontiguousarray(value).reshape(request.shape)
    if request.kind == "reduce":
        return ring.all_reduce(link, value, request.merge, request.final)
    if request.kind == "gather":
        return ring.all_gather(link, value)
    if request.kind == "reduce_scatter":
        flat = value.reshape(-1)
        whole = link.vector(flat.dtype, len(flat))
        own = ring.reduce_scatter(link, flat, whole, request.merge, request.final)
        # The vector's memory goes back to the link; and the bounds of equal parts are whole rows.
        return np.array(own).reshape(request.shape[0] // link.size, *request.shape[1:])
    return ring.broadcast(link, value, source, request.dtype, request.shape)


def _request(fields: Sequence[Any]) -> Request:
    request = Request(*fields)
    return request._replace(shape=tuple(request.shape))


def _member(fields: Sequence[Any]) -> Member:
    task, device, session, request = fields
    return Member(str(task), str(device), str(session), _request(request))
