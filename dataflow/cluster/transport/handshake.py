"""Authentication: challenge and response at the start of every connection.

Both sides prove that they hold the cluster's key without sending it: each sends an HMAC-SHA256 (RFC
2104) of its role and of everything that both have sent, nonces included, so that a proof is valid
neither on another connection nor from the other side. The connecting side proves itself first, as anyone may
connect to a port; it accepts nothing from the other end until that has proved itself too. Only then do
two tasks on one machine find out whether they can share memory (`shm_receive`).

==== ========= ======= ============================================================
step sent by   kind    content
==== ========= ======= ============================================================
1    listening HELLO   protocol, nonce, host, task, incarnation, local socket, limit
2    connecting HELLO  protocol, nonce, name, proof
3    listening WELCOME proof; over a local socket: the number of a probe
4    connecting WELCOME over a local socket only: what the probe holds; a probe
5    listening WELCOME over a local socket only: what that one holds
==== ========= ======= ============================================================

Until it is done a frame may have 4 KB, and all of it together may take `HANDSHAKE_SECONDS`.
The messages after that are neither encrypted nor signed: the key keeps others from connecting, not from listening
on the wire.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dataflow.cluster.transport import messages, shm_receive
from dataflow.cluster.transport.messages import Kind, ProtocolError
from dataflow.cluster.transport.shm_receive import Probe
from dataflow.errors import FailedPreconditionError, UnauthenticatedError
from dataflow.user_cache import cache_folder

if TYPE_CHECKING:
    from dataflow.cluster.transport.connection import Connection


HANDSHAKE_MAX_BYTES = 4096
HANDSHAKE_SECONDS = 10.0
KEY_VARIABLE = "DATAFLOW_CLUSTER_KEY"

_NONCE_BYTES = 16
_LONGEST_TEXT = 256


def new_key() -> str:
    """Return a fresh random key for one cluster."""
    return secrets.token_hex(32)


def default_key() -> str:
    """Return the key for tasks that were started without one.

    ``DATAFLOW_CLUSTER_KEY`` if it is set, else a key in a file that only this user can read, made
    at first use: the tasks that one user starts by hand on one machine find each other.
    """
    found = os.environ.get(KEY_VARIABLE)
    if found:
        return found
    folder = cache_folder()
    path = folder / "cluster_key"
    folder.mkdir(parents=True, exist_ok=True)
    # Written to another file and linked into place, so that two tasks that start together see one whole key.
    draft = folder / f"cluster_key.{os.getpid()}.{secrets.token_hex(4)}"
    if not path.exists():
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(new_key())
        try:
            if hasattr(os, "link"):
                os.link(draft, path)
            else:  # WebAssembly, where there is no other task
                os.replace(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink(missing_ok=True)
    return path.read_text().strip()


def _proof(key: str, role: str, greeting: dict[str, Any], answer: dict[str, Any]) -> str:
    """The proof of the "server" or "client" that both HELLOs were these, and that it has the key."""
    said = [greeting, {name: value for name, value in answer.items() if name != "proof"}]
    text = json.dumps([messages.PROTOCOL_VERSION, role, *said], sort_keys=True)
    secret = key.encode("utf-8", "surrogateescape")  # as Python reads the environment
    return hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()


def _is_proved(head: dict[str, Any], expected: str) -> bool:
    # As bytes: `compare_digest` refuses text that is not ASCII.
    return hmac.compare_digest(_text(head, "proof").encode(), expected.encode())


def host_identity() -> str:
    """Return a text that two processes share exactly if they run on one machine since the same boot."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _expect(message: messages.Message, kind: Kind) -> dict[str, Any]:
    """The head of a message of the handshake, which is plain text and numbers."""
    if message.kind != kind or message.head is None:
        raise ProtocolError(f"{Kind(message.kind).name} where {kind.name} was expected")
    for name, value in message.head.items():
        if type(value) not in (str, int, type(None)):
            raise ProtocolError(f"a handshake whose {_line(name)!r} is a {type(value).__name__}")
    return message.head


def _text(head: dict[str, Any], name: str) -> str:
    value = head.get(name, "")
    # Text from a refused connection must not forge log lines.
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT or not value.isprintable():
        raise ProtocolError(f"a handshake whose {name!r} is not a short string")
    return value


def _line(value: object) -> str:
    """The bytes of an unknown peer, shortened to part of one line."""
    return "".join(c for c in str(value)[:_LONGEST_TEXT] if c.isprintable())


def _check_nonce(head: dict[str, Any]) -> None:
    if len(_text(head, "nonce")) != 2 * _NONCE_BYTES:
        raise ProtocolError("a handshake without a nonce")


def greet(connection: Connection, key: str, greeting: dict[str, Any]) -> None:
    """Do the accepting side's half; ``greeting`` holds task, incarnation and local socket.

    Raises ProtocolError for garbage, UnauthenticatedError for a wrong key, after telling the peer.
    """
    greeting = {
        "protocol": messages.PROTOCOL_VERSION,
        "nonce": secrets.token_hex(_NONCE_BYTES),
        "host": host_identity(),
        **greeting,
    }
    connection.send(Kind.HELLO, head=greeting)
    answer = _expect(connection.receive(), Kind.HELLO)
    try:
        connection.peer = _text(answer, "task") or "a client"
        protocol = answer.get("protocol")
        if protocol != messages.PROTOCOL_VERSION:
            raise ProtocolError(_other_protocol(connection.peer, protocol, "this task"))
        _check_nonce(answer)
        if not _is_proved(answer, _proof(key, "client", greeting, answer)):
            raise UnauthenticatedError(
                None, None, f"{connection.peer} does not hold the key of this cluster"
            )
    except (ProtocolError, UnauthenticatedError) as error:
        code = getattr(error, "error_code", 0)
        connection.send(Kind.REFUSED, head={"why": str(error), "code": code})
        raise
    proof = _proof(key, "server", greeting, answer)
    if connection.sock.family != getattr(socket, "AF_UNIX", None):
        connection.send(Kind.WELCOME, head={"proof": proof})
        return
    with Probe() as probe:
        connection.send(Kind.WELCOME, head={"proof": proof, "probe": probe.number})
        reply = _expect(connection.receive(), Kind.WELCOME)
        pid = shm_receive.pid_of_peer(connection.sock)
        content = None
        if probe.holds(reply.get("content")):
            content = shm_receive.read_probe(pid, reply.get("probe"))
        connection.send(Kind.WELCOME, head={"content": content})
    if content is not None:
        connection.share_memory_with(pid)


def introduce(connection: Connection, key: str, own_name: str) -> dict[str, Any]:
    """Do the connecting side's half; return the greeting of the task at the other end.

    Raises UnauthenticatedError if either side does not hold the key, FailedPreconditionError for a
    task of another protocol, ProtocolError if the other end is no task at all.
    """
    greeting = _expect(connection.receive(), Kind.HELLO)
    protocol = greeting.get("protocol")
    if protocol != messages.PROTOCOL_VERSION:
        raise FailedPreconditionError(
            None, None, _other_protocol(connection.peer, protocol, "this process") + "."
        )
    _check_nonce(greeting)
    answer: dict[str, Any] = {
        "protocol": messages.PROTOCOL_VERSION,
        "nonce": secrets.token_hex(_NONCE_BYTES),
        "task": own_name,
    }
    answer["proof"] = _proof(key, "client", greeting, answer)
    connection.send(Kind.HELLO, head=answer)
    message = connection.receive()
    if message.kind == Kind.REFUSED:
        why = _line((message.head or {}).get("why", "no reason given"))
        raise UnauthenticatedError(
            None,
            None,
            f"{connection.peer} refused the connection: {why}. Start all tasks and the client with the "
            f"same key ({KEY_VARIABLE}, or the one that tf.cluster.launch hands out).",
        )
    welcome = _expect(message, Kind.WELCOME)
    if not _is_proved(welcome, _proof(key, "server", greeting, answer)):
        raise UnauthenticatedError(
            None, None, f"{connection.peer} does not hold the key of this cluster; it was left."
        )
    if connection.sock.family == getattr(socket, "AF_UNIX", None):
        pid = shm_receive.pid_of_peer(connection.sock)
        with Probe() as probe:
            content = shm_receive.read_probe(pid, welcome.get("probe"))
            connection.send(Kind.WELCOME, head={"content": content, "probe": probe.number})
            reply = _expect(connection.receive(), Kind.WELCOME)
            if probe.holds(reply.get("content")):
                connection.share_memory_with(pid)
    return greeting


def _other_protocol(peer: str, protocol: object, own: str) -> str:
    return (
        f"{peer} speaks protocol {_line(protocol)}, {own} speaks {messages.PROTOCOL_VERSION}: install the "
        "same version of dataflow on both"
    )
