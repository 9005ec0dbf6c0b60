"""Charts of the lessons, as pictures that follow the page's theme: no library, nothing to install.

The names are those of matplotlib's axes, as far as the lessons need them::

    fig, ax = charts.subplots(figsize=(6, 3))
    ax.semilogy(losses, "o--", label="loss")
    ax.set(xlabel="step", ylabel="loss")
    ax.legend()
    figure(fig, "The loss falls from 2.3 to 0.1.")

Text and axes have the color of the text around the picture; series have colors that are read on light and on dark.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: Of about the same contrast against white and against nearly black.
PALETTE = ("#3a7fc4", "#d8752a", "#33995a", "#cf4f52", "#8d6bc2", "#9a6a52", "#c65fa8", "#7c8794")
INK = "currentColor"
_LETTERS = {"k": INK, "black": INK, "b": PALETTE[0], "g": PALETTE[2], "r": PALETTE[3]}
MARKERS = "o.s^vx+*d"
LINES = {"-": "", "--": "6 4", "-.": "7 3 2 3", ":": "2 3", "": None}


@dataclass
class Series:
    """A line, points, or both; ``x`` and ``y`` of float64 [n]. ``dash`` is None where there is no line."""

    x: np.ndarray
    y: np.ndarray
    color: str
    dash: str | None = ""
    marker: str = ""
    label: str = ""
    width: float = 1.6
    size: float = 6
    opacity: float = 1
    hollow: bool = False


@dataclass
class Bars:
    """Rectangles, each (left, bottom, width, height)."""

    boxes: np.ndarray
    color: str
    label: str = ""
    opacity: float = 1


@dataclass
class Axes:
    """One chart of a figure; `subplots` makes it."""

    series: list[Series] = field(default_factory=list)
    bars: list[Bars] = field(default_factory=list)
    rules: list[tuple[str, float, Series]] = field(default_factory=list)
    words: list[tuple[float, float, str]] = field(default_factory=list)
    image: tuple[np.ndarray, str, float, float] | None = None
    labels: dict[str, str] = field(default_factory=dict)
    scales: dict[str, str] = field(default_factory=lambda: {"x": "linear", "y": "linear"})
    limits: dict[str, tuple[float | None, float | None]] = field(default_factory=dict)
    ticks: dict[str, tuple[list[float], list[str]]] = field(default_factory=dict)
    inverted: set[str] = field(default_factory=set)
    has_legend: bool = False
    is_off: bool = False
    _num_colored: int = 0

    def plot(
        self,
        *data: Any,
        label: str = "",
        color: str | None = None,
        linewidth: float = 1.6,
        markersize: float = 6,
        linestyle: str | None = None,
        drawstyle: str = "default",
        alpha: float = 1,
        markevery: int = 1,
        hollow: bool = False,
    ) -> None:
        """Draws ``plot(y)`` or ``plot(x, y)``, each with a format such as ``"o--"`` or ``"C1s"`` behind it.

        With ``markevery=n`` only each n-th point is drawn, its line too. Raises `ValueError` for arrays of two
        lengths, and for a format, line or color that there is none of.
        """
        given = list(data)
        style = given.pop() if given and isinstance(given[-1], str) else ""
        if len(given) not in (1, 2):
            raise ValueError(f"plot takes y or x, y and a format; got {len(given)} arrays")
        y = _numbers(given[-1])
        x = _numbers(given[0]) if len(given) == 2 else np.arange(len(y), dtype=np.float64)
        if len(x) != len(y):
            raise ValueError(f"plot needs x and y of the same length; got {len(x)} and {len(y)}")
        wanted, marker, line = _format(style)
        if linestyle is not None:
            line = linestyle
        elif not line and not marker:
            line = "-"
        if line not in LINES:
            raise ValueError(f"a line is one of {', '.join(filter(None, LINES))}; got {line!r}")
        chosen, fainter = self._color(color or wanted)
        x, y = _stepped(x, y, drawstyle)
        self.series.append(
            Series(
                x[::markevery],
                y[::markevery],
                color=chosen,
                dash=LINES[line],
                marker=marker,
                label=label,
                width=linewidth,
                size=markersize,
                opacity=alpha * fainter,
                hollow=hollow,
            )
        )

    def scatter(self, x: Any, y: Any, label: str = "", color: str | None = None) -> None:
        """Points."""
        self.plot(x, y, "o", label=label, color=color)

    def step(self, x: Any, y: Any, where: str = "pre", label: str = "") -> None:
        """A line of steps, each ending at ("pre") or around ("mid") its x."""
        self.plot(x, y, label=label, drawstyle="steps" if where == "pre" else f"steps-{where}")

    def semilogx(self, *data: Any, **look: Any) -> None:
        """`plot`, with a logarithmic axis of x."""
        self.scales["x"] = "log"
        self.plot(*data, **look)

    def semilogy(self, *data: Any, **look: Any) -> None:
        """`plot`, with a logarithmic axis of y."""
        self.scales["y"] = "log"
        self.plot(*data, **look)

    def loglog(self, *data: Any, **look: Any) -> None:
        """`plot`, with two logarithmic axes."""
        self.scales["x"] = "log"
        self.semilogy(*data, **look)

    def bar(self, x: Any, height: Any, width: float = 0.8, label: str = "") -> None:
        """Bars from zero, in the middle above each ``x``: numbers, or names."""
        names = [str(one) for one in x]
        if any(isinstance(one, str) for one in x):
            self.ticks["x"] = ([float(i) for i in range(len(names))], names)
            x = range(len(names))
        x, height = _numbers(x), _numbers(height)
        boxes = np.stack([x - width / 2, 0 * x, 0 * x + width, height], axis=1)
        self.bars.append(Bars(boxes, self._color(None)[0], label))

    def barh(
        self,
        y: Any,
        width: Any,
        left: Any = 0,
        height: float = 0.8,
        color: str | None = None,
        label: str = "",
    ) -> None:
        """Bars to the right from ``left``, around each ``y``."""
        y, width, left = np.broadcast_arrays(*map(_numbers, (y, width, left)))
        boxes = np.stack([left, y - height / 2, width, 0 * y + height], axis=1)
        self.bars.append(Bars(boxes, *self._look(color, label)))

    def hist(self, values: Any, bins: Any = 10, label: str = "") -> None:
        """How many of ``values`` fall into each of ``bins`` (a number, or the edges)."""
        counts, edges = np.histogram(_numbers(values), bins)
        boxes = np.stack([edges[:-1], 0.0 * counts, np.diff(edges), counts], axis=1)
        self.bars.append(Bars(boxes, *self._look(None, label, 0.75)))

    def imshow(
        self, image: Any, cmap: str = "gray_r", vmin: float | None = None, vmax: float | None = None
    ) -> None:
        """Numbers [height, width] as colors; ``vmin`` and ``vmax`` are the ends (default: of the image)."""
        values = np.asarray(image, dtype=np.float64)
        if values.ndim != 2 or not values.size:
            raise ValueError(f"imshow needs an image [height, width]; got shape {values.shape}")
        low = float(np.nanmin(values)) if vmin is None else float(vmin)
        high = float(np.nanmax(values)) if vmax is None else float(vmax)
        self.image = (values, cmap, low, high)

    def contour(self, x: Any, y: Any, z: Any, levels: Sequence[float]) -> None:
        """Lines of equal height of ``z`` [rows, columns] at ``x`` and ``y`` of its shape; low ones are darker."""
        from dataflow.course.contours import contour_line

        for i, level in enumerate(levels):
            way = contour_line(np.asarray(x), np.asarray(y), np.asarray(z), float(level))
            faint = 0.8 - 0.55 * i / max(1, len(levels) - 1)
            self.series.append(Series(*way, INK, width=0.9, opacity=faint))

    def axvline(self, x: float, label: str = "", **look: Any) -> None:
        """A line from bottom to top."""
        self._rule("x", x, label, **look)

    def axhline(self, y: float, label: str = "", **look: Any) -> None:
        """A line from left to right."""
        self._rule("y", y, label, **look)

    def text(self, x: float, y: float, words: str) -> None:
        """Words, with their middle at (x, y)."""
        self.words.append((float(x), float(y), words))

    def legend(self) -> None:
        """Shows the labels, above the chart: they hide nothing there."""
        self.has_legend = True

    def axis(self, what: str) -> None:
        """``axis("off")`` leaves the axes out."""
        if what != "off":
            raise ValueError(f'only axis("off") is supported; got {what!r}')
        self.is_off = True

    def set(self, **options: Any) -> None:
        """``xlabel, ylabel, title, xlim, ylim, xscale, yscale``, each as ``set_...`` takes it."""
        for name, value in options.items():
            if name in ("xscale", "yscale"):
                if value not in ("linear", "log"):
                    raise ValueError(f"{name} must be 'linear' or 'log'; got {value!r}")
                self.scales[name[0]] = value
            elif name in ("xlim", "ylim"):
                self._limit(name[0], *value)
            elif name in ("xlabel", "ylabel", "title"):
                self.labels[name] = str(value)
            else:
                raise TypeError(
                    f"set() takes the labels, limits and scales of x and y; got {name!r}"
                )

    def set_title(self, text: Any) -> None:
        """Words above the chart."""
        self.set(title=text)

    def set_xlabel(self, text: Any) -> None:
        """Words below the axis of x."""
        self.set(xlabel=text)

    def set_ylabel(self, text: Any) -> None:
        """Words beside the axis of y."""
        self.set(ylabel=text)

    def set_xlim(self, left: float | None = None, right: float | None = None) -> None:
        """The ends of x; None: as the data."""
        self._limit("x", left, right)

    def set_ylim(self, bottom: float | None = None, top: float | None = None) -> None:
        """The ends of y; None: as the data."""
        self._limit("y", bottom, top)

    def set_xticks(self, at: Sequence[float], names: Sequence[str]) -> None:
        """Names at places of x."""
        self.ticks["x"] = ([float(v) for v in at], list(names))

    def set_yticks(self, at: Sequence[float], names: Sequence[str]) -> None:
        """Names at places of y."""
        self.ticks["y"] = ([float(v) for v in at], list(names))

    def invert_xaxis(self) -> None:
        """Large numbers on the left."""
        self.inverted ^= {"x"}

    def _limit(self, axis: str, low: Any, high: Any) -> None:
        # Of arrays with one number, too, as indexing gives them.
        ends = [None if end is None else float(np.asarray(end).item()) for end in (low, high)]
        self.limits[axis] = (ends[0], ends[1])

    def _look(self, color: str | None, label: str, opacity: float = 1.0) -> tuple[str, str, float]:
        chosen, fainter = self._color(color)
        return chosen, label, opacity * fainter

    def _rule(
        self,
        axis: str,
        at: float,
        label: str,
        color: str = "gray",
        linestyle: str = "-",
        linewidth: float = 1.2,
    ) -> None:
        chosen, faint = self._color(color)
        none = np.empty(0)
        look = Series(
            none, none, chosen, LINES[linestyle], label=label, width=linewidth, opacity=faint
        )
        self.rules.append((axis, float(at), look))

    def _color(self, wanted: str | None) -> tuple[str, float]:
        """A color of SVG and its opacity: a letter, "C" and a number, "gray", a gray such as "0.75", "#rrggbb"."""
        if wanted is None:
            self._num_colored += 1
            return PALETTE[(self._num_colored - 1) % len(PALETTE)], 1
        if wanted in _LETTERS:
            return _LETTERS[wanted], 1
        if re.fullmatch(r"C\d", wanted):
            return PALETTE[int(wanted[1]) % len(PALETTE)], 1
        if re.fullmatch(r"#[0-9a-fA-F]{6}", wanted):
            return wanted, 1
        if re.fullmatch(r"0?\.\d+", wanted):  # a part of the ink: so it is a gray on any page
            return INK, 1 - float(wanted)
        if wanted == "gray":
            return INK, 0.55
        raise ValueError(f"no color {wanted!r}; use C0 to C7, k, b, g, r, gray, 0.75 or #rrggbb")


@dataclass
class ChartFigure:
    """Charts in rows; ``size`` in inches of 80 pixels. `dataflow.course.figure` shows it."""

    rows: list[list[Axes]]
    size: tuple[float, float]
    sharex: bool
    sharey: bool

    def to_svg(self, alt: str) -> str:
        """The picture, with ``alt`` for who cannot see it."""
        from dataflow.course.chart_svg import svg

        return svg(self, alt)


def subplots(
    nrows: int = 1,
    ncols: int = 1,
    figsize: tuple[float, float] = (6, 3),
    sharex: bool = False,
    sharey: bool = False,
) -> tuple[ChartFigure, Any]:
    """A figure and its charts: one `Axes`, a list where there is one row or one column, else a list of rows."""
    if nrows < 1 or ncols < 1:
        raise ValueError(f"a figure has rows and columns; got {nrows} by {ncols}")
    rows = [[Axes() for _ in range(ncols)] for _ in range(nrows)]
    made = ChartFigure(rows, figsize, sharex, sharey)
    if nrows == ncols == 1:
        return made, rows[0][0]
    if nrows == 1:
        return made, rows[0]
    return made, [row[0] for row in rows] if ncols == 1 else rows


def _numbers(values: Any) -> np.ndarray:
    found = np.asarray(values if hasattr(values, "__array__") else _listed(values), np.float64)
    return found.reshape(-1) if found.size != 1 else found.reshape(1)


def _listed(values: Any) -> Any:
    return list(values) if hasattr(values, "__iter__") else values


def _format(style: str) -> tuple[str | None, str, str]:
    """Color, marker and line of a format such as ``"C0s--"``."""
    line = next((one for one in ("--", "-.", "-", ":") if one in style), "")
    rest = style.replace(line, "", 1) if line else style
    color = re.search(r"C\d|[kbgr]", rest)
    rest = rest.replace(color[0], "", 1) if color else rest
    if len(rest) > 1 or rest not in MARKERS:
        raise ValueError(
            f"a format is a color (k, C1), a marker ({' '.join(MARKERS)}) and a line; got {style!r}"
        )
    return color[0] if color else None, rest, line


def _stepped(x: np.ndarray, y: np.ndarray, drawstyle: str) -> tuple[np.ndarray, np.ndarray]:
    if drawstyle == "default" or len(x) < 2:
        return x, y
    if drawstyle == "steps":
        return np.repeat(x, 2)[:-1], np.repeat(y, 2)[1:]
    if drawstyle == "steps-mid":
        middle = (x[1:] + x[:-1]) / 2
        return np.concatenate([x[:1], np.repeat(middle, 2), x[-1:]]), np.repeat(y, 2)
    raise ValueError(f"drawstyle is 'default', 'steps' or 'steps-mid'; got {drawstyle!r}")
