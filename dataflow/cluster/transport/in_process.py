"""Connections between the tasks of one process, where there are neither sockets nor threads.

Messages lie in the `mail` until a task has to wait; then it is delivered, one message after the
other, in the order in which it was sent: `wait_until`. Its receiver handles it there and then, as the
thread of its connection would elsewhere (`WorkerService.handle`). A task that is paused gets no mail
until it goes on, and one that is slowed down gets the beginning of each step later by its delay.
"""

from __future__ import annotations

import itertools
import json
import logging
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dataflow.addresses import split_address
from dataflow.cluster.transport import messages, registry
from dataflow.cluster.transport.connection_errors import stopped_error
from dataflow.cluster.transport.messages import Kind, Message
from dataflow.errors import (
    DeadlineExceededError,
    InvalidArgumentError,
    UnauthenticatedError,
    UnavailableError,
)
from dataflow.runtime.cooperative import Suspended, Wait, scheduler

if TYPE_CHECKING:
    from dataflow.cluster.transport.link_faults import LinkFaults


log = logging.getLogger("dataflow.cluster")

#: How long a task that is not there may take to be started again.
_PATIENCE_SECONDS = 0.5


class Handler(Protocol):
    """The handler of a task's messages."""

    load: Any

    def handle(self, connection: Any, message: Message) -> None:
        """Handle one message."""

    def connection_closed(self, connection: Any) -> None:
        """The other end is gone."""


class Mail:
    """What was sent and has not arrived, and what a thread of its own would do elsewhere."""

    def __init__(self) -> None:
        #: (when it may arrive, the end that it is for, what its arrival does), in order.
        self._waiting: deque[tuple[float, InProcessConnection | None, Callable[[], None]]] = deque()

    def later(self, function: Callable[[], None]) -> None:
        """Call ``function`` when a task waits."""
        self._waiting.append((0.0, None, function))

    def post(self, end: InProcessConnection, seconds: float, arrive: Callable[[], None]) -> None:
        """Let something arrive at the end of a connection ``seconds`` from now."""
        self._waiting.append((time.monotonic() + seconds if seconds else 0.0, end, arrive))

    def next_time(self) -> float | None:
        """When the next item can arrive: in the past if one can now; None if none will by itself."""
        return min((at for _, at in self._first()), default=None)

    def can_deliver(self) -> bool:
        """Whether something can arrive now."""
        at = self.next_time()
        return at is not None and at <= time.monotonic()

    def deliver(self) -> bool:
        """Let one item arrive; False where none can now."""
        now = time.monotonic()
        for number, at in self._first():
            if at <= now:
                _, _, arrive = self._waiting[number]
                del self._waiting[number]
                arrive()
                return True
        return False

    def _first(self) -> Iterator[tuple[int, float]]:
        """Number and time of the next message on each connection, except of paused tasks."""
        seen: set[InProcessConnection] = set()
        for number, (at, end, _) in enumerate(self._waiting):
            if end is None:
                yield number, at
            elif end not in seen:
                seen.add(end)  # what came later does not overtake it
                if end.listener is None or not end.listener.is_paused:
                    yield number, at


mail = Mail()


def wait_until(
    what: str, ready: Callable[[], bool], deadline: float | None = None, may_leave: bool = False
) -> bool:
    """Deliver mail, and let tasks of the scheduler run, until ``ready()``; False after the deadline.

    A deadline (of `time.monotonic`) before which nothing more can happen has passed at once. With
    ``may_leave`` a task's own run is left by `Suspended`, and called again when it can go on. Raises
    FailedPreconditionError for a wait without a deadline that nothing can end.
    """
    while not ready():
        if mail.deliver():
            continue
        if deadline is not None and time.monotonic() >= deadline:
            return False
        arrives = mail.next_time()
        limits = [at for at in (arrives, deadline) if at is not None]
        wait = Wait(what, lambda: ready() or mail.can_deliver(), min(limits, default=None))
        if may_leave and _may_leave():
            raise Suspended(wait)
        passes = arrives is not None and (deadline is None or arrives < deadline)
        if not scheduler.wait(wait, sleeps=passes) and not passes:
            return ready()
    return True


def leave_or_wait(wait: Wait) -> None:
    """Let the time of a wait pass, as a task's own run by `Suspended`."""
    if _may_leave():
        raise Suspended(wait)
    if scheduler.running and wait.until is not None:
        # In the middle of a call of a task's function: who had a turn now could wait for that call.
        time.sleep(max(0.0, wait.until - time.monotonic()))
    else:
        scheduler.wait(wait, sleeps=True)


def _may_leave() -> bool:
    step = scheduler.step
    return step is not None and step.resumable and scheduler.depth == 0


class InProcessConnection:
    """One end of a connection within this process; see `Connection`, whose interface it has.

    ``listener`` is that of the task at this end; None at the end of who connected.
    """

    may_share = False
    largest_sent = 0
    peer_limit_bytes = 1 << 62
    patience_seconds = None
    line = None  # links have no faults here
    shared_bytes_sent = shared_bytes_received = 0

    def __init__(self, peer: str, listener: InProcessListener | None) -> None:
        self.peer = peer
        self.listener = listener
        self.other: InProcessConnection = self
        self.deadline: float | None = None
        self.closed = self.ended = False
        self.greeting: dict[str, Any] = {}
        self.address = ""
        self.used = 0.0
        self.ahead: Any = None
        self.bytes_sent = self.bytes_received = 0
        self._inbox: deque[Message] = deque()

    def fileno(self) -> int:
        """There is no file: -1."""
        return -1

    def send(
        self,
        kind: int,
        tag: int = 0,
        id: int = 0,
        tensors: Sequence[Any] = (),
        head: dict[str, Any] | None = None,
        flags: int = 0,
        while_full: Callable[[], None] | None = None,
        hold: bool = False,
    ) -> None:
        """Post one message. Raises UnavailableError when the peer is gone."""
        if self.closed or self.ended or self.other.closed:
            self.close()
            raise self._lost()
        # Encoded as elsewhere: what cannot travel is refused, and bytes are counted.
        size = 0
        for part in messages.encode(kind, tag, id, tensors, head, flags):
            size += part.nbytes if isinstance(part, np.ndarray | np.generic) else len(part)
        self.bytes_sent += size
        copies = [_copied(value) for value in tensors]
        text = None if head is None else json.loads(json.dumps(head))
        message = Message(int(kind), tag, id, copies, text, flags)
        other, receiver = self.other, self.other.listener
        delay = 0.0
        if receiver is not None and kind == Kind.RUN:
            delay = receiver.delay_seconds
        mail.post(other, delay, lambda: other._arrive(message, size))

    def _arrive(self, message: Message, size: int) -> None:
        if self.closed:
            return
        self.bytes_received += size
        if self.listener is None:
            self._inbox.append(message)
            return
        try:
            self.listener.handler.handle(self, message)
        except UnavailableError:
            self.close()
        except Exception:
            log.exception("%s: a message could not be handled", self.listener.task)
            self.close()

    def receive(self) -> Message:
        """Return the next message; wait for it. Raises as `Connection.receive`."""
        what = f"an answer of {self.peer}"
        if not wait_until(what, lambda: self.has_frame() or self.has_ended(), self.deadline):
            self.close()
            raise DeadlineExceededError(
                None, None, f"{self.peer} at {self.address} did not answer in time. It is paused."
            )
        if self._inbox:
            return self._inbox.popleft()
        self.close()
        raise self._lost()

    def has_frame(self) -> bool:
        """Whether a message has arrived."""
        return bool(self._inbox)

    def has_ended(self) -> bool:
        """Whether no further message will arrive."""
        return self.closed or self.ended

    def is_quiet(self) -> bool:
        """Whether an idle connection is alive: nothing to read, no end."""
        return not (self._inbox or self.closed or self.ended or self.other.closed)

    def set_patience(self, seconds: float | None) -> None:
        """Do nothing: a receive in one process never sleeps in the system."""

    def allocate(self, dtype: np.dtype, shape: tuple[int, ...]) -> None:
        """There is no memory that is shared: None."""

    def wake(self) -> None:
        """End the connection for the thread that waits on it."""
        self.ended = True

    def close(self) -> None:
        """Close this end; the peer is notified."""
        if self.closed:
            return
        self.closed = True
        self.ahead = None
        if self.listener is not None:
            self.listener.connections.discard(self)
            self.listener.handler.connection_closed(self)
        other = self.other
        mail.later(other._hang_up)

    def _hang_up(self) -> None:
        self.ended = True
        if self.listener is not None:
            self.close()

    def _lost(self) -> UnavailableError:
        stopped = registry.stopped_at(self.address)
        if stopped is not None:
            return stopped_error(self.peer, self.address, stopped)
        where = f" at {self.address}" if self.address else ""
        return UnavailableError(
            None,
            None,
            f"The connection to {self.peer}{where} was lost. The task died or was stopped.",
        )


def _copied(value: Any) -> Any:
    """A value as it arrives: the sender may change its own."""
    array = messages.as_array(value)
    if messages.is_string(array):
        _, blob = messages.pack_strings(array)
        return messages.unpack_strings(blob, array.shape)
    return array.copy()


#: The tasks of this process by address.
_listeners: dict[str, InProcessListener] = {}
_ports = itertools.count(40001)


class _NoRefusals:
    """No outside process can connect, so none is refused."""

    count = 0


class InProcessListener:
    """A task of this process that others connect to; see `Listener`.

    Raises UnavailableError when another one has its address.
    """

    refusals = _NoRefusals()

    def __init__(
        self, address: str, key: str, task: str, handler: Handler, faults: LinkFaults | None = None
    ) -> None:
        host, port = split_address(address)
        if not port:
            port = next(n for n in _ports if f"{host}:{n}" not in _listeners)
        self.address = f"{host}:{port}"
        if self.address in _listeners:
            raise UnavailableError(
                None,
                None,
                f"{task} cannot listen on {self.address}: another task of this process does. Give "
                "the task another port in the ClusterSpec.",
            )
        self.task, self.key, self.handler = task, key, handler
        self.incarnation = secrets.token_hex(8)
        self.connections: set[InProcessConnection] = set()
        _listeners[self.address] = self

    @property
    def is_paused(self) -> bool:
        """Whether the task gets no mail for the time being."""
        return bool(self.handler.load.is_paused)

    @property
    def delay_seconds(self) -> float:
        """How much later each step begins here."""
        return float(self.handler.load.delay_seconds)

    def close(self) -> None:
        """Stop listening and close every connection."""
        if _listeners.get(self.address) is self:
            del _listeners[self.address]
        for connection in list(self.connections):
            connection.close()


def connect(
    address: str, key: str, own_name: str, task: str = "", timeout_seconds: float = 0.0
) -> InProcessConnection:
    """A connection to the task of this process at ``address``, which may be starting again.

    Raises UnavailableError where there is none, UnauthenticatedError when the keys differ, and
    InvalidArgumentError when another task than ``task`` is there.
    """
    peer = task or f"the task at {address}"
    stopped = registry.stopped_at(address)
    if address not in _listeners and (stopped is None or not stopped.for_good):
        until = time.monotonic() + min(timeout_seconds, _PATIENCE_SECONDS)
        wait_until(f"{peer} to be there", lambda: address in _listeners, until)
    listener = _listeners.get(address)
    if listener is None:
        if stopped is not None:
            raise stopped_error(peer, address, stopped)
        raise UnavailableError(
            None,
            None,
            f"{peer} cannot be reached: no task of this process is at {address}, and there are no "
            "sockets here. Has it been started, and is its address the one in the ClusterSpec?",
        )
    if listener.key != key:
        raise UnauthenticatedError(
            None, None, f"{own_name} and {listener.task} at {address} have different keys."
        )
    if task.startswith("/job:") and listener.task != task:
        raise InvalidArgumentError(
            None,
            None,
            f"{own_name} looks for {task} at {address}, and the task that listens there is "
            f"{listener.task}: their ClusterSpecs differ. Every task and client of a cluster needs "
            "the same spec.",
        )
    here, there = (
        InProcessConnection(listener.task, None),
        InProcessConnection(own_name, listener),
    )
    here.other, there.other = there, here
    here.address = address
    here.greeting = {"task": listener.task, "incarnation": listener.incarnation}
    listener.connections.add(there)
    return here
