"""Steps that are one message there and one back: they give what any step gives, whatever comes."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import dataflow as tf
from dataflow.cluster.execution import fast_path
from dataflow.cluster.execution.linear_run import LinearRun
from dataflow.cluster.execution.traffic import ALL_CHANNELS, NOBODY
from dataflow.cluster.management.server import Server
from dataflow.cluster.transport.connection import Connection
from dataflow.kernels.queues import Queue
from tests.cluster.conftest import KEY
from tests.cluster.execution.token_steps import token_step
from tests.cluster.management.test_deaths import result_of
from tests.results_of import results_of


@pytest.fixture
def straight(used_reads, monkeypatch):
    """What each attempt at a straight step returned; ``None``: the general one had to do it."""
    return results_of(monkeypatch, fast_path.FastStep, "run")


def asynchronous(size=3):
    """w on the ps, a fed step on worker 0 that fetches from both."""
    with tf.device("/job:ps/task:0"):
        w = tf.get_variable("w", initializer=np.ones(size, np.float32))
        count = tf.get_variable("count", initializer=0)
    with tf.device("/job:worker/task:0"):
        x = tf.placeholder(tf.float32, [])
        gradient = tf.multiply(w, x)
        loss = tf.reduce_sum(gradient)
    with tf.device("/job:ps/task:0"), tf.control_dependencies([tf.assign_add(w, gradient)]):
        new = tf.assign_add(count, 1)
    return x, loss, new, w


def waiting(size=()):
    """A step that waits for a token (`token_step`), one that puts a token, and the queue's size."""
    step, w, local, tokens = token_step(size)
    with tf.device("/job:ps/task:0"):
        return step, tokens.enqueue(7.0), w, local, tokens.size()


def after(times):
    """w after so many steps."""
    w, local = 1.0, 0.0
    for _ in range(times):
        w, local = 2 * w + local, 7.0
    return w


def warm_up(session, step, put, initializers, times=4):
    """So many steps, after which the next is a straight one."""
    session.run(initializers)
    for _ in range(times + 1):
        session.run(put)
    for _ in range(times):
        assert session.run(step) == 7


def test_it_gives_what_the_general_step_gives(cluster, straight, monkeypatch):
    x, loss, new, w = asynchronous()
    got = []
    for general in (False, True):
        if general:
            monkeypatch.setattr(fast_path.FastStep, "run", lambda *arguments: None)
        with tf.Session(cluster["worker:0"].target) as session:
            session.run(tf.global_variables_initializer())
            fed = [session.run([loss, new, x], {x: 0.1 * n}) for n in range(12)]
            got.append([fed, session.run(w).tolist()])
    assert got[0] == got[1]
    assert got[0][0][-1][1] == 12
    assert sum(results is not None for results in straight) >= 9


def test_a_step_with_time_left_is_done_as_any_other(cluster, straight):
    x, loss, new, _ = asynchronous()
    options = tf.RunOptions(timeout_in_ms=60_000)
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(tf.global_variables_initializer())
        fed = [session.run([loss, new], {x: 1.0}, options=options)[1] for _ in range(8)]
    assert fed == list(range(1, 9))
    assert sum(results is not None for results in straight) >= 4


def test_an_answer_that_is_waited_for_needs_no_other_step(cluster, used_reads, monkeypatch):
    """The fast path ends what it began: nothing is handed to the general step when all goes well."""
    outcomes = results_of(monkeypatch, fast_path.FastStep, "_run")
    x, loss, new, _ = asynchronous()
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(8):
            session.run([loss, new], {x: 1.0})
    assert len(outcomes) >= 4 and {type(outcome) for outcome in outcomes} == {list}


def test_a_step_notes_what_it_sends_while_somebody_watches(cluster, straight):
    x, loss, new, _ = asynchronous()
    traffic = cluster["worker:0"].service.load.traffic
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(5):
            session.run([loss, new], {x: 1.0})
        traffic.read(0)  # every step
        session.run([loss, new], {x: 1.0})
        sent = traffic.read(NOBODY)["sent"]
        assert straight[-1] is not None
        assert [note[1:3] for note in sent] == [("/job:ps/task:0", ALL_CHANNELS)]
        session.run([loss, new], {x: 1.0})
        assert straight[-1] is not None
        assert traffic.read(NOBODY)["sent"] == []


def test_the_state_machine_sees_each_step(cluster, straight, monkeypatch):
    x, loss, new, _ = asynchronous()
    seen = []
    wait = Connection.receive_in_time

    def watched(connection):
        (master,) = cluster["worker:0"]._sessions
        seen.append([set(tasks) for tasks in master.machine.waiting.values()])
        return wait(connection)

    with tf.Session(cluster["worker:0"].target) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(5):
            session.run([loss, new], {x: 1.0})
        (master,) = cluster["worker:0"]._sessions
        monkeypatch.setattr(Connection, "receive_in_time", watched)
        session.run([loss, new], {x: 1.0})
        assert straight[-1] is not None
        assert seen == [[{"/job:ps/task:0", "/job:worker/task:0"}]]
        assert not master.machine.waiting and not master._verdicts


def test_a_death_that_another_thread_has_seen_fails_it(cluster, straight, monkeypatch):
    x, loss, new, _ = asynchronous()
    wait = Connection.receive_in_time

    def died(connection):
        (master,) = cluster["worker:0"]._sessions
        master.decide(master.machine.died, "/job:ps/task:0", "another thread has seen it die")
        return wait(connection)

    with tf.Session(cluster["worker:0"].target) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(5):
            session.run([loss, new], {x: 1.0})
        (master,) = cluster["worker:0"]._sessions
        with monkeypatch.context() as patched:
            patched.setattr(Connection, "receive_in_time", died)
            with pytest.raises(tf.errors.UnavailableError, match="another thread has seen it die"):
                session.run([loss, new], {x: 1.0})
        assert not master.machine.waiting and not master._verdicts


def pushing(capacity):
    """A step that puts a worker's fed number into a queue of the ps, and reads nothing there."""
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(capacity, tf.float32, shapes=[[]])
    with tf.device("/job:worker/task:0"):
        x = tf.placeholder(tf.float32, [])
        y = x + 1.0
    with tf.device("/job:ps/task:0"):
        return x, y, queue, queue.enqueue(y), queue.dequeue_many(8)


def test_a_step_that_only_pushes(cluster, straight):
    x, y, queue, put, taken = pushing(100)
    close = queue.close()
    with tf.Session(cluster["worker:0"].target) as session:
        for n in range(8):
            assert session.run([y, put], {x: n}) == [n + 1, None]
        assert sum(results is not None for results in straight) >= 5
        assert session.run(taken).tolist() == list(range(1, 9))
        session.run(close)
        for _ in range(3):
            with pytest.raises(tf.errors.CancelledError, match="is closed") as raised:
                session.run([y, put], {x: 1.0})
            assert raised.value.op is put


@pytest.mark.threads
def test_a_step_that_only_pushes_waits_for_room(cluster, straight):
    x, y, queue, put, taken = pushing(8)
    size = queue.size()
    with tf.Session(cluster["worker:0"].target) as session:
        for n in range(8):
            session.run([y, put], {x: n})
        waits = threading.Thread(target=lambda: session.run([y, put], {x: 8.0}), daemon=True)
        waits.start()
        waits.join(0.2)
        assert waits.is_alive() and session.run(size) == 8
        assert session.run(taken).tolist() == list(range(1, 9))
        waits.join(20)
        assert not waits.is_alive() and session.run(size) == 1


@pytest.mark.parametrize("size", [(), (50,), (20_000,), (300_000,)])
def test_tensors_of_any_size(cluster, straight, size):
    step, put, w, local, _ = waiting(size)
    with tf.Session(cluster["worker:0"].target) as session:
        warm_up(session, step, put, [w.initializer, local.initializer], times=8)
        assert sum(results is not None for results in straight) >= 5
        assert session.run(w).tolist() == np.full(size, after(8)).tolist()


def test_large_tensors_between_machines(cluster, straight, monkeypatch):
    """Without shared memory both sides send more than a socket takes, at once."""
    from dataflow.cluster.transport import handshake

    monkeypatch.setattr(handshake, "host_identity", lambda: os.urandom(8).hex())
    step, put, w, local, _ = waiting((300_000,))
    with tf.Session(cluster["worker:0"].target) as session:
        result_of(lambda: warm_up(session, step, put, [w.initializer, local.initializer], times=6))
        assert sum(results is not None for results in straight) >= 3
        assert not any(connection.may_share for connection in cluster["ps:0"]._listener.connections)
        assert session.run(w)[-1] == after(6)


def failing(where):
    """A step that fails on the ps, or on the worker before or after, where w is 8."""
    with tf.device("/job:ps/task:0"):
        w = tf.get_variable("w", initializer=1.0)

    def check(value, name):
        with tf.control_dependencies([tf.Assert(value < 8.0, [value], name=f"assert_{name}")]):
            return tf.identity(value)

    with tf.device("/job:worker/task:0"):
        gradient = tf.multiply(check(w, "here") if where == "before" else w, 1.0)
    with tf.device("/job:ps/task:0"):
        if where == "there":
            gradient = check(gradient, "here")
        step = tf.assign_add(w, gradient)
    with tf.device("/job:worker/task:0"):
        if where == "after":
            step = check(step / 2, "here")
    return w, step


@pytest.mark.parametrize("where", ["before", "there", "after"])
def test_an_error_names_its_node_and_the_session_goes_on(cluster, straight, where):
    w, step = failing(where)
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(w.initializer)
        for _ in range(3):
            session.run(step)
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match="assert_here"):
                session.run(step)
        session.run(w.initializer)
        for _ in range(3):
            session.run(step)
        assert session.run(w) == 8.0
    assert not cluster["ps:0"].service.runs


def test_its_time_out_says_who_is_waited_for_and_takes_no_token(cluster, straight, eventually):
    step, put, w, local, size = waiting()
    with tf.Session(cluster["worker:0"].target) as session:
        warm_up(session, step, put, [w.initializer, local.initializer])
        session.run(step)
        with pytest.raises(tf.errors.DeadlineExceededError, match="/job:ps/task:0"):
            session.run(step, options=tf.RunOptions(timeout_in_ms=500))
        eventually(lambda: not cluster["ps:0"].service.runs)
        session.run(put)
        assert session.run(size) == 1
        assert session.run(step) == 7
    assert straight[-3] is not None


def run_in_thread(function):
    """A thread, and a list for what the function raises."""
    raised = []

    def run():
        try:
            function()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, raised


def waits_straight(cluster):
    return any(type(run) is LinearRun for run, _ in list(cluster["ps:0"].service.runs.values()))


def test_closing_its_session_cancels_it(cluster, straight, eventually):
    step, put, w, local, size = waiting()
    session = tf.Session(cluster["worker:0"].target)
    warm_up(session, step, put, [w.initializer, local.initializer])
    session.run(step)
    thread, raised = run_in_thread(lambda: session.run(step))
    eventually(lambda: waits_straight(cluster))
    tokens = dict(cluster["ps:0"].resources.items("queue"))["tokens"]
    assert tokens.condition._watchers
    session.close()
    thread.join(60)
    assert isinstance(raised[0], tf.errors.CancelledError)
    assert "closed" in str(raised[0])
    eventually(lambda: not tokens.condition._watchers)
    with tf.Session(cluster["worker:1"].target) as other:
        other.run(put)
        eventually(lambda: not cluster["ps:0"].service.runs)
        assert other.run(size) == 1


def test_it_is_not_tried_again_before_there_is_what_it_waits_for(
    cluster, straight, eventually, monkeypatch
):
    step, put, w, local, size = waiting()
    tries = []
    dequeue = Queue.dequeue

    def counted(queue, context, count, up_to=False):
        tries.append(queue)
        return dequeue(queue, context, count, up_to)

    monkeypatch.setattr(Queue, "dequeue", counted)
    worker, other = cluster["worker:0"].target, cluster["worker:1"].target

    def wait_for_a_token(session):
        tries.clear()
        thread, raised = run_in_thread(lambda: session.run(step))
        eventually(lambda: waits_straight(cluster))
        with tf.Session(other) as putting:
            putting.run(put)
        thread.join(60)
        assert not raised
        return len(tries)

    with tf.Session(worker) as session:
        warm_up(session, step, put, [w.initializer, local.initializer])
        session.run(step)
        found = []
        for _ in range(3):
            found.append(wait_for_a_token(session))
            session.run(put)
            session.run(put)
            session.run(step)
            session.run(step)  # which is a straight one
        # The first time it is tried in vain; from then on it is known what to wait for.
        assert found == [2, 1, 1]
        assert session.run(size) == 0


def test_a_queue_made_anew_is_the_one_that_is_waited_for(cluster, straight, eventually):
    step, put, w, local, size = waiting()
    with tf.Session(cluster["worker:0"].target) as session:
        for _ in range(2):
            warm_up(session, step, put, [w.initializer, local.initializer])
            session.run(step)
            thread, raised = run_in_thread(lambda: session.run(step))
            eventually(lambda: waits_straight(cluster))
            with tf.Session(cluster["worker:1"].target) as other:
                other.run(put)
            thread.join(60)
            assert not thread.is_alive() and not raised
            assert session.run(size) == 0
            cluster["ps:0"].resources.clear()


def test_an_interrupt_ends_it_and_leaves_the_token(cluster, straight, eventually):
    step, put, w, local, size = waiting()
    with tf.Session(cluster["worker:0"].target) as session:
        warm_up(session, step, put, [w.initializer, local.initializer])
        session.run(step)
        main = threading.main_thread().ident

        def interrupt():
            eventually(lambda: waits_straight(cluster))
            time.sleep(0.1)
            signal.pthread_kill(main, signal.SIGINT)

        thread, failed = run_in_thread(interrupt)
        with pytest.raises(KeyboardInterrupt):
            session.run(step)
        thread.join(60)
        assert not failed
        eventually(lambda: not cluster["ps:0"].service.runs)
        session.run(put)
        assert session.run(size) == 1
        assert session.run(step) == 7


def test_a_task_that_is_slowed_down_does_the_general_step(cluster, straight):
    x, _, new, _ = asynchronous()
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(4):
            session.run(new, {x: 1.0})
        assert straight[-1] is not None
        cluster["ps:0"].service.load.delay_seconds = 0.01
        session.run(new, {x: 1.0})  # its reads were done before
        before = time.monotonic()
        assert session.run(new, {x: 1.0}) == 6
        assert time.monotonic() - before >= 0.01
        assert straight[-1] is None
        cluster["ps:0"].service.load.delay_seconds = 0.0
        for n in range(7, 11):
            assert session.run(new, {x: 1.0}) == n
        assert straight[-1] is not None


@pytest.fixture
def with_ps(make_spec, start_servers):
    """A ps in a process of its own, and the target of a worker in this one."""
    spec = make_spec(ps=1, worker=1)
    others = start_servers(spec, "ps")
    server = Server(spec, "worker", 0, key=KEY)
    yield others, server.target
    server.stop()


def test_a_ps_killed_while_it_is_waited_for_is_named(with_ps, straight):
    others, target = with_ps
    step, put, w, local, _ = waiting()
    with tf.Session(target) as session:
        warm_up(session, step, put, [w.initializer, local.initializer])
        session.run(step)
        threading.Timer(0.3, others.kill, ["ps:0"]).start()
        error = result_of(lambda: session.run(step))
        assert isinstance(error, tf.errors.UnavailableError)
        assert "/job:ps/task:0" in str(error)
        assert straight[-1] is not None or len(straight) >= 3
        others.start("ps:0")
        error = result_of(lambda: session.run(step))
        assert isinstance(error, tf.errors.AbortedError)
        assert "restarted" in str(error)


def test_a_ps_killed_between_steps_is_named(with_ps, straight):
    others, target = with_ps
    x, _, new, _ = asynchronous()
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(4):
            session.run(new, {x: 1.0})
        assert straight[-1] is not None
        others.kill("ps:0")
        for _ in range(2):
            error = result_of(lambda: session.run(new, {x: 1.0}))
            assert isinstance(error, tf.errors.UnavailableError)
            assert "/job:ps/task:0" in str(error)
        others.start("ps:0")
        session.run(tf.global_variables_initializer())
        for number in range(1, 7):
            assert session.run(new, {x: 1.0}) == number
        assert straight[-1] is not None


def test_a_ps_that_is_stopped_runs_into_the_time_out(with_ps, straight):
    others, target = with_ps
    x, _, new, _ = asynchronous()
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(4):
            session.run(new, {x: 1.0})
        assert straight[-1] is not None
        others.pause("ps:0")
        with pytest.raises(tf.errors.DeadlineExceededError, match="/job:ps/task:0"):
            session.run(new, {x: 1.0}, options=tf.RunOptions(timeout_in_ms=500))
        others.resume("ps:0")
        assert session.run(new, {x: 1.0}) in (5, 6)  # the one that was given up may have come first
