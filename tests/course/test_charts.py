"""Charts of the lessons: what is drawn where, and what is refused."""

from __future__ import annotations

import base64
import re
import struct
import xml.etree.ElementTree as ElementTree
import zlib
from typing import Any

import numpy as np
import pytest

from dataflow.course import charts, figure
from dataflow.course.chart_svg import nice_step, short
from dataflow.course.contours import contour_line

_SVG = "{http://www.w3.org/2000/svg}"


def drawn(made: charts.ChartFigure) -> ElementTree.Element:
    return ElementTree.fromstring(made.to_svg("a chart of a test"))


def marks(made: charts.ChartFigure) -> list[ElementTree.Element]:
    """What lies inside of the axes of the first chart."""
    return list(drawn(made).findall(f".//{_SVG}svg")[0])


def texts(made: charts.ChartFigure) -> list[str]:
    return [node.text or "" for node in drawn(made).iter(f"{_SVG}text")]


def points(path: ElementTree.Element) -> np.ndarray:
    return np.array(re.findall(r"[ML]([-.\d]+),([-.\d]+)", path.attrib["d"]), np.float64)


def test_a_line_is_where_its_numbers_are() -> None:
    fig, ax = charts.subplots()
    ax.plot([0, 1, 2], [0, 10, 5])
    (line,) = marks(fig)
    x, y = points(line).T
    np.testing.assert_allclose(x - x[0], (x[2] - x[0]) * np.array([0, 0.5, 1]), atol=0.2)
    np.testing.assert_allclose((y - y[0]) / (y[1] - y[0]), [0, 1, 0.5], atol=0.01)
    assert y[1] < y[0]  # up is small in SVG


def test_logarithmic_axes_make_powers_equidistant_and_leave_gaps_for_the_rest() -> None:
    fig, ax = charts.subplots()
    ax.loglog([1, 10, 100, 1000], [1, 10, 0, 1000])
    (line,) = marks(fig)
    x, y = points(line).T
    np.testing.assert_allclose((x - x[0]) / (x[2] - x[0]), [0, 1 / 3, 1], atol=0.01)
    np.testing.assert_allclose((y - y[0]) / (y[2] - y[0]), [0, 1 / 3, 1], atol=0.01)
    assert line.attrib["d"].count("M") == 2
    with pytest.raises(ValueError, match="begins above zero"):
        ax.set_xlim(0, 5)
        drawn(fig)


def test_formats_give_color_marker_and_line() -> None:
    fig, ax = charts.subplots()
    ax.plot([1, 2], [1, 2], "C1s--")
    ax.plot([1, 2], [1, 2], ".")
    ax.plot([1, 2], [1, 2], "k:", alpha=0.5)
    line, squares, dots, dotted = marks(fig)
    assert line.attrib["stroke"] == squares.attrib["fill"] == charts.PALETTE[1]
    assert line.attrib["stroke-dasharray"] and squares.attrib["d"].count("h") == 4
    assert dots.attrib["fill"] == charts.PALETTE[0] and "a" in dots.attrib["d"]
    assert dotted.attrib["stroke"] == "currentColor" and dotted.attrib["opacity"] == "0.50"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda ax: ax.plot([1, 2], [1]), "the same length"),
        (lambda ax: ax.plot([1], [1], "o?"), "format"),
        (lambda ax: ax.plot([1], [1], [1]), "3 arrays"),
        (lambda ax: ax.plot([1], color="mauve"), "no color 'mauve'"),
        (lambda ax: ax.plot([1], linestyle="~"), "a line is one of"),
        (lambda ax: ax.plot([1, 2], drawstyle="wild"), "drawstyle"),
        (lambda ax: ax.set(xscale="cubic"), "xscale"),
        (lambda ax: ax.imshow([1, 2]), "image"),
        (lambda ax: ax.axis("on"), "off"),
    ],
)
def test_what_cannot_be_drawn_is_said(call: Any, said: str) -> None:
    _, ax = charts.subplots()
    with pytest.raises(ValueError, match=said):
        call(ax)


def test_labels_numbers_and_legend_are_text() -> None:
    fig, ax = charts.subplots()
    ax.plot([0, 4], [0, 4], label="<b>one</b>")
    ax.axhline(3, label="limit")
    ax.set(xlabel="step", ylabel="loss", title="T & Q")
    assert "limit" not in texts(fig)
    ax.legend()
    found = texts(fig)
    assert {"step", "loss", "T & Q", "<b>one</b>", "limit", "0", "4"} <= set(found)


def test_shared_axes_have_one_range_and_one_row_of_numbers() -> None:
    fig, (left, right) = charts.subplots(1, 2, sharey=True)
    left.plot([0, 1], [0, 1])
    right.plot([0, 1], [0, 100])
    first, second = (points(svg[0])[:, 1] for svg in drawn(fig).findall(f".//{_SVG}svg"))
    assert np.ptp(second) == pytest.approx(100 * np.ptp(first), rel=0.1)
    assert texts(fig).count("100") == 1


def test_bars_stand_on_zero_and_a_histogram_counts() -> None:
    fig, (bars, counts, lying) = charts.subplots(1, 3, figsize=(9, 3))
    bars.bar(["a", "b"], [1, 3])
    counts.hist([1, 1, 1, 2], bins=[0.5, 1.5, 2.5])
    lying.barh([0, 1], [2, 1], left=[0, 2])
    panels = drawn(fig).findall(f".//{_SVG}svg")
    for panel in panels[:2]:
        heights = [float(box.attrib["height"]) for box in panel]
        assert max(heights) == pytest.approx(3 * min(heights), rel=0.02)
    a, b = panels[2]
    assert float(b.attrib["x"]) == pytest.approx(
        float(a.attrib["x"]) + float(a.attrib["width"]), abs=0.2
    )
    assert {"a", "b"} <= set(texts(fig))


def test_an_image_has_the_colors_of_its_numbers() -> None:
    fig, ax = charts.subplots()
    ax.imshow([[0, 1, 2], [2, 2, 2]], cmap="gray")
    ax.axis("off")
    (image,) = marks(fig)
    assert float(image.attrib["width"]) / float(image.attrib["height"]) == pytest.approx(1.5, 0.01)
    png = base64.b64decode(image.attrib["href"].split(",")[1])
    assert struct.unpack(">II", png[16:24]) == (3, 2)
    begin = png.index(b"IDAT")
    (size,) = struct.unpack(">I", png[begin - 4 : begin])
    lines = np.frombuffer(zlib.decompress(png[begin + 4 : begin + 4 + size]), np.uint8)
    assert lines.reshape(2, 10)[:, 1::3].tolist() == [[0, 128, 255], [255, 255, 255]]
    assert not texts(fig)


def test_a_contour_of_a_cone_is_a_circle() -> None:
    x, y = np.meshgrid(np.linspace(-2, 2, 41), np.linspace(-2, 2, 41))
    a, b = contour_line(x, y, np.hypot(x, y), 1.5)
    radii = np.hypot(a, b)[np.isfinite(a)]
    assert len(radii) > 100 and abs(radii - 1.5).max() < 0.01
    with pytest.raises(ValueError, match="the same shape"):
        contour_line(x, y, np.ones(3), 1)


def test_steps_hold_a_value_until_the_next() -> None:
    _, (before, around) = charts.subplots(1, 2)
    before.plot([1, 5], drawstyle="steps")
    around.step([0, 1], [1, 5], where="mid")
    assert before.series[0].x.tolist() == [0, 0, 1] and before.series[0].y.tolist() == [1, 5, 5]
    assert around.series[0].x.tolist() == [0, 0.5, 0.5, 1]
    assert around.series[0].y.tolist() == [1, 1, 5, 5]


def test_empty_and_not_a_number_are_drawn_as_nothing() -> None:
    fig, ax = charts.subplots()
    ax.plot([])
    ax.semilogy([np.nan, np.inf])
    drawn(fig)


def test_numbers_of_axes() -> None:
    assert [short(v) for v in (0, 0.5, -20, 1e5, 2e-5)] == ["0", "0.5", "−20", "10⁵", "2·10⁻⁵"]
    assert [nice_step(v) for v in (0.9, 1, 1.1, 3, 7)] == [1, 1, 2, 5, 10]


def test_figure_shows_a_chart_with_its_words() -> None:
    fig, ax = charts.subplots()
    ax.plot([1, 2])
    shown = figure(fig, 'It rises "from 1" to <2>')
    assert 'aria-label="It rises &quot;from 1&quot; to &lt;2&gt;"' in shown._repr_html_()
    assert repr(shown) == '[figure: It rises "from 1" to <2>]'
    with pytest.raises(ValueError, match="what is to be seen"):
        figure(fig, "loss")
