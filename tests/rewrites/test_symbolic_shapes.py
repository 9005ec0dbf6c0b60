"""Symbolic shapes: what is known of each op's result, and that no run contradicts it.

Sizes: n rows and m columns of x [n, m, 3]; k elements of indices. ``?`` is a size of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.rewrites.fed_shapes import dims_are_equal, equal_dims_of, size_of_batch
from dataflow.rewrites.symbolic_shapes import Shapes, is_same, ratio

Given = SimpleNamespace


def given() -> Given:
    return Given(
        x=tf.placeholder(tf.float32, [None, None, 3]),
        flat=tf.placeholder(tf.float32, [None, 12]),
        images=tf.placeholder(tf.float32, [None, 4, 4, 2]),
        indices=tf.placeholder(tf.int32, [None]),
    )


def values(g: Given, n: int, m: int, k: int) -> dict[Any, Any]:
    return {
        g.x: np.ones((n, m, 3), np.float32),
        g.flat: np.ones((k, 12), np.float32),
        g.images: np.ones((n, 4, 4, 2), np.float32),
        g.indices: np.zeros(k, np.int32),
    }


def check(build: Callable[[Given], Any], expected: Any) -> None:
    """Sizes as letters: n, m and r of x, k of the indices, f of flat, i of images, or ``?``."""
    g = given()
    output = build(g)
    feeds = [g.x, g.flat, g.images, g.indices]
    ops = tf.get_default_graph().get_operations()
    shapes = Shapes(ops, feeds)
    n, m, _ = shapes.of(g.x) or ()
    letters = {n: "n", m: "m"}
    for letter, tensor in (("f", g.flat), ("i", g.images), ("k", g.indices)):
        letters[(shapes.of(tensor) or ())[0]] = letter

    def letter_of(size: Any) -> Any:
        if isinstance(size, frozenset):
            return {letter_of(part) for part in size}
        return size if isinstance(size, int) else letters.get(size, "?")

    found = shapes.of(output)
    assert (None if found is None else [letter_of(size) for size in found]) == expected
    # What is said of every tensor of the graph holds in runs.
    tensors = [t for op in ops for t in op.outputs if shapes.of(t) is not None]
    with tf.Session() as session:
        for sizes in ((5, 4, 2), (3, 4, 3), (4, 6, 1)):
            symbols: dict[Any, int] = {}
            fed = values(g, *sizes)
            for tensor, value in zip(tensors, session.run(tensors, fed), strict=True):
                known = shapes.of(tensor) or ()
                assert len(known) == np.ndim(value), tensor
                for symbol, size in zip(known, np.shape(value), strict=True):
                    if isinstance(symbol, frozenset):
                        continue  # one of them, or 1
                    got = symbol if isinstance(symbol, int) else symbols.setdefault(symbol, size)
                    assert got == size, (tensor, known, np.shape(value))


CASES: list[tuple[Callable[[Given], Any], Any]] = [
    # Element by element.
    (lambda g: tf.exp(g.x), ["n", "m", 3]),
    (lambda g: g.x + 1.0, ["n", "m", 3]),
    (lambda g: g.x + [1.0, 2.0, 3.0], ["n", "m", 3]),
    (lambda g: tf.ones([1, 1, 3]) * g.x, ["n", "m", 3]),
    (lambda g: g.x + tf.reduce_sum(g.x, 1, keepdims=True), ["n", "m", 3]),
    (lambda g: g.x[:, :1] + g.x[:1], [{"n", "?"}, {"m", "?"}, 3]),
    (lambda g: g.x[:, 0] + g.flat[:1, :3], [{"n", "?"}, 3]),
    # Shapes that say where they come from.
    (lambda g: tf.zeros_like(g.x), ["n", "m", 3]),
    (lambda g: tf.zeros(tf.shape(g.x)), ["n", "m", 3]),
    (lambda g: tf.zeros([tf.shape(g.x)[0], 7]), ["n", 7]),
    (lambda g: tf.zeros([tf.shape(g.x)[1], tf.shape(g.x)[-1]]), ["m", 3]),
    (lambda g: tf.zeros([tf.shape(g.x)[-3], tf.shape(g.flat)[0]]), ["n", "f"]),
    (lambda g: tf.zeros([tf.shape(g.x)[0] + 1, 7]), ["?", 7]),
    (lambda g: tf.fill([2, 3], 1.0), [2, 3]),
    (lambda g: tf.broadcast_to(1.0, tf.shape(g.flat)), ["f", 12]),
    # Reshapes: one unknown size on both sides, and the known ones agree.
    (lambda g: tf.reshape(g.flat, [-1, 3, 4]), ["f", 3, 4]),
    (lambda g: tf.reshape(g.flat, [-1, 12]), ["f", 12]),
    (lambda g: tf.reshape(g.flat, [-1, 6]), ["?", 6]),
    (lambda g: tf.reshape(g.x, [-1, 3]), ["?", 3]),
    (lambda g: tf.reshape(g.flat, [-1]), ["?"]),
    (lambda g: tf.reshape(g.images, [-1, 32]), ["i", 32]),
    # Multiples and parts of a size, there and back.
    (lambda g: tf.reshape(tf.reshape(g.flat, [-1, 6]), [-1, 3, 4]), ["f", 3, 4]),
    (lambda g: tf.reshape(tf.reshape(g.images, [-1, 2]), [-1, 4, 4, 2]), ["i", 4, 4, 2]),
    (lambda g: tf.reshape(tf.reshape(g.images, [-1, 8]), [-1, 4, 2, 4]), ["i", 4, 2, 4]),
    (
        lambda g: tf.reshape(tf.matmul(tf.reshape(g.flat, [-1, 4]), tf.ones([4, 8])), [-1, 24]),
        ["f", 24],
    ),
    (lambda g: tf.reshape(tf.reshape(g.flat, [-1, 4]), [-1, 6]), ["?", 6]),
    (lambda g: tf.zeros(tf.shape(g.x)[:-1]), ["n", "m"]),
    (lambda g: tf.zeros(tf.shape(g.x)[1:]), ["m", 3]),
    (lambda g: tf.matmul(g.images, g.images, transpose_b=True), ["i", 4, 4, 4]),
    (lambda g: tf.matmul(g.images, tf.ones([4, 2, 5])), ["i", 4, 4, 5]),
    (lambda g: tf.matmul(g.images, g.images, transpose_a=True), ["i", 4, 2, 2]),
    (lambda g: tf.reshape(g.flat, tf.stack([tf.shape(g.flat)[0], 2, 6])), ["f", 2, 6]),
    # Slices: an axis that is taken whole keeps its size.
    (lambda g: g.x[:, 0], ["n", 3]),
    (lambda g: g.x[0], ["m", 3]),
    (lambda g: g.x[:, :, 1], ["n", "m"]),
    (lambda g: g.x[0:], ["n", "m", 3]),
    (lambda g: g.x[1:], ["?", "m", 3]),
    (lambda g: g.x[:2], ["?", "m", 3]),
    (lambda g: g.x[:, 1:], ["n", "?", 3]),
    (lambda g: g.x[::2], ["?", "m", 3]),
    (lambda g: g.x[::-1], ["?", "m", 3]),
    (lambda g: g.x[:, tf.newaxis], ["n", 1, "m", 3]),
    (lambda g: g.x[:, tf.newaxis, 0], ["n", 1, 3]),
    (lambda g: g.x[..., 0], ["?", "?"]),
    # Axes that come, go and change places.
    (lambda g: tf.expand_dims(g.x, 0), [1, "n", "m", 3]),
    (lambda g: tf.expand_dims(g.x, -1), ["n", "m", 3, 1]),
    (lambda g: tf.transpose(g.x, [1, 2, 0]), ["m", 3, "n"]),
    (lambda g: tf.stack([g.x, g.x]), [2, "n", "m", 3]),
    (lambda g: tf.stack([g.x, g.x], axis=1), ["n", 2, "m", 3]),
    (lambda g: tf.stack([g.x, g.x], axis=-1), ["n", "m", 3, 2]),
    (lambda g: tf.unstack(g.x, axis=2)[1], ["n", "m"]),
    (lambda g: tf.unstack(tf.transpose(g.x, [2, 0, 1]))[1], ["n", "m"]),
    (lambda g: tf.concat([g.x, g.x], 2), ["n", "m", 6]),
    (lambda g: tf.concat([g.x, g.x], 0), ["?", "m", 3]),
    (lambda g: tf.concat([g.x, g.x], -2), ["n", "?", 3]),
    (lambda g: tf.split(g.flat, 3, 1)[1], ["f", 4]),
    (lambda g: tf.split(g.flat, [5, 7], 1)[1], ["f", 7]),
    (lambda g: tf.split(g.flat, [5, 7], -1)[0], ["f", 5]),
    # Sums, products and what networks are made of.
    (lambda g: tf.reduce_sum(g.x, 0), ["m", 3]),
    (lambda g: tf.reduce_max(g.x, -2), ["n", 3]),
    (lambda g: tf.reduce_mean(g.x, [0, 2]), ["m"]),
    (lambda g: tf.reduce_sum(g.x, [1], keepdims=True), ["n", 1, 3]),
    (lambda g: tf.reduce_sum(g.x), []),
    (lambda g: tf.argmax(g.flat, 1), ["?"]),
    (lambda g: tf.matmul(g.flat, tf.ones([12, 5])), ["f", 5]),
    (lambda g: tf.matmul(g.flat, g.flat, transpose_b=True), ["f", "f"]),
    (lambda g: tf.matmul(g.flat, g.flat, transpose_a=True), [12, 12]),
    (lambda g: tf.matmul(tf.ones([5, 12]), g.flat, transpose_b=True), [5, "f"]),
    (lambda g: tf.nn.softmax(g.flat), ["f", 12]),
    (lambda g: tf.nn.bias_add(g.flat, tf.ones([12])), ["f", 12]),
    (lambda g: tf.nn.conv2d(g.images, tf.ones([3, 3, 2, 5]), [1] * 4, "SAME"), ["i", 4, 4, 5]),
    (lambda g: tf.nn.max_pool(g.images, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), ["i", 2, 2, 2]),
    (
        lambda g: tf.nn.softmax_cross_entropy_with_logits_v2(labels=g.flat, logits=g.flat),
        ["f"],
    ),
    # Rows by their numbers.
    (lambda g: tf.gather(g.x, g.indices), ["k", "m", 3]),
    (lambda g: tf.gather(g.x, 0), ["m", 3]),
    (lambda g: tf.gather(tf.ones([5, 2]), g.indices), ["k", 2]),
    (lambda g: tf.raw_ops.Gather(params=g.x, indices=g.indices), ["k", "m", 3]),
    (lambda g: tf.nn.embedding_lookup(tf.ones([5, 2]), g.indices), ["k", 2]),
    (lambda g: tf.gather(g.x, [0, 1], axis=1), ["?", 2, 3]),
    (lambda g: tf.boolean_mask(g.flat, g.flat[:, 0] > 0.0), ["?", 12]),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_what_is_known_of_a_result(number: int) -> None:
    check(*CASES[number])


def test_gradients_have_the_shapes_of_what_they_are_of() -> None:
    g = given()
    y = tf.reduce_sum(tf.square(tf.matmul(tf.nn.relu(g.flat), tf.ones([12, 2]))))
    (slope,) = tf.gradients(y, g.flat)
    shapes = Shapes(tf.get_default_graph().get_operations(), [g.flat])
    assert shapes.same(slope, g.flat)


def test_shapes_told_by_shapes() -> None:
    a, b = tf.placeholder(tf.float32, [None, 1]), tf.placeholder(tf.float32, [1])
    both = tf.broadcast_dynamic_shape(tf.shape(a), tf.shape(b))
    negative = tf.constant([2, -1])
    computed = tf.stack([tf.shape(a)[0], tf.shape(b)[0] * 2])
    shapes = Shapes(tf.get_default_graph().get_operations(), [a, b])
    ((rows, one),) = (shapes.of(a) or (),)
    assert shapes.told_by(tf.shape(a)) == (rows, 1) and one == 1
    assert shapes.told_by(both) == (rows, 1)
    assert shapes.told_by(tf.constant([2, 0])) == (2, 0)
    assert shapes.told_by(negative) is None  # what a reshape is to find out
    assert shapes.told_by(tf.constant(2)) is None
    assert shapes.told_by(computed) is None


def test_a_size_taken_from_a_vector_that_nothing_tells() -> None:
    vector, place = tf.placeholder(tf.int32, [2]), tf.placeholder(tf.int32, [])
    a = tf.placeholder(tf.float32, [None, 3])
    untold = tf.stack([vector[0], 3])
    elsewhere = tf.stack([tf.shape(a)[place], 3])
    told = tf.stack([tf.shape(a)[-2], 3])
    shapes = Shapes(tf.get_default_graph().get_operations(), [vector, place, a])
    assert shapes.told_by(untold) is None and shapes.told_by(elsewhere) is None
    assert shapes.told_by(told) == shapes.of(a)


def test_scalars_and_unknown_ranks_are_the_same_as_nothing() -> None:
    a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32)
    c = tf.exp(b)
    shapes = Shapes(tf.get_default_graph().get_operations(), [a, b])
    assert shapes.of(b) is None and shapes.of(c) is None
    assert not shapes.same(a, a) and not shapes.same(b, c)
    assert not is_same((), ()) and not is_same(None, None) and is_same((2,), (2,))


def test_sizes_that_the_caller_says_are_equal() -> None:
    a = tf.placeholder(tf.float32, [None, 2])
    b = tf.placeholder(tf.float32, [3, None])
    c = tf.placeholder(tf.float32, [None, 2])
    ops = tf.get_default_graph().get_operations()
    shapes = Shapes(ops, [a, b, c], [[(0, 0), (1, 1), (2, 0)]])
    assert shapes.same(a, c)
    assert (shapes.of(b) or ()) == (3, (shapes.of(a) or ())[0])
    assert not Shapes(ops, [a, b, c]).same(a, c)


def test_equal_sizes_of_what_was_fed() -> None:
    a = tf.placeholder(tf.float32, [None, None])
    b = tf.placeholder(tf.float32, [None, 4])
    c = tf.placeholder(tf.float32)
    d = tf.placeholder(tf.float32, [None])
    fed = [np.ones((5, 4)), np.ones((5, 4)), np.ones((5, 4)), np.ones(5)]
    found = equal_dims_of([a, b, c, d], fed)
    assert found == [[(0, 0), (1, 0), (3, 0)]]  # a's columns are no rows, c says nothing
    holds = dims_are_equal(found)
    assert holds(fed) and not holds([np.ones((5, 4)), np.ones((6, 4)), fed[2], np.ones(5)])
    assert equal_dims_of([a, b], [np.ones((1, 2)), np.ones((1, 4))]) == []  # 1 broadcasts
    assert len(equal_dims_of([a, b], [np.ones((2, 2)), np.ones((2, 4))])) == 1
    assert equal_dims_of([a, b], [np.ones(5), np.ones((5, 4))]) == []  # refused later


def test_the_size_of_a_batch_is_the_most_frequent_one() -> None:
    rows = [tf.placeholder(tf.float32, [None, 2]) for _ in range(3)]
    other = tf.placeholder(tf.float32, [9, 2])
    scalar, free = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32)
    fed = [np.ones((7, 2)), np.ones((5, 2)), np.ones((5, 2)), np.ones((9, 2)), np.float32(1)]
    assert size_of_batch([*rows, other, scalar], fed) == 5
    assert size_of_batch([other, scalar, free], [fed[3], fed[4], np.ones((9, 2))]) is None
    assert size_of_batch([], []) is None


def test_how_many_times_as_large_an_array_is() -> None:
    g = given()
    ops = tf.get_default_graph().get_operations()
    shapes = Shapes(ops, [g.x, g.flat, g.images])
    x, flat, images = (shapes.of(t) or () for t in (g.x, g.flat, g.images))
    assert ratio(x, x[:2]) == 3
    assert ratio(images, (images[0], 1, 4, 1)) == 8
    assert ratio((x[1], x[0]), x[:2]) == 1
    assert ratio(x, x[:1]) is None
    assert ratio(flat, images) is None
    assert ratio(x[:2], x) is None
    assert ratio(x, None) is None
