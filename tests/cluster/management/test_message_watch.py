"""Single messages of a running cluster: names, bytes, times, versions, who waits."""

import threading
import time

import numpy as np
import pytest

import dataflow as tf
from dataflow.cluster.management.message_watch import MessageWatch

pytestmark = [pytest.mark.usefixtures("no_gpus"), pytest.mark.threads]
PATIENCE_SECONDS = 60
PS, ONE, TWO = "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"


@pytest.fixture
def launched():
    with tf.cluster.launch(ps=1, workers=2, backend="threads", restart=False, logs=False) as made:
        yield made


@pytest.fixture
def watch(launched):
    watch = MessageWatch(launched)
    watch._mask = 0  # every step
    watch._adapt = lambda sent: None
    watch.read()
    return watch


def model(part, num_parts):
    w = tf.get_variable("w", initializer=np.full(20, 4.0, np.float32))
    return tf.reduce_mean(tf.square(w - 1.0))


def until(condition):
    end = time.monotonic() + PATIENCE_SECONDS
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)
    return found


def test_reads_and_gradients_are_seen_with_names_bytes_and_times(launched, watch):
    training = tf.cluster.Training(launched, model, learning_rate=0.01, steps_per_second=50).start()
    seen = {}

    def both_ways():
        for message in watch.read().messages:
            seen[message.number] = message
        ways = {(m.source, m.target) for m in seen.values() if m.received is not None}
        return {(PS, ONE), (ONE, PS), (PS, TWO), (TWO, PS)} <= ways

    until(both_ways)
    training.stop()
    names = {name for m in seen.values() if m.source == PS for name in m.names}
    assert "w/read:0" in names
    gradients = [m for m in seen.values() if m.target == PS and m.num_bytes >= 80]
    assert any(name.startswith("gradients/") for m in gradients for name in m.names)
    assert all(m.received is None or m.received >= m.sent for m in seen.values())
    assert all(len(m.names) >= 1 for m in seen.values())


def test_a_message_is_on_its_way_while_its_link_is_cut(launched, watch):
    with tf.device(PS):
        table = tf.Variable(np.ones(10, np.float32), name="table")
    with tf.device(ONE):
        total = tf.reduce_sum(table, name="total")
    with tf.Session(launched.target) as session:
        session.run(table.initializer)
        watch.read()
        launched.cut("ps:0")
        thread = threading.Thread(target=session.run, args=(total,))
        thread.start()
        # The order to run is held back with all that follows: nothing has been sent by the ps yet.
        assert watch.read().messages == []
        launched.mend("ps:0")
        thread.join(PATIENCE_SECONDS)
        found = {}
        found.update({m.number: m for m in watch.read().messages})
        found.update({m.number: m for m in watch.read().messages})
        launched.delay("ps:0", 0.2)
        session.run(total)
        slow = [m for m in watch.read().messages if m.source == PS]
    (message,) = [m for m in found.values() if m.source == PS]
    assert (message.target, message.names, message.num_bytes) == (ONE, ["table/read:0"], 40)
    assert message.received is not None
    (late,) = slow
    assert late.received - late.sent >= 0.2


def test_how_far_each_worker_is_behind(launched, watch):
    with tf.device(PS):
        count = tf.Variable(np.zeros(3, np.float32), name="count")
    graph = tf.get_default_graph()
    sessions = []
    for index in range(2):
        with tf.device(f"/job:worker/task:{index}"):
            change = count * 0.5 + 1.0
        with tf.device(PS):
            more = count.assign_sub(change)
        sessions.append(
            (tf.Session(launched.targets[f"/job:worker/task:{index}"], graph=graph), more.op)
        )
    (one, step_one), (two, step_two) = sessions
    with one, two:
        one.run(count.initializer)
        two.run(step_two)
        for _ in range(5):
            one.run(step_one)
        seen = watch.read()
    assert seen.updates[PS] - seen.versions[PS][TWO] == 5
    assert seen.updates[PS] == seen.versions[PS][ONE]


def test_who_waits_at_the_barrier_of_a_synchronous_step(launched, watch):
    training = tf.cluster.Training(
        launched, model, mode="synchronous", learning_rate=0.01, steps_per_second=50
    ).start()
    until(lambda: training.status()["global_step"] > 3)
    launched.pause("worker:1")
    found = until(lambda: (seen := watch.read()).waiting == [ONE] and seen)
    assert found.tokens == 0
    launched.resume("worker:1")
    training.stop()
    until(lambda: not training.status()["workers"])


def test_quick_steps_are_sampled_alike_at_both_ends_and_forgotten_by_nobody(launched):
    training = tf.cluster.Training(launched, model, learning_rate=0.01).start()
    watch, pairs = MessageWatch(launched), 0
    until(lambda: (training.status()["global_step"] or 0) > 50)
    end = time.monotonic() + PATIENCE_SECONDS
    while pairs < 20 and time.monotonic() < end:
        time.sleep(0.05)
        messages = watch.read().messages
        assert len(messages) <= 3 * 128
        pairs += sum(m.received is not None for m in messages)
    training.stop()
    assert pairs >= 20 and watch._mask > 0
    watch.close()
    for task in launched.backend.tasks:
        assert task.server.service.load.traffic.mask == (1 << 63) - 1
