"""Subnormal numbers count as zero in every thread that computes for a run, and nowhere else."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels import parallel
from dataflow.kernels.jit import compiler, thread_pool
from dataflow.kernels.jit.step_codegen import Loop
from dataflow.kernels.subnormals import IS_AVAILABLE, begin_flushing, end_flushing
from dataflow.runtime.stepper import record

pytestmark = pytest.mark.skipif(not IS_AVAILABLE, reason="this platform's fenv_t is not known")

SMALL = np.full(1 << 21, 1e-30, np.float32)
#: Times which a chain of ops is run: NumPy first, then rewritten, then machine code where there is some.
RUNS = 45


def makes_subnormals() -> bool:
    """Whether this thread computes as a program does that knows nothing of us."""
    return bool((SMALL[:16] * np.float32(1e-10)).any())


@pytest.fixture(autouse=True)
def as_outside() -> Any:
    assert makes_subnormals()
    yield
    assert makes_subnormals(), "the caller's setting came back"


def product(x: Any) -> Any:
    return tf.tanh(x * 1e-10) + x * x


@pytest.mark.parametrize("count", [3, SMALL.size], ids=["small", "shared by threads"])
def test_a_chain_in_every_run(count: int) -> None:
    x = tf.placeholder(tf.float32, [None])
    y = product(x)
    with tf.Session() as session:
        for _ in range(RUNS if count == 3 else 6):
            assert not session.run(y, {x: SMALL[:count]}).any()
            assert makes_subnormals()


def test_the_constants_of_a_graph() -> None:
    y = tf.constant(SMALL[:4]) * tf.constant(1e-10) + tf.placeholder_with_default(0.0, [])
    with tf.Session() as session:
        assert not any(session.run(y).any() for _ in range(5))


def test_a_callers_own_setting_comes_back() -> None:
    x = tf.placeholder(tf.float32, [None])
    before = begin_flushing()
    try:
        with tf.Session() as session:
            session.run(x * 2.0, {x: SMALL[:3]})
        assert not makes_subnormals()
    finally:
        end_flushing(before)


def test_after_an_error() -> None:
    x = tf.placeholder(tf.float32, [None])
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(tf.check_numerics(x, "here"), {x: [np.nan]})


def test_a_python_function_computes_as_outside() -> None:
    seen: list[bool] = []

    def function(x: Any) -> Any:
        seen.append(makes_subnormals())
        return x

    x = tf.placeholder(tf.float32, [None])
    y = tf.py_func(function, [x * 1e-10], tf.float32)
    with tf.Session() as session:
        assert not session.run(y * 1.5, {x: SMALL[:3]}).any()
    assert seen == [True]


def test_traced_steps() -> None:
    x = tf.placeholder(tf.float32, [None])
    with tf.Session() as session:
        assert not record(session, product(x), {x: SMALL[:3]}).result.any()


def test_functions_of_data_sets_in_threads() -> None:
    data = tf.data.Dataset.from_tensor_slices(SMALL[:64].reshape(8, 8))
    data = data.map(product, num_parallel_calls=2).prefetch(2)
    element = data.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert not any(session.run(element).any() for _ in range(8))


@pytest.mark.threads
def test_lines_that_go_on_while_an_op_waits() -> None:
    """They run in a thread of their own."""
    x = tf.placeholder(tf.float32, [None])
    done = threading.Event()

    def note(value: Any) -> Any:
        done.set()
        return value

    def wait(value: Any) -> Any:
        assert done.wait(60)
        return value

    waited = tf.py_func(wait, [x], tf.float32)
    noted = tf.py_func(note, [product(x)], tf.float32)
    with tf.Session() as session:
        assert not session.run([waited, noted], {x: SMALL[:3]})[1].any()


def until(found: Callable[[], bool]) -> None:
    """Tries again until another thread was there in time."""
    end = time.monotonic() + 60
    while not found():
        assert time.monotonic() < end, "no other thread takes part"


@pytest.mark.threads
def test_a_helper() -> None:
    here = threading.get_ident()

    def look() -> tuple[int, bool]:
        return threading.get_ident(), makes_subnormals()

    def found() -> bool:
        future = parallel.Future(look)
        time.sleep(0.001)
        thread, makes = future()
        assert makes is (thread == here)
        return bool(thread != here)

    until(found)


def test_a_member_of_the_team() -> None:
    """This thread, which takes part, makes subnormal numbers; the member makes zeros."""
    pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")
    try:
        team = thread_pool.Team(1)
    except ImportError as e:
        pytest.skip(str(e))
    loop = Loop("float32", "vv", (("Mul", (0, 1)),), ((2, "v"),))
    function = compiler.compile_loop(loop)
    x, factor, out = (
        SMALL[:4096],
        np.full(4096, 1e-10, np.float32),
        np.empty((64, 4096), np.float32),
    )
    tables = [function.table(x.size, *map(compiler.address_of, (x, factor, row))) for row in out]

    def found() -> bool:
        out[...] = 1.0
        team.run([(function.address, table) for table in tables], 1, 1)
        assert (out < 1e-39).all()
        return not bool(out.any(axis=1).all())

    try:
        until(found)
    finally:
        team.stop()


def test_a_training_keeps_no_subnormal_numbers() -> None:
    w = tf.get_variable("w", [64], initializer=tf.zeros_initializer())
    x = tf.placeholder(tf.float32, [64])
    optimizer = tf.train.AdamOptimizer(1e-3)
    train = optimizer.minimize(tf.reduce_sum(w * x))
    moments = [optimizer.get_slot(w, name) for name in ("m", "v")]
    rng = np.random.RandomState(0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for scale in (1e-18, *[0.0] * 1500):
            session.run(train, {x: rng.standard_normal(64).astype(np.float32) * np.float32(scale)})
        for moment in session.run(moments):
            assert not ((moment != 0) & (np.abs(moment) < np.finfo(np.float32).tiny)).any()
