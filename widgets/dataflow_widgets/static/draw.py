"""A placed graph as SVG text. Names are escaped: they are text, whatever they spell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from dataflow_widgets.static.layout import place
from dataflow_widgets.static.visible import MOST_BOXES, Item, Visible, visible

MAX_BOXES = 300


class TooLargeError(ValueError):
    """A graph that no static picture can show readably."""


# One light palette on white: readable in light and dark notebooks, where an <img> has no theme.
_STYLE = (
    "text{font:12px -apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;fill:#1f2328;"
    "text-anchor:middle}.t{font-weight:600}.d,.e{font-size:10px;fill:#4a4f55}"
    ".e{paint-order:stroke;stroke:#fff;stroke-width:3px}.g{font-size:9px;font-weight:700;"
    "text-anchor:end;paint-order:stroke;stroke:#fff;stroke-width:4px}.s{text-anchor:start;"
    "font-weight:600;fill:#4a4f55;paint-order:stroke;stroke:#fff;stroke-width:3px}.n{font-weight:400}.l{fill:none;stroke:#8b9199;stroke-width:1.2}.c{stroke-dasharray:"
    "2 3}.a{fill:#8b9199}.b{fill:#1f23280a;stroke:#8b9199;stroke-width:.8}"
)
COLORS = {
    "const": ("#eceef0", "#6b7178"),
    "placeholder": ("#fbe9d2", "#b56a10"),
    "variable": ("#eadff8", "#6c3fb5"),
    "gradient": ("#f8dfe8", "#a93a61"),
    "scope": ("#dce6ee", "#3d5d7a"),
    "op": ("#d9e8f8", "#1f61a8"),
}
#: Half the height of the lid of a variable's drum, in px.
_LID = 3.5
#: Filling and line of what a run did not need.
PRUNED = ("#ffffff", "#8b9199")


def graph_svg(
    nodes: Sequence[dict[str, Any]],
    marks: Mapping[str, Any] | None = None,
    only: set[int] | None = None,
    direction: str = "down",
    limit: int = MOST_BOXES,
    whole: bool = False,
) -> str:
    """SVG of ``nodes`` (see `dataflow.introspect.graph_json`), pruned ones gray and dashed.

    ``marks`` holds ``fetched``, ``fed`` and ``needed`` as lists of indices; ``only`` restricts the
    picture to some nodes; scopes are closed until at most ``limit`` boxes remain. ``whole``: also
    what trains and saves a large model.
    """
    shown = visible(nodes, only, limit, whole)
    if len(shown.items) > MAX_BOXES:
        raise TooLargeError(
            f"{len(shown.items)} boxes are too many for a static picture (at most {MAX_BOXES}); "
            "give the operations name scopes, which can be closed, or choose some with only=."
        )
    place(shown, direction)
    return _svg(shown, marks if marks and "needed" in marks else None)


def state_of(item: Item, marks: Mapping[str, Any] | None) -> list[str]:
    """What a run did with a box: fetched, fed, needed, failed or pruned, or nothing when none was made."""
    if not marks:
        return []
    named = ("fetched", "fed", "needed", "failed")
    states = [s for s in named if set(item.members) & set(marks.get(s, ()))]
    return states or ["pruned"]


def state_color(states: Sequence[str]) -> str:
    """The color of the line around what a run failed in, fetched or was fed; empty for others."""
    colors = {"failed": "#b3261e", "fetched": "#0a7d33", "fed": "#9a4b00"}
    return next((color for state, color in colors.items() if state in states), "")


def _svg(shown: Visible, marks: Mapping[str, Any] | None) -> str:
    width, height = shown.width + 12, shown.height + 24
    out = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width:.0f}' height='{height:.0f}' "
        f"viewBox='-4 -12 {width:.0f} {height:.0f}'><style>{escape(_STYLE)}</style>"
        f"<rect x='-4' y='-12' width='{width:.0f}' height='{height:.0f}' fill='#fff'/>"
    ]
    for _, x, y, w, h in shown.boxes:
        out.append(
            f"<rect class='b' x='{x:.0f}' y='{y:.0f}' width='{w:.0f}' height='{h:.0f}' rx='8'/>"
        )
    states = {item.key: state_of(item, marks) for item in shown.items}
    for link in shown.links:
        dead = "pruned" in states[link.tail] or "pruned" in states[link.head]
        faint = " opacity='.45'" if dead else ""
        out.append(f"<g{faint}><path class='l{' c' if link.control else ''}' d='{link.path}'/>")
        if link.arrow:
            out.append(f"<path class='a' d='{link.arrow}'/>")
        if link.label and link.label_at:
            x, y = link.label_at
            out.append(f"<text class='e' x='{x:.0f}' y='{y + 3:.0f}'>{svg_text(link.label)}</text>")
        out.append("</g>")
    for path, x, y, _, _ in shown.boxes:  # above the edges that pass
        title = f"{svg_text(path.rpartition('/')[2])}{_nature(shown.natures.get(path))}"
        out.append(f"<text class='s' x='{x + 10:.0f}' y='{y + 15:.0f}'>{title}</text>")
    for item in shown.items:
        out.append(_box(item, states[item.key]))
    return "".join([*out, "</svg>"])


def _nature(words: str | None) -> str:
    return f"<tspan class='n' dx='6'>{words}</tspan>" if words else ""


def svg_text(text: str) -> str:
    """A text as it stands in SVG, without what cannot be printed."""
    return escape("".join(c if c.isprintable() else "�" for c in text))


def _box(item: Item, states: list[str]) -> str:
    fill, line = COLORS.get(item.kind, COLORS["op"])
    extra = ""
    if color := state_color(states):
        line, extra = color, " stroke-width='2.6'"
    elif "pruned" in states:
        (fill, line), extra = PRUNED, " stroke-dasharray='4 3'"
    x, y = item.x - item.width / 2, item.y - item.height / 2
    top = item.y - 2 if item.detail else item.y + 4
    top += _LID / 2 if item.kind == "variable" else 0
    ink = " style='fill:#636970'" if "pruned" in states else ""
    text = f"<text class='t' x='{item.x:.1f}' y='{top:.1f}'{ink}>{svg_text(item.title)}</text>"
    if item.detail:
        text += f"<text class='d' x='{item.x:.1f}' y='{top + 13:.1f}'{ink}>{svg_text(item.detail)}</text>"
    tag = ", ".join(s for s in states if s != "needed")
    if tag:
        text += (
            f"<text class='g' x='{x + item.width - 4:.1f}' y='{y - 3:.1f}' "
            f"fill={quoteattr(line)}>{tag}</text>"
        )
    return f"{_outline(item, x, y)} fill='{fill}' stroke='{line}'{extra}/>{text}"


def _outline(item: Item, x: float, y: float) -> str:
    """The shape of a box, without its end: as in the page, what is fed slants, what is kept is a drum."""
    w, h = item.width, item.height
    if item.kind == "placeholder":
        return f"<path d='M{x + 10:.1f},{y:.1f}h{w - 10:.1f}l-10,{h:.1f}h{10 - w:.1f}z'"
    if item.kind == "variable":
        lid = f"a{w / 2:.1f},{_LID:.1f} 0 0 1"
        return (
            f"<path d='M{x:.1f},{y + _LID:.1f}{lid} {w:.1f},0v{h - 2 * _LID:.1f}{lid} {-w:.1f},0z"
            f"m0,0a{w / 2:.1f},{_LID:.1f} 0 0 0 {w:.1f},0'"
        )
    radius = h / 2 if item.kind == "const" else 6
    return f"<rect x='{x:.1f}' y='{y:.1f}' width='{w:.1f}' height='{h:.1f}' rx='{radius:.0f}'"
