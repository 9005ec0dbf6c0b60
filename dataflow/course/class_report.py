"""The teacher's mode: who did what, read from a class's saved notebooks."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from dataflow.course.attempts import Attempt, of_notebook, read_notebook, variant_in, variant_of
from dataflow.course.variants import as_shipped

_CHECK_CALL = re.compile(r"\bcheck\.((?:lesson|capstone)\d+\.\w+)\s*\(")
_QUESTION_NAME = re.compile(r"""\bname\s*=\s*["']((?:lesson|capstone)\d+\.\w+)["']""")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
#: What a class's server keeps; a folder with it is a class.
CLASS_FILE = "class.sqlite"
COLUMNS = ("learner", "notebook", "task", "state", "tries", "wrong", "last words", "variant")


@dataclass(frozen=True)
class TaskRecord:
    """What one learner did with one exercise or question."""

    name: str
    attempts: list[Attempt]

    @property
    def state(self) -> str:
        """ "right", "shown" (the learner had the answer shown), "not yet" or "not tried"."""
        if any(a["right"] for a in self.attempts):
            return "right"
        if any(a.get("shown") for a in self.attempts):
            return "shown"
        return "not yet" if self.attempts else "not tried"

    @property
    def num_wrong(self) -> int:
        """Wrong tries before the first right one."""
        count = 0
        for attempt in self.attempts:
            if attempt["right"]:
                break
            count += not attempt.get("shown")
        return count

    @property
    def num_tries(self) -> int:
        """Answers that were given, up to the first right one."""
        return self.num_wrong + (self.state == "right")


@dataclass(frozen=True)
class NotebookRecord:
    """What one notebook holds; ``problem`` says why it could not be read, if so.

    ``at`` are seconds since 1970, when it was saved or handed in; None where nobody knows. ``variant`` is
    the seed of the variant that it is, 0 for the shipped text.
    """

    learner: str
    notebook: str
    tasks: list[TaskRecord] = field(default_factory=list)
    problem: str = ""
    at: float | None = None
    variant: int = 0

    def variant_words(self, task: TaskRecord) -> str:
        """The seed in words: "" for the shipped text; another one in which something was answered is told."""
        others = sorted({variant_in(a) for a in task.attempts} - {self.variant})
        own = str(self.variant or "")
        if not others:
            return own
        told = ", ".join(str(seed) if seed else "the shipped text" for seed in others)
        return f"{own or 'the shipped text'}, answered as {told}"


@dataclass(frozen=True)
class TaskSummary:
    """How a class did at one exercise or question: numbers of learners.

    ``most_said`` is the most frequent first wrong answer (of an exercise: what its check said), and
    ``num_said`` how many gave it. Where learners had variants of the task, ``num_variants`` of them, it is
    said with the numbers of the shipped text, so that the same mistake counts as the same.
    """

    name: str
    num_tried: int
    num_wrong_at_first: int
    num_right: int
    num_shown: int
    most_said: str = ""
    num_said: int = 0
    num_variants: int = 1

    def __str__(self) -> str:
        text = f"{self.name}: {self.num_wrong_at_first} of {self.num_tried} wrong at first"
        if self.num_variants > 1:
            text += f" ({self.num_variants} variants)"
        if self.most_said:
            text += f", most ({self.num_said}) with: {self.most_said}"
        text += f"; {self.num_right} right in the end"
        return text + (f", {self.num_shown} had the answer shown" if self.num_shown else "")


@dataclass(frozen=True)
class ClassReport:
    """Notebooks of a class, by learner. Prints as a table; `to_csv` has a line per task, `by_task` a
    summary of the class for each."""

    notebooks: list[NotebookRecord]

    def by_task(self) -> list[TaskSummary]:
        """How the class did at each exercise and question that somebody tried, in the notebooks' order."""
        records: dict[str, list[TaskRecord]] = {}
        for each in self.notebooks:
            for task in each.tasks:
                if task.attempts:
                    records.setdefault(task.name, []).append(task)
        return [_summary(name, tried) for name, tried in records.items()]

    def rows(self) -> list[tuple[Any, ...]]:
        """A row for each task: `COLUMNS`."""
        rows: list[tuple[Any, ...]] = []
        for each in self.notebooks:
            if each.problem:
                row = (each.learner, each.notebook, "", "unreadable", 0, 0, each.problem, "")
                rows.append(row)
            for task in each.tasks:
                last = _plain(task.attempts[-1]["words"]) if task.attempts else ""
                told = (task.name, task.state, task.num_tries, task.num_wrong, last)
                rows.append((each.learner, each.notebook, *told, each.variant_words(task)))
        return rows

    def to_csv(self) -> str:
        """The rows as CSV, with a head; text that a spreadsheet would take for a formula is quoted."""
        return csv_of(COLUMNS, self.rows())

    def by_task_csv(self) -> str:
        """`by_task` as CSV, with a head."""
        head = ("task", "tried", "wrong at first", "right", "shown", "most said", "said by")
        return csv_of(
            head,
            [
                (
                    t.name,
                    t.num_tried,
                    t.num_wrong_at_first,
                    t.num_right,
                    t.num_shown,
                    t.most_said,
                    t.num_said,
                )
                for t in self.by_task()
            ],
        )

    def _summary(self) -> list[tuple[str, str, str, str]]:
        lines = []
        for each in self.notebooks:
            if each.problem:
                lines.append((each.learner, each.notebook, "", f"cannot be read: {each.problem}"))
                continue
            num_right = sum(t.state == "right" for t in each.tasks)
            done = ", ".join(_task_words(t) for t in each.tasks) or "no exercises in it"
            if each.variant:
                done += f" (variant {each.variant})"
            elsewhere = [t.name for t in each.tasks if "answered as" in each.variant_words(t)]
            if elsewhere:
                done += f" (answers of another variant: {', '.join(elsewhere)})"
            lines.append((each.learner, each.notebook, f"{num_right} of {len(each.tasks)}", done))
        return lines

    def __repr__(self) -> str:
        if not self.notebooks:
            return "No notebooks."
        table = [("learner", "notebook", "right", "what was done"), *self._summary()]
        widths = [max(len(row[i]) for row in table) for i in range(3)]
        return "\n".join(
            "  ".join([*(row[i].ljust(widths[i]) for i in range(3)), row[3]]).rstrip()
            for row in table
        )

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{c}</th>" for c in ("learner", "notebook", "right", "what was done"))
        body = "".join(
            "<tr>" + "".join(f"<td style='text-align:left'>{escape(c)}</td>" for c in row) + "</tr>"
            for row in self._summary()
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def read_folder(folder: Any) -> ClassReport:
    """Reads every notebook under ``folder``.

    A learner is the first folder below ``folder``; for notebooks that lie in it directly, the
    file's own name. Notebooks without exercises are left out; damaged ones are named. Notebooks are
    read, never run. The folder of ``dataflow class`` is read, too. Raises `NotADirectoryError`, and
    `ValueError` for a damaged class.
    """
    root = Path(folder)
    if (root / CLASS_FILE).is_file():
        from dataflow.course.classroom.reports import read_class

        return read_class(root)
    if not root.is_dir():
        raise NotADirectoryError(f"no such folder: {root}")
    found = []
    for path in sorted(root.rglob("*.ipynb")):
        relative = path.relative_to(root)
        if any(part.startswith(".") for part in relative.parts) or not path.is_file():
            continue
        deep = len(relative.parts) > 1
        learner = _plain(relative.parts[0] if deep else path.stem)
        name = _plain("/".join(relative.parts[1:]) if deep else path.name)
        try:
            notebook, saved = read_notebook(path), path.stat().st_mtime
            tasks, seed = tasks_of(notebook), variant_of(notebook)
        except (OSError, ValueError) as e:
            found.append(NotebookRecord(learner, name, problem=_plain(str(e))))
            continue
        if tasks:
            found.append(NotebookRecord(learner, name, tasks, at=saved, variant=seed))
    return ClassReport(found)


def task_names(notebook: Mapping[str, Any]) -> list[str]:
    """The exercises and questions that a notebook's cells name, in their order."""
    names: dict[str, None] = {}
    for cell in notebook["cells"]:
        if not isinstance(cell, Mapping) or cell.get("cell_type") != "code":
            continue
        source = cell.get("source", "")
        text = "".join(map(str, source)) if isinstance(source, list) else str(source)
        for pattern in (_CHECK_CALL, _QUESTION_NAME):
            names.update(dict.fromkeys(pattern.findall(text)))
    return list(names)


def tasks_of(notebook: Mapping[str, Any]) -> list[TaskRecord]:
    """The tasks that the cells name, then others that were attempted."""
    attempts = of_notebook(notebook)
    names = dict.fromkeys([*task_names(notebook), *attempts])
    return [TaskRecord(_plain(name), attempts.get(name, [])) for name in names]


def _summary(name: str, tried: list[TaskRecord]) -> TaskSummary:
    first = [task.attempts[0] for task in tried]
    wrong = [a for a in first if not a["right"] and not a.get("shown")]
    said = Counter(_said(name, attempt) for attempt in wrong).most_common(1)
    states = [task.state for task in tried]
    return TaskSummary(
        name,
        len(tried),
        len(wrong),
        states.count("right"),
        states.count("shown"),
        *(said[0] if said else ("", 0)),
        num_variants=len({variant_in(attempt) for attempt in first}),
    )


def _said(name: str, attempt: Attempt) -> str:
    """A wrong answer in words, with the numbers of the shipped text."""
    words = _plain(str(attempt.get("given", attempt["words"])))
    return as_shipped(name, variant_in(attempt), words)[:100]


def _task_words(task: TaskRecord) -> str:
    short = task.name.partition(".")[2] or task.name
    if task.state == "right":
        return f"{short} right at try {task.num_tries}"
    if task.state == "not yet":
        return f"{short} not yet after {task.num_wrong}"
    return f"{short} {task.state}"


def _plain(text: str) -> str:
    """On one line, without what a terminal would obey."""
    return _CONTROL.sub(" ", text).strip()


def csv_of(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table as CSV; text that a spreadsheet would take for a formula is quoted."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([_no_formula(cell) for cell in row] for row in rows)
    return out.getvalue()


def _no_formula(cell: Any) -> Any:
    begins_one = isinstance(cell, str) and cell != "-" and cell[:1] in ("=", "+", "-", "@")
    return f"'{cell}" if begins_one else cell
