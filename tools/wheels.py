"""Wheels for Python in WebAssembly, made of what is installed in this environment.

Most of what a notebook needs is pure Python: the files that are installed here run in the browser as
well, and packing them needs no network. Compiled parts are left out; the packages that have some here
(protobuf, psygnal, wcwidth) do without them.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib.metadata
import io
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from packaging.requirements import Requirement

from dataflow_datasets import python_manual, scikit_tables

ROOT = Path(__file__).resolve().parents[1]
#: What requirements are asked about.
_MARKERS = {
    "extra": "",
    "implementation_name": "cpython",
    "os_name": "posix",
    "platform_machine": "wasm32",
    "platform_python_implementation": "CPython",
    "platform_system": "Emscripten",
    "python_full_version": "3.13.2",
    "python_version": "3.13",
    "sys_platform": "emscripten",
}
_COMPILED = (".so", ".pyd", ".dylib", ".pyc")


def canonical(name: str) -> str:
    """The name of a distribution as package indexes write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def closure(names: Iterable[str], without: Iterable[str] = ()) -> list[str]:
    """``names`` and all that they require in WebAssembly, but for ``without`` and what that requires.

    Raises `importlib.metadata.PackageNotFoundError` for one that is not installed here.
    """
    found: dict[str, None] = {}
    waiting = [canonical(name) for name in names]
    left_out = {canonical(name) for name in without}
    while waiting:
        name = waiting.pop()
        if name in found or name in left_out:
            continue
        found[name] = None
        for text in importlib.metadata.requires(name) or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate(dict(_MARKERS)):
                waiting.append(canonical(requirement.name))
    return sorted(found)


def repacked(name: str, folder: Path) -> Path:
    """A wheel in ``folder`` of the Python files of an installed distribution."""
    distribution = importlib.metadata.distribution(name)
    contents = {}
    for file in distribution.files or ():
        path = file.as_posix()
        if not path.startswith("..") and not path.endswith(_COMPILED):
            contents[path] = Path(str(distribution.locate_file(file))).read_bytes()
    return pack(name, distribution.version, contents, folder)


def pack(name: str, version: str, contents: dict[str, bytes], folder: Path) -> Path:
    """Writes a pure Python wheel of ``contents``, by path; the same contents give the same bytes."""
    stem = f"{canonical(name).replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    ours = {f"{info}/WHEEL", f"{info}/RECORD"}
    files = {
        path: data
        for path, data in contents.items()
        if ".dist-info/" not in path or path.endswith(("METADATA", "entry_points.txt"))
    }
    # An installed distribution may write its name in another way.
    files = {
        re.sub(r"^[^/]+\.dist-info/", f"{info}/", path): data
        for path, data in files.items()
        if path not in ours
    }
    files.setdefault(
        f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()
    )
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    lines = []
    for path, data in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        lines.append(f"{path},sha256={digest},{len(data)}\n")
    files[f"{info}/RECORD"] = "".join([*lines, f"{info}/RECORD,,\n"]).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(path), data, zipfile.ZIP_DEFLATED)
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{stem}-py3-none-any.whl"
    wheel.write_bytes(out.getvalue())
    return wheel


def own(folder: Path) -> Path:
    """Our wheel, built by hatchling as it is installed here: no network."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("dataflow_learn-*.whl")
    return _without_lessons(wheel)


def _without_lessons(wheel: Path) -> Path:
    """The same wheel without the notebooks that `dataflow lab` copies: half of its bytes."""
    with zipfile.ZipFile(wheel) as archive:
        names = [n for n in archive.namelist() if not n.startswith("dataflow/_lessons/")]
        contents = {name: archive.read(name) for name in names}
    name, version = wheel.name.split("-")[:2]
    # In a browser there is not always scikit-learn, from which these tables come elsewhere.
    for table in scikit_tables.FILES:
        contents[f"dataflow_datasets/packed/{table}"] = (
            resources.files("sklearn.datasets.data").joinpath(table).read_bytes()
        )
    # Nor are there these pages, which lesson 10 reads where no book is.
    pages = python_manual.load_text().encode("utf-8")
    contents["dataflow_datasets/packed/python_manual.txt.gz"] = gzip.compress(pages, mtime=0)
    return pack(canonical(name), version, contents, wheel.parent)


#: `tensorboard` there: the messages that summaries and checkpoints are made of. Its server needs sockets.
_MESSAGES_ALONE = '''"""The messages of TensorBoard's files; the server is not here."""

__version__ = "{version}"


def load_ipython_extension(ipython):
    """``%load_ext tensorboard``: says where TensorBoard can be had."""
    from dataflow.capabilities import refused
    from dataflow.extras import install

    raise refused(
        "TensorBoard",
        "a server",
        f"download what was written, and look at it on a computer of yours ({{install('train')}}).",
    )
'''


def messages_of_tensorboard(folder: Path) -> Path:
    """A wheel of TensorBoard's protocol buffers, without its server and its page."""
    distribution = importlib.metadata.distribution("tensorboard")
    contents = {
        "tensorboard/__init__.py": _MESSAGES_ALONE.format(version=distribution.version).encode(),
        "tensorboard/compat/__init__.py": b"",
        "tensorboard/plugins/__init__.py": b"",
        "tensorboard/plugins/projector/__init__.py": b"",
    }
    for file in distribution.files or ():
        path = file.as_posix()
        messages = path.startswith("tensorboard/compat/proto/") and path.endswith(".py")
        if messages or path == "tensorboard/plugins/projector/projector_config_pb2.py":
            contents[path] = Path(str(distribution.locate_file(file))).read_bytes()
    return pack("tensorboard", distribution.version, contents, folder)


def for_the_engine(folder: Path) -> list[Path]:
    """What ``import dataflow`` and everything in it needs beside NumPy: our wheel, and messages."""
    return [
        own(folder),
        messages_of_tensorboard(folder),
        repacked("protobuf", folder),
    ]
