"""The course's own machinery: exercises that check themselves, and a report for teachers.

In a lesson: ``from dataflow.course import check``, then ``check.lesson02.ex1(...)``. A teacher
calls `report` on a folder of collected notebooks, or ``dataflow course report FOLDER``.
"""

from __future__ import annotations

from typing import Any

__all__ = ["report"]


def report(folder: Any) -> Any:
    """Who did what, from the notebooks under ``folder``; see `dataflow.course.class_report`.

    Raises `NotADirectoryError` when there is no such folder.
    """
    from dataflow.course.class_report import read_folder

    return read_folder(folder)
