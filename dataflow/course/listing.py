"""A program as a slide prints it, run in a notebook: ``%%listing``.

    %load_ext dataflow.course.listing

    %%listing fills
    x = tf.placeholder(tf.float32)
    C = [...]

The cell stays as it was printed. ``fills`` is a dictionary of the notebook: what is printed (dots that
leave something out, a name that moved) and what runs in its place. Each change is shown below the cell,
so that nobody takes a mended line for a printed one. ``--python2`` translates print statements and their
like, and ``--to FILE`` stores the program, for other processes, in place of running it.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["filled", "load_ipython_extension", "run_listing"]


def filled(source: str, fills: Mapping[str, str]) -> tuple[str, list[str]]:
    """The program that runs, and a line for each change.

    What takes the place of a whole line takes its indentation, too. Raises `ValueError` for a fill
    that the listing does not have.
    """
    notes = []
    for printed, runs in fills.items():
        if printed not in source:
            raise ValueError(
                f"the listing has no {printed!r}; each fill names a piece of it, character for character"
            )
        at = source.index(printed)
        line = source[source.rfind("\n", 0, at) + 1 : at]
        indent = line if not line.strip() else line[: len(line) - len(line.lstrip())]
        source = source.replace(printed, runs.replace("\n", "\n" + indent))
        shown = runs.strip().replace("\n", "\n" + " " * 10)
        notes.append(f"  printed {printed.strip()}\n  runs    {shown}")
    return source, notes


def run_listing(
    source: str,
    namespace: dict[str, Any],
    fills: Mapping[str, str] | None = None,
    *,
    python2: bool = False,
    to: Path | None = None,
) -> Any:
    """Runs ``source`` in ``namespace``, or stores it in ``to``, and prints what was changed.

    Returns the value of the last line, None where it is a statement.

    Raises what the program raises, `ValueError` for a fill that the listing does not have, and
    `SyntaxError` for anything but Python.
    """
    program, notes = filled(source, fills or {})
    if python2:
        from dataflow.shim.python2 import to_python3

        program = to_python3(program)
        notes.append("  printed for Python 2, and translated")
    name = f"<listing {len(linecache.cache)}>"
    tree = ast.parse(program, name)
    if notes:
        print("Changed in this listing:", *notes, sep="\n")
    if to is not None:
        to.write_text(program, encoding="utf-8")
        return None
    linecache.cache[name] = (len(program), None, program.splitlines(keepends=True), name)
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        exec(compile(tree, name, "exec"), namespace)
        return None
    exec(compile(ast.Module(tree.body[:-1], []), name, "exec"), namespace)
    return eval(compile(ast.Expression(last.value), name, "eval"), namespace)


def load_ipython_extension(shell: Any) -> None:
    """Adds ``%%listing [FILLS] [--python2] [--to FILE]`` to a notebook."""

    def listing(line: str, cell: str) -> Any:
        found = re.fullmatch(r"\s*(?:(\w+)\s*)?(--python2\s*)?(?:--to\s+(\w+)\s*)?", line)
        fills, to = (shell.user_ns.get(found[n]) if found else None for n in (1, 3))
        if not found or bool(found[1]) > isinstance(fills, Mapping) or bool(found[3]) > bool(to):
            raise ValueError(
                f"got %%listing {line}; needed %%listing [FILLS] [--python2] [--to FILE]: FILLS is a "
                "dictionary of this notebook (what is printed, what runs), FILE a variable with a path"
            )
        target = Path(to) if to else None
        return run_listing(cell, shell.user_ns, fills, python2=bool(found[2]), to=target)

    shell.register_magic_function(listing, magic_kind="cell", magic_name="listing")
