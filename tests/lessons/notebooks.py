"""The lessons as the tests of them see them."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import nbformat

from dataflow.course.attempts import read_notebook
from dataflow.course.variants import replaced, replacements, table_of
from dataflow.course.variants.copies import as_variant
from tools.lesson import exercise_of, role_of

ROOT = Path(__file__).resolve().parents[2]
LESSONS = sorted((ROOT / "lessons").glob("[0-9]*.ipynb"))
CAPSTONES = sorted((ROOT / "lessons").glob("capstone_*.ipynb"))
MISTAKES = Path(__file__).parent / "mistakes"

# Runs before the first cell of every kernel of the lessons' tests: what leaves the machine fails.
OFFLINE = """
import socket
_connect = socket.socket.connect
def _stay(self, address):
    host = address[0] if isinstance(address, tuple) else "localhost"
    # Connecting a datagram socket sends nothing; Ray asks for this machine's address that way.
    if self.type == socket.SOCK_STREAM and host not in ("127.0.0.1", "::1", "localhost", "0.0.0.0"):
        raise OSError(f"a lesson went to the network: {address!r}")
    return _connect(self, address)
socket.socket.connect = _stay
"""


def number_of(path: Path) -> int:
    return int(path.stem[:2])


def checks_of(path: Path) -> str:
    """The name of the module of checks: lesson05, capstone1."""
    kind, number, *_ = path.stem.split("_")
    return f"capstone{number}" if kind == "capstone" else f"lesson{number_of(path):02}"


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def read_variant(path: Path, seed: int) -> Any:
    """A lesson as the variant ``seed``, solutions included."""
    made = as_variant(read_notebook(path), seed)
    return nbformat.reads(json.dumps(made), as_version=4)


def state_varies(path: Path, part: str = "") -> bool:
    """Whether a variant changes what the lesson itself runs, and not only its questions and exercises; or
    whether one ``part`` of its table does."""
    of_tasks = {"markdown", "predict", "exercise", "check", "solution"}
    roles = {c.id: role_of(c) for c in read(path).cells}
    table = table_of(checks_of(path))
    cells = {cell for name in ([part] if part else table) for cell in table[name]["cells"]}
    return any(roles[cell] not in of_tasks for cell in cells)


def code(notebook: Any) -> list[Any]:
    return [c for c in notebook.cells if c.cell_type == "code" and c.source.strip()]


def tree_of(cell: Any) -> ast.Module:
    """The syntax tree of a code cell, without its magics."""
    return ast.parse(re.sub(r"^(\s*)[%!].*", r"\1pass", cell.source, flags=re.M))


def widgets_of(notebook: Any) -> set[str]:
    """The kinds of widgets that a notebook shows, as it calls them: GraphView, predict.order, ..."""
    trees = [node for cell in code(notebook) for node in ast.walk(tree_of(cell))]
    imports = [node for node in trees if isinstance(node, ast.ImportFrom)]
    known = {a.name for i in imports if i.module == "dataflow_widgets" for a in i.names}
    calls = {ast.unparse(node.func) for node in trees if isinstance(node, ast.Call)}
    return {name for name in calls if name.partition(".")[0] in known}


def by_role(notebook: Any, role: str) -> dict[str, Any]:
    """Cells of a role, by the exercise they belong to."""
    return {exercise_of(c): c for c in notebook.cells if role_of(c) == role}


def headings(notebook: Any) -> list[str]:
    """The second-level headings, in order."""
    text = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    return [line[3:].strip() for line in text.splitlines() if line.startswith("## ")]


def mistakes_of(path: Path, seed: int = 0) -> dict[str, list[str]]:
    """Wrong answers to each exercise of a lesson: source that stands in for the learner's cell.

    For a variant, with its values where the exercise's own texts have them.
    """
    home = MISTAKES / f"{checks_of(path)}.py"
    spec = importlib.util.spec_from_file_location(f"mistakes_{home.stem}", home)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: dict[str, list[str]] = module.MISTAKES
    lesson = checks_of(path)
    for name in set(found) & set(table_of(lesson)) if seed else ():
        cells = replacements(lesson, name, seed).values()
        changes = {old: new for each in cells for old, new in each.items()}
        found[name] = [replaced(source, changes) for source in found[name]]
    return found
