"""The server of a class: who may what, what it refuses and how, and that it loses nothing."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import random
import re
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from dataflow.course.attempts import MIME
from dataflow.course.classroom.limits import Pace
from dataflow.course.classroom.notebooks import read_handed_in
from dataflow.course.classroom.refusal import Refusal
from dataflow.course.classroom.store import Store
from tests.course.classroom.a_class import Process, Wire, answer, key, serving

pytestmark = pytest.mark.threads
POST, GET = "POST", "GET"


def notebook(*records: dict[str, Any], **more: Any) -> bytes:
    outputs = [{"data": {MIME: record}} for record in records]
    cell = {"cell_type": "code", "source": "check.lesson01.ex1(x)", "outputs": outputs}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, **more}).encode()


RIGHT = {"exercise": "lesson01.ex1", "attempts": [{"right": True, "words": "Right."}]}


def test_a_learner_joins_answers_and_is_counted(tmp_path: Path) -> None:
    async def scene() -> None:
        async with serving(tmp_path) as (server, wire):
            code = server.store.code
            assert await wire.join(1, f"{code[:3]}-{code[3:].lower()}", "Ada") == 1
            status, told = await wire.send(1, answer(), answer("lesson01.q9", "answer-0002"))
            assert (status, told["accepted"]) == (200, ["answer-0001"])
            assert told["refused"][0]["id"] == "answer-0002"
            assert await wire.ask(GET, "/api/me", token=key(1)) == (
                200,
                {"name": "Ada", "answers": 1},
            )

    asyncio.run(scene())


def test_who_may_what(tmp_path: Path) -> None:
    async def scene() -> None:
        async with serving(tmp_path) as (server, wire):
            await wire.join(1, server.store.code)
            for path in ("class", "live?task=lesson01.q1", "report", "notebooks", "graph"):
                for token in ("", "0" * 32, key(1), "ü", server.store.code):
                    status, told = await wire.ask(GET, f"/api/{path}", token=token)
                    assert (status, "teacher's token" in told["message"]) == (401, True), path
                    server.classroom.wrong_codes = Pace(0.5, 30)
            for token in ("", key(2), server.store.teacher):
                status, told = await wire.ask(POST, "/api/answers", {"answers": [answer()]}, token)
                assert (status, "nobody's" in told["message"]) == (401, True)
            status, _ = await wire.ask(POST, "/api/questions", {"questions": []}, key(1))
            assert status == 401
            status, told = await wire.ask(POST, "/api/join", {"code": "WRONG1", "key": key(2)})
            assert (status, "projector" in told["message"]) == (403, True)
            assert server.store.answers() == []
            status, told = await wire.ask(GET, "/api/class", token=server.store.teacher)
            assert (status, told["code"]) == (200, server.store.code)

    asyncio.run(scene())


def test_guessing_the_code_becomes_slow(tmp_path: Path) -> None:
    async def scene() -> None:
        async with serving(tmp_path) as (server, wire):
            asked = {"code": "AAAAAA", "key": key(1)}
            seen = [(await wire.ask(POST, "/api/join", asked))[0] for _ in range(40)]
            assert seen[:30] == [403] * 30
            assert set(seen[31:]) == {429}
            status, told = await wire.ask(POST, "/api/join", asked | {"code": server.store.code})
            assert (status, told["message"][:8]) == (429, "Too many")

    asyncio.run(scene())


def test_too_many_messages_are_refused_and_the_others_go_on(tmp_path: Path) -> None:
    async def scene() -> None:
        async with serving(tmp_path) as (server, wire):
            for number in (1, 2):
                await wire.join(number, server.store.code)
            seen = [(await wire.send(1, answer()))[0] for _ in range(130)]
            assert seen[:100] == [200] * 100
            assert 429 in seen[100:]
            assert (await wire.send(2, answer()))[0] == 200

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/api/answers", b"{", 400),
        ("/api/answers", b"[]", 400),
        ("/api/answers", b"x" * 600_000, 413),
        ("/api/notebooks?file=a.ipynb", b"{", 422),
        ("/api/notebooks?file=a.ipynb", b"\xff\xfe", 422),
        ("/api/notebooks?file=a.ipynb", b"[" * 50_000, 422),
        ("/api/notebooks?file=a.ipynb", b'{"cells": 3}', 422),
        ("/api/notebooks?file=a.exe", b"{}", 422),
        ("/api/notebooks?file=../../.ipynb", b"{}", 422),
        ("/api/nothing", b"{}", 404),
        ("/api/me", b"{}", 405),
    ],
)
def test_damaged_messages_get_a_status_and_a_sentence(
    path: str, body: bytes, status: int, tmp_path: Path
) -> None:
    async def scene() -> None:
        async with serving(tmp_path) as (server, wire):
            await wire.join(1, server.store.code)
            got, told = await wire.ask(POST, path, body, key(1))
            assert got == status
            assert re.fullmatch(r"[A-Z].*\.", told["message"])
            assert "Traceback" not in told["message"]
            assert (await Wire(server.port).send(1, answer()))[0] == 200, "and it goes on"

    asyncio.run(scene())


def test_a_body_without_a_length_is_cut_off(tmp_path: Path) -> None:
    async def scene() -> None:
        async with serving(tmp_path) as (server, wire):
            await wire.join(1, server.store.code)
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            head = f"POST /api/answers HTTP/1.1\r\nHost: c\r\nAuthorization: Bearer {key(1)}\r\n"
            writer.write(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
            chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
            writer.write(chunk * 12 + b"0\r\n\r\n")
            assert b" 413 " in await reader.readline()
            writer.close()
            assert (await wire.send(1, answer()))[0] == 200

    asyncio.run(scene())


def test_fuzzed_messages_change_nothing_and_the_server_goes_on(tmp_path: Path) -> None:
    """Bytes of good messages replaced, cut, and repeated; also heads that are no HTTP."""

    async def scene() -> None:
        dice = random.Random(7)
        async with serving(tmp_path) as (server, wire):
            code = server.store.code
            await wire.join(1, code)
            server.classroom.answers = Pace(1e6, 1e6)
            server.classroom.wrong_codes = Pace(1e6, 1e6)
            good = [
                (
                    "/api/answers",
                    json.dumps({"answers": [answer(), answer("lesson01.q2")]}).encode(),
                ),
                ("/api/join", json.dumps({"code": code, "key": key(1), "name": "A"}).encode()),
                ("/api/notebooks?file=a.ipynb", notebook(RIGHT)),
            ]
            server.classroom.notebooks = Pace(1e6, 1e6)
            for _ in range(400):
                path, text = dice.choice(good)
                body = bytearray(text)
                for _ in range(dice.randint(1, 6)):
                    at = dice.randrange(len(body))
                    body[at : at + dice.choice([0, 1, 1, 9])] = dice.randbytes(dice.randint(0, 4))
                status, told = await wire.ask(POST, path, bytes(body), key(1))
                assert status < 500, (path, bytes(body), told)
            for _ in range(40):
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
                writer.write(dice.randbytes(200) + b"\r\n\r\n")
                writer.write_eof()
                await reader.read()
                writer.close()
            assert (await wire.send(1, answer(uid="the-last-1")))[0] == 200
            learners = server.store.learners()
            assert set(learners) <= set(range(1, 20))
            assert {a.task for a in server.store.answers()} <= {"lesson01.q1", "lesson01.q2"}

    asyncio.run(scene())


def test_notebooks_are_kept_as_they_came_and_never_run(tmp_path: Path) -> None:
    async def scene() -> None:
        async with serving(tmp_path) as (server, wire):
            await wire.join(1, server.store.code, '<img src=x onerror="1">/../..')
            evil = tmp_path / "evil"
            state = {"m": {"model_module": "evil", "state": {"kind": "predict", "name": 3}}}
            widgets = {"application/vnd.jupyter.widget-state+json": {"state": state}}
            body = notebook(RIGHT, {"exercise": 3}, metadata={"widgets": widgets})
            body = body.replace(b"check.lesson01.ex1(x)", f"open('{evil}', 'w')".encode())
            path = "/api/notebooks?file=..%2F..%2F01_small.ipynb"
            status, told = await wire.ask(POST, path, body, key(1))
            assert (status, told["file"], told["right"]) == (200, "01_small.ipynb", 1)
            assert not evil.exists()
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            head = f"GET /api/notebooks HTTP/1.0\r\nAuthorization: Bearer {server.store.teacher}"
            writer.write(f"{head}\r\n\r\n".encode())
            packed = (await reader.read()).partition(b"\r\n\r\n")[2]
            writer.close()
            with zipfile.ZipFile(io.BytesIO(packed)) as archive:
                (name,) = archive.namelist()
                assert archive.read(name) == body
            assert re.fullmatch(r"001 [\w .()-]+/01_small\.ipynb", name)
            assert "/.." not in name

    asyncio.run(scene())


@settings(max_examples=200, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=6),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "cells",
                        "outputs",
                        "data",
                        "metadata",
                        "widgets",
                        "state",
                        "source",
                        "name",
                        MIME,
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=20,
    )
)
def test_whatever_a_notebook_holds_it_is_read_or_refused(content: object) -> None:
    body = json.dumps(
        {"cells": [content, {"cell_type": "code", "outputs": content}], "metadata": content}
    )
    found = read_handed_in(body.encode())
    assert set(found) == {"tasks", "answered", "right"}
    with contextlib.suppress(Refusal):
        read_handed_in(json.dumps(content).encode())


def test_pages_allow_no_foreign_script(tmp_path: Path) -> None:
    async def scene() -> None:
        async with serving(tmp_path) as (server, _):
            for path in ("/", "/teacher"):
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
                writer.write(
                    f"GET {path} HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n".encode()
                )
                page = (await reader.read()).decode()
                writer.close()
                assert "script-src 'self'" in page
                assert "unsafe-eval'" not in page.replace("wasm-unsafe-eval'", "")
                assert not re.search(r"(src|href)=.?https?:", page)
                assert server.store.teacher not in page

    asyncio.run(scene())


def test_a_projector_is_told_of_changes(tmp_path: Path) -> None:
    async def scene() -> None:
        async with serving(tmp_path) as (server, wire):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            head = f"GET /api/live?task=lesson01.q1 HTTP/1.1\r\nHost: c\r\nAuthorization: Bearer {server.store.teacher}"
            writer.write(f"{head}\r\n\r\n".encode())

            async def told() -> Any:
                while True:
                    line = await asyncio.wait_for(reader.readline(), 30)
                    if line.startswith(b"data: "):
                        return json.loads(line[6:])

            before = await told()
            assert (before["joined"], before["answered"]) == (0, 0)
            assert [bar["count"] for bar in before["bars"]] == [0, 0, 0]
            await wire.join(1, server.store.code, "Ada")
            await wire.send(1, answer())
            seen = before
            while not seen["answered"]:
                seen = await told()
            assert (seen["joined"], seen["bars"][0]["count"]) == (1, 1)
            assert "Ada" not in json.dumps(seen)
            assert "reveal" not in seen
            writer.close()

    asyncio.run(scene())


def test_200_learners_and_a_server_that_is_killed_in_the_middle(tmp_path: Path) -> None:
    """Every answer that was acknowledged is there, none twice, and code and tokens are the same."""
    first = Process(tmp_path)
    port, acknowledged = first.port, set()
    rounds = [
        answer(task, f"{task.replace('.', '-')}-{n}")
        for n in (1, 2)
        for task in ("lesson01.q1", "lesson01.q2", "lesson01.ex1")
    ]

    async def learner(number: int, stopped: asyncio.Event) -> None:
        wire = Wire(port)
        todo: list[dict[str, Any] | None] = [None, *rounds]
        while todo:
            try:
                if todo[0] is None:
                    await wire.join(number, first.code, f"learner {number}")
                else:
                    status, told = await wire.send(number, todo[0])
                    assert status == 200, told
                    acknowledged.add((number, todo[0]["id"]))
            except (OSError, EOFError):
                await asyncio.sleep(0.2)  # gone: what was not acknowledged is sent again
                continue
            todo.pop(0)
            if len(acknowledged) == 500:
                stopped.set()
        wire.close()

    async def scene() -> Process:
        stopped = asyncio.Event()
        learners = [asyncio.create_task(learner(n, stopped)) for n in range(200)]
        await asyncio.wait_for(stopped.wait(), 120)
        first.kill()
        held = len(acknowledged)
        second = await asyncio.to_thread(Process, tmp_path, port)
        began = time.monotonic()
        await asyncio.wait_for(asyncio.gather(*learners), 120)
        rate = (1200 - held) / (time.monotonic() - began)
        print(f"killed after {held} answers; then {rate:.0f} answers a second")
        return second

    second = asyncio.run(scene())
    assert (second.code, second.teacher) == (first.code, first.teacher)
    second.stop()
    store = Store(tmp_path / "class")
    assert len(store.learners()) == 200
    given = [(a.learner, a.task) for a in store.answers()]
    assert len(acknowledged) == 1200
    assert len(given) == 1200, "none is lost, and none is there twice"
    store.close()
