"""`make site`: the course as a static site, whose Python runs in the reader's browser.

    python -m tools.site [--pyodide FOLDER_OR_ADDRESS] [--output FOLDER]

JupyterLite is JupyterLab without a server; Pyodide is CPython in WebAssembly. Everything that the page
loads is in the site, but for Pyodide's own distribution where that is an address: then its server must
allow pages of other hosts to read it (``Access-Control-Allow-Origin``), as the public one does. A folder
of it may hold as little as npm's package and a wheel of NumPy for it; several are joined by ":".

The kernel's packages are in one lock file, ours and Pyodide's, so that they are loaded at once and
without asking a package index.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

from dataflow.cli.lab import LAB_EXTENSIONS_FOLDER
from dataflow.course.contents import read_lessons
from dataflow.course.copies import AUTHORS_FILES
from dataflow.course.page import course_page, with_warning
from tools import wheels
from tools.kernel import memory

ROOT = Path(__file__).resolve().parents[1]
#: The version that jupyterlite-pyodide-kernel 0.7.1 is made for.
PYODIDE = "https://cdn.jsdelivr.net/pyodide/v0.29.3/full/"
#: What the kernel cannot begin without. `jedi` and `sqlite3` are not among it: the kernel would ask a
#: package index for them, and IPython does without (its own completion; no history across sessions).
KERNEL = (
    "micropip",
    "piplite",
    "ipykernel",
    "comm",
    "pyodide_kernel",
    "ipython",
    "sqlite3",
    "jedi",
)
_LEFT_OUT = ("jedi", "widgetsnbextension", "jupyterlab-widgets", "pexpect", "ipykernel", "numpy")
#: What draws widgets, and the kernel.
_LAB_EXTENSIONS = (
    "@jupyter-widgets/jupyterlab-manager",
    "@jupyterlite/pyodide-kernel-extension",
    "anywidget",
)
_KERNEL_PLUGIN = "@jupyterlite/pyodide-kernel-extension:kernel"
_LOCK = "dataflow-lock.json"
#: What these lessons import is in memory before the first cell.
_FIRST_LESSONS = ("01", "02")
#: What must be of the very release that the kernel is made for.
_OF_PYODIDE = ("numpy", "micropip", "ipython", "decorator")
#: What some ops need, loaded where the distribution has it: bfloat16, and files of images.
_IF_THERE = ("ml-dtypes", "pillow")
#: What the engine, IPython and widgets need, with all that these require.
_NEEDED = (
    "absl-py",
    "stack_data",
    "prompt_toolkit",
    "pygments",
    "matplotlib_inline",
    "ipywidgets",
    "anywidget",
    "comm",
    "graphviz",
)


class Site:
    """A site in the making, in the folder ``output``."""

    def __init__(self, pyodide: str, output: Path, lessons: Path) -> None:
        self.output, self.lessons = output, lessons
        self.is_remote = re.match(r"https?://", pyodide) is not None
        self.pyodide = pyodide if not self.is_remote else pyodide.rstrip("/") + "/"
        self.static = output / "static" / "pyodide"

    def build(self) -> None:
        """Writes the whole site. Raises `FileNotFoundError` for a folder without Pyodide."""
        lock = self._distribution_lock()
        with tempfile.TemporaryDirectory() as made:
            self._jupyterlite(Path(made))
        self.static.mkdir(parents=True, exist_ok=True)
        if not self.is_remote:
            self._copy_pyodide()
        packages = self._packages(lock)
        (self.static / _LOCK).write_text(
            json.dumps({"info": lock["info"], "packages": packages}), encoding="utf-8"
        )
        names = self._settings(packages)
        self._start_from_memory(lock["info"], packages, names)
        self._course_page()

    # ---- JupyterLite ---------------------------------------------------------------------------

    def _jupyterlite(self, folder: Path) -> None:
        overrides = ROOT / "dataflow" / "cli" / "jupyter" / "labconfig"
        settings = json.loads((overrides / "default_setting_overrides.json").read_text())
        (folder / "overrides.json").write_text(json.dumps(settings))
        contents = folder / "lessons"
        hidden = shutil.ignore_patterns(".*", "__pycache__", "checkpoints", "logs", *AUTHORS_FILES)
        shutil.copytree(self.lessons, contents, ignore=hidden)
        for path in contents.glob("*.ipynb"):
            notebook = json.loads(path.read_text(encoding="utf-8"))
            notebook["metadata"]["kernelspec"] = {
                "name": "python",
                "display_name": "Python (Pyodide)",
                "language": "python",
            }
            path.write_text(json.dumps(notebook, indent=1), encoding="utf-8")
        shutil.rmtree(self.output, ignore_errors=True)
        # These extensions alone: others of the environment are made for another JupyterLab.
        shared = Path(sys.prefix) / "share" / "jupyter" / "labextensions"
        settings = {
            "apps": ["lab"],
            "contents": [str(contents)],
            "federated_extensions": [
                *(str(shared / name) for name in _LAB_EXTENSIONS),
                str(LAB_EXTENSIONS_FOLDER / "dataflow-course"),
            ],
            "ignore_sys_prefix": ["federated_extensions"],
            "no_sourcemaps": True,
            "no_unused_shared_packages": True,
            "output_dir": str(self.output),
        }
        (folder / "jupyter_lite_config.json").write_text(json.dumps({"LiteBuildConfig": settings}))
        command = [sys.executable, "-m", "jupyterlite_core", "build"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(
                f"JupyterLite did not build:\n{done.stdout[-2000:]}{done.stderr[-3000:]}"
            )

    def _settings(self, packages: dict[str, Any]) -> list[str]:
        """Tells the kernel where Pyodide is and what it loads; the names of that."""
        path = self.output / "jupyter-lite.json"
        settings = json.loads(path.read_text())
        data = settings["jupyter-config-data"]
        data["appName"] = "dataflow"
        data["contentsStorageName"] = "dataflow course"
        data["enableMemoryStorage"] = True
        plugin = data.setdefault("litePluginSettings", {}).setdefault(_KERNEL_PLUGIN, {})
        local = "./static/pyodide/"
        plugin["pyodideUrl"] = (self.pyodide if self.is_remote else local) + "pyodide.js"
        plugin["disablePyPIFallback"] = False
        ours = [name for name, entry in packages.items() if entry["ours"]]
        # Ours name no dependencies, so what they need of Pyodide's own is named here.
        wanted = [*wheels.closure(_NEEDED, without=_LEFT_OUT), *_IF_THERE]
        theirs = [name for name in wanted if name in packages]
        names = [*KERNEL, *_OF_PYODIDE, *ours, *theirs]
        plugin["loadPyodideOptions"] = {
            "lockFileURL": local + _LOCK,
            "packages": sorted(set(names)),
        }
        for entry in packages.values():
            del entry["ours"]
        path.write_text(json.dumps(settings, indent=2))
        return sorted({wheels.canonical(name) for name in names})

    def _start_from_memory(
        self, info: dict[str, Any], packages: dict[str, Any], names: list[str]
    ) -> None:
        """Stores the memory of a Python that has started, so that the page need not start one."""
        scripts = self.output / "extensions" / "@jupyterlite" / "pyodide-kernel-extension"
        try:
            worker = memory.kernel_worker(scripts / "static")
            with tempfile.TemporaryDirectory() as made:
                folder = self._core(Path(made)) if self.is_remote else self.static
                loaded = [packages[name] for name in names if name in packages]
                files = {entry["name"]: self._wheel(entry, folder) for entry in loaded}
                archives = memory.store(self.static, folder, files, info, self._first_cells())
        except (memory.NoMemory, OSError) as error:
            print(
                f"make site: Python starts from its beginning in the page, which takes ten seconds more: {error}",
                file=sys.stderr,
            )
            return
        remote = self.pyodide if self.is_remote else "./"
        parts = {**archives, "pyodide": remote + "pyodide.js", "lock": _LOCK}
        early = memory.write_scripts(
            self.static, parts, f"../../{worker.relative_to(self.output).as_posix()}"
        )
        lab = self.output / "lab" / "index.html"
        lab.write_text(lab.read_text("utf-8").replace("<head>", f"<head>\n{early}", 1), "utf-8")
        path = self.output / "jupyter-lite.json"
        settings = json.loads(path.read_text())
        plugin = settings["jupyter-config-data"]["litePluginSettings"][_KERNEL_PLUGIN]
        plugin["pyodideUrl"] = "./static/pyodide/start.js"
        path.write_text(json.dumps(settings, indent=2))

    def _core(self, folder: Path) -> Path:
        """Pyodide without its packages, fetched into ``folder``."""
        for name in ("pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip"):
            with _opened(self.pyodide + name) as answer:
                (folder / name).write_bytes(answer.read())
        return folder

    def _wheel(self, entry: dict[str, Any], folder: Path) -> Path:
        """The wheel of a package; one that is elsewhere is fetched into ``folder``."""
        address = entry["file_name"]
        if not address.startswith(("http:", "https:")):
            return self.static / address
        path = folder / address.rsplit("/", 1)[-1]
        with _opened(address) as answer:
            path.write_bytes(answer.read())
        return path

    def _first_cells(self) -> list[str]:
        """The code of the lessons that readers open first, without their questions of the shell."""
        cells = []
        for name in _FIRST_LESSONS:
            for path in sorted(self.lessons.glob(f"{name}_*.ipynb")):
                notebook = json.loads(path.read_text(encoding="utf-8"))
                cells += [
                    "".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"
                ]
        return cells

    # ---- Pyodide and packages ------------------------------------------------------------------

    def _folders(self) -> list[Path]:
        """The folders of the distribution, and the one where `tools/install.sh` keeps micropip."""
        named = [Path(part).expanduser().resolve() for part in self.pyodide.split(os.pathsep)]
        return [*named, Path(sys.prefix) / "pyodide"]

    def _distribution_lock(self) -> dict[str, Any]:
        if self.is_remote:
            with _opened(self.pyodide + "pyodide-lock.json") as answer:
                if answer.headers["Access-Control-Allow-Origin"] is None:
                    print(
                        f"make site: {self.pyodide} sends no Access-Control-Allow-Origin: only pages of that very host "
                        "can load Pyodide from there",
                        file=sys.stderr,
                    )
                return dict(json.load(answer))
        for folder in self._folders():
            if (folder / "pyodide-lock.json").is_file() and (folder / "pyodide.js").is_file():
                return dict(json.loads((folder / "pyodide-lock.json").read_text()))
        raise FileNotFoundError(
            f"no Pyodide in {self.pyodide}: PYODIDE= must name a folder with pyodide.js and "
            "pyodide-lock.json (`npm install pyodide@0.29.3` makes node_modules/pyodide), or an address"
        )

    def _copy_pyodide(self) -> None:
        for folder in self._folders():
            for path in sorted(folder.iterdir()):
                if path.suffix in (".js", ".mjs", ".wasm", ".zip", ".whl"):
                    shutil.copyfile(path, self.static / path.name)

    def _packages(self, lock: dict[str, Any]) -> dict[str, Any]:
        """The lock's packages that can be had, and ours."""
        found: dict[str, Any] = {}
        first = _loaded_first(lock["packages"]) if self.is_remote else set()
        for name, entry in lock["packages"].items():
            if self.is_remote:
                address = self.pyodide + entry["file_name"]
                digest = self._digest_at(address) if name in first else entry["sha256"]
                if digest is not None:
                    known = {"file_name": address, "sha256": digest, "ours": False}
                    found[name] = entry | known
            elif (self.static / entry["file_name"]).is_file():
                # The same release from another place (a package index) may have other bytes.
                digest = hashlib.sha256((self.static / entry["file_name"]).read_bytes()).hexdigest()
                found[name] = entry | {"sha256": digest, "ours": False}
        # A package whose dependency is not here fails as a whole; without it `import` says what is missing.
        for entry in found.values():
            entry["depends"] = [d for d in entry["depends"] if wheels.canonical(d) in found]
        for path in self._made_wheels(found):
            name, version = path.name.split("-")[:2]
            key = wheels.canonical(name)
            with zipfile.ZipFile(path) as archive:
                tops = {n.split("/")[0] for n in archive.namelist() if ".dist-info/" not in n}
            found[key] = {
                "name": key,
                "version": version,
                "file_name": path.name,
                "install_dir": "site",
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
                "package_type": "package",
                "imports": sorted(top.removesuffix(".py") for top in tops),
                "depends": [],
                "unvendored_tests": False,
                "ours": True,
            }
        missing = [lock["packages"][n]["file_name"] for n in _OF_PYODIDE if n not in found]
        if missing:
            raise FileNotFoundError(
                f"{', '.join(missing)} must lie beside Pyodide: tools/install.sh gets the pure Python "
                "ones from the package index, NumPy's is in Pyodide's distribution"
            )
        return found

    def _digest_at(self, address: str) -> str | None:
        """The SHA-256 of what is there; None where nothing is.

        A browser refuses other bytes than the lock names, with "Failed to fetch", and a mirror made of a package
        index has others. Lock and wheels come from one server, so asking it for both trusts it no more.
        """
        try:
            with _opened(address) as answer:
                return hashlib.sha256(answer.read()).hexdigest()
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise

    def _made_wheels(self, had: dict[str, Any]) -> list[Path]:
        made = wheels.for_the_engine(self.static)
        extension = self.output / "extensions" / "@jupyterlite" / "pyodide-kernel-extension"
        for path in sorted((extension / "static" / "pypi").glob("*.whl")):
            if path.name.startswith(("piplite", "pyodide_kernel", "ipykernel")):
                made.append(Path(shutil.copy(path, self.static)))
        for name in wheels.closure(_NEEDED, without=[*_LEFT_OUT, *had]):
            made.append(wheels.repacked(name, self.static))
        for name in ("sqlite3", "jedi"):
            if name not in had:
                made.append(wheels.pack(name, "0", {}, self.static))
        return made

    # ---- the first page ------------------------------------------------------------------------

    def _course_page(self) -> None:
        page = course_page(read_lessons(self.lessons), "lab/index.html?path=")
        (self.output / "index.html").write_text(page, encoding="utf-8")
        # Who follows a link to a lesson does not see the course page.
        lab = self.output / "lab" / "index.html"
        lab.write_text(with_warning(lab.read_text(encoding="utf-8")), encoding="utf-8")


def _opened(address: str) -> Any:
    """The answer to a request such as a page of another host makes."""
    request = urllib.request.Request(address, headers={"Origin": "https://lessons.example"})
    return urllib.request.urlopen(request, timeout=60)


def _loaded_first(packages: dict[str, Any]) -> set[str]:
    """The names of those packages of a lock that are loaded before the first cell runs."""
    found: set[str] = set()
    named = (*KERNEL, *_OF_PYODIDE, *_IF_THERE, *wheels.closure(_NEEDED, without=_LEFT_OUT))
    waiting = [wheels.canonical(name) for name in named]
    while waiting:
        name = waiting.pop()
        if name in packages and name not in found:
            found.add(name)
            waiting += [wheels.canonical(other) for other in packages[name]["depends"]]
    return found


def size_of(folder: Path) -> float:
    """Megabytes in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def main(arguments: list[str] | None = None) -> int:
    """Builds the site; returns an exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pyodide", default=os.environ.get("PYODIDE") or PYODIDE)
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "site")
    parser.add_argument("--lessons", type=Path, default=ROOT / "lessons")
    options = parser.parse_args(arguments)
    try:
        Site(options.pyodide, options.output.resolve(), options.lessons).build()
    except (OSError, RuntimeError) as error:
        print(f"make site: {error}", file=sys.stderr)
        return 1
    print(f"{options.output}: {size_of(options.output):.0f} MB. To look at it:")
    print(f"  {sys.executable} -m http.server --bind 127.0.0.1 --directory {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
