"""The capstones, as the lessons: each milestone blank, wrong and right, offline; and their skeleton."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.lessons.notebooks import CAPSTONES, by_role, checks_of, code, headings, mistakes_of, read
from tests.lessons.test_lessons import answered, contradictions, execute, ungraded
from tests.lessons.test_skeleton import broken_links, layout
from tools.lesson import to_notebook, to_text

ENDING = ["The brief", "Your report", "Rubric", "Solutions"]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", CAPSTONES, ids=lambda p: p.stem)
def test_a_capstone_runs_and_its_milestones_check_themselves(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DATAFLOW_DATA", raising=False)
    notebook = answered(path)
    execute(notebook, tmp_path, monkeypatch)
    assert all(cell.execution_count for cell in code(notebook))
    assert contradictions(notebook) == []
    assert ungraded(notebook) == []


@pytest.mark.parametrize("path", CAPSTONES, ids=lambda p: p.stem)
def test_a_capstone_has_its_parts(path: Path) -> None:
    notebook = read(path)
    number = checks_of(path).removeprefix("capstone")
    first = " ".join(notebook.cells[0].source.split())
    assert first.startswith(f"# Capstone {number} · ")
    for part in ("**You will be able to** - ", "**Before this:** [", "**Time:** about "):
        assert part in first
    titles = headings(notebook)
    names = list(by_role(notebook, "exercise"))
    assert [t for t in titles if t in ENDING] == ENDING
    assert [t.partition(":")[0] for t in titles if t.startswith("Milestone")] == [
        f"Milestone {i + 1}" for i in range(len(names))
    ]
    assert list(by_role(notebook, "check")) == list(by_role(notebook, "solution")) == names
    assert list(mistakes_of(path)) == names
    assert layout(notebook) + broken_links(notebook) == []
    again: Any = to_notebook(to_text(notebook))
    assert again.cells == notebook.cells


def test_there_are_three() -> None:
    assert [checks_of(path) for path in CAPSTONES] == ["capstone1", "capstone2", "capstone3"]
