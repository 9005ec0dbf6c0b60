"""Connections between tasks: framed messages over TCP, a local socket on one machine.

A `Connection` carries one conversation at a time. A caller with several takes several connections from
a `ConnectionPool`, so that no thread ever waits for another's answer, and no reader thread stands
between a caller and its socket. The accepting side gives each connection a thread of its own.

On one machine a connection goes over an abstract Unix socket (a round trip of 10 to 20 microseconds
here, where loopback TCP takes 55) and large tensors through shared memory.
"""

from __future__ import annotations

import contextlib
import logging
import math
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow.cluster.transport import messages
from dataflow.cluster.transport.connection_errors import (
    TimeIsUp,
    TooLong,
    lost_error,
    too_large_error,
)
from dataflow.cluster.transport.frame_templates import (
    BEGINNING,
    JOIN_BYTES,
    WHOLE_BYTES,
    ReceivedTemplate,
    SentTemplate,
    received_template,
    remember,
    remember_one_of,
    sent_template,
)
from dataflow.cluster.transport.link_faults import DelayLine
from dataflow.cluster.transport.messages import (
    HEADER,
    INLINE,
    LENGTHS,
    LENGTHS_AT,
    SHARED,
    Kind,
    Message,
    ProtocolError,
)
from dataflow.cluster.transport.shm_receive import IncomingSegments
from dataflow.cluster.transport.shm_send import SHARE_FROM_BYTES, OutgoingSegments, Place
from dataflow.cluster.transport.shm_vector import vector_of
from dataflow.cluster.transport.sockets import notice_silence, wait_readable

log = logging.getLogger("dataflow.cluster")

_BUFFER_BYTES = 1 << 16
#: Each smaller frame lowers the maximum by this fraction: a table that was fetched once is forgotten
#: some hundred steps later.
_FORGOTTEN_PART = 64
#: Limit for all segments of one connection and direction together.
SHARE_LIMIT_BYTES = 1 << 30


class Connection:
    """One connection, either end. Closed by any error in the middle of a frame.

    ``peer`` names the task at the other end in messages. Sending is guarded by a lock, receiving
    belongs to one thread at a time.
    """

    def __init__(self, sock: socket.socket, peer: str, limit_bytes: int) -> None:
        self.sock = sock
        self.peer = peer
        self.limit_bytes = limit_bytes
        #: The size limit of a message that the other end has announced, if it has.
        self.peer_limit_bytes = 1 << 62
        #: Whether both ends can read each other's memory; see `share_memory_with`.
        self.may_share = False
        #: The time (of `time.monotonic`) by which sending or receiving must end, else the connection is
        #: closed with DeadlineExceededError; ``None``: there is no limit.
        self.deadline: float | None = None
        self.closed = False
        #: Whether `wake` was called: closed as soon as its user is done with it.
        self.ended = False
        self.greeting: dict[str, Any] = {}
        self.address = ""
        self.used = 0.0
        #: The state that either side keeps about a prefetched step.
        self.ahead: Any = None
        #: See `set_patience`.
        self.patience_seconds: float | None = None
        #: Called when the connection is closed, before its socket is.
        self.on_close: Callable[[], None] | None = None
        #: Holds frames back while the link has a fault (`link_faults`); ``None``: it has none.
        self.line: DelayLine | None = None
        #: Decaying maximum of the sizes of recent frames and tensors in shared memory, in bytes.
        self.largest_sent = 0
        #: Bytes through the socket; and bytes of tensors in shared memory.
        self.bytes_sent = 0
        self.bytes_received = 0
        self.shared_bytes_sent = 0
        self.shared_bytes_received = 0
        self.send_lock = threading.Lock()
        self._sent: dict[tuple[int, int, int], SentTemplate] = {}  # by kind, tag and flags
        self._received: dict[int, list[ReceivedTemplate]] = {}  # by the bytes before the id
        self._held = b""
        self._buffer = bytearray(_BUFFER_BYTES)
        self._view = memoryview(self._buffer)
        self._start = 0
        self._end = 0
        self._outgoing = OutgoingSegments(SHARE_LIMIT_BYTES)
        self._incoming = IncomingSegments()
        #: Waits for bytes on a local socket: a thread that waits in `recv` there is woken twice, first when
        #: the peer has read what was sent on the socket, as that makes room.
        self._poll: Callable[..., list[Any]] | None = None
        if sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            notice_silence(sock)
        elif hasattr(select, "poll"):
            poll = select.poll()
            poll.register(sock, select.POLLIN)
            self._poll = poll.poll

    def fileno(self) -> int:
        """Return the socket's number, for `select.poll`."""
        return self.sock.fileno()

    def share_memory_with(self, pid: int) -> None:
        """Let large tensors go through memory; ``pid`` is the process at the other end."""
        self._incoming.pid = pid
        self.may_share = True

    @property
    def peer_process(self) -> int:
        """The process at the other end, if memory is shared with it; otherwise 0."""
        return self._incoming.pid

    # Sending

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
        """Send one frame. Raises UnavailableError when the peer is gone, DeadlineExceededError when
        `deadline` passes, and ResourceExhaustedError, with nothing sent, for more than the peer
        takes in one message.

        A small frame that may ``hold`` goes out together with the next one.

        ``while_full`` is called whenever the peer's buffer is full: a caller that also receives on
        this connection takes frames in there, so that two sides sending at once cannot wait for each
        other.
        """
        with self.send_lock:
            form = self._sent.get((kind, tag, flags)) if head is None else None
            buffers: list[Any] | None = None
            if form is not None:
                whole = form.whole
                if whole is not None and (data := whole(id, tensors)) is not None:
                    size = form.size
                    if form.largest == self.largest_sent and not (
                        hold or self._held or self.line is not None or self._outgoing.has_news
                    ):
                        # The usual frame, which goes in one call, without waiting for room.
                        self.bytes_sent += size
                        self.shared_bytes_sent += form.shared_bytes
                        try:
                            try:
                                sent = self.sock.send(data, socket.MSG_DONTWAIT)
                            except BlockingIOError:
                                sent = 0
                            if sent != size:
                                self._send_buffers([data[sent:]], size - sent, while_full)
                        except BaseException as error:
                            raise self._broken(error) from None
                        return
                    buffers = [data]
                else:
                    buffers = form.buffers(id, tensors)
            if buffers is not None:
                assert form is not None
                size, largest, shared = form.size, form.largest, form.shared_bytes
            else:
                buffers, size, largest, shared = self._encode(kind, tag, id, tensors, head, flags)
            self._transmit(buffers, size, largest, shared, while_full, hold)

    def send_part(self, kind: int, tag: int, id: int, part: np.ndarray) -> None:
        """Send a contiguous part of a vector of `allocate_vector`, without a copy; raises as `send`.

        Each part has to stay as it is until its receiver has read it. Beyond `shm_vector.MOST_PARTS` of
        a vector parts are copied.
        """
        with self.send_lock:
            frame = vector_of(part).frame(kind, tag, id, part)
            if frame is not None:
                self._transmit([frame], len(frame), part.nbytes, part.nbytes, None, False)
                return
        self.send(kind, tag, id, (part.copy(),))

    def _transmit(
        self,
        buffers: list[Any],
        size: int,
        largest: int,
        shared: int,
        while_full: Callable[[], None] | None,
        hold: bool,
    ) -> None:
        """Send an encoded frame; called with the lock held."""
        if largest != self.largest_sent:
            self._note_sent(largest)
        try:
            if self.line is not None and self._hold_back(buffers, size, shared):
                return
            if self._outgoing.has_news:
                for announcement in self._outgoing.announcements():
                    news = messages.encode(Kind.SEGMENT, head=announcement)
                    self._send_buffers(news, _size_of(news), while_full)
            # The usual frame is small and goes in one call, without waiting for room.
            self.bytes_sent += size
            self.shared_bytes_sent += shared
            if hold and size <= JOIN_BYTES:
                self._held += b"".join(buffers)
                return
            if self._held:
                buffers = [self._held, *buffers]
                size += len(self._held)
                self._held = b""
            if size <= JOIN_BYTES or (len(buffers) == 1 and size <= WHOLE_BYTES):
                data = buffers[0] if len(buffers) == 1 else b"".join(buffers)
                try:
                    sent = self.sock.send(data, socket.MSG_DONTWAIT)
                    if sent == size:
                        return
                except BlockingIOError:
                    sent = 0
                buffers, size = [data[sent:]], size - sent
            self._send_buffers(buffers, size, while_full)
        except BaseException as error:
            raise self._broken(error) from None

    def _broken(self, error: BaseException) -> BaseException:
        """Close the connection, inside of a frame maybe, of which the rest will never be sent; what to raise."""
        self.close()
        return lost_error(self.peer, self.address, error) if isinstance(error, OSError) else error

    def _encode(
        self,
        kind: int,
        tag: int,
        id: int,
        tensors: Sequence[Any],
        head: dict[str, Any] | None,
        flags: int,
    ) -> tuple[list[Any], int, int, int]:
        """Check and encode a message.

        Returns the frame, its size, that of its largest part, and the bytes in shared memory.

        A template is kept, as the next frame may be like it.
        """
        taken: list[Place] = []

        def share(array: np.ndarray) -> bytes | None:
            if array.nbytes < SHARE_FROM_BYTES:
                return None
            place = self._outgoing.put(array)
            if place is None:
                return None
            taken.append(place)
            return place.descriptor

        try:
            buffers = messages.encode(
                kind, tag, id, tensors, head, flags, share if self.may_share else None
            )
            size = _size_of(buffers)
            if size > self.peer_limit_bytes:
                raise too_large_error(self.peer, size, self.peer_limit_bytes, tensors)
        except BaseException:
            for place in taken:
                place.give_back()
            raise
        largest = max([size, *[place.array.nbytes for place in taken]])
        if head is None:
            form = sent_template(buffers, tensors, size, largest, self._outgoing)
            if form is not None:
                remember(self._sent, (kind, tag, flags), form)
        return buffers, size, largest, sum(place.array.nbytes for place in taken)

    def _hold_back(self, buffers: list[Any], size: int, shared: int) -> bool:
        """Let a link's fault hold the frame back; ``False`` when the link is whole again."""
        line = self.line
        assert line is not None
        if line.is_over():
            self.line = None
            return False
        parts: list[Any] = []
        if self._outgoing.has_news:
            for announcement in self._outgoing.announcements():
                parts += messages.encode(Kind.SEGMENT, head=announcement)
        parts += [self._held, *buffers]
        self._held = b""
        self.bytes_sent += size
        self.shared_bytes_sent += shared
        # A copy: the caller may change its arrays as soon as this returns.
        line.put(b"".join(p.tobytes() if hasattr(p, "tobytes") else p for p in parts))
        return True

    def _note_sent(self, num_bytes: int) -> None:
        """Update `largest_sent`, from which the size of the next frame is guessed."""
        before = self.largest_sent
        self.largest_sent = max(num_bytes, before - max(1, before // _FORGOTTEN_PART))

    def allocate(self, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray | None:
        """An array to be written and sent on this connection, which then needs no copy.

        ``None`` if that gains nothing: the array is small, or the peer shares no memory.
        """
        if not self.may_share:
            return None
        with self.send_lock:
            return self._outgoing.allocate(dtype, shape)

    def allocate_vector(self, dtype: np.dtype, length: int) -> np.ndarray | None:
        """A vector to be written and sent in parts by `send_part`; ``None`` as in `allocate`."""
        if not self.may_share:
            return None
        with self.send_lock:
            return self._outgoing.allocate_vector(dtype, length)

    def _send_buffers(
        self, buffers: list[Any], size: int, while_full: Callable[[], None] | None
    ) -> None:
        if len(buffers) > messages.MAX_BUFFERS:
            buffers = [b"".join(bytes(memoryview(part)) for part in buffers)]
        waits = while_full is not None or self.deadline is not None
        flags = socket.MSG_DONTWAIT if waits else 0
        try:
            sent = self.sock.sendmsg(buffers, (), socket.MSG_DONTWAIT)
            if sent == size:
                return
        except BlockingIOError:
            sent = 0
        left = [
            memoryview(part.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
            if isinstance(part, np.ndarray | np.generic)
            else memoryview(part)
            for part in buffers
        ]
        while True:
            while left and sent >= len(left[0]):
                sent -= len(left.pop(0))
            if not left:
                return
            left[0] = left[0][sent:]
            try:
                sent = self.sock.sendmsg(left, (), flags)
            except BlockingIOError:
                self._wait_writable(while_full)
                sent = 0

    def _wait_writable(self, while_full: Callable[[], None] | None) -> None:
        poll = select.poll()
        poll.register(self.sock, select.POLLOUT | (0 if while_full is None else select.POLLIN))
        for _, event in poll.poll(1000 * min(1.0, self._seconds_left())):
            if while_full is not None and event & (select.POLLIN | select.POLLHUP):
                while_full()

    def _seconds_left(self) -> float:
        """The seconds left until the deadline; raises when it has passed."""
        if self.deadline is None:
            return math.inf
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeIsUp
        return left

    # Receiving

    def set_patience(self, seconds: float | None) -> None:
        """Let `receive_in_time` give up after this many seconds without data; ``None``: never."""
        whole = int(seconds or 0)
        micros = int(((seconds or 0) - whole) * 1e6)
        if seconds is not None:
            micros = max(micros, 0 if whole else 1)  # 0 would mean forever
        self.sock.setsockopt(
            socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", whole, micros)
        )
        self.patience_seconds = seconds

    def receive_in_time(self) -> Message | None:
        """As `receive`; ``None`` where no frame begins before patience ends (`set_patience`)."""
        if self._end == self._start:
            self._start = self._end = 0
            try:
                if self._poll is not None and not self.closed:
                    seconds = self.patience_seconds
                    if not self._poll(None if seconds is None else max(1, 1000 * seconds)):
                        return None
                self._end = self.sock.recv_into(self._buffer)
                if not self._end:
                    raise ConnectionResetError("end of file")
            except BlockingIOError:
                return None
            except OSError as error:
                self.close()
                raise lost_error(self.peer, self.address, error) from None
        return self._receive_like_before() or self.receive()

    def has_frame(self) -> bool:
        """Whether bytes of a next frame lie in the buffer already (the socket may be silent)."""
        return self._end > self._start

    def is_quiet(self) -> bool:
        """Whether an idle connection is alive: nothing to read, no end of file."""
        if self.closed or self._end > self._start:
            return False
        try:
            self.sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def receive(self) -> Message:
        """Return the next message; wait for it.

        Raises UnavailableError when the peer is gone, DeadlineExceededError when `deadline` passes,
        ProtocolError when the peer speaks garbage; the connection is closed then.
        """
        message = self._receive_like_before() or self._next(wait=True)
        assert message is not None
        return message

    def receive_ready(self) -> Message | None:
        """Return the next message if all of it has arrived, else ``None``.

        Raises as `receive`, and `TooLong` for one that does not fit into the buffer; that one is
        still to be received.
        """
        if self._start == self._end:
            self._start = self._end = 0
            try:
                self._end = self.sock.recv_into(self._buffer, 0, socket.MSG_DONTWAIT)
            except OSError:
                pass  # nothing has arrived, or the error is raised again below
        return self._receive_like_before() or self._next(wait=False)

    def _next(self, wait: bool) -> Message | None:
        try:
            while wait or self._has_whole_frame():
                message = self._receive()
                if message.kind != Kind.SEGMENT:
                    return message
                if not self.may_share:
                    raise ProtocolError("a memory segment from a peer that cannot share memory")
                self._incoming.add(message.head)
                self._received.clear()  # templates refer to segments by number
            return None
        except TooLong:
            raise
        except OSError as error:
            self.close()
            raise lost_error(self.peer, self.address, error) from None
        except BaseException:
            self.close()
            raise

    def _has_whole_frame(self) -> bool:
        """Take in what has arrived; return whether a whole frame lies in the buffer."""
        asked = False
        while True:
            have = self._end - self._start
            if have >= _HEADER_BYTES:
                meta_bytes, rest = LENGTHS.unpack_from(self._buffer, self._start + LENGTHS_AT)
                needed = _HEADER_BYTES + meta_bytes + rest
                if have >= needed:
                    return True
                if needed > _BUFFER_BYTES:
                    raise TooLong
                self._make_room(needed)
            else:
                self._make_room(_HEADER_BYTES)
            if asked:
                return False
            asked = True
            try:
                got = self.sock.recv_into(self._view[self._end :], 0, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return False
            if not got:
                raise ConnectionResetError("end of file")
            self._end += got

    def _receive_like_before(self) -> Message | None:
        """The next message, if all of it has arrived and it matches a template."""
        first, buffer = self._start, self._buffer
        have = self._end - first
        if have < _HEADER_BYTES:
            return None
        begins, id = _unpack_beginning(buffer, first)
        for form in self._received.get(begins, ()):
            size = form.size
            if have >= size and buffer.startswith(form.rest, first + _BEGINNING_BYTES):
                self._start = first + size
                self.bytes_received += size
                self.shared_bytes_received += form.shared_bytes
                tensors = form.read(buffer, first)
                # As `Message(...)`, whose `__new__` is a function in Python.
                return _new_tuple(Message, (form.kind, form.tag, id, tensors, None, form.flags))
        return None

    def _receive(self) -> Message:
        if self._end - self._start < _HEADER_BYTES:
            self._fill(_HEADER_BYTES)
        message = self._receive_like_before()
        if message is not None:
            return message
        first = self._start
        begins, _ = BEGINNING.unpack_from(self._buffer, first)
        kind, flags, tag, id, num_tensors, meta_bytes, payload_bytes = messages.check_header(
            self._buffer, first, self.limit_bytes
        )
        self._start += _HEADER_BYTES
        rest = meta_bytes + payload_bytes
        header = bytes(self._view[first : self._start])
        self.bytes_received += _HEADER_BYTES + rest
        if not rest:
            return Message(kind, tag, id, [], None, flags)
        if rest <= _BUFFER_BYTES:
            if self._end - self._start < rest:
                self._fill(rest)
            start = self._start
            self._start = start + rest
            meta = bytes(self._view[start : start + meta_bytes])
            descriptors, head = messages.parse_meta_again(meta, num_tensors, payload_bytes)
            tensors = self._small_tensors(descriptors, start + meta_bytes)
            message = Message(kind, tag, id, tensors, head, flags)
            form = received_template(
                message, header + meta, descriptors, _HEADER_BYTES + rest, self._incoming
            )
            if form is not None:
                remember_one_of(self._received, begins, form)
            return message
        else:
            long_meta = self._read_bytes(meta_bytes)
            descriptors, head = messages.parse_meta(long_meta, num_tensors, payload_bytes)
            tensors = self._large_tensors(descriptors)
        return Message(kind, tag, id, tensors, head, flags)

    def _small_tensors(self, descriptors: list[messages.Descriptor], at: int) -> list[np.ndarray]:
        tensors = []
        for descriptor in descriptors:
            dtype, shape, place, _, num_bytes, *_ = descriptor
            if place == SHARED:
                tensors.append(self._incoming.view(descriptor))
                self.shared_bytes_received += num_bytes
                continue
            data = self._buffer[at : at + num_bytes]
            at += num_bytes
            if dtype is None:
                tensors.append(messages.unpack_strings(data, shape))
            elif dtype is _BOOL:
                tensors.append(_normal(np.frombuffer(data, dtype).reshape(shape)))
            else:
                tensors.append(np.ndarray(shape, dtype, data))
        return tensors

    def _large_tensors(self, descriptors: list[messages.Descriptor]) -> list[np.ndarray]:
        tensors = []
        for descriptor in descriptors:
            dtype, shape, place, _, num_bytes, *_ = descriptor
            if place == SHARED:
                tensors.append(self._incoming.view(descriptor))
                self.shared_bytes_received += num_bytes
            elif place == INLINE:
                array = np.empty(shape, dtype)
                self._read_into(memoryview(array.reshape(-1).view(np.uint8)))  # type: ignore[arg-type]
                tensors.append(_normal(array))
            else:
                tensors.append(messages.unpack_strings(self._read_bytes(num_bytes), shape))
        return tensors

    def _fill(self, count: int) -> None:
        """Have at least ``count`` bytes in the buffer."""
        if self._end - self._start >= count:
            return
        self._make_room(count)
        while self._end - self._start < count:
            got = self._take_in(self._view[self._end :])
            if not got:
                raise ConnectionResetError("end of file")
            self._end += got

    def _take_in(self, target: memoryview) -> int:
        """Wait for bytes; return how many have arrived."""
        if self.deadline is None:
            if self._poll is not None and not self.closed:
                self._poll()
            return self.sock.recv_into(target)
        while True:
            left = self._seconds_left()
            try:
                return self.sock.recv_into(target, 0, socket.MSG_DONTWAIT)
            except BlockingIOError:
                wait_readable([self.sock.fileno()], left)

    def _make_room(self, count: int) -> None:
        """Let the next ``count`` bytes fit into the buffer."""
        if self._start == self._end:
            self._start = self._end = 0
        elif self._start + count > _BUFFER_BYTES:
            rest = bytes(self._view[self._start : self._end])
            self._start, self._end = 0, len(rest)
            self._view[: len(rest)] = rest

    def _read_bytes(self, count: int) -> memoryview:
        """The next ``count`` bytes. Memory is allocated as they arrive: the peer may send fewer."""
        data = memoryview(np.empty(count, np.uint8))  # type: ignore[arg-type]
        self._read_into(data)
        return data

    def _read_into(self, target: memoryview) -> None:
        """Fill ``target``, first from the buffer, then straight from the socket."""
        ready = min(len(target), self._end - self._start)
        target[:ready] = self._view[self._start : self._start + ready]
        self._start += ready
        while ready < len(target):
            got = self._take_in(target[ready:])
            if not got:
                raise ConnectionResetError("end of file")
            ready += got

    def wake(self) -> None:
        """End the connection from another thread: the thread that waits on it gets an error, and closes it.

        If this thread closed the socket, its number might belong to a new socket by the time the
        polling thread looks again, and that thread would sleep on.
        """
        self.ended = True
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection; a thread that waits on it wakes with an error."""
        if self.closed:
            return
        self.closed = True
        self.ahead = None
        on_close, self.on_close = self.on_close, None
        if on_close is not None:
            on_close()
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()
        if self.line is not None:
            self.line.close()
        self._outgoing.close()
        self._incoming.close()


def _size_of(buffers: list[Any]) -> int:
    size = len(buffers[0])
    for part in buffers[1:]:
        size += part.nbytes if isinstance(part, np.ndarray | np.generic) else len(part)
    return size


_HEADER_BYTES, _BEGINNING_BYTES = HEADER.size, BEGINNING.size
_unpack_beginning = BEGINNING.unpack_from
_new_tuple = tuple.__new__
_BOOL = np.dtype(np.bool_)


def _normal(array: np.ndarray) -> np.ndarray:
    # A byte other than 0 and 1 in a bool array would make NumPy's results undefined.
    return array if array.dtype != np.bool_ else array.view(np.uint8) != 0
