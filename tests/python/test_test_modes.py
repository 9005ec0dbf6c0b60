"""Decorators of tests that say whether they run in a graph, in eager code, or in both."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.python.framework import test_util


def ran_well(case: type, name: str) -> bool:
    result = case(name).run()
    for _, trace in (*result.errors, *result.failures):
        print(trace)
    return result.wasSuccessful()  # type: ignore[no-any-return]


def test_a_test_runs_in_a_graph_and_in_eager_code_with_set_up_in_between() -> None:
    log: list[Any] = []

    class Case(tf.test.TestCase):
        def setUp(self) -> None:
            super().setUp()
            log.append("up")

        def tearDown(self) -> None:
            log.append("down")
            super().tearDown()

        @test_util.run_in_graph_and_eager_modes
        def test_both(self) -> None:
            log.append((tf.executing_eagerly(), tf.get_default_session() is not None))
            v = tf.get_variable("v", initializer=2.0)
            self.evaluate(tf.global_variables_initializer())
            self.assertAllClose(self.evaluate({"a": [v * 2.0]}), {"a": [4.0]})
            step = tf.train.get_or_create_global_step()
            self.evaluate(step.initializer) if not tf.executing_eagerly() else None
            assert self.evaluate(tf.assign_add(step, 1)) == 1  # a new one in each run

        @test_util.run_in_graph_and_eager_modes(reset_test=False, use_gpu=False)
        def test_without_a_reset(self) -> None:
            log.append(tf.executing_eagerly())

    for _ in range(2):
        del log[:]
        assert ran_well(Case, "test_both")
        assert log == ["up", (False, True), "down", "up", (True, False), "down"]
    del log[:]
    assert ran_well(Case, "test_without_a_reset")
    assert log == ["up", False, True, "down"]
    with pytest.raises(ValueError, match="run_all_in_graph_and_eager_modes"):
        test_util.run_in_graph_and_eager_modes(Case)


def test_a_failure_in_either_mode_is_one() -> None:
    class Case(tf.test.TestCase):
        @test_util.run_in_graph_and_eager_modes
        def test_eager_fails(self) -> None:
            assert not tf.executing_eagerly()

        @test_util.run_in_graph_and_eager_modes
        def test_graph_fails(self) -> None:
            assert tf.executing_eagerly()

        @test_util.run_in_graph_and_eager_modes
        def test_skipped_in_a_graph(self) -> None:
            if not tf.executing_eagerly():
                self.skipTest("eager code only")
            raise ZeroDivisionError

    assert len(Case("test_eager_fails").run().failures) == 1
    assert len(Case("test_graph_fails").run().failures) == 1
    assert len(Case("test_skipped_in_a_graph").run().errors) == 1


def test_all_tests_of_a_class_and_of_its_parents() -> None:
    modes: list[Any] = []

    class Parent(tf.test.TestCase):
        def test_of_the_parent(self) -> None:
            modes.append(tf.executing_eagerly())

    @test_util.run_all_in_graph_and_eager_modes
    class Case(Parent):
        def testSkipEagerOnes(self) -> None:
            modes.append(tf.executing_eagerly())

    assert ran_well(Case, "test_of_the_parent") and modes == [False, True]
    del modes[:]
    assert ran_well(Case, "testSkipEagerOnes") and modes == [False]


def test_sessions_of_eager_code() -> None:
    class Case(tf.test.TestCase):
        @test_util.also_run_as_tf_function
        def test_sessions(self) -> None:
            assert tf.executing_eagerly()
            x = tf.constant([1.0, 2.0])
            with self.cached_session() as sess:
                np.testing.assert_array_equal(sess.run([x])[0], [1.0, 2.0])
                with pytest.raises(RuntimeError, match="feed_dict is not supported"):
                    sess.run(x, feed_dict={x: 1.0})
                with pytest.raises(RuntimeError, match="Optional args"):
                    sess.run(x, options=1)
            with self.session() as sess:
                with pytest.raises(AttributeError, match="eager execution"):
                    sess.run(x)
            with self.test_session() as sess:
                assert sess is None

        @test_util.assert_no_new_pyobjects_executing_eagerly
        def test_values(self) -> None:
            sparse = tf.SparseTensor([[0, 1]], [2.0], [2, 3])
            value = self.evaluate([sparse, lambda: tf.constant(3)])
            assert isinstance(value[0], tf.SparseTensorValue)
            self.assertAllEqual(value[0].indices, [[0, 1]])
            assert value[1] == 3
            ragged = self.evaluate(tf.ragged.constant([[1], [2, 3]]))
            assert ragged.to_list() == [[1], [2, 3]]
            slices = self.evaluate(tf.IndexedSlices(tf.constant([1.0]), tf.constant([4])))
            self.assertAllEqual(slices.indices, [4])
            assert slices.dense_shape is None
            with pytest.raises(ValueError, match="Unsupported type"):
                self.evaluate(3)

    assert ran_well(Case, "test_sessions")
    assert ran_well(Case, "test_values")


kept: list[Any] = []


def test_tensors_that_are_left() -> None:
    class Case(tf.test.TestCase):
        @test_util.run_in_graph_and_eager_modes(assert_no_eager_garbage=True)
        def test_nothing_left(self) -> None:
            x = tf.Variable([1.0, 2.0])
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(x * x)
            if tf.executing_eagerly():
                self.assertAllClose(tape.gradient(y, x), [2.0, 4.0])

        @test_util.run_in_graph_and_eager_modes(assert_no_eager_garbage=True)
        def test_one_left(self) -> None:
            kept.append(tf.constant(1.0))

    assert ran_well(Case, "test_nothing_left")
    result = unittest.TestResult()
    Case("test_one_left").run(result)
    assert len(result.failures) == 1 and "1 Tensors not deallocated" in result.failures[0][1]
    kept.clear()


def test_the_graph_of_setup_is_the_graph_of_the_test() -> None:
    class Case(tf.test.TestCase):
        def setUp(self) -> None:
            self.x = tf.constant(2.0)

        @test_util.run_in_graph_and_eager_modes
        def test_it(self) -> None:
            assert self.evaluate(self.x + 1.0) == 3.0

    with tf.Graph().as_default():
        result = unittest.TestResult()
        Case("test_it").run(result)
    assert result.testsRun == 1
    assert not result.errors
    assert not result.failures
