"""One thread for many connections: who is served by whom, and that nobody holds up the others."""

import gc
import random
import threading

import numpy as np
import pytest

from dataflow.cluster.transport import messages
from dataflow.cluster.transport.connection_pool import connect
from dataflow.cluster.transport.leader_followers import can_share_thread
from dataflow.cluster.transport.listener import Listener
from dataflow.cluster.transport.messages import Kind
from dataflow.errors import UnavailableError
from tests.open_files import open_files

pytestmark = pytest.mark.skipif(
    not can_share_thread(), reason="connections are in a ring on Linux only"
)
KEY = "a key for tests"
#: No other test has a task of this name, by which its threads are found.
TASK = "/job:echo/task:0"
SHORT, LONG, BROKEN = 0, 1, 2


class Echo:
    """Answers with the thread that did; a LONG message waits for ``go``, a BROKEN one raises."""

    def __init__(self):
        self.go = threading.Event()
        self.closed = []
        self.last = None

    def handle(self, connection, message):
        self.last = connection
        if message.tag == LONG:
            assert self.go.wait(20)
        if message.tag == BROKEN:
            raise RuntimeError("a message that cannot be dealt with")
        connection.send(Kind.REPLY, 0, threading.get_ident(), message.tensors)

    def is_short(self, connection, message):
        return message.tag != LONG

    def connection_closed(self, connection):
        self.closed.append(connection)


@pytest.fixture
def echo():
    handler = Echo()
    listener = Listener("127.0.0.1:0", KEY, TASK, handler)
    listener.handler = handler
    yield listener
    handler.go.set()
    listener.close()


@pytest.fixture
def connections(echo):
    """Four connections that sit in the ring; the first one's thread leads."""
    made = [connect(echo.address, KEY, "client") for _ in range(4)]
    for connection in made:
        ask(connection)
    yield made
    for connection in made:
        connection.close()


def ask(connection, tag=SHORT, tensors=()):
    """Send a message; return who answered."""
    connection.send(Kind.CALL, tag, 0, tensors)
    reply = connection.receive()
    for sent, got in zip(tensors, reply.tensors, strict=True):
        np.testing.assert_array_equal(sent, got)
    return reply.id


def leader_of(connections):
    """The thread that answers all of them, once all sit."""
    for _ in range(100):
        threads = {ask(connection) for connection in connections}
        if len(threads) == 1:
            return threads.pop()
    raise AssertionError(f"still {len(threads)} threads answer")


def test_one_thread_answers_all(connections):
    assert leader_of(connections) == leader_of(connections)


@pytest.mark.parametrize("which", [0, 3])
def test_a_long_message_gets_its_own_thread_and_holds_nobody_up(echo, connections, which):
    leader_of(connections)
    slow = connections[which]
    slow.send(Kind.CALL, LONG)
    others = [connection for connection in connections if connection is not slow]
    before = leader_of(others)
    echo.handler.go.set()
    assert slow.receive().id != before
    leader_of(connections)


@pytest.mark.parametrize("bytes_sent", [1, messages.HEADER.size, messages.HEADER.size + 100])
@pytest.mark.parametrize("which", [0, 3])
def test_half_a_message_holds_nobody_up(connections, bytes_sent, which):
    leader_of(connections)
    tensor = np.arange(100.0)
    frame = b"".join(bytes(part) for part in messages.encode(Kind.CALL, SHORT, 0, [tensor]))
    connections[which].sock.sendall(frame[:bytes_sent])
    leader_of([connection for connection in connections if connection is not connections[which]])
    connections[which].sock.sendall(frame[bytes_sent:])
    np.testing.assert_array_equal(connections[which].receive().tensors[0], tensor)
    leader_of(connections)


@pytest.mark.parametrize("shared", [True, False])
def test_messages_of_every_size(echo, connections, shared):
    leader_of(connections)
    for connection in (*connections, *echo.connections):
        connection.may_share = connection.may_share and shared
    for connection in connections:
        for size in (0, 1, 8000, 8185, 8190, 8192, 100_000):
            ask(connection, SHORT, [np.arange(float(size)), np.arange(3)])
        for n in range(6):  # several in the buffer at once
            connection.send(Kind.CALL, SHORT, 0, [np.full(100, n)], hold=n < 5)
        assert [connection.receive().tensors[0][0] for _ in range(6)] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("end", ["client", "server", "broken"])
@pytest.mark.parametrize("order", [1, -1])
def test_links_end_one_by_one_and_the_others_go_on(echo, connections, end, order, eventually):
    leader_of(connections)
    left = connections[::order]
    while left:
        connection = left.pop(0)
        if end == "client":
            connection.close()
        elif end == "broken":
            connection.send(Kind.CALL, BROKEN)
        else:
            ask(connection)
            echo.handler.last.close()
        if end != "client":
            with pytest.raises(UnavailableError):
                connection.receive()
        eventually(lambda: len(echo.connections) == len(left))
        if left:
            leader_of(left)


def test_the_listener_ends_all_threads(echo, connections, eventually):
    leader_of(connections)
    # A link over TCP, which has only asked for the local socket, may not have ended yet.
    eventually(lambda: len(echo.connections) == 4)
    served = echo.connections
    mine = [t for t in threading.enumerate() if t.name == f"connection {TASK}"]
    assert len(mine) >= 4
    echo.close()
    eventually(lambda: not any(t.is_alive() for t in mine))
    assert set(served) <= set(echo.handler.closed)


def test_any_order_of_short_and_long_and_new_and_closed_links(echo):
    echo.handler.go.set()
    errors = []

    def client(seed):
        choose = random.Random(seed)
        try:
            connection = connect(echo.address, KEY, "client")
            for n in range(300):
                size = choose.choice([0, 1, 1000, 20_000])
                ask(
                    connection,
                    choose.choice([SHORT, SHORT, SHORT, LONG]),
                    [np.full(size, float(n))],
                )
                if choose.random() < 0.05:
                    connection.close()
                    connection = connect(echo.address, KEY, "client")
            connection.close()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=client, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize("first", ["listener", "connections"])
def test_a_closed_listener_leaves_no_file(first, eventually):
    """Without waiting for the garbage collector: listeners and their groups lie in cycles."""

    def files():
        return sum("anon_inode" in name for name in open_files())

    gc.disable()
    try:
        before = files()
        handler = Echo()
        listener = Listener("127.0.0.1:0", KEY, TASK, handler)
        made = [connect(listener.address, KEY, "client") for _ in range(3)]
        leader_of(made)
        assert files() > before
        ends = [listener, *made] if first == "listener" else [*made, listener]
        for end in ends:
            end.close()
        eventually(lambda: files() <= before)
    finally:
        gc.enable()
