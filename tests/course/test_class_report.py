"""The teacher's mode: reading a class's notebooks, damaged and hostile ones among them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from dataflow.cli import main
from dataflow.course import report
from dataflow.course.attempts import MIME, WIDGET_STATE_MIME

RIGHT = {"right": True, "words": "Right: 5."}
WRONG = {"right": False, "words": "got 3"}
SHOWN = {"right": False, "words": "The answer was shown.", "shown": True}
SOURCES = [
    'predict.pruned(y, name="lesson02.q1")',
    "check.lesson02.ex1(a)",
    "check.lesson02.ex2(b)",
]


def write(path: Path, outputs: dict[str, list[Any]], answers: list[Any] | None = None) -> None:
    cells = [{"cell_type": "code", "source": s, "outputs": []} for s in SOURCES]
    for name, tries in outputs.items():
        record = {"exercise": name, "attempts": tries}
        cells.append({"cell_type": "code", "source": "", "outputs": [{"data": {MIME: record}}]})
    state = {"kind": "predict", "name": "lesson02.q1", "answers": answers or []}
    widgets = {WIDGET_STATE_MIME: {"state": {"m1": {"state": state}}}}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"cells": cells, "metadata": {"widgets": widgets}, "nbformat": 4}))


@pytest.fixture
def class_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "class"
    write(folder / "ada" / "02_sessions.ipynb", {"lesson02.ex1": [WRONG, RIGHT]}, [RIGHT])
    write(folder / "bob" / "02_sessions.ipynb", {"lesson02.ex2": [WRONG, WRONG]}, [WRONG, SHOWN])
    (folder / "cyd").mkdir()
    (folder / "cyd" / "02_sessions.ipynb").write_text("{")
    (folder / "dan" / ".ipynb_checkpoints").mkdir(parents=True)
    write(folder / "dan" / ".ipynb_checkpoints" / "02_sessions-checkpoint.ipynb", {})
    write(folder / "eve_02.ipynb", {"lesson02.ex1": [{"right": True, "words": "=1+1\x1b[2J"}]})
    return folder


def test_who_did_what(class_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["course", "report", str(class_folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["learner", "notebook", "right"]
    told = {line.split()[0]: " ".join(line.split()[1:]) for line in lines[1:]}
    assert set(told) == {"ada", "bob", "cyd", "eve_02"}
    assert (
        told["ada"]
        == "02_sessions.ipynb 2 of 3 q1 right at try 1, ex1 right at try 2, ex2 not tried"
    )
    assert told["bob"] == "02_sessions.ipynb 0 of 3 q1 shown, ex1 not tried, ex2 not yet after 2"
    assert "cannot be read" in told["cyd"]


def test_csv_has_a_line_per_task_and_no_formulas(
    class_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["course", "report", "--csv", str(class_folder)]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    ada = [(r["task"], r["state"], r["tries"], r["wrong"]) for r in rows if r["learner"] == "ada"]
    assert ada == [
        ("lesson02.q1", "right", "1", "0"),
        ("lesson02.ex1", "right", "2", "1"),
        ("lesson02.ex2", "not tried", "0", "0"),
    ]
    (evil,) = [r for r in rows if r["learner"] == "eve_02" and r["state"] == "right"]
    assert evil["last words"] == "'=1+1 [2J", "no formula, no terminal command"


def test_by_task_says_what_the_class_got_wrong_at_first(
    class_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, given in (("fay", ["y"]), ("gus", ["x"]), ("hal", ["x"])):
        answers = [{**WRONG, "given": given}, RIGHT]
        write(class_folder / name / "02_sessions.ipynb", {}, answers)
    assert main(["course", "report", "--by-task", str(class_folder)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "lesson02.q1: 4 of 5 wrong at first, most (2) with: ['x']; 4 right in the end, 1 had the answer shown",
        "lesson02.ex1: 1 of 2 wrong at first, most (1) with: got 3; 2 right in the end",
        "lesson02.ex2: 1 of 1 wrong at first, most (1) with: got 3; 0 right in the end",
    ]


def test_in_a_notebook_it_is_a_table_of_text(tmp_path: Path) -> None:
    write(tmp_path / "<b onclick=x>mal" / "02_sessions.ipynb", {})
    html = report(tmp_path)._repr_html_()
    assert "&lt;b onclick=x&gt;mal" in html and "<b onclick" not in html


def test_reading_changes_nothing(class_folder: Path) -> None:
    before = {p: p.read_bytes() for p in class_folder.rglob("*.ipynb")}
    report(class_folder)
    assert {p: p.read_bytes() for p in class_folder.rglob("*.ipynb")} == before


def test_no_such_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["course", "report", str(tmp_path / "none")]) == 2
    assert "no such folder" in capsys.readouterr().err
    assert repr(report(tmp_path)) == "No notebooks."
