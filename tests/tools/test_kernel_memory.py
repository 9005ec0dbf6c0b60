"""The stored memory of the site's kernel (tests/browser/test_site.py starts lessons from it)."""

from __future__ import annotations

import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tools.kernel import memory


def _wheel(folder: Path, name: str, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(folder / f"{name}.whl", "w") as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return folder / f"{name}.whl"


def _parts(archive: bytes) -> tuple[dict[str, Any], bytes]:
    (size,) = struct.unpack_from("<I", archive)
    return json.loads(archive[16 : 16 + size]), archive[16 + size :]


def test_an_archive_has_the_files_of_all_wheels_and_numpys_libraries_in_one_order(
    tmp_path: Path,
) -> None:
    numpy = {"numpy/b.so": b"B", "numpy/a.so": b"A", "numpy/__init__.pyi": b"x"}
    ours = {"dataflow/__init__.pyi": b"names", "dataflow/tests/t.py": b"t", "PIL/c.so": b"C"}
    wheels = [_wheel(tmp_path, "numpy", numpy), _wheel(tmp_path, "dataflow", ours)]
    archive = memory.archive_of(wheels)
    header, data = _parts(archive)
    assert header["files"] == [
        ["dataflow/__init__.pyi", 5],  # read when `dataflow` is imported
        ["PIL/c.so", 1],
        ["numpy/b.so", 1],
        ["numpy/a.so", 1],
    ]
    assert header["libraries"] == ["numpy/b.so", "numpy/a.so"]
    assert data == b"namesCBA"
    assert memory.archive_of(reversed(wheels)) == archive
    assert (len(archive) - len(data)) % 16 == 0  # a page reads numbers from it


def test_without_node_there_is_no_memory(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(memory.NoMemory, match="Node is not installed"):
        memory.store(tmp_path, tmp_path, {}, {}, [])
    assert list(tmp_path.iterdir()) == []


def test_what_goes_wrong_in_node_is_told_and_nothing_is_left(tmp_path: Path) -> None:
    if memory.shutil.which("node") is None:
        pytest.skip("Node is not installed (Debian: apt-get install nodejs)")
    with pytest.raises(memory.NoMemory, match=r"pyodide\.mjs"):
        memory.store(tmp_path, tmp_path, {}, {}, [])
    assert list(tmp_path.iterdir()) == []


def test_the_pages_scripts_name_the_archives_and_the_kernels_worker(tmp_path: Path) -> None:
    settings = {"pyodide": "./pyodide.js", "memory": "m.bin", "files": "f.bin", "lock": "l.json"}
    page = memory.write_scripts(tmp_path, settings, "../../extensions/kernel/352.abc.js?v=abc")
    assert "352.abc.js" in page and "?v=" not in page
    assert json.dumps(settings) in (tmp_path / "start.js").read_text()
    assert (
        'importScripts("../../extensions/kernel/352.abc.js?v=abc")'
        in (tmp_path / "early.js").read_text()
    )


def test_another_release_of_the_kernel_is_refused(tmp_path: Path) -> None:
    (tmp_path / "1.js").write_text("webpackChunk Unserializable return value")
    with pytest.raises(FileNotFoundError, match="no worker"):
        memory.kernel_worker(tmp_path)
    (tmp_path / "2.js").write_text("(()=>{ Unserializable return value })()")
    assert memory.kernel_worker(tmp_path) == tmp_path / "2.js"
