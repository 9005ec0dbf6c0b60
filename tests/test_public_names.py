"""The public names: what editors see is what `import dataflow as tf` gives."""

from __future__ import annotations

import ast
import pathlib
import subprocess
import sys

import dataflow as tf
from dataflow.lazy_names import LAZY_NAMES


def names_for_editors() -> dict[str, str]:
    """The imports under ``TYPE_CHECKING``, as the table of lazy names writes them."""
    tree = ast.parse(pathlib.Path(tf.__file__).read_text(encoding="utf-8"))
    result = {}
    for node in tree.body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for item in node.body:
                assert isinstance(item, ast.ImportFrom)
                for alias in item.names:
                    result[alias.asname or alias.name] = f"{item.module}:{alias.name}"
    return result


def test_lazy_names_are_those_that_editors_see() -> None:
    assert names_for_editors() == LAZY_NAMES


def test_every_name_is_there() -> None:
    missing = [name for name in LAZY_NAMES if getattr(tf, name, None) is None]
    assert not missing


def test_no_name_hides_another() -> None:
    eager = {n for n in vars(tf) if not n.startswith("_")}
    code = (
        "import dataflow as tf; from dataflow.lazy_names import LAZY_NAMES;"
        "print(*[n for n in vars(tf) if n in LAZY_NAMES])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert eager
    assert result.stdout.split() == [], "imported at once, and lazy too"
