"""A member's place in a ring between tasks: it sends to the next task, and receives from the one before.

The first array of the member before is taken in by the thread of the connection that it came on; that
thread then hands the connection to the member, which reads the others by itself: handing each
over from thread to thread cost as much as the array of 50 KB that it carried. Where all members share the
vector (`common_vectors`), nothing comes: a chunk is added to where it lies, and a doorbell passes it on. What
is finished is read where it lies, too, as soon as the member that finished it has rung.
"""

from __future__ import annotations

import select
import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.capabilities import SOCKETS
from dataflow.cluster.execution.step_tracer import StepTracer
from dataflow.cluster.execution.traffic import Traffic
from dataflow.cluster.transport.connection import Connection
from dataflow.cluster.transport.connection_errors import TooLong
from dataflow.cluster.transport.doorbell import Doorbell
from dataflow.cluster.transport.messages import Kind, Message, ProtocolError
from dataflow.cluster.transport.shm_common import CommonMemory
from dataflow.cluster.transport.shm_send import SHARE_FROM_BYTES
from dataflow.cluster.transport.shm_vector import MOST_PARTS, vector_of
from dataflow.errors import DeadlineExceededError, OpError, UnavailableError
from dataflow.kernels.collective_groups import Request
from dataflow.runtime.stepper import Hop

if TYPE_CHECKING:
    from dataflow.cluster.execution.collectives import Collectives

#: A member that waits for its neighbor looks so often whether the next one is still there.
_LOOK_SECONDS = 0.5
#: A member that waits for a doorbell looks so often; who ends the exchange wakes it, too.
_BELL_SECONDS = 0.05
#: The bits of a message's tag that count; the others are the receiver's rank.
RANK_SHIFT = 16
_COUNTS = (1 << RANK_SHIFT) - 1
#: The numbers of channels, in notes of messages, that stand for the arrays of an exchange.
_FIRST_CHANNEL = -16


class Joined:
    """The leader's answer: the number of the exchange, (task, node) of each rank, one's own rank, the
    rank that sends in a broadcast, and the memory that all share: as the leader names it (`Chosen`) or
    opened, an error where that failed, or ``None``."""

    def __init__(
        self, id: int, members: list[Any], rank: int, source: int, common: Any = None
    ) -> None:
        self.id, self.members, self.rank, self.source = id, members, rank, source
        self.common = common


class Told(Exception):
    """Ends an exchange with an error that another member has reported."""

    def __init__(self, error: OpError) -> None:
        super().__init__(error.message)
        self.error = error


class Mailbox:
    """The messages for one member of one exchange: arrays, a connection handed to it, perhaps an error.

    Invariant: after a connection has been put into ``items``, arrays are read from it alone, and the
    thread that handed it over leaves it alone until `close`.
    """

    def __init__(self) -> None:
        self.items: SimpleQueue[np.ndarray | Connection | Exception] = SimpleQueue()
        self.since = time.monotonic()
        self.connection: Connection | None = None
        #: The doorbell that the member waits for.
        self.bell: Doorbell | None = None
        #: The error that ends the exchange.
        self.error: Exception | None = None
        self._is_read = False
        self._handed: Connection | None = None
        self._lock = threading.Lock()
        self._over = threading.Event()

    def put_first(self, array: np.ndarray, connection: Connection) -> None:
        """Take an array in, and hand over the connection that it came on, on that connection's thread."""
        self.connection = connection
        self.items.put(array)
        with self._lock:
            # Handed to a member that reads only: a member that never comes would block the thread forever.
            hands_over = self._is_read and SOCKETS and self.error is None
            if hands_over:
                self._handed = connection
                self.items.put(connection)
        if hands_over:
            self._over.wait()

    def open(self) -> None:
        """The member reads from now on, until `close`."""
        self._is_read = True

    def end(self, error: Exception) -> None:
        """End the exchange with an error, from any thread."""
        with self._lock:
            if self.error is None:
                self.error = error
            self.items.put(error)
            if self._handed is not None:
                self._handed.wake()  # its reader may wait
            if self.bell is not None:
                self.bell.wake()

    def close(self) -> None:
        """Give the connection back to its thread."""
        with self._lock:
            self._is_read, self._handed, self.bell = False, None, None
        self._over.set()


class TaskLink:
    """The `kernels.collective_ring.Link` of a member whose neighbors may be other tasks."""

    def __init__(
        self,
        owner: Collectives,
        joined: Joined,
        request: Request,
        mailbox: Mailbox,
        deadline: float,
        traffic: Traffic,
        common: CommonMemory | None = None,
    ) -> None:
        """``common`` is the memory that all members share, if they do."""
        self.rank, self.size = joined.rank, len(joined.members)
        self.deadline = deadline
        self._joined, self._request, self._mailbox = joined, request, mailbox
        self._owner, self._traffic = owner, traffic
        #: Records the step, if anyone asked for that.
        self.tracer: StepTracer | None = None
        self._next_rank = (self.rank + 1) % self.size
        self._right = joined.members[self._next_rank][0]
        self._left = joined.members[self.rank - 1][0]
        self._num_sent = self._num_received = 0
        self._source: Connection | None = None
        self._poll: Any = None
        #: To the next member; ``None``: that is one of this task.
        self._connection: Connection | None = None
        if self._right != owner.task:
            self._connection = owner.connect(self._right)
        self._common = common
        self._vector: np.ndarray | None = None
        #: To the member before, where nothing comes from it: it may end.
        self._connection_left: Connection | None = None
        if common is None:
            mailbox.open()
        else:
            self._own_bell = common.bell(self.rank)
            #: How many of the chunks passed on are partial sums; those after them are finished.
            self._num_sums = 0 if request.kind == "gather" else self.size - 1

    def vector(self, dtype: np.dtype, length: int) -> np.ndarray:
        """A vector, in memory that the next member can read where that is possible and pays."""
        if self._common is not None:
            self._vector = self._common.vector(dtype, length)
            return self._vector
        found = None
        if (
            self._connection is not None
            and length * dtype.itemsize >= self.size * SHARE_FROM_BYTES
            and 2 * self.size <= MOST_PARTS
            and dtype.kind in "iufc"
        ):
            found = self._connection.allocate_vector(dtype, length)
        return np.empty(length, dtype) if found is None else found

    def send(self, array: np.ndarray) -> None:
        """Send to the next member."""
        count = self._num_sent
        self._num_sent += 1
        if (
            self._connection is None and self._common is None
        ):  # it may look at the array when this member's node has run
            self._owner.deliver(self._joined.id, self._next_rank, array.copy())
            return
        id, tag = self._joined.id, self._next_rank << RANK_SHIFT | count & _COUNTS
        if self._connection is not None and not id & self._traffic.mask:
            self._traffic.sent(
                id, self._right, _FIRST_CHANNEL - count, lambda: [self._name(count)], [array]
            )
        if self._connection is not None and self.tracer is not None:
            ends = self._owner.task, self._right, self._name(count)
            self.tracer.hops.append(Hop(id, count, *ends, array.nbytes, time.time(), True))
        if self._common is not None:
            if count <= self._num_sums:  # afterwards it passes on what others have finished
                self._own_bell.ring(count + 1)
            if self._connection is not None:
                self._connection.shared_bytes_sent += array.nbytes
            return
        assert self._connection is not None
        if vector_of(array) is None:
            self._connection.send(Kind.COLLECTIVE, tag, id, (array,))
        else:
            self._connection.send_part(Kind.COLLECTIVE, tag, id, array)

    def _name(self, count: int) -> str:
        """The array that this member sends as its number ``count``."""
        request, rank, size = self._request, self.rank, self.size
        if request.kind == "broadcast":
            return f"piece {count + 1} ({request.name})"
        if request.kind == "gather":
            return f"chunk {(rank - count) % size + 1} of {size} ({request.name})"
        if count < size - 1:
            chunk, merged = (rank - 1 - count) % size, count + 1
            return f"chunk {chunk + 1} of {size}, sum of {merged} ({request.name})"
        chunk = (rank - (count - size + 1)) % size
        return f"chunk {chunk + 1} of {size}, reduced ({request.name})"

    def receive(self, start: int = 0, stop: int = 0) -> np.ndarray:
        """The next array of the member before; raises what ends the exchange."""
        if self._common is not None:
            array = self._wait_for_part(start, stop)
        else:
            array = self._read() if self._source is not None else self._take()
        count = self._num_received
        self._num_received += 1
        if not self._joined.id & self._traffic.mask and self._left != self._owner.task:
            self._traffic.received(self._joined.id, self._left, _FIRST_CHANNEL - count)
        if self.tracer is not None and self._left != self._owner.task:
            ends = self._left, self._owner.task, ""
            hop = Hop(self._joined.id, count, *ends, array.nbytes, time.time(), False)
            self.tracer.hops.append(hop)
        return array

    def _take(self) -> np.ndarray:
        """The next array from the mailbox, or from a connection that lies there."""
        while True:
            left = self.deadline - time.monotonic()
            try:
                item = self._mailbox.items.get(timeout=max(0.0, min(_LOOK_SECONDS, left)))
            except Empty:
                if left <= 0:
                    raise self._late() from None
                if self._has_lost_right():
                    raise _gone(self._right) from None
                continue
            if isinstance(item, Exception):
                raise item
            if isinstance(item, Connection):
                self._source = item
                return self._read()
            return item

    def _wait_for_part(self, start: int, stop: int) -> np.ndarray:
        """A part of the vector that all share, when the member before has passed it on."""
        assert self._common is not None
        count = self._num_received + 1
        rank = self.rank - 1
        if count > self._num_sums:
            rank, count = self.rank - (count - self._num_sums), self._num_sums + 1
        rank %= self.size
        bell = self._mailbox.bell = self._common.bell(rank)
        while not bell.has_rung(count):
            if self._mailbox.error is not None:
                raise self._mailbox.error
            left = self.deadline - time.monotonic()
            if left <= 0:
                raise self._late(self._joined.members[rank][0])
            if not bell.wait(count, min(_BELL_SECONDS, left)):
                self._look_around()
        assert self._vector is not None
        array = self._vector[start:stop]
        if self._connection is not None and self._left != self._owner.task:
            self._connection.shared_bytes_received += array.nbytes
        return array

    def _look_around(self) -> None:
        """Raises UnavailableError if one of the neighbors is gone."""
        if self._has_lost_right():
            raise _gone(self._right)
        if self._left == self._owner.task:
            return
        if self._connection_left is None:
            self._connection_left = self._owner.connect(self._left, self.deadline)
        elif not self._connection_left.is_quiet():
            raise _gone(self._left)

    def _read(self) -> np.ndarray:
        """The next array from the connection that was handed over."""
        source = self._source
        assert source is not None
        try:
            while True:
                message = self._ready(source)
                if message is None:
                    right_ended = self._wait(source)
                    if right_ended:
                        break
                elif message.id == self._joined.id:
                    return message.tensors.pop()
                else:  # the member before has failed, and its task sends for another exchange
                    rank = message.tag >> RANK_SHIFT
                    self._owner.deliver(message.id, rank, message.tensors.pop())
        except (UnavailableError, ProtocolError, ValueError):  # ValueError: closed meanwhile
            if self._mailbox.error is not None:  # it is why the connection was woken
                raise self._mailbox.error from None
            raise _gone(self._left) from None
        raise _gone(self._right)

    def _ready(self, source: Connection) -> Message | None:
        try:
            message = source.receive_ready()
        except TooLong:
            source.deadline = self.deadline
            try:
                message = source.receive()
            finally:
                source.deadline = None
        if message is not None and message.kind != Kind.COLLECTIVE:
            source.close()
            raise ProtocolError(f"{Kind(message.kind).name} between the arrays of an exchange")
        return message

    def _wait(self, source: Connection) -> bool:
        """Wait until something comes; True: instead, the connection to the next member has ended."""
        if self._poll is None:
            self._poll = select.poll()
            self._poll.register(source.fileno(), select.POLLIN)
            if self._connection is not None:  # nothing comes on it, but its end
                self._poll.register(self._connection.fileno(), select.POLLIN)
        left = self.deadline - time.monotonic()
        found = self._poll.poll(1000 * max(0.0, left))
        if not found:
            raise self._late()
        return source.fileno() not in [fd for fd, _ in found] and self._has_lost_right()

    def _has_lost_right(self) -> bool:
        return self._connection is not None and not self._connection.is_quiet()

    def _late(self, task: str = "") -> DeadlineExceededError:
        return DeadlineExceededError(
            None, None, f"{task or self._left} has sent nothing in time; it may be stopped"
        )

    def close(self) -> None:
        """Give the connections back."""
        self._source = None
        self._mailbox.close()
        connection, self._connection = self._connection, None
        left, self._connection_left = self._connection_left, None
        self._vector = None
        for one in (connection, left):
            if one is not None:
                self._owner.give(one)


def _gone(task: str) -> UnavailableError:
    return UnavailableError(None, None, f"{task} is gone: its connection has ended")
