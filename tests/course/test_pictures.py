"""Whole figures of lessons in one call: what is in them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pytest

from dataflow.course import pictures

_SVG = "{http://www.w3.org/2000/svg}"


def texts(shown: Any) -> list[str]:
    tree = ElementTree.fromstring(shown.svg)
    return [node.text or "" for node in tree.iter(f"{_SVG}text")]


def charts_of(shown: Any) -> list[ElementTree.Element]:
    """The axes of each chart; the figure itself is an svg, too."""
    return list(ElementTree.fromstring(shown.svg).findall(f".//{_SVG}svg"))


def test_lines_have_labels_a_scale_and_the_words() -> None:
    shown = pictures.lines(
        {"small": [1, 10, 100], "large": ([0, 2], [5, 5])},
        "Two lines that cross",
        looks=["o-", "s--"],
        log="y",
        xlabel="step",
        ylabel="loss",
        title="both",
    )
    assert {"small", "large", "step", "loss", "both", "10"} <= set(texts(shown))
    assert "Two lines that cross" in shown.svg
    assert repr(shown) == "[figure: Two lines that cross]"


def test_one_line_has_no_legend_and_a_place_is_marked() -> None:
    plain = pictures.lines({"loss": [3, 2, 1]}, "The loss falls")
    marked = pictures.lines({"loss": [3, 2, 1]}, "The loss falls", places={"x": 1, "y": 2})
    assert "loss" not in texts(plain)
    assert len(list(charts_of(marked)[0])) == len(list(charts_of(plain)[0])) + 2


def test_charts_beside_each_other_have_their_titles_and_one_legend() -> None:
    panels = [{"seen": [2, 1], "new": [2, 3]}, {"seen": [2, 1], "new": [2, 1]}]
    shown = pictures.lines(panels, "Two charts side by side", title=["few", "all"], ylabel="loss")
    found = texts(shown)
    assert [found.count(word) for word in ("few", "all", "seen", "new", "loss")] == [1] * 5
    apart = pictures.lines(panels, "Two charts side by side", sharey=False, ylabel="loss")
    assert texts(apart).count("loss") == 2
    assert len(charts_of(shown)) == 2


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: pictures.lines({"a": ([1, 2], [1])}, "One point too few"), "the same length"),
        (lambda: pictures.lines({"a": [1]}, "short"), "in words"),
        (lambda: pictures.images([], "No image at all"), "rows and columns"),
        (lambda: pictures.images([[1, 2]], "No image either"), "an image"),
    ],
)
def test_what_cannot_be_drawn_is_refused(make: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()


def test_images_stand_in_a_row_with_places_that_stay_empty() -> None:
    shown = pictures.images(np.zeros([2, 3, 3]), "Two black squares", titles=[4, 7], places=3)
    assert {"4", "7"} <= set(texts(shown))
    assert len(charts_of(shown)) == 3
    assert shown.svg.count("data:image/png") == 2


def test_images_have_axes_where_they_have_labels() -> None:
    bare = pictures.images([np.eye(4)], "A diagonal line")
    told = pictures.images([np.eye(4)], "A diagonal line", labels=("looks at", "looks"))
    assert "looks at" in texts(told)
    assert texts(bare) == []


def test_walks_go_over_lines_of_equal_height() -> None:
    ways = {"short": [[1, 1], [0.5, 0.5]], "long": [[1, 1], [-1, -1], [2, 2]]}
    shown = pictures.walks(
        lambda u, v: u**2 + v**2 + 1,
        ways,
        "Two walks into a bowl",
        middle=[0, 0],
        side=3,
        labels=("left", "right"),
    )
    assert [texts(shown).count(word) for word in ("short", "long", "left", "right")] == [1, 1, 2, 1]
    paths = [path.attrib["d"] for path in charts_of(shown)[1].iter(f"{_SVG}path")]
    assert max(len(re.findall(r"[ML]", path)) for path in paths) > 20  # a line of equal height
    assert any(len(re.findall(r"[ML]", path)) == 3 for path in paths)  # the way


def test_pipelines_say_when_they_are_done() -> None:
    found = texts(pictures.pipelines([1, 4], "Two ways to fill two workers"))
    assert {"1 piece: done at 2", "4 pieces: done at 1.25", "worker 1", "time"} <= set(found)
    assert found.count("4") >= 2
