"""Plans for teachers, made from lessons/plans.toml.

    python -m tools.plans

Writes lessons/teaching.md: for each lesson the minutes of its sections, what learners tend to believe and
what is so, and questions to talk about.
"""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

ROOT = Path(__file__).resolve().parents[1]
LESSONS = ROOT / "lessons"
SOURCE = LESSONS / "plans.toml"
PAGE = LESSONS / "teaching.md"
_FIELDS = {"number", "minutes", "exercises", "wrong", "discuss"}


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
  `dataflow/course/variants/lesson05.toml`; [AUTHORING.md](AUTHORING.md) says how.
"""


class PlanError(Exception):
    """What is wrong with the plans' source, with the lesson."""


@dataclass(frozen=True)
class Lesson:
    """What a plan is about: file, title, the minutes that the lesson says, and its sections."""

    file: str
    title: str
    minutes: int
    sections: tuple[str, ...]


def read_lesson(path: Path) -> Lesson:
    """A lesson's title, time and sections, up to the summing up that is the last of them."""
    notebook: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    text = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    sections = re.findall(r"^## (.+?) *$", text, flags=re.M)
    title = re.search(r"^# \d+ · (.+)$", text, flags=re.M)
    time = re.search(r"\*\*Time:\*\*\s+about\s+(\d+)\s+minutes", text)
    if title is None or time is None or "Exercises" not in sections:
        raise PlanError(f"{path.name} has no title, time or exercises")
    last = sections.index("What just happened")
    kept = (*sections[:last], *sections[last + 1 : sections.index("Exercises")])
    return Lesson(path.name, title[1], int(time[1]), kept)


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
        lesson, name = lessons[plan["number"]], f"lesson {plan['number']}"
        if set(plan) != _FIELDS:
            raise PlanError(f"{name}: got {sorted(plan)}, needed {sorted(_FIELDS)}")
        if len(plan["minutes"]) != len(lesson.sections):
            raise PlanError(
                f"{name}: got {len(plan['minutes'])} numbers of minutes, needed one for each of "
                f"{list(lesson.sections)}"
            )
        if sum(plan["minutes"]) != lesson.minutes:
            raise PlanError(
                f"{name}: the minutes add up to {sum(plan['minutes'])}, and the lesson says "
                f"{lesson.minutes}"
            )
        if len(plan["wrong"]) < 2 or len(plan["discuss"]) < 2:
            raise PlanError(f"{name}: needed two or more of what is believed, and two questions")
    return plans


def page(plans: list[dict[str, Any]], lessons: dict[int, Lesson]) -> str:
    """The plans as Markdown."""
    hours = sum(lesson.minutes for lesson in lessons.values()) / 60
    more = sum(plan["exercises"] for plan in plans) / 60
    lines = [
        "# Teaching with the lessons",
        "",
        f"A plan for each lesson: {hours:.0f} hours of lessons, and {more:.0f} of exercises. Made of",
        "`plans.toml` by `python -m tools.plans`. What learners tend to believe is there to be asked",
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
            f"[{lesson.file}]({lesson.file}), {lesson.minutes} minutes, and {plan['exercises']} for "
            "the exercises.",
            "",
            "| section | minutes |",
            "|---|---|",
        ]
        pairs = zip(lesson.sections, plan["minutes"], strict=True)
        lines += [f"| {section} | {minutes} |" for section, minutes in pairs]
        lines += ["", "What learners tend to believe, and what is so:", ""]
        lines += [f"- *{believed}* {so}" for believed, so in plan["wrong"]]
        lines += ["", "To talk about:", ""]
        lines += [f"- {question}" for question in plan["discuss"]]
    return "\n".join(lines) + "\n"


def main() -> int:
    try:
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
