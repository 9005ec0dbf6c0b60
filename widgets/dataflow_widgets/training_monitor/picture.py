"""The curves as SVG made in Python, for where no page can draw: GitHub, nbconvert, a dead kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from dataflow_widgets.palette import COLORS
from dataflow_widgets.training_monitor.curves import HIGH, LOW, MEAN, STEP

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM, _RIGHT = 380, 210, 50, 28, 24, 14
_MAX_PANELS = 8
_MAX_POINTS = 1400  # of all curves: the picture travels in the notebook


def monitor_svg(runs: Sequence[Any], title: str = "") -> str:
    """Small panels, one for each metric, with a line for each run and a legend."""
    names = list(dict.fromkeys(name for run in runs for name in run.curves))[:_MAX_PANELS]
    columns = 1 if len(names) <= 1 else 2
    legend_rows = math.ceil(max(len(runs), 1) / (2 * columns))
    top = (26 if title else 6) + 20 * legend_rows
    width = columns * _WIDTH
    height = top + max(1, math.ceil(len(names) / columns)) * _HEIGHT
    if not names:
        height = top + 30
    out = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' "
        f"viewBox='0 0 {width} {height}'><style>text{{font:11px -apple-system,'Segoe UI',Roboto,"
        "Helvetica,Arial,sans-serif;fill:#4a4f55}.t{font-size:13px;font-weight:600;fill:#1f2328}"
        ".r{text-anchor:end}.m{text-anchor:middle}.g{stroke:#e3e6ea}</style>"
        f"<rect width='{width}' height='{height}' fill='#fff'/>"
    ]
    if title:
        out.append(f"<text class='t' x='10' y='19'>{_text(title)}</text>")
    for i, run in enumerate(runs[: 2 * columns * legend_rows]):
        x = 12 + (i % (2 * columns)) * (_WIDTH // 2)
        y = (26 if title else 6) + 20 * (i // (2 * columns)) + 12
        out.append(
            f"<rect x='{x}' y='{y - 5}' width='16' height='3' fill='{COLORS[i % len(COLORS)]}'/>"
            f"<text x='{x + 22}' y='{y}'>{_text(run.name)}</text>"
        )
    if not names:
        out.append(f"<text x='12' y='{top + 16}'>No points yet.</text>")
    num_curves = sum(name in run.curves for run in runs for name in names)
    limit = max(12, _MAX_POINTS // max(1, num_curves))
    for k, name in enumerate(names):
        x, y = (k % columns) * _WIDTH, top + (k // columns) * _HEIGHT
        out.append(f"<g transform='translate({x} {y})'>{_panel(name, runs, limit)}</g>")
    return "".join([*out, "</svg>"])


def _panel(name: str, runs: Sequence[Any], limit: int) -> str:
    lines = [
        (i, _thin(run.curves[name].rows(), limit))
        for i, run in enumerate(runs)
        if name in run.curves
    ]
    every = np.concatenate([rows for _, rows in lines])
    good = every[np.isfinite(every[:, MEAN])]
    out = [f"<text class='t' x='{_LEFT}' y='17'>{_text(name)}</text>"]
    if not len(good):
        return "".join([*out, f"<text x='{_LEFT}' y='60'>only NaN or infinite values</text>"])
    x0, x1 = float(good[:, STEP].min()), float(good[:, STEP].max())
    y0, y1 = float(good[:, MEAN].min()), float(good[:, MEAN].max())
    if x1 == x0:
        x0, x1 = x0 - 0.5, x1 + 0.5
    pad = (y1 - y0) * 0.05 or abs(y0) * 0.1 or 1.0
    y0, y1 = y0 - pad, y1 + pad
    across, down = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def at_x(v: Any) -> Any:
        return _LEFT + (v - x0) / (x1 - x0) * across

    def at_y(v: Any) -> Any:
        return _TOP + down - (v - y0) / (y1 - y0) * down

    for tick in ticks(y0, y1, 4):
        y = at_y(tick)
        out.append(
            f"<path class='g' d='M{_LEFT} {y:.1f}h{across}'/>"
            f"<text class='r' x='{_LEFT - 6}' y='{y + 4:.1f}'>{tick:.4g}</text>"
        )
    for tick in ticks(x0, x1, 4):
        out.append(f"<text class='m' x='{at_x(tick):.1f}' y='{_HEIGHT - 8}'>{tick:.6g}</text>")
    for i, rows in lines:
        color = quoteattr(COLORS[i % len(COLORS)])
        path, pen = [], "M"
        for step, mean in zip(rows[:, STEP], rows[:, MEAN], strict=True):
            if math.isfinite(mean):
                path.append(f"{pen}{at_x(step):.1f} {at_y(mean):.1f}")
                pen = "L"
            else:
                pen = "M"
        out.append(f"<path d='{''.join(path)}' fill='none' stroke={color} stroke-width='1.6'/>")
    return "".join(out)


def _thin(rows: np.ndarray, limit: int) -> np.ndarray:
    """At most ``limit`` rows: means over equal intervals."""
    if len(rows) <= limit:
        return rows
    edges = np.arange(limit) * len(rows) // limit
    counts = np.add.reduceat(np.isfinite(rows[:, MEAN]).astype(float), edges)
    sums = np.add.reduceat(np.nan_to_num(rows[:, MEAN]), edges)
    thin = np.empty((limit, 4))
    thin[:, STEP] = rows[np.append(edges[1:], len(rows)) - 1, STEP]
    with np.errstate(invalid="ignore", divide="ignore"):
        thin[:, MEAN] = sums / counts
    thin[:, LOW] = thin[:, HIGH] = thin[:, MEAN]
    return thin


def ticks(lo: float, hi: float, count: int) -> list[float]:
    """Round numbers between ``lo`` and ``hi``, about ``count`` of them."""
    if not hi > lo:
        return [lo]
    raw = (hi - lo) / count
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * m for m in (1, 2, 5, 10) if size * m >= raw * 0.999)
    first = math.ceil(lo / step - 1e-9)
    last = math.floor(hi / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def _text(text: str) -> str:
    return escape("".join(c if c.isprintable() else "�" for c in text))[:200]
