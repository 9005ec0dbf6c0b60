"""Sessions whose master is reached over a connection, as from another process."""

import contextlib
import time
from types import SimpleNamespace

import numpy as np
import pytest

import dataflow as tf
from dataflow.cluster.execution import client, remote_master
from dataflow.cluster.execution.remote_master import RemoteMaster
from dataflow.cluster.transport.connection import Connection

pytestmark = pytest.mark.usefixtures("no_gpus")


@pytest.fixture
def target(cluster, monkeypatch):
    """A task's address, whose server this process does not know."""
    monkeypatch.setattr(client.registry, "server_at", lambda target: None)
    return cluster["worker:0"].target


def step():
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable("v", initializer=np.float32([1.0, 2.0]))
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.device("/job:worker/task:1"):
        doubled = tf.multiply(x, 2.0, name="doubled")
    with tf.device("/job:ps/task:0"):
        return v, x, tf.assign_add(v, doubled, name="added")


def test_runs_places_records_and_explains(target):
    v, x, added = step()
    with tf.Session(target) as session:
        assert isinstance(session.remote.backend, RemoteMaster)
        session.run(v.initializer)
        assert session.run([added, x], {x: [1.0, 1.0]})[0].tolist() == [3, 4]
        tasks = session.remote.tasks(added)
        assert tasks["v"] == tasks["added"] == "/job:ps/task:0"
        assert tasks["doubled"] == "/job:worker/task:1"
        names = {d.name for d in session.list_devices()}
        assert {n.partition("/replica")[0] for n in names} == {"/job:ps", "/job:worker"}
        trace = session.remote.record(added, {x: [1.0, 0.0]})
        assert trace.result.tolist() == [5, 4]
        outputs = {s.op_name: s.outputs for s in trace.steps}
        assert outputs["doubled"][0].tolist() == [2, 0]
        assert "doubled" in repr(session.explain(added, [x]))


def test_nodes_that_are_added_later_are_sent(target):
    v, x, added = step()
    with tf.Session(target) as session:
        session.run(v.initializer)
        later = added + 1.0
        assert session.run(later, {x: [0.0, 0.0]}).tolist() == [2, 3]
        assert session.run(later * 2.0, {x: [0.0, 0.0]}).tolist() == [4, 6]


def test_a_graph_that_was_changed_is_sent_anew(target):
    a, b = tf.constant(1.0), tf.constant(10.0)
    with tf.device("/job:ps/task:0"):
        c = tf.add(a, 1.0)
    with tf.Session(target) as session:
        assert session.run([c, b]) == [2.0, 10.0]
        c.op._update_input(0, b)
        assert session.run(c) == 11.0
        assert session.run(c * 2.0) == 22.0


def test_each_combination_is_kept_until_the_graph_changes(target):
    v, x, added = step()
    with tf.Session(target) as session:
        for _ in range(2):
            session.run(v.initializer)
            session.run(added, {x: [1.0, 1.0]})
            session.run([v, x], {x: [1.0, 1.0]})
        assert "3 plans" in repr(session)
        more = tf.add(v, x)
        session.run(more, {x: [1.0, 1.0]})
        assert "4 plans" in repr(session)
        more.op._update_input(1, tf.constant([5.0, 5.0]))
        assert session.run(more).tolist() == [8.0, 9.0]
        assert "1 plans" in repr(session)


class _Pair:
    """A value of the library attrs, which compares by value and has no hash."""

    __attrs_attrs__ = (SimpleNamespace(name="one"), SimpleNamespace(name="two"))
    __hash__ = None

    def __init__(self, one, two):
        self.one, self.two = one, two


def test_fetches_that_cannot_be_a_key(target):
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.device("/job:ps/task:0"):
        y = x + 1.0
    with tf.Session(target) as session:
        for value in (1.0, 2.0):
            got = session.run(_Pair(y, [x]), {x: value})
            assert (got.one, got.two) == (value + 1.0, [value])
        with pytest.raises(TypeError, match="invalid type"):
            session.run({y})


def test_errors_name_the_node_of_this_graph(target):
    x = tf.placeholder(tf.int32, [])
    with tf.device("/job:ps/task:0"):
        y = tf.gather([1, 2, 3], x, name="beyond")
    with tf.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="beyond") as e:
            session.run(y, {x: 9})
        assert e.value.op is y.op
        assert session.run(y, {x: 1}) == 2


def test_a_run_waits_no_longer_than_it_may(target):
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(1, [tf.float32], shapes=[[]], shared_name="empty")
        taken = queue.dequeue()
    with tf.Session(target) as session, pytest.raises(tf.errors.DeadlineExceededError):
        session.run(taken, options=tf.RunOptions(timeout_in_ms=200))


def test_a_session_that_its_server_does_not_know_says_what_to_do(cluster, target):
    v, _, _ = step()
    with tf.Session(target) as session:
        session.run(v.initializer)
        service = cluster["worker:0"].master_service
        service._sessions.clear()
        with pytest.raises(tf.errors.AbortedError, match=r"Make a new tf.Session"):
            session.run(v + 1.0)


def test_what_cannot_travel_says_so_when_it_is_used(target):
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.device("/job:ps/task:0"):
        plain = tf.add(x, np.arange(3.0, dtype=np.float32), name="plain")
        mine = tf.square(x, name="mine")
        mine.op._set_attr("function", print)
        behind = tf.multiply(plain, np.float32([5.0, 6.0, 7.0]), name="behind")
    with tf.Session(target) as session:
        for _ in range(2):
            assert session.run(behind, {x: 1.0}).tolist() == [5, 12, 21]
            with pytest.raises(tf.errors.InvalidArgumentError, match="'mine' cannot be sent"):
                session.run(tf.exp(mine), {x: 1.0})


def test_a_session_whose_connection_broke_is_made_again(target):
    """As after a restart of the master's task: what was prepared is prepared again when it runs."""
    v, x, added = step()
    with tf.Session(target) as session:
        session.run(v.initializer)
        assert session.run(added, {x: [1.0, 1.0]}).tolist() == [3, 4]
        backend = session.remote.backend
        before, generation = backend.session, backend.generation
        backend._control.close()
        assert session.run([v, x], {x: [0.0, 0.0]})[0].tolist() == [3, 4]  # a new combination
        assert backend.session != before and backend.generation == generation + 1
        for count in (5, 7):
            assert session.run(added, {x: [1.0, 1.0]}).tolist() == [count, count + 1]
        assert backend.generation == generation + 1
        assert session.remote.tasks(added)["v"] == "/job:ps/task:0"


def test_a_fetch_in_a_branch_that_its_task_did_not_take(target):
    x, taken = tf.placeholder(tf.float32, [], name="x"), tf.placeholder(tf.bool, [], name="taken")
    with tf.device("/job:ps/task:0"):
        y = tf.exp(tf.raw_ops.Switch(data=x, pred=taken)[1])
    with tf.Session(target) as session:
        for _ in range(2):
            assert session.run(y, {x: 0.0, taken: True}) == 1.0
            with pytest.raises(tf.errors.InvalidArgumentError, match="in a branch not taken"):
                session.run(y, {x: 0.0, taken: False})


def test_a_connection_that_is_not_quiet_is_closed_before_the_session_is_made_again(
    target, monkeypatch
):
    v, x, added = step()
    with tf.Session(target) as session:
        session.run(v.initializer)
        backend = session.remote.backend
        broken = backend._control
        is_quiet = type(broken).is_quiet
        monkeypatch.setattr(
            type(broken), "is_quiet", lambda self: self is not broken and is_quiet(self)
        )
        assert session.run(added, {x: [1.0, 1.0]}).tolist() == [3, 4]
        assert broken.closed and backend._control is not broken


def test_a_master_is_told_of_a_time_limit_also_when_it_is_over(target, monkeypatch):
    """No time at all would stand for no limit."""
    v, x, added = step()
    heads = []
    with tf.Session(target) as session:
        session.run(v.initializer)
        session.run(added, {x: [1.0, 1.0]})
        send = Connection.send

        def noted(self, kind, channel=0, step=0, tensors=(), head=None, *rest, **more):
            heads.append(head or {})
            return send(self, kind, channel, step, tensors, head, *rest, **more)

        monkeypatch.setattr(Connection, "send", noted)
        now = time.monotonic
        monkeypatch.setattr(remote_master, "time", SimpleNamespace(monotonic=lambda: now() + 60))
        options = tf.RunOptions(timeout_in_ms=5000)
        with contextlib.suppress(tf.errors.DeadlineExceededError):
            session.run(added, {x: [1.0, 1.0]}, options)
        with contextlib.suppress(tf.errors.DeadlineExceededError):  # which is prepared first
            session.run([added, v], {x: [1.0, 1.0]}, options)
    assert {head["timeout"] for head in heads if "timeout" in head} == {0.001}
    assert len([head for head in heads if "timeout" in head]) > 1


def test_a_session_knows_the_task_whose_master_runs_its_steps(target):
    with tf.Session(target) as session:
        assert session.remote.task == "/job:worker/task:0"


def test_the_time_that_is_left_after_preparing_a_step_may_be_short(target, monkeypatch):
    """At least a millisecond: no time at all would stand for no limit."""
    v, _, _ = step()
    with tf.Session(target) as session:
        session.run(v.initializer)
        given = []
        backend = session.remote.backend
        run = type(backend).run

        def noted(self, combination, values, seconds, *rest, **more):
            given.append(seconds)
            return run(self, combination, values, None, *rest, **more)

        monkeypatch.setattr(type(backend), "run", noted)
        now = time.monotonic
        monkeypatch.setattr(client, "time", SimpleNamespace(monotonic=lambda: now() + 60))
        session.run(v + 1.0, options=tf.RunOptions(timeout_in_ms=59_000))
    assert given == [0.001]
