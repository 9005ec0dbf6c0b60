"""Notebooks as programs: their code cells in order, in this process, without Jupyter."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dataflow.shim.programs import Piece, ProgramError

#: Cell magics whose cell is Python all the same.
_PYTHON_CELLS = ("%%time", "%%timeit", "%%capture", "%%python3", "%%prun")

#: What the line ``%matplotlib inline`` becomes.
_PYPLOT = "get_ipython().run_line_magic('matplotlib')"


class NoIPython:
    """What ``get_ipython()`` is outside of Jupyter: magics do nothing, but ``%matplotlib`` loads pyplot."""

    def magic(self, line: str) -> None:
        """Does what ``run_line_magic`` does with the line's first word."""
        self.run_line_magic(*(line.lstrip("%").split(None, 1) or [""]))

    def run_line_magic(self, name: str, line: str = "", *args: Any) -> None:
        """Loads pyplot for ``matplotlib`` (programs then use ``matplotlib.style`` unasked); else nothing."""
        if name == "matplotlib" and importlib.util.find_spec("matplotlib") is not None:
            importlib.import_module("matplotlib.pyplot")

    def run_cell_magic(self, name: str, line: str, cell: str) -> None:
        """Does nothing."""

    def system(self, command: str) -> None:
        """Says that a shell command is not run."""
        print(f"dataflow run: a shell command was left out: {command}", file=sys.stderr)

    getoutput = system


def cells_of(path: Path, data: bytes) -> list[Piece]:
    """The code cells of a notebook (formats 3 and 4), numbered as they are run: "nb.ipynb, cell 3".

    Lines for IPython (``%time``, ``!wget ...``, ``tf.nn?``) become comments, but ``%matplotlib inline``
    loads pyplot as in Jupyter; what would have run in a shell is named on stderr. Raises `ProgramError` for anything but a notebook, or one
    of another language.
    """
    try:
        notebook = json.loads(data)
        sheets = notebook.get("worksheets") or [notebook]
        cells = [cell for sheet in sheets for cell in sheet["cells"]]
        sources = [
            cell.get("source", cell.get("input", ""))
            for cell in cells
            if cell["cell_type"] == "code"
        ]
        texts = [text if isinstance(text, str) else "".join(text) for text in sources]
        metadata = notebook.get("metadata", {})
        language = str(metadata.get("kernelspec", {}).get("language", "python"))
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        raise ProgramError(f"{path} is not a notebook: {type(error).__name__}: {error}.") from None
    if language.lower() != "python":
        raise ProgramError(f"{path} is a notebook in {language}, not Python.")
    return [
        Piece(f"{path}, cell {number}", "\n".join(_python_lines(text, f"{path}, cell {number}")))
        for number, text in enumerate(texts, start=1)
        if text.strip()
    ]


def _python_lines(text: str, where: str) -> Iterator[str]:
    lines = text.splitlines()
    first = lines[0].strip()
    if first.startswith("%%") and not first.startswith(_PYTHON_CELLS):
        print(f"dataflow run: {where} was left out: {first}", file=sys.stderr)
        yield from (f"# {line}" for line in lines)
        return
    continued = False
    for number, line in enumerate(lines, start=1):
        words = line.strip()
        is_shell = words.startswith(("!", "%cd", "%pip", "%conda"))
        if (
            continued
            or words.startswith(("%", "!", "?"))
            or (words.endswith("?") and "#" not in words)
        ):
            if is_shell:
                text = f"dataflow run: {where}, line {number} was left out: {words}"
                print(text, file=sys.stderr)
            indent = line[: len(line) - len(line.lstrip())]
            continued = words.endswith("\\")
            does = _PYPLOT if words.split()[:1] == ["%matplotlib"] else "pass"
            yield f"{indent}{does}  # {words.rstrip(chr(92))}"
        else:
            yield line
