"""Every lesson has the skeleton of lessons/AUTHORING.md, and the table of topics is true."""

from __future__ import annotations

import ast
import copy
import re
from pathlib import Path
from typing import Any

import pytest

from tests.lessons import notebooks
from tests.lessons.notebooks import LESSONS, ROOT, by_role, headings, number_of
from tools.lesson import role_of, to_notebook, to_text

TABLE = (ROOT / "lessons" / "README.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^\| (\d+) \| \[[^\]]+\]\(([\w]+\.ipynb)\)", TABLE, flags=re.M))
MAX_CELLS = 66
MAX_COLUMNS = 79
#: A lesson's code says what is shown; how it is drawn is in `dataflow.course.pictures`.
MAX_DRAWING_LINES = 3
NUM_EXERCISES = range(3, 6)
ENDING = ["What just happened", "Exercises", "Summary", "Solutions"]

_DRAWS = re.compile(r"\b(?:ax|axis|axes(?:\[[^\]]*\])?|fig|charts|plt)\.\w+\(")
_READING = re.compile(r"\[[^\]]+\]\(https?://[\w.-]+(/[\w./%#~-]*)?\), [A-Z].+, (19|20)\d\d\.")


def problems(notebook: Any, number: int) -> list[str]:
    """What a lesson lacks of the skeleton, as sentences."""
    found = [*_opening(notebook, number), *_questions(notebook, number)]
    found += _exercises(notebook, number)
    if len(notebook.cells) > MAX_CELLS:
        found.append(f"{len(notebook.cells)} cells, at most {MAX_CELLS}")
    found += [*_spaced(notebook, number), *_open(notebook)]
    found += [*layout(notebook), *told_by_a_view(notebook), *gaps(notebook)]
    wanted = [h for h in headings(notebook) if h in ENDING]
    if wanted != ENDING:
        found.append(f"the ending is {wanted}, needed {ENDING}")
    found += broken_links(notebook)
    following = FILES.get(str(number + 1))
    link = re.search(r"\*\*Next:\*\*.*?\]\(([^)]+)\)", _markdown(notebook), flags=re.S)
    if following and (link is None or link[1] != following):
        found.append(f"**Next:** does not link to {following}")
    return found


def gaps(notebook: Any) -> list[str]:
    """What a comment, which no reader sees, does to the words around it: a space before a comma or a full
    stop; and at the beginning of a line, where Markdown takes that line and more for HTML, words that are lost."""
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    found = [
        m for t in texts for m in re.findall(r"\S+\s+(?:<!--(?:(?!-->).)*-->)+[.,;:!?)]", t, re.S)
    ]
    lost = [m for t in texts for m in re.findall(r"[^\n]+\n[ ]*<!--.*", t)]
    return [
        *(f"a space before a mark of punctuation: {each!r}" for each in found),
        *(f"a comment begins a line: {each!r}" for each in lost),
    ]


def told_by_a_view(notebook: Any) -> list[str]:
    """Answers that a view further up would draw: a constant in the graph that it shows."""
    found, is_drawn = [], False
    for cell in notebook.cells:
        is_drawn = is_drawn or "GraphView(" in cell.source
        if is_drawn and re.search(
            r"predict\.value\(\s*tf\.Session\(\),\s*tf\.constant\(", cell.source
        ):
            found.append(f"{cell.id}: the answer stands in the graph that is drawn above")
    return found


def _spaced(notebook: Any, number: int) -> list[str]:
    """The question about an earlier lesson: among the first cells, with its lesson's number."""
    if number == 0:
        return []
    found = re.findall(r"^\*\*From lesson (\d+)\.\*\*", _markdown(notebook), flags=re.M)
    cells = [c.source for c in notebook.cells[:8]]
    at = next((i for i, text in enumerate(cells) if text.startswith("**From lesson ")), None)
    if at is None or len(found) != 1 or int(found[0]) >= number:
        return ["no question '**From lesson N.**' about an earlier lesson at the beginning"]
    asked = role_of(notebook.cells[at + 1]) == "predict"
    return [] if asked else ["no [predict] after '**From lesson N.**'"]


def _open(notebook: Any) -> list[str]:
    """A task with many right answers."""
    tasks = re.findall(r"^\*\*\d\.\*\* \*An\s+open\s+task\.\*", _markdown(notebook), flags=re.M)
    return [] if tasks else ["no exercise is marked *An open task.*: one with many right answers"]


def layout(notebook: Any) -> list[str]:
    """Lines that are too wide, and figures that not everybody can see."""
    found = []
    for cell in notebook.cells:
        for line in cell.source.splitlines():
            if len(line) > MAX_COLUMNS and "](http" not in line and not line.startswith("|"):
                found.append(f"{cell.id}: a line of {len(line)} columns: {line[:30]}...")
        if cell.cell_type == "markdown":
            found += [f"{cell.id}: a figure without alt text" for _ in _bare_figures(cell.source)]
        elif len(_DRAWS.findall(cell.source)) > MAX_DRAWING_LINES:
            found.append(
                f"{cell.id}: code that draws; dataflow.course.pictures makes whole figures"
            )
    return found


def broken_links(notebook: Any) -> list[str]:
    """The list at the end: papers and pages by title, link, authors and year."""
    _, _, rest = _markdown(notebook).partition("\n### Further reading\n")
    items = re.split(r"^- ", rest.partition("\n\n**")[0].partition("\n## ")[0], flags=re.M)[1:]
    found = [] if len(items) > 1 else ["no two things to read under ### Further reading"]
    for item in items:
        if not _READING.fullmatch(" ".join(item.split())):
            found.append(f"not '[Title](https://link), authors, year.': {item.strip()}")
    return found


def _markdown(notebook: Any) -> str:
    return "\n\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")


def _bare_figures(text: str) -> list[str]:
    shown = re.findall(r"!\[\s*\]\([^)]*\)", text)
    return shown + [
        i for i in re.findall(r"<img\b[^>]*>", text) if not re.search(r'alt="[^"]+"', i)
    ]


def _opening(notebook: Any, number: int) -> list[str]:
    found = []
    first = " ".join(notebook.cells[0].source.split())
    if not first.startswith(f"# {number} · "):
        found.append(f"the first cell does not begin with '# {number} · '")
    if not re.search(r"\*\*You will be able to\*\* - .+ - ", first):
        found.append("no list of two or more under **You will be able to**")
    if "**Before this:**" not in first:
        found.append("no **Before this:** in the first cell")
    if not re.search(r"\*\*Time:\*\* about \d+ minutes", first):
        found.append("no '**Time:** about NN minutes' in the first cell")
    second = notebook.cells[1]
    if second.cell_type != "markdown" or not second.source.startswith("## A question first"):
        found.append("the second cell is not '## A question first'")
    return found


def _questions(notebook: Any, number: int) -> list[str]:
    asked = [c for c in notebook.cells if role_of(c) == "predict"]
    if not asked:
        return ["no question: a cell [predict]"]
    found = []
    for place, cell in enumerate(asked, start=1):
        name = f'name="lesson{number:02}.q{place}"'
        if "predict." not in cell.source or name not in cell.source:
            found.append(f"{cell.id}: not predict.something(..., {name})")
        if any(num != 3 for num in _num_hints(cell.source)):
            found.append(
                f"{cell.id}: hints= has three rungs: look there; think this; nearly the answer"
            )
        if not cell.metadata.get("jupyter", {}).get("source_hidden"):
            found.append(f"{cell.id}: the question's source, with its hints, is not collapsed")
        # JupyterLab shows the first line of a collapsed cell.
        first = f"# Question {place}: Shift+Enter shows it"
        if cell.source.partition("\n")[0] != first:
            found.append(f"{cell.id}: does not begin with {first!r}")
    return found


def _num_hints(source: str) -> list[int]:
    """How many hints each ``hints=[...]`` of a cell has."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    lists = [k.value for call in calls for k in call.keywords if k.arg == "hints"]
    return [len(given.elts) for given in lists if isinstance(given, ast.List)]


def _exercises(notebook: Any, number: int) -> list[str]:
    found = []
    learners, checks = by_role(notebook, "exercise"), by_role(notebook, "check")
    solutions = by_role(notebook, "solution")
    if len(learners) not in NUM_EXERCISES:
        found.append(f"{len(learners)} exercises, needed three to five")
    names = [f"ex{i + 1}" for i in range(len(learners))]
    for kind, cells in (("exercise", learners), ("check", checks), ("solution", solutions)):
        if list(cells) != names:
            found.append(f"cells [{kind}] are {list(cells)}, needed {names}")
            return found
    order = [c.id for c in notebook.cells]
    for name in names:
        at = order.index(name)
        if order[at + 1] != f"check-{name}":
            found.append(f"{name} is not followed by its check")
        if f"check.lesson{number:02}.{name}(" not in checks[name].source:
            found.append(f"check-{name} does not call check.lesson{number:02}.{name}")
        if f"**{name[2:]}.**" not in notebook.cells[at - 1].source:
            found.append(f"no **{name[2:]}.** before {name}")
        hidden = solutions[name].metadata.get("jupyter", {})
        if not (hidden.get("source_hidden") and hidden.get("outputs_hidden")):
            found.append(f"the solution of {name} is not collapsed")
        # JupyterLab shows the first line of a collapsed cell.
        if not solutions[name].source.startswith(f"# Solution {name[2:]}\n"):
            found.append(f"the solution of {name} does not begin with '# Solution {name[2:]}'")
    titles = [c.id for c in notebook.cells if c.source.startswith("## Solutions")]
    if titles and any(order.index(f"solution-{n}") < order.index(titles[0]) for n in names):
        found.append("a solution before the heading Solutions")
    return found


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_lesson_has_the_skeleton(path: Path) -> None:
    assert problems(notebooks.read(path), number_of(path)) == []


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_every_check_and_mistake_is_there(path: Path) -> None:
    from dataflow.course import check

    number = number_of(path)
    names = list(by_role(notebooks.read(path), "exercise"))
    module = getattr(check, f"lesson{number:02}")
    assert [n for n in names if not callable(getattr(module, n, None))] == []
    mistakes = notebooks.mistakes_of(path)
    assert list(mistakes) == names
    assert all(mistakes.values()), "each exercise has a wrong answer to be tried"


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_the_text_view_is_the_whole_lesson(path: Path) -> None:
    stored = notebooks.read(path)
    again = to_notebook(to_text(stored))
    assert again.cells == stored.cells
    assert again.metadata == stored.metadata


def test_the_table_of_topics_is_true() -> None:
    assert {int(n): name for n, name in FILES.items()} == {number_of(p): p.name for p in LESSONS}
    assert [int(n) for n in FILES] == sorted(int(n) for n in FILES)
    rows = re.findall(r"^\| ([^|]+) \| \[\d+\]\(([\w]+\.ipynb)\) \| ([^|]+) \|$", TABLE, flags=re.M)
    assert rows
    for topic, file, section in rows:
        titles = headings(notebooks.read(ROOT / "lessons" / file))
        assert section in titles, f"{topic}: {file} has no section {section!r}, but {titles}"
    told = {file for _, file, _ in rows}
    assert [p.name for p in LESSONS if p.name not in told] == []


def broken(change: str) -> list[str]:
    """Problems of lesson 2 after something was done to it."""
    notebook = copy.deepcopy(notebooks.read(ROOT / "lessons" / FILES["2"]))
    cells = {c.id: c for c in notebook.cells}
    if change == "long":
        cells["ex1"].source = "x" * 80
    elif change == "drawing":
        cells["ex1"].source = "ax.plot([1])\n" * 4
    elif change == "figure":
        notebook.cells[2].cell_type = "markdown"
        notebook.cells[2].source = "![](images/a.png)"
    elif change == "open":
        cells["solution-ex1"].metadata["jupyter"] = {}
    elif change == "no exercise":
        notebook.cells.remove(cells["check-ex1"])
    elif change == "no question":
        notebook.cells = [c for c in notebook.cells if role_of(c) != "predict"]
    elif change == "no time":
        notebook.cells[0].source = notebook.cells[0].source.replace("**Time:**", "")
    elif change == "reading":
        for cell in notebook.cells:
            cell.source = cell.source.replace("](https://", "](htps:/")
    elif change in ("spaced", "open task"):
        mark = "**From lesson" if change == "spaced" else "*An open task.*"
        for cell in notebook.cells:
            cell.source = cell.source.replace(mark, "")
    elif change == "two hints":
        asked = next(c for c in notebook.cells if "hints=[" in c.source)
        asked.source += '\nask(hints=["look there", "the answer"])'
    elif change == "told":
        view = next(c for c in notebook.cells if "GraphView(" in c.source)
        view.source += "\npredict.value(tf.Session(), tf.constant(6))"
    elif change == "gap":
        notebook.cells[0].source += "\nIt took three <!-- is 3 -->, which is much."
    elif change == "lost":
        notebook.cells[0].source += "\nIt took three\n<!-- is 3 --> steps."
    elif change == "next":
        for cell in notebook.cells:
            cell.source = cell.source.replace(FILES["3"], FILES["4"])
    elif change == "many":
        notebook.cells[3:3] = [copy.deepcopy(notebook.cells[3]) for _ in range(70)]
    return problems(notebook, 2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("long", "80 columns"),
        ("figure", "without alt text"),
        ("drawing", "code that draws"),
        ("open", "not collapsed"),
        ("no exercise", "cells [check]"),
        ("no question", "no question"),
        ("no time", "**Time:**"),
        ("next", "does not link to"),
        ("reading", "authors, year"),
        ("spaced", "about an earlier lesson"),
        ("open task", "many right answers"),
        ("many", "at most 66"),
        ("told", "drawn above"),
        ("two hints", "three rungs"),
        ("gap", "a space before a mark"),
        ("lost", "a comment begins a line"),
    ],
)
def test_what_is_missing_is_found(change: str, words: str) -> None:
    assert any(words in problem for problem in broken(change))
