"""Plans for teachers: one for each lesson, with the minutes that the lesson says."""

from __future__ import annotations

import re
import tomllib

import nbformat.v4 as v4
import pytest

from tests.lessons.notebooks import LESSONS, headings, number_of, read
from tools.plans import PAGE, SOURCE, PlanError, minutes_of, page, read_lessons, read_plans

TEXT = SOURCE.read_text(encoding="utf-8")
LESSONS_READ = read_lessons()


def test_each_lesson_has_a_plan_that_fits_it_and_the_page_is_of_today() -> None:
    plans = read_plans(TEXT, LESSONS_READ)
    assert [plan["number"] for plan in plans] == [number_of(path) for path in LESSONS]
    again = "run python -m tools.plans and commit what it writes"
    assert PAGE.read_text(encoding="utf-8") == page(plans, LESSONS_READ), again
    for path in LESSONS:
        lesson = LESSONS_READ[number_of(path)]
        assert {name for name, _ in lesson.sections} <= set(headings(read(path)))
        assert lesson.told == lesson.minutes, again
        assert f"]({path.name})" in PAGE.read_text(encoding="utf-8")


def test_what_is_said_to_a_class_is_whole_sentences() -> None:
    for plan in tomllib.loads(TEXT)["lesson"]:
        said = [text for pair in plan["wrong"] for text in pair]
        assert all(len(pair) == 2 for pair in plan["wrong"])
        assert [t for t in said if not t.endswith(".")] == []
        assert [t for t in plan["discuss"] if not t.endswith("?")] == []


@pytest.mark.parametrize(
    ("change", "to", "words"),
    [
        ("number = 3\n", "number = 30\n", "needed one for each of"),
        ("wrong = [\n", "minutes = 3\nwrong = [\n", "lesson 0: got"),
    ],
)
def test_a_plan_that_does_not_fit_is_refused(change: str, to: str, words: str) -> None:
    assert change in TEXT
    with pytest.raises(PlanError, match=re.escape(words)):
        read_plans(TEXT.replace(change, to, 1), LESSONS_READ)


def test_minutes_follow_one_rule() -> None:
    words = v4.new_markdown_cell("word " * 400 + "<!-- is what nobody reads -->")
    code = v4.new_code_cell("x = 1\n\n" * 24)
    question = v4.new_code_cell("ask()", metadata={"tags": ["predict"]})
    assert minutes_of([words]) == 2
    assert minutes_of([code]) == 2.5, "24 lines, and a cell to be run"
    assert minutes_of([words, code, question]) == 7.5
