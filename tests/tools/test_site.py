"""`make site`: what it refuses (tests/browser/test_site.py looks at what it writes)."""

from __future__ import annotations

import functools
import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest


def test_a_folder_without_pyodide_is_refused(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    from tools.site import main

    monkeypatch.setattr("sys.prefix", str(tmp_path))  # where tools/install.sh puts one
    status = main(["--pyodide", str(tmp_path), "--output", str(tmp_path / "site")])
    assert status == 1
    assert "npm install pyodide@0.29.3" in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


class Mirror(SimpleHTTPRequestHandler):
    """A server of Pyodide's files; ``allows`` other hosts' pages to read them, or not."""

    allows = True

    def end_headers(self) -> None:
        if self.allows:
            self.send_header("Access-Control-Allow-Origin", "*")
        super().end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[str]:
    """The address of a mirror whose wheels have other bytes than its lock says, and lacks some."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    packages = {}
    here = ("numpy", "micropip", "ipython", "decorator", "typing-extensions", "ml-dtypes")
    for name in (*here, "jedi", "pandas", "pillow"):
        packages[name] = {
            "name": name,
            "file_name": f"{name}.whl",
            "sha256": "0" * 64,
            "depends": [],
        }
        if name in here:
            (folder / f"{name}.whl").write_text(name)
    packages["ipython"]["depends"] = ["decorator", "jedi"]
    (folder / "pyodide-lock.json").write_text(json.dumps({"info": {}, "packages": packages}))
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Mirror, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join(60)


@pytest.mark.parametrize("allows", [True, False])
def test_a_server_that_other_hosts_pages_may_not_read_is_told(
    mirror: str, allows: bool, tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    from tools.site import Site

    monkeypatch.setattr(Mirror, "allows", allows)
    for step in ("_jupyterlite", "_settings", "_course_page"):
        monkeypatch.setattr(Site, step, lambda *_: None)
    monkeypatch.setattr(Site, "_packages", lambda *_: {})
    Site(mirror, tmp_path / "site", tmp_path).build()
    assert ("Access-Control-Allow-Origin" in capsys.readouterr().err) is not allows


def test_pyodide_from_an_address(mirror: str, tmp_path: Path, monkeypatch: Any) -> None:
    from tools.site import Site

    def without_jupyterlite(site: Site, _: Path) -> None:
        site.output.mkdir()
        (site.output / "jupyter-lite.json").write_text('{"jupyter-config-data": {}}')

    monkeypatch.setattr(Site, "_jupyterlite", without_jupyterlite)
    monkeypatch.setattr(Site, "_course_page", lambda _: None)
    output = tmp_path / "site"
    Site(mirror, output, tmp_path).build()
    config = json.loads((output / "jupyter-lite.json").read_text())["jupyter-config-data"]
    kernel = config["litePluginSettings"]["@jupyterlite/pyodide-kernel-extension:kernel"]
    assert kernel["pyodideUrl"] == f"{mirror}/pyodide.js"
    options = kernel["loadPyodideOptions"]
    # Ours depend on it without saying so: nothing else has it loaded.
    assert {"typing-extensions", "numpy", "dataflow-learn", "ipywidgets"} <= set(
        options["packages"]
    )
    assert "ml-dtypes" in options["packages"]
    assert "pillow" not in options["packages"]
    packages = json.loads((output / options["lockFileURL"]).read_text())["packages"]
    for name in ("numpy", "ipython", "typing-extensions"):
        assert packages[name]["file_name"] == f"{mirror}/{name}.whl"
        assert packages[name]["sha256"] == hashlib.sha256(name.encode()).hexdigest()
    assert packages["pandas"]["sha256"] == "0" * 64  # loaded when it is asked for, if it is there
    # What the mirror lacks is ours to give.
    for name in ("jedi", "ipywidgets"):
        assert (output / "static" / "pyodide" / packages[name]["file_name"]).is_file()


def test_the_stored_memory_of_a_pyodide_that_stays_where_it_is(
    mirror: str, tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    """The memory is the site's own; Pyodide and its packages are loaded from the address."""
    from tools.kernel import memory
    from tools.site import Site

    core = ("pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip")
    for name in core:
        (tmp_path / "mirror" / name).write_text(name)
    seen: dict[str, Any] = {}

    def stored(static: Path, folder: Path, wheels: dict[str, Path], *_: Any) -> dict[str, str]:
        seen.update(wheels)
        assert all((folder / name).read_text() == name for name in core)
        assert wheels["numpy"].read_text() == "numpy"  # fetched
        assert wheels["ipywidgets"].parent == static  # ours
        return {"memory": "m.bin", "files": "f.bin"}

    def without_jupyterlite(site: Site, _: Path) -> None:
        worker = "extensions/@jupyterlite/pyodide-kernel-extension/static/1.js"
        for name, text in {
            "jupyter-lite.json": '{"jupyter-config-data": {}}',
            "lab/index.html": "<head></head>",
            worker: "Unserializable return value",
        }.items():
            (site.output / name).parent.mkdir(parents=True, exist_ok=True)
            (site.output / name).write_text(text)

    monkeypatch.setattr(memory, "store", stored)
    monkeypatch.setattr(Site, "_jupyterlite", without_jupyterlite)
    monkeypatch.setattr(Site, "_course_page", lambda _: None)
    output = tmp_path / "site"
    Site(mirror, output, tmp_path).build()
    assert capsys.readouterr().err == ""
    assert "dataflow-learn" in seen
    config = json.loads((output / "jupyter-lite.json").read_text())["jupyter-config-data"]
    kernel = config["litePluginSettings"]["@jupyterlite/pyodide-kernel-extension:kernel"]
    assert kernel["pyodideUrl"] == "./static/pyodide/start.js"
    start = (output / "static" / "pyodide" / "start.js").read_text()
    assert f'"pyodide": "{mirror}/pyodide.js"' in start
    early = (output / "static" / "pyodide" / "early.js").read_text()
    assert "../../extensions/@jupyterlite/pyodide-kernel-extension/static/1.js" in early
    assert "early.js" in (output / "lab" / "index.html").read_text()


def test_the_public_address_is_that_of_the_kernels_own_release() -> None:
    """Not asked for here: the address alone, as the built pages name it."""
    import re
    from importlib import metadata

    from tools.site import PYODIDE

    kernel = metadata.distribution("jupyterlite-pyodide-kernel")
    made_for = {
        found
        for file in kernel.files or ()
        if file.suffix == ".js"
        for found in re.findall(
            r"https://cdn\.jsdelivr\.net/pyodide/v[^/\"]+/full/",
            Path(str(kernel.locate_file(file))).read_text(encoding="utf-8"),
        )
    }
    assert made_for == {PYODIDE}
