"""A cluster as SVG made in Python, for where no page can draw: GitHub, nbconvert, a dead kernel."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import escape

_WIDTH, _ROW = 720, 26
_COLUMNS = ((12, "task"), (130, "state"), (270, "steps/s"), (360, "staleness"), (460, "variables"))
_COLORS = {"running": "#0a7d33", "paused": "#9a4b00", "dead": "#b3261e", "silent": "#9a4b00"}


def panel_svg(clusters: list[dict[str, Any]], title: str = "") -> str:
    """Tables of the clusters' tasks, at most 24 rows in all."""
    out: list[str] = []
    y = 22
    if title:
        out.append(_words(12, y, title, "h"))
        y += 26
    if not clusters:
        out.append(_words(12, y, "No cluster runs in this process."))
        y += _ROW
    rows = 24
    for cluster in clusters:
        out.append(_words(12, y, f"Cluster of {cluster['words']} {cluster['target']}", "h"))
        y += 22
        for x, name in _COLUMNS:
            out.append(_words(x, y, name, "c"))
        y += _ROW - 6
        for task in cluster["tasks"][: max(0, rows)]:
            rows -= 1
            color = _COLORS.get(task["state"], "#4a4f55")
            delay = f", +{task['delay']:g} s" if task["delay"] else ""
            cells = (
                task["name"],
                f"{task['state']}{delay}",
                _number(task["stepsPerSecond"]),
                _number(task["staleness"]),
                f"{task['variables'] or 0} ({task['variableBytes'] or 0:,} B)",
            )
            out.append(f"<path stroke='#e3e6ea' d='M12 {y - 17}H{_WIDTH - 12}'/>")
            out.append(f"<circle cx='{_COLUMNS[1][0] - 10}' cy='{y - 4}' r='4' fill='{color}'/>")
            out += [_words(x, y, cell) for (x, _), cell in zip(_COLUMNS, cells, strict=True)]
            y += _ROW
        for notice in cluster["notices"][:3]:
            out.append(_words(12, y, f"! {notice['text']}"))
            y += _ROW - 4
        y += 10
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{_WIDTH}' height='{y}' "
        f"viewBox='0 0 {_WIDTH} {y}'><style>text{{font:12px -apple-system,'Segoe UI',Roboto,"
        "Helvetica,Arial,sans-serif;fill:#1f2328}.h{font-size:13px;font-weight:600}"
        f".c{{fill:#4a4f55;font-size:11px}}</style><rect width='{_WIDTH}' height='{y}' "
        f"fill='#fff'/>{''.join(out)}</svg>"
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _words(x: int, y: int, text: str, kind: str = "") -> str:
    clean = "".join(c if c.isprintable() else "�" for c in text)[:110]
    return f"<text{f' class={chr(39)}{kind}{chr(39)}' if kind else ''} x='{x}' y='{y}'>{escape(clean)}</text>"
