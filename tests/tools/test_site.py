"""`make site`: what it writes, with npm's Pyodide."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.wasm import distribution

pytestmark = pytest.mark.wasm


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site."""
    from tools.site import Site

    folder = tmp_path_factory.mktemp("site") / "site"
    pyodide = os.pathsep.join([str(distribution.PYODIDE), str(distribution.WHEELS)])
    Site(pyodide, folder, distribution.ROOT / "lessons").build()
    return folder


def test_everything_that_is_loaded_is_in_the_site(site: Path) -> None:
    settings = json.loads((site / "jupyter-lite.json").read_text())["jupyter-config-data"]
    kernel = settings["litePluginSettings"]["@jupyterlite/pyodide-kernel-extension:kernel"]
    options = kernel["loadPyodideOptions"]
    assert (site / kernel["pyodideUrl"]).is_file()
    packages = json.loads((site / options["lockFileURL"]).read_text())["packages"]
    for entry in packages.values():
        assert (site / "static" / "pyodide" / entry["file_name"]).is_file()
        assert set(entry["depends"]) <= set(packages)
    assert {name.replace("_", "-") for name in options["packages"]} <= set(packages)


def test_a_folder_without_pyodide_is_refused(tmp_path: Path, capsys: Any) -> None:
    from tools.site import main

    status = main(["--pyodide", str(tmp_path), "--output", str(tmp_path / "site")])
    assert status == 1
    assert "npm install pyodide@0.29.3" in capsys.readouterr().err
    assert not (tmp_path / "site").exists()
