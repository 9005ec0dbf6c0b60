"""Boxes, circles, arrows and words as SVG, for the figures that are made by scripts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape

BLUE, GRAY, ORANGE, PURPLE, GREEN = (
    ("#d9e8f8", "#1f61a8"),
    ("#eceef0", "#6b7178"),
    ("#fbe9d2", "#b56a10"),
    ("#eadff8", "#6c3fb5"),
    ("#dcf2e3", "#1a7f37"),
)
_STYLE = (
    "text{font:13px -apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;fill:#1f2328;"
    "text-anchor:middle}.s{font-size:11px;fill:#4a4f55}.b{font-weight:600}"
    "path{fill:none;stroke:#6b7178;stroke-width:1.3}.d{stroke-dasharray:4 3}.h{fill:#6b7178;stroke:none}"
)
#: What each color is where the page around the figure is dark (its ``color-scheme``, as JupyterLab's is by
#: ``course.js``).
DARK = {
    "#fff": "#161616",
    "#ffffff": "#161616",
    "#fafbfc": "#1e2124",
    "#8b9199": "#6b7178",
    "#d9e8f8": "#16304d",
    "#1f61a8": "#7db4f0",
    "#eceef0": "#2b2f33",
    "#6b7178": "#a0a7ae",
    "#fbe9d2": "#43290a",
    "#b56a10": "#e3a353",
    "#eadff8": "#33204f",
    "#6c3fb5": "#bb9cf0",
    "#dcf2e3": "#123820",
    "#1a7f37": "#5fce84",
    "#c7aff0": "#56358a",
}
_STYLE_DARK = "@media (prefers-color-scheme:dark){{text{{fill:#e6e6e6}}.s{{fill:#b9bec4}}path{{stroke:#a0a7ae}}.h{{fill:#a0a7ae}}{}}}".format(
    "".join(
        f"[fill='{light}']{{fill:{dark}}}[stroke='{light}']{{stroke:{dark}}}"
        for light, dark in DARK.items()
    )
)


class Drawing:
    """Boxes, circles, arrows and words; `svg` is the whole."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self._parts = [
            f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' "
            f"viewBox='0 0 {width} {height}' role='img'><title>{escape(title)}</title>"
            f"<style>{escape(_STYLE + _STYLE_DARK)}</style><rect width='{width}' height='{height}' fill='#fff'/>"
        ]

    def text(self, x: float, y: float, words: str, kind: str = "") -> None:
        """Words around ``x``, a line for each line."""
        for i, line in enumerate(words.split("\n")):
            self._parts.append(
                f"<text x='{x:.0f}' y='{y + 15 * i:.0f}' class='{kind}'>{escape(line)}</text>"
            )

    def box(
        self, x: float, y: float, w: float, h: float, words: str = "", color: Sequence[str] = BLUE
    ) -> None:
        """A box from its upper left corner, with words in its middle."""
        self._parts.append(
            f"<rect x='{x:.1f}' y='{y:.1f}' width='{w:.1f}' height='{h:.1f}' rx='{min(6, h / 6):.1f}' "
            f"fill='{color[0]}' stroke='{color[1]}'/>"
        )
        lines = words.count("\n") + 1
        if words:
            self.text(x + w / 2, y + h / 2 + 5 - 7.5 * (lines - 1), words, "b")

    def circle(
        self, x: float, y: float, r: float, words: str = "", color: Sequence[str] = BLUE
    ) -> None:
        """A circle with words in its middle."""
        self._parts.append(
            f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{r:.1f}' fill='{color[0]}' stroke='{color[1]}'/>"
        )
        if words:
            self.text(x, y + 5, words, "b")

    def line(self, points: Sequence[tuple[float, float]], dashed: bool = False) -> None:
        """A line through points."""
        path = "L".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._parts.append(f"<path class='{'d' if dashed else ''}' d='M{path}'/>")

    def arrow(self, *points: tuple[float, float], dashed: bool = False) -> None:
        """A line with a head at its last point."""
        (x0, y0), (x1, y1) = points[-2:]
        length = math.hypot(x1 - x0, y1 - y0)
        ux, uy = (x1 - x0) / length, (y1 - y0) / length
        bx, by = x1 - 8 * ux, y1 - 8 * uy
        self.line([*points[:-1], (bx, by)], dashed)
        corners = ((x1, y1), (bx - 3.5 * uy, by + 3.5 * ux), (bx + 3.5 * uy, by - 3.5 * ux))
        head = "L".join(f"{x:.1f},{y:.1f}" for x, y in corners)
        self._parts.append(f"<path class='h' d='M{head}Z'/>")

    def raw(self, element: str) -> None:
        """An element of SVG."""
        self._parts.append(element)

    def svg(self) -> str:
        return "".join([*self._parts, "</svg>\n"])
