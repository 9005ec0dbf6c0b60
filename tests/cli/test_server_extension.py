"""The course page on a Jupyter server; messages of a kernel that do not wait for an acknowledgment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dataflow.cli import server_extension
from dataflow.cli.lab import lab_environment
from dataflow.course.attempts import MIME


class Usual:
    """The server's own connection between a page and a kernel."""

    def __init__(self, handler: Any) -> None:
        self.websocket_handler = handler

    def connect(self) -> str:
        return "connected"


def test_connections_send_without_delay() -> None:
    calls: list[bool] = []
    app = SimpleNamespace(
        web_app=SimpleNamespace(
            settings={"kernel_websocket_connection_class": Usual, "base_url": "/"},
            add_handlers=lambda *_: None,
        )
    )
    server_extension._load_jupyter_server_extension(app)
    made = app.web_app.settings["kernel_websocket_connection_class"]
    connection = made(SimpleNamespace(set_nodelay=calls.append))
    assert isinstance(connection, Usual) and calls == []
    assert connection.connect() == "connected" and calls == [True]


def test_the_address_is_told_where_jupyter_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a token that it did not make Jupyter says nothing but in its log."""
    for made, said in ((True, ""), (False, "JupyterLab is at http://localhost:8/\n")):
        provider = SimpleNamespace(token_generated=made)
        server_extension._tell_address(
            SimpleNamespace(identity_provider=provider, public_url="http://localhost:8/")
        )
        assert capsys.readouterr().out == said


_ASK = """
import asyncio, json, sys
from jupyter_server.serverapp import ServerApp
from tornado.httpclient import AsyncHTTPClient
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets

async def ask(port):
    client = AsyncHTTPClient()
    for path, token in (("course", ""), ("course/work", ""), ("course", "secret"), ("course/work", "secret")):
        headers = {"Authorization": "token " + token} if token else {}
        got = await client.fetch(f"http://127.0.0.1:{port}/base/dataflow/{path}", headers=headers,
                                 follow_redirects=False, raise_error=False)
        print(json.dumps([got.code, got.body.decode()]))

async def main():
    app = ServerApp(open_browser=False, allow_root=True, base_url="/base/", root_dir=sys.argv[1])
    app.initialize(argv=[], new_httpserver=False)
    (listener,) = bind_sockets(0, "127.0.0.1")
    HTTPServer(app.web_app).add_sockets([listener])
    await ask(listener.getsockname()[1])

asyncio.run(main())
"""


def test_the_course_page_is_for_who_has_the_token_and_says_what_was_done(
    tmp_path: Path, checkout: Path
) -> None:
    lessons = tmp_path / "lessons"
    lessons.mkdir()
    notebook = json.loads((checkout / "lessons" / "01_graphs.ipynb").read_text(encoding="utf-8"))
    cell = next(c for c in notebook["cells"] if c["cell_type"] == "code")
    record = {"exercise": "lesson01.q1", "attempts": [{"right": True, "words": "x"}]}
    cell |= {
        "execution_count": 1,
        "outputs": [{"output_type": "display_data", "data": {MIME: record}, "metadata": {}}],
    }
    notebook["cells"][0]["source"] = "# 1 · </script><b>Tensors"
    (lessons / "01_graphs.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    environment = {**os.environ, "HOME": str(tmp_path), "JUPYTER_CONFIG_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", _ASK, str(lessons)],
        env=lab_environment(environment) | {"JUPYTER_TOKEN": "secret"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    strange_page, strange_work, page, work = map(json.loads, done.stdout.splitlines())
    assert strange_page[0] == strange_work[0] == 302
    assert "Tensors" not in strange_page[1] + strange_work[1]
    assert page[0] == work[0] == 200
    assert '"/base/lab/tree/"' in page[1] and '"/base/dataflow/course/work"' in page[1]
    assert "</script><b>" not in page[1]
    (found,) = json.loads(work[1])
    assert (found["file"], found["right"], found["tried"]) == (
        "01_graphs.ipynb", ["lesson01.q1"], []
    )  # fmt: skip


_START = """
from jupyter_server.serverapp import ServerApp
app = ServerApp(open_browser=False, port=0, allow_root=True)
app.initialize(argv=[], new_httpserver=False)
print(app.web_app.settings["kernel_websocket_connection_class"].__name__)
"""


def test_dataflow_lab_loads_it(tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path), "JUPYTER_CONFIG_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", _START],
        env=lab_environment(environment),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.strip() == "PromptConnection", done.stderr
