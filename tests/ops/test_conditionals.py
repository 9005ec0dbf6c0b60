"""Conditionals: what their branches may give."""

from __future__ import annotations

import dataflow as tf


def test_slices_of_two_index_types_in_branches():
    def slices(kind):
        return lambda: tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([3], kind))

    chosen = tf.cond(tf.constant(True), slices(tf.int32), slices(tf.int64))
    assert chosen.indices.dtype == tf.int64
    with tf.Session() as sess:
        assert sess.run(chosen.indices).tolist() == [3]
