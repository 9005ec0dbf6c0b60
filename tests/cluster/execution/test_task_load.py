"""What tasks count: updates and their staleness, dropped gradients, queues; and the brake."""

import os
import threading
import time

import numpy as np
import pytest

import dataflow as tf
from dataflow.cluster.execution.task_load import TaskLoad
from dataflow.cluster.transport import handshake


def test_staleness_counts_the_updates_in_between():
    load = TaskLoad()
    assert load.describe()["staleness"] is None
    first, second = load.num_updates, load.num_updates
    load.updated(first)
    load.updated(second)
    load.updated(load.num_updates)
    assert load.describe() == {
        "updates": 3,
        "staleness": pytest.approx(1 / 3),
        "largest_staleness": 1,
        "delay_seconds": 0.0,
    }


def test_the_brake_holds_until_the_step_is_given_up():
    load = TaskLoad()
    load.delay_seconds = 0.05
    before = time.monotonic()
    load.hold(lambda: False)
    assert time.monotonic() - before >= 0.05
    load.delay_seconds = 1000.0
    asked = iter([False, False, True])
    load.hold(lambda: next(asked))


def test_a_paused_task_begins_nothing_and_gets_its_brake_back():
    load = TaskLoad()
    load.delay_seconds = 0.25
    load.pause()
    load.pause()  # once is enough
    assert load.is_paused and load.describe()["delay_seconds"] == 0.25
    asked = iter([False, False, False, True])
    load.hold(lambda: next(asked))
    assert next(asked, None) is None  # it asked until it was given up, long after its delay
    load.go_on()
    load.go_on()
    assert not load.is_paused and load.delay_seconds == 0.25
    other = TaskLoad()
    other.pause()
    assert other.delay_seconds > 0  # its steps may wait
    other.go_on()
    assert other.delay_seconds == 0


def test_of_each_master_the_last_update_is_known():
    load = TaskLoad()
    for master in ("a", "b", "a", ""):
        load.updated(0, master)
    assert load.version_of == {"a": 3, "b": 2, "": 4}
    assert load.describe()["largest_staleness"] == 3


def test_a_step_is_not_behind_its_own_updates(cluster):
    """Two variables that are changed one after the other, with a message in between."""
    with tf.device("/job:ps/task:0"):
        a = tf.get_variable("a", initializer=np.zeros(4, np.float32))
        b = tf.get_variable("b", initializer=np.zeros(4, np.float32))
        read = tf.identity(a)
    with tf.device("/job:worker/task:0"):
        one = tf.add(read, 1.0)
    with tf.device("/job:ps/task:0"), tf.control_dependencies([tf.assign_add(a, one).op]):
        again = tf.identity(a.read_value())
    with tf.device("/job:worker/task:0"):
        two = tf.add(again, 1.0)
    with tf.device("/job:ps/task:0"):
        step = tf.assign_add(b, two).op
    load = cluster["ps:0"].service.load
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(tf.global_variables_initializer())
        before = load.num_updates
        for _ in range(5):
            session.run(step)
    assert load.num_updates - before == 10
    assert load.describe()["largest_staleness"] == 0


def training_step(worker, gate):
    """Worker reads w, waits for its gate, and adds one; w and the gates are on the ps."""
    with tf.device("/job:ps/task:0"):
        w = tf.get_variable("w", initializer=np.zeros(4, np.float32))
        read = tf.identity(w)
    with tf.device(f"/job:worker/task:{worker}"):
        gradient = tf.add(tf.multiply(read, 0.0), gate)
    with tf.device("/job:ps/task:0"):
        return w, tf.assign_add(w, gradient)


def test_the_task_that_led_steps_says_so_when_its_sessions_have_ended(cluster):
    with tf.device("/job:ps/task:0"):
        count = tf.get_variable("count_of_steps", initializer=0.0)
    before = {name: cluster[name].status()["steps"] for name in ("ps:0", "worker:0")}
    for _ in range(2):
        with tf.Session(cluster["worker:0"].target) as session:
            session.run(count.initializer)
            for _ in range(5):
                session.run(count.assign_add(1.0).op)
    after = {name: cluster[name].status()["steps"] for name in before}
    assert after["worker:0"] - before["worker:0"] == 12
    assert after["ps:0"] - before["ps:0"] >= 12


def test_a_ps_reports_how_stale_gradients_were(cluster, eventually):
    with tf.device("/job:worker/task:1"):
        queue = tf.FIFOQueue(5, [tf.float32], shapes=[[]], shared_name="gate")
        gate, put = queue.dequeue(), queue.enqueue([1.0])
    with tf.variable_scope("", reuse=tf.AUTO_REUSE):
        w, quick = training_step(0, tf.constant(1.0))
        _, slow = training_step(1, gate)
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(w.initializer)
        session.run(quick.op)
        # A step whose gradient takes as long as three of another worker's.
        with tf.Session(cluster["worker:1"].target) as other:
            thread = threading.Thread(target=lambda: other.run(slow.op))
            before = cluster["ps:0"].status()["steps"]
            thread.start()
            eventually(lambda: cluster["ps:0"].status()["steps"] == before + 1)
            for _ in range(3):
                session.run(quick.op)
            session.run(put)
            thread.join(60)
        assert session.run(w).tolist() == [5.0] * 4
    figures = cluster["ps:0"].status()
    assert figures["updates"] == 5
    assert figures["largest_staleness"] == 3
    assert figures["staleness"] == pytest.approx(3 / 5)
    assert cluster["worker:0"].status()["staleness"] is None


def test_queues_and_dropped_gradients_are_reported(cluster):
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(5, [tf.int64], shapes=[[]], shared_name="tokens")
        put = queue.enqueue_many([tf.constant([1, 2, 3], tf.int64)])
        accumulator = tf.ConditionalAccumulator(tf.float32, [], shared_name="w/grad_accum")
        late = accumulator.apply_grad(1.0, local_step=0)
        timely = accumulator.apply_grad(1.0, local_step=7)
        new_step = accumulator.set_global_step(7)
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(put)
        session.run(new_step)
        session.run([late, timely])
    figures = cluster["ps:0"].status()
    assert figures["queues"] == {"tokens": 3, "w/grad_accum": 1}
    assert figures["dropped_gradients"] == 1


def test_late_gradients_of_a_step_count_once_for_all_variables(cluster):
    with tf.device("/job:ps/task:0"):
        accumulators = [
            tf.ConditionalAccumulator(tf.float32, [], shared_name=f"{name}/grad_accum")
            for name in "wb"
        ]
        push = [accumulator.apply_grad(1.0, local_step=0) for accumulator in accumulators]
        new_step = [accumulator.set_global_step(7) for accumulator in accumulators]
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(new_step)
        assert cluster["ps:0"].status()["dropped_gradients"] == 0
        for _ in range(3):
            session.run(push)
    assert cluster["ps:0"].status()["dropped_gradients"] == 3


@pytest.mark.parametrize("shares", [True, False])
def test_all_that_travels_is_counted_and_how(cluster, shares, used_reads, monkeypatch):
    if not shares:
        monkeypatch.setattr(handshake, "host_identity", lambda: os.urandom(8).hex())
    with tf.device("/job:ps/task:0"):
        w = tf.get_variable("w", initializer=np.ones(100_000, np.float32))
    with tf.device("/job:worker/task:0"):
        gradient = tf.multiply(w, 0.5)
    with tf.device("/job:ps/task:0"):
        step = tf.assign_sub(w, gradient).op

    def counted():
        names = ("sent_bytes", "received_bytes", "shared_sent_bytes", "shared_received_bytes")
        rows = [cluster[task].status() for task in ("ps:0", "worker:0")]
        return np.array([[row[name] for name in names] for row in rows])

    with tf.Session(cluster["worker:0"].target) as session:
        session.run(w.initializer)
        session.run(step)
        for _ in range(3):  # of the first two the forms of messages are learned
            before = counted()
            session.run(step)
            (ps, worker) = (counted() - before).tolist()
            assert ps[:2] == worker[1::-1] and ps[2:] == worker[:1:-1]
            assert all(400_000 <= num_bytes < 402_000 for num_bytes in ps[:2])
            assert ps[2:] == ([400_000] * 2 if shares else [0, 0])


def test_blas_runs_alone_in_pieces_that_call_it(cluster, monkeypatch):
    from dataflow.cluster.execution import compiled_partition
    from dataflow.kernels import blas

    entered = []
    real = blas.single_threaded

    def counted():
        entered.append(threading.current_thread())
        return real()

    monkeypatch.setattr(compiled_partition, "single_threaded", counted)
    with tf.device("/job:worker/task:1"):
        x = tf.random_normal([8, 8])
        product = tf.matmul(x, x)
    with tf.device("/job:ps/task:0"):
        total = tf.reduce_sum(product)
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(total)
    assert len(entered) == 1
