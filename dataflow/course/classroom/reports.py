"""A class as the teacher's report: what was answered live, and the notebooks handed in, as one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dataflow.course import gradebooks
from dataflow.course.attempts import Attempt, notebook_of, variant_of
from dataflow.course.class_report import ClassReport, NotebookRecord, TaskRecord, tasks_of
from dataflow.course.classroom.store import Given, Store

#: What ``/api/report?form=`` and the buttons of the teacher's page give.
FORMS = ("csv", "tasks", "nbgrader", "moodle")


def written(folder: Path, form: str) -> str:
    """The report of the class in ``folder`` in one of `FORMS`. Raises `ValueError`."""
    report = read_class(folder)
    if form == "csv":
        return report.to_csv()
    if form == "tasks":
        return report.by_task_csv()
    return gradebooks.to_nbgrader(report) if form == "nbgrader" else gradebooks.to_moodle(report)


def read_class(folder: Path) -> ClassReport:
    """The report of the class in ``folder``, whether its server runs or not. Raises `ValueError`."""
    store = Store(folder)
    try:
        return class_report(store)
    finally:
        store.close()


def class_report(store: Store) -> ClassReport:
    """Every learner's lessons, those with an answer or a notebook.

    Of a task that was answered live and stands in a notebook, the record with more attempts counts.
    """
    lessons = store.lessons()
    file_of = {task: file for file, tasks in lessons.items() for task in tasks}
    live: dict[tuple[int, str], dict[str, list[Given]]] = {}
    for answer in store.answers():
        file = file_of.get(answer.task, answer.task.partition(".")[0])
        live.setdefault((answer.learner, file), {}).setdefault(answer.task, []).append(answer)
    handed: dict[tuple[int, str], tuple[float, list[TaskRecord], int]] = {}
    for each in store.notebooks():
        notebook = notebook_of(each.body.decode())
        handed[each.learner, each.file] = each.at, tasks_of(notebook), variant_of(notebook)
    found = []
    for number, learner in store.learners().items():
        files = sorted({file for who, file in [*live, *handed] if who == number})
        for file in files:
            answers = live.get((number, file), {})
            at, records, seed = handed.get((number, file), (0.0, [], 0))
            times = [at, *(a.at for given in answers.values() for a in given)]
            known = lessons.get(file, [])
            tasks = _merged(known, records, answers, seed)
            if tasks:
                found.append(
                    NotebookRecord(learner.label, file, tasks, at=max(times), variant=seed)
                )
    return ClassReport(found)


def _merged(
    known: Sequence[str],
    records: Sequence[TaskRecord],
    answers: dict[str, list[Given]],
    seed: int,
) -> list[TaskRecord]:
    # Live answers are kept with the shipped text's numbers; the notebook says whose variant they were.
    attempts: dict[str, list[Attempt]] = {name: [] for name in known}
    attempts |= {record.name: record.attempts for record in records}
    for task, given in answers.items():
        if len(given) >= len(attempts.get(task, [])):
            attempts[task] = [
                _attempt(answer) | ({"variant": seed} if seed else {}) for answer in given
            ]
    return [TaskRecord(name, tries) for name, tries in attempts.items()]


def _attempt(answer: Given) -> Attempt:
    attempt: Attempt = {"right": answer.right, "words": answer.words}
    if answer.given is not None:
        attempt["given"] = answer.given
    return attempt | ({"shown": True} if answer.shown else {})
