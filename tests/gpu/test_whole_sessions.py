"""What a learner does with a GPU: several sessions, errors, interrupts, half precision.

On a pretend GPU here; `test_on_hardware` does the same on a real one.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.fake_gpu import PretendArray
from dataflow.kernels.xp import array_module, pretend_gpus
from tests.benchmarks.gpu import transformer_block

ON_CPU = tf.ConfigProto(device_count={"GPU": 0})


@pytest.fixture(autouse=True)
def one_pretend_gpu() -> Iterator[None]:
    with pretend_gpus(1), tf.Graph().as_default():
        yield


def check_two_sessions() -> None:
    """Two sessions train at the same time, each with its own variables, as they do on the CPU."""

    def train(seed: int, config: Any, results: dict[int, Any]) -> None:
        rng = np.random.RandomState(seed)
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [8, 5])
            w = tf.get_variable("w", initializer=rng.randn(5, 3).astype(np.float32))
            loss = tf.reduce_sum(tf.square(tf.tanh(tf.matmul(x, w)) - 0.5))
            step = tf.train.AdamOptimizer(0.1).minimize(loss)
            with tf.Session(config=config) as session:
                session.run(tf.global_variables_initializer())
                batches = rng.randn(30, 8, 5)
                results[seed] = [session.run([loss, step], {x: b})[0] for b in batches]

    found: dict[int, Any] = {}
    threads = [threading.Thread(target=train, args=(seed, None, found)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    for seed in (1, 2):
        want: dict[int, Any] = {}
        train(seed, ON_CPU, want)
        np.testing.assert_allclose(found[seed], want[seed], rtol=1e-3)


def test_two_sessions_at_once() -> None:
    check_two_sessions()


def check_error_names_its_node() -> None:
    """The session says which node failed and of what shapes, and goes on afterwards."""
    x = tf.placeholder(tf.float32, [None, None], name="x")
    y = tf.matmul(x, x, name="product")
    with tf.Session() as session:
        for _ in range(6):
            assert session.run(y, {x: np.eye(3)}).tolist() == np.eye(3).tolist()
            with pytest.raises(tf.errors.InvalidArgumentError, match="'product'"):
                session.run(y, {x: np.ones((2, 3))})


def test_an_error_in_a_kernel_names_its_node() -> None:
    check_error_names_its_node()


def check_interrupt() -> None:
    """A cell that is interrupted ends, and the session can be used again."""
    x = tf.constant(np.eye(64, dtype=np.float32))
    loop = tf.while_loop(
        lambda i, a: i < 10_000_000, lambda i, a: (i + 1, tf.matmul(a, x)), [tf.constant(0), x]
    )[1]
    with tf.Session() as session:
        timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            session.run(loop)
        assert time.monotonic() - began < 60
        assert session.run(tf.reduce_sum(x)) == 64


def test_an_interrupt_ends_a_run() -> None:
    check_interrupt()


def check_feeds() -> None:
    """A graph is fed with arrays of the host and of the GPU."""
    x = tf.placeholder(tf.float32, [3])
    values = np.arange(3, dtype=np.float32)
    with tf.Session() as session:
        for fed in (values, array_module("gpu:0").asarray(values), values.tolist()):
            assert session.run(x * 2.0, {x: fed}).tolist() == [0, 2, 4]
        with pytest.raises(ValueError, match=r"shape \(4,\)"):
            session.run(x * 2.0, {x: array_module("gpu:0").zeros(4, np.float32)})


def test_arrays_of_a_gpu_can_be_fed() -> None:
    check_feeds()


def check_feeds_stay() -> None:
    """What is fed from the GPU stays there, captured or not, and is not changed by the run."""
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.reduce_sum(tf.nn.relu(x - 1.0) * 2.0, 1)
    xp = array_module("gpu:0")
    with tf.Session() as session:
        for i in range(8):
            fed = xp.asarray(np.arange(3 * (2 + i // 6), dtype=np.float32).reshape(-1, 3) + i)
            before = fed.get()
            want = (np.maximum(before - 1, 0) * 2).sum(1)
            assert session.run(y, {x: fed}).tolist() == want.tolist()
            assert session.run(y, {x: before}).tolist() == want.tolist()  # of the host again
            assert fed.get().tolist() == before.tolist()
            other = fed.astype(np.float64)  # brought to the placeholder's dtype on the GPU
            assert session.run(y, {x: other}).tolist() == want.tolist()
        with tf.device("/cpu:0"):
            on_host = x * 2.0  # the host reads it, too
        for _ in range(6):
            a, b, c = session.run([y, on_host, x], {x: fed})
            assert a.tolist() == want.tolist() and type(c) is np.ndarray
            assert b.tolist() == (2 * before).tolist() and c.tolist() == before.tolist()


def test_arrays_of_a_gpu_stay_there() -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.reduce_sum(x * 2.0)
    fed = array_module("gpu:0").asarray(np.ones((4, 3), np.float32))
    with tf.Session() as session:
        session.run(y, {x: fed})
        before = PretendArray.num_synchronizations
        assert session.run(y, {x: fed}) == 24
        assert PretendArray.num_synchronizations == before + 1  # for what is fetched


def test_what_is_fed_from_a_gpu_is_computed_there() -> None:
    check_feeds_stay()


def train_in_halves(config: Any, scale: float = 128.0) -> list[float]:
    """Losses of a transformer block that computes in halves.

    Its variables stay in single precision; the loss is scaled up, and the gradients down, so that
    none of them is too small for a half.
    """

    def as_halves(getter: Any, *args: Any, dtype: Any = None, **kwargs: Any) -> Any:
        return tf.cast(getter(*args, dtype=tf.float32, **kwargs), tf.float16)

    with tf.Graph().as_default():
        tf.set_random_seed(3)
        x = tf.placeholder(tf.float16, [4, 6, 8])
        with tf.variable_scope("block", custom_getter=as_halves):
            y = transformer_block(x, 2)
        loss = tf.reduce_mean(tf.square(tf.cast(y, tf.float32) - 0.3))
        optimizer = tf.train.GradientDescentOptimizer(0.05)
        pairs = optimizer.compute_gradients(loss * scale)
        step = optimizer.apply_gradients([(g / scale, v) for g, v in pairs])
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            values = np.random.RandomState(0).randn(4, 6, 8)
            return [session.run([loss, step], {x: values})[0] for _ in range(12)]


def check_halves() -> None:
    """Training in halves goes as on the CPU, to their precision."""
    losses = train_in_halves(None)
    assert np.isfinite(losses).all() and losses[-1] < 0.95 * losses[0]
    np.testing.assert_allclose(losses, train_in_halves(ON_CPU), rtol=2e-2)


def test_a_transformer_block_trains_in_halves() -> None:
    check_halves()
