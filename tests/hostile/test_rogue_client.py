"""Strangers at a task's door: they are refused, soon, and those who hold the key get in meanwhile."""

import logging
import os
import resource
import secrets
import socket
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from dataflow.addresses import split_address
from dataflow.cluster.transport import handshake, messages, refusals
from dataflow.cluster.transport.connection_pool import connect
from dataflow.cluster.transport.listener import Listener
from dataflow.cluster.transport.messages import HEADER, Kind
from tests.hostile.strangers import KEY, OWN_HOST, eventually, frame, greeting, read_frame

TASK = "/job:ps/task:0"


class Echo:
    """Answers every message with its head."""

    def handle(self, connection, message):
        connection.send(Kind.REPLY, message.tag, message.id, message.tensors, message.head)

    def is_short(self, connection, message):
        return False

    def connection_closed(self, connection):
        pass


@pytest.fixture
def listener():
    made = Listener(f"{OWN_HOST}:0", KEY, TASK, Echo())
    yield made
    made.close()


@pytest.fixture(params=["tcp", "local"])
def door(request, listener):
    """A function that connects to the listener without a word, over either socket."""
    made = []

    def knock():
        if request.param == "tcp":
            sock = socket.create_connection(split_address(listener.address), timeout=20)
        else:
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(20)
            sock.connect("\0" + listener._local_name)
        made.append(sock)
        return sock

    yield knock
    for sock in made:
        sock.close()


def still_answers(listener):
    connection = connect(listener.address, KEY, "client", TASK)
    connection.send(Kind.CALL, 0, 3, head={"method": "x"})
    assert connection.receive().head == {"method": "x"}
    connection.close()


def has_ended(sock):
    """Whether the other end has closed the connection; what it sent before is read."""
    sock.setblocking(False)
    try:
        while sock.recv(4096):
            pass
    except BlockingIOError:
        return False
    except ConnectionError:
        pass
    return True


def answer_to(hello, **changes):
    """What a client that does not hold the key answers."""
    answer = {**greeting(task="/job:worker/task:0"), "nonce": secrets.token_hex(16), **changes}
    answer.setdefault("proof", handshake._proof("another key", "client", hello, answer))
    return answer


@pytest.mark.parametrize("sends", ["nothing", "drips", "drips after HELLO"])
def test_the_handshake_has_one_deadline(listener, door, monkeypatch, sends):
    """Twenty hold on, by a byte now and then; all of them are left when its time is up."""
    monkeypatch.setattr(handshake, "HANDSHAKE_SECONDS", 1.5)
    strangers = [door() for _ in range(20)]
    data = frame(Kind.HELLO, **answer_to({}))
    if sends == "drips after HELLO":  # a proof that holds, and then slowly on
        for sock in strangers:
            _, hello, _ = read_frame(sock)
            answer = greeting(nonce=secrets.token_hex(16))
            answer["proof"] = handshake._proof(KEY, "client", hello, answer)
            sock.sendall(frame(Kind.HELLO, **answer))
        data = frame(Kind.WELCOME, content="0" * 32, probe=None)
    stop = threading.Event()

    def drip():
        for byte in data:
            for sock in strangers:
                try:
                    sock.send(bytes([byte]))
                except OSError:
                    pass
            if stop.wait(0.1):
                return

    thread = threading.Thread(target=drip)
    if sends != "nothing":
        thread.start()
    still_answers(listener)
    if sends == "drips after HELLO" and strangers[0].family != socket.AF_UNIX:
        eventually(lambda: len(listener.connections) == 20)  # there is nothing more to say over TCP
        stop.set()
        thread.join()
        return
    eventually(lambda: all(has_ended(sock) for sock in strangers))
    stop.set()
    if sends != "nothing":
        thread.join()
    eventually(lambda: listener.refusals.count == 20)
    assert "did not answer in time" in listener.refusals.last[-1][1]
    assert not listener.connections


@pytest.mark.parametrize(
    "proof",
    [
        "",
        "0" * 64,
        "\u00e9" * 64,
        "\ud800",
        "\u0660" * 64,
        "a\nb",
        "0" * 3000,
        7,
        1.5,
        True,
        None,
        ["x"],
        {"a": {}},
    ],
)
def test_a_wrong_proof_is_a_refusal(listener, door, proof):
    sock = door()
    _, hello, _ = read_frame(sock)
    sock.sendall(frame(Kind.HELLO, **answer_to(hello, proof=proof)))
    eventually(lambda: listener.refusals.count == 1)
    kind = read_frame(sock)[0] if isinstance(proof, str) and len(proof) < 256 else None
    assert kind in (None, Kind.REFUSED)
    eventually(lambda: has_ended(sock))
    assert not listener.connections
    still_answers(listener)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"nonce": ""}, "without a nonce"),
        ({"nonce": 3}, "not a short string"),
        ({"task": "x" * 300}, "not a short string"),
        ({"task": "a task\nWARNING all is well"}, "not a short string"),
        ({"protocol": 1}, "speaks protocol 1, this task speaks"),
        ({"protocol": "2\n" * 50}, "speaks protocol 222"),
        ({"protocol": None}, "speaks protocol None"),
        ({"more": [1]}, "'more' is a list"),
    ],
)
def test_an_odd_greeting_is_refused_in_one_line(listener, door, changes, words):
    sock = door()
    _, hello, _ = read_frame(sock)
    sock.sendall(frame(Kind.HELLO, **answer_to(hello, **changes)))
    eventually(lambda: listener.refusals.count == 1)
    why = listener.refusals.last[-1][1]
    assert words in why
    assert "\n" not in why
    still_answers(listener)


def test_a_proof_serves_once(listener, door):
    """What a client said is of no use on another connection, nor what a task has said to it."""
    first, second = door(), door()
    _, hello, _ = read_frame(first)
    answer = greeting(nonce=secrets.token_hex(16))
    answer["proof"] = handshake._proof(KEY, "client", hello, answer)
    said = frame(Kind.HELLO, **answer)
    first.sendall(said)
    kind, welcome, _ = read_frame(first)
    assert kind == Kind.WELCOME
    read_frame(second)
    second.sendall(said)
    eventually(lambda: listener.refusals.count == 1)
    third = door()
    read_frame(third)
    answer["proof"] = welcome["proof"]
    third.sendall(frame(Kind.HELLO, **answer))
    eventually(lambda: listener.refusals.count == 2)


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + b" " * 64, "no frame of this protocol"),
        (b"\x16\x03\x01" + bytes(range(256)), "no frame of this protocol"),
        (HEADER.pack(b"DF", Kind.HELLO, 0, 0, 0, 0, 4097, 0), "above the limit of 4096"),
        (HEADER.pack(b"DF", Kind.HELLO, 0, 0, 0, 0, 2**32 - 1, 2**64 - 1), "above the limit"),
        (HEADER.pack(b"DF", Kind.HELLO, 0, 0, 0, 2**32 - 1, 0, 0), "tensors described in"),
        (HEADER.pack(b"DF", 200, 0, 0, 0, 0, 0, 0), "kind 200"),
        (frame(Kind.CALL, method="status"), "CALL where HELLO was expected"),
        (frame(Kind.SEGMENT, number=0, fd=0, size=1), "cannot share memory"),
        (b"".join(messages.encode(Kind.RUN, 1, 1)), "RUN where HELLO was expected"),
        (HEADER.pack(b"DF", Kind.HELLO, 0, 0, 0, 0, 4000, 0) + b"[" * 4000, "no JSON"),
        (
            HEADER.pack(b"DF", Kind.HELLO, 0, 0, 0, 0, 4000, 0) + b"9" * 4000,
            "no JSON|not an object",
        ),
    ],
)
def test_garbage_is_refused(listener, door, sent, words):
    sock = door()
    sock.sendall(sent)
    eventually(lambda: listener.refusals.count == 1)
    assert any(word in listener.refusals.last[-1][1] for word in words.split("|"))
    eventually(lambda: has_ended(sock))
    still_answers(listener)


def test_a_flood_of_strangers_does_not_flood_the_log(listener, door, caplog):
    with caplog.at_level(logging.WARNING, "dataflow.cluster"):
        for _ in range(50):
            door().sendall(b"x" * 64)
        eventually(lambda: listener.refusals.count == 50)
        lines = [r.getMessage() for r in caplog.records]
        assert len(lines) <= 3 * refusals.LINES  # one period, and two more on a very busy machine
        listener.close()
    lines = [r.getMessage() for r in caplog.records]
    said = [int(line.split()[2]) for line in lines if line.endswith("more connections.")]
    assert sum(said) + len(lines) - len(said) == 50, "some were left out, and nobody said so"


OUT_OF_DESCRIPTORS = textwrap.dedent(
    """
    import logging, os, resource, sys, threading, time
    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    from dataflow.cluster.transport import handshake
    from dataflow.cluster.transport import listener as module
    from dataflow.cluster.transport.listener import Listener
    handshake.HANDSHAKE_SECONDS = float(sys.argv[2])
    tries = 0
    class Counted(Listener):
        def _accept(self, listening):
            global tries
            tries += 1
            super()._accept(listening)
    class Echo:
        def handle(self, connection, message): connection.send(6, 0, message.id)
        def is_short(self, connection, message): return False
        def connection_closed(self, connection): pass
    listener = Counted("127.0.0.1:0", sys.argv[1], "/job:ps/task:0", Echo())
    limit = len(os.listdir("/proc/self/fd")) + 20
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    print(listener.address, flush=True)
    for line in sys.stdin:
        print(tries, flush=True)
    os._exit(0)
    """
)


def test_a_task_out_of_descriptors_waits_and_does_not_spin():
    process = subprocess.Popen(
        [sys.executable, "-c", OUT_OF_DESCRIPTORS, KEY, "60"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

    def tries():
        process.stdin.write("\n")
        process.stdin.flush()
        return int(process.stdout.readline())

    strangers = []
    try:
        address = process.stdout.readline().strip()
        # Each takes a descriptor of the task's until its handshake is over.
        strangers = [
            socket.create_connection(split_address(address), timeout=20) for _ in range(40)
        ]
        eventually(lambda: tries() > 20)
        before = tries()
        time.sleep(1.0)
        assert tries() - before < 20, "it asks again and again"
        for sock in strangers:
            sock.close()
        connection = connect(address, KEY, "client", TASK, timeout_seconds=20, answer_seconds=20)
        connection.send(Kind.CALL, 0, 5)
        assert connection.receive().id == 5
        connection.close()
    finally:
        for sock in strangers:
            sock.close()
        process.kill()
        _, said = process.communicate()
    assert said.count("cannot take connections at present") == 1, said


def test_many_silent_strangers_hold_no_memory_for_ever(listener, monkeypatch):
    monkeypatch.setattr(handshake, "HANDSHAKE_SECONDS", 2.0)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = len(os.listdir("/proc/self/fd"))
    threads = threading.active_count()
    strangers = [
        socket.create_connection(split_address(listener.address), timeout=20)
        for _ in range(min(100, soft // 4))
    ]
    still_answers(listener)
    eventually(lambda: listener.refusals.count == len(strangers))
    for sock in strangers:
        sock.close()
    eventually(lambda: threading.active_count() <= threads)
    eventually(lambda: len(os.listdir("/proc/self/fd")) <= before)
