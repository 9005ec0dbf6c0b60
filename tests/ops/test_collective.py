"""Collective ops in one process, and what is refused when they are built."""

import pytest

import dataflow as tf
from dataflow.ops.collective import (
    all_gather,
    all_reduce,
    broadcast_recv,
    broadcast_send,
    reduce_scatter,
)

DEVICES = tf.ConfigProto(device_count={"CPU": 3})


def test_the_names_of_tensorflow():
    from dataflow.python.ops import collective_ops

    assert collective_ops.all_reduce is all_reduce
    with tf.Graph().as_default():
        t = all_reduce(tf.zeros([2, 3]), 2, 1, 1, "Add", "Div")
        assert t.op.type == "CollectiveReduce" and t.shape.as_list() == [2, 3]
        assert all_gather(tf.zeros([2, 3]), 4, 1, 1).shape.as_list() == [8, 3]
        assert reduce_scatter(tf.zeros([8, 3]), 4, 1, 1).shape.as_list() == [2, 3]
        assert broadcast_recv([5], tf.int64, 2, 1, 1).dtype == tf.int64


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: all_reduce([1.0], 0, 1, 1), "at least 1, got 0"),
        (lambda: all_reduce([1.0], 2, 1, 1, "Sum"), "merge_op must be one of Add"),
        (lambda: all_reduce([1.0], 2, 1, 1, "Add", "Mean"), "final_op must be one of Id, Div"),
        (lambda: all_gather(1.0, 2, 1, 1), "at least 1"),
        (lambda: reduce_scatter([1.0, 2.0, 3.0], 2, 1, 1), "pad the tensor"),
        (lambda: broadcast_send([1.0], [2], tf.float32, 2, 1, 1), "the declared shape"),
        (lambda: broadcast_send([1.0], [1], tf.int32, 2, 1, 1), "the declared dtype"),
        (lambda: broadcast_recv([1], tf.int32, 1, 1, 1), "at least 2, got 1"),
        (lambda: tf.contrib.nccl.all_sum([tf.zeros(2)]), "Device assignment required"),
        (lambda: tf.contrib.nccl.all_sum([]), "at least one tensor"),
    ],
)
def test_refused(build, words):
    with tf.Graph().as_default(), pytest.raises(ValueError, match=words):
        build()


def test_ranks_follow_the_devices():
    with tf.Graph().as_default():
        gathered = []
        for i in (2, 0, 1):
            with tf.device(f"/cpu:{i}"):
                gathered.append(all_gather(tf.constant([i]), 3, 1, 1))
        with tf.Session(config=DEVICES) as session:
            for value in session.run(gathered):
                assert value.tolist() == [0, 1, 2]


def test_members_that_disagree_at_run_time():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None])
        pair = [all_reduce(x, 2, 1, 1), all_reduce(tf.concat([x, x], 0), 2, 1, 1)]
        with tf.Session() as session:
            with pytest.raises(tf.errors.InvalidArgumentError, match="do not agree on the shape"):
                session.run(pair, {x: [1.0]})
            assert len(session.run(pair, {x: []})) == 2


def test_a_member_that_does_not_come():
    with tf.Graph().as_default():
        pair = [all_reduce(tf.ones(2), 2, 1, 1, timeout=2.0), all_reduce(tf.ones(2), 2, 1, 1)]
        with tf.Session() as session:
            with pytest.raises(tf.errors.OpError, match="1 of the 2 members|deadlock|waits"):
                session.run(pair[0])
            assert session.run(pair)[0].tolist() == [2, 2]


def test_results_are_memory_of_ones_own():
    with tf.Graph().as_default():
        pair = [all_reduce(tf.ones(20), 2, 1, 1) for _ in range(2)]
        changed = [tf.exp(pair[0]) * 2 + 1, tf.identity(pair[1])]
        with tf.Session() as session:
            for _ in range(5):
                assert session.run(changed)[1].tolist() == [2] * 20


def test_the_gradient_of_all_sum():
    with tf.Graph().as_default():
        given = []
        for i in range(2):
            with tf.device(f"/cpu:{i}"):
                given.append(tf.constant([1.0, 2.0]) + i)
        first, second = tf.contrib.nccl.all_sum(given)
        found = tf.gradients([first * 3.0, second * 5.0], given)
        with tf.Session(config=DEVICES) as session:
            assert [v.tolist() for v in session.run(found)] == [[8, 8], [8, 8]]
        least = tf.contrib.nccl.all_min(given)
        with pytest.raises(LookupError, match="sum"):
            tf.gradients(least, given)


def test_the_group_of_one():
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(all_reduce([3.0], 1, 1, 1, "Add", "Div")).tolist() == [3]
