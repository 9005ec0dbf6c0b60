"""`make site`: what it refuses (tests/browser/test_site.py looks at what it writes)."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def test_a_folder_without_pyodide_is_refused(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    from tools.site import main

    monkeypatch.setattr("sys.prefix", str(tmp_path))  # where tools/install.sh puts one
    status = main(["--pyodide", str(tmp_path), "--output", str(tmp_path / "site")])
    assert status == 1
    assert "npm install pyodide@0.29.3" in capsys.readouterr().err
    assert not (tmp_path / "site").exists()
