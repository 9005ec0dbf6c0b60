"""The points as SVG made in Python, for where no page can draw."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dataflow_widgets.palette import COLORS
from dataflow_widgets.static.draw import svg_text

_WIDTH, _HEIGHT, _EDGE = 640, 420, 24
_MAX_POINTS = 1500
_MAX_LABELS = 40


def embedding_svg(
    places: np.ndarray,
    labels: Sequence[str],
    groups: np.ndarray | None,
    group_names: Sequence[str],
    title: str,
) -> str:
    """Points in the color of their group, the first of them with labels that do not overlap."""
    step = max(1, -(-len(places) // _MAX_POINTS))
    lo, hi = places.min(axis=0), places.max(axis=0)
    span = np.where(hi > lo, hi - lo, 1)
    top = 30 if title else 10
    size = np.array([_WIDTH - 2 * _EDGE, _HEIGHT - top - _EDGE])
    at = (places - lo) / span
    at[:, 1] = 1 - at[:, 1]
    at = at * size + (_EDGE, top)
    out = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{_WIDTH}' height='{_HEIGHT}' "
        f"viewBox='0 0 {_WIDTH} {_HEIGHT}'><style>text{{font:10px -apple-system,'Segoe UI',Roboto,"
        "Helvetica,Arial,sans-serif;fill:#1f2328;paint-order:stroke;stroke:#fff;stroke-width:3px}"
        ".t{font-size:13px;font-weight:600}path{fill:none;stroke-width:5;stroke-linecap:round;"
        f"opacity:.75}}</style><rect width='{_WIDTH}' height='{_HEIGHT}' fill='#fff'/>"
    ]
    if title:
        out.append(f"<text class='t' x='12' y='19'>{svg_text(title)}</text>")
    kinds = np.zeros(len(places), np.int64) if groups is None else groups
    for kind in np.unique(kinds):
        chosen = np.flatnonzero(kinds == kind)[::step]
        dots = "".join(f"M{x:.0f} {y:.0f}h0" for x, y in at[chosen])
        out.append(f"<path d='{dots}' stroke='{COLORS[int(kind) % len(COLORS)]}'/>")
    boxes: list[tuple[float, float, float, float]] = []
    for i in range(min(len(places), 20 * _MAX_LABELS)):
        if len(boxes) >= _MAX_LABELS:
            break
        text = labels[i][:24]
        x, y = float(at[i, 0]) + 5, float(at[i, 1]) + 3
        box = (x, y - 10, x + 6.2 * len(text), y + 3)
        if box[2] < _WIDTH and not any(_overlap(box, other) for other in boxes):
            boxes.append(box)
            out.append(f"<text x='{x:.0f}' y='{y:.0f}'>{svg_text(text)}</text>")
    for i, name in enumerate(group_names[:10]):
        y = top + 6 + 14 * i
        out.append(
            f"<path d='M{_WIDTH - 120} {y - 3}h0' stroke='{COLORS[i % len(COLORS)]}'/>"
            f"<text x='{_WIDTH - 112}' y='{y}'>{svg_text(name[:18])}</text>"
        )
    return "".join([*out, "</svg>"])


def _overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
