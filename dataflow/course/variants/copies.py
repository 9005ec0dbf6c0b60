"""Copies of the lessons for a class, each with numbers of its own."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dataflow.course.attempts import read_notebook
from dataflow.course.class_report import csv_of, task_names
from dataflow.course.strip import strip_folder, stripped
from dataflow.course.variants import replaced, replacements, seed_of, table_of, valid_seed

#: Which learner has which seed, beside their folders.
SEEDS = "variants.csv"
_NAME_COLUMNS = ("name", "learner", "student", "username", "user", "full name")
_MAX_LEARNERS = 2_000
_NO_FOLDER = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]+')


def as_variant(notebook: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """The notebook of a lesson as the variant ``seed``; solutions and answers in it are kept.

    Its metadata have the seed, and the cell that imports the checks tells it to the kernel. A notebook without
    questions and exercises stays as it is, and so does every one with seed 0. Raises `ValueError` for a
    lesson in which a text that varies is not what the course ships.
    """
    tasks = task_names(notebook)
    if not tasks or not valid_seed(seed):
        return dict(notebook)
    lesson = tasks[0].partition(".")[0]
    cells = {str(cell.get("id", i)): dict(cell) for i, cell in enumerate(notebook["cells"])}
    for name, changes in _changes(lesson, seed).items():
        if name not in cells:
            if name.startswith("solution-"):
                continue  # a copy without solutions
            raise ValueError(f"{lesson} has no cell {name}, which varies; take the course's lesson")
        source = _source(cells[name])
        for old in changes:
            if old not in source:
                raise ValueError(
                    f"{lesson}, cell {name}: {old!r} varies and does not stand there (any more); "
                    "take the course's lesson, or its text of this cell"
                )
        cells[name]["source"] = replaced(source, changes)
    _tell(lesson, cells, seed)
    metadata = dict(notebook.get("metadata", {}))
    metadata["dataflow"] = {**metadata.get("dataflow", {}), "variant": seed}
    return {**notebook, "cells": list(cells.values()), "metadata": metadata}


def _changes(lesson: str, seed: int) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for part in table_of(lesson):
        for cell, changes in replacements(lesson, part, seed).items():
            found.setdefault(cell, {}).update(changes)
    return found


def _tell(lesson: str, cells: dict[str, dict[str, Any]], seed: int) -> None:
    """Has the cell that imports the checks say the seed, behind that import."""
    for cell in cells.values():
        source = _source(cell)
        if cell.get("cell_type") != "code" or "dataflow.course" not in source:
            continue
        for node in ast.parse(source).body:
            names = [a.name for a in node.names] if isinstance(node, ast.ImportFrom) else []
            if "check" in names and node.module == "dataflow.course":  # type: ignore[attr-defined]
                lines = source.split("\n")
                told = ["from dataflow.course import variant", f"variant({seed})  # of this copy"]
                lines[node.end_lineno : node.end_lineno] = [*told, ""]
                cell["source"] = "\n".join(lines).rstrip("\n")
                return
    raise ValueError(f"{lesson}: no cell imports `check` from dataflow.course")


def write_variant(folder: Path, to: Path, seed: int, solutions: bool = False) -> list[Path]:
    """Copies the lessons in ``folder`` to ``to`` as the variant ``seed``; returns the notebooks made.

    Without ``solutions`` the copy is a student's, as of `strip_folder`, which says what is raised; with them it
    is the teacher's. Nothing is left behind after an error.
    """
    valid_seed(seed)
    made = strip_folder(folder, to)
    try:
        for path in made:
            notebook = read_notebook(folder / path.relative_to(to))
            if not solutions:
                notebook = stripped(notebook)
            text = json.dumps(as_variant(notebook, seed), indent=1, ensure_ascii=False)
            path.write_text(text + "\n", encoding="utf-8")
    except BaseException:
        shutil.rmtree(to)
        raise
    return made


def write_variants(folder: Path, to: Path, learners: list[str], seed: int = 0) -> dict[str, int]:
    """Writes a student's copy for each of ``learners``, ``to/NAME/``, and who has which seed to `SEEDS`.

    A learner's seed comes from the name and ``seed``: the same list gives the same copies, next year's class
    with another seed others. Returns the seeds by name. Raises as `write_variant`, and `ValueError` for names
    that cannot be told apart as folders; then nothing is left behind.
    """
    valid_seed(seed)
    homes: dict[str, str] = {}
    for name in learners:
        home = _NO_FOLDER.sub("_", name).strip(" .") or "_"
        other = homes.setdefault(home.casefold(), name)
        if other != name or learners.count(name) > 1:
            raise ValueError(
                f"{name!r} stands twice among the learners, or cannot be told from {other!r} as a "
                "folder; give each a name of its own"
            )
    if to.exists():
        raise FileExistsError(
            f"{to} exists; give the name of a new folder, as nothing is overwritten"
        )
    seeds = {name: seed_of(name, seed) for name in learners}
    try:
        for name, own in seeds.items():
            write_variant(folder, to / (_NO_FOLDER.sub("_", name).strip(" .") or "_"), own)
        (to / SEEDS).write_text(csv_of(("learner", "seed"), list(seeds.items())), encoding="utf-8")
    except BaseException:
        shutil.rmtree(to, ignore_errors=True)
        raise
    return seeds


def read_learners(path: Path) -> list[str]:
    """The learners of a class list as CSV: its column "name" (learner, student, username), else the first.

    A file of one name a line is one, too. Raises `ValueError` for a list without names or of more than 2,000,
    `OSError` for one that cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as e:
        raise ValueError(f"{path} is not a text in UTF-8; save the list as CSV in UTF-8") from e
    separator = ";" if text.partition("\n")[0].count(";") else ","
    rows = [[c.strip() for c in row] for row in csv.reader(io.StringIO(text), delimiter=separator)]
    rows = [row for row in rows if any(row)]
    head = [c.casefold() for c in rows[0]] if rows else []
    column = next((head.index(c) for c in _NAME_COLUMNS if c in head), None)
    names = [
        row[column or 0]
        for row in (rows if column is None else rows[1:])
        if len(row) > (column or 0)
    ]
    names = [name for name in names if name]
    if not 0 < len(names) <= _MAX_LEARNERS:
        raise ValueError(
            f"{path} has {len(names)} names, needed 1 to {_MAX_LEARNERS}: a CSV with a column "
            '"name", or one name a line'
        )
    return names


def _source(cell: Mapping[str, Any]) -> str:
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)
