"""A loop that builds what it runs is told so, once; programs that build and run in turns are not."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.runtime.growing_graph import MOST_TURNS, GrowingGraphWarning


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as made:
        yield made


def loop(session: tf.Session, count: tf.Variable) -> None:
    for _ in range(3 * MOST_TURNS):
        session.run(count.assign_add(1.0))


LINE = loop.__code__.co_firstlineno + 2


def test_a_loop_that_builds_is_told_the_line_and_the_cure(graph: tf.Graph) -> None:
    count = tf.Variable(0.0, name="count")
    with tf.Session() as session:
        session.run(count.initializer)
        with pytest.warns(GrowingGraphWarning) as told:
            loop(session, count)
        assert session.run(count) == 3 * MOST_TURNS
    assert len(told) == 1, "once for a graph"
    text = str(told[0].message)
    assert f"test_growing_graph.py, line {LINE} has added operations" in text
    assert "AssignAdd" in text and "before the loop" in text and "finalize()" in text
    assert told[0].filename == __file__ and told[0].lineno == LINE


def test_a_session_for_each_turn_does_not_hide_it() -> None:
    def sessions() -> None:
        for i in range(MOST_TURNS + 2):
            with tf.Session() as session:
                session.run(tf.square(float(i)))

    with pytest.warns(GrowingGraphWarning):
        sessions()


def test_what_is_built_beside_a_known_run_is_noticed() -> None:
    x = tf.placeholder(tf.float32, [3])
    total = tf.reduce_sum(x)

    def train(session: tf.Session) -> None:
        for _ in range(MOST_TURNS + 2):
            session.run(total, {x: np.ones(3)})
            session.run(total / 3.0, {x: np.ones(3)})

    with tf.Session() as session, pytest.warns(GrowingGraphWarning):
        train(session)


def test_other_programs_are_told_nothing() -> None:
    x = tf.placeholder(tf.float32, [])
    with tf.Session() as session, warnings.catch_warnings():
        warnings.simplefilter("error", GrowingGraphWarning)
        outputs = [x + float(i) for i in range(2 * MOST_TURNS)]  # built in a loop, then run
        for output in outputs:
            session.run(output, {x: 1.0})
        for _ in range(2 * MOST_TURNS):
            session.run(outputs[0], {x: 1.0})
        for _ in range(MOST_TURNS - 1):
            session.run(tf.square(x), {x: 1.0})


def test_a_function_called_from_many_lines_is_no_loop() -> None:
    with tf.Session() as session, warnings.catch_warnings():
        warnings.simplefilter("error", GrowingGraphWarning)
        lines = "\n".join("session.run(tf.negative(1.0))" for _ in range(2 * MOST_TURNS))
        exec(compile(lines, "cells.py", "exec"), {"session": session, "tf": tf})


def test_a_loop_far_down_in_a_long_function_is_one_place() -> None:
    """Its line and its instruction are numbers that Python makes anew for each frame."""
    before = "    total = 0\n" * 1000
    source = (
        f"def far(session, tf):\n{before}    for i in range({MOST_TURNS + 2}):\n"
        "        session.run(tf.square(3.0))\n"
    )
    made: dict[str, Any] = {}
    exec(compile(source, __file__, "exec"), made)
    with tf.Session() as session, pytest.warns(GrowingGraphWarning, match="line 1003 has added"):
        made["far"](session, tf)
