"""Whole figures of the lessons in one call, so that a lesson's cell says what is shown and not how it is drawn.

    pictures.lines({"NCE": (sizes, nce), "softmax": (sizes, full)}, "The time of a step ...",
                   looks=["o-", "s--"], log="xy", xlabel="words", ylabel="milliseconds for a step")

What is seldom drawn is drawn with `dataflow.course.charts`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dataflow.course import charts
from dataflow.course.figures import Chart, Figure, figure

#: Labels to ``y`` or to ``(x, y)``, the lines of one chart.
Lines = Mapping[str, Any]


def lines(
    series: Lines | Sequence[Lines],
    alt: str,
    *,
    looks: Sequence[str] = (),
    log: str = "",
    size: tuple[float, float] | None = None,
    title: str | Sequence[str] = "",
    places: Mapping[str, float] | None = None,
    linewidth: float = 1.6,
    markersize: float = 5,
    alpha: float = 1,
    sharey: bool = True,
    **options: Any,
) -> Figure | Chart:
    """Lines or points in one chart, or in a chart for each mapping of a list, side by side.

    ``series`` maps labels to ``y`` or to a tuple ``(x, y)``. ``looks`` are formats such as ``"o--"``, in the order of
    the series; ``log`` names the axes that are logarithmic; ``places`` marks ``{"x": 40}`` or ``{"y": 80}`` by a line.
    Several charts have one axis of y, if ``sharey``. Other ``options`` are those of `charts.Axes.set` (``xlabel=``,
    ``ylim=``, ...), of every chart. A chart with two series or more has a legend; of several charts with the same
    series only the first.

    Raises `ValueError` for an ``alt`` of less than two words and for arrays of two lengths, and `TypeError` for an
    option that `charts.Axes.set` lacks.
    """
    panels = [series] if isinstance(series, Mapping) else list(series)
    several = len(panels) > 1
    fig, axes = charts.subplots(
        1, len(panels), figsize=size or ((11, 3.4) if several else (6, 3)), sharey=sharey
    )
    titles = [title] if isinstance(title, str) else title
    for number, (ax, panel) in enumerate(zip(_listed(axes), panels, strict=True)):
        for i, (label, data) in enumerate(panel.items()):
            given = data if isinstance(data, tuple) else (data,)
            look = [looks[i]] if i < len(looks) else []
            ax.plot(
                *given,
                *look,
                label=label,
                linewidth=linewidth,
                markersize=markersize,
                alpha=alpha,
            )
        ax.set(**{f"{axis}scale": "log" for axis in log}, **options)
        for axis, place in (places or {}).items():
            (ax.axvline if axis == "x" else ax.axhline)(place, linestyle=":")
        if number and sharey and "ylabel" in options:
            ax.set_ylabel("")
        if number < len(titles):
            ax.set_title(titles[number])
        if len(panel) > 1 and (not number or list(panel) != list(panels[0])):
            ax.legend()
    return figure(fig, alt)


def images(
    pictures: Sequence[Any],
    alt: str,
    *,
    titles: Sequence[Any] = (),
    cmap: str = "gray_r",
    ends: tuple[float, float] | None = None,
    size: tuple[float, float] | None = None,
    places: int | None = None,
    labels: tuple[str, str] | None = None,
) -> Figure | Chart:
    """Images [height, width] in a row, each below its title.

    ``ends`` are the numbers at the two ends of the colors (default: each image has its own), ``places`` how many
    images there is room for (default: as many as there are), and ``labels`` the words at the axes of x and y, which
    are not drawn without them. Raises `ValueError` for anything but an image, and where there is no place.
    """
    room = len(pictures) if places is None else places
    fig, axes = charts.subplots(1, room, figsize=size or (min(11, 0.9 * room), 1.5))
    low, high = ends or (None, None)
    for ax in _listed(axes):
        if labels is None:
            ax.axis("off")
    for number, (ax, image) in enumerate(zip(_listed(axes), pictures, strict=False)):
        ax.imshow(image, cmap=cmap, vmin=low, vmax=high)
        if number < len(titles):
            ax.set_title(titles[number])
        if labels is not None:
            ax.set(xlabel=labels[0], ylabel="" if number else labels[1])
    return figure(fig, alt)


def walks(
    height: Callable[[Any, Any], Any],
    ways: Mapping[str, Any],
    alt: str,
    *,
    middle: Any,
    side: float,
    labels: tuple[str, str],
) -> Figure | Chart:
    """Walks over a landscape of two numbers: a chart with lines of equal height for each of ``ways``.

    ``height(u, v)`` takes float64 [n, n] twice and returns the heights there; ``ways`` maps titles to places
    [steps, 2]; ``middle`` [2], where the landscape is lowest, is marked by a star, and is ``side`` away from the edges.
    """
    middle = np.asarray(middle, np.float64).reshape(2)
    grid = np.linspace(-side, side, 60)
    u, v = np.meshgrid(grid + middle[0], grid + middle[1])
    heights = np.asarray(height(u, v)).reshape(u.shape)
    lowest = float(np.asarray(height(*middle[:, None, None])).item())
    levels = [lowest * (1 + float(part)) for part in np.geomspace(0.0005, 3, 14)]
    fig, axes = charts.subplots(1, len(ways), figsize=(12, 4), sharey=True)
    for number, (ax, (title, way)) in enumerate(zip(_listed(axes), ways.items(), strict=True)):
        ax.contour(u, v, heights, levels)
        ax.plot(middle[:1], middle[1:], "k*", markersize=12)
        ax.plot(*np.asarray(way).T, "o-", markersize=3, linewidth=1)
        ends = {f"{axis}lim": (m - side, m + side) for axis, m in zip("xy", middle, strict=True)}
        ax.set(title=title, xlabel=labels[0], ylabel="" if number else labels[1], **ends)
    return figure(fig, alt)


def pipelines(pieces: Sequence[int], alt: str) -> Figure | Chart:
    """When two workers, one behind the other, compute a batch of one unit of time, whole or in ``pieces``.

    A chart for each number of ``pieces``: the pieces are bars with their numbers, in a lane for each worker.
    """
    fig, axes = charts.subplots(len(pieces), 1, figsize=(6.4, 1.5 * len(pieces)), sharex=True)
    for ax, num in zip(_listed(axes), pieces, strict=True):
        for k in range(num):
            for worker in (0, 1):
                start = (k + worker) / num
                ax.barh(-worker, 1 / num, left=start, color="0.5" if worker else "0.8")
                ax.text(start + 0.5 / num, -worker, str(k + 1))
        ax.set_yticks([0, -1], ["worker 0", "worker 1"])
        ax.set_title(f"{num} piece{'s' * (num > 1)}: done at {(num + 1) / num:g}")
    _listed(axes)[-1].set_xlabel("time")
    return figure(fig, alt)


def _listed(axes: Any) -> list[charts.Axes]:
    return axes if isinstance(axes, list) else [axes]
