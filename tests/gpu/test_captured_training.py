"""What a training step draws, reads and samples does not keep it from being captured as a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.cuda.capture import MOST_NUMBERS, HostNumbers
from dataflow.kernels.xp import pretend_module
from tests.gpu.test_cuda_graphs import PLAIN, num_captured, plans

pytestmark = pytest.mark.usefixtures("graph")


RNG = np.random.RandomState(0)
IMAGES = RNG.rand(60, 6).astype(np.float32)
LABELS = RNG.randint(0, 3, 60)


def classifier(x: Any, labels: Any) -> tuple[Any, Any]:
    """A network with dropout, its loss and its step."""
    h = tf.layers.dense(x, 8, tf.nn.relu, kernel_initializer=tf.ones_initializer())
    h = tf.nn.dropout(h, keep_prob=0.6, seed=3)
    h = h + 0.1 * tf.random_normal(tf.shape(h), seed=5) + tf.truncated_normal([8], seed=6)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, tf.layers.dense(h, 3))
    return loss, tf.train.AdamOptimizer(0.05).minimize(loss)


def fed(config: Any) -> tuple[Any, list[Any]]:
    """Twelve steps, each on its own batch."""
    x, labels = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.int64, [None])
    loss, step = classifier(x, labels)
    session = tf.Session(config=config)
    session.run(tf.global_variables_initializer())
    return session, [
        session.run([loss, step], {x: IMAGES[i : i + 5], labels: LABELS[i : i + 5]})[0]
        for i in range(0, 60, 5)
    ]


def of_a_dataset(config: Any) -> tuple[Any, list[Any]]:
    """Three passes over a data set whose last batch is smaller; the labels are fetched as well."""
    data = tf.data.Dataset.from_tensor_slices((IMAGES[:33], LABELS[:33])).batch(4)
    iterator = data.make_initializable_iterator()
    x, labels = iterator.get_next()
    loss, step = classifier(x, labels)
    session = tf.Session(config=config)
    session.run(tf.global_variables_initializer())
    results: list[list[Any]] = []
    ends: list[str] = []
    for _ in range(3):
        session.run(iterator.initializer)
        while True:
            try:
                value, _, seen = session.run([loss, step, labels])
            except tf.errors.OutOfRangeError as e:
                ends.append(str(e))
                break
            results.append([value, *seen])
    assert all("IteratorGetNext" in end and "built at" in end for end in ends)
    return session, [np.concatenate([r for r in results if len(r) == n]) for n in (5, 2)]


def of_a_queue(config: Any) -> tuple[Any, list[Any]]:
    queue = tf.FIFOQueue(100, [tf.float32, tf.int64], [[6], []])
    fill = queue.enqueue_many([IMAGES, LABELS])
    loss, step = classifier(*queue.dequeue_many(5))
    session = tf.Session(config=config)
    session.run(tf.global_variables_initializer())
    session.run(fill)
    return session, [session.run([loss, step])[0] for _ in range(12)]


def sampled(config: Any) -> tuple[Any, list[Any]]:
    """Word vectors by noise-contrastive estimation: the host draws the candidates."""
    words, context = tf.placeholder(tf.int32, [4]), tf.placeholder(tf.int64, [4, 1])
    vectors = tf.get_variable("v", initializer=np.linspace(-1, 1, 60, dtype="f").reshape(20, 3))
    weights = tf.get_variable("w", initializer=np.linspace(1, -1, 60, dtype="f").reshape(20, 3))
    draws = tf.random.log_uniform_candidate_sampler(context, 1, 5, True, 20, 7)
    found = tf.nn.embedding_lookup(vectors, words)
    loss = tf.reduce_mean(
        tf.nn.nce_loss(weights, tf.zeros([20]), context, found, 5, 20, sampled_values=draws)
    )
    step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    session = tf.Session(config=config)
    session.run(tf.global_variables_initializer())
    return session, [
        session.run([loss, step], {words: [1, 2, 3, i], context: [[4], [5], [i], [6]]})[0]
        for i in range(12)
    ]


def _recurrent(config: Any, unrolled: bool) -> tuple[Any, list[Any]]:
    """A recurrent network of two layers with dropout between them, whose batches have two lengths."""
    x, labels = tf.placeholder(tf.float32, [None, None, 3]), tf.placeholder(tf.int64, [None])
    cells = [
        tf.nn.rnn_cell.DropoutWrapper(
            tf.nn.rnn_cell.BasicLSTMCell(4), output_keep_prob=0.7, seed=4
        ),
        tf.nn.rnn_cell.GRUCell(5),
    ]
    cell = tf.nn.rnn_cell.MultiRNNCell(cells)
    if unrolled:
        x.set_shape([None, 4, 3])
        last = tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32)[0][-1]
    else:
        last = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)[0][:, -1]
    loss = tf.losses.sparse_softmax_cross_entropy(labels, tf.layers.dense(last, 3))
    step = tf.train.AdamOptimizer(0.05).minimize(loss)
    session = tf.Session(config=config)
    session.run(tf.global_variables_initializer())
    lengths = [4] * 12 if unrolled else [4, 6] * 8
    series = [IMAGES.ravel()[i : i + 15 * n].reshape(5, n, 3) for i, n in enumerate(lengths)]
    return session, [session.run([loss, step], {x: a, labels: LABELS[:5]})[0] for a in series]


def recurrent(config: Any) -> tuple[Any, list[Any]]:
    return _recurrent(config, False)


def unrolled(config: Any) -> tuple[Any, list[Any]]:
    return _recurrent(config, True)


def normalized(config: Any) -> tuple[Any, list[Any]]:
    """Batch normalization and dropout that a fed truth value turns on and off."""
    x, labels = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.int64, [None])
    training = tf.placeholder(tf.bool, [])
    h = tf.layers.batch_normalization(tf.layers.dense(x, 8), training=training)
    h = tf.layers.dropout(tf.nn.relu(h), 0.3, training=training, seed=9)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, tf.layers.dense(h, 3))
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        step = tf.train.AdamOptimizer(0.05).minimize(loss)
    session = tf.Session(config=config)
    session.run(tf.global_variables_initializer())
    losses = []
    for i in range(0, 60, 5):
        feeds = {x: IMAGES[i : i + 5], labels: LABELS[i : i + 5]}
        losses.append(session.run([loss, step], {**feeds, training: True})[0])
        losses.append(session.run(loss, {**feeds, training: False}))
        losses.append(session.run(loss, {**feeds, training: i % 2 == 0}))
    return session, losses


#: How many graphs each of them has, where they are not one.
GRAPHS = {"of_a_dataset": 2, "recurrent": 2, "normalized": 3}


def run(build: Callable[[Any], tuple[Any, list[Any]]], config: Any) -> tuple[Any, list[Any]]:
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        return build(config)


def check_captured(build: Callable[[Any], tuple[Any, list[Any]]]) -> None:
    """Captured steps give what the same steps give launched one kernel after the other."""
    session, got = run(build, None)
    reasons = [p.cuda_graphs.reason for p in plans(session)]
    assert num_captured(session) == GRAPHS.get(build.__name__, 1), reasons
    plain, want = run(build, PLAIN)
    assert not plans(plain)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


BUILDS = {
    build.__name__: build
    for build in (fed, of_a_dataset, of_a_queue, sampled, recurrent, unrolled, normalized)
}


@pytest.mark.parametrize("name", BUILDS)
def test_captured_and_as_without(cuda_on_host: Any, name: str) -> None:
    check_captured(BUILDS[name])


def test_numbers_go_on_after_a_run_that_was_not_captured(cuda_on_host: Any) -> None:
    """A captured plan and a plan that is not draw from the node's one stream, in turn."""
    drawn = tf.random_uniform([3], seed=2)
    x = tf.placeholder(tf.float32, [3])
    with tf.Session() as session:
        values = []
        for _ in range(9):
            values += [session.run(drawn + x, {x: np.zeros(3)}), session.run(drawn)]
        assert num_captured(session) == 1
    with tf.Session(config=PLAIN) as plain:
        np.testing.assert_array_equal(values, [plain.run(drawn) for _ in range(18)])


def test_an_error_of_the_host_names_its_node_and_changes_nothing(cuda_on_host: Any) -> None:
    def positive(value: Any) -> Any:
        if value < 0:
            raise ValueError("a number below zero")
        return np.float32(value)

    x = tf.placeholder(tf.float32, [])
    v = tf.get_variable("v", initializer=np.zeros(3, np.float32))
    step = v.assign_add(tf.ones([3]) * tf.py_func(positive, [x], tf.float32, name="checked"))
    with tf.Session() as session:
        session.run(v.initializer)
        for _ in range(6):
            session.run(step, {x: 1})
        assert num_captured(session) == 1
        with pytest.raises(tf.errors.OpError, match="checked.*below zero(.|\n)*built at"):
            session.run(step, {x: -1})
        assert session.run(step, {x: 1}).tolist() == [7, 7, 7]


def test_what_the_host_does_after_the_gpu_is_not_done_before(cuda_on_host: Any) -> None:
    seen: list[float] = []
    v = tf.get_variable("v", initializer=np.zeros(3, np.float32))
    with tf.control_dependencies([v.assign_add(tf.ones([3]))]):
        said = tf.py_func(lambda: seen.append(1.0) or np.float32(2), [], tf.float32)
    with tf.Session() as session:
        session.run(v.initializer)
        for _ in range(6):
            assert session.run(tf.square(said * tf.ones([3]))).tolist() == [4, 4, 4]
        assert num_captured(session) == 0 and len(seen) == 6


def test_a_loop_that_depends_on_values_runs_each_time(cuda_on_host: Any) -> None:
    """How many rounds there are is fed, or computed on the GPU, or is how long a sentence is."""
    x, n = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.int32, [])
    counted = tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v * 2.0), [0, x])[1]
    grown = tf.while_loop(lambda v: tf.reduce_sum(v) < 50.0, lambda v: v * 2.0, [x])
    with tf.Session() as session:
        for rounds in (1, 2, 3, 0, 4, 5, 6, 7):
            found = session.run([counted, grown], {x: [1, 2], n: rounds})
            assert found[0].tolist() == [2**rounds, 2 ** (rounds + 1)]
            assert found[1].tolist() == [32, 64]
        assert num_captured(session) == 0
        sums = tf.nn.dynamic_rnn(
            tf.nn.rnn_cell.BasicRNNCell(2), tf.ones([1, 5, 2]), tf.reshape(n, [1]), dtype=tf.float32
        )[0]
        session.run(tf.global_variables_initializer())
        for length in (1, 2, 5, 3, 4, 0, 2, 5):
            found = session.run(sums, {n: length})
            assert (found[0].any(-1) == (np.arange(5) < length)).all()


def test_nothing_of_a_loop_goes_to_and_fro(cuda_on_host: Any) -> None:
    """Its counters stay on the host, those that a gradient reads again, too."""
    session, _ = run(recurrent, None)
    (plan,) = plans(session)
    copied = [op.inputs[0].op.type for op in plan.compiled_ops if op.type == "_CopyToDevice"]
    assert copied == ["Placeholder", "Placeholder"]


def test_as_many_numbers_as_there_is_room_for() -> None:
    numbers = HostNumbers(pretend_module(0))
    assert numbers.next_ones() is None
    places = [numbers.place(lambda i=i: i) for i in range(MOST_NUMBERS)]
    with pytest.raises(RuntimeError, match="at most"):
        numbers.place(lambda: 0)
    found = numbers.next_ones()
    assert found is not None and found[1].tolist() == list(range(MOST_NUMBERS))
    assert found[0].shape == (MOST_NUMBERS,) and places[7].shape == (1,)
