"""The course page: lessons as cards, what is done, and *continue where I was*.

One page for a Jupyter server (`dataflow lab`; it asks the server what was done) and for the site of `make site`
(it looks at what the browser keeps). It needs no kernel, and nothing of JupyterLab but the address of a notebook.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from dataflow.course.contents import TRACKS, LessonCard
from dataflow.course.translations import language, read_table

_PAGE = Path(__file__).parent / "course_page.html"
_LACKING = Path(__file__).parent / "lacking.js"


def course_page(
    cards: Sequence[LessonCard], lab: str, work: str | None = None, files: str = "files/"
) -> str:
    """The page, as HTML, in the chosen `language`; what lessons say of themselves is as they say it.

    Args:
        cards: the lessons.
        lab: what stands before a notebook's name in the address that opens it; up to an "=" the name is part
            of a query, else of a path.
        work: the address of what was done, as JSON; None where the browser keeps it.
        files: what stands before the name of another file of the lessons in the address of its bytes.
    """
    course = {
        "cards": [card.as_json() for card in cards],
        "tracks": TRACKS,
        "lab": lab,
        "work": work,
        "files": files,
        "language": language(),
        "words": read_table(language()).get("course", {}) if language() != "en" else {},
    }
    # In a script "</script>" would end it, and a title is whatever a notebook says.
    text = json.dumps(course).replace("<", "\\u003c")
    page = _PAGE.read_text(encoding="utf-8").replace("/* COURSE */ {}", text)
    return page.replace("/* LACKING */", _LACKING.read_text(encoding="utf-8"))


def with_warning(page: str) -> str:
    """A page of JupyterLite, which then says what the browser lacks: WebAssembly, or storage.

    Raises `ValueError` for a page without an end of its body.
    """
    before, end, after = page.rpartition("</body>")
    if not end:
        raise ValueError("the page has no </body>")
    script = _LACKING.read_text(encoding="utf-8")
    return f"{before}<script>{{\n{script}\nsayWhatIsLacking();\n}}</script>\n{end}{after}"
