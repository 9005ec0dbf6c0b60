"""A learner's copy of the lessons, kept up to date without losing what was typed or answered.

Beside the copy, in the hidden folder `BASE`, lies each file as the course last gave it. With it a correction of the
course and the learner's work are told apart, cell by cell: a three-way merge.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dataflow.course.attempts import of_notebook, read_notebook
from dataflow.formats.atomic_files import write_atomically

#: The folder in a copy that has the files as the course gave them.
BASE = ".course"

#: What those who write the course need, and learners do not; ``pyproject.toml`` leaves them out of the package, too.
AUTHORS_FILES = frozenset({"AUTHORING.md", "coverage.md", "glossary.toml", "plans.toml"})

Cell = dict[str, Any]


@dataclass
class Refreshed:
    """What `refresh` did; paths are relative to the copy.

    ``copied`` are new files, ``corrected`` those into which corrections of the course went; ``both`` says for how
    many cells of a file learner and course changed the same one, so that both versions are there; ``kept`` are
    files of the learner's that differ from the course's and were left alone.
    """

    copied: list[Path] = field(default_factory=list)
    corrected: list[Path] = field(default_factory=list)
    both: dict[Path, int] = field(default_factory=dict)
    kept: list[Path] = field(default_factory=list)


def refresh(source: Path, folder: Path) -> Refreshed:
    """Brings the copy of ``source`` in ``folder`` up to date; nothing that a learner wrote is lost.

    `AUTHORS_FILES` are not copied. A file that is not there is copied (one that the learner deletes begins again); one that is there gets the
    course's corrections. A file that cannot be merged (a damaged notebook, a picture that was changed) stays as
    it is. Raises `OSError` where ``folder`` cannot be written.
    """
    done = Refreshed()
    for path in sorted(source.rglob("*")):
        relative = path.relative_to(source)
        hidden = any(part.startswith((".", "__")) for part in relative.parts)
        if path.is_file() and not hidden and str(relative) not in AUTHORS_FILES:
            _refresh_file(path, relative, folder, done)
    return done


def _refresh_file(path: Path, relative: Path, folder: Path, done: Refreshed) -> None:
    target, base = folder / relative, folder / BASE / relative
    # A link is the learner's, also one that dangles: `exists` would follow it and say no.
    if target.is_symlink() or (target.exists() and not target.is_file()):
        if not target.is_file() or target.read_bytes() != path.read_bytes():
            done.kept.append(relative)
        return
    course = path.read_bytes()
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        done.copied.append(relative)
    elif target.read_bytes() != course:
        known = base.read_bytes() if base.is_file() else None
        if known is None:
            done.kept.append(relative)  # of a version that kept no base: what is whose is not known
        elif known != course and not _correct(relative, target, known, path, done):
            done.kept.append(relative)
            return  # merged when it can be
    if not base.is_file() or base.read_bytes() != course:
        base.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(str(base), course, durable=False)


def _correct(relative: Path, target: Path, base: bytes, course: Path, done: Refreshed) -> bool:
    """Merges the course's changes into ``target``; whether that could be done."""
    if target.read_bytes() == base:
        write_atomically(str(target), course.read_bytes())
        done.corrected.append(relative)
        return True
    if relative.suffix != ".ipynb":
        return False
    try:
        mine = read_notebook(target)
        merged, num_both = merge(json.loads(base), mine, read_notebook(course))
    except ValueError:
        return False
    if merged != mine:
        text = json.dumps(merged, indent=1, ensure_ascii=False) + "\n"
        write_atomically(str(target), text.encode("utf-8"))
        done.corrected.append(relative)
    if num_both:
        done.both[relative] = num_both
    return True


def merge(
    base: Mapping[str, Any], mine: Mapping[str, Any], course: Mapping[str, Any]
) -> tuple[dict[str, Any], int]:
    """``mine`` with what changed from ``base`` to ``course``, and the number of cells that both changed.

    Cells are paired by their ids. One that only the course changed gets the course's source and keeps its outputs,
    which hold the attempts; one that both changed stays the learner's, with the course's version as text below it.
    The learner's own cells stay behind the cell that they followed. Raises `ValueError` for cells without ids of
    their own.
    """
    old, my, new = _by_id(base), _by_id(mine), _by_id(course)
    cells: list[Cell] = []
    num_both = 0
    for key, cell in new.items():
        if key not in my:
            if key not in old or _source(old[key]) != _source(cell):
                cells.append(cell)  # new, or corrected after the learner had deleted it
            continue
        was = _source(old[key]) if key in old else None
        if _source(my[key]) == was and my[key].get("cell_type") == cell.get("cell_type"):
            cells.append(_with_outputs(cell, my[key]))
            continue
        cells.append(my[key])
        note = _note(cell)
        if _source(cell) not in (was, _source(my[key])) and note["id"] not in my:
            cells.append(note)
            num_both += 1
    _put_back(cells, old, my, new)
    return {**mine, "cells": cells}, num_both


def _put_back(
    cells: list[Cell], old: Mapping[str, Cell], my: Mapping[str, Cell], new: Mapping[str, Cell]
) -> None:
    """Adds to ``cells`` those of the learner's that the course does not have, each at its place."""
    before: str | None = None
    for key, cell in my.items():
        if key not in new:
            untouched = key in old and _source(old[key]) == _source(cell)
            if untouched and not of_notebook({"cells": [cell]}):
                continue  # the course took it away, and nothing of the learner's is in it
            ids = [c.get("id") for c in cells]
            cells.insert(ids.index(before) + 1 if before in ids else 0, cell)
        before = key


def _by_id(notebook: Mapping[str, Any]) -> dict[str, Cell]:
    cells = notebook["cells"]
    found = {c["id"]: c for c in cells if isinstance(c, dict) and isinstance(c.get("id"), str)}
    if len(found) != len(cells):
        raise ValueError("cells without ids of their own")
    return found


def _source(cell: Mapping[str, Any]) -> str:
    source = cell.get("source", "")
    return "".join(map(str, source)) if isinstance(source, list) else str(source)


def _with_outputs(cell: Cell, mine: Cell) -> Cell:
    kept: Cell = {key: mine[key] for key in ("outputs", "execution_count") if key in mine}
    return {**cell, **kept}


def _note(cell: Cell) -> Cell:
    """The course's version of a cell as text: it runs nothing, and undoes nothing."""
    source = _source(cell)
    fence = "```"
    while fence in source:
        fence += "`"
    language = "python" if cell.get("cell_type") == "code" else "markdown"
    text = (
        f"**The course corrected the cell above, which you changed.** Yours is as it was; the course's is now:"
        f"\n\n{fence}{language}\n{source}\n{fence}"
    )
    # The same correction has the same id: it is not told twice.
    name = "course-" + hashlib.sha256(f"{cell['id']}\n{source}".encode()).hexdigest()[:16]
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": text}
