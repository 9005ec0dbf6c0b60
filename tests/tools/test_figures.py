"""The figures of the seeds: stored as they are drawn, whole, and described where they are shown."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from tests.lessons.notebooks import LESSONS, ROOT, read
from tools.figures import FIGURES, FOLDER

PAGE = (ROOT / "lessons" / "background.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FIGURES)
def test_a_stored_figure_is_what_its_function_draws(name: str) -> None:
    drawn = FIGURES[name]()
    stored = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert stored == drawn, "run python -m tools.figures and commit what it writes"
    root = ElementTree.fromstring(drawn)
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    title = root.findtext("{http://www.w3.org/2000/svg}title")
    assert f"![{title}](images/seeds/{name}.svg)" in PAGE
    for text in root.iter("{http://www.w3.org/2000/svg}text"):
        words, x, y = text.text or "", float(text.get("x", 0)), float(text.get("y", 0))
        half = 3.2 * len(words) if "end" not in text.get("style", "") else 0
        assert half <= x <= width - half and 10 <= y <= height - 4, words


def test_the_picture_of_a_convolution_computes_it() -> None:
    shown = re.findall(r"class='b'>(\d+)<", FIGURES["convolution_and_pooling"]())
    numbers = [int(n) for n in shown]
    assert len(numbers) == 36 + 9 + 16 + 4
    image, sums, pooled = numbers[:36], numbers[45:61], numbers[61:]
    assert sums[0] == image[0] + image[2] + image[7] + image[12] + image[14]
    assert pooled[3] == max(sums[10], sums[11], sums[14], sums[15])


def test_nothing_is_drawn_that_no_page_shows() -> None:
    assert {path.stem for path in FOLDER.glob("*.svg")} == set(FIGURES)
    shown = re.findall(r"images/seeds/(\w+)\.svg", PAGE)
    assert sorted(shown) == sorted(FIGURES)


def test_lessons_that_the_page_names_exist() -> None:
    named = {int(n) for n in re.findall(r"lessons? (\d+)", PAGE)}
    assert named <= {int(path.name[:2]) for path in LESSONS}


def test_pictures_that_lessons_show_are_there() -> None:
    shown = {
        name
        for path in LESSONS
        for cell in read(path).cells
        if cell.cell_type == "markdown"
        for name in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", cell.source)
    }
    assert {f"images/seeds/{n}.svg" for n in ("iris", "neuron", "kim", "lstm")} <= shown
    assert [name for name in shown if not (ROOT / "lessons" / name).is_file()] == []
