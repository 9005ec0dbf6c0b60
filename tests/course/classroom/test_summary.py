"""What the projector counts, and what it tells only when it is asked."""

from __future__ import annotations

from typing import Any

from dataflow.course.classroom.questions import Literal, clean_question, digest_of
from dataflow.course.classroom.store import Given, Learner
from dataflow.course.classroom.summary import reveal, summarize
from tests.course.classroom.a_class import Q1, Q2

CHOICE, GRAPH = clean_question(Q1), clean_question(Q2)
LEARNERS = {
    1: Learner(1, "Ada", "Ada"),
    2: Learner(2, "<b>", "<b>"),
    3: Learner(3, "", "learner 3"),
}
LITERAL = Literal(CHOICE, ["five"])


def gave(
    learner: int, given: Any, right: bool = False, question: Any = CHOICE, **more: Any
) -> Given:
    fields: dict[str, Any] = {"shown": False, "words": "", "told": None, "at": 0.0} | more
    digest = digest_of(question) if question else None
    return Given(
        learner, "t", digest, right, fields["shown"], fields["words"], given, fields["told"], 0.0
    )


def bars(seen: dict[str, Any]) -> list[tuple[str, int]]:
    return [(bar["text"], bar["count"]) for bar in seen["bars"]]


def test_each_learner_counts_once_by_the_first_answer_or_the_last() -> None:
    answers = [gave(1, ["six"]), gave(2, ["five"], True), gave(1, ["five"], True)]
    first = summarize(CHOICE, digest_of(CHOICE), answers, LEARNERS)
    assert bars(first) == [("five", 1), ("six", 1), ("<b>0</b>", 0)]
    last = summarize(CHOICE, digest_of(CHOICE), answers, LEARNERS, which="last")
    assert bars(last) == [("five", 2), ("six", 0), ("<b>0</b>", 0)]
    assert first["answered"] == last["answered"] == 2


def test_names_only_when_they_are_wanted_and_the_answer_never() -> None:
    answers = [gave(1, ["five"], True, told={"explanation": "because", "solution": []})]
    quiet = summarize(CHOICE, digest_of(CHOICE), answers, LEARNERS)
    assert "Ada" not in repr(quiet)
    assert "because" not in repr(quiet)
    assert "right" not in repr(quiet).lower()
    told = summarize(CHOICE, digest_of(CHOICE), answers, LEARNERS, names=True)
    assert told["bars"][0]["names"] == ["Ada"]


def test_marks_are_counted_by_node() -> None:
    answers = [gave(1, ["a", "b"], question=GRAPH), gave(2, ["b"], True, question=GRAPH)]
    seen = summarize(GRAPH, digest_of(GRAPH), answers, LEARNERS)
    assert seen["marks"] == {"a": 1, "b": 2}
    assert bars(seen) == [("b", 2), ("a", 1)]


def test_answers_to_another_form_of_the_question_do_not_count_unless_they_fit() -> None:
    other = clean_question(Q1 | {"text": "What is 3 + 2?"})
    mine = clean_question(Q1 | {"groups": [{"label": "", "options": ["mine", "yours"]}]})
    answers = [gave(1, ["five"], question=other), gave(2, ["mine"], question=mine)]
    seen = summarize(CHOICE, digest_of(CHOICE), answers, LEARNERS)
    assert (seen["answered"], seen["other"]) == (1, 1)
    assert dict(bars(seen))["five"] == 1


def test_an_exercise_shows_what_its_check_said() -> None:
    answers = [
        gave(1, None, question=None, words="the shape is (2,)"),
        gave(2, None, True, question=None),
        gave(3, None, question=None, words="the shape is (2,)"),
    ]
    seen = summarize(None, None, answers, LEARNERS)
    assert bars(seen) == [("Not yet: the shape is (2,)", 2), ("Right", 1)]


def test_who_asked_to_see_the_answer_is_counted_apart() -> None:
    answers = [gave(1, ["six"]), gave(1, None, shown=True), gave(2, None, shown=True)]
    seen = summarize(CHOICE, digest_of(CHOICE), answers, LEARNERS)
    assert (seen["answered"], seen["asked_to_see"]) == (1, 2)


def test_the_lessons_own_answer_is_revealed() -> None:
    assert reveal(CHOICE, LITERAL, None, [])["right"] == ["five"]
    assert reveal(CHOICE, LITERAL, None, [])["explanation"] == "The answer: five."


def test_one_forged_right_answer_among_many_is_not_believed() -> None:
    told, lie = ({"explanation": e, "solution": s} for e, s in (("b is", ["b"]), ("a is", ["a"])))
    answers = [
        gave(1, ["b"], True, GRAPH, told=told),
        gave(2, ["b"], True, GRAPH, told=told),
        gave(3, ["a"], True, GRAPH, told=lie),
        gave(4, ["a"], False, GRAPH),
        gave(5, ["a"], False, GRAPH),
    ]
    found = reveal(GRAPH, None, None, answers)
    assert (found["right"], found["solution"]) == (["b"], ["b"])
    assert found["explanation"] == "b is"
    teachers = {"explanation": "the teacher's", "solution": ["c"]}
    assert reveal(GRAPH, None, teachers, answers)["solution"] == ["c"]


def test_many_different_answers_are_a_dozen_bars_and_the_number_of_the_rest() -> None:
    value = clean_question({"form": "value", "text": "?"})
    answers = [gave(n, str(n % 20), question=value) for n in range(40)]
    seen = summarize(value, digest_of(value), answers, {})
    assert len(seen["bars"]) == 12
    assert seen["more"] == 8
