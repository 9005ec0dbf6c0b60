"""The graph in double precision that GPUs are measured against is the same graph, in double."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.rewrites.prune import needed_operations
from tests.gpu.double import in_double, widen
from tests.gpu.test_samples_on_pretend_gpu import assert_near

pytestmark = pytest.mark.usefixtures("graph")


def doubled_value(tensor: tf.Tensor, feeds: dict[Any, Any] | None = None) -> Any:
    feeds = feeds or {}
    doubled = in_double(needed_operations([tensor], [], list(feeds)), feeds)
    with tf.Session(graph=doubled.graph) as session:
        given = {doubled.tensors[t]: widen(v) for t, v in feeds.items()}
        return session.run(doubled.tensors[tensor], given)


def test_it_computes_in_double_on_what_the_single_one_holds() -> None:
    x = tf.placeholder(tf.float32, [3])
    values = np.float32([0.1, 0.2, 0.3])
    found = doubled_value(tf.reduce_sum(tf.exp(x) * 0.1), {x: values})
    assert found.dtype == np.float64
    # 0.1 is what float32 holds of it; the rest is exact to double.
    expected = np.sum(np.exp(values.astype(np.float64)) * np.float64(np.float32(0.1)))
    assert found == pytest.approx(expected, rel=1e-15)
    assert doubled_value(tf.complex(x, x), {x: values}).dtype == np.complex128


def test_random_numbers_are_those_of_the_single_one() -> None:
    y = tf.random_uniform([4], seed=3) * 2.0
    with tf.Session() as session:
        assert doubled_value(y).astype(np.float32).tolist() == session.run(y).tolist()


def test_loops_and_branches() -> None:
    x = tf.placeholder(tf.float32, [])
    _, y = tf.while_loop(
        lambda i, y: i < 3,
        lambda i, y: (i + 1, tf.cond(y > 2.0, lambda: y * 1.5, lambda: y + 1.0)),
        [tf.constant(0), x],
    )
    (slope,) = tf.gradients(y, x)
    assert doubled_value(y, {x: np.float32(1.0)}) == 4.5
    assert doubled_value(slope, {x: np.float32(1.0)}) == 1.5


def test_variables_are_widened() -> None:
    v = tf.get_variable("v", initializer=np.zeros(2, np.float32))
    step = tf.assign_add(v, [1.0, 2.0])
    doubled = in_double(needed_operations([step], [], []))
    assert doubled.tensors[step].dtype.base_dtype == tf.float64


def test_a_small_error_is_seen() -> None:
    want = np.array([1.0, 2.0])
    assert_near(want.astype(np.float32), want, 0.0)
    with pytest.raises(AssertionError):
        assert_near((want * (1 + 1e-4)).astype(np.float32), want, 0.0)
    with pytest.raises(AssertionError):
        assert_near(want * (1 + 1e-7), want, 0.0)
