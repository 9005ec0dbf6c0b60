"""What a `tf.function` that a graph calls does in its branches and loops; the values are those of TensorFlow 1.15."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def noted(calls: list[str], what: str) -> Any:
    """A tensor that notes ``what`` in ``calls`` whenever it is computed."""

    def note() -> Any:
        calls.append(what)
        return np.float32(1.0)

    return tf.ensure_shape(tf.py_func(note, [], tf.float32), [])


def variable() -> Any:
    return tf.get_variable("v", initializer=0.0, use_resource=True)


def run(fetch: Any, *feeds: Any) -> list[Any]:
    """The fetch for each feed, in one session."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run(fetch, feed) for feed in feeds]


def test_a_branch_changes_a_variable_though_nobody_takes_its_result() -> None:
    p, v = tf.placeholder(tf.bool, []), variable()

    @tf.function
    def f(p: Any) -> Any:
        def on_true() -> Any:
            v.assign_add(1.0)
            return tf.constant(1.0)

        tf.cond(p, on_true, lambda: tf.constant(2.0))
        return v.read_value()

    assert run(f(p), {p: True}, {p: False}, {p: True}) == [1.0, 1.0, 2.0]


def test_conditionals_and_what_is_around_them_run_in_the_order_of_the_lines() -> None:
    p, v = tf.placeholder(tf.bool, []), variable()

    @tf.function
    def f(p: Any) -> Any:
        v.assign(10.0)
        tf.cond(p, lambda: v.assign_add(1.0), lambda: v.assign(v * 2.0))
        v.assign(v * 10.0)
        tf.cond(p, lambda: v.assign_add(3.0), lambda: v.assign(v * 2.0))
        return v.read_value()

    assert run(f(p), {p: True}, {p: False}) == [113.0, 400.0]


def test_a_loop_changes_a_variable_in_each_round_and_in_its_condition() -> None:
    v = variable()

    @tf.function
    def f() -> Any:
        v.assign(5.0)

        def body(i: Any) -> Any:
            v.assign_add(1.0)
            v.assign(v * 2.0)
            return i + 1

        def condition(i: Any) -> Any:
            v.assign_add(0.5)
            return i < 3

        tf.while_loop(condition, body, [tf.constant(0)])
        v.assign_add(1000.0)
        return v.read_value()

    # 5.5 -> 13 -> 13.5 -> 29 -> 29.5 -> 61 -> 61.5
    assert run(f(), {}) == [1061.5]


def test_map_fn_changes_a_variable() -> None:
    v = variable()

    @tf.function
    def f() -> Any:
        def double(x: Any) -> Any:
            v.assign_add(x)
            return x * 2

        tf.map_fn(double, tf.constant([1.0, 2.0, 3.0]))
        return v.read_value()

    assert run(f(), {}, {}) == [6.0, 12.0]


def test_a_loop_in_a_branch_and_a_branch_in_a_loop() -> None:
    p, v = tf.placeholder(tf.bool, []), variable()

    @tf.function
    def f(p: Any) -> Any:
        v.assign(1.0)

        def inner(i: Any) -> Any:
            tf.cond(tf.equal(i % 2, 0), lambda: v.assign_add(1.0), lambda: v.assign(v * 3.0))
            return i + 1

        def on_true() -> Any:
            v.assign_add(1.0)
            tf.while_loop(lambda i: i < 4, inner, [tf.constant(0)])
            return v.read_value()

        y = tf.cond(p, on_true, v.read_value)
        v.assign_add(100.0)
        return y, v.read_value()

    assert run(f(p), {p: True}, {p: False}) == [(30.0, 130.0), (1.0, 101.0)]


def test_python_is_called_in_the_order_of_the_lines() -> None:
    p = tf.placeholder(tf.bool, [])
    calls: list[str] = []

    @tf.function
    def f(p: Any) -> Any:
        noted(calls, "a")

        def on_true() -> Any:
            noted(calls, "b")
            noted(calls, "c")
            return tf.constant(1.0)

        y = tf.cond(p, on_true, lambda: noted(calls, "d"))
        noted(calls, "e")
        return y

    y = f(p)
    run(y, {p: True})
    assert calls == ["a", "b", "c", "e"]
    calls.clear()
    run(y, {p: False})
    assert calls == ["a", "d", "e"]


def test_an_assert_checks_in_the_branch_that_is_taken() -> None:
    p = tf.placeholder(tf.bool, [])

    @tf.function
    def f(p: Any) -> Any:
        def on_true() -> Any:
            def inner() -> Any:
                tf.Assert(False, ["bad"])
                return tf.constant(1.0)

            return tf.cond(p, inner, lambda: tf.constant(5.0))

        return tf.cond(p, on_true, lambda: tf.constant(2.0))

    y = f(p)
    assert run(y, {p: False}) == [2.0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="bad"):
        run(y, {p: True})


def test_outside_of_a_function_nothing_runs_that_nobody_asks_for() -> None:
    p = tf.placeholder(tf.bool, [])
    calls: list[str] = []

    def on_true() -> Any:
        noted(calls, "unused")
        with tf.control_dependencies([noted(calls, "true")]):
            return tf.constant(1.0)

    def on_false() -> Any:
        with tf.control_dependencies([noted(calls, "false")]):
            return tf.constant(2.0)

    y = tf.cond(p, on_true, on_false)
    assert run(y, {p: True}, {p: False}) == [1.0, 2.0]
    assert calls == ["true", "false"]
