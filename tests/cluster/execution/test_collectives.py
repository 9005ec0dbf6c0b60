"""Collective ops between tasks: in one session, in a session for each task, and when members are lost."""

import threading

import numpy as np
import pytest

import dataflow as tf
from dataflow.ops.collective import (
    all_gather,
    all_reduce,
    broadcast_recv,
    broadcast_send,
    reduce_scatter,
)
from tests.cluster.conftest import LocalCluster

PATIENCE = 60


@pytest.fixture
def workers(make_spec):
    """Three workers in this process."""
    cluster = LocalCluster(make_spec(worker=3))
    yield [cluster[f"worker:{i}"] for i in range(3)]
    cluster.stop()


def reduce_on(index, size=3, **options):
    """A graph with one member: (graph, what is fed, the result)."""
    graph = tf.Graph()
    with graph.as_default(), tf.device(f"/job:worker/task:{index}"):
        x = tf.placeholder(tf.float32, [None])
        return graph, x, all_reduce(x, size, 5, 1, "Add", "Id", **options)


class Member(threading.Thread):
    """A worker's own session, which runs its op on each of several values."""

    def __init__(self, index, target, values, size=3, config=None, after=None, **options):
        super().__init__(daemon=True)
        self.graph, self.x, self.y = reduce_on(index, size, **options)
        self.target, self.values, self.config = target, values, config
        self.results, self.error, self.after = [], None, after
        self.start()

    def run(self):
        try:
            with tf.Session(self.target, graph=self.graph, config=self.config) as session:
                for value in self.values:
                    self.results.append(session.run(self.y, {self.x: value}))
                    if self.after is not None:
                        self.after.wait(PATIENCE)
        except tf.errors.OpError as error:
            self.error = error

    def ended(self):
        self.join(PATIENCE)
        assert not self.is_alive()
        return self


def nothing_stays(workers):
    """No mail and no ticket is left on any task."""
    return not any(
        w.service.collectives._mailboxes or w.service.collectives._tickets for w in workers
    )


def wait_for_members(leader, count):
    """Until so many members wait at the leader."""
    groups = leader.service.collectives._rendezvous._groups
    for _ in range(PATIENCE * 100):
        if sum(len(r) for g in [*groups.values()] for rs in g.rounds.values() for r in rs) == count:
            return
        threading.Event().wait(0.01)
    pytest.fail(f"{count} members were not there in {PATIENCE} s")


def test_all_kinds_in_one_session(workers):
    """The client's graph has all members; it is the master that puts them on their tasks."""
    with tf.Graph().as_default():
        built = []
        for i in range(3):
            with tf.device(f"/job:worker/task:{i}"):
                x = tf.constant(np.arange(6, dtype=np.float32).reshape(3, 2) + i)
                built.append([
                    all_reduce(x, 3, 1, 1, "Add", "Div"),
                    all_gather(x, 3, 1, 2),
                    reduce_scatter(x, 3, 1, 3, "Max"),
                    broadcast_send(x, [3, 2], tf.float32, 3, 1, 4)
                    if i == 1
                    else broadcast_recv([3, 2], tf.float32, 3, 1, 4),
                ])  # fmt: skip
        base = np.arange(6, dtype=np.float32).reshape(3, 2)
        with tf.Session(workers[2].target) as session:
            for _ in range(5):  # the first steps are prepared, later ones rewritten
                for i, values in enumerate(session.run(built)):
                    expected = [base + 1, np.concatenate([base, base + 1, base + 2]),
                                base[i : i + 1] + 2, base + 1]  # fmt: skip
                    for value, wanted in zip(values, expected, strict=True):
                        np.testing.assert_array_equal(value, wanted)
    assert nothing_stays(workers)


def test_between_graphs_and_what_travels(workers):
    values = np.random.RandomState(0).randn(3, 300_000).astype(np.float32)
    before = [w.status()["sent_bytes"] for w in workers]
    members = [Member(i, w.target, [values[i]] * 4) for i, w in enumerate(workers)]
    results = [member.ended().results for member in members]
    for i, w in enumerate(workers):
        np.testing.assert_allclose(results[i][3], values.sum(0), rtol=1e-4, atol=1e-5)
        assert results[i][3].tobytes() == results[0][0].tobytes()
        # 2 (n - 1) / n of the tensor in each of four steps, and some hundred bytes of talk.
        theory = 4 * 2 * 2 / 3 * values[0].nbytes
        assert theory <= w.status()["sent_bytes"] - before[i] < 1.1 * theory
    assert nothing_stays(workers)


def test_all_members_are_told_of_a_shape_that_differs(workers):
    members = [Member(i, w.target, [[1.0] * (2 + i // 2)]) for i, w in enumerate(workers)]
    for member in members:
        error = member.ended().error
        assert isinstance(error, tf.errors.InvalidArgumentError)
        assert "/job:worker/task:2 'CollectiveReduce': reduce of float32[3]" in error.message
        assert "do not agree on the shape" in error.message
    assert nothing_stays(workers)


@pytest.mark.parametrize(
    ("config", "options"),
    [(tf.ConfigProto(operation_timeout_in_ms=1500), {}), (None, {"timeout": 1.0})],
    ids=["the session's time-out", "the op's"],
)
def test_a_member_that_never_comes_is_named(workers, config, options):
    # The one whose time runs out comes last: however busy the machine is, the other is not missing.
    members = [Member(0, workers[0].target, [[1.0]])]
    wait_for_members(workers[0], 1)
    members.append(Member(1, workers[1].target, [[1.0]], config=config, **options))
    errors = [member.ended().error for member in members]
    assert any(isinstance(error, tf.errors.DeadlineExceededError) for error in errors)
    for error in errors:
        assert "missing: /job:worker/task:2" in error.message
    assert nothing_stays(workers)


def test_another_leader(workers):
    """The members meet where the session's config says, here at a task that is no member."""
    config = tf.ConfigProto(experimental=tf.ConfigProto.Experimental(
        collective_group_leader="/job:worker/replica:0/task:2"
    ))  # fmt: skip
    members = [Member(i, workers[i].target, [[1.0]], 2, config) for i in (0, 1)]
    assert [member.ended().results[0].tolist() for member in members] == [[2.0], [2.0]]
    assert workers[2].service.collectives._rendezvous.has_member("/job:worker/task:0")
    assert not workers[0].service.collectives._rendezvous.has_member("/job:worker/task:0")


def test_a_closed_session_ends_the_waiting(workers):
    graph, x, y = reduce_on(1)
    session = tf.Session(workers[1].target, graph=graph)
    waiting = Member(0, workers[0].target, [[1.0]])
    errors = []

    def run():
        try:
            session.run(y, {x: [1.0]})
        except tf.errors.OpError as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    wait_for_members(workers[0], 2)
    session.close()
    thread.join(PATIENCE)
    assert errors and isinstance(waiting.ended().error, tf.errors.OpError)
    assert "/job:worker/task:1" in waiting.error.message
    assert nothing_stays(workers)


@pytest.mark.parametrize("lost", [0, 2], ids=["the leader", "a member"])
def test_a_process_that_dies(make_spec, start_servers, lost):
    """The others wait for it in a step; all of them fail, name it, and can go on when it is back."""
    cluster = start_servers(make_spec(worker=3), "worker")
    targets = [cluster.target(f"worker:{i}") for i in range(3)]
    gate = threading.Event()
    members = [
        Member(i, targets[i], [[1.0]] * 2, after=gate if i == lost else None) for i in range(3)
    ]
    for _ in range(PATIENCE * 100):
        if members[lost].results:
            break
        threading.Event().wait(0.01)
    cluster.kill(f"worker:{lost}")
    for i, member in enumerate(members):
        if i != lost:
            error = member.ended().error
            assert isinstance(error, tf.errors.UnavailableError | tf.errors.AbortedError)
            assert f"/job:worker/task:{lost}" in error.message
    gate.set()
    members[lost].ended()
    cluster.start(f"worker:{lost}")
    members = [Member(i, targets[i], [[2.0]]) for i in range(3)]
    assert [m.ended().error for m in members] == [None] * 3
    assert [m.results[0].tolist() for m in members] == [[6.0]] * 3
