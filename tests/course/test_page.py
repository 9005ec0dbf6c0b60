"""The course page: what it is told, and that a title cannot become part of its program."""

from __future__ import annotations

import json
import re

import pytest

from dataflow.course import translations
from dataflow.course.contents import TRACKS, LessonCard
from dataflow.course.page import course_page, with_warning

CARD = LessonCard(
    "01_a.ipynb", 1, "</script><script>alert(1)</script>", 20, ["<b>"], ["lesson01.q1"]
)


def test_the_page_has_the_lessons_and_where_they_are() -> None:
    page = course_page([CARD], "/lab/tree/", "/work")
    told = re.search(r"^const course = (.*);$", page, re.MULTILINE)
    assert told is not None
    assert json.loads(told[1]) == {
        "cards": [CARD.as_json()],
        "tracks": TRACKS,
        "lab": "/lab/tree/",
        "work": "/work",
        "files": "files/",
        "language": "en",
        "words": {},
    }


def test_the_page_is_told_what_it_says_in_german(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translations, "_chosen", "de")
    page = course_page([CARD], "/lab/tree/", "/work")
    told = re.search(r"^const course = (.*);$", page, re.MULTILINE)
    assert told is not None
    course = json.loads(told[1])
    assert course["language"] == "de"
    assert course["words"] == translations.read_table("de")["course"]
    assert course["words"]["Continue where I was"] == "Weiter, wo ich war"


def test_a_title_stays_text() -> None:
    empty = course_page([], "/lab/tree/")
    assert course_page([CARD], "/lab/tree/").count("<") == empty.count("<")


def test_jupyterlabs_own_page_gets_the_warning_at_its_end() -> None:
    page = with_warning("<body>a</body>\n</html>")
    assert page.startswith("<body>a<script>")
    assert page.endswith("</script>\n</body>\n</html>")
    with pytest.raises(ValueError, match="no </body>"):
        with_warning("<p>")
