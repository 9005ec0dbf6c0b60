"""``parallel_for``: a function of many numbers, and the derivatives of each element."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.python import parallel_for
from dataflow.python.eager.context import eager_mode
from dataflow.python.parallel_for_tests import PForTestCase

X = np.arange(12, dtype=np.float32).reshape(4, 3)


def _both(x: Any, iters: Any) -> list[Any]:
    def of_row(i: Any) -> Any:
        return {"row": tf.gather(x, i) * 2.0, "number": i, "none": None}

    made = parallel_for.pfor(of_row, iters)
    assert made["none"] is None
    other = parallel_for.for_loop(
        lambda i: [tf.gather(x, i) * 2.0, i], [tf.float32, tf.int32], iters
    )
    return [made["row"], made["number"], *other]


@pytest.mark.parametrize("is_fed", [False, True])
def test_results_of_each_number_are_stacked(session: tf.Session, is_fed: bool) -> None:
    iters: Any = tf.placeholder(tf.int32, []) if is_fed else 4
    found = session.run(_both(X, iters), {iters: 4} if is_fed else {})
    assert found[0].tolist() == found[2].tolist() == (2 * X).tolist()
    assert found[1].tolist() == found[3].tolist() == [0, 1, 2, 3]


def test_with_eager_execution() -> None:
    with eager_mode():
        found = _both(tf.constant(X), 4)
        assert found[0].numpy().tolist() == (2 * X).tolist()
        none = parallel_for.pfor(lambda i: tf.gather(X, i), 0)
        assert none.shape.as_list() == [0, 3]


def test_many_numbers_run_in_a_loop_of_the_graph(session: tf.Session) -> None:
    squares = parallel_for.pfor(lambda i: i * i, 1000)
    assert squares.shape.as_list() == [1000]
    assert session.run(squares).tolist() == [i * i for i in range(1000)]
    assert len(session.graph.get_operations()) < 100


@pytest.mark.parametrize("iters", [4, 400])
def test_a_function_may_use_what_it_computes_of_the_others(session: tf.Session, iters: int) -> None:
    x = np.random.default_rng(1).normal(size=(iters, 2)).astype(np.float32)

    def of_row(i: Any, pfor_config: Any) -> Any:
        row = tf.gather(x, i)
        rest = row - pfor_config.reduce_mean(row)
        return rest / tf.sqrt(pfor_config.reduce_sum(rest * rest))

    found = session.run(parallel_for.pfor(of_row, iters))
    centered = x - x.mean(0)
    np.testing.assert_allclose(found, centered / np.sqrt((centered**2).sum(0)), rtol=1e-4)
    with pytest.raises(ValueError, match="reductions"):
        parallel_for.pfor(of_row, iters, parallel_iterations=2)


@pytest.mark.parametrize("is_fed", [False, True])
def test_sparse_results_become_one(session: tf.Session, is_fed: bool) -> None:
    iters: Any = tf.placeholder(tf.int32, []) if is_fed else 3

    def of_number(i: Any) -> Any:
        numbers = tf.cumsum(tf.ones([i], tf.int32)) - 1
        places = tf.cast(tf.expand_dims(numbers, 1), tf.int64)
        return tf.SparseTensor(places, numbers + 10 * i, [4])

    found = session.run(parallel_for.pfor(of_number, iters), {iters: 3} if is_fed else {})
    assert found.indices.tolist() == [[1, 0], [2, 0], [2, 1]]
    assert found.values.tolist() == [10, 20, 21] and found.dense_shape.tolist() == [3, 4]


def test_an_operation_runs_for_each_number(session: tf.Session) -> None:
    total = tf.Variable(0)
    session.run(total.initializer)
    session.run(parallel_for.pfor(lambda i: tf.assign_add(total, i).op, 5))
    assert session.run(total) == 10


def test_what_is_asked_of_it(session: tf.Session) -> None:
    with pytest.raises(ValueError, match="positive integer"):
        parallel_for.pfor(lambda i: i, 3, parallel_iterations=0)
    with pytest.raises(ValueError, match="for_loop"):
        parallel_for.pfor(lambda i: i, 3, parallel_iterations=1)
    with pytest.raises(ValueError, match="expected outputs, 2"):
        parallel_for.for_loop(lambda i: i, [tf.int32, tf.int32], 3)


@pytest.mark.parametrize("use_pfor", [True, False])
def test_derivatives_of_each_element(session: tf.Session, use_pfor: bool) -> None:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    y = tf.matmul(x, x)
    found, none = parallel_for.jacobian(y, [x, tf.constant(1.0)], use_pfor=use_pfor)
    by_hand = [[tf.gradients(y[i, j], x)[0] for j in range(2)] for i in range(2)]
    assert none is None and found.shape.as_list() == [2, 2, 2, 2]
    found, by_hand = session.run([found, by_hand])
    assert np.allclose(found, by_hand)
    fed = tf.placeholder(tf.float32, [None, 2])
    rows = tf.concat([fed * fed, tf.reverse(fed, [1])], 1)
    each = parallel_for.batch_jacobian(rows, fed, use_pfor=use_pfor)
    value = session.run(each, {fed: [[1.0, 2.0], [3.0, 4.0]]})
    assert value[1].tolist() == [[6.0, 0.0], [0.0, 8.0], [0.0, 1.0], [1.0, 0.0]]
    with pytest.raises(ValueError, match="first dimension"):
        parallel_for.batch_jacobian(tf.zeros([3, 1]), x)
    wrong = parallel_for.batch_jacobian(tf.concat([fed, fed], 0), fed, use_pfor=use_pfor)
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(wrong, {fed: [[1.0, 2.0]]})


def test_derivatives_of_a_loop(session: tf.Session) -> None:
    x = tf.constant([1.0, 2.0])
    _, powers = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * x), (0, x))
    assert session.run(parallel_for.jacobian(powers, x)).tolist() == [[4.0, 0.0], [0.0, 32.0]]


def test_the_base_of_tests_finds_a_difference() -> None:
    class Case(PForTestCase):
        def same(self) -> None:
            self._test_loop_fn(lambda i: tf.gather(X, i), 4)

        def other(self) -> None:
            self.run_and_assert_equal(tf.constant([1.0]), tf.constant([1.1]))

        def runTest(self) -> None:
            raise NotImplementedError

    with tf.Graph().as_default():
        Case().same()
        with pytest.raises(AssertionError):
            Case().other()


def test_it_has_the_names_of_tensorflow() -> None:
    module = importlib.import_module("dataflow.python.ops.parallel_for.control_flow_ops")
    assert module.pfor is parallel_for.pfor and module.vectorized_map is tf.vectorized_map
    module = importlib.import_module("dataflow.python.ops.parallel_for.gradients")
    assert module.jacobian is parallel_for.jacobian
    module = importlib.import_module("dataflow.python.ops.parallel_for.test_util")
    assert module.PForTestCase is PForTestCase
