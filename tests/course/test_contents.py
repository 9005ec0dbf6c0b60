"""What a course page says of the lessons."""

from __future__ import annotations

from pathlib import Path

from dataflow.course.contents import read_lessons


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
