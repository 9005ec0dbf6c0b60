"""When the reads that came along with a step's end may begin the next one."""

from types import SimpleNamespace

import pytest

import dataflow as tf
from dataflow.cluster.execution import prefetch


@pytest.fixture
def clock(monkeypatch):
    """The time that `prefetch` sees, in seconds."""
    time = SimpleNamespace(now=100.0)
    monkeypatch.setattr(prefetch.time, "monotonic", lambda: time.now)
    return time


@pytest.mark.parametrize(("age", "is_used"), [(0.0, True), (0.9, True), (1.1, False), (50, False)])
def test_reads_are_used_up_to_their_age(clock, age, is_used):
    connection, step, reads = SimpleNamespace(ahead=None), object(), [1.0]
    prefetch.keep_reads(connection, step, 7, reads)
    clock.now += age * prefetch.PREFETCH_SECONDS
    assert prefetch.take_reads(connection, step, 8) == (reads if is_used else None)
    assert connection.ahead is None, "they are used once"


def test_the_bound_is_half_a_millisecond():
    # What the docstring promises to processes that order their steps by other means.
    assert prefetch.PREFETCH_SECONDS == 0.0005


@pytest.mark.parametrize("count", [7, 9])
def test_reads_of_another_run_are_not_used(clock, count):
    connection, step = SimpleNamespace(ahead=None), object()
    prefetch.keep_reads(connection, step, 7, [1.0])
    assert prefetch.take_reads(connection, step, count) is None


def test_reads_of_another_step_are_not_used(clock):
    connection = SimpleNamespace(ahead=None)
    prefetch.keep_reads(connection, object(), 7, [1.0])
    assert prefetch.take_reads(connection, object(), 8) is None


def test_what_is_fed_there_keeps_the_reads_from_being_done_ahead(cluster):
    """The partition would begin before its feeds are known."""
    with tf.device("/job:ps/task:0"):
        w = tf.get_variable("w", initializer=1.0)
        rate = tf.placeholder(tf.float32, [])
    with tf.device("/job:worker/task:0"):
        gradient = tf.multiply(w, 1.0)
    with tf.device("/job:ps/task:0"):
        steps = [tf.assign_add(w, gradient).op, tf.assign_add(w, rate * gradient).op]
    with tf.Session(cluster["worker:0"].target) as session:
        master = session.remote.backend.master
        (remote,) = master.prepare([], [steps[0]], []).remotes
        assert remote.prefetch_channels is not None
        (remote,) = master.prepare([], [steps[1]], [rate]).remotes
        assert remote.prefetch_channels is None
