"""The glossary and the concept map, made from lessons/glossary.toml.

    python -m tools.glossary

Writes lessons/glossary.md, a line for each word with its place in the lessons, and the maps beside the
pictures of the lessons: an arrow goes from each word to those that build on it. A word stands in bold
where it is introduced; the first such place in its lesson gives the section.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import nbformat

ROOT = Path(__file__).resolve().parents[1]
LESSONS = ROOT / "lessons"
SOURCE = LESSONS / "glossary.toml"
PAGE = LESSONS / "glossary.md"
MAPS = LESSONS / "images" / "concepts"

#: The maps: file, what it shows, its lessons.
PARTS = (
    ("foundations", "Graphs, sessions, gradients, data (lessons 0 to 6)", range(7)),
    ("models", "Models (lessons 7 to 12, and 22)", (*range(7, 13), 22)),
    ("systems", "Systems (lessons 13 to 21, and 23 to 26)", (*range(13, 22), *range(23, 27))),
)
_BOLD = re.compile(r"\*\*(.+?)\*\*", re.S)
_FIELDS = {"name", "lesson", "says", "needs", "bold"}


class GlossaryError(Exception):
    """What is wrong with the glossary's source, with the word."""


@dataclass(frozen=True)
class Term:
    """A word: where it is introduced, what it says, and the words to be understood before."""

    name: str
    lesson: int
    says: str
    needs: tuple[str, ...]
    bold: str


@dataclass(frozen=True)
class Place:
    """Where a word stands in bold: file and section of a lesson."""

    file: str
    lesson: int
    section: str


def read_terms(text: str) -> list[Term]:
    """The words, in the order of the source. Raises `GlossaryError`."""
    terms: list[Term] = []
    for entry in tomllib.loads(text).get("term", []):
        name = entry.get("name", "(no name)")
        missing = {"name", "lesson", "says"} - set(entry)
        if missing or set(entry) - _FIELDS:
            raise GlossaryError(
                f"{name}: got {sorted(entry)}, needed name, lesson, says; needs and bold may follow"
            )
        needs = tuple(entry.get("needs", ()))
        terms.append(Term(name, entry["lesson"], entry["says"], needs, entry.get("bold", name)))
    names = {term.name: term for term in terms}
    if len(names) != len(terms):
        twice = sorted({t.name for t in terms if names[t.name] is not t})
        raise GlossaryError(f"more than once: {', '.join(twice)}")
    for term in terms:
        for need in term.needs:
            if need not in names:
                raise GlossaryError(f"{term.name} needs {need!r}, which is no word of the glossary")
            if names[need].lesson > term.lesson:
                raise GlossaryError(
                    f"{term.name} of lesson {term.lesson} needs {need}, which comes in lesson "
                    f"{names[need].lesson}"
                )
    return terms


def bold_places() -> dict[str, Place]:
    """Each text that stands in bold in a lesson, in lower case, with its first place."""
    found: dict[str, Place] = {}
    for path in sorted(LESSONS.glob("[0-9]*.ipynb")):
        section = ""
        for cell in nbformat.read(path, as_version=4).cells:  # type: ignore[no-untyped-call]
            if cell.cell_type != "markdown":
                continue
            text = re.sub(r"<!--.*?-->", "", cell.source, flags=re.S)
            for part in re.split(r"(?m)^(?=## )", text):
                if part.startswith("## "):
                    section = part.partition("\n")[0][3:].strip()
                for bold in _BOLD.findall(part):
                    place = Place(path.name, int(path.name[:2]), section)
                    found.setdefault(" ".join(bold.split()).lower(), place)
    return found


def misplaced(terms: Sequence[Term], places: dict[str, Place]) -> list[str]:
    """Words that do not stand in bold for the first time where the source says, as sentences."""
    found = []
    for term in terms:
        place = places.get(term.bold.lower())
        if place is None:
            found.append(f"{term.name}: **{term.bold}** is in no lesson")
        elif place.lesson != term.lesson:
            found.append(
                f"{term.name}: **{term.bold}** stands in lesson {place.lesson} first, and the "
                f"glossary says {term.lesson}"
            )
    return found


def anchor_of(section: str) -> str:
    """The part of an address after #, as Jupyter makes it of a heading."""
    return quote(section.replace("`", "").replace(" ", "-"))


def page(terms: Sequence[Term], places: dict[str, Place]) -> str:
    """The glossary as Markdown."""
    lines = [
        "# Glossary",
        "",
        "Each word of the course, in plain words, and where it is introduced. Made of",
        "`glossary.toml` by `python -m tools.glossary`.",
        "",
        "| word | what it says | builds on | lesson |",
        "|---|---|---|---|",
    ]
    for term in sorted(terms, key=lambda t: t.name.lower()):
        place = places[term.bold.lower()]
        at = f"[{term.lesson}]({place.file}#{anchor_of(place.section)}) {place.section}"
        lines.append(f"| **{term.name}** | {term.says} | {', '.join(term.needs)} | {at} |")
    lines += [
        "",
        "## The map",
        "",
        "An arrow goes from a word to each that builds on it; below the word stands its lesson.",
        "Words of an earlier part are gray.",
    ]
    for name, title, _ in PARTS:
        lines += ["", f"### {title}", "", f"![Map of words: {title}](images/concepts/{name}.svg)"]
    return "\n".join(lines) + "\n"


def concept_map(terms: Sequence[Term], lessons: Sequence[int]) -> str:
    """SVG of the words of some lessons, and of the earlier ones that they build on.

    It is the graph view's own picture: to it each word is an operation, whose inputs are the words
    that it needs, and a word of another part a constant, which is gray.
    """
    from dataflow_widgets.static.draw import graph_svg

    own = [term for term in terms if term.lesson in lessons]
    needed = {need for term in own for need in term.needs}
    nodes: list[dict[str, Any]] = []
    for term in terms:
        where = f"lesson {term.lesson}"
        if term.lesson in lessons and (term.needs or term.name in needed):
            node = {"op": where, "inputs": [f"{n}:0" for n in term.needs], "outputs": []}
            nodes.append({"name": term.name, **node})
        elif term.name in needed:
            node = {"op": "Const", "value": where, "inputs": [], "outputs": []}
            nodes.append({"name": term.name, **node})
    return graph_svg(nodes, direction="right", limit=len(nodes) + 1, whole=True)


def main() -> int:
    try:
        terms = read_terms(SOURCE.read_text(encoding="utf-8"))
        places = bold_places()
        if wrong := misplaced(terms, places):
            raise GlossaryError("\n  ".join(wrong))
    except (GlossaryError, tomllib.TOMLDecodeError) as e:
        print(f"glossary: {e}", file=sys.stderr)
        return 1
    PAGE.write_text(page(terms, places), encoding="utf-8")
    MAPS.mkdir(parents=True, exist_ok=True)
    for name, _, lessons in PARTS:
        (MAPS / f"{name}.svg").write_text(concept_map(terms, list(lessons)), encoding="utf-8")
    print(f"{len(terms)} words in {PAGE.name}, {len(PARTS)} maps in {MAPS.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
