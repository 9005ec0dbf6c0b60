"""Arrays that only their shape keeps alive."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from dataflow.rewrites.prune import needed_operations
from dataflow.runtime import buffers
from dataflow.runtime.fetches import FetchPlan
from dataflow.runtime.plan import Plan
from dataflow.runtime.shape_order import shapes_first

pytestmark = pytest.mark.usefixtures("graph")


def _order(*fetches: tf.Tensor) -> list[str]:
    return [op.name for op in shapes_first(needed_operations(list(fetches), [], []))]


def test_shapes_come_right_after_what_they_look_at() -> None:
    x = tf.placeholder(tf.float32, [None, 2])
    product = tf.matmul(x, [[1.0, 2.0], [3.0, 4.0]], name="product")
    total = tf.exp(product, name="total")
    fetches = [total, *tf.shape_n([product, total], name="both"), tf.shape(product, name="shape")]
    before, after = [op.name for op in needed_operations(fetches, [], [])], _order(*fetches)
    assert before.index("shape") > before.index("total")
    assert after.index("shape") == after.index("product") + 1
    assert after.index("both") == after.index("total") + 1
    assert sorted(after) == sorted(before)


def test_shapes_that_wait_stay(graph: tf.Graph) -> None:
    x = tf.exp(tf.placeholder(tf.float32, [None]), name="x")
    y = tf.exp(x, name="y")
    with tf.control_dependencies([y]):
        waits = tf.shape(x, name="waits")
    assert _order(waits)[-2:] == ["y", "waits"]


def test_shapes_of_variables_stay() -> None:
    v = tf.Variable([1.0, 2.0], validate_shape=False, name="v")
    now = tf.identity(v, name="now")
    with tf.control_dependencies([now]):
        longer = tf.assign(v, [1.0, 2.0, 3.0], validate_shape=False)
    with tf.control_dependencies([longer]):
        total = tf.reduce_sum(tf.identity(v), name="total")
    fetches = [total, tf.shape(now, name="shape")]
    assert _order(*fetches) == [op.name for op in needed_operations(fetches, [], [])]


def test_loops_are_left_alone() -> None:
    x = tf.exp(tf.placeholder(tf.float32, [None]))
    y = tf.while_loop(lambda i: i < 3, lambda i: i + tf.size(x), [0])
    fetches = [y, tf.shape(x)]
    assert _order(*fetches) == [op.name for op in needed_operations(fetches, [], [])]


@pytest.mark.parametrize("rewrites", [False, True])
def test_an_array_may_be_written_over_although_its_shape_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, rewrites: bool
) -> None:
    monkeypatch.setattr(buffers, "_WORTHWHILE_ELEMENTS", 1)
    x = tf.placeholder(tf.float32, [None])
    product = tf.matmul(tf.reshape(x, [-1, 2]), [[1.0, 2.0], [3.0, 4.0]])
    fetches = [tf.nn.relu(product), tf.shape(product)]
    with tf.Session() as s:
        plan = Plan(s, FetchPlan(s.graph, fetches, s), [x])
        if rewrites:
            plan.rewrite()
            assert len(plan.generated.reused) == 1
        order = [op.type for op in plan.compiled_ops]
        assert order.index("Shape") == order.index("MatMul") + 1
        value, shape = plan.run([np.array([1.0, -1.0], np.float32)])
    np.testing.assert_array_equal(value, [[0.0, 0.0]])
    np.testing.assert_array_equal(shape, [1, 2])
