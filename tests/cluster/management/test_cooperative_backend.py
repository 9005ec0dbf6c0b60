"""`launch` where there are neither threads nor sockets: tasks take turns in this thread.

`tests/runtime/test_cooperative.py` runs this module in a process with ``DATAFLOW_THREADS=0``.
"""

import time

import numpy as np
import pytest

import dataflow as tf
from dataflow.cluster.management.interleaved import steps_of
from dataflow.runtime.cooperative import scheduler

ALONE = pytest.mark.without_threads


@pytest.fixture
def launched():
    with tf.Graph().as_default():
        with tf.cluster.launch(ps=1, workers=2, restart=False, logs=False) as made:
            yield made


def add(server, number, chief, times):
    with tf.device("/job:ps/task:0"):
        count = tf.get_variable("count", initializer=0)
        up = count.assign_add(1)
    missing = tf.report_uninitialized_variables()
    seen = []
    with tf.Session(server.target) as session:
        if chief:
            session.run(count.initializer)
        while len(session.run(missing)):
            time.sleep(0.001)
        for _ in range(times):
            seen.append(int(session.run(up)))
    return number, seen


def train(server, aggregate, until_step):
    me = server.server_def.task_index
    setter = tf.train.replica_device_setter(
        worker_device=f"/job:worker/task:{me}", cluster=server.server_def.cluster
    )
    with tf.device(setter):
        w = tf.get_variable("w", initializer=np.float32(4.0))
        step = tf.train.get_or_create_global_step()
        missing = tf.report_uninitialized_variables()
        optimizer = tf.train.SyncReplicasOptimizer(
            tf.train.GradientDescentOptimizer(0.1), aggregate, total_num_replicas=2
        )
        hook = optimizer.make_session_run_hook(is_chief=me == 0, num_tokens=0)
        train_op = optimizer.minimize(tf.square(w), global_step=step)
    with tf.Session(server.target) as session:
        while me > 0 and len(session.run(missing)):
            time.sleep(0.001)
    runs, now = 0, 0
    with tf.train.MonitoredTrainingSession(
        server.target, is_chief=me == 0, hooks=[hook], stop_grace_period_secs=1
    ) as session:
        while not session.should_stop() and now < until_step:
            _, now, value = session.run([train_op, step, w])
            runs += 1
    return runs, float(value)


@ALONE
def test_it_says_that_it_is_simulated(capsys):
    tf.cluster.launch(ps=1, workers=1).stop()
    assert "2 tasks are simulated, as DATAFLOW_THREADS=0 is set" in capsys.readouterr().out


@ALONE
def test_a_graph_spans_tasks_and_messages_are_counted(launched):
    with tf.device("/job:ps/task:0"):
        w = tf.Variable(np.ones(1000, np.float32), name="w")
    parts = []
    for index in range(2):
        with tf.device(f"/job:worker/task:{index}"):
            parts.append(tf.reduce_sum(w * (index + 1.0)))
    with tf.Session(launched.target) as session:
        session.run(w.initializer)
        before = launched.status()[0]["sent_bytes"]
        assert session.run(parts) == [1000.0, 2000.0]
    rows = launched.status()
    assert rows[0]["sent_bytes"] - before > 8000  # the variable, to both workers
    assert rows[0]["variables"] == 1


@ALONE
def test_functions_of_two_tasks_take_turns(launched):
    calls = [launched.submit(f"worker:{i}", add, i, i == 1, 20) for i in range(2)]
    (_, first), (_, second) = (call.result(60) for call in calls)
    assert sorted(first + second) == list(range(1, 41))
    assert max(first) > min(second) and max(second) > min(first)
    assert not scheduler.tasks


@ALONE
def test_synchronous_training_waits_for_both_workers(launched):
    calls = [launched.submit(f"worker:{i}", train, 2, 8) for i in range(2)]
    (runs_0, value_0), (runs_1, _) = (call.result(60) for call in calls)
    assert 8 <= runs_0 <= 10 and 8 <= runs_1 <= 10
    assert value_0 < 1.0


@ALONE
def test_a_worker_that_is_slowed_down_steps_less_often(launched):
    launched.slow_down("worker:0", 0.005)
    launched.slow_down("worker:1", 60.0)
    quick = launched.submit("worker:0", add, 0, True, 10)
    slow = launched.submit("worker:1", add, 1, False, 10)
    assert quick.result(60) == (0, list(range(1, 11)))
    with pytest.raises(TimeoutError, match="not returned within"):
        slow.result(0.001)


@ALONE
def test_a_paused_task_holds_up_who_needs_it(launched):
    with tf.device("/job:worker/task:1"):
        total = tf.constant([1.0, 2.0]) * 2.0
    with tf.Session(launched.target) as session:
        session.run(total)
        launched.pause("worker:1")
        with pytest.raises(tf.errors.FailedPreconditionError, match="answer of /job:worker/task:1"):
            session.run(total)
        launched.resume("worker:1")
        assert session.run(total).tolist() == [2.0, 4.0]


@ALONE
def test_a_killed_task_loses_its_variables_and_its_function(launched):
    endless = launched.submit("worker:1", add, 1, True, 10**9)
    with tf.device("/job:ps/task:0"):
        count = tf.get_variable("count", initializer=0)
    with tf.Session(launched.target) as session:
        while not session.run(tf.is_variable_initialized(count)):
            pass
    launched.kill("worker:1")
    with pytest.raises(tf.errors.UnavailableError, match="worker/task:1 died"):
        endless.result(60)
    launched.kill("ps:0")
    launched.restart("ps:0")
    with tf.Session(launched.target) as session:
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(count)


@ALONE
def test_a_link_cannot_be_cut(launched):
    with pytest.raises(tf.errors.UnimplementedError, match="needs threads"):
        launched.cut("worker:1")


@ALONE
def test_another_machine_cannot_be_reached():
    with tf.Graph().as_default(), pytest.raises(tf.errors.UnavailableError, match="no sockets"):
        tf.Session("grpc://127.0.0.1:2222").run(tf.constant(1))


def calls_of(function, *arguments):
    """The calls that a rewritten function asks for, each made at once, and what it returns."""
    body, found, value = steps_of(function)(*arguments), [], None
    while True:
        try:
            called, given, keywords = body.send(value)
        except StopIteration as end:
            return found, end.value
        found.append(given)
        value = called(*given, **keywords)


class Doubles:
    def run(self, x, *more, factor=2):
        return x * factor + sum(more)


def test_a_function_is_left_at_its_steps():
    twice, outside = Doubles(), 5

    def function(x, *rest, bias=1):
        inner = [twice.run(i) for i in range(2)]  # not left in here
        try:
            y = twice.run(x, *rest, factor=twice.run(3))
            raise ValueError(y)
        except ValueError as error:
            return error.args[0] + bias + outside, inner

    assert calls_of(function, 4, 1) == ([(3,), (4, 1)], (4 * 6 + 1 + 1 + 5, [0, 2]))


def test_a_function_without_a_source_is_one_step():
    assert calls_of(abs, -3) == ([(-3,)], 3)
    names = {}
    exec("def typed(a): return a.run(1)", names)
    found, value = calls_of(names["typed"], Doubles())
    assert len(found) == 1 and value == 2


@ALONE
def test_a_training_says_that_it_needs_a_thread(launched):
    with pytest.raises(tf.errors.UnimplementedError, match="Training needs a thread of its own"):
        tf.cluster.Training(launched, lambda part, num_parts: tf.constant(0.0))
