"""A `tf.Print` whose result nothing uses is told, once; those that print, and those not passed by, are not."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

import dataflow as tf
from dataflow.ops.logging_ops import PRINTS
from dataflow.python.test_modes import new_eager_mode
from dataflow.runtime.unused_prints import UnusedPrintWarning


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as made:
        yield made


def told_by(*fetches: object) -> list[str]:
    """What a session says while it runs these, one after the other."""
    with tf.Session() as session, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for fetch in fetches:
            session.run(fetch)
    return [str(w.message) for w in caught if w.category is UnusedPrintWarning]


def test_a_print_that_nothing_uses_is_told_with_its_line(capfd: pytest.CaptureFixture[str]) -> None:
    loss = tf.reduce_mean(tf.constant([1.0, 3.0]), name="loss")
    tf.Print(loss, [loss], "loss: ")
    line = test_a_print_that_nothing_uses_is_told_with_its_line.__code__.co_firstlineno
    with tf.Session() as session:
        with pytest.warns(UnusedPrintWarning) as told:
            assert session.run(loss) == 2.0
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # once for a node
            assert session.run(loss + 1.0) == 3.0
    assert told[0].filename == __file__ and told[0].lineno == line + 6
    text = str(told[0].message)
    assert "'Print'" in text and "x = tf.Print(x, [x])" in text
    assert f"test_unused_prints.py, line {line + 2}" in text
    assert "loss: " not in capfd.readouterr().err


def test_prints_that_print_are_no_mistake() -> None:
    x = tf.constant([1.0, 3.0], name="x")
    used = tf.Print(x, [x], "used: ")
    waited = tf.Print(x, [x], "waited: ")
    with tf.control_dependencies([waited]):
        result = tf.reduce_sum(used)
    fetched = tf.Print(x, [x], "fetched: ")
    assert told_by([result, fetched], x) == []


def test_runs_that_do_not_come_by_say_nothing() -> None:
    v = tf.get_variable("v", [2])
    loss = tf.reduce_sum(v * 2.0)
    tf.Print(loss, [loss])
    assert told_by(v.initializer, v) == []
    assert len(told_by(v.initializer, loss)) == 1


def test_a_print_in_the_body_of_a_loop_is_told() -> None:
    def body(i: tf.Tensor) -> tf.Tensor:
        tf.Print(i + 1, [i], "now: ")
        return i + 1

    def used(i: tf.Tensor) -> tf.Tensor:
        following = i + 1
        tf.Print(following, [i], "now: ")
        return following

    assert told_by(tf.while_loop(lambda i: i < 3, body, [0])) == [], "its own sum is not computed"
    assert len(told_by(tf.while_loop(lambda i: i < 3, used, [0]))) == 1


def test_eager_code_prints_at_once_and_nothing_is_kept(capfd: pytest.CaptureFixture[str]) -> None:
    with new_eager_mode():
        one = tf.Print(tf.constant(1.0), ["printed"])
        assert PRINTS not in one.graph.attachments
    assert "printed" in capfd.readouterr().err
