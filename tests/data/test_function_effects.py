"""What a dataset's function does besides giving an element: it is done for every element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def _elements(dataset: Any) -> list[Any]:
    """All elements, in a session in which the variables are initialized; the last value is theirs."""
    iterator = dataset.make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), iterator.initializer])
        found = []
        with pytest.raises(tf.errors.OutOfRangeError):
            while True:
                found.append(session.run(element))
        return [*found, *session.run(tf.global_variables())]


def test_an_assert_that_nothing_waits_for_stops_the_element() -> None:
    def checked(x: Any) -> Any:
        tf.debugging.assert_equal(x, 0)
        return x

    element = tf.data.Dataset.from_tensors(1).map(checked).make_one_shot_iterator().get_next()
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(element)


@pytest.mark.parametrize("use_resource", [True, False])
def test_a_variable_is_assigned_to_though_nobody_fetches_it(use_resource: bool) -> None:
    total = tf.get_variable("total", initializer=0, use_resource=use_resource)

    def add(x: Any) -> Any:
        tf.assign_add(total, x)
        return 2 * x

    assert _elements(tf.data.Dataset.from_tensor_slices([1, 2, 3]).map(add)) == [2, 4, 6, 6]


def test_predicates_do_what_they_do_for_every_element() -> None:
    count = tf.get_variable("count", initializer=0, use_resource=True)

    def large(x: Any) -> Any:
        count.assign_add(1)
        return x > 1

    assert _elements(tf.data.Dataset.range(4).filter(large)) == [2, 3, 4]


def test_scans_do_what_they_do_for_every_element() -> None:
    count = tf.get_variable("count", initializer=0, use_resource=True)

    def summed(state: Any, x: Any) -> Any:
        count.assign_add(10)
        return state + x, state

    scan = tf.data.experimental.scan(np.int64(0), summed)
    assert _elements(tf.data.Dataset.range(4).apply(scan)) == [0, 0, 1, 3, 40]


def test_a_reduction_counts_in_a_variable() -> None:
    count = tf.get_variable("count", initializer=0, use_resource=True)

    def summed(state: Any, x: Any) -> Any:
        count.assign_add(1)
        return state + x

    total = tf.data.Dataset.range(4).reduce(np.int64(0), summed)
    with tf.Session() as session:
        session.run(count.initializer)
        assert session.run(total) == 6
        assert session.run(count) == 4


def test_python_is_called_though_nobody_uses_what_it_gives() -> None:
    seen: list[int] = []

    def look(x: Any) -> Any:
        def see(value: Any) -> Any:
            seen.append(int(value))
            return np.int64(0)

        tf.py_func(see, [x], tf.int64)
        return x

    assert _elements(tf.data.Dataset.range(3).map(look)) == [0, 1, 2]
    assert seen == [0, 1, 2]


def test_random_numbers_that_nobody_uses_are_not_drawn() -> None:
    size = tf.placeholder(tf.int32, [])

    def unused(x: Any) -> Any:
        tf.random.uniform([size])
        return x

    iterator = tf.data.Dataset.range(1).map(unused).make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer, {size: -1})
        assert session.run(element) == 0


@pytest.mark.parametrize("inner", [False, True], ids=["branch", "branch within a branch"])
def test_a_branch_that_is_taken_does_what_it_does(inner: bool) -> None:
    total = tf.get_variable("total", initializer=0, use_resource=True)

    def add(x: Any) -> Any:
        def large() -> Any:
            total.assign_add(x)
            return 1

        def nested() -> Any:
            tf.cond(x > 2, large, lambda: 0)
            return 1

        tf.cond(x > 1, nested if inner else large, lambda: 0)
        return 2 * x

    dataset = tf.data.Dataset.from_tensor_slices([1, 2, 3]).map(add)
    assert _elements(dataset) == [2, 4, 6, 3 if inner else 5]


def test_a_loop_does_what_it_does_in_every_round() -> None:
    total = tf.get_variable("total", initializer=0, use_resource=True)

    def count(x: Any) -> Any:
        def body(i: Any) -> Any:
            with tf.control_dependencies([total.assign_add(1)]):
                return i + 1

        tf.while_loop(lambda i: i < x, body, [tf.constant(0)])
        return x

    assert _elements(tf.data.Dataset.from_tensor_slices([1, 2, 3]).map(count)) == [1, 2, 3, 6]
