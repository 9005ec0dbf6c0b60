"""Connections between two ends in this process and in another: speed aside, everything they promise."""

import gc
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from dataflow.addresses import split_address
from dataflow.cluster.transport import (
    connection as connection_module,
    connection_pool,
    handshake,
    messages,
    registry,
)
from dataflow.cluster.transport.connection import Connection
from dataflow.cluster.transport.connection_pool import ConnectionPool, connect
from dataflow.cluster.transport.listener import Listener
from dataflow.cluster.transport.messages import Kind
from dataflow.errors import (
    FailedPreconditionError,
    ResourceExhaustedError,
    UnauthenticatedError,
    UnavailableError,
)

KEY = "a key for tests"


class Echo:
    """Answers every message with its own tensors; ``wait`` holds the answers back."""

    def __init__(self):
        self.closed = []
        self.short = False
        self.wait = threading.Event()
        self.wait.set()

    def handle(self, connection, message):
        assert self.wait.wait(20)
        connection.send(Kind.REPLY, message.tag, message.id, message.tensors, message.head)

    def is_short(self, connection, message):
        return self.short

    def connection_closed(self, connection):
        self.closed.append(connection.peer)


@pytest.fixture
def echo():
    handler = Echo()
    listener = Listener("127.0.0.1:0", KEY, "/job:ps/task:0", handler)
    listener.handler = handler
    yield listener
    listener.close()


@pytest.fixture(params=["local", "tcp", "ring"])
def connection(request, echo, monkeypatch):
    echo.handler.short = request.param == "ring"
    if request.param == "tcp":

        def no_local_socket(name):
            raise ConnectionRefusedError

        monkeypatch.setattr(connection_pool, "_local_socket", no_local_socket)
    connection = connect(echo.address, KEY, "/job:worker/task:0", "/job:ps/task:0")
    assert (connection.sock.family == socket.AF_UNIX) == (request.param != "tcp")
    yield connection
    connection.close()


@pytest.mark.parametrize("size", [0, 1, 7840, 20000, 300_000, 3_000_000])
def test_tensors_of_every_size(connection, size):
    sent = np.arange(size, dtype=np.float32)
    for request in range(3):
        connection.send(Kind.CALL, 5, request, [sent, np.float32(request)], {"method": "x"})
        answer = connection.receive()
        assert (answer.kind, answer.tag, answer.id) == (Kind.REPLY, 5, request)
        assert answer.head == {"method": "x"}
        np.testing.assert_array_equal(answer.tensors[0], sent)
        assert answer.tensors[1].item() == request


@pytest.mark.parametrize("name", messages.DTYPES)
def test_every_dtype(connection, name):
    small = np.array([[0, 1, 1]]).astype(name)
    large = np.ones(200_000, name)
    connection.send(Kind.CALL, tensors=[small, large, np.array([b"text", b""], object)])
    got = connection.receive().tensors
    np.testing.assert_array_equal(got[0], small)
    np.testing.assert_array_equal(got[1], large)
    assert got[0].dtype == got[1].dtype == np.dtype(name)
    assert got[2].tolist() == [b"text", b""]


def test_many_small_frames_in_one_go(connection):
    answers = []
    for request in range(500):
        connection.send(
            Kind.CALL,
            0,
            request,
            [np.full(50, request)],
            while_full=lambda: answers.append(connection.receive()),
        )
    while len(answers) < 500:
        answers.append(connection.receive())
    for request, answer in enumerate(answers):
        assert answer.id == request
        assert answer.tensors[0][49] == request


def test_many_tensors_in_one_frame(connection):
    sent = [np.full(3, i) for i in range(2000)]
    connection.send(Kind.CALL, tensors=sent)
    got = connection.receive().tensors
    assert len(got) == 2000
    assert all(np.array_equal(a, b) for a, b in zip(sent, got, strict=True))


def test_shared_memory_is_used_again_and_only_when_free(echo):
    connection = connect(echo.address, KEY, "client")
    if not connection.may_share:
        pytest.skip("this system has no shared memory between processes")
    big = np.ones(1_000_000, np.float32)
    held = []
    for number in range(3):
        connection.send(Kind.CALL, tensors=[big * number])
        held.append(connection.receive().tensors[0])
    for number, array in enumerate(held):
        assert np.all(array == number), "a segment was overwritten while it was viewed"
    view = held.pop()[10:20]
    held.clear()
    gc.collect()
    for number in range(20):
        connection.send(Kind.CALL, tensors=[big * number])
        assert np.all(connection.receive().tensors[0] == number)
    assert np.all(view == 2)
    assert len(connection._outgoing._segments) <= 3
    connection.close()


def test_shared_memory_has_a_limit_and_then_the_socket_serves(echo, monkeypatch):
    monkeypatch.setattr(connection_module, "SHARE_LIMIT_BYTES", 5_000_000)
    connection = connect(echo.address, KEY, "client")
    big = np.arange(1_000_000, dtype=np.float32)
    answers = []
    for _ in range(4):
        connection.send(Kind.CALL, tensors=[big])
        answers.append(connection.receive().tensors[0])
    assert all(np.array_equal(answer, big) for answer in answers)
    connection.close()


def test_two_sides_sending_at_once_do_not_wait_for_each_other(echo, monkeypatch):
    monkeypatch.setattr(connection_module, "SHARE_FROM_BYTES", 1 << 60)
    connection = connect(echo.address, KEY, "client")
    big = np.zeros(2_000_000)
    received = []
    for _ in range(3):  # the echo comes back while the next one is still being sent
        connection.send(
            Kind.CALL, tensors=[big], while_full=lambda: received.append(connection.receive())
        )
    while len(received) < 3:
        received.append(connection.receive())
    assert all(answer.tensors[0].shape == big.shape for answer in received)
    connection.close()


def test_concurrent_conversations_through_a_pool(echo, eventually):
    pool = ConnectionPool(KEY, "client")
    echo.handler.wait.clear()
    answers = {}

    def converse(number):
        connection = pool.take(echo.address)
        connection.send(Kind.CALL, 0, number, [np.array(number)])
        answers[number] = connection.receive().tensors[0].item()
        pool.give(connection)

    threads = [threading.Thread(target=converse, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    eventually(lambda: len(echo.connections) == 8)
    echo.handler.wait.set()
    for thread in threads:
        thread.join(60)
    assert answers == {n: n for n in range(8)}
    first = pool.take(echo.address)
    pool.give(first)
    assert pool.take(echo.address) is first
    pool.close()


def test_a_connection_that_its_peer_may_end_is_checked_however_soon_it_is_taken(echo, eventually):
    pool = ConnectionPool(KEY, "client")
    first = pool.take(echo.address)
    pool.give(first, may_end=True)

    def ended():  # the connection that asked for the local socket may still be among them
        for connection in echo.connections:
            connection.close()
        return not first.is_quiet()

    eventually(ended)
    assert first.used < 0  # it was not taken for fresh, however little time has passed
    second = pool.take(echo.address)
    assert second is not first and first.closed and second.is_quiet()
    pool.close()


def test_the_end_of_a_peer_is_noticed_and_names_the_task(echo):
    connection = connect(echo.address, KEY, "client", "/job:ps/task:0")
    assert connection.is_quiet()
    threading.Timer(0.1, echo.close).start()
    with pytest.raises(UnavailableError, match="/job:ps/task:0 at 127.0.0.1.*was lost"):
        connection.receive()
    assert connection.closed
    assert not connection.is_quiet()
    with pytest.raises(UnavailableError, match="/job:ps/task:0"):
        connection.send(Kind.CALL)


def test_a_listener_is_not_taken_for_the_stopped_task_whose_address_it_got(echo):
    registry.note_stopped([echo.address], "a test stopped it", for_good=True)
    address = echo.address
    echo.close()
    again = Listener(address, KEY, "/job:ps/task:1", Echo())
    try:
        assert registry.stopped_at(address) is None
    finally:
        again.close()


SERVER = textwrap.dedent(
    """
    import sys
    from dataflow.cluster.transport.listener import Listener
    from dataflow.cluster.transport.messages import Kind
    class Echo:
        def handle(self, connection, message):
            connection.send(Kind.REPLY, 0, message.id, message.tensors)
        def is_short(self, connection, message): return True
        def connection_closed(self, connection): pass
    listener = Listener("127.0.0.1:0", sys.argv[1], "/job:ps/task:0", Echo())
    print(listener.address, flush=True)
    sys.stdin.read()
    """
)


@pytest.fixture
def server_process():
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, KEY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    process.address = process.stdout.readline().strip()
    yield process
    process.kill()
    process.wait(60)
    process.stdin.close()
    process.stdout.close()


def test_a_killed_process_is_noticed_at_once(server_process):
    connection = connect(server_process.address, KEY, "client", "/job:ps/task:0")
    connection.send(Kind.CALL, 0, 1, [np.ones(1_000_000)])
    received = connection.receive().tensors[0]
    os.kill(server_process.pid, signal.SIGKILL)
    with pytest.raises(UnavailableError, match="/job:ps/task:0"):
        connection.receive()
    assert received.sum() == 1_000_000, "what was received outlives the sender"


def test_a_stopped_process_is_slow_not_dead(server_process):
    connection = connect(server_process.address, KEY, "client", "/job:ps/task:0")
    os.kill(server_process.pid, signal.SIGSTOP)
    os.waitpid(server_process.pid, os.WUNTRACED)  # until it has stopped; it is not reaped
    connection.send(Kind.CALL, 0, 7, [np.ones(3)])
    assert connection_module.wait_readable([connection.fileno()], 0.3) == []
    os.kill(server_process.pid, signal.SIGCONT)
    assert connection.receive().id == 7
    connection.close()


def test_a_wrong_key_is_refused_on_both_sides(echo, eventually):
    with pytest.raises(UnauthenticatedError, match="127.0.0.1.*refused.*does not hold the key"):
        connect(echo.address, "another key", "/job:worker/task:3")
    eventually(lambda: echo.refusals.last)
    assert "/job:worker/task:3 does not hold the key" in echo.refusals.last[-1][1]
    connect(echo.address, KEY, "client").close()


def raw_connection(echo):
    host, port = split_address(echo.address)
    return socket.create_connection((host, port), timeout=10)


@pytest.mark.parametrize(
    "garbage",
    [b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + b" " * 64, os.urandom(4096), b"\x00" * 100],
    ids=["HTTP", "random", "zeros"],
)
def test_garbage_is_refused_and_the_task_stays_up(echo, garbage, eventually):
    with raw_connection(echo) as raw:
        raw.sendall(garbage)
        eventually(lambda: echo.refusals.last)
    assert "no frame of this protocol" in echo.refusals.last[-1][1]
    connection = connect(echo.address, KEY, "client")
    connection.send(Kind.CALL, 0, 3)
    assert connection.receive().id == 3
    connection.close()


def test_a_large_frame_before_authentication_is_refused(echo, eventually):
    with raw_connection(echo) as raw:
        raw.sendall(messages.HEADER.pack(b"DF", Kind.HELLO, 0, 0, 0, 0, 1 << 20, 0))
        eventually(lambda: echo.refusals.last)
    assert "above the limit of 4096" in echo.refusals.last[-1][1]


def test_another_protocol_version_is_refused_with_both_numbers(echo, monkeypatch, eventually):
    with raw_connection(echo) as raw:
        (frame,) = messages.encode(
            Kind.HELLO, head={"protocol": 0, "nonce": "x", "task": "old", "proof": ""}
        )
        raw.sendall(frame)
        eventually(lambda: echo.refusals.last)
    assert "old speaks protocol 0, this task speaks 4" in echo.refusals.last[-1][1]
    monkeypatch.setattr(messages, "PROTOCOL_VERSION", 5)

    def greet_as_version_1(connection, key, greeting):
        connection.send(Kind.HELLO, head={"protocol": 1, "nonce": "n", **greeting})
        connection.receive()

    monkeypatch.setattr(handshake, "greet", greet_as_version_1)
    with pytest.raises(FailedPreconditionError, match="speaks protocol 1, this process speaks 5"):
        connect(echo.address, KEY, "client", timeout_seconds=0.2)


def test_a_message_above_the_limit_is_not_sent_and_else_closes_the_link_and_says_why(eventually):
    handler = Echo()
    listener = Listener("127.0.0.1:0", KEY, "/job:ps/task:0", handler, limit_bytes=100_000)
    try:
        connection = connect(listener.address, KEY, "/job:worker/task:0")
        connection.may_share = False
        words = (
            r"80\d+ bytes to the task at .* limit of 100000 and was not sent; .*float64\(100000,"
        )
        with pytest.raises(ResourceExhaustedError, match=words):
            connection.send(Kind.CALL, tensors=[np.zeros(100_000)])
        connection.send(Kind.CALL, tensors=[np.zeros(10)])  # the connection is as it was
        assert connection.receive().tensors[0].shape == (10,)
        connection.peer_limit_bytes = 1 << 62  # a peer that does not care
        with pytest.raises(UnavailableError):
            connection.send(Kind.CALL, tensors=[np.zeros(100_000)])
            connection.receive()
        eventually(lambda: listener.refusals.last)
        assert "800" in listener.refusals.last[-1][1]
        assert "limit of 100000" in listener.refusals.last[-1][1]
    finally:
        listener.close()


def test_nobody_there_is_said_with_the_address_and_the_time():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(
            UnavailableError, match=f"task:7 cannot be reached: tried {address} for"
        ):
            connect(address, KEY, "client", "/job:ps/task:7", timeout_seconds=0.3)


def test_a_port_in_use_is_said():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UnavailableError, match=f"task:0 cannot listen on 127.0.0.1:{port}"):
            Listener(f"127.0.0.1:{port}", KEY, "/job:ps/task:0", Echo())


def test_it_listens_on_loopback_only(echo):
    assert echo._socket.getsockname()[0] == "127.0.0.1"


def test_the_default_key_is_one_file_only_this_user_can_read(tmp_path, monkeypatch):
    monkeypatch.delenv(handshake.KEY_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    keys = []
    threads = [
        threading.Thread(target=lambda: keys.append(handshake.default_key())) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(keys)) == 1
    assert len(keys[0]) == 64
    (path,) = (tmp_path / "dataflow").iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    monkeypatch.setenv(handshake.KEY_VARIABLE, "from the environment")
    assert handshake.default_key() == "from the environment"


def test_the_handshake_does_not_show_the_key(echo):
    with raw_connection(echo) as raw:
        raw.settimeout(5)
        data = raw.recv(65536)
    assert KEY.encode() not in data
    head = json.loads(data[messages.HEADER.size :])
    assert head["task"] == "/job:ps/task:0"
    assert head["protocol"] == messages.PROTOCOL_VERSION


def test_no_threads_or_sockets_are_left(eventually):
    before = threading.active_count()
    listener = Listener("127.0.0.1:0", KEY, "/job:ps/task:0", Echo())
    connections = [connect(listener.address, KEY, "client") for _ in range(4)]
    listener.close()
    for connection in connections:
        connection.close()
    eventually(lambda: threading.active_count() <= before)


@pytest.fixture
def local_ends():
    """A connection over a local socket, and the socket at its other end."""
    here, there = socket.socketpair(socket.AF_UNIX)
    connection = Connection(here, "the other end", 1 << 20)
    yield connection, there
    connection.close()
    there.close()


def sleeps_of(thread):
    """How often a thread has gone to sleep, and whether it sleeps."""
    status = pathlib.Path(f"/proc/self/task/{thread.native_id}/status").read_text()
    counts = dict(line.split(":\t") for line in status.splitlines())
    return int(counts["voluntary_ctxt_switches"]), counts["State"].startswith("S")


@pytest.mark.threads
@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells of threads on Linux")
@pytest.mark.parametrize("waits", [Connection.receive_in_time, Connection.receive])
def test_who_waits_for_an_answer_sleeps_on_when_the_question_is_read(local_ends, waits, eventually):
    """A thread in `recv` on a local socket is woken by the room that the peer makes there."""
    connection, there = local_ends
    thread = threading.Thread(target=waits, args=(connection,))
    connection.send(Kind.PING, 0, 1)
    thread.start()
    eventually(lambda: sleeps_of(thread)[1])
    before, _ = sleeps_of(thread)
    assert there.recv(1 << 10)
    for _ in range(20):
        time.sleep(0.002)
        assert sleeps_of(thread) == (before, True)
    there.sendall(b"".join(messages.encode(Kind.PONG, 0, 1)))
    thread.join(20)
    assert not thread.is_alive()


def test_patience_ends_on_a_local_socket_and_a_closed_one_is_lost(local_ends):
    connection, there = local_ends
    connection.set_patience(0.01)
    assert connection.receive_in_time() is None
    there.sendall(b"".join(messages.encode(Kind.PONG, 0, 1)))
    message = connection.receive_in_time()
    assert message is not None and message.kind == Kind.PONG
    connection.close()
    with pytest.raises(UnavailableError):
        connection.receive_in_time()
