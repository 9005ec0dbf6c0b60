"""Every lesson runs from its first cell to its last, offline, with every exercise answered, and gives
the same values with rewrites on and off, and, where it trains, on a GPU (a pretend one where there
is no other) and on the CPU in double precision.

Numbers that the text marks are compared with those of the run (`stated_numbers`), and each question is
given the answer that the text takes to be right (`right_answers`).
Between an exercise and its check come, one after the other: the learner's empty cell (the check says
that it is open), wrong answers (it says what is wrong, with three hints one after the other, and none for
a wrong type), and the solution (right). The stored notebook as it is, is run by the browser test, with larger
data where a lesson takes some, and by `make book`.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat.v4 as v4
import pytest
from nbclient import NotebookClient

from dataflow.course.attempts import MIME
from dataflow.course.variants import table_of
from tests.lessons.notebooks import (
    CAPSTONES,
    LESSONS,
    OFFLINE,
    ROOT,
    by_role,
    checks_of,
    code,
    mistakes_of,
    number_of,
    read,
    read_variant,
    state_varies,
    tree_of,
)
from tests.lessons.right_answers import ASK, contradiction
from tests.lessons.stated_numbers import disagreements, found, printed, published, with_probes
from tools.lesson import PEAK_MEMORY, exercise_of, role_of

CELL_TIMEOUT_SECONDS = 180
#: Variants of which each exercise and question is tried in the run of its lesson, beside the shipped text.
SEEDS = (1, 2)
MAX_KERNEL_BYTES = 1_500_000_000

#: Lessons that train in the notebook itself. (Lesson 20 does so in the tasks of a cluster only, with
#: the graph of lesson 10; `DATAFLOW_PRETEND_GPUS=1` gives GPUs to the tasks too. Lesson 21 trains with
#: gradients of its own, whose nodes nothing tells from others.)
TRAIN = frozenset({0, *range(5, 13), 14, *range(17, 20), 22, 25, 26})

# Runs before the first cell of a kernel whose plans are compared.
COMPARE_REWRITES = """
from tests.lessons import compare_rewrites as _compare_rewrites
_compare_rewrites.install()
"""
COMPARED = published("_compare_rewrites.report()")


def starts_a_cluster(path: Path) -> bool:
    """Whether a lesson starts Ray: such lessons share a worker, one cluster at a time."""
    text = path.read_text(encoding="utf-8")
    return "cluster.launch" in text or "train.Server" in text


def parameters() -> list:
    return [
        pytest.param(
            path, id=path.stem, marks=[pytest.mark.cluster] if starts_a_cluster(path) else []
        )
        for path in LESSONS
    ]


def answered(path: Path, compared: bool = False, seeds: Sequence[int] = ()) -> Any:
    """The lesson with every exercise tried blank, wrong (three times or more) and right.

    ``compared``: at its end it gives what `compare_rewrites` found, and its memory. ``seeds``: behind each
    exercise and question that varies, the same of these variants.
    """
    notebook = read(path)
    solutions, checks = by_role(notebook, "solution"), by_role(notebook, "check")
    mistakes = mistakes_of(path)
    cells = []
    for cell in with_probes(notebook.cells):
        role = role_of(cell)
        if role == "check":
            continue
        cells.append(cell)
        if role == "predict":
            cells.append(v4.new_code_cell(ASK, metadata={"asked": True}))
            cells += _varied(path, cell, seeds)
        if role == "exercise":
            name = exercise_of(cell)
            cells += _tried(checks[name], mistakes[name], solutions[name])
            cells += _varied(path, cell, seeds)
    last = (COMPARED, PEAK_MEMORY) if compared else ()
    notebook.cells = [*cells, *map(v4.new_code_cell, last)]
    return notebook


def _tried(check: Any, mistakes: list[str], solution: Any) -> list[Any]:
    """An exercise blank, with each mistake, with the first one again until all hints were seen, and right."""
    cells = [_check(check, "open")]
    for source in mistakes:
        cells += [v4.new_code_cell(source), _check(check, "wrong")]
    cells.append(v4.new_code_cell(mistakes[0]))
    cells += [_check(check, "wrong") for _ in range(2)]
    return [*cells, v4.new_code_cell(solution.source), _check(check, "right")]


def _varied(path: Path, cell: Any, seeds: Sequence[int]) -> list[Any]:
    """A question or exercise once more for each seed, if it varies, with the attempts so far forgotten."""
    lesson, name = checks_of(path), cell.id
    if name not in table_of(lesson) or state_varies(path, name):
        return []
    cells = []
    for seed in seeds:
        notebook = read_variant(path, seed)
        begin = f"attempts.forget('{lesson}.{name}'); variant({seed})"
        cells.append(v4.new_code_cell(f"from dataflow.course import attempts, variant; {begin}"))
        (own,) = [c for c in notebook.cells if c.id == name]
        cells.append(v4.new_code_cell(own.source))
        if role_of(cell) == "predict":
            cells.append(v4.new_code_cell(ASK, metadata={"asked": True}))
        else:
            check, solution = (by_role(notebook, role)[name] for role in ("check", "solution"))
            cells += _tried(check, mistakes_of(path, seed)[name], solution)
    return [*cells, v4.new_code_cell("variant(0)")] if seeds else []


def _check(cell: Any, expected: str) -> Any:
    return v4.new_code_cell(cell.source, metadata={"expected": expected})


def verdict(cell: Any) -> tuple[str, str, list[Any]]:
    """State, words and attempts that a check showed."""
    (shown,) = [o["data"] for o in cell.outputs if MIME in o.get("data", {})]
    text = shown["text/plain"]
    state = {"✓": "right", "✗": "wrong", "…": "open"}[text[0]]
    return state, text, shown[MIME]["attempts"]


def execute(
    notebook: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compared: bool = False
) -> None:
    """Runs a lesson from a copy of the lessons, offline; ``compared``: each plan by `compare_rewrites`."""
    # A copy: what a lesson writes beside itself stays out of the checkout.
    folder = tmp_path / "lessons"
    shutil.copytree(ROOT / "lessons", folder, ignore=shutil.ignore_patterns(".*"))
    python_path = [str(ROOT), str(ROOT / "widgets"), str(ROOT / "datasets")]
    python_path += [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(python_path))
    monkeypatch.setenv("DATAFLOW_CACHE", str(tmp_path / "cache"))
    startup = tmp_path / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "00-offline.py").write_text(OFFLINE)
    if compared:
        (startup / "01-rewrites.py").write_text(COMPARE_REWRITES)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("MPLBACKEND", "agg")
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT_SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()


def contradictions(notebook: Any) -> list[str]:
    """What the run of a lesson says against its text: numbers, claims, and answers to questions."""
    asked = [words for c in notebook.cells if "asked" in c.metadata for words in contradiction(c)]
    return asked + [
        words for c in notebook.cells if "stated" in c.metadata for words in disagreements(c)
    ]


def growing(notebook: Any) -> list[str]:
    """The cells whose loops build what they run: what lesson 3 warns of."""
    return [
        cell.source
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "GrowingGraphWarning" in output.get("text", "")
    ]


def ungraded(notebook: Any) -> list[str]:
    """What is wrong with the checks of a lesson of `answered` that ran, as sentences."""
    found: list[str] = []
    wrong: list[str] = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                found.append(f"{cell.id}: show figures by figure()")
        expected = cell.metadata.get("expected")
        if expected is None:
            continue
        state, text, attempts = verdict(cell)
        if state != expected:
            found.append(f"{cell.source} is {state}, not {expected}: {text}")
        if state == "wrong" and "costs no hint" not in text:
            wrong.append(text.partition("Hint:")[2])
            if not wrong[-1]:
                found.append(f"{cell.source}: a wrong answer without a hint: {text}")
        if state == "right":
            if not wrong:
                found.append(f"{cell.source}: no wrong answer of the right type was tried")
            if len(set(wrong[:3])) != len(wrong[:3]):
                found.append(f"{cell.source}: a hint twice: {wrong}")
            if len(attempts) != len(wrong) + 1:
                found.append(f"{cell.source}: {len(attempts)} attempts kept of {len(wrong) + 1}")
            wrong = []
    return found + [f"never right: {hint}" for hint in wrong]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", parameters())
def test_lesson_runs_and_its_exercises_check_themselves(path, tmp_path, monkeypatch):
    monkeypatch.delenv("DATAFLOW_DATA", raising=False)  # from the data that ships
    notebook = answered(path, compared=True, seeds=SEEDS)
    execute(notebook, tmp_path, monkeypatch, compared=True)
    assert all(cell.execution_count for cell in code(notebook))
    num_bytes = int(printed(notebook.cells[-1]))
    assert num_bytes < MAX_KERNEL_BYTES, "the kernel's memory"
    compared = found(notebook.cells[-2])
    print(compared)
    assert compared["differences"] == [], "rewritten plans give other values"
    on_gpu = compared["on_gpu"]
    assert on_gpu["differences"] == [], "training on a GPU differs from the CPU in double precision"
    assert (on_gpu["graphs"] > 0) == (number_of(path) in TRAIN), on_gpu
    # The sessions of a cluster run in its tasks.
    assert compared["plans"] > len(compared["skipped"]) or starts_a_cluster(path)
    assert contradictions(notebook) == []
    assert growing(notebook) == []
    assert ungraded(notebook) == []


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_blank_answers_are_open(path):
    """What a learner finds is ``...``, so that "Run all" on an untouched lesson fails nowhere."""
    for name, cell in by_role(read(path), "exercise").items():
        assert "..." in cell.source, f"{name}: no ... to be replaced"


@pytest.mark.parametrize("path", [*LESSONS, *CAPSTONES], ids=lambda p: p.stem)
def test_a_lesson_itself_needs_no_answer(path):
    """Nor does it fail where one is left blank and the next cells run."""
    made: set[str] = set()
    for cell in code(read(path)):
        nodes = list(ast.walk(tree_of(cell)))
        names = [node for node in nodes if isinstance(node, ast.Name)]
        stored = {n.id for n in names if isinstance(n.ctx, ast.Store)}
        stored |= {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        if role_of(cell) == "exercise":
            made |= stored
        elif role_of(cell) in ("code", "predict"):
            assert made & ({n.id for n in names} - stored) == set(), cell.source


def test_the_network_is_out_of_reach(tmp_path):
    """The guard of these tests itself, so that 'offline' means something."""
    program = OFFLINE + (
        "import urllib.request\n"
        "try:\n"
        "    socket.create_connection(('203.0.113.7', 80), timeout=5)\n"
        "except OSError as e:\n"
        "    print(e)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert "went to the network" in done.stdout


def test_there_are_lessons():
    assert LESSONS
