"""lessons/coverage.md: each of its rows names a section that exists, and words that stand in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.lessons.notebooks import ROOT, read

PAGE = (ROOT / "lessons" / "coverage.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in PAGE.splitlines()
    if re.match(r"\| \d", line)
]


def sections(path: Path) -> dict[str, str]:
    """Heading of second or third level -> its text on one line; of a notebook, code as well."""
    if path.suffix == ".ipynb":
        parts = [(c.cell_type == "markdown", c.source) for c in read(path).cells]
    else:
        parts = [(True, path.read_text(encoding="utf-8"))]
    found: dict[str, list[str]] = {}
    title = ""
    for is_text, source in parts:
        for piece in re.split(r"^(?=## )", source, flags=re.M) if is_text else [source]:
            head = re.match(r"## (.+)", piece)
            title = head[1].strip() if head and is_text else title
            found.setdefault(title, []).append(piece)
    return {name: " ".join(" ".join(texts).split()) for name, texts in found.items()}


def missing(item: str, file: str, section: str, words: str) -> str:
    """What is wrong with a row, or nothing."""
    path = ROOT / "lessons" / file
    if not path.is_file():
        return f"{item}: there is no {file}"
    text = sections(path).get(section)
    if text is None:
        return f"{item}: {file} has no section {section!r}"
    return "" if words in text else f"{item}: {words!r} does not stand in {section!r} of {file}"


def test_every_item_is_where_the_table_says() -> None:
    found = [missing(row[0], re.findall(r"\[(.*?)\]", row[3])[0], row[4], row[5]) for row in ROWS]
    assert [problem for problem in found if problem] == []


def test_the_numbers_of_the_page_are_those_of_its_table() -> None:
    assert len({row[0] for row in ROWS}) == len(ROWS) == 113
    files = [re.findall(r"\[(.*?)\]", row[3])[0] for row in ROWS]
    counts = {
        f"and {files.count('background.md')} only as words",
        f"{files.count('seeds.ipynb')} as a listing",
        f"{sum(f[:2].isdigit() for f in files)} in a lesson",
    }
    assert [told for told in counts if told not in PAGE] == []


@pytest.mark.parametrize(
    ("file", "section", "words", "problem"),
    [
        ("99_none.ipynb", "Names", "x", "there is no"),
        ("01_graphs.ipynb", "Manes", "x", "no section"),
        ("01_graphs.ipynb", "Names", "words of nobody", "does not stand"),
        ("01_graphs.ipynb", "Names", "Names are unique", ""),
    ],
)
def test_what_is_gone_is_found(file: str, section: str, words: str, problem: str) -> None:
    told = missing("1", file, section, words)
    assert (problem in told) if problem else told == ""
