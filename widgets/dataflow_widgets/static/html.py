"""The HTML that stands in for a widget where none can run."""

from __future__ import annotations

from html import escape

# What a data URI inside a double-quoted attribute must not hold; the rest stays readable and short.
_ESCAPES = {c: f"%{ord(c):02X}" for c in '%<>#"\n\t'}
MAX_PICTURE_CHARS = 30_000


def data_uri(svg: str) -> str:
    """``svg`` as a URI for an ``<img>``."""
    return "data:image/svg+xml;charset=utf-8," + "".join(_ESCAPES.get(c, c) for c in svg)


def picture_html(svg: str, words: str) -> str:
    """An image with its description, or the description alone where the image would be too big."""
    text = f"<pre>{escape(words)}</pre>"
    uri = data_uri(svg)
    if len(uri) > MAX_PICTURE_CHARS:
        return text
    return (
        f'<img alt="{escape(words.partition(chr(10))[0], quote=True)}" '
        f'style="max-width:100%;background:#fff" src="{uri.replace("&", "&amp;")}">'
        f"<details><summary>in words</summary>{text}</details>"
    )
