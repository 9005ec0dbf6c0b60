"""Long sequences in segments whose states go on; orders and keys as TensorFlow 1.15's."""

import numpy as np
import pytest

import dataflow as tf

training = tf.contrib.training


pytestmark = pytest.mark.usefixtures("graph")


def saver_of(length, sequence, key="a", **settings):
    given = {
        "batch_size": 1,
        "num_unroll": 2,
        "input_length": length,
        "input_key": key,
        "input_sequences": {"x": sequence},
        "input_context": {"c": tf.constant([7, 8])},
        "initial_states": {"s": tf.constant([0.0])},
    }
    return training.SequenceQueueingStateSaver(**(given | settings))


def test_states_go_from_segment_to_segment():
    saver = saver_of(3, tf.constant(np.arange(4, dtype=np.float32)))
    batch = saver.next_batch
    total = batch.state("s") + tf.reduce_sum(batch.sequences["x"])
    fetches = [batch.key, batch.next_key, batch.length, batch.total_length, batch.sequence]
    fetches += [batch.sequence_count, batch.insertion_index, batch.context["c"], batch.batch_size]
    with tf.Session() as sess:
        sess.run(saver.prefetch_op)
        assert sess.run(saver.barrier.ready_size()) == 1  # the second segment waits for its state
        values, state, _ = sess.run([fetches, total, batch.save_state("s", total)])
        assert [v.tolist() for v in values] == [
            [b"00000_of_00002:a"],
            [b"00001_of_00002:a"],
            [2],
            [3],
            [0],
            [2],
            [-(2**63)],
            [[7, 8]],
            1,
        ]
        assert state.tolist() == [[1]]
        values, state, _ = sess.run([fetches, total, batch.save_state("s", total)])
        assert [v.tolist() for v in values[:3]] == [[b"00001_of_00002:a"], [b"STOP:a"], [1]]
        assert state.tolist() == [[6]]
        sizes = [saver.barrier.ready_size(), saver.barrier.incomplete_size()]
        assert sess.run(sizes) == [0, 0]


def test_capacity_holds_sequences_back():
    key = tf.placeholder(tf.string)
    saver = saver_of(2, tf.zeros([2]), key, capacity=2)
    with tf.Session() as sess:
        for name in "ab":
            sess.run(saver.prefetch_op, {key: name})
        options = tf.RunOptions(timeout_in_ms=200)
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.run(saver.prefetch_op, {key: "c"}, options=options)
        assert sess.run(saver.next_batch.key).tolist() == [b"00000_of_00001:a"]
        sess.run(saver.prefetch_op, {key: "d"})
        sess.run(saver.close())
        assert sess.run(saver.next_batch.key).tolist() == [b"00000_of_00001:b"]


def test_batches_with_threads_and_sparse_features():
    sparse = tf.SparseTensor([[0, 1], [2, 0]], np.array([5, 6]), [3, 2])
    context = tf.SparseTensor([[1]], np.array([9]), [4])
    batch = training.batch_sequences_with_states(
        "k",
        {"x": tf.constant([[1.0], [2.0], [3.0]]), "sparse": sparse},
        {"context": context},
        None,
        {"s": tf.constant(0.0)},
        num_unroll=2,
        batch_size=2,
        capacity=2,
        make_keys_unique=True,
    )
    total = batch.state("s") + tf.reduce_sum(batch.sequences["x"], [1, 2])
    wanted = [batch.sequences, batch.context, batch.length, total, batch.save_state("s", total)]
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        sequences, contexts, lengths, totals, _ = sess.run(wanted)
        assert sequences["x"].tolist() == [[[1], [2]]] * 2 and lengths.tolist() == [2, 2]
        assert sequences["sparse"].indices.tolist() == [[0, 0, 1], [1, 0, 1]]
        assert sequences["sparse"].dense_shape.tolist() == [2, 2, 2]
        assert contexts["context"].indices.tolist() == [[0, 1], [1, 1]]
        assert totals.tolist() == [3, 3]
        sequences, _, lengths, totals, _ = sess.run(wanted)
        assert sequences["x"].tolist() == [[[3], [0]]] * 2 and lengths.tolist() == [1, 1]
        assert sequences["sparse"].values.tolist() == [6, 6] and totals.tolist() == [6, 6]
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=5)


def test_a_recurrent_network_keeps_its_state():
    cell = tf.nn.rnn_cell.BasicRNNCell(3)
    saver = saver_of(4, tf.ones([4, 2]), initial_states={"s": tf.zeros([3])})
    batch = saver.next_batch
    steps = tf.unstack(batch.sequences["x"], num=2, axis=1)
    outputs, _ = tf.nn.static_state_saving_rnn(cell, steps, batch, "s")
    at_once, _ = tf.nn.dynamic_rnn(cell, tf.ones([1, 4, 2]), dtype=tf.float32)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(saver.prefetch_op)
        found = [sess.run(outputs) for _ in range(2)]
        found = np.stack([step for segment in found for step in segment], 1)
        assert found.shape == (1, 4, 3)
    assert at_once.shape.as_list() == [1, 4, 3]


def test_what_does_not_fit():
    for wrong, says in (
        ({"capacity": 1, "batch_size": 4}, "capacity 1 needs to be >= batch_size 4"),
        ({"initial_states": {}}, "at least one initial state"),
        ({"input_sequences": {}}, "at least one input sequence"),
        ({"num_unroll": 0}, "num_unroll must be at least 1"),
        ({"input_context": {"c": tf.placeholder(tf.float32)}}, "The shape of the context 'c'"),
    ):
        with pytest.raises(ValueError, match=says):
            saver_of(1, tf.zeros([2]), **wrong)
    multiple = "should be a multiple of: 2, but saw value: 3. Consider setting pad=True"
    with pytest.raises(tf.errors.InvalidArgumentError, match=multiple):
        saver_of(1, tf.zeros([3]))
    saver = saver_of(1, tf.placeholder_with_default(tf.zeros([3]), [None]))
    with pytest.raises(KeyError, match="state was not declared: t"):
        saver.next_batch.state("t")
    with pytest.raises(ValueError, match="Rank check failed for the state s"):
        saver.next_batch.save_state("s", [1.0])
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match=multiple):
        sess.run(saver.prefetch_op)
    with pytest.raises(
        ValueError, match="3 elements to shape"
    ):  # as TensorFlow, where lengths are known
        two = {"x": tf.zeros([2]), "y": tf.zeros([3])}
        training.batch_sequences_with_states("k", two, {}, None, {"s": 0.0}, 2, 1)
    two["y"] = tf.placeholder_with_default(tf.zeros([3]), [None])
    batch = training.batch_sequences_with_states("k", two, {}, None, {"s": 0.0}, 2, 1)
    enqueue = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)[0].enqueue_ops[0]
    with (
        tf.Session() as sess,
        pytest.raises(tf.errors.InvalidArgumentError, match="All sequence lengths must match"),
    ):
        sess.run(enqueue)
    assert batch.sequences["x"].shape.as_list() == [None, 2]
