"""Plans captured once and replayed: on a pretend GPU that records what a stream would capture."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.xp import pretend_gpus
from dataflow.runtime import cuda_graph

ON_CPU = tf.ConfigProto(device_count={"GPU": 0})
PLAIN = tf.ConfigProto(gpu_options=tf.GPUOptions(use_cuda_graphs=False))


@pytest.fixture(autouse=True)
def one_gpu() -> Iterator[None]:
    with pretend_gpus(1), tf.Graph().as_default():
        yield


def plans(session: Any) -> list[Any]:
    return [p for p in session._plans.values() if p.cuda_graphs is not None]


def num_captured(session: Any) -> int:
    return sum(
        not isinstance(g, int) for p in plans(session) for g in p.cuda_graphs._graphs.values()
    )


def regression() -> tuple[Any, ...]:
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    t = tf.placeholder(tf.float32, [None, 1], name="t")
    w = tf.get_variable("w", initializer=np.float32([[0.1], [0.2], [0.3], [0.4]]))
    b = tf.get_variable("b", initializer=np.zeros(1, np.float32))
    h = tf.layers.dense(
        tf.matmul(x, w) + b, 5, tf.nn.relu, kernel_initializer=tf.ones_initializer()
    )
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(h, 1, keepdims=True) - t))
    return x, t, w, loss, tf.train.AdamOptimizer(0.05).minimize(loss)


def batches(count: int, size: int = 8) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.RandomState(1)
    xs = [rng.rand(size, 4).astype(np.float32) for _ in range(count)]
    return [(x, x.sum(1, keepdims=True) * 2) for x in xs]


def train(config: Any, count: int = 12) -> tuple[list[float], np.ndarray, Any]:
    with tf.Graph().as_default():
        x, t, w, loss, step = regression()
        session = tf.Session(config=config)
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, step], {x: a, t: b})[0] for a, b in batches(count)]
        return losses, session.run(w), session


def test_replayed_training_is_training() -> None:
    losses, w, session = train(None)
    assert num_captured(session) == 1
    expected, expected_w, plain = train(PLAIN)
    assert not plans(plain)
    np.testing.assert_array_equal(losses, expected)
    np.testing.assert_array_equal(w, expected_w)
    assert losses[-1] < losses[0] / 2
    np.testing.assert_allclose(losses, train(ON_CPU)[0], rtol=1e-4)


def test_a_classifier_with_class_numbers_is_captured() -> None:
    """What `tf.losses` and one-hot codes are made of does not make the host wait."""
    x = tf.placeholder(tf.float32, [None, 4])
    labels = tf.placeholder(tf.int64, [None])
    logits = tf.layers.dense(x, 3)
    codes = tf.losses.softmax_cross_entropy(tf.one_hot(labels, 3), logits)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits) + codes
    step = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    rng = np.random.RandomState(0)
    feeds = {x: rng.rand(8, 4), labels: rng.randint(0, 3, 8)}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, step], feeds)[0] for _ in range(10)]
        assert num_captured(session) == 1
        assert losses[-1] < losses[0]
        bad = session.run(loss, {**feeds, labels: [0, 1, 2, 3, 0, 1, 2, 0]})
    assert np.isnan(bad)  # a GPU does not look at labels; the CPU names the bad one


def test_other_shapes_have_their_own_graph() -> None:
    x, t, _, loss, _ = regression()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        seen = {}
        for size in (3, 5) * 8:
            (a, b) = batches(1, size)[0]
            seen[size] = session.run(loss, {x: a, t: b})
        assert num_captured(session) == 2
        for size in (3, 5):
            (a, b) = batches(1, size)[0]
            assert session.run(loss, {x: a, t: b}) == seen[size]


def test_shapes_that_never_repeat_are_not_captured() -> None:
    x, t, _, loss, _ = regression()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for size in (1, 2, 3, 4, 5, 6, 7) * 8:
            (a, b) = batches(1, size)[0]
            session.run(loss, {x: a, t: b})
        (plan,) = plans(session)
        assert "change too often" in plan.cuda_graphs.reason


def test_a_variable_with_a_new_buffer_is_captured_again() -> None:
    x, t, w, loss, step = regression()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        data = batches(1)[0]
        feeds = dict(zip((x, t), data, strict=True))
        for _ in range(8):
            session.run([loss, step], feeds)
        assert num_captured(session) == 1
        resource = session.resources.variable("", "w", tf.float32)
        resource.array = resource.array.copy()  # another buffer with the same numbers
        before = session.run(w)
        session.run([loss, step], feeds)
        assert num_captured(session) == 0
        session.run([loss, step], feeds)
        graph = next(iter(plans(session)[0].cuda_graphs._graphs.values()))
        session.run([loss, step], feeds)
        assert next(iter(plans(session)[0].cuda_graphs._graphs.values())) is graph  # kept
        assert (session.run(w) != before).any()


def test_loading_a_value_is_seen_by_the_next_replay() -> None:
    x, t, w, loss, _ = regression()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        feeds = dict(zip((x, t), batches(1)[0], strict=True))
        values = [session.run(loss, feeds) for _ in range(8)]
        w.load(np.ones((4, 1), np.float32), session)
        changed = session.run(loss, feeds)
        assert len(set(values)) == 1 and changed != values[0]
        with tf.Session(config=PLAIN) as plain:
            plain.run(tf.global_variables_initializer())
            w.load(np.ones((4, 1), np.float32), plain)
            # Its first run, before sums are joined with what is around them: another order.
            assert plain.run(loss, feeds) == pytest.approx(changed, rel=1e-6)


def test_a_fed_number_is_no_vector() -> None:
    """CuPy's arrays take values of their own shape only, also where that has no dimensions."""
    rate = tf.placeholder(tf.float32, [])
    v = tf.get_variable("v", initializer=np.zeros(3, np.float32))
    step = tf.train.GradientDescentOptimizer(rate).minimize(tf.reduce_sum(v))
    with tf.Session() as session:
        session.run(v.initializer)
        for number in range(8):
            session.run(step, {rate: number})
        assert num_captured(session) == 1
        assert session.run(v).tolist() == [-28, -28, -28]


def test_results_are_the_callers() -> None:
    x = tf.placeholder(tf.float32, [2])
    y = tf.square(x) + 1.0
    with tf.Session() as session:
        results = [session.run(y, {x: [i, i]}) for i in range(9)]
        assert num_captured(session) == 1
        results[-1][:] = -1
        assert [r[0] for r in results[:-1]] == [i * i + 1 for i in range(8)]
        assert session.run(y, {x: [3, 3]}).tolist() == [10, 10]


@pytest.mark.parametrize("kind", ["random", "loop", "text", "host", "waits"])
def test_what_cannot_be_captured_runs_as_usual(kind: str) -> None:
    x = tf.placeholder(tf.float32, [4])
    v = tf.get_variable("v", initializer=np.zeros((4, 2), np.float32))
    y = {
        "random": lambda: x + tf.random_uniform([4]),
        "loop": lambda: tf.while_loop(lambda a: tf.reduce_sum(a) < 50.0, lambda a: a * 2.0, [x]),
        "text": lambda: tf.as_string(x),
        "host": lambda: tf.reshape(x, [tf.cast(tf.reduce_sum(x) * 0.0, tf.int32) + 2, 2]),
        "waits": lambda: tf.scatter_add(v, tf.argsort(x), tf.ones([4, 2])),
    }[kind]()
    with tf.Session() as session:
        session.run(v.initializer)
        for _ in range(10):
            session.run(y, {x: np.float32([3, 1, 2, 0])})
        assert num_captured(session) == 0
        if kind == "waits":
            assert (session.run(v) == 10).all()
            reasons = [p.cuda_graphs.reason for p in plans(session) if p.cuda_graphs.reason]
            assert not reasons or "capturing" in reasons[0]


def test_threads_share_a_plan() -> None:
    x = tf.placeholder(tf.float32, [64])
    y = tf.square(x) * 2.0
    wrong: list[Any] = []
    with tf.Session() as session:
        for _ in range(8):
            session.run(y, {x: np.zeros(64)})
        assert num_captured(session) == 1

        def work(number: int) -> None:
            for _ in range(50):
                result = session.run(y, {x: np.full(64, number)})
                if not (result == 2 * number * number).all():
                    wrong.append(result)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert not wrong


def test_uninitialized_variables_are_named() -> None:
    v = tf.get_variable("v", initializer=np.zeros(2, np.float32))
    y = v + 1.0
    with tf.Session() as session:
        for _ in range(16):
            with pytest.raises(tf.errors.FailedPreconditionError, match="v"):
                session.run(y)
        session.run(v.initializer)
        for _ in range(4):
            assert session.run(y).tolist() == [1, 1]
        assert num_captured(session) == 1


class PretendOutOfMemoryError(Exception):
    """As the pretend GPU's own."""


@pytest.mark.parametrize("error", [PretendOutOfMemoryError("2 GB"), ValueError("else")])
def test_without_memory_for_a_graph_a_plan_runs_as_usual(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(cuda_graph._Graph, "capture", fail)
    x = tf.placeholder(tf.float32, [2])
    y = tf.square(x)
    with tf.Session() as session:

        def run() -> None:
            for _ in range(12):
                assert session.run(y, {x: [1, 2]}).tolist() == [1, 4]

        if isinstance(error, ValueError):
            with pytest.raises(ValueError, match="else"):
                run()
            return
        run()
        (plan,) = plans(session)
        assert plan.cuda_graphs.reason == "no memory for a second set of buffers: 2 GB"


def test_an_assignment_of_any_shape_is_captured() -> None:
    x = tf.placeholder(tf.float32, [2])
    v = tf.get_variable("v", initializer=np.zeros(2, np.float32))
    step = tf.assign(v, tf.square(x), validate_shape=False)
    with tf.Session() as session:
        session.run(v.initializer)
        for i in range(12):
            assert session.run(step, {x: [i, 1]}).tolist() == [i * i, 1]
        assert num_captured(session) == 1 and session.run(v).tolist() == [121, 1]


def test_graphs_let_go_of_their_memory_when_nobody_uses_them() -> None:
    x = tf.placeholder(tf.float32, [2])
    y = tf.square(x)
    with tf.Session() as session:
        for _ in range(12):
            session.run(y, {x: [1, 2]})
        (plan,) = plans(session)
        graphs = plan.cuda_graphs
        with graphs._lock:  # another thread launches one
            assert graphs.let_go() == 0
            assert graphs.run([np.zeros(2, np.float32)]) is None
            assert session.run(y, {x: [2, 3]}).tolist() == [4, 9]
        assert num_captured(session) == 1 and graphs.reason == ""
        assert graphs.let_go() > 0 and num_captured(session) == 0
        assert graphs.reason == "the GPU's memory was used up" and graphs.let_go() == 0
        for _ in range(6):
            assert session.run(y, {x: [2, 3]}).tolist() == [4, 9]
        assert num_captured(session) == 0
