"""`tf.container`: every node that has a container and was given none takes the block's."""

import dataflow as tf


def test_queues_accumulators_and_variables_take_it():
    with tf.Graph().as_default() as graph, tf.container("mine"):
        queue = tf.FIFOQueue(1, tf.int32, shared_name="q")
        accumulator = tf.ConditionalAccumulator(tf.float32, shape=(), shared_name="a")
        variable = tf.Variable(1.0)
        with graph.container("other"):
            second = tf.FIFOQueue(1, tf.int32, shared_name="q")
        assert queue.queue_ref.op.get_attr("container") in ("mine", b"mine")
        assert accumulator.accumulator_ref.op.get_attr("container") in ("mine", b"mine")
        assert variable.op.get_attr("container") in ("mine", b"mine")
        assert second.queue_ref.op.get_attr("container") in ("other", b"other")


def test_equal_names_in_two_containers_are_two_queues():
    with tf.Graph().as_default():
        with tf.container("one"):
            first = tf.FIFOQueue(2, tf.int32, shapes=(), shared_name="q")
        with tf.container("two"):
            second = tf.FIFOQueue(2, tf.int32, shapes=(), shared_name="q")
        put, sizes = first.enqueue(1), [first.size(), second.size()]
        with tf.Session() as session:
            session.run(put)
            assert session.run(sizes) == [1, 0]
