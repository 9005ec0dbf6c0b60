"""A Jupyter Server extension: the course page, and what a kernel sends reaches the browser at once.

``/dataflow/course`` lists the lessons of the server's folder, and ``/dataflow/course/work`` what was done in them.

The server's WebSockets wait for the acknowledgment of one small message before they send the next
(Nagle's algorithm), and a browser acknowledges after 40 ms where it has nothing to say itself. A widget
that answers with two messages (the kernel's "busy", then its own) is 40 ms late each time.

`dataflow lab` and Binder load it. For any other server of an environment with this package:
``jupyter server extension enable --sys-prefix dataflow.cli.server_extension``.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from dataflow.course.contents import read_lessons, read_work
from dataflow.course.page import course_page

#: Where the course page is, on the server.
COURSE = "/dataflow/course"


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(app: Any) -> None:
    """Serves the course page, and has the connections between pages and kernels send without delay."""
    settings = app.web_app.settings
    app.web_app.add_handlers(".*$", _course_handlers(settings["base_url"]))
    usual = settings["kernel_websocket_connection_class"]

    class PromptConnection(usual):  # type: ignore[misc, valid-type]
        def connect(self) -> Any:
            self.websocket_handler.set_nodelay(True)
            return super().connect()

    settings["kernel_websocket_connection_class"] = PromptConnection
    if COURSE in getattr(app, "default_url", ""):
        from tornado.ioloop import IOLoop

        IOLoop.current().add_callback(_tell_address, app)


def _tell_address(app: Any) -> None:
    """What `dataflow lab` promised: Jupyter itself tells an address only with a token that it made."""
    if not app.identity_provider.token_generated:
        print(f"JupyterLab is at {app.public_url}", flush=True)


def _course_handlers(base: str) -> list[tuple[str, type]]:
    from jupyter_server.base.handlers import JupyterHandler
    from jupyter_server.utils import url_path_join
    from tornado import web

    class CourseHandler(JupyterHandler):
        def folder(self) -> Path:
            """The folder that the server shows. Raises 404 where it is no folder of this machine."""
            root = getattr(self.contents_manager, "root_dir", None)
            if not root or not Path(root).is_dir():
                raise web.HTTPError(404, "The notebooks of this server lie in no folder.")
            return Path(root)

    class CoursePage(CourseHandler):
        @web.authenticated
        async def get(self) -> None:
            # In a thread: some thirty files are read, and the server has kernels to serve.
            cards = await asyncio.to_thread(read_lessons, self.folder())
            work = url_path_join(base, COURSE, "work")
            self.set_header("Content-Type", "text/html; charset=utf-8")
            self.set_header("Cache-Control", "no-store")
            lab, files = (url_path_join(base, part) for part in ("lab/tree/", "files/"))
            self.finish(course_page(cards, lab, work, files))

    class CourseWork(CourseHandler):
        @web.authenticated
        async def get(self) -> None:
            found = await asyncio.to_thread(read_work, self.folder())
            self.set_header("Content-Type", "application/json")
            self.set_header("Cache-Control", "no-store")
            self.finish(json.dumps([one.as_json() for one in found]))

    return [
        (url_path_join(base, COURSE), CoursePage),
        (url_path_join(base, COURSE, "work"), CourseWork),
    ]
