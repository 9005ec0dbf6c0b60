"""``functional_ops``: branches and loops of functions that `Defun` made."""

from __future__ import annotations

from typing import Any

import pytest

import dataflow as tf
from dataflow.python.framework import function
from dataflow.python.ops import functional_ops


@pytest.mark.parametrize(("given", "wanted"), [(True, 4.0), (False, 6.0)])
def test_one_of_two_branches(session: tf.Session, given: bool, wanted: float) -> None:
    @function.Defun(tf.float32)
    def twice(x: Any) -> Any:
        return x * 2

    @function.Defun(tf.float32)
    def thrice(x: Any) -> Any:
        return x * 3

    chosen = tf.placeholder(tf.bool)
    (found,) = functional_ops.If(chosen, [2.0], twice, thrice)
    assert session.run(found, {chosen: given}) == wanted
    (number,) = functional_ops.If(tf.cast(chosen, tf.int32), [2.0], twice, thrice)
    assert session.run(number, {chosen: given}) == wanted


def test_a_loop_while_a_condition_holds(session: tf.Session) -> None:
    @function.Defun(tf.int32, tf.float32)
    def body(n: Any, x: Any) -> Any:
        return n - 1, x + tf.cast(n, tf.float32)

    @function.Defun(tf.int32, tf.float32)
    def positive(n: Any, x: Any) -> Any:
        return n > 0

    @function.Defun(tf.int32, tf.float32)
    def number(n: Any, x: Any) -> Any:
        return n

    for condition in (positive, number):
        found = session.run(functional_ops.While([5, 0.0], condition, body))
        assert [float(value) for value in found] == [0.0, 15.0]


@pytest.mark.parametrize(
    ("bounds", "wanted"), [((0, 4, 1), 6.0), ((4, 0, -2), 6.0), ((3, 3, 1), 0.0)]
)
def test_a_loop_over_a_range(
    session: tf.Session, bounds: tuple[int, int, int], wanted: float
) -> None:
    @function.Defun(tf.int32, tf.float32)
    def body(i: Any, x: Any) -> Any:
        return x + tf.cast(i, tf.float32)

    (found,) = functional_ops.For(*bounds, [0.0], body)
    assert session.run(found) == wanted


def test_a_gradient_and_a_call_elsewhere(session: tf.Session) -> None:
    @function.Defun(tf.float32, tf.float32)
    def product(a: Any, b: Any) -> Any:
        return a * b

    da, db = session.run(functional_ops.Gradient([3.0, 4.0, 10.0], product))
    assert (da, db) == (40.0, 30.0)
    (found,) = functional_ops.remote_call([2.0, 3.0], [tf.float32], product, "/cpu:0")
    assert session.run(found) == 6.0 and "CPU:0" in found.device.upper()


def test_control_flow_of_the_second_version() -> None:
    from dataflow.python.control_flow_v2 import cond_v2, while_loop

    with tf.Graph().as_default(), tf.Session() as session:
        chosen = cond_v2(True, lambda: [tf.constant(1)], lambda: [tf.constant(2)], name="")
        assert isinstance(chosen, list) and session.run(chosen) == [1]
        (found,) = while_loop(
            lambda x: x < 9.0, lambda x: x * 2.0, [tf.constant([[1.0]])], maximum_iterations=2
        )
        assert session.run(found).tolist() == [[4.0]]
        alone = while_loop(
            lambda i: i < 3, lambda i: i + 1, [tf.constant(0)], return_same_structure=False
        )
        assert session.run(alone) == 3
