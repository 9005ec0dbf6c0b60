"""Cells of old notebooks in IPython: Colab's line for a version, and Python 2's spellings."""

from __future__ import annotations

import ast
from typing import Any


def install(shell: Any, python2: bool) -> None:
    """From the next cell on ``%tensorflow_version 1.x`` is passed over, as the engine is imported anyway.

    With ``python2`` cells are translated as `dataflow run --python2` does. Twice changes nothing.
    """
    shell.register_magic_function(_tensorflow_version, "line", "tensorflow_version")
    if python2 and _spelled not in shell.input_transformers_post:
        shell.input_transformers_post.append(_spelled)
        shell.ast_transformers.append(_OfPython2())


def _tensorflow_version(line: str) -> None:
    """Does nothing: Colab chose a TensorFlow by it."""


def _spelled(lines: list[str]) -> list[str]:
    from dataflow.shim.python2 import to_python3

    return to_python3("".join(lines)).splitlines(keepends=True)


class _OfPython2:
    """What IPython takes for an `ast.NodeTransformer`."""

    def visit(self, tree: ast.Module) -> ast.Module:
        from dataflow.shim.python2_values import as_python2

        return as_python2(tree)
