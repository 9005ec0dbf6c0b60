"""Charts as SVG: layout, ticks, marks."""

from __future__ import annotations

import base64
import math
from html import escape

import numpy as np

from dataflow.course.charts import Axes, Bars, ChartFigure, Series
from dataflow.formats.png16 import png_file

_PIXELS = 80  # of an inch
_LETTER = 6.1  # the mean width of a letter at 11 px
_COLORS: dict[str, list[tuple[int, int, int]]] = {
    "gray": [(0, 0, 0), (255, 255, 255)],
    "gray_r": [(255, 255, 255), (0, 0, 0)],
    "Blues": [(247, 251, 255), (107, 174, 214), (8, 48, 107)],
    "RdBu_r": [(5, 48, 97), (67, 147, 195), (247, 247, 247), (214, 96, 77), (103, 0, 31)],
    "viridis": [(68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37)],
}
Range = tuple[float, float]


def svg(figure: ChartFigure, alt: str) -> str:
    """The picture of ``figure``; its text and axes take the color of the page's text."""
    width, height = (side * _PIXELS for side in figure.size)
    rows, columns = len(figure.rows), len(figure.rows[0])
    every = [axes for row in figure.rows for axes in row]
    shared = {
        axis: _union([_data_range(axes, axis) for axes in every])
        for axis, is_shared in (("x", figure.sharex), ("y", figure.sharey))
        if is_shared
    }
    parts = []
    for i, row in enumerate(figure.rows):
        for j, axes in enumerate(row):
            quiet = {"x"} if figure.sharex and i < rows - 1 else set()
            quiet |= {"y"} if figure.sharey and j else set()
            panel = _Panel(axes, width / columns, height / rows, shared, quiet)
            parts.append(
                f'<g transform="translate({j * width / columns:.1f} {i * height / rows:.1f})">'
                f"{panel.drawn()}</g>"
            )
    label = escape(alt, quote=True)
    return (
        f'<svg class="df-chart" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" role="img" aria-label="{label}" fill="currentColor" '
        f'style="max-width:100%;height:auto;font:11px system-ui,sans-serif">{"".join(parts)}</svg>'
    )


class _Panel:
    """One chart in a rectangle of ``width`` by ``height``; ``quiet`` axes have no numbers."""

    def __init__(
        self, axes: Axes, width: float, height: float, shared: dict[str, Range], quiet: set[str]
    ) -> None:
        self.axes, self.width, self.height, self.quiet = axes, width, height, quiet
        self.ranges = {axis: self._range(axis, shared.get(axis)) for axis in "xy"}
        self.ticks = {axis: self._ticks(axis) for axis in "xy"}
        self.legend, legend_height = self._legend()
        self.top = 8 + 17 * ("title" in axes.labels) + legend_height
        if axes.is_off:
            self.left = self.right = self.bottom = 3.0
        else:
            longest = max((len(name) for _, name in self.ticks["y"]), default=0)
            self.left = (8 if "y" in quiet else 10 + _LETTER * longest) + 16 * (
                "ylabel" in axes.labels
            )
            self.bottom = (6 if "x" in quiet else 20) + 16 * ("xlabel" in axes.labels)
            self.right = 12.0
        self.inner = (
            max(10.0, width - self.left - self.right),
            max(10.0, height - self.top - self.bottom),
        )
        if axes.image is not None:
            rows, columns = axes.image[0].shape
            side = min(self.inner[0] / columns, self.inner[1] / rows)
            self.left += (self.inner[0] - side * columns) / 2
            self.inner = (side * columns, side * rows)

    # ---- ranges and ticks ----------------------------------------------------------------------

    def _range(self, axis: str, shared: Range | None) -> Range:
        axes = self.axes
        is_log = axes.scales[axis] == "log"
        low, high = shared or _data_range(axes, axis)
        if axes.image is None:
            if is_log:
                low, high = math.log10(low), math.log10(high)
            room = (high - low) * 0.05 or 0.5
            on_zero = not is_log and low == 0 and axes.bars and axis == "y"
            low, high = low - (0 if on_zero else room), high + room
            if is_log:
                low, high = 10**low, 10**high
        first, last = axes.limits.get(axis, (None, None))
        low = low if first is None else float(first)
        high = high if last is None else float(last)
        if is_log and low <= 0:
            raise ValueError(f"a logarithmic axis begins above zero; got {low:g} for {axis}")
        if low == high:
            raise ValueError(f"the ends of {axis} are one number: {low:g}")
        return (high, low) if axis in axes.inverted else (low, high)

    def _ticks(self, axis: str) -> list[tuple[float, str]]:
        if axis in self.axes.ticks:
            return list(zip(*self.axes.ticks[axis], strict=True))
        low, high = sorted(self.ranges[axis])
        room = (self.width if axis == "x" else self.height) / (60 if axis == "x" else 32)
        if self.axes.scales[axis] == "log":
            return [(v, short(v)) for v in _log_ticks(low, high, room)]
        step = nice_step((high - low) / max(2.0, min(8.0, room)))
        if self.axes.image is not None:
            step = max(1.0, step)
        first = math.ceil(low / step - 1e-9)
        values = [n * step for n in range(first, math.floor(high / step + 1e-9) + 1)]
        return [(v, short(v)) for v in values]

    def at(self, axis: str, values: np.ndarray) -> np.ndarray:
        """Pixels in the inner rectangle; NaN for what has no place on a logarithmic axis."""
        low, high = self.ranges[axis]
        if self.axes.scales[axis] == "log":
            values = np.log10(np.where(values > 0, values, np.nan))
            low, high = math.log10(low), math.log10(high)
        part = (values - low) / (high - low)
        return self.inner[0] * part if axis == "x" else self.inner[1] * (1 - part)

    # ---- drawing -------------------------------------------------------------------------------

    def drawn(self) -> str:
        width, height = self.inner
        title = self.axes.labels.get("title")
        parts = [_text(self.left + width / 2, 14, title, "middle", 12)] if title else []
        parts.append(f'<g transform="translate(0 {17 if title else 0})">{self.legend}</g>')
        parts.append(f'<g transform="translate({self.left:.1f} {self.top:.1f})">')
        if not self.axes.is_off:
            parts.append(self._frame())
        # An inner picture clips what lies outside of the axes, without an id that another chart might have.
        parts.append(
            f'<svg width="{width:.1f}" height="{height:.1f}" style="overflow:hidden">{self._marks()}</svg>'
        )
        return "".join(parts) + "</g>"

    def _frame(self) -> str:
        width, height = self.inner
        lines, words = [], []
        for value, name in self.ticks["x"]:
            x = float(self.at("x", np.array(value)))
            if -0.5 <= x <= width + 0.5:
                lines.append(f"M{x:.1f},0V{height:.1f}")
                if "x" not in self.quiet:
                    words.append(_text(x, height + 15, name, "middle"))
        for value, name in self.ticks["y"]:
            y = float(self.at("y", np.array(value)))
            if -0.5 <= y <= height + 0.5:
                lines.append(f"M0,{y:.1f}H{width:.1f}")
                if "y" not in self.quiet:
                    words.append(_text(-6, y + 4, name, "end"))
        labels = self.axes.labels
        if "xlabel" in labels:
            below = height + (15 if "x" in self.quiet else 31)
            words.append(_text(width / 2, below, labels["xlabel"], "middle"))
        if "ylabel" in labels:
            turned = f'transform="rotate(-90 {12 - self.left:.1f} {height / 2:.1f})"'
            words.append(_text(12 - self.left, height / 2, labels["ylabel"], "middle", more=turned))
        grid = "" if self.axes.image is not None else _path("".join(lines), "currentColor", 1, 0.12)
        frame = _path(f"M0,0V{height:.1f}H{width:.1f}", "currentColor", 1, 0.6)
        return grid + frame + "".join(words)

    def _marks(self) -> str:
        parts = []
        if self.axes.image is not None:
            width, height = self.inner
            parts.append(
                f'<image width="{width:.1f}" height="{height:.1f}" preserveAspectRatio="none" '
                f'style="image-rendering:pixelated" href="{_png(*self.axes.image)}"/>'
            )
        parts += [self._boxes(bars) for bars in self.axes.bars]
        for axis, value, look in self.axes.rules:
            place = float(self.at(axis, np.array(value)))
            way = f"M{place:.1f},0V9999" if axis == "x" else f"M0,{place:.1f}H9999"
            parts.append(_path(way, look.color, look.width, look.opacity, look.dash))
        for series in self.axes.series:
            x, y = self.at("x", series.x), self.at("y", series.y)
            parts.append(_series(series, x, y))
        for left, bottom, words in self.axes.words:
            across, down = (float(self.at(a, np.array(v))) for a, v in (("x", left), ("y", bottom)))
            parts.append(_text(across, down + 4, words, "middle"))
        return "".join(parts)

    def _boxes(self, bars: Bars) -> str:
        left, bottom, width, height = bars.boxes.T
        x0, x1 = self.at("x", left), self.at("x", left + width)
        y0, y1 = self.at("y", bottom), self.at("y", bottom + height)
        return "".join(
            f'<rect x="{min(a, b):.1f}" y="{min(c, d):.1f}" width="{abs(b - a):.1f}" '
            f'height="{abs(d - c):.1f}" fill="{bars.color}" opacity="{bars.opacity:.2f}" '
            f'stroke="currentColor" stroke-width="0.5"/>'
            for a, b, c, d in zip(x0, x1, y0, y1, strict=True)
        )

    def _legend(self) -> tuple[str, float]:
        """Samples and labels in lines above the chart, and the height that they take."""
        axes = self.axes
        every: list[Series | Bars] = [*axes.bars, *axes.series, *(rule[2] for rule in axes.rules)]
        entries = [entry for entry in every if entry.label]
        if not axes.has_legend or not entries:
            return "", 0
        parts, x, y = [], 12.0, 14.0
        for entry in entries:
            wide = 34 + _LETTER * len(entry.label) + 14
            if x + wide > self.width and x > 12:
                x, y = 12.0, y + 16
            if isinstance(entry, Bars):
                parts.append(
                    f'<rect x="{x:.1f}" y="{y - 9:.1f}" width="24" height="10" fill="{entry.color}" '
                    f'opacity="{entry.opacity:.2f}"/>'
                )
            else:
                ends = np.array([x, x + 26]), np.array([y - 4, y - 4])
                middle = np.array([x + 13]), np.array([y - 4])
                parts.append(_line(entry, *ends) + _markers(entry, *middle))
            parts.append(_text(x + 32, y, entry.label, "start"))
            x += wide
        return "".join(parts), y


def _data_range(axes: Axes, axis: str) -> Range:
    """The smallest and the largest number that is to be seen."""
    if axes.image is not None:
        rows, columns = axes.image[0].shape
        return (-0.5, columns - 0.5) if axis == "x" else (rows - 0.5, -0.5)
    is_x = axis == "x"
    found = [one.x if is_x else one.y for one in axes.series]
    for bars in axes.bars:
        start, extent = (bars.boxes[:, k] for k in ((0, 2) if is_x else (1, 3)))
        found += [start, start + extent]
    found += [np.array([value]) for name, value, _ in axes.rules if name == axis]
    values = np.concatenate([np.empty(0), *found])
    values = values[np.isfinite(values)]
    if axes.scales[axis] == "log":
        values = values[values > 0]
    if not values.size:
        return (1.0, 10.0) if axes.scales[axis] == "log" else (0.0, 1.0)
    return float(values.min()), float(values.max())


def _union(ranges: list[Range]) -> Range:
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def nice_step(least: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below ``least``."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= least * (1 - 1e-9))


def _log_ticks(low: float, high: float, room: float) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    every = max(1, math.ceil((last - first) / max(2.0, room)))
    values: list[float] = []
    for factors in ((1,), (1, 2, 5), (1, 2, 3, 4, 5, 6, 7, 8, 9)):
        values = [f * 10.0**n for n in range(first, last + 1, every) for f in factors]
        values = [v for v in values if low <= v <= high]
        if len(values) >= 3:
            break
    return values


def short(value: float) -> str:
    """A number for an axis: powers of ten where digits would be many."""
    size = abs(value)
    if size and (size >= 1e5 or size < 1e-3):
        power = math.floor(math.log10(size) + 1e-9)
        digits = f"{value / 10.0**power:.3g}"
        raised = str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return f"10{raised}" if digits == "1" else f"{digits}·10{raised}"
    return f"{value:.6g}".replace("-", "\N{MINUS SIGN}")


def _text(x: float, y: float, words: str, anchor: str, size: int = 11, more: str = "") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" {more}>'
        f"{escape(words)}</text>"
    )


def _path(
    way: str, color: str, width: float, opacity: float, dash: str | None = "", fill: str = "none"
) -> str:
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<path d="{way}" fill="{fill}" stroke="{color}" stroke-width="{width:g}" '
        f'opacity="{opacity:.2f}"{dashes}/>'
    )


def _series(look: Series, x: np.ndarray, y: np.ndarray) -> str:
    return _line(look, x, y) + _markers(look, x, y)


def _line(look: Series, x: np.ndarray, y: np.ndarray) -> str:
    if look.dash is None:
        return ""
    way, begins = [], True
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        if not (math.isfinite(a) and math.isfinite(b)):
            begins = True
            continue
        # Far outside, browsers lose precision.
        a, b = min(max(a, -9999), 9999), min(max(b, -9999), 9999)
        way.append(f"{'M' if begins else 'L'}{a:.1f},{b:.1f}")
        begins = False
    return _path("".join(way), look.color, look.width, look.opacity, look.dash)


def _markers(look: Series, x: np.ndarray, y: np.ndarray) -> str:
    if not look.marker:
        return ""
    r = look.size / (4 if look.marker == "." else 2)
    shape = {
        "s": f"m{-r:g},{-r:g}h{2 * r:g}v{2 * r:g}h{-2 * r:g}z",
        "^": f"m0,{-r:g}l{r:g},{2 * r:g}h{-2 * r:g}z",
        "v": f"m0,{r:g}l{r:g},{-2 * r:g}h{-2 * r:g}z",
        "d": f"m0,{-r:g}l{r:g},{r:g}l{-r:g},{r:g}l{-r:g},{-r:g}z",
        "x": f"m{-r:g},{-r:g}l{2 * r:g},{2 * r:g}m{-2 * r:g},0l{2 * r:g},{-2 * r:g}",
        "+": f"m{-r:g},0h{2 * r:g}m{-r:g},{-r:g}v{2 * r:g}",
        "*": f"m{-r:g},0h{2 * r:g}m{-1.7 * r:.1f},{-0.7 * r:.1f}l{1.4 * r:.1f},{1.4 * r:.1f}"
        f"m0,{-1.4 * r:.1f}l{-1.4 * r:.1f},{1.4 * r:.1f}m{0.7 * r:.1f},{0.3 * r:.1f}v{-2 * r:g}",
    }.get(look.marker, f"m{-r:g},0a{r:g},{r:g} 0 1,0 {2 * r:g},0a{r:g},{r:g} 0 1,0 {-2 * r:g},0")
    good = np.isfinite(x) & np.isfinite(y) & (abs(x) < 9999) & (abs(y) < 9999)
    way = "".join(
        f"M{a:.1f},{b:.1f}{shape}" for a, b in zip(x[good].tolist(), y[good].tolist(), strict=True)
    )
    fill = "none" if look.hollow or look.marker in "x+*" else look.color
    return _path(way, look.color, 1.3, look.opacity, fill=fill)


def _png(values: np.ndarray, cmap: str, low: float, high: float) -> str:
    """The address of an image: PNG (RFC 2083), colors of 8 bits."""
    if cmap not in _COLORS:
        raise ValueError(f"colors are one of {', '.join(_COLORS)}; got {cmap!r}")
    stops = np.array(_COLORS[cmap], np.float64)
    part = np.clip(np.nan_to_num((values - low) / ((high - low) or 1)), 0, 1)
    places = np.linspace(0, 1, len(stops))
    colors = np.stack([np.interp(part, places, stops[:, k]) for k in range(3)], axis=-1)
    rows, columns = values.shape
    lines = np.zeros((rows, 1 + 3 * columns), np.uint8)  # each line begins with its filter: none
    lines[:, 1:] = colors.round().astype(np.uint8).reshape(rows, -1)
    return "data:image/png;base64," + base64.b64encode(png_file(lines, columns, 8, 2, 9)).decode()
