"""Panels as one SVG made in Python, for where no page can draw.

Plainer than the page's: what is continuous is drawn in at most 32 x 32 cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from dataflow_widgets.explorer import panels as kinds
from dataflow_widgets.palette import COLORS

_WIDTH, _HEIGHT, _GAP = 300, 220, 14
_MAX_CELLS = 32
_LETTER = 6.2  # px of a character, about
_MAX_POINTS = 200
_VIRIDIS = np.array([[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]])
_DIVERGING = np.array([[31, 111, 214], [245, 245, 245], [217, 84, 30]])


def panels_svg(panels: Sequence[kinds.Panel], title: str) -> str:
    """The panels two in a row, each 300 x 220 px, under the title."""
    columns = min(2, max(1, len(panels)))
    rows = -(-len(panels) // columns)
    width = columns * (_WIDTH + _GAP) + _GAP
    height = 30 + rows * (_HEIGHT + _GAP)
    out = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' "
        f"viewBox='0 0 {width} {height}'><style>text{{font:11px -apple-system,'Segoe UI',Roboto,"
        "Helvetica,Arial,sans-serif;fill:#1f2328}.t{font-weight:600}.n{font-size:18px}"
        ".over{paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}"
        ".l{fill:none;stroke-width:1.6}</style>"
        f"<rect width='{width}' height='{height}' fill='#fff'/>"
        f"<text class='t' x='{_GAP}' y='19'>{_escaped(title)}</text>"
    ]
    for i, panel in enumerate(panels):
        x = _GAP + (i % columns) * (_WIDTH + _GAP)
        y = 30 + (i // columns) * (_HEIGHT + _GAP)
        out.append(f"<g transform='translate({x},{y})'>")
        if panel.title:
            out.append(f"<text class='t' x='0' y='11'>{_escaped(panel.title)}</text>")
        out.append(f"<g transform='translate(0,18)'>{_DRAWERS[panel.kind](panel)}</g></g>")
    return "".join([*out, "</svg>"])


_BOX_WIDTH, _BOX_HEIGHT = _WIDTH, _HEIGHT - 18


class _Axis:
    """Data to pixels along one axis."""

    def __init__(self, data: Any, limits: Any, log: bool, low: float, high: float) -> None:
        values = np.concatenate(
            [np.ravel(np.asarray(d, np.float64)) for d in data] or [np.array([0.0, 1.0])]
        )
        values = values[np.isfinite(values) & ((values > 0) | (not log))]
        least, most = limits or (
            (float(values.min()), float(values.max())) if values.size else (1.0, 2.0)
        )
        if not most > least:
            least, most = least - 0.5, least + 0.5
            if log:
                least, most = 0.5, 2.0
        self.limits, self._log, self._low, self._high = (least, most), log, low, high

    def __call__(self, values: Any) -> np.ndarray:
        values = np.asarray(values, np.float64)
        least, most = self.limits
        if self._log:
            with np.errstate(divide="ignore", invalid="ignore"):
                values = np.log(values)
            least, most = np.log(least), np.log(most)
        share = (values - least) / (most - least)
        return np.asarray(self._low + share * (self._high - self._low))


def _path(x: np.ndarray, y: np.ndarray) -> str:
    step = max(1, -(-len(x) // _MAX_POINTS))
    x, y = x[::step], y[::step]
    out, pen = [], "M"
    for a, b in zip(x, y, strict=True):
        if np.isfinite(a) and np.isfinite(b):
            out.append(f"{pen}{a:.1f} {b:.1f}")
            pen = "L"
        else:
            pen = "M"
    return "".join(out)


def _frame(x: _Axis, y: _Axis, panel: Any) -> str:
    bottom = _BOX_HEIGHT - 30
    (a, b), (c, d) = x.limits, y.limits
    return (
        f"<path d='M40 4V{bottom}H{_BOX_WIDTH - 6}' fill='none' stroke='#8b9199'/>"
        f"<text x='40' y='{bottom + 13}'>{a:.3g}</text>"
        f"<text x='{_BOX_WIDTH - 6}' y='{bottom + 13}' text-anchor='end'>{b:.3g}</text>"
        f"<text x='37' y='{bottom}' text-anchor='end'>{c:.3g}</text>"
        f"<text x='37' y='13' text-anchor='end'>{d:.3g}</text>"
        f"<text x='{_BOX_WIDTH / 2 + 20}' y='{bottom + 26}' text-anchor='middle'>"
        f"{_escaped(panel.x_label)}</text>"
        f"<text class='over' x='44' y='13'>{_escaped(panel.y_label)}</text>"
    )


def _plot(panel: kinds.Plot) -> str:
    series = [*panel.lines.values(), *panel.dots.values()]
    x = _Axis([s[0] for s in series], panel.x_range, panel.log_x, 40, _BOX_WIDTH - 6)
    y = _Axis([s[1] for s in series], panel.y_range, panel.log_y, _BOX_HEIGHT - 30, 4)
    out, names = [_frame(x, y, panel)], []
    for i, (name, (xs, ys)) in enumerate(panel.lines.items()):
        color = COLORS[i % len(COLORS)]
        clipped = np.clip(y(ys), -50, _BOX_HEIGHT + 50)
        out.append(f"<path class='l' d='{_path(x(xs), clipped)}' stroke='{color}'/>")
        names.append(f"<text class='over' x='{_BOX_WIDTH - 8}' y='{26 + 13 * i}' text-anchor='end' "
                     f"style='fill:{color}'>{_escaped(name)}</text>")  # fmt: skip
    out += names  # over all of the lines
    for i, (xs, ys) in enumerate(panel.dots.values()):
        color = COLORS[(len(panel.lines) + i) % len(COLORS)]
        for a, b in list(zip(x(xs), y(ys), strict=True))[:_MAX_POINTS]:
            if np.isfinite(a) and np.isfinite(b):
                out.append(f"<circle cx='{a:.1f}' cy='{b:.1f}' r='3' fill='{color}'/>")
    return "".join(out)


def _colors(values: Any, limits: Any, diverging: bool, bands: int = 0) -> np.ndarray:
    """Values as colors, [..., 3] of 0 to 255."""
    values = np.asarray(values, np.float64)
    finite = values[np.isfinite(values)]
    least, most = limits or ((finite.min(), finite.max()) if finite.size else (0.0, 1.0))
    if diverging and limits is None:
        most = max(abs(least), abs(most))
        least = -most
    at = np.nan_to_num((values - least) / ((most - least) or 1.0)).clip(0, 1)
    if bands:
        at = (np.floor(at * bands) / bands).clip(0, 1)
    ramp = _DIVERGING if diverging else _VIRIDIS
    at = at * (len(ramp) - 1)
    low = np.minimum(at.astype(int), len(ramp) - 2)
    part = (at - low)[..., None]
    return np.asarray((ramp[low] * (1 - part) + ramp[low + 1] * part).round(), np.int64)


def _cells(values: Any, x: float, y: float, width: float, height: float, **how: Any) -> str:
    """A grid as rectangles, row 0 at the top, thinned to what a picture needs."""
    values = np.asarray(values, np.float64)
    rows = np.linspace(0, values.shape[0] - 1, min(_MAX_CELLS, values.shape[0])).astype(int)
    columns = np.linspace(0, values.shape[1] - 1, min(_MAX_CELLS, values.shape[1])).astype(int)
    how.setdefault("limits", None)
    if how["limits"] is None and np.isfinite(values).any():
        finite = values[np.isfinite(values)]
        how["limits"] = (float(finite.min()), float(finite.max()))
        if how.get("diverging"):
            most = float(np.abs(finite).max())
            how["limits"] = (-most, most)
    colors = _colors(values[np.ix_(rows, columns)], how.pop("limits"), **how)
    dx, dy = width / len(columns), height / len(rows)
    out = []
    for i, row in enumerate(colors):
        j = 0
        while j < len(row):  # one rectangle for cells of one color beside each other
            k = j
            while k + 1 < len(row) and (row[k + 1] == row[j]).all():
                k += 1
            r, g, b = row[j]
            out.append(f"<path d='M{x + j * dx:.1f} {y + i * dy:.1f}h{(k - j + 1) * dx + 0.3:.1f}"
                       f"v{dy + 0.3:.1f}h-{(k - j + 1) * dx + 0.3:.1f}z' "
                       f"fill='#{r:02x}{g:02x}{b:02x}'/>")  # fmt: skip
            j = k + 1
    return "".join(out)


def _heat(panel: kinds.HeatMap) -> str:
    x = _Axis([], panel.x_range, False, 40, _BOX_WIDTH - 6)
    y = _Axis([], panel.y_range, False, _BOX_HEIGHT - 30, 4)
    cells = _cells(np.asarray(panel.values)[::-1], 40, 4, _BOX_WIDTH - 46, _BOX_HEIGHT - 34,
                   limits=panel.value_range, diverging=panel.diverging, bands=panel.bands)  # fmt: skip
    out = [cells, _frame(x, y, panel)]
    if panel.points is not None:
        xs, ys, groups = panel.points
        for a, b, group in list(zip(x(xs), y(ys), np.asarray(groups), strict=True))[:_MAX_POINTS]:
            color = COLORS[int(group) % len(COLORS)]
            out.append(f"<circle cx='{a:.1f}' cy='{b:.1f}' r='2.5' fill='{color}' stroke='#fff'/>")
    for i, (xs, ys) in enumerate(panel.paths.values()):
        path = _path(np.clip(x(xs), 0, _BOX_WIDTH), np.clip(y(ys), 0, _BOX_HEIGHT))
        out.append(f"<path class='l' d='{path}' stroke='{COLORS[i % len(COLORS)]}'/>")
    return "".join(out)


def _images(panel: kinds.Images) -> str:
    values = np.asarray(panel.values)
    columns = panel.columns or min(4, len(values))
    rows = -(-len(values) // columns)
    size = min(_BOX_WIDTH / columns, (_BOX_HEIGHT - 16 * rows) / rows) - 6
    out = []
    for i, image in enumerate(values[:16]):
        x, y = (i % columns) * (size + 6), (i // columns) * (size + 22)
        out.append(_cells(image, x, y, size, size * image.shape[0] / image.shape[1],
                          limits=panel.value_range, diverging=panel.diverging))  # fmt: skip
        if i < len(panel.labels):
            out.append(f"<text x='{x}' y='{y + size + 13}'>{_escaped(panel.labels[i])}</text>")
    return "".join(out)


def _bars(panel: kinds.Bars) -> str:
    groups = panel.values if isinstance(panel.values, dict) else {"": panel.values}
    arrays = [np.asarray(v, np.float64) for v in groups.values()]
    limits = panel.y_range
    if limits is None and not panel.log_y:
        limits = (min(0.0, *(float(a.min()) for a in arrays)), max(float(a.max()) for a in arrays))
    room = (_BOX_WIDTH - 46) / max(1, len(panel.labels))
    labels = [str(label) for label in panel.labels]
    slants = any(_LETTER * len(label) > room and not label.isdigit() for label in labels)
    bottom = _BOX_HEIGHT - (64.0 if slants else 30.0)
    y = _Axis(arrays, limits, panel.log_y, bottom, 4)
    out = [f"<text x='37' y='13' text-anchor='end'>{y.limits[1]:.3g}</text>"]
    for g, array in enumerate(arrays):
        width = room * 0.8 / len(arrays)
        for i, top in enumerate(np.nan_to_num(y(array), nan=bottom)):
            top = min(max(float(top), 0.0), bottom)
            out.append(f"<rect x='{40 + i * room + g * width:.1f}' y='{top:.1f}' "
                       f"width='{width:.1f}' height='{bottom - top:.1f}' "
                       f"fill='{COLORS[g % len(COLORS)]}'/>")  # fmt: skip
    return "".join([*out, *_under_bars(labels, room, bottom, slants)])


def _under_bars(labels: list[str], room: float, bottom: float, slants: bool) -> list[str]:
    """The names of bars that are ``room`` px wide: words that are too long for that slant, and are cut short."""
    if slants:
        short = [label if len(label) < 14 else f"{label[:12]}…" for label in labels]
        return [
            f"<text text-anchor='end' transform='translate({40 + (i + 0.5) * room:.1f},{bottom + 11:.0f}) "
            f"rotate(-35)'>{_escaped(label)}</text>"
            for i, label in enumerate(short)
        ]
    every = max(1, len(labels) // 8)
    return [
        f"<text x='{40 + i * room:.1f}' y='{bottom + 14:.0f}'>{_escaped(label)}</text>"
        for i, label in enumerate(labels)
        if i % every == 0
    ]


def _tokens(panel: kinds.Tokens) -> str:
    weights = np.asarray(panel.weights)
    dy = min(24.0, (_BOX_HEIGHT - 10) / max(len(panel.tokens), len(panel.targets), 1))
    out = []
    for h, head in enumerate(weights):
        for i, row in enumerate(head):
            for j, weight in enumerate(row):
                if weight > 0.02:
                    out.append(f"<path d='M95 {12 + i * dy:.1f}L205 {12 + j * dy:.1f}' fill='none' "
                               f"stroke='{COLORS[h % len(COLORS)]}' stroke-opacity='.7' "
                               f"stroke-width='{4 * weight:.2f}'/>")  # fmt: skip
    for i, token in enumerate(panel.targets):
        out.append(f"<text x='90' y='{15 + i * dy:.1f}' text-anchor='end'>{_escaped(token)}</text>")
    for i, token in enumerate(panel.tokens):
        out.append(f"<text x='210' y='{15 + i * dy:.1f}'>{_escaped(token)}</text>")
    return "".join(out)


def _lanes(panel: kinds.Lanes) -> str:
    ends = [[s[1], s[2]] for s in panel.spans] or [[0.0, 1.0]]
    x = _Axis(ends, panel.x_range, False, 70, _BOX_WIDTH - 6)
    dy = min(28.0, (_BOX_HEIGHT - 24) / max(1, len(panel.lanes)))
    out = [f"<text x='0' y='{i * dy + dy / 2 + 4:.1f}'>{_escaped(name)}</text>"
           for i, name in enumerate(panel.lanes)]  # fmt: skip
    for lane, start, end, label, group in panel.spans:
        a, b = (float(v) for v in x([start, end]))
        out.append(f"<rect x='{a:.1f}' y='{lane * dy + 2:.1f}' width='{max(0.5, b - a - 0.5):.1f}' "
                   f"height='{dy - 4:.1f}' fill='{COLORS[group % len(COLORS)]}'/>")  # fmt: skip
        if label and b - a > 7 * len(label):
            out.append(f"<text x='{a + 3:.1f}' y='{lane * dy + dy / 2 + 4:.1f}' "
                       f"style='fill:#fff'>{_escaped(label)}</text>")  # fmt: skip
    out.append(f"<text x='70' y='{_BOX_HEIGHT - 4}'>{_escaped(panel.x_label)}</text>")
    return "".join(out)


def _network(panel: kinds.Network) -> str:
    layers = [np.asarray(units) for units in panel.units]
    most = max(len(units) for units in layers)
    size = min(28.0, (_BOX_HEIGHT - 4) / most - 4)
    dx = (_BOX_WIDTH - size) / max(1, len(layers) - 1)

    def at(layer: int, unit: int) -> tuple[float, float]:
        room = _BOX_HEIGHT / len(layers[layer])
        return layer * dx, room * unit + room / 2

    out = []
    for layer, weights in enumerate(panel.weights):
        array = np.asarray(weights)
        scale = float(np.abs(array).max()) or 1.0
        for i in range(array.shape[0]):
            for j in range(array.shape[1]):
                (a, b), (c, d) = at(layer, i), at(layer + 1, j)
                color = COLORS[1] if array[i, j] > 0 else COLORS[0]
                out.append(f"<path d='M{a + size:.0f} {b:.0f}L{c:.0f} {d:.0f}' stroke='{color}' "
                           f"stroke-width='{4 * abs(array[i, j]) / scale:.2f}'/>")  # fmt: skip
    for layer, units in enumerate(layers):
        for unit, values in enumerate(units):
            x, y = at(layer, unit)
            out.append(_cells(values[::-4, ::4], x, y - size / 2, size, size, diverging=True))
    return "".join(out)


def _matrix(panel: kinds.Matrix) -> str:
    return "".join(
        f"<text x='{40 + 56 * j}' y='{16 + 20 * i}' text-anchor='end'>"
        f"{float(value):.{panel.digits}f}</text>"
        for i, row in enumerate(np.atleast_2d(np.asarray(panel.values)))
        for j, value in enumerate(row)
    )


def _numbers(panel: kinds.Numbers) -> str:
    return "".join(
        f"<text x='0' y='{16 + 40 * i}'>{_escaped(name)}</text><text class='n' x='0' "
        f"y='{36 + 40 * i}'>"
        f"{_escaped(value if isinstance(value, str) else format(value, '.4g'))}</text>"
        for i, (name, value) in enumerate(panel.values.items())
    )


_DRAWERS: dict[str, Any] = {
    "plot": _plot,
    "heat": _heat,
    "images": _images,
    "bars": _bars,
    "tokens": _tokens,
    "lanes": _lanes,
    "network": _network,
    "matrix": _matrix,
    "numbers": _numbers,
}


def _escaped(text: str) -> str:
    return escape("".join(c if c.isprintable() else "�" for c in str(text)))
