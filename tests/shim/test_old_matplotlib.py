"""What programs called of matplotlib before 3.1, 3.9 and 3.10."""

from __future__ import annotations

import pytest

from tests.shim.test_as_tensorflow import result_of


@pytest.mark.parametrize("order", ["before", "after"])
def test_names_that_matplotlib_took_away(order) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    load = """
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt, matplotlib.cm as cm
"""
    begin = "import dataflow\ndataflow.as_tensorflow()\n"
    found = result_of(
        (load + begin if order == "before" else begin + load)
        + """
import numpy as np
figure = plt.figure(figsize=(2, 1), dpi=50)
plt.plot([1, 2])
pixels = np.fromstring(figure.canvas.tostring_rgb(), dtype=np.uint8, sep="")
figure.canvas.draw()
again = np.fromstring(figure.canvas.tostring_rgb(), dtype=np.uint8, sep="").reshape(50, 100, 3)
heights, edges, _ = plt.hist([1.0, 2.0, 2.0], normed=True, bins=2)
counts = plt.hist([1.0, 2.0, 2.0], bins=2, density=False)[0]
contours = plt.contour(np.arange(9).reshape(3, 3))
before = len(plt.gca().get_children())
for collection in contours.collections:
    collection.remove()
result = [pixels.size, bool((again < 255).any()), float((heights * np.diff(edges)).sum()), counts.tolist(),
    before - len(plt.gca().get_children()), cm.get_cmap("viridis", 5).N, plt.cm.get_cmap("jet").name]
"""
    )
    assert found == [15000, True, 1.0, [1.0, 2.0], 1, 5, "jet"]


def test_nobody_presses_a_key_in_a_figure_without_a_window() -> None:
    """``plt.waitforbuttonpress()``, with which programs keep their window open, waited for ever."""
    program = """
import dataflow
dataflow.as_tensorflow()
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
plt.plot([1, 2])
result = [plt.waitforbuttonpress(), plt.ginput(1, timeout=0), plt.waitforbuttonpress(timeout=0.02)]
"""
    assert result_of(program) == [None, [], None]


def test_ticks_with_more_or_fewer_labels_than_there_are() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow()
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
plt.xticks([1, 2, 3], ["a", "b"])
plt.yticks([1, 2], ["a", "b", "c"], rotation=30)
axes = plt.gca()
result = [[label.get_text() for label in labels] for labels in (axes.get_xticklabels(), axes.get_yticklabels())]
plt.xticks([1, 2], [])
result += [len(axes.get_xticks()), [label.get_text() for label in axes.get_xticklabels()]]
"""
    )
    assert found == [["a", "b", ""], ["a", "b"], 2, ["", ""]]


def test_a_subplot_by_its_digits_as_text() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    program = """
import dataflow
dataflow.as_tensorflow()
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
figure = plt.figure()
spec = figure.add_subplot("223").get_subplotspec()
result = [spec.get_gridspec().get_geometry(), spec.num1, figure.add_subplot(2, 2, 1).get_subplotspec().num1]
"""
    assert [*result_of(program)] == [[2, 2], 2, 0]


def test_lines_are_taken_out_of_the_axes_list() -> None:
    """``axes.lines.remove(line)`` before the next one is drawn, as animations of a fit do, inside ``try``, too."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    program = """
import dataflow
dataflow.as_tensorflow()
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
axes = plt.figure().add_subplot(1, 1, 1)
first, second, third = [axes.plot([1, i])[0] for i in range(3)]
axes.lines.remove(first)
result = [len(axes.lines), axes.lines.pop() is third, len(axes.lines)]
try:
    axes.lines.remove(first)
except ValueError as error:
    result.append("list.remove(x)" in str(error))
axes.plot([1]); axes.plot([2])
del axes.lines[0]
result.append(len(axes.lines))
axes.lines.clear()
result.append(len(axes.lines))
"""
    assert result_of(program) == [2, True, 1, True, 2, 0]


def test_axes_in_space_and_arguments_of_their_time() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    program = """
import dataflow, io
dataflow.as_tensorflow()
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
from mpl_toolkits.mplot3d import Axes3D
figure = plt.figure()
space = figure.gca(projection="3d")
result = [space.name, plt.gca(projection="3d") is space, plt.gca() is space, len(figure.axes)]
second = plt.figure()
axes = Axes3D(second)
result += [second.axes == [axes], axes.w_yaxis is axes.yaxis, plt.gca() is axes]
third = plt.figure()
third.add_subplot(1, 1, 1, projection="3d")
Axes3D(third, auto_add_to_figure=False)
result.append(len(third.axes))
plt.figure()
plt.style.use("seaborn-whitegrid")
plt.plot([1, 2], label="a")
plt.grid(b=True)
result += [len(plt.legend().legendHandles), len(plt.boxplot([[1, 2]], labels=["x"])["boxes"])]
plt.stem([1, 2], use_line_collection=True)
plt.gcf().canvas.set_window_title("a window's")
plt.tight_layout(1.5)
plt.savefig(io.BytesIO(), papertype=None, frameon=False)
"""
    assert result_of(program) == ["3d", True, True, 1, True, True, True, 1, 1, 1]
