"""The HTML that stands in for a widget where none can run."""

from __future__ import annotations

from html import escape

from dataflow.course.translations import translate

# What a data URI inside a double-quoted attribute must not hold; the rest stays readable and short.
_ESCAPES = str.maketrans({c: f"%{ord(c):02X}" for c in '%<>#"\n\t'})
MAX_PICTURE_CHARS = 60_000


def data_uri(svg: str) -> str:
    """``svg`` as a URI for an ``<img>``."""
    return "data:image/svg+xml;charset=utf-8," + svg.translate(_ESCAPES)


def fits(svg: str) -> bool:
    """Whether ``svg`` is small enough to be kept in a notebook."""
    return len(data_uri(svg)) <= MAX_PICTURE_CHARS


def picture_html(svg: str, words: str) -> str:
    """An image with its description, or the description alone where the image would be too big."""
    text = f"<pre>{escape(words)}</pre>"
    if not fits(svg):
        return text
    label = translate("in words")
    return (
        f'<img alt="{escape(words.partition(chr(10))[0], quote=True)}" '
        f'style="max-width:100%;background:#fff" src="{data_uri(svg).replace("&", "&amp;")}">'
        f"<details><summary>{escape(label)}</summary>{text}</details>"
    )
