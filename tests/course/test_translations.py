"""Checks and widgets in the learner's language."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dataflow as tf
from dataflow import course
from dataflow.course import translations
from dataflow.course.exercise import Verdict, exercise, expect
from dataflow.course.translations import read_table, translate, translator
from dataflow_widgets.base import words_of
from tests.widgets.test_javascript import node_program

TABLE = {
    "Right: {0}.": "Richtig: {0}.",
    "{0} is {1}": "{0} ist {1}",
    "{0} is {1}, needed a tensor": "{0} ist {1}, gebraucht wird ein Tensor",
    "pruned node": "beschnittener Knoten",
    "You marked nothing.": "Du hast nichts markiert.",
    "One is left. Take it.": "Einer ist da. Nimm ihn.",
    ", from {0}": ", von {0}",
    "{0} tasks": "{0} Tasks!",
    "{0} times": "{0}-mal",
    "{0} chosen.": "{0} gewählt.",
}
SAID = {
    "m4 is 4, needed a tensor": "m4 ist 4, gebraucht wird ein Tensor",
    "Right: 1 pruned node.": "Richtig: 1 beschnittener Knoten.",
    "One is left. Take it. You marked nothing.": "Einer ist da. Nimm ihn. Du hast nichts markiert.",
    "You marked nothing. The moon is made of old green cheese.": "Du hast nichts markiert. "
    "The moon is made of old green cheese.",
    "  a: Add, from x\nYou marked nothing.": "  a: Add, von x\nDu hast nichts markiert.",
    "x is y": "x ist y",
    "“three times” chosen.": "“three times” gewählt.",
    "3 times": "3-mal",
    "3.5, 4.5": "3.5, 4.5",
    "3 tasks: ps:0, worker:0.": "3 Tasks!: ps:0, worker:0.",
    "relu": "relu",
}


@pytest.fixture
def german() -> Iterator[None]:
    before = course.language()
    course.language("de")
    yield
    course.language(before)


@pytest.mark.parametrize(("text", "needed"), SAID.items())
def test_what_is_said(text: str, needed: str) -> None:
    assert translator(TABLE)(text) == needed


def test_the_page_says_the_same(tmp_path: Path) -> None:
    """The rules are written twice: here and in shared/translate.js."""
    source = Path(__file__).parents[2] / "widgets" / "dataflow_widgets" / "shared" / "translate.js"
    shutil.copy(source, tmp_path / "translate.mjs")
    program = tmp_path / "run.mjs"
    program.write_text(
        'import { translator } from "./translate.mjs";\n'
        f"const say = translator({json.dumps(TABLE)});\n"
        f"console.log(JSON.stringify({json.dumps(list(SAID))}.map((text) => say(text))));\n"
    )
    done = subprocess.run(
        [node_program(), str(program)], capture_output=True, text=True, timeout=240, check=True
    )
    assert json.loads(done.stdout) == list(SAID.values())


@pytest.mark.usefixtures("german")
@pytest.mark.parametrize("part", ["checks", "widgets"])
def test_every_sentence_is_found_by_its_template(part: str) -> None:
    wrong = {}
    for english, said in read_table("de")[part].items():
        fill = [f"<{i}>" for i in range(20)]
        got = translate(translations._fill(english, fill))
        if got != translations._fill(said, fill):
            wrong[english] = got
    assert wrong == {}


@pytest.mark.parametrize("code", [code for code in translations.languages() if code != "en"])
def test_a_sentence_that_follows_others_is_found_there(code: str) -> None:
    """A source begins it with a space; what is said is taken apart at the spaces between sentences."""
    say = translator(words_of(code))
    wrong = {}
    for english, said in words_of(code).items():
        if english[:1] == " " and english[1:2].isupper():
            fill = [f"n{i}" for i in range(9)]
            got = say("You marked nothing." + translations._fill(english, fill))
            if not got.endswith(translations._fill(said, fill)):
                wrong[english] = got
    assert wrong == {}


@pytest.mark.usefixtures("german")
def test_what_is_said_of_a_run_is_german_to_its_end() -> None:
    said = "6 operations: 1 fetched, 0 fed, 5 needed, 1 pruned"
    german = "6 Operationen: 1 geholt, 0 gefüttert, 5 gebraucht, 1 beschnitten"
    say = translator(words_of("de"))
    assert say(said) == german
    assert (
        say(f"{said}. The run failed in 'row'.") == f"{german}. Der Lauf ist in 'row' gescheitert."
    )
    dashed = f"{said} (dashed). The run was interrupted."
    assert say(dashed) == f"{german} (gestrichelt). Der Lauf wurde unterbrochen."
    why = "a is not pruned: a -> b is a path to what is fetched."
    assert say(why) == "a wird nicht beschnitten: a -> b ist ein Weg zu dem, was geholt wird."
    assert [say(f"{each}") for each in ("✗ wrong", "→ missed")] == ["✗ falsch", "→ übersehen"]


@exercise("Any operation will do: tf.negative(useless), or useless + 1.", "two", "three")
def ex1(x: Any) -> str:
    """A number."""
    expect(x == 3, f"m4 is {x}, needed a tensor")
    return f"Right: {2 * x} different states, and the next one is the first."


@pytest.mark.usefixtures("german")
def test_a_check_speaks_german() -> None:
    verdict = ex1(4)
    assert repr(verdict) == (
        "✗ Noch nicht: m4 ist 4, gebraucht wird ein Tensor\n"
        "  Hinweis: Jede Operation genügt: tf.negative(useless), oder useless + 1."
    )
    assert verdict.words == "m4 is 4, needed a tensor", "what is kept is the same for a whole class"
    assert (
        repr(ex1(3)) == "✓ Richtig: 6 verschiedene Zustände, und der nächste ist wieder der erste."
    )
    assert repr(ex1(...)).startswith("… Offen. Noch nichts zu prüfen")


@pytest.mark.usefixtures("german")
def test_hints_of_several_sentences_speak_german() -> None:
    table = read_table("de")["checks"]
    told = [text for text in table if ". " in text or "? " in text if "{" not in text]
    assert len(told) > 150
    for hint in told:
        shown = repr(Verdict("lesson01.ex1", "wrong", "", hint))
        assert shown.endswith(f"\n  Hinweis: {table[hint]}")
    last = "(A solution is at the end of the lesson, unless your teacher took it out.)"
    shown = repr(Verdict("lesson01.ex1", "wrong", "", f"{told[0]} {last}"))
    assert shown.endswith(f"Hinweis: {table[told[0]]} {table[last]}")


@pytest.mark.usefixtures("german")
def test_a_question_and_a_view_speak_german() -> None:
    from dataflow_widgets import GraphView, predict

    with tf.Graph().as_default(), tf.Session() as session:
        a = tf.add(3, 5, name="a")
        tf.multiply(a, 2, name="twice")
        question = predict.pruned(a, session=session, name="translations.q1")
        assert question.language == "de"
        assert question.describe().startswith("Ein Lauf holt a. Welche Knoten werden beschnitten")
        assert question.answer([]).startswith("Du hast nichts markiert.")
        view = GraphView(session)
        assert "Graph mit 5 Operationen." in view.describe()
        static = view._static()  # what a front end without widgets shows
        assert static["text/plain"].startswith("Graph mit 5 Operationen.\n")
        assert 'alt="Graph mit 5 Operationen."' in static["text/html"]
        assert "<summary>in Worten</summary>" in static["text/html"]
    question.again()


def test_a_language_without_a_table() -> None:
    with pytest.raises(ValueError, match=r"'xx'; there are de, en"):
        course.language("xx")
    assert course.language() == "en"


def test_the_language_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, needed in (("de", "de"), ("de_AT.UTF-8", "de"), ("tlh", "en"), ("", "en")):
        monkeypatch.setattr(translations, "_chosen", None)
        monkeypatch.setenv("DATAFLOW_LANGUAGE", value)
        assert course.language() == needed
    monkeypatch.setattr(translations, "_chosen", None)


CLUSTER = {
    "Cluster 1: 1 ps and 2 workers; 3 running.": "Cluster 1: 1 ps und 2 Worker; 3 laufen.",
    "Cluster 2: 1 ps and 1 worker; 1 running, 1 dead.": "Cluster 2: 1 ps und 1 Worker; 1 läuft, 1 tot.",
    "launching 1 ps and 2 workers…": "gestartet wird: 1 ps und 2 Worker …",
    "launching 1 ps and 2 workers at auto…": "1 ps und 2 Worker bei auto: wird gestartet …",
    "Launched 1 ps and 2 workers in 17.0 s.": "1 ps und 2 Worker in 17.0 s gestartet.",
    "Now 1 ps and 3 workers.": "Jetzt 1 ps und 3 Worker.",
    "killing worker:0…": "worker:0 wird abgeschossen …",
    "worker:0 was killed.": "worker:0 wurde abgeschossen.",
    "in 1.6 KB/s": "ein 1.6 KB/s",
    "steps/s": "Schritte/s",
    "What is the shape of this?": "Was ist die Form hiervon?",
    "30 points in 5 dimensions.": "30 Punkte in 5 Dimensionen.",
}


@pytest.mark.parametrize("said", CLUSTER)
def test_what_widgets_put_together_of_parts_is_german(said: str) -> None:
    assert translator(words_of("de"))(said) == CLUSTER[said]
