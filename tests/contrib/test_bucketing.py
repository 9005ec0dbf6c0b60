"""``tf.contrib.training.bucket`` of examples with sparse parts, and the shapes of `tf.train.batch` of them."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def test_sparse_tensors_go_through_buckets() -> None:
    number = tf.train.range_input_producer(8, num_epochs=1, shuffle=False).dequeue()
    sparse = tf.SparseTensor([[0], [1]], tf.stack([number, number * 10]), [3])
    which, (numbers, values) = tf.contrib.training.bucket(
        [number, sparse], number % 2, batch_size=4, num_buckets=2
    )
    assert numbers.shape.as_list() == [4] and values.get_shape().as_list() == [None, None]
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        for _ in range(2):
            found, n, s = sess.run([which, numbers, values])
            assert n.tolist() == [found, found + 2, found + 4, found + 6]
            dense = np.zeros(s.dense_shape, np.int32)
            dense[tuple(s.indices.T)] = s.values
            assert dense.tolist() == [[v, v * 10, 0] for v in n]
        coord.request_stop()
        coord.join(threads)


@pytest.mark.parametrize(("many", "dims"), [(False, [1]), (True, [3, 2])])
def test_a_batch_of_sparse_tensors_has_their_rank(many: bool, dims: list[int]) -> None:
    sparse = tf.SparseTensor([[0] * len(dims)], [1.0], dims)
    other = tf.constant([1, 2, 3]) if many else tf.constant(1)
    batched, _ = tf.train.batch([sparse, other], 4, enqueue_many=many)
    assert batched.get_shape().as_list() == [None, None]
    assert batched.dense_shape.shape.as_list() == [2]
