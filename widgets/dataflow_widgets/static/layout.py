"""Coordinates for a static picture: the ``dot`` program, else the pygraphviz wheel, else our own.

As in the page, no name is ever given to Graphviz: nodes are ``n0, n1, ...`` with a fixed size, and
labels are empty tables of a fixed size.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from dataflow_widgets.static.layered import layered, main_path
from dataflow_widgets.static.visible import MOST_BOXES, Link, Visible, text_width

# A picture is made while the user waits for the widget, and `dot` can take minutes on a graph with
# hubs: past half a second the plain drawing has to do.
TIMEOUT_SECONDS = 0.5
STRAIGHT = 20
#: Graphviz's word for each direction; where "auto" is asked for, a static picture goes down.
DIRECTIONS = {"auto": "TB", "down": "TB", "up": "BT", "right": "LR"}


def place(visible: Visible, direction: str = "down") -> str:
    """Fills in the coordinates of ``visible``; returns which way it was done."""
    if not visible.items:
        visible.width = visible.height = 10.0
        return "empty"
    text = layout_dot(visible, direction)
    for name, run in (("dot", _dot_program), ("pygraphviz", _pygraphviz)):
        try:
            output = run(text)
            if output is not None:
                _read_json0(json.loads(output), visible)
                return name
        except (OSError, subprocess.SubprocessError, ValueError, KeyError):
            continue  # the next way
    layered(visible)
    return "layered"


def _dot_program(text: str) -> str | None:
    dot = shutil.which("dot")
    if dot is None:
        return None
    done = subprocess.run(
        [dot, "-Tjson0"],
        input=text,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=True,
    )
    return done.stdout


def _pygraphviz(text: str) -> str | None:
    try:
        import pygraphviz
    except ImportError:
        return None
    drawn = pygraphviz.AGraph(string=text).draw(format="json0", prog="dot")
    return drawn.decode() if isinstance(drawn, bytes) else str(drawn)


def _room(width: float, height: int) -> str:
    return (
        '<<table border="0" cellborder="0" cellspacing="0" cellpadding="0" fixedsize="true" '
        f'width="{int(width) + 1}" height="{height}"><tr><td></td></tr></table>>'
    )


def weights(visible: Visible) -> Callable[[Link], int]:
    """How straight Graphviz is to draw each arrow, as in ``shared/dot.js``.

    The steps of the longest path stand under one another, whatever a placeholder that all of them
    read (whether this is training) pulls at them.
    """
    path = main_path(visible)
    before = dict(pairwise(path))
    return lambda link: STRAIGHT if before.get(link.head) == link.tail else 1


def layout_dot(visible: Visible, direction: str = "down") -> str:
    """The graph as DOT for layout only: sizes, no names."""
    number = {item.key: i for i, item in enumerate(visible.items)}
    many = len(visible.items) > MOST_BOXES
    limits = " nslimit=1 nslimit1=1 mclimit=0.1 splines=line" if many else ""
    lines = [
        "digraph {",
        f"graph [rankdir={DIRECTIONS.get(direction, 'TB')} nodesep=0.3 ranksep=0.38{limits}]",
        'node [shape=box fixedsize=true label=""] edge [label="" arrowsize=0.7]',
    ]

    def write(path: str) -> None:
        for item in visible.items:
            if item.scope == path:
                size = f"width={item.width / 72:.3f} height={item.height / 72:.3f}"
                lines.append(f"n{number[item.key]} [{size}]")
        for i, scope in enumerate(visible.scopes):
            if scope.rpartition("/")[0] == path:
                label = _room(text_width(scope.rpartition("/")[2], 12) + 34, 16)
                lines.append(f"subgraph cluster_{i} {{ margin=10 labeljust=l label={label}")
                write(scope)
                lines.append("}")

    write("")
    weight = weights(visible)
    for i, link in enumerate(visible.links):
        label = f" label={_room(text_width(link.label, 10) + 8, 14)}" if link.label else ""
        lines.append(
            f"n{number[link.tail]} -> n{number[link.head]} [eid={i} weight={weight(link)}{label}]"
        )
    return "\n".join([*lines, "}"])


def _read_json0(drawn: dict[str, Any], visible: Visible) -> None:
    x0, y0, x1, y1 = (float(v) for v in drawn["bb"].split(","))
    visible.width, visible.height = x1 - x0, y1 - y0

    def flip(pair: str) -> tuple[float, float]:
        x, y = (float(v) for v in pair.split(","))
        return x - x0, visible.height - (y - y0)

    for thing in drawn.get("objects", []):
        name = thing["name"]
        if name.startswith("cluster_") and "bb" in thing:
            a, b, c, d = (float(v) for v in thing["bb"].split(","))
            path = visible.scopes[int(name[8:])]
            visible.boxes.append((path, a - x0, visible.height - (d - y0), c - a, d - b))
        elif name[0] == "n" and "pos" in thing:
            item = visible.items[int(name[1:])]
            item.x, item.y = flip(thing["pos"])
    for edge in drawn.get("edges", []):
        link = visible.links[int(edge["eid"])]
        tip = None
        points = []
        for part in edge["pos"].split():
            if part.startswith("e,"):
                tip = flip(part[2:])
            elif not part.startswith("s,"):
                points.append(flip(part))
        start, *rest = (f"{x:.1f},{y:.1f}" for x, y in points)
        link.path = f"M{start}C{' '.join(rest)}"
        if tip is not None:
            link.arrow = arrow_head(tip, points[-1])
        link.label_at = flip(edge["lp"]) if "lp" in edge else None


def arrow_head(tip: tuple[float, float], base: tuple[float, float]) -> str:
    """A triangle from ``base`` to ``tip`` as an SVG path."""
    dx, dy = tip[0] - base[0], tip[1] - base[1]
    length = (dx * dx + dy * dy) ** 0.5 or 1.0
    ux, uy = -dy / length * 3.2, dx / length * 3.2
    return (
        f"M{tip[0]:.1f},{tip[1]:.1f}L{base[0] + ux:.1f},{base[1] + uy:.1f}"
        f"L{base[0] - ux:.1f},{base[1] - uy:.1f}Z"
    )
