"""Gates of values are opened, and whoever changes a variable still waits for its readers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.runtime.plan import Plan
from tests.rewrites.rewritten import rewritten


def rules_of(plan: Plan) -> list[str]:
    return [hit.rule for hit in plan.journal]


def test_a_gate_between_values_is_opened() -> None:
    x = tf.placeholder(tf.float32, [2])
    with tf.control_dependencies([tf.sin(x)]):
        y = tf.identity(tf.exp(x))
    z = tf.tanh(y)
    with tf.Session() as s:
        plan = rewritten(s, z, [x])
        np.testing.assert_allclose(plan.run([[0.0, 1.0]]), np.tanh(np.exp([0.0, 1.0])), rtol=1e-6)
    assert {op.type for op in plan.compiled_ops} - {"Placeholder"} == {"Exp", "Tanh"}


def test_an_assignment_behind_a_gate_still_waits_for_the_reader() -> None:
    x = tf.placeholder(tf.float32, [])
    v = tf.Variable(3.0)
    change = tf.exp(x)
    seen = v * x  # reads v; must come before v changes
    with tf.control_dependencies([seen, change]):
        gated = tf.identity(change)
    update = tf.assign_add(v, gated)
    with tf.Session() as s:
        s.run(v.initializer)
        plan = rewritten(s, [update.op, seen], [x])
        assert plan.run([2.0])[1] == 6.0
    assert "gate_of_value" in rules_of(plan)
    (assign,) = [op for op in plan.compiled_ops if op.type == "AssignAdd"]
    assert "Mul" in {op.type for op in assign.control_inputs}


def test_a_gate_after_an_assignment_stays() -> None:
    x = tf.placeholder(tf.float32, [])
    v = tf.Variable(1.0)
    with tf.control_dependencies([tf.assign_add(v, x)]):
        y = tf.identity(x)
    with tf.Session() as s:
        s.run(v.initializer)
        plan = rewritten(s, y + 1.0, [x])
        assert plan.run([5.0]) == 6.0
        assert s.run(v) == 6.0
    assert "gate_of_value" not in rules_of(plan)


def test_a_fetched_gate_gives_its_value() -> None:
    x = tf.placeholder(tf.float32, [])
    with tf.control_dependencies([tf.sin(x)]):
        y = tf.identity(tf.exp(x))
    with tf.Session() as s:
        plan = rewritten(s, [y, y.op], [x])
        assert plan.run([0.0]) == [1.0, None]


def test_products_of_an_unrolled_loop_are_added_in_one_matrix() -> None:
    x = tf.placeholder(tf.float32, [4, 3])
    W = tf.Variable(np.linspace(-1, 1, 9).reshape(3, 3).astype(np.float32))
    h = x
    for _ in range(4):
        h = tf.tanh(tf.matmul(h, W))
    train = tf.train.GradientDescentOptimizer(0.5)
    (gradient, _), *_ = train.compute_gradients(tf.reduce_sum(h), [W])
    value = np.random.default_rng(0).random((4, 3), dtype=np.float32)
    with tf.Session() as s:
        s.run(W.initializer)
        plain = s.run(gradient, {x: value})
        plan = rewritten(s, gradient, [x])
        np.testing.assert_array_equal(plan.run([value]), plain)
    assert "sum_of_products" in rules_of(plan)
    types = [op.type for op in plan.compiled_ops]
    assert types.count("_MatMulSum") == 1
    assert "AddN" not in types


def test_what_follows_the_products_is_added_after_them() -> None:
    x = tf.placeholder(tf.float32, [2, 2])
    products = [tf.matmul(x, x), tf.matmul(x, tf.exp(x)), tf.matmul(x, x, transpose_a=True)]
    total = tf.add_n([*products, tf.exp(x), tf.matmul(x, tf.tanh(x))])
    value = np.array([[0.5, -1.0], [2.0, 0.25]], np.float32)
    with tf.Session() as s:
        plain = s.run(total, {x: value})
        plan = rewritten(s, total, [x])
        np.testing.assert_array_equal(plan.run([value]), plain)
    (summed,) = [op for op in plan.compiled_ops if op.type == "_MatMulSum"]
    assert len(summed.inputs) == 4
    (rest,) = [op for op in plan.compiled_ops if op.type == "AddN"]
    assert len(rest.inputs) == 4


def test_products_after_another_term_stay() -> None:
    x = tf.placeholder(tf.float32, [2, 2])
    total = tf.add_n([tf.exp(x), tf.matmul(x, x), tf.matmul(x, tf.exp(x))])
    with tf.Session() as s:
        assert "sum_of_products" not in rules_of(rewritten(s, total, [x]))


def test_large_sums_are_shared_among_threads() -> None:
    from dataflow.kernels.parallel import matrix_product, sum_of_products

    rng = np.random.default_rng(1)
    lefts = [rng.random((256, 600), dtype=np.float32).T for _ in range(3)]
    rights = [rng.random((256, 500), dtype=np.float32) for _ in range(3)]
    expected = sum(matrix_product(a, b) for a, b in zip(lefts, rights, strict=True))
    np.testing.assert_array_equal(sum_of_products(lefts, rights), expected)
    with pytest.raises(ValueError, match="cannot be added"):
        sum_of_products(lefts, [*rights[:2], rights[2][:, :3]])


def test_training_is_the_same_with_rewrites_and_without() -> None:
    def losses(config: Any) -> list[float]:
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [8, 4])
            h = x
            for size_in, size in ((4, 6), (6, 6), (6, 1)):
                W = tf.Variable(np.full((size_in, size), 0.3, np.float32))
                h = tf.nn.tanh(tf.matmul(h, W) + tf.Variable(tf.zeros([size])))
            loss = tf.reduce_mean(tf.square(h - 0.2))
            train = tf.train.AdamOptimizer(0.05).minimize(loss)
            value = np.random.default_rng(2).random((8, 4), dtype=np.float32)
            with tf.Session(config=config) as s:
                s.run(tf.global_variables_initializer())
                return [s.run([train, loss], {x: value})[1] for _ in range(12)]

    off = tf.ConfigProto()
    off.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    np.testing.assert_allclose(losses(None), losses(off), rtol=1e-4)


def test_gates_have_a_switch() -> None:
    x = tf.placeholder(tf.float32, [])
    with tf.control_dependencies([tf.sin(x)]):
        y = tf.tanh(tf.identity(tf.exp(x)))
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.dependency_optimization = 2  # OFF
    with tf.Session(config=config) as s:
        plan = rewritten(s, y, [x])
        np.testing.assert_allclose(plan.run([0.5]), np.tanh(np.exp(0.5)), rtol=1e-6)
    assert rules_of(plan) == []
    assert "Identity" in {op.type for op in plan.compiled_ops}


def test_threads_of_kernels_can_be_limited() -> None:
    from dataflow.kernels.parallel import limited_to, num_workers

    seen = []
    x = tf.placeholder(tf.float32, [])
    y = tf.py_func(lambda v: seen.append(num_workers()) or v, [x], tf.float32)
    with tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=1)) as s:
        s.run(y, {x: 1.0})
    assert seen == [1]
    with limited_to(1):
        assert num_workers() == 1


def test_nothing_is_computed_for_order_alone_beside_a_branch() -> None:
    """The gradient of what was fed, which an optimizer's gate waits for, beside a `cond`."""
    x, flag = tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.bool, [])
    w = tf.Variable(tf.ones([3, 4]))
    y = tf.cond(flag, lambda: tf.matmul(x, w) * 2.0, lambda: tf.matmul(x, w))
    z = tf.reduce_sum(tf.matmul(tf.tanh(x), w) + y)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(z)
    with tf.Session() as s:
        s.run(w.initializer)
        plan = rewritten(s, train, [x, flag])
        assert "control_edge_onto_unread_value" in rules_of(plan)
        assert "TanhGrad" not in {op.type for op in plan.compiled_ops}
        plan.run([np.ones((2, 3), np.float32), True])
        wanted = 1 - 0.1 * np.repeat([[2 * (np.tanh(1) + 2)]] * 3, 4, 1)
        np.testing.assert_allclose(s.run(w), wanted, rtol=1e-6)


def test_what_keeps_a_node_in_its_branch_stays() -> None:
    flag = tf.placeholder(tf.bool, [])
    v = tf.Variable(1.0)

    def change() -> tf.Tensor:
        with tf.control_dependencies([tf.sin(tf.ones([]))]):
            return tf.assign_add(v, 1.0)

    y = tf.cond(flag, change, lambda: tf.identity(v))
    with tf.Session() as s:
        s.run(v.initializer)
        plan = rewritten(s, y, [flag])
        assert [plan.run([value]) for value in (False, True, False)] == [1.0, 2.0, 2.0]


def test_a_gate_on_what_enters_a_branch_or_a_loop_stays() -> None:
    """Its source is a Switch: whether the gate runs is decided there and by its edges."""
    flag, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [2])

    def gated() -> tf.Tensor:
        with tf.control_dependencies([tf.sin(x)]):
            return tf.identity(x)

    branch = tf.cond(flag, gated, lambda: tf.tanh(x))
    _, loop = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a + gated()), [0, x])
    with tf.Session() as s:
        plan = rewritten(s, [branch, loop], [flag, x])
        assert "gate_of_value" not in rules_of(plan)
        for taken in (True, False):
            got = plan.run([taken, [1.0, 2.0]])
            np.testing.assert_allclose(got[0], [1, 2] if taken else np.tanh([1, 2]), rtol=1e-6)
            assert got[1].tolist() == [4.0, 8.0]
