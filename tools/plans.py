"""Plans for teachers, made from lessons/plans.toml.

    python -m tools.plans

Writes lessons/teaching.md: for each lesson the minutes of its sections, what learners tend to believe and
what is so, and questions to talk about; and the time that a lesson says into its first cell.

Minutes are an estimate by one rule for all lessons, `minutes_of`: nobody has timed a class.
"""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from tools.lesson import role_of, write

ROOT = Path(__file__).resolve().parents[1]
LESSONS = ROOT / "lessons"
SOURCE = LESSONS / "plans.toml"
PAGE = LESSONS / "teaching.md"
_FIELDS = {"number", "wrong", "discuss"}
_TIME = re.compile(r"(\*\*Time:\*\*\s+about\s+)(\d+)(\s+minutes)")
#: What a minute is enough for, and how many minutes a question and an exercise take.
WORDS_A_MINUTE, LINES_A_MINUTE, CELLS_A_MINUTE = 200, 12, 2
QUESTION_MINUTES, EXERCISE_MINUTES, OPEN_TASK_MINUTES = 3, 6, 10


#: How to give each learner numbers of their own, in `PAGE`.
VARIANTS = """
## Each learner their own numbers

`dataflow course variants lessons students --learners names.csv` makes a copy of the lessons for each name of a class list
(a CSV with a column `name`, or one name a line): `students/Ada/` and so on, and `students/variants.csv` with the seeds. In each lesson
at least two exercises or questions then have other numbers, graphs or names, and the choices of every question stand in another order;
open tasks ask for other properties. Hints, checks and explanations follow. The same names give the same copies; `--seed 2027` gives next year's
class others. `--seed 7` without a list makes one variant, as for a second group or a resit.

- **What learners see**: their notebook says `variant(7)` in its first cells, and that is all: there are no solutions in it. Your own copy with the
  solutions of a seed is `dataflow course variants lessons mine --seed 7 --solutions`.
- **What you get back**: `dataflow course report FOLDER` says for each notebook which variant it is, and names answers that were made in another one, as
  of a copied notebook. `--by-task` puts the numbers of the shipped lesson in place of each learner's, so that the same mistake counts
  as the same. On the projector of `dataflow class` choices are counted so, too.
- **What it is not**: a seal. Who has the whole package can make the solutions of any seed, as they can read those of the shipped lessons, and questions keep
  their hints in the notebook. Variants make copying visible and talking about the method necessary; for an examination, watch the room.
- **Your own lessons**: a lesson whose varying text you have changed is refused, with the cell and the text that is missing. What varies stands in
  `dataflow/course/variants/lesson05.toml`; `lessons/AUTHORING.md` of the source code says how.

## Checks and widgets in German

`DATAFLOW_LANGUAGE=de dataflow lab` (or `make lab` with it) starts a lab whose first page, questions, hints, checks and
widgets speak German; the lessons themselves are English. In a notebook, `dataflow.course.language("de")` does it from
then on.
"""


class PlanError(Exception):
    """What is wrong with the plans' source, with the lesson."""


@dataclass(frozen=True)
class Lesson:
    """What a plan is about: file, title, the minutes that the lesson says, its sections with their minutes, and
    those of the exercises."""

    file: str
    title: str
    told: int
    sections: tuple[tuple[str, int], ...]
    exercises: int

    @property
    def minutes(self) -> int:
        """What the lesson should say: the sum of its sections, to five minutes."""
        return 5 * round(sum(minutes for _, minutes in self.sections) / 5)


def minutes_of(cells: list[Any]) -> float:
    """Minutes for some cells: 200 words or 12 lines of code a minute, half a minute to run a cell and look at
    what it shows, 3 minutes for a question."""
    minutes = 0.0
    for cell in cells:
        role = role_of(cell)
        if role == "markdown":
            minutes += (
                len(re.sub(r"<!--.*?-->", "", cell.source, flags=re.S).split()) / WORDS_A_MINUTE
            )
        elif role == "predict":
            minutes += QUESTION_MINUTES
        elif role == "code":
            lines = sum(bool(line.strip()) for line in cell.source.splitlines())
            minutes += lines / LINES_A_MINUTE + 1 / CELLS_A_MINUTE
    return minutes


def read_lesson(path: Path) -> Lesson:
    """A lesson's title, times and sections, without the summing up that is the last of them."""
    notebook: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    title = re.search(r"^# \d+ · (.+)$", notebook.cells[0].source, flags=re.M)
    time = _TIME.search(notebook.cells[0].source)
    sections = _sections(notebook.cells[1:])
    if title is None or time is None or "Exercises" not in sections:
        raise PlanError(f"{path.name} has no title, time or exercises")
    kept = list(sections)[: list(sections).index("Exercises")]
    pairs = [(name, max(1, round(minutes_of(sections[name])))) for name in kept]
    text = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    num_open = text.count("*An open task.*")
    num = sum(role_of(cell) == "exercise" for cell in notebook.cells) - num_open
    exercises = num * EXERCISE_MINUTES + num_open * OPEN_TASK_MINUTES
    told = tuple((name, m) for name, m in pairs if name != "What just happened")
    return Lesson(path.name, title[1], int(time[2]), told, exercises)


def _sections(cells: list[Any]) -> dict[str, list[Any]]:
    """The cells of each second-level heading; a Markdown cell with several is divided."""
    found: dict[str, list[Any]] = {}
    name = ""
    for cell in cells:
        if cell.cell_type != "markdown":
            found.setdefault(name, []).append(cell)
            continue
        fenced = re.sub(
            r"```.*?```", lambda m: m[0].replace("\n## ", "\n "), cell.source, flags=re.S
        )
        parts = re.split(r"^## (.+?) *$", fenced, flags=re.M)
        for i in range(0, len(parts), 2):
            name = parts[i - 1] if i else name
            made = nbformat.v4.new_markdown_cell(parts[i])  # type: ignore[no-untyped-call]
            found.setdefault(name, []).append(made)
    found.pop("", None)
    return found


def read_lessons(folder: Path = LESSONS) -> dict[int, Lesson]:
    """The lessons by number."""
    return {int(p.name[:2]): read_lesson(p) for p in sorted(folder.glob("[0-9]*.ipynb"))}


def read_plans(text: str, lessons: dict[int, Lesson]) -> list[dict[str, Any]]:
    """The plans in the order of lessons. Raises `PlanError` where one does not fit its lesson."""
    plans: list[dict[str, Any]] = tomllib.loads(text).get("lesson", [])
    numbers = [plan.get("number") for plan in plans]
    if numbers != sorted(lessons):
        raise PlanError(
            f"got plans of {numbers}, needed one for each of {sorted(lessons)}, in order"
        )
    for plan in plans:
        name = f"lesson {plan['number']}"
        if set(plan) != _FIELDS:
            raise PlanError(f"{name}: got {sorted(plan)}, needed {sorted(_FIELDS)}")
        if len(plan["wrong"]) < 2 or len(plan["discuss"]) < 2:
            raise PlanError(f"{name}: needed two or more of what is believed, and two questions")
    return plans


def page(plans: list[dict[str, Any]], lessons: dict[int, Lesson]) -> str:
    """The plans as Markdown."""
    hours = sum(lesson.minutes for lesson in lessons.values()) / 60
    more = sum(lesson.exercises for lesson in lessons.values()) / 60
    lines = [
        "# Teaching with the lessons",
        "",
        f"A plan for each lesson: {hours:.0f} hours of lessons, and {more:.0f} of exercises. Made of",
        "`plans.toml` by `python -m tools.plans`. Minutes are an estimate by one rule for all lessons, as nobody has",
        f"timed a class: {WORDS_A_MINUTE} words or {LINES_A_MINUTE} lines of code a minute, half a minute for each cell that "
        "is run,",
        f"{QUESTION_MINUTES} minutes for a question, {EXERCISE_MINUTES} for an exercise and {OPEN_TASK_MINUTES} for "
        "an open task; a class that talks takes longer.",
        "What learners tend to believe is there to be asked",
        "for *before* the section that answers it: let the class vote, then let the engine answer.",
        "`dataflow class` counts the votes, on the projector: [class.md](class.md).",
        *VARIANTS.splitlines(),
    ]
    for plan in plans:
        lesson = lessons[plan["number"]]
        lines += [
            "",
            f"## {plan['number']} · {lesson.title}",
            "",
            f"[{lesson.file}]({lesson.file}), {lesson.minutes} minutes, and {lesson.exercises} for "
            "the exercises.",
            "",
            "| section | minutes |",
            "|---|---|",
        ]
        lines += [f"| {section} | {minutes} |" for section, minutes in lesson.sections]
        lines += ["", "What learners tend to believe, and what is so:", ""]
        lines += [f"- *{believed}* {so}" for believed, so in plan["wrong"]]
        lines += ["", "To talk about:", ""]
        lines += [f"- {question}" for question in plan["discuss"]]
    return "\n".join(lines) + "\n"


def tell_time(path: Path, minutes: int) -> None:
    """Writes the minutes into the lesson's first cell."""
    notebook: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    first = notebook.cells[0]
    first.source = _TIME.sub(rf"\g<1>{minutes}\g<3>", first.source)
    write(notebook, path)


def main() -> int:
    try:
        for lesson in read_lessons().values():
            if lesson.told != lesson.minutes:
                tell_time(LESSONS / lesson.file, lesson.minutes)
        lessons = read_lessons()
        plans = read_plans(SOURCE.read_text(encoding="utf-8"), lessons)
    except (PlanError, tomllib.TOMLDecodeError) as e:
        print(f"plans: {e}", file=sys.stderr)
        return 1
    PAGE.write_text(page(plans, lessons), encoding="utf-8")
    print(f"{len(plans)} plans in {PAGE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
