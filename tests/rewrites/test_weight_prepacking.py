"""Weights of many products are packed once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.errors import InvalidArgumentError
from tests.rewrites.rewritten import rewritten, types
from tests.rewrites.test_multi_output_fusion import both

RNG = np.random.default_rng(0)


def _close(got: list[Any], wanted: list[Any]) -> None:
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


def test_products_in_a_loop_and_in_its_gradient(either: None) -> None:
    x, w = tf.placeholder(tf.float32, [None, 96]), tf.placeholder(tf.float32, [96, 96])
    _, h = tf.while_loop(lambda i, _: i < 4, lambda i, h: (i + 1, tf.tanh(tf.matmul(h, w))), [0, x])
    loss = tf.reduce_sum(tf.square(h))
    feeds = {x: RNG.normal(size=(80, 96)).astype("f"), w: RNG.normal(size=(96, 96)).astype("f") / 9}
    plan, got, wanted = both([loss, *tf.gradients(loss, [x, w])], feeds)
    _close(got, wanted)
    assert types(plan).count("_PackedMatrix") == types(plan).count("_PackedProduct") == 2
    assert sum(hit.rule == "packing" for hit in plan.journal) == 2


def test_a_matrix_that_comes_round_is_not_packed() -> None:
    x, w = tf.placeholder(tf.float32, [64, 64]), tf.placeholder(tf.float32, [64, 64])
    _, h, _ = tf.while_loop(
        lambda i, *_: i < 3, lambda i, h, m: (i + 1, tf.matmul(h, m), m * 0.5), [0, x, w]
    )
    feeds = {t: RNG.normal(size=(64, 64)).astype("f") / 8 for t in (x, w)}
    plan, got, wanted = both([h], feeds)
    _close(got, wanted)
    assert "_PackedMatrix" not in types(plan)


@pytest.mark.parametrize("times", [3, 4])
def test_products_in_a_row(either: None, times: int) -> None:
    x, w = tf.placeholder(tf.float32, [None, 96]), tf.placeholder(tf.float32, [96, 96])
    h: Any = x
    for _ in range(times):
        h = tf.tanh(tf.matmul(h, w))
    feeds = {x: RNG.normal(size=(80, 96)).astype("f"), w: RNG.normal(size=(96, 96)).astype("f") / 9}
    plan, got, wanted = both([h, *tf.gradients(h, x)], feeds)
    _close(got, wanted)
    assert types(plan).count("_PackedProduct") == (8 if times == 4 else 0)


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("is_variable", [True, False])
def test_a_value_that_may_have_changed_is_not_packed(is_variable: bool, waits: bool) -> None:
    x = tf.placeholder(tf.float32, [8, 64])
    start = np.eye(64, dtype=np.float32)
    w = tf.get_variable("w", initializer=start, use_resource=True) if is_variable else None
    given = tf.placeholder(tf.float32, [64, 64])
    with tf.control_dependencies([tf.tanh(x)] if waits else []):
        matrix = tf.sqrt(given) if w is None else w.read_value()
    products = [tf.matmul(x + i, matrix) for i in range(4)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        plan = rewritten(session, products, [x, given])
    assert ("_PackedMatrix" in types(plan)) == (not is_variable or not waits)


def test_a_variable_that_changes_between_products_is_looked_at_again() -> None:
    x = tf.placeholder(tf.float32, [8, 64])
    w = tf.Variable(np.eye(64, dtype=np.float32))
    before = [tf.matmul(x + i, w) for i in range(4)]
    with tf.control_dependencies(before):
        changed = tf.assign(w, w * 2.0)
    with tf.control_dependencies([changed.op]):
        after = [tf.matmul(x + i, w.read_value()) for i in range(4)]
    with tf.Session() as session:
        for _ in range(5):  # rewritten on the way
            session.run(w.initializer)
            results = session.run([*before, *after], {x: np.ones((8, 64), "f")})
            for i, result in enumerate(results):
                np.testing.assert_array_equal(result, (1 + i % 4) * (1 if i < 4 else 2))


def test_a_misfit_is_that_of_its_node() -> None:
    x, w = tf.placeholder(tf.float32, [4, None]), tf.placeholder(tf.float32, [64, 64])
    _, total = tf.while_loop(
        lambda i, _: i < 2,
        lambda i, t: (i + 1, t + tf.matmul(x, w, name="the_product")),
        [0, tf.zeros([4, 64])],
    )
    with tf.Session() as session:
        plan = rewritten(session, total, [x, w])
        assert "_PackedProduct" in types(plan) or "_AddProduct" in types(plan)
        with pytest.raises(InvalidArgumentError) as e:
            plan.run([np.ones((4, 3), "f"), np.ones((64, 64), "f")])
    assert e.value.op.name.endswith("the_product")


def test_products_that_wait_for_a_node_are_not_packed() -> None:
    x, w = tf.placeholder(tf.float32, [64, 64]), tf.placeholder(tf.float32, [64, 64])
    left = [x * i for i in (1.0, 2.0, 3.0, 4.0)]
    with tf.control_dependencies([tf.Variable(1.0).initializer]):
        products = [tf.matmul(matrix, w) for matrix in left]
    with tf.Session() as session:
        assert "_PackedMatrix" not in types(rewritten(session, products, [x, w]))
