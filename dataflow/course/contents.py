"""The lessons of a folder, and what was done in them, as the course page lists them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dataflow.course.attempts import of_notebook, read_notebook
from dataflow.course.class_report import task_names

_TITLE = re.compile(r"^# (?:(\d+) · )?(.+)$", re.MULTILINE)
_MINUTES = re.compile(r"\*\*Time:\*\*\s+about\s+(\d+)\s+minutes")

#: The ways through the course, each by the numbers of its lessons; lessons/README.md says for whom.
TRACKS: dict[str, list[int]] = {
    "Models": [*range(13), 22],
    "Systems": [*range(7), *range(13, 22), *range(23, 27)],
}


@dataclass(frozen=True)
class LessonCard:
    """What is known of a lesson before it is opened.

    ``number`` is None for a notebook beside the lessons, ``minutes`` where it says none; ``tasks`` are
    the names of its questions and exercises, in order.
    """

    file: str
    number: int | None
    title: str
    minutes: int | None
    aims: list[str]
    tasks: list[str]

    def as_json(self) -> dict[str, Any]:
        """The fields, for `json.dumps`."""
        return asdict(self)


def read_lessons(folder: Path) -> list[LessonCard]:
    """The notebooks directly in ``folder``: lessons by number, then the others; damaged ones are left out."""
    cards = []
    for path in sorted(folder.glob("*.ipynb")):
        try:
            cards.append(_card(path.name, read_notebook(path)))
        except (OSError, ValueError):
            continue
    return sorted(cards, key=lambda card: (card.number is None, card.number or 0, card.file))


@dataclass(frozen=True)
class LessonWork:
    """What a learner did in a notebook so far.

    ``modified`` are seconds since 1970; ``right`` and ``tried`` name the tasks that were answered
    rightly, and those that were answered but not rightly so far.
    """

    file: str
    modified: float
    right: list[str]
    tried: list[str]

    def as_json(self) -> dict[str, Any]:
        """The fields, for `json.dumps`."""
        return asdict(self)


def read_work(folder: Path) -> list[LessonWork]:
    """The notebooks directly in ``folder`` in which a cell was run; damaged ones are left out."""
    work = []
    for path in sorted(folder.glob("*.ipynb")):
        try:
            notebook, modified = read_notebook(path), path.stat().st_mtime
        except (OSError, ValueError):
            continue
        if any(isinstance(c, Mapping) and c.get("execution_count") for c in notebook["cells"]):
            attempts = of_notebook(notebook)
            right = [name for name, tries in attempts.items() if any(a["right"] for a in tries)]
            tried = [name for name in attempts if name not in right]
            work.append(LessonWork(path.name, modified, right, tried))
    return work


def _card(file: str, notebook: Mapping[str, Any]) -> LessonCard:
    first: Any = next((c for c in notebook["cells"] if isinstance(c, Mapping)), {})
    source = first.get("source", "")
    text = "".join(map(str, source)) if isinstance(source, list) else str(source)
    title, minutes = _TITLE.search(text), _MINUTES.search(text)
    return LessonCard(
        file,
        int(title[1]) if title and title[1] else None,
        title[2].strip() if title else file,
        int(minutes[1]) if minutes else None,
        [
            " ".join(aim.split())
            for aim in re.findall(r"^- ((?:.|\n(?![-\n*]))+)", text, re.MULTILINE)
        ],
        task_names(notebook),
    )
