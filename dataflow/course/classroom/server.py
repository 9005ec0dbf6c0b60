"""``dataflow class``: the server of a class, on Tornado, which Jupyter brings.

Learners join with a code and send answers with a token of their own; the teacher's page and all that it
asks need the teacher's token. Notebooks that are handed in are read as JSON, and never run.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import socket
from pathlib import Path
from typing import Any

from tornado import httpserver, netutil, web

from dataflow.course.classroom import limits
from dataflow.course.classroom.questions import Catalog, Question
from dataflow.course.classroom.recorder import Recorder
from dataflow.course.classroom.store import Learner, Store
from dataflow.course.classroom.summary import question_of, reveal, summarize


class Classroom:
    """What the handlers share: the class's file, its lessons, the pace of senders, and who watches."""

    def __init__(self, store: Store, catalog: Catalog) -> None:
        self.store, self.catalog = store, catalog
        self.recorder = Recorder(store)
        store.keep_lessons({card.file: card.tasks for card in catalog.cards})
        self.wrong_codes = limits.Pace(0.5, 30, "wrong codes or tokens")
        self.answers = limits.Pace(5, 100)
        self.notebooks = limits.Pace(0.2, 40, "notebooks")
        self.address = ""  # where learners reach it
        self.num_projectors = 0
        self.num_changes = 0
        self._changed = asyncio.Event()

    def is_teacher(self, token: str) -> bool:
        """Whether a token is the teacher's."""
        return hmac.compare_digest(token.encode(), self.store.teacher.encode())

    def changed(self) -> None:
        """Something that a projector shows is new."""
        self.num_changes += 1
        self._changed.set()
        self._changed = asyncio.Event()

    async def next_change(self, since: int, seconds: float) -> None:
        """Waits until something is newer than the ``since``-th change, at most so long."""
        if self.num_changes == since:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), seconds)

    def look(self, task: str, which: str, names: bool, shows_answer: bool) -> dict[str, Any]:
        """What a projector shows now. To be called in the store's thread."""
        store, literal = self.store, self.catalog.literals.get(task)
        learners = store.learners()
        seen: dict[str, Any] = {
            "joined": len(learners),
            "names": _labels(learners) if names else [],
            "handed_in": store.num_notebooks(),
            "counts": store.num_answered(),
            "task": task,
        }
        if not task:
            return seen
        question, digest, told = question_of(literal, store.question(task))
        answers = store.answers(task)
        seen |= summarize(question, digest, answers, learners, which=which, names=names)
        seen |= {"question": _shown(question), "digest": digest}
        seen["prompt"] = self.catalog.prompts.get(task, "")
        if shows_answer:
            seen["reveal"] = reveal(question, literal, told, answers)
        return seen


def _labels(learners: dict[int, Learner]) -> list[str]:
    return [learner.label for learner in learners.values()]


def _shown(question: Question | None) -> dict[str, Any] | None:
    """A question without its graph, which a projector asks for once."""
    return None if question is None else {k: question[k] for k in ("form", "text")}


class Server:
    """The server of a class, listening.

    Args:
        folder: where the class's file is, or will be.
        catalog: the lessons.
        host, port: where to listen; port 0 takes a free one.
        site: a folder of the static site (`make site`) to serve at ``/site/``, or None.

    Raises `OSError` where the port is taken, and `ValueError` for a damaged file.
    """

    def __init__(
        self,
        folder: Path,
        catalog: Catalog,
        host: str = "127.0.0.1",
        port: int = 0,
        site: Path | None = None,
    ) -> None:
        from dataflow.course.classroom.handlers import routes

        self._sockets = netutil.bind_sockets(port, host, family=_family(host))
        self.port = self._sockets[0].getsockname()[1]
        try:
            self.classroom = Classroom(Store(folder), catalog)
        except BaseException:
            self._close_sockets()
            raise
        self.classroom.address = addresses(host, self.port)[0]
        application = web.Application(
            routes(self.classroom, site), log_function=_no_log, compress_response=False
        )
        self._server = httpserver.HTTPServer(
            application,
            max_body_size=limits.MAX_NOTEBOOK_BYTES,
            max_header_size=16_384,
            idle_connection_timeout=120,
            body_timeout=60,
        )
        self._server.add_sockets(self._sockets)

    @property
    def store(self) -> Store:
        """The class's file."""
        return self.classroom.store

    def _close_sockets(self) -> None:
        for each in self._sockets:
            each.close()

    async def close(self) -> None:
        """Stops listening, and writes what waits."""
        self._server.stop()
        await self._server.close_all_connections()
        await self.classroom.recorder.close()


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _no_log(handler: web.RequestHandler) -> None:
    """Who asked for what is nobody's business."""


def addresses(host: str, port: int) -> list[str]:
    """The addresses at which others reach a server that listens on ``host``."""
    if host not in ("", "0.0.0.0", "::"):
        return [f"http://{f'[{host}]' if ':' in host else host}:{port}"]
    found = []
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing; says which address would be used
        found.append(f"http://{probe.getsockname()[0]}:{port}")
    return [*found, f"http://{socket.gethostname()}:{port}"]


def as_json(value: Any) -> str:
    """JSON that may stand in an event of one line."""
    return json.dumps(value, separators=(",", ":"))
