"""Titles with their texts, as plain text and as HTML that folds."""

from __future__ import annotations

import html
from collections.abc import Sequence

_MOST_ROWS = 40


def as_text(sections: Sequence[tuple[str, str]]) -> str:
    """Each title with its text below it, set in."""
    return "\n".join(f"{title}\n{_indent(body)}" for title, body in sections)


def as_html(sections: Sequence[tuple[str, str]]) -> str:
    """The first open, the others folded."""
    first, *rest = sections
    parts = [f"<p><b>{html.escape(first[0])}</b></p><pre>{html.escape(first[1])}</pre>"]
    for title, body in rest:
        parts.append(
            f"<details><summary>{html.escape(title)}</summary>"
            f"<pre>{html.escape(body)}</pre></details>"
        )
    return f'<div class="dataflow-explain">{"".join(parts)}</div>'


def rows(lines: Sequence[str]) -> str:
    """The lines, the first forty where there are more."""
    shown = list(lines[:_MOST_ROWS])
    if len(lines) > len(shown):
        shown.append(f"... and {len(lines) - len(shown)} more (see .to_dict())")
    return "\n".join(shown)


def _indent(text: str) -> str:
    return "\n".join("    " + line for line in text.splitlines())
