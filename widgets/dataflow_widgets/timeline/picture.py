"""A run's lanes as a plain SVG, for where no widget can run."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import escape

_WIDTH, _BAR, _HEAD = 720, 16, 18
_MOST_BARS = 220  # the longest; shorter ones could not be seen
_FILLS = ("#8ecae6", "#ffb703", "#95d5b2", "#f4a6a6", "#cdb4db", "#ffd6a5", "#a0c4ff", "#d4e09b")


def duration_text(microseconds: int) -> str:
    """``"12 µs"``, ``"3.4 ms"``, ``"1.25 s"``."""
    if microseconds < 1000:
        return f"{microseconds} µs"
    if microseconds < 1_000_000:
        return f"{microseconds / 1000:.3g} ms"
    return f"{microseconds / 1_000_000:.3g} s"


def timeline_svg(times: Any) -> str:
    """SVG of a `RunTimes`: a lane for each device, the longest ops with their names."""
    scale = _WIDTH / max(times.duration, 1)
    types = list(dict.fromkeys(op.op_type for op in times.ops))
    tops, y = [], 4
    for lane in range(len(times.lanes)):
        rows = max((op.row for op in times.ops if op.lane == lane), default=0) + 1
        tops.append(y)
        y += _HEAD + rows * _BAR + 6
    out = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{_WIDTH + 8}' height='{y + 16}' "
        f"viewBox='-4 0 {_WIDTH + 8} {y + 16}'><rect x='-4' width='{_WIDTH + 8}' "
        f"height='{y + 16}' fill='#fff'/><g font-family='sans-serif' font-size='11' "
        "fill='#1f2328'>"
    ]
    for name, top in zip(times.lane_names, tops, strict=True):
        out.append(f"<text x='0' y='{top + 12}' font-weight='600'>{escape(name)}</text>")
    critical = set(times.critical)
    longest = sorted(range(len(times.ops)), key=lambda i: -times.ops[i].duration)[:_MOST_BARS]
    for i in sorted(longest):
        op = times.ops[i]
        x, width = op.start * scale, max(0.7, op.duration * scale)
        top = tops[op.lane] + _HEAD + op.row * _BAR
        edge = " stroke='#b3261e' stroke-width='1.5'" if i in critical else ""
        fill = _FILLS[types.index(op.op_type) % len(_FILLS)]
        out.append(
            f"<rect x='{x:.1f}' y='{top}' width='{width:.1f}' height='{_BAR - 3}' fill='{fill}'{edge}/>"
        )
        letters = int(width / 6.5)
        if letters >= 4:
            name = op.name.rpartition("/")[2]
            shown = name if len(name) <= letters else name[: letters - 1] + "…"
            out.append(f"<text x='{x + 3:.1f}' y='{top + 10}'>{escape(shown)}</text>")
    for copy in times.copies[:_MOST_BARS]:
        source, target = times.ops[copy.source], times.ops[copy.target]
        y1 = tops[source.lane] + _HEAD + source.row * _BAR + _BAR / 2
        y2 = tops[target.lane] + _HEAD + target.row * _BAR + _BAR / 2
        out.append(
            f"<path d='M{copy.start * scale:.1f},{y1}L{copy.end * scale:.1f},{y2}' "
            "stroke='#4a4f55' stroke-dasharray='3 2' fill='none'/>"
        )
    out.append(
        f"<text x='0' y='{y + 10}'>0</text><text x='{_WIDTH}' y='{y + 10}' text-anchor='end'>"
        f"{duration_text(times.duration)}</text></g></svg>"
    )
    return "".join(out)
