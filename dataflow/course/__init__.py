"""The course's own machinery: exercises that check themselves, and a report for teachers.

In a lesson: ``from dataflow.course import check``, then ``check.lesson02.ex1(...)``; `figure` shows a
picture with a description, `charts` draws it. A teacher
calls `report` on a folder of collected notebooks, or ``dataflow course report FOLDER``.
"""

from __future__ import annotations

from typing import Any

__all__ = ["figure", "report"]


def figure(drawn: Any, alt: str, dpi: int = 80) -> Any:
    """Shows a figure of `charts` or of matplotlib with ``alt``, a description; see `dataflow.course.figures.figure`."""
    from dataflow.course.figures import figure

    return figure(drawn, alt, dpi)


def report(folder: Any) -> Any:
    """Who did what, from the notebooks under ``folder``; see `dataflow.course.class_report`.

    Raises `NotADirectoryError` when there is no such folder.
    """
    from dataflow.course.class_report import read_folder

    return read_folder(folder)
