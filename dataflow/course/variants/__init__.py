"""Variants of the lessons by seed: other numbers, graphs, names and orders of choices, the same tasks.

A table beside this file, ``lesson05.toml``, says what varies in a lesson. A section is a task (or a piece that
several tasks share); ``draw`` has its values, the shipped ones first; ``cells`` the places, by the cell's id, as
templates: with the shipped values filled in, a template is what stands in the lesson::

    [ex3.draw]
    "rows inner columns" = [[5, 3, 7], [4, 6, 2], [2, 5, 9]]
    [ex3.cells]
    cell-21 = ["of a `[$rows, $inner]` and a `[$inner, $columns]`"]
    solution-ex3 = ["tf.zeros([$rows, $inner]), tf.zeros([$inner, $columns])"]

Seed 0 is the lesson as it ships. Any other seed draws from the rest, so that none of the shipped numbers is
left; names in one key are drawn together. A copy of a lesson (`dataflow.course.variants.copies`) calls
`dataflow.course.variant`, and checks and questions then take their values from the same table by `drawn`.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Template
from types import SimpleNamespace
from typing import Any

FOLDER = Path(__file__).parent
#: Seeds are small enough to be typed, and to be kept in a notebook's metadata.
MAX_SEED = 999_999_999
_seed = 0

Table = Mapping[str, Mapping[str, Any]]


def use(seed: int) -> None:
    """Makes the checks and questions of this kernel those of the variant ``seed``.

    Raises `ValueError` for anything but a seed.
    """
    global _seed
    _seed = valid_seed(seed)


def current() -> int:
    """The seed that `use` was given last; 0, the shipped text, before."""
    return _seed


def valid_seed(seed: Any) -> int:
    """``seed`` itself. Raises `ValueError` unless it is a whole number from 0 to `MAX_SEED`."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= MAX_SEED:
        raise ValueError(
            f"a variant's seed is a whole number from 0 (the shipped text) to {MAX_SEED:,}, got {seed!r}"
        )
    return seed


def seed_of(name: str, seed: int = 0) -> int:
    """The seed of a learner: the same for the same ``name`` and ``seed``, from 1 to `MAX_SEED`.

    Case and spaces of the name do not count, as lists of a class differ in them.
    """
    return 1 + _number(f"{seed}/{' '.join(name.split()).casefold()}") % MAX_SEED


@cache
def table_of(lesson: str) -> Table:
    """What varies in a lesson, ``"lesson05"``; empty for one without a table."""
    path = FOLDER / f"{lesson}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def drawn(task: str, seed: int | None = None) -> SimpleNamespace:
    """The values of a task, ``"lesson05.ex2"``, in the variant ``seed``, else in this kernel's."""
    chosen = current() if seed is None else seed
    lesson, _, part = task.partition(".")
    found: dict[str, Any] = {}
    for names, rows in table_of(lesson).get(part, {}).get("draw", {}).items():
        place = 1 + _number(f"{chosen}/{task}/{names}") % (len(rows) - 1) if chosen else 0
        row = rows[place] if " " in names else [rows[place]]
        found |= zip(names.split(), row, strict=True)
    return SimpleNamespace(**found)


def order(task: str, num: int, seed: int | None = None) -> list[int]:
    """In which order the ``num`` choices of a question stand: their indices, shuffled by the seed."""
    chosen = current() if seed is None else seed
    if not chosen:
        return list(range(num))
    return sorted(range(num), key=lambda i: _number(f"{chosen}/{task}/choice {i}"))


def replacements(lesson: str, part: str, seed: int) -> dict[str, dict[str, str]]:
    """Cell -> shipped text -> its text in the variant ``seed``, of one section of a lesson's table."""
    old = {k: str(v) for k, v in vars(drawn(f"{lesson}.{part}", 0)).items()}
    new = {k: str(v) for k, v in vars(drawn(f"{lesson}.{part}", seed)).items()}
    cells = table_of(lesson)[part].get("cells", {})
    return {
        cell: {Template(t).substitute(old): Template(t).substitute(new) for t in templates}
        for cell, templates in cells.items()
    }


def replaced(text: str, changes: Mapping[str, str]) -> str:
    """``text`` with each key of ``changes`` replaced wherever it stands, all at once, longest first."""
    if not changes:
        return text
    keys = sorted(changes, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, keys)), lambda found: changes[found[0]], text)


def as_shipped(task: str, seed: int, text: str) -> str:
    """``text``, an answer or a verdict in the variant ``seed``, with the shipped values in place of its own.

    Answers of learners with different variants can be counted together then. A value counts where it stands as
    a word; of two names with one value the first is taken.
    """
    new, old = vars(drawn(task, seed)), vars(drawn(task, 0))
    changes = {str(new[name]): str(old[name]) for name in reversed(list(new))}
    if not changes:
        return text
    words = "|".join(map(re.escape, sorted(changes, key=len, reverse=True)))
    return re.sub(rf"(?<![\w.]){'(?:' + words + ')'}(?!\w|\.\d)", lambda m: changes[m[0]], text)


def _number(words: str) -> int:
    return int.from_bytes(hashlib.sha256(words.encode()).digest()[:8], "big")
