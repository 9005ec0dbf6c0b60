"""Notebooks that were handed in: read as JSON, kept as they came, and never run."""

from __future__ import annotations

import re
import tempfile
import zipfile
from pathlib import Path
from typing import IO

from dataflow.course.attempts import notebook_of, of_notebook
from dataflow.course.class_report import task_names
from dataflow.course.classroom.refusal import Refusal
from dataflow.course.classroom.store import Store

_NO_NAME = re.compile(r"[^\w .()-]+")


def read_handed_in(body: bytes) -> dict[str, int]:
    """What a notebook holds: ``tasks`` that it names, ``answered`` and ``right``. Raises `Refusal`.

    Widgets of others, and whatever else is in it, are left alone.
    """
    try:
        notebook = notebook_of(body.decode("utf-8"))
    except ValueError as e:
        raise Refusal(422, f"This is not a notebook that can be read: {_short(e)}.") from None
    attempts = of_notebook(notebook)
    right = sum(any(a["right"] for a in tries) for tries in attempts.values())
    return {"tasks": len(task_names(notebook)), "answered": len(attempts), "right": right}


def _short(error: ValueError) -> str:
    return "not UTF-8" if isinstance(error, UnicodeError) else str(error)[:120]


def packed(folder: Path) -> IO[bytes]:
    """All notebooks of the class in ``folder`` as a zip file, open at its beginning and gone when it is
    closed: a folder for each learner, as ``dataflow course report`` reads them. Raises `ValueError`."""
    store = Store(folder)
    out = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (the caller closes it)
    try:
        learners = store.learners()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for each in store.notebooks():
                name = _NO_NAME.sub("_", learners[each.learner].label).strip(" .") or "learner"
                archive.writestr(f"{each.learner:03d} {name}/{each.file}", each.body)
    except BaseException:
        out.close()
        raise
    finally:
        store.close()
    out.seek(0)
    return out
