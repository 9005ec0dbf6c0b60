"""Who may speak: challenge and response at the start of every connection.

Both sides prove that they hold the cluster's key without sending it (HMAC-SHA256 over both nonces,
as in RFC 2104), and say which protocol they speak. Until that is done a frame may have 4 KB.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path
from typing import Any

from dataflow.cluster import messages, shared_memory
from dataflow.cluster.messages import Kind, ProtocolError
from dataflow.errors import UnauthenticatedError, UnavailableError
from dataflow.user_cache import cache_folder

HANDSHAKE_MAX_BYTES = 4096
HANDSHAKE_SECONDS = 10.0
KEY_VARIABLE = "DATAFLOW_CLUSTER_KEY"


def new_key() -> str:
    """Return a fresh random key for one cluster."""
    return secrets.token_hex(32)


def default_key() -> str:
    """Return the key of tasks that nobody handed one.

    ``DATAFLOW_CLUSTER_KEY`` if it is set, else a key in a file that only this user can read, made
    at first use: the tasks that one user starts by hand on one machine find each other.
    """
    found = os.environ.get(KEY_VARIABLE)
    if found:
        return found
    folder = cache_folder()
    path = folder / "cluster_key"
    folder.mkdir(parents=True, exist_ok=True)
    # Written beside and linked into place, so that two tasks starting together see one whole key.
    draft = folder / f"cluster_key.{os.getpid()}.{secrets.token_hex(4)}"
    if not path.exists():
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(new_key())
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text().strip()


def _proof(key: str, side: str, server_nonce: str, client_nonce: str) -> str:
    text = f"dataflow {messages.PROTOCOL_VERSION} {side} {server_nonce} {client_nonce}"
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()


def host_identity() -> str:
    """Return what two processes share exactly when they run on one machine since one boot."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _own_probe() -> dict[str, Any] | None:
    probe = shared_memory.own_probe()
    return probe.describe() if probe is not None else None


def _shares(answer: Any) -> bool:
    probe = shared_memory.own_probe()
    return probe is not None and probe.accepts(answer)


def _expect(message: messages.Message, kind: Kind) -> dict[str, Any]:
    if message.kind != kind or message.head is None:
        raise ProtocolError(f"{Kind(message.kind).name} where {kind.name} was expected")
    return message.head


def _text(head: dict[str, Any], key: str) -> str:
    value = head.get(key, "")
    if not isinstance(value, str) or len(value) > 256:
        raise ProtocolError(f"a handshake whose {key!r} is no short text")
    return value


def greet(link: Any, key: str, greeting: dict[str, Any]) -> None:
    """Do the accepting side's half; ``greeting`` says task, incarnation, local socket.

    Raises ProtocolError for garbage, UnauthenticatedError for a wrong key, after telling the peer.
    """
    nonce = secrets.token_hex(16)
    link.send(
        Kind.HELLO,
        head={
            "protocol": messages.PROTOCOL_VERSION,
            "nonce": nonce,
            "host": host_identity(),
            "probe": _own_probe(),
            **greeting,
        },
    )
    head = _expect(link.receive(), Kind.HELLO)
    link.peer = _text(head, "task") or "a client"
    try:
        protocol = head.get("protocol")
        if protocol != messages.PROTOCOL_VERSION:
            raise ProtocolError(
                f"{link.peer} speaks protocol {protocol}, this task speaks "
                f"{messages.PROTOCOL_VERSION}: install the same version of dataflow on both"
            )
        client_nonce = _text(head, "nonce")
        expected = _proof(key, "client", nonce, client_nonce)
        if not hmac.compare_digest(_text(head, "proof"), expected):
            raise UnauthenticatedError(
                None, None, f"{link.peer} does not hold the key of this cluster"
            )
    except (ProtocolError, UnauthenticatedError) as error:
        code = getattr(error, "error_code", 0)
        link.send(Kind.REFUSED, head={"why": str(error), "code": code})
        raise
    link.may_share = _shares(head.get("probe_answer"))
    link.send(
        Kind.WELCOME,
        head={
            "proof": _proof(key, "server", nonce, client_nonce),
            "probe_answer": shared_memory.read_probe(head.get("probe")),
        },
    )


def introduce(link: Any, key: str, own_name: str) -> dict[str, Any]:
    """Do the connecting side's half; return the greeting of the task at the other end.

    Raises UnauthenticatedError if either side does not hold the key, UnavailableError if the other
    end is no task of this protocol.
    """
    greeting = _expect(link.receive(), Kind.HELLO)
    if greeting.get("protocol") != messages.PROTOCOL_VERSION:
        raise UnavailableError(
            None,
            None,
            f"{link.peer} speaks protocol {greeting.get('protocol')}, this process speaks "
            f"{messages.PROTOCOL_VERSION}: install the same version of dataflow on both.",
        )
    nonce = secrets.token_hex(16)
    server_nonce = _text(greeting, "nonce")
    link.send(
        Kind.HELLO,
        head={
            "protocol": messages.PROTOCOL_VERSION,
            "nonce": nonce,
            "task": own_name,
            "proof": _proof(key, "client", server_nonce, nonce),
            "probe": _own_probe(),
            "probe_answer": shared_memory.read_probe(greeting.get("probe")),
        },
    )
    answer = link.receive()
    if answer.kind == Kind.REFUSED:
        why = (answer.head or {}).get("why", "no reason given")
        raise UnauthenticatedError(
            None,
            None,
            f"{link.peer} refused the connection: {why}. Start all tasks and the client with the "
            f"same key ({KEY_VARIABLE}, or the one that tf.cluster.launch hands out).",
        )
    head = _expect(answer, Kind.WELCOME)
    expected = _proof(key, "server", server_nonce, nonce)
    if not hmac.compare_digest(_text(head, "proof"), expected):
        raise UnauthenticatedError(
            None, None, f"{link.peer} does not hold the key of this cluster; it was left."
        )
    link.may_share = _shares(head.get("probe_answer"))
    return greeting
