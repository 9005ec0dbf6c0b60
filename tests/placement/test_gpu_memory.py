"""A GPU's memory used up: who asked, who holds it, and that the session can go on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.fake_gpu import memories
from dataflow.kernels.xp import pretend_gpus
from dataflow.runtime.stepper import record


@pytest.fixture(autouse=True)
def small_gpu() -> Iterator[Any]:
    """A GPU with 400,000 bytes."""
    with pretend_gpus(1, memory_bytes=400_000), tf.Graph().as_default() as graph:
        yield graph


def layers() -> tuple[Any, Any, Any]:
    """A variable of 40,000 bytes, and a product of it with as many rows as are fed."""
    w = tf.get_variable("w", initializer=np.ones((100, 100), np.float32))
    x = tf.placeholder(tf.float32, [None, 100], name="x")
    h = tf.sigmoid(tf.matmul(x, w, name="first"), name="h")
    return w, x, tf.matmul(h, w, name="second")


LARGE, SMALL = np.ones((350, 100), np.float32), np.ones((10, 100), np.float32)


def test_what_a_failed_run_held_is_free_while_its_error_is_kept() -> None:
    """A notebook keeps the last error, and with it all that its frames refer to."""
    w, x, y = layers()
    with tf.Session() as session:
        session.run(w.initializer)
        before = memories[0].used_bytes
        with pytest.raises(tf.errors.ResourceExhaustedError) as e:
            session.run(y, {x: LARGE})
        for part in (
            "140,000 bytes",
            "limit set to: 400,000",
            "'w' 0.0 MB",
            "now of shape (350, 100)",
        ):
            assert part in str(e.value)
        assert e.value.__cause__ is not None and e.value.__cause__.__traceback__ is not None
        assert memories[0].used_bytes == before
        assert session.run(y, {x: SMALL}).shape == (10, 100)


def test_a_recorded_run_says_the_same() -> None:
    w, x, y = layers()
    with tf.Session() as session:
        session.run(w.initializer)
        before = memories[0].used_bytes
        with pytest.raises(tf.errors.ResourceExhaustedError, match="no memory left.*") as e:
            record(session, y, {x: LARGE})
        assert "held by 'w'" in str(e.value)
        assert memories[0].used_bytes == before


def test_cuda_graphs_are_among_the_holders_and_let_go() -> None:
    w, x, y = layers()
    rows = np.ones((60, 100), np.float32)
    with tf.Session() as session:
        session.run(w.initializer)
        before = memories[0].used_bytes
        for _ in range(10):
            expected = session.run(y, {x: rows})
        (plan,) = [p for p in session._plans.values() if p.cuda_graphs is not None]
        assert plan.cuda_graphs._graphs
        # Its feeds, both products and what comes between them.
        with pytest.raises(tf.errors.ResourceExhaustedError) as e:
            session.run(tf.tile(w, [9, 1]))
        assert "'CUDA graph of second:0' 0.1 MB, 'w' 0.0 MB" in str(e.value)
        assert "memory was used up" in plan.cuda_graphs.reason
        np.testing.assert_array_equal(session.run(y, {x: rows}), expected)
        assert memories[0].used_bytes == before


def test_no_memory_for_a_graph_is_no_error() -> None:
    """A graph wants buffers of its own beside those of the plain run."""
    w, x, y = layers()
    rows = np.ones((200, 100), np.float32)
    with tf.Session() as session:
        session.run(w.initializer)
        expected = session.run(y, {x: rows})
        for _ in range(10):
            np.testing.assert_array_equal(session.run(y, {x: rows}), expected)


@pytest.mark.parametrize(("fraction", "fits"), [(0.0, True), (1.0, True), (0.5, False)])
def test_a_fraction_of_the_memory(fraction: float, fits: bool) -> None:
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.square(x, name="y")
    options = tf.GPUOptions(per_process_gpu_memory_fraction=fraction, allow_growth=True)
    with tf.Session(config=tf.ConfigProto(gpu_options=options)) as session:
        if fits:
            assert session.run(y, {x: np.ones(40_000)}).size == 40_000
        else:
            with pytest.raises(tf.errors.ResourceExhaustedError, match="limit set to: 200,000"):
                session.run(y, {x: np.ones(40_000)})
    options = tf.GPUOptions(per_process_gpu_memory_fraction=-0.5)
    with pytest.raises(ValueError, match="must not be negative"):
        tf.Session(config=tf.ConfigProto(gpu_options=options))


def test_a_task_says_it_too() -> None:
    server = tf.train.Server.create_local_server()
    try:
        w, x, y = layers()
        with tf.Session(server.target) as session:
            session.run(w.initializer)
            with pytest.raises(tf.errors.ResourceExhaustedError, match="held by 'w'"):
                session.run(y, {x: LARGE})
            assert session.run(y, {x: SMALL}).shape == (10, 100)
    finally:
        server.stop()
