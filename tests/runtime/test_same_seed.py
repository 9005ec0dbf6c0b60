"""A seed gives the same bits again: in this process, whatever ran before, and on busy threads."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels import parallel


def losses(steps: int, batch: int, convolutional: bool) -> np.ndarray:
    random = np.random.RandomState(0)
    images = random.rand(batch * 4, 28, 28, 1).astype("float32")
    labels = random.randint(0, 10, batch * 4)
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        x = tf.placeholder(tf.float32, [None, 28, 28, 1])
        y = tf.placeholder(tf.int64, [None])
        h = x
        if convolutional:
            for filters in (16, 32):
                h = tf.layers.conv2d(h, filters, 5, padding="same", activation=tf.nn.relu)
                h = tf.layers.max_pooling2d(h, 2, 2)
        h = tf.layers.dense(tf.layers.flatten(h), 200, activation=tf.nn.relu)
        h = tf.layers.dropout(h, 0.4, training=True)
        loss = tf.losses.sparse_softmax_cross_entropy(y, tf.layers.dense(h, 10))
        train = tf.train.AdamOptimizer(0.002).minimize(loss)
        with tf.Session() as s:
            s.run(tf.global_variables_initializer())
            seen = []
            for i in range(steps):
                part = slice(i % 4 * batch, (i % 4 + 1) * batch)
                value, _ = s.run([loss, train], {x: images[part], y: labels[part]})
                seen.append(value)
    return np.array(seen)


# Enough steps for machine code to take over: its sums round otherwise than NumPy's.
@pytest.mark.parametrize(("steps", "batch", "convolutional"), [(220, 64, False), (25, 64, True)])
def test_the_second_run_gives_the_same_bits(steps: int, batch: int, convolutional: bool) -> None:
    first = losses(steps, batch, convolutional)
    np.testing.assert_array_equal(losses(steps, batch, convolutional), first)
    assert first[-1] < first[0]


def test_totals_do_not_depend_on_which_thread_was_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "SHARES", 3)
    numbers = np.random.RandomState(0).standard_normal(4000).astype("float32")
    pieces = [slice(i, i + 100) for i in range(0, 4000, 100)]

    def total_of(order: list[int]) -> np.ndarray:
        def run_in_order(pieces, make_worker):
            worker = make_worker()
            for i in order:
                worker(pieces[i])

        monkeypatch.setattr(parallel, "run_pieces", run_in_order)
        total = np.zeros(1, np.float32)

        def make_worker(total):
            def work(piece: slice) -> None:
                for number in numbers[piece]:
                    total[0] += number

            return work

        parallel.add_up_pieces(np, pieces, total, make_worker)
        return total

    np.testing.assert_array_equal(total_of([0, 1, 2]), total_of([2, 0, 1]))
    np.testing.assert_allclose(total_of([1, 2, 0]), numbers.astype("float64").sum(), rtol=1e-4)
