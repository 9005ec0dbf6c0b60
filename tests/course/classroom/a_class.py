"""What tests of a class share: a small lesson, answers to it, and servers in and out of this process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from dataflow.course.classroom.questions import read_catalog
from dataflow.course.classroom.server import Server

ROOT = Path(__file__).resolve().parents[3]
CELLS = [
    "# 1 · A small lesson\n\n**Time:** about 5 minutes",
    'predict.choice("What is 2 + 3?", ["five", "six", "<b>0</b>"], answer=0, name="lesson01.q1")',
    'predict.pruned(c, name="lesson01.q2")',
    'predict.choice("Which?", shapes(), answer=found, name="lesson01.q3")',
    "**1.** *An open task.* Give `x` a `*` and\n2 * 3.\n\nThen <b>check</b>.",
    "x = ...",
    "check.lesson01.ex1(x)",
]
Q1 = {
    "form": "choice",
    "text": "What is 2 + 3?",
    "groups": [{"label": "", "options": ["five", "six", "<b>0</b>"]}],
}
NODES = [
    {"name": n, "op": "Add", "device": "", "inputs": i, "outputs": [], "attrs": {}, "source": None}
    for n, i in (("a", []), ("b", []), ("c", ["a:0"]), ("<i>d</i>", ["b:0"]))
]
Q2 = {"form": "nodes", "text": "Which are pruned?", "color": "", "nodes": NODES}
Q3 = {
    "form": "choice",
    "text": "Which?",
    "groups": [{"label": "shape", "options": ["()", "(2,)"]}],
}


def key(number: int) -> str:
    """A learner's token."""
    return f"{number:032x}"


def answer(task: str = "lesson01.q1", uid: str = "answer-0001", **more: Any) -> dict[str, Any]:
    """A message's answer; by default that 2 + 3 is five."""
    question = {"lesson01.q1": Q1, "lesson01.q2": Q2, "lesson01.q3": Q3}.get(task)
    given: Any = {"lesson01.q1": ["five"], "lesson01.q2": ["b"], "lesson01.q3": ["()"]}.get(task)
    attempt = {"right": True, "words": "Right."} | ({} if given is None else {"given": given})
    attempt |= {k: more.pop(k) for k in ("right", "words", "given", "shown") if k in more}
    return {"id": uid, "task": task, "attempt": attempt, "question": question, "told": None} | more


def lessons(folder: Path) -> Path:
    """A folder with the small lesson."""
    folder.mkdir(exist_ok=True)
    cells = [
        {
            "cell_type": "markdown" if source.startswith(("#", "**")) else "code",
            "source": source,
            "outputs": [],
            "metadata": {},
        }
        for source in CELLS
    ]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "01_small.ipynb").write_text(json.dumps(notebook))
    return folder


class Wire:
    """A connection to a server that stays open, as a learner's does not: so the server is what is timed."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(
        self, method: str, path: str, message: Any = None, token: str = "", **headers: str
    ) -> tuple[int, Any]:
        """Status and answer, JSON where it is that. Raises `OSError` or `EOFError` when the server is gone."""
        body = message if isinstance(message, bytes) else b""
        if message is not None and not isinstance(message, bytes):
            body = json.dumps(message).encode()
        head = {"Host": "class", "Content-Length": str(len(body))} | headers
        if token:
            head["Authorization"] = f"Bearer {token}"
        lines = [f"{method} {path} HTTP/1.1", *(f"{k}: {v}" for k, v in head.items()), "", ""]
        try:
            if self._streams is None:
                self._streams = await asyncio.open_connection("127.0.0.1", self.port)
            reader, writer = self._streams
            writer.write("\r\n".join(lines).encode() + body)
            status = await reader.readline()
            if not status:
                raise EOFError("the server closed the connection")
            told = await reader.readuntil(b"\r\n\r\n") if status.strip() else b""
            length = re.search(rb"(?i)content-length: (\d+)", told)
            got = await reader.readexactly(int(length[1]) if length else 0)
        except (OSError, EOFError):
            self.close()
            raise
        if b"connection: close" in told.lower():
            self.close()
        try:
            return int(status.split()[1]), json.loads(got)
        except ValueError:
            return int(status.split()[1]), got

    async def join(self, number: int, code: str, name: str = "") -> int:
        """The learner's number in the class."""
        status, told = await self.ask(
            "POST", "/api/join", {"code": code, "key": key(number), "name": name}
        )
        assert status == 200, told
        return int(told["learner"])

    async def send(self, number: int, *answers: Any) -> tuple[int, Any]:
        """Sends a learner's answers."""
        return await self.ask("POST", "/api/answers", {"answers": list(answers)}, key(number))

    def close(self) -> None:
        """Ends the connection."""
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None


@contextlib.asynccontextmanager
async def serving(folder: Path, **options: Any) -> AsyncIterator[tuple[Server, Wire]]:
    """A server of the small lesson in this process, and a connection to it."""
    server = Server(folder / "class", read_catalog(lessons(folder / "lessons")), **options)
    wire = Wire(server.port)
    try:
        yield server, wire
    finally:
        wire.close()
        await server.close()


class Process:
    """``dataflow class`` in a process of its own, on loopback."""

    def __init__(self, folder: Path, port: int = 0, options: Sequence[str] = ()) -> None:
        path = os.pathsep.join([str(ROOT), str(ROOT / "widgets"), os.environ.get("PYTHONPATH", "")])
        self._process = subprocess.Popen(
            [
                *(
                    sys.executable,
                    "-m",
                    "dataflow.cli",
                    "class",
                    "--no-browser",
                    "--port",
                    str(port),
                ),
                *("--data", str(folder / "class"), "--lessons", str(lessons(folder / "lessons"))),
                *options,
            ],
            env=os.environ | {"PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        said = []
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said.append(line)
            if "#token=" in line:
                break
        self.said = "".join(said)
        found = re.search(r"code is (\w+)[\s\S]*http://[^:]+:(\d+)/teacher#token=(\w+)", self.said)
        assert found, self.said
        self.code, self.port, self.teacher = found[1], int(found[2]), found[3]
        self.pid = self._process.pid

    def kill(self) -> None:
        """SIGKILL, in the middle of whatever it does."""
        self._process.kill()
        self._end()

    def stop(self) -> None:
        """As Ctrl+C."""
        self._process.terminate()
        self._end()

    def _end(self) -> None:
        self._process.wait(timeout=30)
        assert self._process.stdout is not None
        self._process.stdout.close()
