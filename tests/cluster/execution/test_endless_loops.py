"""A loop that never ends, in a cluster: its step's time-out and its session's end end it."""

import sys
import threading

import numpy as np
import pytest

import dataflow as tf
from tests.cluster.management.test_deaths import result_of

pytestmark = pytest.mark.usefixtures("no_gpus")

HERE, THERE = "/job:worker/task:0", "/job:ps/task:0"


def loop(end):
    return tf.while_loop(lambda i: i < end, lambda i: i + 1, [tf.constant(0)])


def endless():
    return tf.while_loop(lambda i: i >= 0, lambda i: tf.minimum(i + 1, 5), [tf.constant(0)])


def ended(run, error):
    return isinstance(result_of(run, 25), error)


def busy():
    """Whether any thread still runs a plan's loop."""
    for frame in sys._current_frames().values():
        while frame is not None:
            if frame.f_code.co_filename.startswith("<dataflow plan"):
                return True
            frame = frame.f_back
    return False


@pytest.mark.parametrize("where", [HERE, THERE])
def test_a_time_out_ends_it_and_the_session_goes_on(cluster, where, eventually):
    with tf.device(where):
        forever, short = endless(), loop(9)
        w = tf.Variable(np.float32(0))
        step = tf.assign_add(w, tf.cast(short, tf.float32))
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(w.initializer)
        for number in range(1, 5):
            limit = tf.RunOptions(timeout_in_ms=300)
            assert ended(
                lambda o=limit: session.run(forever, options=o), tf.errors.DeadlineExceededError
            )
            assert session.run(step) == 9.0 * number
    eventually(lambda: not busy())


@pytest.mark.parametrize("then", [HERE, THERE])
@pytest.mark.parametrize("where", [HERE, THERE])
def test_closing_the_session_ends_it(cluster, where, then, eventually):
    with tf.device(where):
        forever = endless()
    with tf.device(then):
        forever = forever + 1
    session = tf.Session(cluster["worker:0"].target)
    threading.Timer(0.3, session.close).start()
    assert ended(lambda: session.run(forever), tf.errors.CancelledError)
    eventually(lambda: not busy())


def test_the_failure_of_another_op_ends_it(cluster, eventually):
    x = tf.placeholder(tf.float32, [])
    with tf.device(HERE):
        fails = tf.check_numerics(x, "not a number")
    with tf.device(THERE):
        forever = endless()
    with tf.Session(cluster["worker:0"].target) as session:
        error = tf.errors.InvalidArgumentError
        assert ended(lambda: session.run([forever, fails], {x: np.nan}), error)
        eventually(lambda: not busy())
