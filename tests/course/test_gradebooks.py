"""Files for gradebooks: nbgrader's columns, Moodle's percentages, and from a running class as from a folder."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from dataflow.cli import main
from dataflow.course import gradebooks
from dataflow.course.class_report import ClassReport, NotebookRecord, TaskRecord

RIGHT, WRONG = {"right": True, "words": "Right."}, {"right": False, "words": "=no"}


def record(
    learner: str, lesson: str, *states: bool | None, at: float | None = None
) -> NotebookRecord:
    tasks = [
        TaskRecord(f"t{i}", [] if s is None else [RIGHT if s else WRONG])
        for i, s in enumerate(states)
    ]
    return NotebookRecord(learner, f"{lesson}.ipynb", tasks, at=at)


REPORT = ClassReport(
    [
        record("ada@example.org", "01_graphs", True, True, False, None, at=1_700_000_000.5),
        record("ada@example.org", "02_sessions", True, True),
        record("=HYPERLINK()", "02_sessions", None, True),
        NotebookRecord("cyd", "02_sessions.ipynb", problem="damaged"),
    ]
)


def rows(text: str) -> list[dict[str, Any]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_nbgraders_columns_and_a_line_for_each_assignment_and_student() -> None:
    found = rows(gradebooks.to_nbgrader(REPORT))
    assert list(found[0]) == [
        *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
        *("raw_score", "late_submission_penalty", "score", "max_score"),
    ]
    assert len(found) == 6
    ada = found[0]
    assert (ada["assignment"], ada["student_id"]) == ("01_graphs", "ada@example.org")
    assert ada["email"] == "ada@example.org"
    assert ada["timestamp"] == "2023-11-14 22:13:20.500000"
    assert (ada["raw_score"], ada["score"], ada["max_score"]) == ("2.0", "2.0", "4.0")
    absent = next(r for r in found if r["student_id"] == "cyd" and r["assignment"] == "01_graphs")
    assert (absent["timestamp"], absent["score"]) == ("", "0.0")


def test_moodle_gets_percentages_and_no_grade_for_what_was_not_done() -> None:
    found = rows(gradebooks.to_moodle(REPORT))
    assert found == [
        {"Username": "ada@example.org", "01_graphs": "50.00", "02_sessions": "100.00"},
        {"Username": "'=HYPERLINK()", "01_graphs": "-", "02_sessions": "50.00"},
        {"Username": "cyd", "01_graphs": "-", "02_sessions": "-"},
    ]


def test_of_two_copies_of_a_lesson_the_better_counts() -> None:
    twice = ClassReport([record("ada", "b/01", True), record("ada", "a/01", False)])
    assert rows(gradebooks.to_moodle(twice)) == [{"Username": "ada", "01": "100.00"}]


def test_an_empty_class_is_a_head() -> None:
    assert gradebooks.to_moodle(ClassReport([])) == "Username\n"
    assert len(gradebooks.to_nbgrader(ClassReport([])).splitlines()) == 1


@pytest.mark.parametrize("form", ["nbgrader", "moodle"])
def test_the_command_prints_them(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["course", "report", f"--{form}", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith(("assignment,", "Username"))
