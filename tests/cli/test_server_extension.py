"""Messages of a kernel reach the page without a wait for its acknowledgment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from dataflow.cli import server_extension
from dataflow.cli.lab import lab_environment


class Usual:
    """The server's own connection between a page and a kernel."""

    def __init__(self, handler: Any) -> None:
        self.websocket_handler = handler

    def connect(self) -> str:
        return "connected"


def test_connections_send_without_delay() -> None:
    calls: list[bool] = []
    app = SimpleNamespace(
        web_app=SimpleNamespace(settings={"kernel_websocket_connection_class": Usual})
    )
    server_extension._load_jupyter_server_extension(app)
    made = app.web_app.settings["kernel_websocket_connection_class"]
    connection = made(SimpleNamespace(set_nodelay=calls.append))
    assert isinstance(connection, Usual) and calls == []
    assert connection.connect() == "connected" and calls == [True]


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
