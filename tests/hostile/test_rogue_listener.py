"""Somebody else listens where a task should: what it can learn, and how long it can hold us."""

import contextlib
import os
import secrets
import socket
import threading
import time

import pytest

from dataflow.cluster.transport import connection_pool, handshake, messages, registry, shm_receive
from dataflow.cluster.transport.connection_pool import connect
from dataflow.cluster.transport.listener import Listener
from dataflow.cluster.transport.messages import HEADER, Kind
from dataflow.errors import OpError, UnauthenticatedError, UnavailableError
from tests.hostile.strangers import (
    KEY,
    OWN_HOST,
    SECRET,
    Rogue,
    eventually,
    frame,
    greeting,
    read_frame,
)

TASK = "/job:ps/task:0"


@pytest.fixture
def listen():
    """A function that starts a rogue; all are closed in the end."""
    with contextlib.ExitStack() as stack:

        def start(serve, local=""):
            rogue = Rogue(serve, local)
            # This process may know the port as that of a server which an earlier test stopped.
            registry.add_keys([rogue.address], KEY)
            registry.forget_keys([rogue.address])
            stack.callback(rogue.close)
            return rogue

        yield start


@pytest.fixture
def opened(monkeypatch):
    """The descriptors of other processes that were opened, or tried."""
    found = []
    real = shm_receive.open_memory

    def watched(pid, number, num_bytes):
        found.append((pid, number))
        return real(pid, number, num_bytes)

    monkeypatch.setattr(shm_receive, "open_memory", watched)
    return found


@pytest.fixture
def descriptors(tmp_path):
    """Descriptors of this process by what they are: none is memory that a task made."""
    path = tmp_path / "secret"
    path.write_bytes(SECRET)
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(open(path, "r+b")).fileno()
        reading, writing = os.pipe()
        memory = os.memfd_create("dataflow")  # without seals: it could be made smaller
        os.write(memory, SECRET)
        other = os.memfd_create("not-dataflow", os.MFD_ALLOW_SEALING)
        os.write(other, SECRET)
        short = shm_receive.make_memory(31, SECRET[:31])
        sock = stack.enter_context(socket.socket())
        terminal, device = os.openpty()
        made = (reading, writing, memory, other, short, terminal, device)
        for fd in made:
            stack.callback(os.close, fd)
        folder = os.open(tmp_path, os.O_RDONLY)
        stack.callback(os.close, folder)
        yield {
            "file": file,
            "pipe": reading,
            "pipe's other end": writing,
            "memory without seals": memory,
            "somebody's memory": other,
            "short memory": short,
            "socket": sock.fileno(),
            "terminal": device,
            "folder": folder,
            "nothing": 9999,
            "negative": -1,
            "large": 1 << 70,
            "text": "../fd/3",
            "none": None,
        }


WHAT = [
    *("file", "pipe", "pipe's other end", "memory without seals", "somebody's memory"),
    *("short memory", "socket", "terminal", "folder", "nothing", "negative", "large"),
    *("text", "none"),
]


@pytest.mark.parametrize("family", ["tcp", "local"])
@pytest.mark.parametrize("welcomes", [False, True])
def test_it_learns_nothing_and_nothing_is_opened(
    listen, opened, descriptors, monkeypatch, family, welcomes
):
    """As the probe of protocol 1 was asked for, and as that of today."""
    seen = b""

    def serve(sock):
        nonlocal seen
        old = {"pid": os.getpid(), "fd": descriptors["file"]}
        names = (
            {"probe": descriptors["file"]} if welcomes else {"probe": old["fd"], "pid": old["pid"]}
        )
        sock.sendall(frame(Kind.HELLO, **greeting(**names)))
        seen += read_frame(sock)[2]
        if welcomes:
            sock.sendall(frame(Kind.WELCOME, proof="0" * 64, probe=descriptors["file"]))
        while part := sock.recv(4096):
            seen += part

    local = f"rogue-{secrets.token_hex(8)}" if family == "local" else ""
    rogue = listen(serve, local)
    address = rogue.address
    if local:  # it has taken the name of a task that has ended
        address = "127.0.0.1:1"
        monkeypatch.setitem(connection_pool._directory.names, address, local)
    with pytest.raises((UnauthenticatedError, UnavailableError)):
        connect(address, KEY, "client", TASK, timeout_seconds=0.2, answer_seconds=0.3)
    assert not opened
    assert SECRET not in seen
    assert KEY.encode() not in seen
    assert address not in connection_pool._directory.names


@pytest.mark.parametrize("what", WHAT)
@pytest.mark.parametrize("side", ["server", "client"])
def test_who_has_the_key_names_only_memory_that_it_made(descriptors, what, side):
    """Neither end of an authenticated connection reads another descriptor, or waits for one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    connection = connection_pool.Connection(ours, "a stranger", handshake.HANDSHAKE_MAX_BYTES)
    connection.deadline = time.monotonic() + 20
    failed = []

    def run():
        try:
            if side == "server":
                handshake.greet(connection, KEY, {"task": TASK, "local": "", "limit": 1})
            else:
                handshake.introduce(connection, KEY, "client")
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    theirs.settimeout(20)
    named = descriptors[what]
    if side == "server":
        _, hello, _ = read_frame(theirs)
        answer = greeting(task="client")
        answer["proof"] = handshake._proof(KEY, "client", hello, answer)
        theirs.sendall(frame(Kind.HELLO, **answer))
        _, welcome, _ = read_frame(theirs)
        pid = os.getpid()
        content = shm_receive.read_probe(pid, welcome["probe"])
        theirs.sendall(frame(Kind.WELCOME, content=content, probe=named))
        _, reply, _ = read_frame(theirs)
    else:
        hello = greeting()
        theirs.sendall(frame(Kind.HELLO, **hello))
        _, answer, _ = read_frame(theirs)
        proof = handshake._proof(KEY, "server", hello, answer)
        theirs.sendall(frame(Kind.WELCOME, proof=proof, probe=named))
        _, reply, _ = read_frame(theirs)
        theirs.sendall(frame(Kind.WELCOME, content=None))
    thread.join(20)
    assert not thread.is_alive(), "it waits for ever"
    assert not failed, failed
    assert reply["content"] is None
    assert not connection.may_share
    connection.close()
    theirs.close()


def test_both_ends_share_memory_or_neither(descriptors, monkeypatch):
    """The usual case, for comparison; and one end that cannot read the other's."""
    for readable in (True, False):
        if not readable:
            monkeypatch.setattr(shm_receive, "read_probe", lambda pid, number: None)
        ends = [
            connection_pool.Connection(sock, "the other", handshake.HANDSHAKE_MAX_BYTES)
            for sock in socket.socketpair(socket.AF_UNIX)
        ]
        thread = threading.Thread(target=handshake.greet, args=(ends[0], KEY, greeting()))
        thread.start()
        handshake.introduce(ends[1], KEY, "client")
        thread.join(20)
        assert [end.may_share for end in ends] == [readable, readable]
        for end in ends:
            end.close()


def test_a_proof_cannot_be_reflected(listen):
    def serve(sock):
        sock.sendall(frame(Kind.HELLO, **greeting()))
        _, answer, _ = read_frame(sock)
        sock.sendall(frame(Kind.WELCOME, proof=answer["proof"]))
        assert not sock.recv(4096), "it went on"

    with pytest.raises(UnauthenticatedError, match="does not hold the key"):
        connect(listen(serve).address, KEY, "client", TASK)


@pytest.mark.parametrize(
    "change",
    [{"task": "/job:ps/task:1"}, {"limit": 7}, {"local": "mine"}, {"nonce": "1" * 32}, {"more": 1}],
)
def test_what_a_task_says_of_itself_cannot_be_changed_on_the_way(listen, change):
    """Somebody between both passes everything on, but for one word of the greeting."""

    class Nobody:
        def connection_closed(self, connection):
            pass

    real = Listener(f"{OWN_HOST}:0", KEY, TASK, Nobody())

    def serve(sock):
        host, port = real.address.split(":")
        with socket.create_connection((host, int(port)), timeout=20) as task:
            _, hello, _ = read_frame(task)
            sock.sendall(frame(Kind.HELLO, **{**hello, **change}))
            task.sendall(read_frame(sock)[2])
            sock.sendall(read_frame(task)[2])

    try:
        with pytest.raises(UnauthenticatedError):
            connect(listen(serve).address, KEY, "client")
        eventually(lambda: real.refusals.count == 1)
        assert "does not hold the key" in real.refusals.last[-1][1]
    finally:
        real.close()


def silent(sock):
    sock.recv(1)


#: Between two bytes of a handshake, whose deadline is 0.4 s.
DRIP_SECONDS = 0.2


def drip(sock):
    """A byte now and then: each comes before anybody's patience with one byte ends."""
    for byte in frame(Kind.HELLO, **greeting()):
        sock.sendall(bytes([byte]))
        time.sleep(DRIP_SECONDS)


def drip_later(sock):
    sock.sendall(frame(Kind.HELLO, **greeting()))
    read_frame(sock)
    for byte in frame(Kind.WELCOME, proof="0" * 64):
        sock.sendall(bytes([byte]))
        time.sleep(DRIP_SECONDS)


@pytest.mark.parametrize("serve", [silent, drip, drip_later])
def test_the_handshake_has_one_deadline(listen, serve):
    """A drip of 100 bytes and more would take longer than the 15 s that this test has for it."""
    outcome = []

    def run():
        try:
            connect(
                listen(serve).address, KEY, "client", TASK, timeout_seconds=0, answer_seconds=0.4
            )
        except OpError as error:
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(15)
    assert not thread.is_alive(), "it is held"
    assert isinstance(outcome[0], UnavailableError)
    assert "did not answer in time" in str(outcome[0])


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n" + b" " * 40, "no frame of this protocol"),
        (HEADER.pack(b"DF", Kind.HELLO, 0, 0, 0, 0, 1 << 20, 0), "above the limit of 4096"),
        (HEADER.pack(b"DF", Kind.HELLO, 0, 0, 0, 0, 0, 1 << 62), "above the limit of 4096"),
        (HEADER.pack(b"DF", Kind.HELLO, 0, 0, 0, 500, 12, 0), "500 tensors"),
        (frame(Kind.CALL, method="status"), "CALL where HELLO was expected"),
        (frame(Kind.SEGMENT, number=0, fd=0, size=1), "cannot share memory"),
        (frame(Kind.HELLO, **greeting(nonce="")), "nonce"),
        (frame(Kind.HELLO, **greeting(nonce=["x"])), "'nonce' is a list"),
        (frame(Kind.HELLO, **greeting(task="a\nb", nonce="\n" * 32)), "nonce"),
        (b"".join(messages.encode(Kind.HELLO)), "HELLO"),
    ],
)
def test_what_is_no_task_is_said_so(listen, sent, words):
    def serve(sock):
        sock.sendall(sent)
        while sock.recv(4096):  # to close on what was not read would take back what was sent
            pass

    with pytest.raises(UnavailableError, match=words) as caught:
        connect(
            listen(serve).address,
            KEY,
            "client",
            TASK,
            timeout_seconds=0,
            answer_seconds=5,
        )
    assert "is no task of a dataflow cluster" in str(caught.value)
    assert "\n" not in caught.value.message


def test_why_it_refuses_is_one_short_line(listen):
    def serve(sock):
        sock.sendall(frame(Kind.HELLO, **greeting()))
        read_frame(sock)
        sock.sendall(frame(Kind.REFUSED, why="no\n\x1b[31m" + "x" * 3000))

    with pytest.raises(UnauthenticatedError, match="refused the connection: no") as caught:
        connect(listen(serve).address, KEY, "client", TASK)
    assert "\n" not in caught.value.message
    assert "\x1b" not in caught.value.message
    assert len(caught.value.message) < 800
