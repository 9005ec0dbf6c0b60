"""Joining a class from real WebAssembly: by the page's own requests, as there are no sockets."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from dataflow.course.classroom.store import Store
from tests.course.classroom.a_class import Q2, Process, lessons
from tests.wasm import distribution

pytestmark = [pytest.mark.wasm, pytest.mark.timeout(600)]


def test_a_learner_in_a_page_joins_answers_and_hands_in(checkout: Path, tmp_path: Path) -> None:
    from tools import wheels

    room = Process(tmp_path)
    try:
        notebook = (lessons(tmp_path / "lessons") / "01_small.ipynb").read_text()
        told = {"address": f"http://127.0.0.1:{room.port}", "code": room.code, "question": Q2}
        (tmp_path / "class.json").write_text(json.dumps(told | {"notebook": notebook}))
        ours = wheels.for_the_engine(tmp_path / "wheels")
        settings = {
            "pyodide": str(distribution.PYODIDE),
            "wheels": [str(path) for path in [*distribution.wheels(), *ours]],
            "mounts": {"/checkout/tests": str(checkout / "tests"), "/out": str(tmp_path)},
            "script": str(checkout / "tests" / "wasm" / "class_in_pyodide.py"),
        }
        (tmp_path / "settings.json").write_text(json.dumps(settings))
        command = ["node", str(checkout / "tests" / "wasm" / "pyodide.mjs")]
        done = subprocess.run(
            [*command, str(tmp_path / "settings.json")], capture_output=True, text=True, timeout=500
        )
        assert (tmp_path / "class_report.json").exists(), done.stdout[-1000:] + done.stderr[-3000:]
    finally:
        room.stop()
    report = json.loads((tmp_path / "class_report.json").read_text())
    assert "as Ada: 2 answers sent, 0 waiting." in report["member"]
    assert report["handed"].startswith("Handed in: 01_small.ipynb")
    assert "not the code of this class" in report["wrong"]
    store = Store(tmp_path / "class")
    assert [(a.task, a.right) for a in store.answers()] == [
        ("lesson01.q2", False),
        ("lesson01.ex1", True),
    ]
    assert store.num_notebooks() == 1
    store.close()
