"""Variants of the lessons: what varies, and whole runs of those whose own cells vary.

The exercises and questions of the others are tried with the lesson itself, by `test_lessons`.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from dataflow.course.attempts import read_notebook
from dataflow.course.variants import drawn, table_of
from dataflow.course.variants.copies import as_variant
from tests.lessons import test_lessons
from tests.lessons.notebooks import (
    LESSONS,
    ROOT,
    by_role,
    checks_of,
    mistakes_of,
    number_of,
    read,
    read_variant,
    state_varies,
)
from tests.lessons.right_answers import RIGHT, VARIED
from tests.lessons.test_skeleton import layout

STATE_VARIES = [p for p in LESSONS if state_varies(p)]


def source_of(notebook: Any) -> dict[str, str]:
    return {c["id"]: "".join(c["source"]) for c in notebook["cells"]}


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_two_or_more_tasks_of_a_lesson_vary(path):
    shipped = read_notebook(path)
    lesson = checks_of(path)
    assert len(table_of(lesson)) >= 2, "two or more exercises or questions vary"
    before = source_of(shipped)
    assert source_of(as_variant(shipped, 0)) == before
    made = {seed: source_of(as_variant(shipped, seed)) for seed in range(1, 9)}
    assert source_of(as_variant(shipped, 1)) == made[1], "the same seed gives the same"
    assert made[1] != made[2]
    for part, table in table_of(lesson).items():
        for seed, sources in made.items():
            for cell in table["cells"]:
                assert sources[cell] != before[cell], f"{part}, seed {seed}: {cell} is as shipped"
    for seed in made:
        assert layout(read_variant(path, seed)) == []


@pytest.mark.parametrize("name", sorted(VARIED))
def test_right_answers_by_formula_agree_with_the_shipped_ones(name):
    said = VARIED[name](drawn(name, 0))
    assert said == RIGHT[name]


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_every_question_that_varies_has_a_right_answer_for_each_variant(path):
    lesson = checks_of(path)
    questions = [f"{lesson}.{part}" for part in table_of(lesson) if part.startswith("q")]
    asked = by_role(read(path), "predict")
    assert [q for q in questions if q.partition(".")[2] not in asked] == []
    exercises = [part for part in table_of(lesson) if part.startswith("ex")]
    assert [e for e in exercises if e not in mistakes_of(path)] == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("path", "seed"),
    # A lesson is run for one of the seeds, the next one for the other.
    list(zip(STATE_VARIES, itertools.cycle(test_lessons.SEEDS), strict=False)),
    ids=lambda value: value.stem if isinstance(value, Path) else str(value),
)
def test_a_variant_runs_and_grades(path, seed, tmp_path, monkeypatch):
    monkeypatch.delenv("DATAFLOW_DATA", raising=False)
    monkeypatch.setattr(test_lessons, "read", lambda path: read_variant(path, seed))
    monkeypatch.setattr(test_lessons, "mistakes_of", lambda path: mistakes_of(path, seed))
    notebook = test_lessons.answered(path)
    test_lessons.execute(notebook, tmp_path, monkeypatch)
    assert test_lessons.contradictions(notebook) == []
    assert test_lessons.ungraded(notebook) == []


def test_every_lesson_has_a_table():
    there = {p.stem for p in (ROOT / "dataflow" / "course" / "variants").glob("lesson*.toml")}
    assert there == {f"lesson{number_of(p):02}" for p in LESSONS}
