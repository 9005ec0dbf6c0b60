"""A real JupyterLab on loopback, on a copy of the lessons, with a home of its own."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import psutil

from tests.lessons.notebooks import OFFLINE

ROOT = Path(__file__).resolve().parents[2]

# Only in tests: cells outside the window stay in the page, so that they can be asserted on.
TEST_OVERRIDES = {
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
}


class JupyterServer:
    """JupyterLab started by `dataflow lab`, in a folder that only this test session uses.

    Attributes:
        url: "http://127.0.0.1:PORT/".
        token: the token every request needs.
        folder: the copy of the lessons it serves; notebooks written here can be opened.
        log: everything the server and its kernels printed.
    """

    def __init__(self, folder: Path, *, start_timeout_seconds: float = 240) -> None:
        self.folder = folder / "lessons"
        self.log = folder / "jupyter.log"
        self.token = secrets.token_hex(16)
        self._runtime = folder / "runtime"
        self._start_timeout_seconds = start_timeout_seconds
        self._home = folder
        self._go_on = folder / "go_on"
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""

    def start(self) -> None:
        """Start the server and wait until it answers."""
        ignore = shutil.ignore_patterns(".*", "checkpoints", "logs")
        if (ROOT / "lessons").is_dir():
            shutil.copytree(ROOT / "lessons", self.folder, ignore=ignore, dirs_exist_ok=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        overrides = self._home / "config" / "labconfig" / "default_setting_overrides.json"
        overrides.parent.mkdir(parents=True)
        overrides.write_text(json.dumps(TEST_OVERRIDES))
        startup = self._home / "ipython" / "profile_default" / "startup"
        startup.mkdir(parents=True)
        (startup / "00-offline.py").write_text(OFFLINE)
        python_path = [str(ROOT), str(ROOT / "widgets"), str(ROOT / "datasets")]
        if os.environ.get("PYTHONPATH"):
            python_path.append(os.environ["PYTHONPATH"])
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(python_path),
            "JUPYTER_CONFIG_DIR": str(self._home / "config"),
            "JUPYTER_DATA_DIR": str(self._home / "data"),
            "JUPYTER_RUNTIME_DIR": str(self._runtime),
            "JUPYTERLAB_SETTINGS_DIR": str(self._home / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(self._home / "workspaces"),
            "IPYTHONDIR": str(self._home / "ipython"),
        }
        command = [
            *(sys.executable, "-m", "dataflow.cli", "lab", str(self.folder)),
            *("--port", "0", "--no-browser"),
            "--ServerApp.ip=127.0.0.1",
            f"--IdentityProvider.token={self.token}",
            "--LabApp.expose_app_in_browser=True",
            "--LabApp.collaborative=False",
        ]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                cwd=self._home,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            self._wait_until_it_answers()
        except BaseException:
            self.stop()
            raise

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + self._start_timeout_seconds
        assert self._process is not None
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise RuntimeError(f"JupyterLab ended at once:\n{self.log.read_text()[-3000:]}")
            for path in self._runtime.glob("jpserver-*.json"):
                with contextlib.suppress(OSError, ValueError, KeyError):
                    self.url = f"http://127.0.0.1:{json.loads(path.read_text())['port']}/"
                    self.request("GET", "api/status")
                    return
            time.sleep(0.1)
        raise TimeoutError(f"JupyterLab did not answer:\n{self.log.read_text()[-3000:]}")

    def request(self, method: str, path: str) -> Any:
        """Ask the server's REST API; returns the parsed JSON, None for an empty answer."""
        request = urllib.request.Request(
            self.url + path, method=method, headers={"Authorization": f"token {self.token}"}
        )
        with urllib.request.urlopen(request, timeout=120) as answer:
            body = answer.read()
        return json.loads(body) if body else None

    def delete_sessions(self) -> None:
        """Stop every kernel: one that lives on keeps the code of the last test."""
        for session in self.request("GET", "api/sessions"):
            with contextlib.suppress(urllib.error.HTTPError):
                self.request("DELETE", f"api/sessions/{session['id']}")
        for kernel in self.request("GET", "api/kernels"):
            with contextlib.suppress(urllib.error.HTTPError):
                self.request("DELETE", f"api/kernels/{kernel['id']}")

    def reset_settings(self) -> None:
        """Forget what pages changed (the theme, for one): the next page starts with defaults."""
        for name in ("settings", "workspaces"):
            shutil.rmtree(self._home / name, ignore_errors=True)

    def write_notebook(self, name: str, cells: list[str]) -> str:
        """Write a notebook of code cells into the served folder; returns its name."""
        import nbformat.v4 as v4

        metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
        made = [v4.new_code_cell(c) for c in cells]
        return self.write(name, v4.new_notebook(cells=made, metadata=metadata))

    def write(self, name: str, notebook: Any) -> str:
        """Write a notebook into the served folder, over what is there; returns its name."""
        (self.folder / name).write_text(json.dumps(notebook))
        return name

    def busy(self) -> str:
        """Lines that keep a kernel busy until `go_on`: for what has to be seen meanwhile, however long it takes."""
        self._go_on.unlink(missing_ok=True)
        return f"""
import pathlib, time
while not pathlib.Path({str(self._go_on)!r}).exists():
    time.sleep(0.05)"""

    def go_on(self) -> None:
        """Ends what `busy` began."""
        self._go_on.touch()

    def restore_lesson(self, name: str) -> None:
        """Put a lesson back as it is in the checkout (a test may have saved over it)."""
        source = ROOT / "lessons" / name
        if source.exists():
            shutil.copyfile(source, self.folder / name)

    def stop(self) -> None:
        """Stop the server, its kernels and everything they started."""
        if self._process is None or self._process.poll() is not None:
            return
        family = psutil.Process(self._process.pid).children(recursive=True)
        with contextlib.suppress(Exception):
            self.delete_sessions()
            self.request("POST", "api/shutdown")
        try:
            self._process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(timeout=60)
        _, alive = psutil.wait_procs(family, timeout=5)
        for process in alive:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
