"""The learner's side of a class: ``dataflow.course.join``, ``hand_in`` and ``leave``."""

from __future__ import annotations

import hashlib
import secrets
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dataflow.course import attempts
from dataflow.course.classroom import identity
from dataflow.course.classroom.limits import MAX_NOTEBOOK_BYTES
from dataflow.course.classroom.outbox import Outbox, Reply, notebook_path, uid_of
from dataflow.course.classroom.transport import Transport, transport

_JOIN_SECONDS = 3.0
_HAND_IN_SECONDS = 30.0
_TEACHERS_TOKEN = 32  # a class's code is shorter

_current: Membership | None = None


class Membership:
    """That this kernel is in a class. What is answered from now on is sent, beside the lesson.

    Its text says how many answers the class has, and how many wait.
    """

    def __init__(self, outbox: Outbox, address: str, sender: Transport) -> None:
        self._outbox, self.address, self._sender = outbox, address, sender

    @property
    def is_teacher(self) -> bool:
        """Whether it was joined with the teacher's token: questions are sent, and no answers."""
        return self._outbox.teacher

    def asked(self, name: str) -> None:
        """A question was made in this kernel, or asked again."""
        self._beside_the_lesson(self._tell_question, name)

    def answered(self, name: str, attempt: attempts.Attempt) -> None:
        """An attempt was made."""
        self._beside_the_lesson(self._tell_answer, name, attempt)

    def _beside_the_lesson(self, tell: Callable[..., None], *what: Any) -> None:
        """Whatever goes wrong in telling the class, the lesson goes on."""
        try:
            tell(*what)
        except Exception as e:
            self._outbox.said = f"{what[0]} was not sent: {type(e).__name__}: {e}"

    def _tell_question(self, name: str) -> None:
        if not self.is_teacher:
            for attempt in attempts.earlier(name):
                self._tell_answer(name, attempt)
        elif (asked := attempts.asked_in(name, answer=True)) is not None:
            self._put("/api/questions", {"task": name, **asked}, uid_of(name, asked, 0))

    def _tell_answer(self, name: str, attempt: attempts.Attempt) -> None:
        if self.is_teacher or name.startswith("question."):
            return  # a question without a name is not of a lesson
        asked = attempts.asked_in(name) or {"question": None, "told": None}
        given = _sent_of(attempt)
        nth = sum(_sent_of(each) == given for each in attempts.earlier(name))
        if not (attempt.get("right") or attempt.get("shown")):
            asked = asked | {"told": None}
        message = {"id": uid_of(name, given, nth), "task": name, "attempt": given, **asked}
        self._put("/api/answers", message, message["id"])

    def _put(self, path: str, message: Any, uid: str, settle: Any = None) -> None:
        if self._outbox.put(path, message, uid, settle):
            self._sender.wake()

    def hand_in(self, path: Path) -> HandedIn:
        """See `dataflow.course.hand_in`."""
        body = path.read_bytes()
        if len(body) > MAX_NOTEBOOK_BYTES:
            raise ValueError(
                f"{path.name} has {len(body) // 1_000_000} MB, and a class takes {MAX_NOTEBOOK_BYTES // 1_000_000}: "
                "clear the outputs of cells with large pictures, save it, and hand it in again"
            )
        attempts.notebook_of(body.decode("utf-8", "replace"))
        handed = HandedIn(path.name, path.stat().st_mtime)
        digest = hashlib.sha256(body).hexdigest()[:12]
        uid = f"{path.name} {digest} {time.monotonic_ns()}"
        self._put(notebook_path(path.name), body, uid, handed.settle)
        deadline = time.monotonic() + _HAND_IN_SECONDS
        while handed.reply is None and sys.platform != "emscripten" and time.monotonic() < deadline:
            self._sender.wait(0.2)
            if self._outbox.state == "refused":
                break
            time.sleep(0.02)
        if handed.reply is not None and handed.reply.status != 200:
            raise ValueError(f"{path.name} was not taken. {handed.reply.told.get('message', '')}")
        return handed

    def leave(self) -> None:
        """Sends no more."""
        self._sender.stop()

    def wait(self, seconds: float) -> None:
        """Waits until everything is sent, at most so long; a lesson never does."""
        self._sender.wait(seconds)

    def check(self) -> None:
        """Raises `ValueError` where the class refused to be joined."""
        if self._outbox.state == "refused":
            raise ValueError(f"{self.address}: {self._outbox.said}")

    def __repr__(self) -> str:
        box = self._outbox
        if box.state == "refused":
            return f"Not in the class at {self.address}: {box.said}"
        if box.teacher:
            head = f"In the class at {self.address} as its teacher: {box.num_sent} questions sent"
        elif box.state == "joined":
            head = f"In the class at {self.address} as {box.name}: {box.num_sent} answers sent"
        else:
            head = f"Joining the class at {self.address}"
            head += ", which does not answer yet" if box.num_failures else ""
        parts = [head, f"{box.num_waiting} waiting"]
        if box.num_dropped:
            parts.append(f"{box.num_dropped} of the oldest not sent (the notebook has them)")
        return ", ".join(parts) + "." + (f" Last problem: {box.said}" if box.said else "")


def _sent_of(attempt: attempts.Attempt) -> attempts.Attempt:
    return {
        k: v for k, v in attempt.items() if k in ("right", "words", "given", "shown", "variant")
    }


class HandedIn:
    """A notebook on its way to the class; its text says whether it has arrived."""

    def __init__(self, file: str, saved: float) -> None:
        self.file, self.saved = file, saved
        self.reply: Reply | None = None

    def settle(self, reply: Reply) -> None:
        """The server has answered."""
        self.reply = reply

    def __repr__(self) -> str:
        saved = time.strftime("%H:%M:%S", time.localtime(self.saved))
        if self.reply is None:
            return f"{self.file}, as saved at {saved}, waits: the class does not answer yet. Nothing is lost."
        if self.reply.status != 200:
            return f"{self.file} was not taken. {self.reply.told.get('message', '')}"
        told = self.reply.told
        return (
            f"Handed in: {self.file}, as saved at {saved}, with {told.get('right', 0)} right of "
            f"{told.get('tasks', 0)} questions and exercises. Saved again since? Hand it in again."
        )


def join(address: str | None, code: str | None, name: str | None) -> Membership:
    """See `dataflow.course.join`."""
    global _current
    told = identity.read_file("last") if address is None else {}
    address, code = address or told.get("address"), code or told.get("code")
    if not address or not code:
        raise ValueError(
            "which class to join is not known here: it takes the class's address and code, as in "
            'dataflow.course.join("http://192.168.1.20:8899", "KMT4RX", name="Ada")'
        )
    address = _checked(address)
    teacher, in_page = len(code) >= _TEACHERS_TOKEN, sys.platform == "emscripten"
    here = identity.place(address, code)
    known = {} if teacher or in_page else identity.read_file(here)
    key = known.get("key") or secrets.token_hex(16)
    called = str(known.get("name", "")) if name is None else str(name)
    leave()
    outbox = Outbox(code, key, called, teacher)
    begin = partial(_recognize, outbox, address, name) if in_page and not teacher else None
    _current = member = Membership(outbox, address, transport(outbox, address, begin))
    attempts.listen(member)
    for task in attempts.tasks_so_far():
        member.asked(task)
    member.wait(_JOIN_SECONDS)
    try:
        member.check()
    except ValueError:
        leave()
        raise
    if not teacher and not in_page:
        identity.write_file(here, {"key": key, "name": called})
        identity.write_file("last", {"address": address, "code": code})
    return member


def hand_in(path: Any) -> HandedIn:
    """See `dataflow.course.hand_in`."""
    if _current is None:
        raise ValueError("join the class first: dataflow.course.join(address, code, name=...)")
    found = Path(path) if path is not None else attempts.notebook_path()
    if sys.platform == "emscripten" and found is not None and not found.is_file():
        raise ValueError(
            f"Python sees no {found} in this page (without HTTPS a browser hides the page's files from it): "
            f"save the lesson, and hand it in at {_current.address}/"
        )
    if found is None:
        raise ValueError(
            'which notebook this is is not known here; name its file: dataflow.course.hand_in("01_graphs.ipynb")'
        )
    return _current.hand_in(found)


def leave() -> None:
    """See `dataflow.course.leave`."""
    global _current
    if _current is not None:
        attempts.listen(None)
        _current.leave()
        _current = None


def _checked(address: str) -> str:
    parts = urlsplit(address if "://" in address else f"http://{address}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(
            f'got {address!r} for the class\'s address, needed one such as "http://192.168.1.20:8899", '
            "as the teacher's page shows it"
        )
    return f"{parts.scheme}://{parts.netloc}"


async def _recognize(outbox: Outbox, address: str, name: str | None) -> None:
    """In a page: the learner who joined this class in it before, else a new one."""
    here = identity.place(address, outbox.code)
    known = await identity.read_page(here)
    outbox.key = str(known.get("key") or outbox.key)
    outbox.name = str(known.get("name", "")) if name is None else outbox.name
    await identity.write_page(here, {"key": outbox.key, "name": outbox.name})
