"""Links that are cut, delayed and mended: what is held back, what is late, what is told."""

import threading
import time

import numpy as np
import pytest

import dataflow as tf
from dataflow.cluster.transport import sockets

pytestmark = [pytest.mark.usefixtures("no_gpus"), pytest.mark.threads]
PATIENCE_SECONDS = 60


@pytest.fixture
def launched():
    with tf.cluster.launch(ps=1, workers=2, backend="threads", restart=False, logs=False) as made:
        yield made


@pytest.fixture
def large():
    """A value on the parameter server, larger than what goes through shared memory, and its sum."""
    with tf.device("/job:ps/task:0"):
        table = tf.Variable(np.ones((128, 128), np.float32), name="table")
    with tf.device("/job:worker/task:0"):
        return table, tf.reduce_sum(table)


def begin(session, fetch):
    """Run in a thread; returns a dictionary that holds the outcome once there is one."""
    found = {}

    def run():
        try:
            found["value"] = session.run(fetch)
        except tf.errors.OpError as error:
            found["error"] = error
        done.set()

    done = threading.Event()
    threading.Thread(target=run, daemon=True).start()
    return found, done


def test_what_is_sent_over_a_cut_link_arrives_once_it_is_mended(launched, large, eventually):
    table, total = large
    with tf.Session(launched.target) as session:
        session.run(table.initializer)
        for _ in range(3):
            assert session.run(total) == 128 * 128
        launched.cut("ps:0")
        found, done = begin(session, total)
        assert not done.wait(0.3), found
        # The owner still reaches it, and the table says so.
        row = launched.status()[0]
        assert (row["state"], row["is_cut"], row["variables"]) == ("running", True, 1)
        assert not launched.status()[1]["is_cut"]
        launched.mend("ps:0")
        assert done.wait(PATIENCE_SECONDS) and found == {"value": 128 * 128}
        for _ in range(3):
            assert session.run(total) == 128 * 128
    assert [event.kind for event in launched.events] == ["cut", "mended"]
    eventually(lambda: not any("link to" in thread.name for thread in threading.enumerate()))


def test_the_other_worker_goes_on_beside_a_cut_one(launched):
    with tf.device("/job:ps/task:0"):
        count = tf.Variable(0, name="count")
    more = count.assign_add(1)
    sessions = [tf.Session(launched.targets[f"/job:worker/task:{i}"]) for i in range(2)]
    with sessions[0] as one, sessions[1] as two:
        one.run(count.initializer)
        one.run(more.op)
        two.run(more.op)
        launched.cut("worker:1")
        _, done = begin(two, more.op)
        for _ in range(20):
            one.run(more.op)
        assert not done.is_set()
        assert one.run(count) == 22
        launched.mend("worker:1")
        assert done.wait(PATIENCE_SECONDS)
        assert one.run(count) == 23


def test_a_delay_is_that_of_each_message_either_way(launched, large):
    table, total = large
    with tf.Session(launched.target) as session:
        session.run(table.initializer)
        session.run(total)
        launched.delay("worker:0", 0.1)
        started = time.monotonic()
        assert session.run(total) == 128 * 128
        assert time.monotonic() - started >= 0.2, "there and back"
        assert launched.status()[1]["link_delay_seconds"] == 0.1
        launched.delay("worker:0", 0)
        assert launched.status()[1]["link_delay_seconds"] == 0.0
        assert session.run(total) == 128 * 128
    assert [event.why for event in launched.events] == ["0.1 s a message", "0 s a message"]


def test_a_link_that_stays_cut_is_given_up(launched, large, monkeypatch):
    table, total = large
    with tf.Session(launched.target) as session:
        session.run(table.initializer)
        session.run(total)
        with monkeypatch.context() as impatient:
            impatient.setattr(sockets, "SILENCE_SECONDS", 0.2)
            launched.cut("ps:0")
            found, done = begin(session, total)
            assert done.wait(PATIENCE_SECONDS)
            assert isinstance(found["error"], tf.errors.UnavailableError)
            # A new connection is not made over it, either.
            impatient.setattr("dataflow.cluster.transport.connection_pool.SILENCE_SECONDS", 0.2)
            with pytest.raises(tf.errors.UnavailableError, match="its link is cut"):
                session.run(total)
        launched.mend("ps:0")
        assert session.run(total) == 128 * 128


def test_a_task_that_is_started_again_is_still_cut_off(launched, large):
    table, total = large
    launched.cut("ps:0")
    launched.restart("ps:0")
    with tf.Session(launched.targets["/job:ps/task:0"]) as session:
        session.run(table.initializer)
        found, done = begin(session, total)
        assert not done.wait(0.3), found
        launched.mend("ps:0")
        assert done.wait(PATIENCE_SECONDS) and found == {"value": 128 * 128}


def test_what_makes_no_sense_is_refused(launched):
    with pytest.raises(ValueError, match="seconds must be from 0 to 60, got 61"):
        launched.delay("ps:0", 61)
    with pytest.raises(tf.errors.InvalidArgumentError, match="no task 'ps:9'"):
        launched.cut("ps:9")
    launched.kill("worker:1")
    with pytest.raises(tf.errors.UnavailableError, match="worker/task:1 is dead"):
        launched.cut("worker:1")
