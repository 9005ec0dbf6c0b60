"""Checks of exercises: verdicts, hints in turn, blank answers, and what the notebook keeps of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.course import attempts, check
from dataflow.course.attempts import MIME
from dataflow.course.check import (
    lesson01,
    lesson03,
    lesson04,
    lesson05,
    lesson09,
    lesson10,
    lesson12,
    lesson17,
    lesson19,
    lesson23,
)
from dataflow.course.exercise import (
    Verdict,
    WrongAnswer,
    begun,
    exercise,
    expect,
    expect_number,
    expect_type,
    is_blank,
)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    attempts.forget()
    yield
    attempts.forget()


def seven() -> Callable[..., Verdict]:
    @exercise("It is odd.", "Count on from six.", "value = 7")
    def ex7(value: Any) -> str:
        """Seven."""
        begun(value != [])
        expect(value + 0 == 7, f"got {value}, needed another number")
        return f"Right: {value}."

    return ex7


def test_hints_come_one_after_the_other() -> None:
    ex7 = seven()
    first, second, third, fourth = (ex7(value) for value in (1, 2, 3, 4))
    assert [v.state for v in (first, second, third, fourth)] == ["wrong"] * 4
    assert first.hint == "It is odd."
    assert second.hint == "Count on from six."
    assert third.hint == "value = 7"
    assert fourth.hint.startswith(third.hint) and "end of the lesson" in fourth.hint
    assert repr(first) == "✗ Not yet: got 1, needed another number\n  Hint: It is odd."
    right = ex7(7)
    assert right and repr(right) == "✓ Right: 7."
    assert [a["right"] for a in right.attempts] == [False, False, False, False, True]
    assert len(ex7(7).attempts) == 5, "the same right answer again is no new attempt"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("Right: 7.", "✓ Right: 7."),
        ("Right, also for zero.", "✓ Right, also for zero."),
        ("Right for both.", "✓ Right for both."),
        ("Right.", "✓ Right."),
        ("7 it is.", "✓ Right: 7 it is."),
        ("All of them.", "✓ Right. All of them."),
        ("", "✓ Right."),
    ],
)
def test_a_verdict_is_a_sentence(words: str, told: str) -> None:
    assert repr(Verdict("lesson01.ex1", "right", words)) == told


def test_the_call_in_place_of_its_result_is_told_so() -> None:
    told = lesson17.ex2(SimpleNamespace(result=lambda: (0.1, 300)))
    assert ".result()" in told.words and "costs no hint" in told.words


def test_what_is_told_of_a_wrong_division_is_small() -> None:
    told = lesson19.ex5(lambda sizes, num_tasks: [i % num_tasks for i in range(len(sizes))])
    assert not told and "not in order" in told.words
    assert len(told.words) < 80, "one of the smallest networks, not the first that was drawn"
    told = lesson19.ex2(lambda inputs, hidden, classes: 148)
    assert "by layer that is 118,400 bytes, by data 1,270,400" in told.words
    told = lesson19.ex4(lambda answers: np.mean(answers, 0).argmax(1))
    assert (
        "3 models, picture 0: you say class 0; the votes for the classes are [1, 2, 0]"
        in told.words
    )


def test_what_is_blank_is_no_attempt() -> None:
    ex7 = seven()

    def empty() -> None: ...

    def documented() -> None:
        """Says what to do."""

    for blank in (..., empty, documented, []):
        assert ex7(blank).state == "open"
    assert ex7(1).hint == "It is odd.", "blank answers use up no hint"
    captured = 7

    def returns_none() -> None:
        print(captured)

    assert not is_blank(returns_none)
    assert not is_blank(lambda: 7)
    assert not is_blank(None)


def test_a_wrong_type_costs_no_hint() -> None:
    @exercise("a", "b", "c")
    def ex9(value: Any) -> str:
        expect_type(
            isinstance(value, int), f"value is {type(value).__name__}, needed a whole number"
        )
        expect(value == 9, "another number")
        return "Right."

    told = ex9("nine")
    assert (told.state, told.hint, told.attempts) == ("wrong", "", ())
    assert told.words == "value is str, needed a whole number. This try costs no hint."
    assert ex9(8).hint == "a"


def test_a_value_where_a_function_is_needed_costs_no_hint() -> None:
    def both(first: Callable[[int, float], Any], second: Callable[..., Any]) -> str:
        return f"Right: {first(1, 2.0)}, {second()}."

    check = exercise("a", "b", "c")(both)
    told = check(7, max)
    assert told.words == "first is int, needed a function. This try costs no hint."
    assert (told.state, told.hint, told.attempts) == ("wrong", "", ())
    told = check(lambda one: one, max)
    assert told.words.startswith(
        "your function is first(one), and the check calls it with this many"
    )
    assert not told.hint
    assert check(lambda one, two=0: one, dict), "a default fills what is not given"
    assert check(lambda *all: all, dict)
    assert check(max, dict), "what has no signature is called"
    assert check(lambda one, two: one, 7).words.startswith("second is int")


@pytest.mark.parametrize(
    ("lesson", "answer", "told"),
    [
        (lesson01.ex1, [tf.Graph()], "has no node yet"),
        (lesson01.ex4, [lambda: tf.placeholder(tf.int32, [None, 2, 3])], "leaves a length open"),
        (lesson04.ex3, [lambda: tf.Variable([99]).assign_add([1])], "needed one number"),
        (lesson04.ex3, [7], "ticket is int, needed a node"),
        (
            lesson04.ex5,
            [lambda: tf.Variable(1), lambda: tf.constant(1)],
            "tick 1 leaves 1 in state",
        ),
    ],
)
def test_what_is_told_of_answers_that_are_near(lesson: Any, answer: list[Any], told: str) -> None:
    with tf.Graph().as_default():
        assert told in lesson(*[a() if callable(a) else a for a in answer]).words


def test_a_signal_of_any_shape_is_right() -> None:
    for shape in (None, [], [None], [3, None]):
        with tf.Graph().as_default():
            signal = tf.placeholder(tf.float32, shape)
            gain = tf.placeholder_with_default(1.0, [])
            assert lesson03.ex4(signal, gain, signal * gain), shape
            told = lesson03.ex4(signal, gain, signal + gain).words
            assert "needed 3" in told


def test_a_placeholder_of_an_earlier_try_is_not_in_the_way() -> None:
    with tf.Graph().as_default():
        fed = tf.placeholder(tf.float32, [4, 2])
        m3 = tf.matmul(fed, tf.Variable(tf.ones([2, 3])))
        other = tf.placeholder(tf.float32, [4, 3])
        assert "m4 needs more than m3" in lesson04.ex1(m3, m3 + other).words
        assert lesson04.ex1(m3, m3 + m3)


def test_a_weight_of_another_graph_is_told_so() -> None:
    with tf.Graph().as_default():
        weight = tf.Variable(2.0)
        assert "made outside of layer" in lesson04.ex4(lambda x: weight * x).words


def forgot(*given: Any) -> None:
    """A function whose last line should have been a return."""
    len(given)


@pytest.mark.parametrize(
    ("lesson", "told"),
    [
        (lesson05.ex3, "what largest_rate returned is None, needed a number"),
        (lesson09.ex3, "what count_up returned is None, needed a number"),
        (lesson10.ex4, "what alike returned is None, needed a number"),
        (lesson12.ex2, "what bias_for returned is None, needed a number"),
        (lesson19.ex2, "what break_even returned is None, needed a number"),
        (lesson23.ex2, "what even_size returned is None, needed a number"),
    ],
)
def test_a_return_that_was_forgotten_costs_no_hint(lesson: Any, told: str) -> None:
    verdict = lesson(forgot)
    assert verdict.words == f"{told}. This try costs no hint." and not verdict.hint


def test_what_is_one_number() -> None:
    for value in (2, 2.0, np.float32(2), np.array(2.0), np.int64(2)):
        assert expect_number("it", value) == 2.0
    for other in (None, "2", [2.0], np.array([2.0]), tf.constant(2.0), 2j):
        with pytest.raises(WrongAnswer, match="needed a number"):
            expect_number("it", other)


def test_what_put_back_forgot_is_named() -> None:
    assert "put_back left net/weights without a value" in lesson09.ex5(forgot, forgot).words


def test_what_the_answer_raises_is_told() -> None:
    @exercise("a", "b", "c")
    def ex1(function: Any) -> str:
        function()
        return "Right."

    scope: dict[str, Any] = {}
    exec(compile("def f():\n    x = 1\n    return x / 0\n", "<cell 3>", "exec"), scope)
    told = ex1(scope["f"])
    assert told.state == "wrong"
    assert "ZeroDivisionError (line 3 of your cell)" in told.words


def test_a_check_called_wrongly_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="missing a required argument"):
        seven()()
    with pytest.raises(ValueError, match="three hints"):
        exercise("look there", "nearly the code")


def test_display_carries_the_attempts_and_escapes_markup() -> None:
    ex7 = seven()
    bundle = ex7(8)._repr_mimebundle_()
    assert bundle[MIME]["attempts"] == [{"right": False, "words": "got 8, needed another number"}]
    json.dumps(bundle)

    @exercise("<b>hint</b>", "b", "c")
    def ex8(value: str) -> str:
        expect(False, value)
        return ""

    html = ex8("<img src=x onerror=alert(1)>")._repr_mimebundle_()["text/html"]
    assert "<img" not in html and "<b>" not in html and "&lt;img" in html


def notebook(*outputs: dict[str, Any], source: str = "") -> dict[str, Any]:
    cell = {"cell_type": "code", "source": source, "outputs": [{"data": o} for o in outputs]}
    return {"nbformat": 4, "metadata": {}, "cells": [cell]}


def test_attempts_come_back_from_the_saved_notebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ex7 = seven()
    path = tmp_path / "lesson.ipynb"
    path.write_text(json.dumps(notebook(ex7(1)._repr_mimebundle_())))
    attempts.forget()
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))
    assert ex7(2).hint == "Count on from six.", "the first wrong try is in the notebook"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cells": 3}', "[" * 100_000, '{"cells": [3]}'])
def test_a_damaged_notebook_stops_nobody(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lesson.ipynb"
    path.write_text(text)
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))
    assert seven()(1).hint == "It is odd."


@pytest.mark.parametrize(
    "record",
    [
        3,
        {"exercise": 3, "attempts": []},
        {"exercise": "a", "attempts": 3},
        {"exercise": "a", "attempts": [3, {"right": "yes", "words": "x"}, {"right": True}]},
    ],
)
def test_malformed_records_are_left_out(record: Any) -> None:
    assert attempts.of_notebook(notebook({MIME: record})) == {}


def test_lessons_are_found_and_a_missing_one_is_named() -> None:
    assert "lesson01" in check.lessons()
    assert check.lesson02.ex1.__doc__
    with pytest.raises(AttributeError, match="no checks called 'lesson99'; there are lesson00"):
        _ = check.lesson99
