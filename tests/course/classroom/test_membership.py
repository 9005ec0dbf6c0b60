"""A learner joins, answers and hands in; a server that is gone stops no lesson."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dataflow as tf
import dataflow.course
from dataflow.course import attempts
from dataflow.course.check import lesson01
from dataflow.course.classroom import membership
from dataflow.course.classroom.outbox import Outbox
from dataflow.course.classroom.server import Server
from dataflow.course.classroom.store import Store
from dataflow.course.classroom.transport import FetchTransport
from tests.course.classroom.a_class import answer, lessons

predict = pytest.importorskip("dataflow_widgets").predict
pytestmark = pytest.mark.threads


class InThread:
    """A server in a thread of this process, while the test is the learner."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        self._ready, self._stop = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(folder, port)))
        self._thread.start()
        assert self._ready.wait(60)
        self.address = f"http://127.0.0.1:{self.server.port}"

    async def _serve(self, folder: Path, port: int) -> None:
        from dataflow.course.classroom.questions import read_catalog

        self._loop = asyncio.get_running_loop()
        self.server = Server(folder / "class", read_catalog(lessons(folder / "lessons")), port=port)
        self.code, self.teacher = self.server.store.code, self.server.store.teacher
        self._ready.set()
        await self._stop.wait()
        await self.server.close()

    def ask(self, name: str, *arguments: Any) -> Any:
        """A method of the store, in its thread."""
        method = getattr(self.server.store, name)
        asked = self.server.classroom.recorder.call(method, *arguments)
        return asyncio.run_coroutine_threadsafe(asked, self._loop).result(30)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(60)


@pytest.fixture
def room(tmp_path: Path) -> Iterator[InThread]:
    room = InThread(tmp_path)
    yield room
    room.stop()


@pytest.fixture(autouse=True)
def a_new_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    monkeypatch.setattr(attempts, "_asked", {})
    attempts.forget()
    yield
    dataflow.course.leave()
    attempts.forget()


def pruned() -> Any:
    with tf.Graph().as_default() as graph:
        a, b = tf.constant(1, name="a"), tf.constant(2, name="b")
        tf.add(a, b, name="sum")
        return predict.pruned(tf.negative(a, name="c"), graph=graph, name="lesson01.q2")


def test_what_is_answered_reaches_the_class(room: InThread) -> None:
    question = pruned()
    question.answer(["b"])  # before joining; sent, too
    member = dataflow.course.join(room.address, room.code.lower(), name="Ada <b>")
    question.answer(["b", "sum"])
    lesson01.ex3(...)  # nothing to check yet: no attempt
    lesson01.ex1(tf.Graph())
    member.wait(60)
    answers = room.ask("answers")
    assert [(a.task, a.right) for a in answers][:2] == [
        ("lesson01.q2", False),
        ("lesson01.q2", True),
    ]
    assert answers[0].told is None
    assert answers[1].told["solution"] == ["b", "sum"]
    (learner,) = room.ask("learners").values()
    assert learner.name == "Ada <b>"
    kept, _, told = room.ask("question", "lesson01.q2")
    assert [node["name"] for node in kept["nodes"]] == ["a", "b", "sum", "c"]
    assert told is None
    assert f"as Ada <b>: {len(answers)} answers sent, 0 waiting." in repr(member)


def test_a_new_kernel_is_the_same_learner_and_sends_nothing_twice(room: InThread) -> None:
    question = pruned()
    dataflow.course.join(room.address, room.code, name="Ada")
    question.answer(["b"])
    membership._current.wait(60)
    kept = attempts.earlier("lesson01.q2")
    dataflow.course.leave()
    attempts.forget()
    attempts._of_this_kernel["lesson01.q2"] = kept  # as the saved notebook would give them
    member = dataflow.course.join()
    pruned().answer(["sum", "b"])
    member.wait(60)
    assert len(room.ask("learners")) == 1
    assert [a.right for a in room.ask("answers", "lesson01.q2")] == [False, True]


def test_a_server_that_is_gone_stops_no_lesson_and_gets_all_when_it_is_back(tmp_path: Path) -> None:
    room = InThread(tmp_path)
    member = dataflow.course.join(room.address, room.code)
    port = room.server.port
    room.stop()
    question = pruned()
    before = time.thread_time()
    for given in (["a"], ["b"], ["b", "sum"]):
        question.answer(given)
    print(f"{(time.thread_time() - before) / 3 * 1e3:.2f} ms of the lesson's thread for an answer")
    assert "3 waiting" in repr(member)
    again = InThread(tmp_path, port)
    try:
        member.wait(60)
        assert [a.given for a in again.ask("answers")] == [["a"], ["b"], ["b", "sum"]]
    finally:
        again.stop()


def test_what_cannot_be_sent_does_not_stop_the_lesson(room: InThread) -> None:
    def fails(answer: bool) -> dict[str, Any]:
        raise RuntimeError("a graph that is gone")

    member = dataflow.course.join(room.address, room.code)
    attempts.introduce("lesson01.q3", fails)
    attempts.add("lesson01.q3", {"right": True, "words": "Right.", "given": ["()"]})
    assert "lesson01.q3 was not sent: RuntimeError: a graph that is gone" in repr(member)
    attempts.add("lesson01.ex1", {"right": True, "words": "Right.", "given": {1, 2}})
    member.wait(60)
    assert [a.task for a in room.ask("answers")] == ["lesson01.ex1"]


def test_the_teachers_kernel_sends_questions_with_their_answers(room: InThread) -> None:
    member = dataflow.course.join(room.address, room.teacher)
    pruned().answer(["a"])
    member.wait(60)
    question, _, told = room.ask("question", "lesson01.q2")
    assert question["form"] == "nodes"
    assert told["solution"] == ["b", "sum"]
    assert told["explanation"].startswith("Pruned: b and sum.")
    assert room.ask("answers") == []
    assert "as its teacher" in repr(member)


def test_what_is_wrong_about_joining_is_said(room: InThread) -> None:
    with pytest.raises(ValueError, match="not the code of this class"):
        dataflow.course.join(room.address, "WRONG1")
    assert membership._current is None
    for address in ("ftp://x", "http://", "file:///etc/passwd"):
        with pytest.raises(ValueError, match="needed one such as"):
            dataflow.course.join(address, "KMT4RX")
    with pytest.raises(ValueError, match="which class to join is not known"):
        dataflow.course.join()
    with pytest.raises(ValueError, match="join the class first"):
        dataflow.course.hand_in()


def test_no_server_at_all_is_waited_for_beside_the_lesson(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(membership, "_JOIN_SECONDS", 0.2)
    member = dataflow.course.join("127.0.0.1:9", "KMT4RX")
    pruned().answer(["a"])
    assert "does not answer yet, 1 waiting" in repr(member)


def test_a_notebook_is_handed_in(
    room: InThread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataflow.course.join(room.address, room.code, name="Ada")
    with pytest.raises(ValueError, match="name its file"):
        dataflow.course.hand_in()
    path = tmp_path / "lessons" / "01_small.ipynb"
    handed = dataflow.course.hand_in(path)
    assert "0 right of 4 questions and exercises" in repr(handed)
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))
    dataflow.course.hand_in()
    store = Store(tmp_path / "class")
    (kept,) = store.notebooks()
    store.close()
    assert kept.body == path.read_bytes()
    (tmp_path / "bad.ipynb").write_text("{")
    with pytest.raises(ValueError):
        dataflow.course.hand_in(tmp_path / "bad.ipynb")
    with pytest.raises(FileNotFoundError):
        dataflow.course.hand_in(tmp_path / "none.ipynb")
    monkeypatch.setattr(membership, "MAX_NOTEBOOK_BYTES", 10)
    with pytest.raises(ValueError, match="clear the outputs"):
        dataflow.course.hand_in(path)


def test_without_sockets_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dataflow.course.classroom.transport.SOCKETS", False)
    with pytest.raises(tf.errors.UnimplementedError, match="joining a class needs a socket"):
        dataflow.course.join("http://127.0.0.1:9", "KMT4RX")


def test_the_pages_requests_carry_it_where_there_are_no_sockets(
    room: InThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`FetchTransport` with a stand-in for Pyodide's ``pyfetch``; tests/wasm has the real one."""
    import urllib.error
    import urllib.request

    failures = [OSError("the network is gone")]

    async def pyfetch(url: str, **options: Any) -> Any:
        if failures:
            raise failures.pop()
        assert options["credentials"] == "omit"
        body = options["body"].encode()
        asked = urllib.request.Request(url, body, options["headers"], method=options["method"])

        def send() -> tuple[int, dict[str, str], bytes]:
            try:
                with urllib.request.urlopen(asked, timeout=60) as got:
                    return got.status, dict(got.headers), got.read()
            except urllib.error.HTTPError as e:
                return e.code, dict(e.headers), e.read()

        status, headers, told = await asyncio.to_thread(send)

        async def read() -> bytes:
            return told

        return types.SimpleNamespace(status=status, headers=headers, bytes=read)

    stand_in = types.ModuleType("pyodide.http")
    stand_in.pyfetch = pyfetch  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pyodide.http", stand_in)

    async def scene() -> Outbox:
        box = Outbox(room.code, "k" * 32, "Ada")
        sender = FetchTransport(box, room.address)
        box.put("/api/answers", answer(), "answer-0001")
        sender.wake()
        while box.num_waiting:
            await asyncio.sleep(0.02)
        sender.stop()
        return box

    box = asyncio.run(asyncio.wait_for(scene(), 60))
    assert (box.state, box.name, box.num_sent) == ("joined", "Ada", 1)
    assert [a.task for a in room.ask("answers")] == ["lesson01.q1"]
