"""A class report as files that gradebooks take: nbgrader's export, and Moodle's grade import.

A lesson is an assignment, and its score the number of its questions and exercises that are right. What
a learner called themselves is the identity: let them join with their user name.
"""

from __future__ import annotations

from datetime import UTC, datetime

from dataflow.course.class_report import ClassReport, NotebookRecord, csv_of

#: The columns of nbgrader's CsvExportPlugin, which its own gradebook and others' readers know.
NBGRADER_COLUMNS = (
    *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
    *("raw_score", "late_submission_penalty", "score", "max_score"),
)


def to_nbgrader(report: ClassReport) -> str:
    """As ``nbgrader export`` writes: a line for each assignment and student, 0.0 without a submission."""
    done = _by_lesson(report)
    learners = list(dict.fromkeys(each.learner for each in report.notebooks))
    rows = []
    for lesson, of_learner in done.items():
        most = float(max(len(each.tasks) for each in of_learner.values()))
        for learner in learners:
            record = of_learner.get(learner)
            score = float(_num_right(record)) if record else 0.0
            email = learner if "@" in learner else ""
            times = _time(record.at) if record and record.at is not None else ""
            rows.append((lesson, "", times, learner, "", "", email, score, 0.0, score, most))
    return csv_of(NBGRADER_COLUMNS, rows)


def to_moodle(report: ClassReport) -> str:
    """For Moodle's *Import: CSV file*: a line for each learner, and a column for each lesson, in percent.

    The column "Username" is to be mapped to what learners joined as: user name, e-mail address or ID
    number. A lesson that a learner did not touch is "-", which Moodle leaves ungraded.
    """
    done = _by_lesson(report)
    rows = []
    for learner in dict.fromkeys(each.learner for each in report.notebooks):
        scores = []
        for of_learner in done.values():
            record = of_learner.get(learner)
            if record is None or not record.tasks:
                scores.append("-")
            else:
                scores.append(f"{100 * _num_right(record) / len(record.tasks):.2f}")
        rows.append((learner, *scores))
    return csv_of(("Username", *done), rows)


def _by_lesson(report: ClassReport) -> dict[str, dict[str, NotebookRecord]]:
    """Lesson (the notebook's name without folder and ending) -> learner -> what they did best."""
    found: dict[str, dict[str, NotebookRecord]] = {}
    for each in sorted(report.notebooks, key=lambda record: record.notebook):
        lesson = each.notebook.rpartition("/")[2].removesuffix(".ipynb")
        known = found.setdefault(lesson, {}).get(each.learner)
        if known is None or _num_right(each) > _num_right(known):
            found[lesson][each.learner] = each
    return found


def _num_right(record: NotebookRecord) -> int:
    return sum(task.state == "right" for task in record.tasks)


def _time(seconds: float) -> str:
    """As nbgrader writes times: UTC, without a zone."""
    return str(datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None))
