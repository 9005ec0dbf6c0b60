"""What a learner's kernel has yet to tell the server, and what to do about each reply. No I/O.

A transport asks `Outbox.next_request`, sends it, and says what came back: `heard` or `failed` return how
many seconds to wait before the next. Whatever happens, the lesson goes on: what cannot be sent waits,
at most `MAX_WAITING` answers of it, and the notebook has all of them anyway.
"""

from __future__ import annotations

import hashlib
import json
import random
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import quote

MAX_WAITING = 1_000
_AT_ONCE = 50
_AT_ONCE_BYTES = 400_000
_LONGEST_SECONDS = 30.0
_REJOIN_SECONDS = 2.0


class Request(NamedTuple):
    """A POST to the server. ``token`` is "" where none is needed."""

    path: str
    body: bytes
    token: str


class Reply(NamedTuple):
    """What came back: HTTP's status, the JSON object, and seconds to wait where the server names them."""

    status: int
    told: dict[str, Any]
    retry_after: float = 0.0


@dataclass
class Item:
    """One thing to be sent. ``settle`` is called with the reply, when there is a final one."""

    path: str
    body: bytes
    uid: str
    settle: Callable[[Reply], None] | None = None


@dataclass
class Outbox:
    """The queue of one member of a class.

    ``state`` is "joining", "joined" or "refused"; ``said`` is the server's last word where it refused
    something, ``name`` what it calls the learner.
    """

    code: str
    key: str
    name: str
    teacher: bool = False
    state: str = "joining"
    said: str = ""
    num_sent: int = 0
    num_dropped: int = 0
    num_failures: int = 0
    _waiting: deque[Item] = field(default_factory=deque)
    _known: set[str] = field(default_factory=set)
    _sending: list[Item] = field(default_factory=list)
    _at_once: int = _AT_ONCE
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def put(self, path: str, message: Any, uid: str, settle: Any = None) -> bool:
        """Queues something, unless it was queued before; of too much the oldest goes."""
        body = message if isinstance(message, bytes) else json.dumps(message, default=str).encode()
        with self._lock:
            if uid in self._known or self.state == "refused":
                return False
            self._known.add(uid)
            if len(self._waiting) >= MAX_WAITING:
                self._waiting.popleft()
                self.num_dropped += 1
            self._waiting.append(Item(path, body, uid, settle))
            return True

    @property
    def num_waiting(self) -> int:
        """How many are not acknowledged yet."""
        return len(self._waiting)

    def next_request(self) -> Request | None:
        """What is to be sent now; None while there is nothing."""
        with self._lock:
            if self.state == "refused":
                return None
            if self.state == "joining" and not self.teacher:
                told = {"code": self.code, "key": self.key, "name": self.name}
                return Request("/api/join", json.dumps(told).encode(), "")
            self._sending = self._batch()
            if not self._sending:
                return None
            first = self._sending[0]
            token = self.code if self.teacher else self.key
            if not _is_list(first.path):
                return Request(first.path, first.body, token)
            many = b",".join(item.body for item in self._sending)
            word = b"questions" if self.teacher else b"answers"
            return Request(first.path, b'{"' + word + b'": [' + many + b"]}", token)

    def _batch(self) -> list[Item]:
        batch: list[Item] = []
        size = 0
        for item in self._waiting:
            size += len(item.body)
            full = len(batch) >= self._at_once or size > _AT_ONCE_BYTES
            if batch and (full or item.path != batch[0].path or not _is_list(item.path)):
                break
            batch.append(item)
        return batch

    def failed(self) -> float:
        """The server did not answer."""
        with self._lock:
            self.num_failures += 1
            pause = min(_LONGEST_SECONDS, 2.0 ** min(self.num_failures - 1, 6))
            return pause * (
                0.5 + random.random() / 2
            )  # 200 learners do not come back at one moment

    def heard(self, reply: Reply) -> float:
        """The server answered."""
        if reply.status == 429:
            return max(reply.retry_after, 1.0) * (1 + random.random() / 2)
        if reply.status >= 500:
            return self.failed()
        with self._lock:
            self.num_failures = 0
            if self.state == "joining" and not self.teacher:
                self._heard_of_joining(reply)
            elif reply.status == 401:
                self._heard_of_no_token(reply)
                return _REJOIN_SECONDS
            elif reply.status in (400, 413) and len(self._sending) > 1:
                # One of them spoils it, or they are too long together.
                self._at_once = max(1, len(self._sending) // 2)
            else:
                self._at_once = min(_AT_ONCE, 2 * self._at_once)
                self._settle(reply)
        return 0.0

    def _heard_of_joining(self, reply: Reply) -> None:
        if reply.status != 200:
            self._refused(reply)
        elif "learner" not in reply.told:
            self._refused(Reply(200, {"message": "What answers there is no class."}))
        else:
            self.state, self.name = "joined", str(reply.told.get("name", self.name))

    def _heard_of_no_token(self, reply: Reply) -> None:
        """The class was begun anew: join again; a teacher's token cannot be had again."""
        if self.teacher:
            self._refused(reply)
        else:
            self.state = "joining"

    def _refused(self, reply: Reply) -> None:
        self.state, self.said = "refused", _sentence(reply)
        self._waiting.clear()

    def _settle(self, reply: Reply) -> None:
        """What was sent is accepted or refused for good: it is not sent again."""
        if self.teacher and reply.status == 200:
            self.state = "joined"
        refused = reply.told.get("refused") or []
        sent = {item.uid for item in self._sending}
        self._waiting = deque(item for item in self._waiting if item.uid not in sent)
        if reply.status == 200 and all(_is_list(item.path) for item in self._sending):
            self.num_sent += len(sent) - len(refused)
        if refused or reply.status != 200:
            self.said = str(refused[0].get("message", "")) if refused else _sentence(reply)
        for item in self._sending:
            if item.settle is not None:
                item.settle(reply)
        self._sending = []


def uid_of(task: str, attempt: Any, nth: int) -> str:
    """The name of an answer, the same in every kernel that sends it."""
    text = json.dumps([task, attempt, nth], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def notebook_path(file: str) -> str:
    """Where a notebook of that name is handed in."""
    return f"/api/notebooks?file={quote(file)}"


def _is_list(path: str) -> bool:
    return path in ("/api/answers", "/api/questions")


def _sentence(reply: Reply) -> str:
    return str(reply.told.get("message") or f"The server answered with status {reply.status}.")
