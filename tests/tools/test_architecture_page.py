"""The page on the architecture names what exists, and its picture is what the code says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tools.architecture import PICTURE, draw, reduced, rooms

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "dataflow" / "ARCHITECTURE.md").read_text(encoding="utf-8")
_NAMED = re.compile(r"`([\w/]+\.py):([\w.]+)`")


def definition(tree: ast.AST, name: str) -> ast.AST | None:
    """The class, function or assignment of that dotted name."""
    for part in name.split("."):
        for node in getattr(tree, "body", []):
            targets = node.targets if isinstance(node, ast.Assign) else []
            if getattr(node, "name", None) == part or any(
                isinstance(t, ast.Name) and t.id == part for t in targets
            ):
                tree = node
                break
        else:
            return None
    return tree


def test_every_function_named_exists() -> None:
    named = _NAMED.findall(PAGE)
    assert len(named) > 25
    missing = []
    for file, name in named:
        paths = [folder / file for folder in (ROOT / "dataflow", ROOT)]
        path = next((p for p in paths if p.exists()), None)
        if path is None or definition(ast.parse(path.read_text(encoding="utf-8")), name) is None:
            missing.append(f"{file}:{name}")
    assert missing == []


def test_a_missing_name_is_found() -> None:
    tree = ast.parse("class A:\n    def f(self): ...\nx = 1\n")
    assert definition(tree, "A.f") is not None and definition(tree, "x") is not None
    assert definition(tree, "A.g") is None and definition(tree, "f") is None


@pytest.mark.parametrize("text", re.findall(r"`((?:[\w/]+/|[\w/]+\.py)(?: [\w/.]+)*)`", PAGE))
def test_every_folder_named_exists(text: str) -> None:
    for name in text.split():
        assert any(
            (base / name).exists() for base in (ROOT / "dataflow", ROOT, ROOT / "dataflow/kernels")
        ), name


def test_the_picture_is_what_the_code_says() -> None:
    assert PICTURE.read_text(encoding="utf-8") == draw(*rooms()), (
        "imports between folders have changed: python -m tools.architecture"
    )


def test_arrows_that_a_longer_way_implies_are_left_out() -> None:
    imports = {"a": {"b", "c", "d"}, "b": {"c"}, "c": set(), "d": set()}
    assert reduced(imports) == {"a": {"b", "d"}, "b": {"c"}, "c": set(), "d": set()}


def test_every_folder_of_the_engine_has_its_row() -> None:
    table = PAGE.partition("## What is where")[2].partition("\n## ")[0]
    folders = {p.parent.name for p in (ROOT / "dataflow").glob("*/__init__.py")}
    assert not sorted(
        name for name in folders if f"`{name}/" not in table and f" {name}/" not in table
    )
