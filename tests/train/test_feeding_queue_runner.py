"""Queues that threads feed from arrays, dicts and frames."""

import collections

import numpy as np
import pytest

import dataflow as tf
from dataflow.train.feeding_queue_runner import FeedingQueueRunner, enqueue_data, feed_of


def test_rows_go_on_across_epochs():
    feed = feed_of(["index", "value"], np.arange(5) + 10, 2, num_epochs=2)
    found = []
    for _ in range(5):
        batch = feed()
        found.append((batch["index"].tolist(), batch["value"].tolist()))
    assert found[2] == ([4, 0], [14, 10]) and found[4] == ([3, 4], [13, 14])
    with pytest.raises(tf.errors.OutOfRangeError, match="Already emitted 2 epochs"):
        feed()
    last = feed_of(["i", "v"], np.arange(5), 3, num_epochs=1)
    last()
    assert last()["i"].tolist() == [3, 4]


def test_columns():
    columns = collections.OrderedDict(a=np.arange(3), b=np.array(["x", "y", "z"]))
    batch = feed_of(["i", "a", "b"], columns, 2)()
    assert batch["a"].tolist() == [0, 1] and batch["b"].tolist() == ["x", "y"]
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [5, 6]}, index=[10, 11])
    batch = feed_of(["i", "a"], frame, 3)()
    assert batch["i"].tolist() == [10, 11, 10] and batch["a"].tolist() == [5, 6, 5]


@pytest.mark.threads
@pytest.mark.parametrize("shuffle", [False, True])
def test_a_queue_of_rows(shuffle):
    rows = np.arange(32).reshape(16, 2)
    threads = 4 if shuffle else 1
    with tf.Graph().as_default():
        queue = enqueue_data(rows, 20, shuffle=shuffle, num_threads=threads, seed=3, num_epochs=1)
        taken = queue.dequeue_many(4)
        seen = []
        with tf.Session() as sess:
            coord = tf.train.Coordinator()
            started = tf.train.start_queue_runners(sess, coord)
            for _ in range(4 * threads):
                index, values = sess.run(taken)
                assert np.array_equal(values, rows[index])
                seen.extend(index.tolist())
            with pytest.raises(tf.errors.OutOfRangeError):
                sess.run(taken)
            coord.request_stop()
            coord.join(started)
    assert sorted(seen) == sorted(list(range(16)) * threads)
    assert shuffle or seen == list(range(16))


def test_what_does_not_fit():
    with pytest.raises(ValueError, match="expected 2 placeholders"):
        feed_of(["a"], np.arange(3), 1)
    with pytest.raises(TypeError, match="data must be an array"):
        feed_of(["a", "b"], 3, 1)
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(2, [tf.int32])
        with pytest.raises(ValueError, match="same length as enqueue_ops"):
            FeedingQueueRunner(queue, [queue.enqueue([1])], feed_fns=[])
