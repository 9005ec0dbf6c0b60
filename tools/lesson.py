"""A lesson as plain text, to write and to review, and back.

    python tools/lesson.py text lessons/05_gradients.ipynb > lesson.txt
    python tools/lesson.py notebook lesson.txt lessons/05_gradients.ipynb

The stored notebook is the one source; the text is a view of it. A cell begins with a line
``# %% [role] id`` and goes to the next such line; Markdown stands there as it is. The role says what
the cell is for: markdown, code, predict (a question), exercise (the learner's), check, solution. The
id may be left out for markdown, code and predict; ex1, ex2, ... for the others.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
import nbformat.v4 as v4

ROLES = ("markdown", "code", "predict", "exercise", "check", "solution")
_HEAD = re.compile(r"# %% \[(\w+)\](?: ([A-Za-z0-9_-]+))?\s*")
_METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
#: A cell that prints the largest size its kernel ever had, in bytes. Linux counts `ru_maxrss` from the
#: process that started the kernel, however large that was; the peak in /proc begins with the kernel.
PEAK_MEMORY = """
try:
    with open("/proc/self/status") as _status:
        (_peak,) = [line.split()[1] for line in _status if line.startswith("VmHWM:")]
    print(int(_peak) * 1024)
except FileNotFoundError:
    import resource as _resource
    print(_resource.getrusage(_resource.RUSAGE_SELF).ru_maxrss)  # macOS: bytes
"""
# Collapsed until the learner opens it: a question's source tells its hints, a solution the answer.
_HIDDEN = {
    "predict": {"source_hidden": True},
    "solution": {"source_hidden": True, "outputs_hidden": True},
}


class LessonError(Exception):
    """What is wrong with a lesson's text, with the line."""


def role_of(cell: Any) -> str:
    """The role of a notebook's cell."""
    if cell.cell_type == "markdown":
        return "markdown"
    return next((tag for tag in cell.metadata.get("tags", []) if tag in ROLES), "code")


def exercise_of(cell: Any) -> str:
    """The exercise that an exercise, check or solution cell belongs to: "ex1"."""
    return str(cell.id).rpartition("-")[2]


def to_text(notebook: Any) -> str:
    """The notebook as text; `to_notebook` makes the same notebook of it again."""
    parts = []
    for cell in notebook.cells:
        role = role_of(cell)
        name = exercise_of(cell) if role in ("exercise", "check", "solution") else cell.id
        parts.append(f"# %% [{role}] {name}\n{cell.source}\n")
    return "\n".join(parts)


def to_notebook(text: str) -> Any:
    """The notebook that ``text`` describes. Raises `LessonError`."""
    cells: list[tuple[int, str, str, list[str]]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        head = _HEAD.fullmatch(line)
        if head:
            role, name = head.groups()
            if role not in ROLES:
                raise LessonError(f"line {number}: got [{role}], needed one of {', '.join(ROLES)}")
            cells.append((number, role, name or "", []))
        elif cells:
            cells[-1][3].append(line)
        elif line.strip():
            raise LessonError(f"line {number}: text before the first '# %% [role]' line")
    taken = {name for _, _, name, _ in cells}
    made = [_cell(*each, taken) for each in cells]
    ids = [cell.id for cell in made]
    double = {name for name in ids if ids.count(name) > 1}
    if double:
        raise LessonError(f"the same id more than once: {', '.join(sorted(double))}")
    notebook = v4.new_notebook(cells=made, metadata=_METADATA)
    nbformat.validate(notebook)
    return notebook


def _cell(number: int, role: str, name: str, lines: list[str], taken: set[str]) -> Any:
    source = "\n".join(lines).strip("\n")
    if role in ("exercise", "check", "solution"):
        if not re.fullmatch(r"ex\d+", name):
            raise LessonError(
                f"line {number}: a cell [{role}] has an id ex1, ex2, ...; got {name!r}"
            )
        name = name if role == "exercise" else f"{role}-{name}"
    elif not name:
        name = next(f"cell-{i:02}" for i in range(1, 1000) if f"cell-{i:02}" not in taken)
        taken.add(name)
    if role == "markdown":
        return v4.new_markdown_cell(source, id=name)
    metadata: dict[str, Any] = {} if role == "code" else {"tags": [role]}
    if role in _HIDDEN:
        metadata["jupyter"] = dict(_HIDDEN[role])
    return v4.new_code_cell(source, id=name, metadata=metadata)


def write(notebook: Any, path: Path) -> None:
    """Stores a notebook the way the repository keeps it: sorted, one space, a line at the end."""
    text = nbformat.writes(notebook, indent=1)
    path.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="A lesson as plain text, and back.")
    actions = parser.add_subparsers(dest="action", required=True)
    text = actions.add_parser("text", help="print a stored notebook as text")
    text.add_argument("notebook", type=Path)
    build = actions.add_parser("notebook", help="store a text as a notebook")
    build.add_argument("text", type=Path)
    build.add_argument("notebook", type=Path)
    options = parser.parse_args(arguments)
    try:
        if options.action == "text":
            print(to_text(nbformat.read(options.notebook, as_version=4)), end="")
        else:
            write(to_notebook(options.text.read_text(encoding="utf-8")), options.notebook)
    except (LessonError, OSError) as e:
        print(f"lesson: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
