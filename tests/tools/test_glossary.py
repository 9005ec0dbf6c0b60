"""The glossary: words where the source says, links that hold, a page and maps that are of today."""

from __future__ import annotations

import re
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from tests.lessons.notebooks import ROOT, headings, read
from tools.glossary import (
    MAPS,
    PAGE,
    PARTS,
    SOURCE,
    GlossaryError,
    anchor_of,
    bold_places,
    concept_map,
    misplaced,
    page,
    read_terms,
)

TERMS = read_terms(SOURCE.read_text(encoding="utf-8"))
AGAIN = "run python -m tools.glossary and commit what it writes"


def words_of(svg: str) -> set[str]:
    """The titles of a map's boxes."""
    found = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return {text.text or "" for text in found if text.get("class") == "t"}


def num_arrows(svg: str) -> int:
    return len(re.findall(r"class='l[ ']", svg))


def test_each_word_is_bold_where_it_is_introduced() -> None:
    assert len(TERMS) > 100
    assert {term.lesson for term in TERMS} == set(range(27)), "each lesson brings a word"
    assert misplaced(TERMS, bold_places()) == []


def test_the_page_is_of_today_and_its_links_are_sound() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == page(TERMS, bold_places()), AGAIN
    links = re.findall(r"\]\(([^)#]+)(?:#([^)]+))?\)", text)
    assert len(links) == len(TERMS) + len(PARTS)
    for file, anchor in links:
        path = ROOT / "lessons" / file
        assert path.is_file(), file
        if anchor:
            titles = [title.replace("`", "").replace(" ", "-") for title in headings(read(path))]
            assert unquote(anchor) in titles, f"{file} has no section {anchor}"


@pytest.mark.parametrize(("name", "lessons"), [(name, lessons) for name, _, lessons in PARTS])
def test_a_map_shows_every_word_of_its_lessons(name: str, lessons: range) -> None:
    stored = (MAPS / f"{name}.svg").read_text(encoding="utf-8")
    drawn = concept_map(TERMS, list(lessons))
    own = [term for term in TERMS if term.lesson in lessons]
    alone = [t for t in own if not t.needs and not any(t.name in o.needs for o in own)]
    assert {t.name for t in own} - {t.name for t in alone} <= words_of(drawn)
    assert len(alone) < 4
    # Coordinates are those of the Graphviz that drew it; words and arrows are the source's.
    assert words_of(stored) == words_of(drawn), AGAIN
    assert num_arrows(stored) == num_arrows(drawn) == sum(len(t.needs) for t in own), AGAIN


def test_all_lessons_are_in_one_map() -> None:
    assert sorted(n for _, _, lessons in PARTS for n in lessons) == list(range(27))


def term(name: str, lesson: int, more: str = "") -> str:
    return f'[[term]]\nname = "{name}"\nlesson = {lesson}\nsays = "x"\n{more}\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[term]]\nname = "a"\nlesson = 1\n', "a: got"),
        (term("a", 1, 'need = ["b"]'), "needed name, lesson, says"),
        (term("a", 1) * 2, "more than once: a"),
        (term("a", 1, 'needs = ["b"]'), "'b', which is no word"),
        (term("a", 1, 'needs = ["b"]') + term("b", 2), "needs b, which comes in lesson 2"),
    ],
)
def test_a_source_that_contradicts_itself_is_refused(text: str, words: str) -> None:
    with pytest.raises(GlossaryError, match=re.escape(words)):
        read_terms(text)


def test_a_word_in_the_wrong_lesson_is_found() -> None:
    places = bold_places()
    (late,) = read_terms(term("placeholder", 5))
    assert "stands in lesson 3 first" in misplaced([late], places)[0]
    (absent,) = read_terms(term("phlogiston", 5))
    assert "is in no lesson" in misplaced([absent], places)[0]


def test_an_anchor_is_the_one_that_jupyter_makes() -> None:
    assert unquote(anchor_of("`nearby` and `analogy`")) == "nearby-and-analogy"
    assert "'" not in anchor_of("Evaluate the model's effectiveness")
