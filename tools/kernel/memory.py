"""Python's memory after its imports, and its files, for the kernel of `make site`.

Starting Python in a page and importing NumPy, IPython, dataflow and the widgets takes ten seconds of a
processor; restoring the memory of a Python that has done so takes one. ``start.js`` says how.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import struct
import subprocess
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
#: Parts of wheels that no lesson reads.
_LEFT_OUT = (".h", ".a", ".pxd", ".c", ".map")
_FOLDERS_LEFT_OUT = ("/tests/", "anywidget/labextension/")
#: The libraries of this package are loaded before Python begins; those of others when they are imported.
_LIBRARIES = "numpy/"

# Runs cells of lessons in an interpreter that is then thrown away: what they load is what a first cell needs.
_TRIAL = """
import json, sys
import numpy.random, micropip, piplite.piplite, pyodide_kernel
shell = pyodide_kernel.ipython_shell
shell.send_comm = lambda *_: None
for hook in ("display_data_callback", "update_display_data_callback", "clear_output_callback"):
    setattr(shell.display_pub, hook, lambda *_: None)
shell.displayhook.publish_execution_result = lambda *_: None
for stream in (pyodide_kernel.stdout_stream, pyodide_kernel.stderr_stream):
    stream.publish_stream_callback = lambda *_: None
for cell in {cells!r}:
    shell.run_cell(cell)
json.dumps([name for name, module in list(sys.modules.items()) if "__spec__" in getattr(module, "__dict__", ())])
"""
_FIRST = """
import gc, importlib
failed = []
import numpy.random, piplite.piplite, pyodide_kernel
for name in names:
    try:
        importlib.import_module(name)
    except Exception as error:
        failed.append(f"{name}: {type(error).__name__}: {error}")
del name, names
gc.collect()
'; '.join(failed)
"""
#: In the page, once the memory is restored: random numbers are seeded anew, the language is the reader's.
_AFTERWARDS = """
def afterwards():
    import os, random, sys
    import js, numpy.random
    random.seed()
    numpy.random.seed()
    navigator = getattr(js, "navigator", None)
    if getattr(navigator, "language", None):
        os.environ["LANG"] = navigator.language.replace("-", "_") + ".UTF-8"
    sys.path[:] = dict.fromkeys(sys.path)
afterwards()
del afterwards
"""


class NoMemory(RuntimeError):
    """Why the kernel's memory could not be stored."""


def store(
    static: Path,
    pyodide: Path,
    wheels: dict[str, Path],
    info: dict[str, Any],
    cells: Iterable[str],
) -> dict[str, str]:
    """Writes both archives into ``static``; the settings of ``start.js`` that name them.

    ``pyodide`` is a folder with Pyodide, ``wheels`` has those of the packages that the kernel has loaded, by
    their names in the lock file, ``info`` is the heading of the lock file, and ``cells`` are code to try. Raises `NoMemory` where that
    cannot be done here.
    """
    node = shutil.which("node")
    if node is None:
        raise NoMemory("Node is not installed")
    files = static / "kernel-files"
    files.write_bytes(archive_of(wheels.values()))
    memory = static / "kernel-memory"
    asked = {
        "trial": _TRIAL.format(cells=list(cells)),
        "first": _FIRST,
        "afterwards": _AFTERWARDS,
        "loaded": dict.fromkeys(wheels, "the site"),
        "info": info,
    }
    command = [node, str(HERE / "memory.mjs"), str(pyodide), str(files), str(memory)]
    done = subprocess.run(
        command, input=json.dumps(asked), capture_output=True, text=True, check=False, timeout=900
    )
    if done.returncode:
        files.unlink()
        memory.unlink(missing_ok=True)
        raise NoMemory(f"Python did not run in Node: {done.stderr[-1000:]}")
    return {"memory": _compressed(memory), "files": _compressed(files)}


def archive_of(wheels: Iterable[Path]) -> bytes:
    """The files of ``wheels``: a header of JSON (names and sizes, and the libraries to load), then their bytes."""
    files: list[tuple[str, int]] = []
    parts: list[bytes] = []
    for path in sorted(wheels):
        with zipfile.ZipFile(path) as wheel:
            for entry in wheel.infolist():
                name = entry.filename
                if entry.is_dir() or name.endswith(_LEFT_OUT):
                    continue
                # Our own packages need theirs: they read their public names from them.
                if name.startswith("numpy/") and name.endswith(".pyi"):
                    continue
                if any(part in f"/{name}" for part in _FOLDERS_LEFT_OUT):
                    continue
                files.append((name, entry.file_size))
                parts.append(wheel.read(entry))
    libraries = [name for name, _ in files if name.startswith(_LIBRARIES) and name.endswith(".so")]
    header = json.dumps({"files": files, "libraries": libraries}).encode()
    header += b" " * (-len(header) % 16)
    return b"".join([struct.pack("<I12x", len(header)), header, *parts])


def _compressed(path: Path) -> str:
    """Compresses a file; its new name, which says what is in it, so that it can be cached for good."""
    data = path.read_bytes()
    path.unlink()
    name = f"{path.name}-{hashlib.sha256(data).hexdigest()[:16]}.bin"
    path.with_name(name).write_bytes(gzip.compress(data, 9, mtime=0))
    return name


def write_scripts(static: Path, settings: dict[str, str], kernel_script: str) -> str:
    """Writes what starts the kernel into ``static``; the part of the lab's page that starts it early.

    ``kernel_script`` is the address of the worker of JupyterLite's kernel, seen from ``static``.
    """
    start = (HERE / "start.js").read_text(encoding="utf-8")
    before, after = start.split("const settings = null;", 1)
    text = f"{before}const settings = {json.dumps(settings)};{after}"
    (static / "start.js").write_text(text, encoding="utf-8")
    early = (HERE / "early.js").read_text(encoding="utf-8")
    (static / "early.js").write_text(early.replace("KERNEL_SCRIPT", kernel_script), "utf-8")
    page = (HERE / "early_page.html").read_text(encoding="utf-8")
    return page.replace("KERNEL_SCRIPT", kernel_script.rsplit("/", 1)[-1].split("?")[0])


def kernel_worker(scripts: Path) -> Path:
    """The script, among those of JupyterLite's kernel, that its worker runs on pages like ours.

    Raises `FileNotFoundError` for another release of it than this is made for.
    """
    for path in sorted(scripts.glob("*.js")):
        text = path.read_text(encoding="utf-8")
        # Those that begin so are parts of the page; of the two workers ours speaks by messages (Comlink).
        if "webpackChunk" not in text[:200] and "Unserializable return value" in text:
            return path
    raise FileNotFoundError(f"{scripts}: no worker of Pyodide's kernel there")
