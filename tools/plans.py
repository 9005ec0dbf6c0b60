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
