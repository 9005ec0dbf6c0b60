"""Forged and damaged answers: a status and one sentence for each, and the others are kept."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from dataflow.course.classroom.messages import read_answers, read_json, read_questions
from dataflow.course.classroom.questions import Catalog, digest_of, read_catalog
from dataflow.course.classroom.refusal import Refusal
from dataflow.course.variants import drawn
from tests.course.classroom.a_class import NODES, Q1, Q2, answer, lessons
from tests.lessons.notebooks import ROOT


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    return read_catalog(lessons(tmp_path_factory.mktemp("lessons")))


def choices(*options: Any) -> dict[str, Any]:
    return Q1 | {"groups": [{"label": "", "options": list(options)}]}


FORGED: dict[str, tuple[dict[str, Any], str]] = {
    "unknown question": (answer("lesson99.q1"), "No lesson of this class has"),
    "no such choice": (answer(given=["seven"]), "no choice 'seven'"),
    "two choices": (answer(given=["five", "six"]), "has 1 choices"),
    "own choices": (answer(question=choices("five", "mine"), given=["mine"]), "no choice 'mine'"),
    "a question as an exercise": (answer(question=None), "does not say what was asked"),
    "no such node": (answer("lesson01.q2", given=["z"]), "no 'z' to be marked"),
    "a node twice": (answer("lesson01.q2", given=["a", "a"]), "different parts"),
    "true as a node": (answer("lesson01.q2", given=[True]), "no 'True'"),
    "no list": (answer("lesson01.q2", given="a"), "is a list"),
    "a short id": (answer(uid="1"), "id is 8 to 64"),
    "right as a word": (answer(right="yes"), "whether it was right"),
    "words as a list": (answer(words=[]), "whether it was right"),
    "no such form": (answer(question={"form": "eval"}), "no form of question 'eval'"),
    "one choice": (answer(question=choices("five")), "list of 2 to 50"),
    "a long choice": (answer(question=choices("x" * 501, "y")), "at most 500"),
    "a huge answer": (answer("lesson01.q2", given=["x" * 100_000]), "at most 60000 bytes"),
    "no attempt": ({"id": "12345678", "task": "lesson01.q1"}, "has an attempt"),
    "nodes of numbers": (
        answer("lesson01.q2", question=Q2 | {"nodes": [NODES[0] | {"inputs": [1]}]}),
        "texts of at most",
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_what_is_forged_is_refused_and_the_rest_kept(name: str, catalog: Catalog) -> None:
    message, sentence = FORGED[name]
    good, refused = read_answers({"answers": [message, answer(uid="good-0001")]}, catalog)
    assert [each.uid for each in good] == ["good-0001"]
    (said,) = refused
    assert 400 <= said["status"] < 500
    assert sentence in said["message"]
    assert "\n" not in said["message"]


def test_where_the_lesson_has_the_answer_nobody_says_otherwise(catalog: Catalog) -> None:
    forged, honest = answer(given=["six"], right=True), answer(uid="honest-1", right=False)
    good, _ = read_answers({"answers": [forged, honest]}, catalog)
    assert [each.right for each in good] == [False, True]


def test_control_characters_go_and_html_stays_text(catalog: Catalog) -> None:
    sent = answer("lesson01.ex1", words="a\x1b[2Jb<script>")
    good, _ = read_answers({"answers": [sent]}, catalog)
    assert good[0].words == "a [2Jb<script>"


def test_what_explains_an_answer_names_known_nodes_only(catalog: Catalog) -> None:
    told = {"explanation": "because", "solution": ["b", "z", "b"]}
    good, _ = read_answers({"answers": [answer("lesson01.q2", told=told)]}, catalog)
    assert good[0].told == {"explanation": "because", "solution": ["b", "b"]}
    wrong, _ = read_answers({"answers": [answer("lesson01.q2", told=told, right=False)]}, catalog)
    assert wrong[0].told is None, "who was wrong was told nothing"


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000, b'{"answers": [NaN]}'])
def test_what_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(Refusal, match="not JSON"):
        read_json(body)


@pytest.mark.parametrize("message", [None, [], {}, {"answers": {}}, {"answers": []}])
def test_what_is_no_message_is_refused(message: Any, catalog: Catalog) -> None:
    with pytest.raises(Refusal, match="The message is not"):
        read_answers(message, catalog)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_no_message_breaks_the_reader(data: st.DataObject, catalog: Catalog) -> None:
    """Good answers with a part replaced by anything: read, or refused; never another error."""
    message: Any = json.loads(
        json.dumps(
            {
                "answers": [answer(), answer("lesson01.q2"), answer("lesson01.ex1")],
                "questions": [{"task": "lesson01.q2", "question": Q2, "told": {"solution": []}}],
            }
        )
    )
    place, key = message, data.draw(st.sampled_from(["answers", "questions"]))
    while data.draw(st.integers(0, 9)) and isinstance(place[key], dict | list) and place[key]:
        place = place[key]
        keys = list(place) if isinstance(place, dict) else range(len(place))
        key = data.draw(st.sampled_from(list(keys)))
    place[key] = data.draw(values)
    for reader in (lambda: read_answers(message, catalog), lambda: read_questions(message)):
        with contextlib.suppress(Refusal):
            reader()


def test_the_catalog_reads_lessons_without_running_them(tmp_path: Path) -> None:
    folder = lessons(tmp_path)
    text = (folder / "01_small.ipynb").read_text()
    evil = text.replace("check.lesson01.ex1(x)", "open('evil', 'w'); check.lesson01.ex1(1)")
    (folder / "02.ipynb").write_text(evil)
    (folder / "03.ipynb").write_text("{")
    catalog = read_catalog(folder)
    assert [card.file for card in catalog.cards] == ["01_small.ipynb", "02.ipynb"]
    assert catalog.literals["lesson01.q1"].right == ["five"]
    assert set(catalog.literals) == {"lesson01.q1"}, "q3's choices are known to a run only"
    assert catalog.prompts["lesson01.ex1"] == (
        "1. An open task. Give x a * and 2 * 3.\nThen <b>check</b>."
    )
    assert not (Path.cwd() / "evil").exists()
    with pytest.raises(NotADirectoryError):
        read_catalog(tmp_path / "nothing")


def test_the_courses_own_lessons_are_found() -> None:
    catalog = read_catalog(Path(__file__).resolve().parents[3] / "lessons")
    assert catalog.card_of("lesson02.q2").number == 2
    assert len(catalog.literals) > 40
    assert catalog.prompts["lesson02.ex2"].startswith("2. An open task. useless need not")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_choices_of_a_variant_are_counted_with_the_shipped_ones(seed: int) -> None:
    catalog = read_catalog(ROOT / "lessons")
    v = drawn("lesson19.q1", seed)
    groups = [{"label": "", "options": [f"about {v.product}", "none", f"about {v.others}"]}]
    question = {"form": "choice", "text": "How many?", "groups": groups}
    sent = []
    for number, said in enumerate([f"about {v.others}", f"about {v.product}"]):
        attempt = {"right": not number, "words": "w", "given": [said], "variant": seed}
        uid = f"variant-{number}"
        sent.append({"id": uid, "task": "lesson19.q1", "attempt": attempt, "question": question})
    good, refused = read_answers({"answers": sent}, catalog)
    assert refused == []
    assert [(each.given, each.right) for each in good] == [
        (["about 7"], True),
        (["about 56"], False),
    ]
    assert {each.digest for each in good} == {digest_of(catalog.literals["lesson19.q1"].question)}
    no_seed = {"answers": [sent[0] | {"attempt": {**sent[0]["attempt"], "variant": "x"}}]}
    assert read_answers(no_seed, catalog)[0] == [], "as it is, it is no choice of this lesson"
