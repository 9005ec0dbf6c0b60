"""The course's own machinery: exercises that check themselves, and a report for teachers.

In a lesson: ``from dataflow.course import check``, then ``check.lesson02.ex1(...)``; `figure` shows a
picture with a description, `charts` draws it. A teacher
calls `report` on a folder of collected notebooks, or ``dataflow course report FOLDER``. In a class that runs
``dataflow class``, learners `join` it with a code, and `hand_in` their notebooks.
"""

from __future__ import annotations

from typing import Any

__all__ = ["figure", "hand_in", "join", "leave", "report", "together", "variant"]


def figure(drawn: Any, alt: str, dpi: int = 80) -> Any:
    """Shows a figure of `charts` or of matplotlib with ``alt``, a description; see `dataflow.course.figures.figure`."""
    from dataflow.course.figures import figure

    return figure(drawn, alt, dpi)


def language(code: str | None = None) -> str:
    """Chooses the language of checks and widgets (``"de"``, ``"en"``), and returns it; without ``code`` it only
    says which. See `dataflow.course.translations.language`, also for what it raises."""
    from dataflow.course.translations import language

    return language(code)


def together(session: Any, *programs: Any) -> None:
    """Runs generators side by side on one session; see `dataflow.course.side_by_side.together`."""
    from dataflow.course.side_by_side import together

    together(session, *programs)


def variant(seed: int) -> None:
    """Makes checks and questions those of the variant ``seed``; copies made by ``dataflow course variants`` need it.

    Such a copy calls this itself; 0 is the lesson as shipped. Raises `ValueError` for anything but a seed.
    """
    from dataflow.course import variants

    variants.use(seed)


def report(folder: Any) -> Any:
    """Who did what, from the notebooks under ``folder``; see `dataflow.course.class_report`.

    Raises `NotADirectoryError` when there is no such folder.
    """
    from dataflow.course.class_report import read_folder

    return read_folder(folder)


def join(address: str | None = None, code: str | None = None, name: str | None = None) -> Any:
    """Joins the class at ``address`` with its ``code``: what you answer is sent to the teacher's page.

        dataflow.course.join("http://192.168.1.20:8899", "KMT4RX", name="Ada")

    Your ``name`` is shown only if the teacher wants names; without one you are "learner 7". Answers are sent
    beside the lesson, which never waits: while the server is gone they are kept (at most 1000) and sent
    later, and the notebook holds all of them anyway. What was answered in this kernel before is sent, too.
    In the next lesson ``join()`` is enough, and you are the same learner. The teacher's token in place of the code makes this
    kernel the teacher's: its questions and their answers reach the page, and no attempts.

    Returns an object whose text says how many answers were sent. Raises `ValueError` for a wrong code and
    for anything but an address, and `UnimplementedError` where no connection can be made.
    """
    from dataflow.course.classroom import membership

    return membership.join(address, code, name)


def hand_in(path: Any = None) -> Any:
    """Hands in a saved notebook, this one if no ``path`` is given; save it first. Again replaces it.

    Returns an object whose text says what has arrived. Raises `ValueError` before `join`, for a file that is
    no notebook or larger than 20 MB, and for one that the class refuses; `OSError` for one that is not there.
    """
    from dataflow.course.classroom import membership

    return membership.hand_in(path)


def leave() -> None:
    """Leaves the class: nothing is sent any more."""
    from dataflow.course.classroom import membership

    membership.leave()
