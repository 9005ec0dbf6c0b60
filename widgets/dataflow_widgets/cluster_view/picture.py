"""The scene of a cluster as SVG, for where no page can draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape

from dataflow_widgets.cluster_view.scene import path_of

_FILLS = {
    "variable": "#e4d6f7",
    "gradient": "#f6d5e0",
    "control": "#cdebed",
    "state": "#ecdcf2",
    "op": "#d3e5f8",
    "noop": "#eceef0",
}
_DOTS = {"running": "#0a7d33", "paused": "#9a4b00", "dead": "#b3261e", "silent": "#9a4b00"}


def cluster_svg(
    scene: dict[str, Any],
    states: dict[str, str],
    words: str,
    busy: Any = (),
    middle: Sequence[str] = (),
) -> str:
    """The machines, what runs on them and their links; ``words`` stands below, the lines ``middle`` in
    the middle of a ring."""
    width, height = scene["width"], scene["height"] + 26
    out = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' "
        f"viewBox='0 0 {width} {height}'><style>text{{font:11.5px -apple-system,'Segoe UI',Roboto,"
        "Helvetica,Arial,sans-serif;fill:#1f2328}.n{font-size:13px;font-weight:600}"
        f".s{{fill:#4a4f55;font-size:11px}}</style><rect width='{width}' height='{height}' "
        "fill='#fff'/>"
    ]
    for lane in scene["lanes"]:
        out.append(
            f"<rect x='4' y='{lane['y']}' width='{width - 8}' height='{lane['h']}' rx='8' "
            "fill='#f4f5f7'/>"
        )
        center = lane["y"] + lane["h"] / 2 + 4 - 7 * (len(lane["label"]) - 1)
        for i, text in enumerate(lane["label"]):
            out.append(f"<text class='s' x='16' y='{center + 14 * i}'>{escape(text)}</text>")
    for link in scene["links"]:
        out.append(f"<path d='{path_of(link)}' fill='none' stroke='#8b9199' stroke-width='1.6'/>")
        if "arrow" in link:
            ax, ay, degrees = link["arrow"]
            out.append(
                f"<path d='M-5 -5L6 0L-5 5Z' transform='translate({ax} {ay}) rotate({degrees})' "
                "fill='#6b7178'/>"
            )
    ring = scene["ring"]
    for i, line in enumerate(middle if ring else ()):
        top = ring["y"] - 8 * (len(middle) - 1) + 4 + 16 * i
        out.append(
            f"<text class='s' x='{ring['x']}' y='{top}' text-anchor='middle'>{escape(line)}</text>"
        )
    for i, card in enumerate(scene["tasks"]):
        x, y = card["x"], card["y"]
        state = states.get(card["task"], "")
        edge = " stroke-dasharray='5 3'" if state == "dead" else ""
        out.append(
            f"<rect x='{x}' y='{y}' width='{card['w']}' height='{card['h']}' rx='8' fill='#fff' "
            f"stroke='{_DOTS.get(state, '#6b7178')}' stroke-width='1.4'{edge}/>"
        )
        out.append(f"<text class='n' x='{x + 12}' y='{y + 17}'>{escape(card['name'])}</text>")
        detail = card["detail"] + (f" · {state}" if state and not card["small"] else "")
        if not card["small"]:
            out.append(f"<text class='s' x='{x + 12}' y='{y + 31}'>{escape(detail[:40])}</text>")
        for a, b in card["edges"]:
            one, two = card["parts"][a], card["parts"][b]
            out.append(
                f"<path d='M{one['x'] + one['w'] / 2} {one['y'] + 10}L{two['x'] + two['w'] / 2} "
                f"{two['y'] + 10}' stroke='#b4bac1' fill='none'/>"
            )
        for part in card["parts"]:
            most = int(part["w"] / 6.6)
            text = part["text"] if len(part["text"]) <= most else part["text"][: most - 1] + "…"
            out.append(
                f"<rect x='{part['x']}' y='{part['y']}' width='{part['w']}' height='{part['h']}' "
                f"rx='10' fill='{_FILLS[part['kind']]}' stroke='#8b9199' stroke-width='.8'/>"
                f"<text x='{part['x'] + part['w'] / 2}' y='{part['y'] + 14}' "
                f"text-anchor='middle'>{escape(text)}</text>"
            )
        if busy and busy[i] and not card["small"]:
            out.append(
                f"<text class='s' x='{x + card['w'] - 12}' y='{y + 17}' text-anchor='end'>busy "
                f"{busy[i]:.0%}</text>"
            )
    out.append(f"<text class='s' x='16' y='{height - 10}'>{escape(words[:150])}</text></svg>")
    return "".join(out)
