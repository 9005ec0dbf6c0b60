"""The tables of languages: whole, of one shape, and with every sentence of the sources."""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path

import pytest

from dataflow.course.translations import FOLDER, holes, languages, read_table
from dataflow_widgets.base import packed_library
from tools.translations import (
    WIDGETS,
    as_toml,
    collect,
    is_sentence,
    said_by_checks,
    sentences_of_javascript,
    sentences_of_python,
)

OTHERS = [code for code in languages() if code != "en"]


def test_no_sentence_of_checks_and_widgets_is_outside_the_tables() -> None:
    stored = (FOLDER / "en.toml").read_text(encoding="utf-8")
    assert stored == as_toml(collect()), (
        "run python -m tools.translations, and translate what is new"
    )


def sources_of_widgets() -> str:
    return "".join(
        path.read_text(encoding="utf-8")
        for path in WIDGETS.glob("*/*")
        if path.suffix in (".js", ".py")
    )


def test_words_of_sentences_that_are_put_together_stand_in_a_source() -> None:
    sources = sources_of_widgets()
    listed = (FOLDER / "composed.txt").read_text(encoding="utf-8").splitlines()
    assert listed == sorted(set(listed), key=json.loads)
    for sentence in listed:
        for word in re.findall("[A-Za-z]{3,}", json.loads(sentence)):
            assert re.search(rf"\b{word}\b", sources), sentence


def test_words_that_are_listed_stand_in_a_source() -> None:
    sources = sources_of_widgets()
    listed = (FOLDER / "words.txt").read_text(encoding="utf-8").splitlines()
    assert listed == sorted(set(listed), key=json.loads)
    for word in listed:
        text = json.loads(word).removeprefix("label:")
        # A sentence may stand before others in one string.
        forms = [json.dumps(text, ensure_ascii=False)] + [f'"{text} '] * text.endswith(".")
        assert any(form in sources for form in forms), word


def test_there_is_one_more_language() -> None:
    assert "de" in OTHERS


@pytest.mark.parametrize("code", OTHERS)
def test_a_table_has_the_same_sentences_with_the_same_holes(code: str) -> None:
    english, other = read_table("en"), read_table(code)
    assert list(english) == list(other)
    for part, sentences in english.items():
        assert set(sentences) == set(other[part]), part
        for sentence, said in other[part].items():
            assert holes(sentence) == holes(said), sentence
            assert (sentence[:1] == " ") == (said[:1] == " "), sentence
            assert (sentence[-1:] == " ") == (said[-1:] == " "), sentence


@pytest.mark.parametrize("code", OTHERS)
def test_a_table_is_in_its_language(code: str) -> None:
    """Nearly all that has several words reads otherwise than in English."""
    pairs = [p for part in read_table(code).values() for p in part.items() if p[0].count(" ") > 3]
    assert sum(english == said for english, said in pairs) < 0.005 * len(pairs)


@pytest.mark.parametrize(
    "words", ["the shape is {0}", "New cluster…", "Not answered yet.", "Check"]
)
def test_words_are_told_from_other_strings(words: str) -> None:
    assert is_sentence(words)


@pytest.mark.parametrize(
    "other",
    ["df-button df-small", "M{0} {1}L{2} {3}", "relu", "font:12px sans", "task_index", "{0}: {1}"],
)
def test_other_strings_are_no_words(other: str) -> None:
    assert not is_sentence(other)


def test_strings_of_python(tmp_path: Path) -> None:
    source = tmp_path / "a.py"
    source.write_text(
        '"""A docstring of it."""\n'
        "def f(n):\n"
        "    if n > 9:\n"
        "        raise ValueError('for programmers only')\n"
        "    return f'{n:.3g} nodes {\"are\" if n else \"is\"} left' + plural(n, 'dog')\n"
    )
    found = {s for s in sentences_of_python(source) if is_sentence(s)}
    assert found == {"{0} nodes are left", "{0} nodes is left", "{0} dog", "{0} dogs"}


def test_strings_of_javascript(tmp_path: Path) -> None:
    source = tmp_path / "a.js"
    source.write_text(
        "// a comment with `a quote\n"
        'const a = /["`]/.test(x) ? "one of them" : `${n} of ${m ? "the many" : ""} left`;\n'
        'say(plural(rows.length, "row"));\n'
    )
    found = {s for s in sentences_of_javascript(source) if is_sentence(s)}
    assert found == {"one of them", "the many", "{0} of {1} left", "{0} row", "{0} rows"}


def test_the_page_gets_the_table_of_its_language_alone() -> None:
    said = read_table("de")["page"]["Show the answer"]
    sent = {
        code: zlib.decompress(packed_library(code), wbits=-15).decode() for code in ("en", "de")
    }
    assert said in sent["de"] and "__LANGUAGES__" not in sent["de"]
    assert said not in sent["en"]


def test_hints_of_code_and_words_are_sentences(tmp_path):
    module = tmp_path / "lesson99.py"
    module.write_text(
        "@exercise('Look.', lambda v: f'np.where(x >= {v.least}, x, -1) does it for all.', 'x[:, 0]')\n"
        "def ex1(x):\n"
        "    expect(x == 1, f'x is {x}, needed {x + 1} = 2')\n"
        "    other('np.where(x == 1) is no hint')\n"
    )
    found = list(said_by_checks(module))
    assert found == ["np.where(x >= {0}, x, -1) does it for all.", "x is {0}, needed {1} = 2"]
