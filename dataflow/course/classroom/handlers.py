"""The addresses of a class's server."""

from __future__ import annotations

import asyncio
import hmac
import json
import re
from functools import partial
from pathlib import Path
from typing import Any

from tornado import iostream, web

from dataflow.course.classroom import limits
from dataflow.course.classroom.identity import code_as_typed
from dataflow.course.classroom.messages import read_answers, read_json, read_questions
from dataflow.course.classroom.notebooks import read_handed_in
from dataflow.course.classroom.questions import plain
from dataflow.course.classroom.refusal import Refusal, TooManyMessages
from dataflow.course.classroom.server import Classroom, as_json
from dataflow.course.classroom.store import check_room
from dataflow.providers import provided

_PAGES = Path(__file__).parent / "pages"
_FILES = {
    "class.css": "text/css",
    "projector.js": "text/javascript",
    "heat.js": "text/javascript",
    "learner.js": "text/javascript",
}
_KEY = re.compile(r"[0-9a-zA-Z_-]{32,64}")
_POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; "
    "connect-src 'self'; img-src 'self' data: blob:; worker-src blob:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
#: Events are no closer than this: a projector needs no more, and 200 answers come at once.
_SECONDS_BETWEEN = 0.3
_HEARTBEAT_SECONDS = 15.0
_PART_BYTES = 262_144


def routes(room: Classroom, site: Path | None) -> list[tuple[Any, ...]]:
    """Address patterns and their handlers."""
    shared = {"room": room}
    found: list[tuple[Any, ...]] = [
        (r"/", Page, {"file": "learner.html"}),
        (r"/teacher", Page, {"file": "projector.html"}),
        (r"/files/([a-z.]+)", File),
        (r"/widgets/([a-z.]+)", WidgetFile),
        (r"/api/join", Join, shared),
        (r"/api/answers", Answers, shared),
        (r"/api/questions", Questions, shared),
        (r"/api/notebooks", Notebooks, shared),
        (r"/api/me", Me, shared),
        (r"/api/class", About, shared),
        (r"/api/live", Live, shared),
        (r"/api/graph", Graph, shared),
        (r"/api/report", Report, shared),
    ]
    if site is not None:
        found.append(
            (r"/site/(.*)", SiteFile, {"path": str(site), "default_filename": "index.html"})
        )
    return [*found, (r".*", Nothing)]


class Handler(web.RequestHandler):
    """Errors are a status and ``{"message": one sentence}``; nothing of the server's inside is told."""

    def set_default_headers(self) -> None:
        self.set_header("Server", "dataflow class")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Referrer-Policy", "no-referrer")
        self.set_header("Cache-Control", "no-store")

    def write_error(self, status_code: int, **details: Any) -> None:
        error = details.get("exc_info", (None, None, None))[1]
        message = {405: "This address is asked in another way.", 404: "There is no such address."}
        text = message.get(status_code, "The server could not do this; what it has kept is kept.")
        if isinstance(error, Refusal):
            self.set_status(error.status)
            text = str(error)
        elif isinstance(error, web.HTTPError) and error.log_message and status_code < 500:
            text = error.log_message
        if isinstance(error, TooManyMessages):
            self.set_header("Retry-After", str(error.seconds))
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps({"message": text}))

    def log_exception(self, kind: Any, value: Any, trace: Any) -> None:
        if not isinstance(value, Refusal | web.HTTPError | iostream.StreamClosedError):
            super().log_exception(kind, value, trace)

    def send_json(self, value: Any) -> None:
        """The answer, as JSON."""
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps(value))


class Nothing(Handler):
    """Everything else."""

    def prepare(self) -> None:
        raise web.HTTPError(404)


class Page(Handler):
    """A page; it holds no secret, and asks with the token that it is given."""

    def initialize(self, file: str) -> None:
        self._file = file

    def get(self) -> None:
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Content-Security-Policy", _POLICY)
        self.finish((_PAGES / self._file).read_bytes())


class File(Handler):
    """A style or a script of a page."""

    def get(self, name: str) -> None:
        if name not in _FILES:
            raise web.HTTPError(404)
        self.set_header("Content-Type", f"{_FILES[name]}; charset=utf-8")
        self.finish((_PAGES / name).read_bytes())


class WidgetFile(Handler):
    """The widgets' own JavaScript, which draws graphs; 404 where they are not installed.

    ``bundle`` is library and layout engine as a widget brings them to a page.
    """

    def get(self, name: str) -> None:
        kinds = {
            "loader.js": "text/javascript; charset=utf-8",
            "bundle": "application/octet-stream",
        }
        if name not in kinds:
            raise web.HTTPError(404)
        try:
            content = provided("widget_file")(name)
        except ImportError:
            raise web.HTTPError(404, "The widgets are not installed on the server.") from None
        self.set_header("Content-Type", kinds[name])
        self.finish(content)


class SiteFile(web.StaticFileHandler):
    """A file of the course's static site."""

    def set_extra_headers(self, path: str) -> None:
        self.set_header("X-Content-Type-Options", "nosniff")


class InClass(Handler):
    """Asks of a class. Kernels in a page of another origin may ask, too: who asks is known by a token
    in a header, and never by a cookie."""

    max_bytes = limits.MAX_MESSAGE_BYTES

    def initialize(self, room: Classroom) -> None:
        self.room = room

    def set_default_headers(self) -> None:
        super().set_default_headers()
        self.set_header("Access-Control-Allow-Origin", "*")
        self.set_header("Access-Control-Allow-Headers", "Authorization, Content-Type")
        self.set_header("Access-Control-Allow-Methods", "GET, POST")
        self.set_header("Access-Control-Max-Age", "3600")
        self.set_header("Access-Control-Expose-Headers", "Retry-After")
        if self.request.headers.get("Access-Control-Request-Private-Network"):
            self.set_header("Access-Control-Allow-Private-Network", "true")

    def options(self) -> None:
        self.set_status(204)

    @property
    def token(self) -> str:
        """What stands after "Bearer"."""
        kind, _, token = self.request.headers.get("Authorization", "").partition(" ")
        return token.strip() if kind == "Bearer" else ""

    def wrong(self, status: int, sentence: str) -> Refusal:
        """The refusal of a wrong code or token, which is counted: guessing is slow."""
        self.room.wrong_codes.take(self.request.remote_ip)
        return Refusal(status, sentence)

    def need_teacher(self) -> None:
        """Raises `Refusal` unless the teacher asks."""
        self.room.wrong_codes.check(self.request.remote_ip)
        if not self.room.is_teacher(self.token):
            raise self.wrong(
                401, "This needs the teacher's token; `dataflow class` prints the address with it."
            )

    async def learner(self) -> int:
        """Who asks. Raises `Refusal` for a token that is nobody's."""
        token = self.token
        found = None
        if _KEY.fullmatch(token):
            found = await self.room.recorder.call(self.room.store.learner_of, token)
        if found is None:
            self.room.wrong_codes.check(self.request.remote_ip)
            raise self.wrong(
                401, "This token is nobody's in this class: join with the class's code."
            )
        return found


@web.stream_request_body
class Receiving(InClass):
    """Takes a body of at most ``max_bytes``, and refuses a longer one before it has come."""

    def prepare(self) -> None:
        self.body = bytearray()
        told = self.request.headers.get("Content-Length", "0")
        if told.isdigit() and int(told) > self.max_bytes:
            raise self._too_long()

    def data_received(self, chunk: bytes) -> None:
        # Of a body that came without its length; what is too much is not kept.
        self.body += chunk[: self.max_bytes + 1 - len(self.body)]

    def taken(self) -> bytes:
        """The body. Raises `Refusal` for one that is too long."""
        if len(self.body) > self.max_bytes:
            raise self._too_long()
        return bytes(self.body)

    def _too_long(self) -> Refusal:
        self.set_header("Connection", "close")
        return Refusal(413, f"At most {self.max_bytes // 1000} kB can be sent here.")


class Join(Receiving):
    """``{"code", "key", "name"}``: the learner's own key becomes the token. Again is the same learner."""

    async def post(self) -> None:
        room = self.room
        room.wrong_codes.check(self.request.remote_ip)
        message = read_json(self.taken())
        told = message if isinstance(message, dict) else {}
        code, key, name = (told.get(k) for k in ("code", "key", "name"))
        if not isinstance(key, str) or not _KEY.fullmatch(key):
            raise Refusal(400, "To join, send a code, and a key of 32 to 64 letters and digits.")
        if not isinstance(code, str) or not hmac.compare_digest(
            code_as_typed(code).encode(), room.store.code.encode()
        ):
            raise self.wrong(403, "This is not the code of this class: look at the projector.")
        number = await room.recorder.call(
            room.store.join, key, name if isinstance(name, str) else ""
        )
        learners = await room.recorder.call(room.store.learners)
        room.changed()
        self.send_json({"learner": number, "name": learners[number].label})


class Answers(Receiving):
    """Answers of a learner; acknowledged when they are on the disk."""

    async def post(self) -> None:
        room = self.room
        learner = await self.learner()
        room.answers.take(learner)
        # In a thread: a message may hold a graph of thousands of nodes.
        good, refused = await asyncio.to_thread(_read_answers, self.taken(), room)
        if good:
            check_room(await room.recorder.call(room.store.num_answers, learner), len(good))
            if await room.recorder.record(learner, good):
                room.changed()
        else:
            self.set_status(int(refused[0]["status"]))
        self.send_json(
            {
                "accepted": [answer.uid for answer in good],
                "refused": refused,
                **({} if good else {"message": refused[0]["message"]}),
            }
        )


class Questions(Receiving):
    """What the teacher's own kernel asks, in the words and with the graph of its lesson."""

    async def post(self) -> None:
        self.need_teacher()
        asked = await asyncio.to_thread(_read_questions, self.taken())
        for task, _, _ in asked:
            self.room.catalog.card_of(task)
        await self.room.recorder.call(self.room.store.keep_questions, asked)
        self.room.changed()
        self.send_json({"accepted": [task for task, _, _ in asked]})


def _read_answers(body: bytes, room: Classroom) -> Any:
    return read_answers(read_json(body), room.catalog)


def _read_questions(body: bytes) -> Any:
    return read_questions(read_json(body))


class Notebooks(Receiving):
    """A notebook that is handed in, the body as it is; ``?file=`` is its name. All of them for the teacher."""

    max_bytes = limits.MAX_NOTEBOOK_BYTES

    async def prepare(self) -> None:  # type: ignore[override]
        super().prepare()
        if self.request.method == "POST":  # who may, before anything comes
            self._learner = await self.learner()
            self.room.notebooks.take(self._learner)

    async def post(self) -> None:
        file = plain(self.get_query_argument("file", ""), 100).replace("\\", "/").rpartition("/")[2]
        if not file.endswith(".ipynb") or file.startswith("."):
            raise Refusal(422, "A notebook's name ends in .ipynb.")
        body = self.taken()
        found = await asyncio.to_thread(read_handed_in, body)
        await self.room.recorder.call(self.room.store.hand_in, self._learner, file, body)
        self.room.changed()
        self.send_json({"file": file, **found})

    async def get(self) -> None:
        from dataflow.course.classroom.notebooks import packed

        self.need_teacher()
        # With a connection of its own: answers do not wait for it.
        archive = await asyncio.to_thread(packed, self.room.store.path.parent)
        self.set_header("Content-Type", "application/zip")
        self.set_header("Content-Disposition", 'attachment; filename="notebooks.zip"')
        with archive:
            while part := archive.read(_PART_BYTES):
                self.write(part)
                await self.flush()


class Me(InClass):
    """What the server has of the learner who asks."""

    async def get(self) -> None:
        learner = await self.learner()
        store, call = self.room.store, self.room.recorder.call
        count = await call(store.num_answers, learner)
        label = (await call(store.learners))[learner].label
        self.send_json({"name": label, "answers": count})


class About(InClass):
    """What a projector shows at first: the code, and the lessons with their questions."""

    def get(self) -> None:
        self.need_teacher()
        room = self.room
        lessons = [
            {
                "file": card.file,
                "title": card.title if card.number is None else f"{card.number} · {card.title}",
                "tasks": card.tasks,
            }
            for card in room.catalog.cards
        ]
        self.send_json({"code": room.store.code, "address": room.address, "lessons": lessons})


class _OfTask(InClass):
    def task(self) -> str:
        task = self.get_query_argument("task", "")
        if task:
            self.room.catalog.card_of(task)
        return task


class Graph(_OfTask):
    """The graph that a question is about, for the heat map."""

    async def get(self) -> None:
        self.need_teacher()
        kept = await self.room.recorder.call(self.room.store.question, self.task())
        self.send_json({"nodes": kept[0].get("nodes", []) if kept else []})


class Live(_OfTask):
    """What the projector shows, again whenever it changes (server-sent events)."""

    gone = False

    async def get(self) -> None:
        self.need_teacher()
        room, task = self.room, self.task()
        flags = {k: self.get_query_argument(k, "0") == "1" for k in ("names", "reveal")}
        which = "last" if self.get_query_argument("which", "first") == "last" else "first"
        if room.num_projectors >= limits.MAX_PROJECTORS:
            raise Refusal(429, f"{limits.MAX_PROJECTORS} projectors are open already: close one.")
        look = partial(room.look, task, which, flags["names"], flags["reveal"])
        room.num_projectors += 1
        try:
            self.set_header("Content-Type", "text/event-stream")
            while not self.gone:
                since = room.num_changes
                self.write(f"data: {as_json(await room.recorder.call(look))}\n\n")
                await self.flush()
                await asyncio.sleep(_SECONDS_BETWEEN)
                await room.next_change(since, _HEARTBEAT_SECONDS)
        except iostream.StreamClosedError:
            pass
        finally:
            room.num_projectors -= 1

    def on_connection_close(self) -> None:
        self.gone = True
        self.room.changed()  # so that it is noticed at once
        super().on_connection_close()


class Report(InClass):
    """The teacher's report; ``?form=`` is one of `reports.FORMS`."""

    async def get(self) -> None:
        from dataflow.course.classroom.reports import FORMS, written

        self.need_teacher()
        form = self.get_query_argument("form", "csv")
        if form not in FORMS:
            raise Refusal(404, f"A report is one of {', '.join(FORMS)}.")
        text = await asyncio.to_thread(written, self.room.store.path.parent, form)
        self.set_header("Content-Type", "text/csv; charset=utf-8")
        self.set_header("Content-Disposition", f'attachment; filename="class_{form}.csv"')
        self.finish(text)
