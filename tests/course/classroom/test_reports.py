"""The report of a class: what was answered live and what was handed in, as one."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from dataflow.cli import main
from dataflow.course.attempts import MIME
from dataflow.course.classroom.messages import read_answers
from dataflow.course.classroom.questions import read_catalog
from dataflow.course.classroom.reports import FORMS, class_report, written
from dataflow.course.classroom.store import Store
from tests.course.classroom.a_class import answer, key, lessons


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Ada answered live and handed in, Bob answered only, Cyd only joined."""
    catalog = read_catalog(lessons(tmp_path / "lessons"))
    store = Store(tmp_path / "class")
    store.keep_lessons({card.file: card.tasks for card in catalog.cards})
    ada, bob, _ = (store.join(key(n), name) for n, name in enumerate(["Ada", "=Bob", "Cyd"]))

    def gave(learner: int, *answers: dict[str, object]) -> None:
        good, refused = read_answers({"answers": list(answers)}, catalog)
        assert refused == []
        store.record([(learner, good)])

    gave(ada, answer(given=["six"]), answer(uid="answer-0002"))
    gave(bob, answer(given=["six"]), answer(uid="shown-01", shown=True, right=False))
    tries = [{"right": False, "words": "no"}, {"right": True, "words": "yes"}]
    outputs = [{"data": {MIME: {"exercise": "lesson01.ex1", "attempts": tries}}}]
    one = [{"data": {MIME: {"exercise": "lesson01.q1", "attempts": tries[1:]}}}]
    cells = [{"cell_type": "code", "source": "", "outputs": each} for each in (outputs, one)]
    store.hand_in(ada, "01_small.ipynb", json.dumps({"cells": cells}).encode())
    return store


def test_live_answers_and_notebooks_are_one_report(store: Store) -> None:
    report = class_report(store)
    ada, bob = report.notebooks
    assert (ada.learner, ada.notebook) == ("Ada", "01_small.ipynb")
    states = {task.name: (task.state, task.num_wrong) for task in ada.tasks}
    assert states["lesson01.q1"] == ("right", 1), "the record with more attempts"
    assert states["lesson01.ex1"] == ("right", 1)
    assert states["lesson01.q2"] == ("not tried", 0)
    assert {task.name: task.state for task in bob.tasks}["lesson01.q1"] == "shown"
    (q1, _) = report.by_task()
    assert (q1.num_tried, q1.num_wrong_at_first, q1.num_right) == (2, 2, 1)
    assert q1.most_said == "['six']"


def test_each_form_is_csv_without_formulas(store: Store) -> None:
    for form in FORMS:
        text = written(store.path.parent, form)
        assert len({len(row) for row in csv.reader(io.StringIO(text))}) == 1
        assert "\n=Bob" not in text and ",=Bob" not in text
    assert "01_small" in written(store.path.parent, "moodle").splitlines()[0]
    assert written(store.path.parent, "tasks").splitlines()[1].startswith("lesson01.q1,2,2,1,1,")


def test_the_command_reads_a_class_as_it_reads_a_folder(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["course", "report", str(store.path.parent)]) == 0
    said = capsys.readouterr().out
    assert "Ada" in said and "q1 right at try 2" in said
    assert main(["course", "report", "--moodle", str(store.path.parent)]) == 0
    assert "Ada,50.00" in capsys.readouterr().out


def test_a_damaged_class_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "class.sqlite").write_bytes(b"nothing" * 100)
    assert main(["course", "report", str(tmp_path)]) == 2
    assert "is not a class's file" in capsys.readouterr().err
