"""Figures of lessons: a picture in the theme of the page, with a description for those who cannot see it."""

from __future__ import annotations

import base64
import io
from html import escape
from typing import Any

from dataflow.course.charts import ChartFigure

# Both pictures are in the page; its theme chooses. Where style sheets are dropped (GitHub), the light
# one is left.
_THEMES = """<style>
[data-jp-theme-light="false"] .df-figure-light, .vscode-dark .df-figure-light { display: none }
[data-jp-theme-light="false"] .df-figure-dark, .vscode-dark .df-figure-dark { display: inline !important }
</style>"""
#: Grays of the dark theme, for black and for white.
_INK, _PAPER = 0.9, 0.12


class Figure:
    """A matplotlib figure as a picture for each theme, with ``alt`` text; see `figure`."""

    def __init__(self, png: bytes, alt: str, dark_png: bytes) -> None:
        self.png, self.alt, self.dark_png = png, alt, dark_png

    def __repr__(self) -> str:
        return f"[figure: {self.alt}]"

    def _repr_html_(self) -> str:
        alt = escape(self.alt, quote=True)
        light, dark = (base64.b64encode(png).decode() for png in (self.png, self.dark_png))
        return (
            f'{_THEMES}<img class="df-figure-light" alt="{alt}" style="max-width:100%" '
            f'src="data:image/png;base64,{light}">'
            f'<img class="df-figure-dark" alt="{alt}" style="max-width:100%;display:none" '
            f'src="data:image/png;base64,{dark}">'
        )


class Chart:
    """A figure of `dataflow.course.charts` as a picture of the page, with ``alt`` text; see `figure`."""

    def __init__(self, svg: str, alt: str) -> None:
        self.svg, self.alt = svg, alt

    def __repr__(self) -> str:
        return f"[figure: {self.alt}]"

    def _repr_html_(self) -> str:
        return self.svg


def figure(drawn: Any, alt: str, dpi: int = 80) -> Figure | Chart:
    """The picture of a figure of `dataflow.course.charts` or of matplotlib, with what is to be seen as ``alt``.

    One of matplotlib's is drawn twice, for light and for dark pages: in the dark, grays are turned round (black text
    becomes light, white paper dark) and colors and images stay. The figure is closed, so that it is
    not shown a second time. Raises `ValueError` for an ``alt`` of less than two words: say what the
    picture shows, with its numbers.
    """
    if len(alt.split()) < 2:
        raise ValueError(f"alt says what is to be seen, in words; got {alt!r}")
    if isinstance(drawn, ChartFigure):
        return Chart(drawn.to_svg(alt), alt)
    import matplotlib.pyplot as plt

    light = _png(drawn, dpi)
    _darken(drawn)
    dark = _png(drawn, dpi)
    plt.close(drawn)
    return Figure(light, alt, dark)


def _png(drawn: Any, dpi: int) -> bytes:
    out = io.BytesIO()
    drawn.savefig(out, format="png", dpi=dpi, bbox_inches="tight")
    return out.getvalue()


def _darken(drawn: Any) -> None:
    """Turns the grays of all that is drawn round, as for paper that is nearly black."""
    from matplotlib.axis import Tick

    drawn.canvas.draw()  # makes the ticks and legends whose colors are changed
    seen = set()
    found = drawn.findobj()
    arrows = [a.arrow_patch for a in found if getattr(a, "arrow_patch", None) is not None]
    for artist in [*found, *arrows]:
        if id(artist) in seen or hasattr(artist, "patch"):
            continue  # a figure's and an axes' colors are those of their patches
        seen.add(id(artist))
        for part in ("color", "facecolor", "edgecolor", "markerfacecolor", "markeredgecolor"):
            if part == "color" and hasattr(artist, "get_edgecolor"):
                continue  # patches and collections: the color is both of the others
            get, put = getattr(artist, f"get_{part}", None), getattr(artist, f"set_{part}", None)
            if get is not None and put is not None and not isinstance(artist, Tick):
                _turn(get, put)
    for axes in drawn.axes:
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_tick_params(which="both", color=str(_INK), labelcolor=str(_INK))


def _turn(get: Any, put: Any) -> None:
    """Puts each gray in the place of what ``get`` gives, where it is a color or several."""
    import numpy as np
    from matplotlib.colors import to_rgba_array

    value = get()
    if value is None or (isinstance(value, str) and value in ("auto", "none", "face")):
        return
    try:
        colors = to_rgba_array(value)
    except (TypeError, ValueError):
        return  # no color: an artist may call anything so
    gray = (np.ptp(colors[:, :3], axis=1) < 0.02) & (colors[:, 3] > 0)
    if not gray.any():
        return
    colors[gray, :3] = _INK - (_INK - _PAPER) * colors[gray, :3]
    put(colors if len(colors) > 1 else tuple(colors[0]))
