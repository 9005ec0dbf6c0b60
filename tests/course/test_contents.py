"""What a course page says of the lessons, and of what was done in them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from dataflow.course.attempts import MIME
from dataflow.course.contents import TRACKS, read_lessons, read_work


def test_each_lesson_has_a_number_a_time_aims_and_tasks(checkout: Path) -> None:
    cards = read_lessons(checkout / "lessons")
    lessons = [card for card in cards if card.number is not None]
    assert [card.number for card in lessons] == list(range(len(lessons)))
    for card in lessons:
        assert card.file.startswith(f"{card.number:02}_")
        assert card.title and card.minutes and len(card.aims) >= 2
        assert {f"lesson{card.number:02}.q1", f"lesson{card.number:02}.ex1"} <= set(card.tasks)


def test_a_damaged_notebook_does_not_stop_the_page(tmp_path: Path) -> None:
    (tmp_path / "01_bad.ipynb").write_text("{")
    (tmp_path / "02_odd.ipynb").write_text('{"cells": [3, {"cell_type": "code", "source": 4}]}')
    (tmp_path / "03_none.ipynb").write_text('{"cells": []}')
    cards = read_lessons(tmp_path)
    assert [card.title for card in cards] == ["02_odd.ipynb", "03_none.ipynb"]
    assert [card.tasks for card in cards] == [[], []]


def test_the_tracks_are_those_of_the_readme_and_cover_the_course(checkout: Path) -> None:
    numbers = {c.number for c in read_lessons(checkout / "lessons") if c.number is not None}
    assert set().union(*TRACKS.values()) == numbers
    shared = set(TRACKS["Models"]) & set(TRACKS["Systems"])
    assert shared == set(range(7))
    said = (checkout / "lessons" / "README.md").read_text(encoding="utf-8")
    assert "7 to 12, then 22" in said and "13 to 21, then 23 to 26" in said


def _run(tries: dict[str, list[bool]]) -> dict[str, Any]:
    """A notebook with a cell that was run for each task."""
    outputs = [
        {MIME: {"exercise": name, "attempts": [{"right": r, "words": "x"} for r in rights]}}
        for name, rights in tries.items()
    ]
    cells = [{"execution_count": 1, "outputs": [{"data": data}]} for data in outputs]
    return {"cells": [{"cell_type": "code", "source": "", **cell} for cell in cells]}


def test_work_is_what_was_answered_in_the_notebooks_that_were_run(tmp_path: Path) -> None:
    tries = {"lesson01.q1": [False, True], "lesson01.q2": [False], "lesson01.ex1": [True]}
    (tmp_path / "01_a.ipynb").write_text(json.dumps(_run(tries)))
    os.utime(tmp_path / "01_a.ipynb", (5, 1234))
    (tmp_path / "02_b.ipynb").write_text('{"cells": [{"cell_type": "code", "source": "1"}]}')
    (tmp_path / "03_c.ipynb").write_text("{")
    (work,) = read_work(tmp_path)
    assert work.as_json() == {
        "file": "01_a.ipynb",
        "modified": 1234,
        "right": ["lesson01.q1", "lesson01.ex1"],
        "tried": ["lesson01.q2"],
    }
