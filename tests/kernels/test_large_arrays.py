"""Kept memory for large arrays: used again when nothing refers to it, and never before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels import large_arrays

SIZE = 1 << 14


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Arrays of 4 KB and more are of kept memory; what other tests kept is gone."""
    monkeypatch.setattr(large_arrays, "_pool", large_arrays._MemoryPool())
    monkeypatch.setattr(large_arrays, "LEAST_BYTES", 4096)
    with tf.Graph().as_default():
        yield


def address(array: Any) -> int:
    return int(array.ctypes.data)


def made(size: int = SIZE) -> Any:
    return large_arrays.empty((size,), np.float32)


def test_memory_is_used_again_when_the_array_and_its_views_are_gone() -> None:
    array = made()
    place, view = address(array), array.reshape(2, -1)[1:, 5:]
    del array
    other = made()
    assert address(other) != place  # the view still shows it
    del view
    assert address(made()) == place
    assert large_arrays.owns_memory(other) and not large_arrays.owns_memory(other[1:])


def test_an_array_takes_no_block_that_is_much_larger() -> None:
    array = made()
    place = address(array)
    del array
    assert address(made(SIZE // 2)) != place


def test_no_more_is_kept_than_was_in_use_at_once() -> None:
    first, second = made(), made()
    del first, second
    large = made(2 * SIZE)  # now as much is in use as ever: nothing may be kept beside it
    blocks = large_arrays._pool
    assert (blocks._free, blocks._free_bytes, blocks._used_bytes) == ([], 0, large.nbytes)
    del large
    made()
    large_arrays.release()
    assert blocks._free == [] and blocks._free_bytes == 0


def test_small_arrays_are_numpys_own() -> None:
    small = large_arrays.empty((10,), np.float32)
    assert small.base is None and large_arrays.owns_memory(small)
    assert large_arrays.zeros((3000, 2), np.int64).any() == np.False_


def network() -> tuple[Any, Any, Any]:
    """Losses, the activations and a step of a small convolutional network."""
    x = tf.placeholder(tf.float32, [None, 16, 16, 3], name="x")
    weights = tf.random_normal_initializer(stddev=0.1, seed=1)
    hidden = tf.layers.conv2d(
        x, 8, 3, padding="same", activation=tf.nn.relu, kernel_initializer=weights
    )
    pooled = tf.layers.max_pooling2d(hidden, 2, 2)
    flat = tf.layers.flatten(tf.layers.conv2d(pooled, 4, 3, kernel_initializer=weights))
    loss = tf.reduce_mean(tf.square(tf.layers.dense(flat, 1, kernel_initializer=weights) - 1.0))
    return loss, hidden, tf.train.AdamOptimizer(0.01).minimize(loss)


def test_networks_compute_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    images = np.random.default_rng(0).random((8, 16, 16, 3), np.float32)

    def train() -> tuple[list[float], list[Any]]:
        with tf.Graph().as_default(), tf.Session() as session:
            loss, hidden, step = network()
            session.run(tf.global_variables_initializer())
            losses, kept = [], []
            for _ in range(12):
                found, value, _ = session.run([loss, hidden, step], {"x:0": images})
                losses.append(float(found))
                kept.append((value, value.copy()))
            for value, at_once in kept:  # what the caller holds is not computed into
                np.testing.assert_array_equal(value, at_once)
            return losses, [value for value, _ in kept]

    losses, values = train()
    monkeypatch.setattr(large_arrays, "LEAST_BYTES", 1 << 40)
    expected, expected_values = train()
    assert losses == expected and losses[-1] < losses[0]
    np.testing.assert_array_equal(values, expected_values)


def test_a_result_and_a_variable_keep_their_memory() -> None:
    x = tf.placeholder(tf.float32, [None])
    doubled = tf.tanh(x) * 2.0
    kept = tf.Variable(tf.zeros([SIZE]), validate_shape=False)
    assign = tf.assign(kept, tf.tanh(x) + 1.0)
    fed = np.ones(SIZE, np.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(doubled, {x: fed})
        session.run(assign, {x: 2 * fed})
        for i in range(8):
            session.run(doubled, {x: i * fed})
        np.testing.assert_allclose(first, 2 * np.tanh(fed), rtol=1e-6)
        np.testing.assert_allclose(session.run(kept), np.tanh(2 * fed) + 1, rtol=1e-6)
