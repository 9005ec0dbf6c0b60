"""Figures of lessons: a picture with a description, for those who cannot see it."""

from __future__ import annotations

import base64
import io
from html import escape
from typing import Any


class Figure:
    """A matplotlib figure as one ``<img>`` with ``alt`` text; see `figure`."""

    def __init__(self, png: bytes, alt: str) -> None:
        self.png, self.alt = png, alt

    def __repr__(self) -> str:
        return f"[figure: {self.alt}]"

    def _repr_html_(self) -> str:
        source = base64.b64encode(self.png).decode()
        alt = escape(self.alt, quote=True)
        return f'<img alt="{alt}" style="max-width:100%" src="data:image/png;base64,{source}">'


def figure(drawn: Any, alt: str, dpi: int = 80) -> Figure:
    """The picture of a matplotlib figure, with what is to be seen in it as ``alt``.

    The figure is closed, so that it is not shown a second time. Raises `ValueError` for an ``alt``
    of less than two words: say what the picture shows, with its numbers.
    """
    if len(alt.split()) < 2:
        raise ValueError(f"alt says what is to be seen, in words; got {alt!r}")
    import matplotlib.pyplot as plt

    out = io.BytesIO()
    drawn.savefig(out, format="png", dpi=dpi, bbox_inches="tight")
    plt.close(drawn)
    return Figure(out.getvalue(), alt)
