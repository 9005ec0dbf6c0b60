"""A student's copy of the lessons: without solutions, and without what anybody answered."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dataflow.course.attempts import read_notebook


def strip_folder(folder: Path, to: Path) -> list[Path]:
    """Copies ``folder`` to ``to``, each notebook without its solutions; returns the notebooks made.

    Outputs and widgets' states, which hold answers, are left out as well; other files are copied as
    they are. Hidden files and folders (checkpoints) stay behind. Raises `NotADirectoryError` when
    there is no ``folder``, `FileExistsError` when ``to`` exists or lies in ``folder``, and
    `ValueError` for what is called a notebook and is none; then nothing is left behind.
    """
    folder, to = Path(folder), Path(to)
    if not folder.is_dir():
        raise NotADirectoryError(f"there is no folder {folder}")
    if to.exists():
        raise FileExistsError(
            f"{to} exists; give the name of a new folder, as nothing is overwritten"
        )
    if folder.resolve() in to.resolve().parents:
        raise FileExistsError(f"{to} would lie in {folder}; give a place outside of it")
    made = []
    shutil.copytree(folder, to, ignore=shutil.ignore_patterns(".*"))
    try:
        for path in sorted(to.rglob("*.ipynb")):
            try:
                notebook = read_notebook(path)
            except ValueError as e:
                raise ValueError(f"{path.relative_to(to)}: {e}") from e
            text = json.dumps(stripped(notebook), indent=1, ensure_ascii=False)
            path.write_text(text + "\n", encoding="utf-8")
            made.append(path)
    except BaseException:
        shutil.rmtree(to)
        raise
    return made


def stripped(notebook: Mapping[str, Any]) -> dict[str, Any]:
    """The notebook without solution cells, their heading, outputs and widgets' states."""
    cells = [
        {**cell, "outputs": [], "execution_count": None}
        if cell.get("cell_type") == "code"
        else cell
        for cell in notebook["cells"]
        if not _is_solution(cell)
    ]
    metadata = {k: v for k, v in notebook.get("metadata", {}).items() if k != "widgets"}
    return {**notebook, "cells": cells, "metadata": metadata}


def _is_solution(cell: Mapping[str, Any]) -> bool:
    source = cell.get("source", "")
    text = source if isinstance(source, str) else "".join(source)
    heading = cell.get("cell_type") == "markdown" and text.startswith("## Solutions")
    return heading or "solution" in cell.get("metadata", {}).get("tags", [])
