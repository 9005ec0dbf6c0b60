"""Run lessons as they would run on Binder; a program for the environment of `binder/`.

    JUPYTER_RUNTIME_DIR=EMPTY_FOLDER python run_lessons.py FOLDER NOTEBOOK ...

JupyterLab serves FOLDER on loopback meanwhile, as it does on Binder while somebody works. Each
notebook runs top to bottom in a kernel of this environment and is written back with its outputs.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
from nbclient import NotebookClient

START_SECONDS = 60
CELL_SECONDS = 120


def start_jupyterlab(folder: Path) -> tuple[subprocess.Popen[bytes], str]:
    """The server, and the version that it answered with."""
    token = secrets.token_hex(16)
    runtime = Path(os.environ["JUPYTER_RUNTIME_DIR"])
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
        *("--ServerApp.ip=127.0.0.1", "--ServerApp.port=0", f"--ServerApp.root_dir={folder}"),
        f"--IdentityProvider.token={token}",
    ]
    log = (folder.parent / "jupyterlab.log").open("wb")
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            (info,) = runtime.glob("jpserver-*.json")
            port = json.loads(info.read_text())["port"]
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}/api", headers={"Authorization": f"token {token}"}
            )
            with urllib.request.urlopen(request, timeout=10) as answer:
                return server, json.loads(answer.read())["version"]
        except (OSError, ValueError, KeyError):
            time.sleep(0.2)
    server.kill()
    raise SystemExit(f"JupyterLab did not answer:\n{Path(log.name).read_text()[-3000:]}")


def main(folder: Path, names: list[str]) -> None:
    server, version = start_jupyterlab(folder)
    print(f"JupyterLab answers (jupyter_server {version})", flush=True)
    try:
        for name in names:
            notebook = nbformat.read(folder / name, as_version=4)
            start_seconds = time.monotonic()
            NotebookClient(
                notebook,
                timeout=CELL_SECONDS,
                kernel_name="python3",
                resources={"metadata": {"path": str(folder)}},
            ).execute()
            nbformat.write(notebook, folder / name)
            print(f"{name}: {time.monotonic() - start_seconds:.1f} s", flush=True)
    finally:
        server.terminate()
        server.wait(timeout=30)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
