"""Gradients of slices that are added up: one tensor, to which each is added where it belongs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from tests.rewrites.rewritten import rewritten, types


def gradient_of(pieces: Callable[[Any], list[Any]], rows: int | None = 3) -> tuple[Any, Any]:
    """(x, the gradient to it of a sum over what is made of its pieces)."""
    x = tf.placeholder(tf.float32, [rows, 5, 4])
    y = tf.tanh(x * 0.5)
    total = sum(tf.reduce_sum(tf.tanh(p) * (i + 1.5)) for i, p in enumerate(pieces(y)))
    return x, tf.gradients(total, y)[0]


CASES: list[tuple[str, Callable[[Any], list[Any]], bool]] = [
    ("steps that cover all", lambda y: [y[:, k] for k in range(5)], True),
    ("steps that leave some", lambda y: [y[:, k] for k in (3, 0)], True),
    ("overlapping, some apart", lambda y: [y[:, :2], y[:, 1:3], y[:, 3:]], True),
    ("with a new axis", lambda y: [y[:, k, tf.newaxis] for k in range(3)], True),
    ("with steps", lambda y: [y[:, 0:3:2], y[:, 3:5:2], y[:, 1:2]], True),
    ("before an ellipsis", lambda y: [y[0, ..., 1], y[1, ..., 1:3]], True),
    ("one element each", lambda y: [y[0, 1, 2], y[1, 1, 2]], True),
    ("all over one place", lambda y: [y[:, 1:4], y[:, :2]], False),
    ("from the end", lambda y: [y[:, -1], y[:, 0]], False),
    ("backwards", lambda y: [y[:, ::-1], y[:, 0]], False),
]


@pytest.mark.parametrize(("name", "pieces", "joined"), CASES, ids=[c[0] for c in CASES])
@pytest.mark.parametrize("rows", [3, None])
def test_slices_give_the_same_bits(
    name: str, pieces: Callable[[Any], list[Any]], joined: bool, rows: int | None
) -> None:
    x, gradient = gradient_of(pieces, rows)
    value = np.random.default_rng(0).normal(size=(3, 5, 4)).astype(np.float32)
    with tf.Session() as s:
        plain = s.run(gradient, {x: value})
        plan = rewritten(s, gradient, [x])
        found = plan.run([value])
    assert found.tobytes() == plain.tobytes()
    assert ("_SumOfSlices" in types(plan)) == joined
    assert ("AddN" in types(plan)) != joined


def test_negative_zeros_become_what_their_sum_is() -> None:
    x = tf.placeholder(tf.float32, [2, 2])
    y = tf.tanh(x)
    factor = tf.placeholder(tf.float32, [])
    total = tf.reduce_sum(y[:, 0] * factor) + tf.reduce_sum(y[:, 1] * factor)
    gradient = tf.gradients(total, y)[0]
    feed = {x: np.ones((2, 2), np.float32), factor: np.float32(-0.0)}
    with tf.Session() as s:
        plain = s.run(gradient, feed)
        plan = rewritten(s, gradient, [x, factor])
        found = plan.run(list(feed.values()))
    assert "_SumOfSlices" in types(plan)
    assert not np.signbit(plain).any()
    assert found.tobytes() == plain.tobytes()


def test_what_is_used_elsewhere_stays() -> None:
    x = tf.placeholder(tf.float32, [3, 2])
    y = tf.tanh(x)
    gradient = tf.gradients(tf.reduce_sum(tf.exp(y[0])) + tf.reduce_sum(tf.exp(y[1])), y)[0]
    part = gradient.op.inputs[0]
    with tf.Session() as s:
        plan = rewritten(s, [gradient, part * 2.0], [x])
    assert "_SumOfSlices" not in types(plan)


def test_the_pieces_must_have_the_sizes_of_their_slices() -> None:
    from dataflow.kernels.slicing import sum_of_slices_kernel

    index = ((0,), (1,), (1,), (0, 0, 0, 0, 1))
    run = sum_of_slices_kernel(np, indices=[index], apart=True)
    with pytest.raises(ValueError, match=r"shape \[4\], and its gradient \[3\]"):
        run(np.array([2, 4]), [np.zeros(3, np.float32)])
    found = run(np.array([2, 4]), [np.arange(4, dtype=np.float32)])
    np.testing.assert_array_equal(found, [[0, 1, 2, 3], [0, 0, 0, 0]])


def test_training_an_unrolled_network_is_the_same() -> None:
    def values(config: Any) -> list[bytes]:
        with tf.Graph().as_default(), tf.Session(config=config) as s:
            ids = tf.placeholder(tf.int32, [4, 6])
            table = tf.get_variable("table", initializer=np.linspace(-1, 1, 30).reshape(10, 3))
            W = tf.get_variable("W", initializer=np.linspace(-0.5, 0.7, 9).reshape(3, 3))
            e, h = tf.nn.embedding_lookup(table, ids), tf.zeros([4, 3], tf.float64)
            for k in range(6):
                h = tf.tanh(tf.matmul(h, W) + e[:, k])
            train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(h))
            s.run(tf.global_variables_initializer())
            rng = np.random.default_rng(2)
            for _ in range(25):
                s.run(train, {ids: rng.integers(0, 10, (4, 6))})
            return [v.tobytes() for v in s.run([table, W])]

    off = tf.ConfigProto()
    off.graph_options.rewrite_options.disable_meta_optimizer = True
    assert values(None) == values(off)
