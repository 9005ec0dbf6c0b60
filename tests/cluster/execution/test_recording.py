"""`Recording`: what happened in the steps of a cluster, real and simulated."""

import threading

import numpy as np
import pytest

import dataflow as tf
from dataflow.ops.collective import all_reduce
from dataflow.runtime.stepper import Message, Step, Trace
from dataflow_widgets import ClusterView
from tests.cluster.conftest import LocalCluster

pytestmark = pytest.mark.usefixtures("no_gpus")
PS, FIRST, SECOND = "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"


def training(server, index):
    """A worker's session, and its training step on a variable of the parameter server."""
    graph = tf.Graph()
    with graph.as_default():
        with tf.device(PS):
            weights = tf.Variable(np.ones([50, 20], np.float32), name="weights")
        with tf.device(f"/job:worker/task:{index}"):
            loss = tf.reduce_sum(tf.square(weights), name="loss")
        train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    return tf.Session(server.target, graph=graph), train, loss, weights.initializer


def test_a_run_is_recorded_and_returns_what_it_returns(cluster):
    session, train, loss, initializer = training(cluster["worker:0"], 0)
    recording = tf.cluster.Recording()
    with session:
        session.run(initializer)
        assert recording.run(session, [train, loss])[1] == 1000.0
        assert recording.run(session, loss) == pytest.approx(1000.0 * 0.98**2)
    first, second = recording.steps()
    assert (first.worker, first.outcome, first.version, first.staleness) == (FIRST, "applied", 0, 0)
    assert (second.outcome, second.version, second.staleness) == ("", 1, None)
    assert first.end <= second.begin
    sent = [m for m in recording.messages() if m.step == 1]
    assert {(m.source, m.target, m.num_bytes) for m in sent if m.name} == {
        (PS, FIRST, 4000),
        (FIRST, PS, 4000),
    }
    assert all(m.sent <= m.received for m in sent)
    assert {"weights/read", "loss"} <= {span.name for span in recording.spans()}
    assert set(recording.tasks) == {PS, FIRST}


def test_staleness_counts_the_updates_of_others_between_read_and_update():
    recording = tf.cluster.Recording()
    for worker, read, applied in ((FIRST, 0.0, 3.0), (SECOND, 0.5, 1.0), (SECOND, 1.5, 2.0)):
        recording.add_rows(worker, read, applied, "applied", None, None, [], [])
    assert [(s.worker, s.version, s.staleness) for s in recording.steps()] == [
        (FIRST, 0, 2),
        (SECOND, 0, 0),
        (SECOND, 1, 0),
    ]


def trace_of(graph, messages=(), steps=()):
    """A recorded run that says just this."""
    nothing = frozenset()
    return Trace(graph, list(steps), None, [], [], {}, nothing, nothing, messages=tuple(messages))


def test_a_worker_has_read_when_the_first_value_was_sent_to_it():
    """Not when it arrived: an update in between is one that the worker has not seen."""
    recording = tf.cluster.Recording()
    graph = tf.Graph()
    with graph.as_default():
        update = tf.Variable(0.0).assign_add(1.0)
    applied = Step(update.op.name, "AssignAdd", FIRST, 3.0, 0.1, [])
    arrived = Message(PS, FIRST, ("w",), (4,), 1.0, 2.0)
    others = [
        Message(PS, SECOND, ("w",), (4,), 0.5, 0.6),
        Message(PS, FIRST, ("w",), (4,), 1.2, 1.3),
    ]
    recording.add_rows(SECOND, 0.0, 1.1, "applied", None, None, [], [])
    recording.add(trace_of(graph, [others[0], arrived, others[1]], [applied]), FIRST)
    assert [step.staleness for step in recording.steps()] == [0, 1]


def test_arrays_of_unknown_shape_are_no_bytes():
    graph = tf.Graph()
    with graph.as_default():
        known = all_reduce(tf.ones([10]), 2, 1, 1, "Add", "Id")
        unknown = all_reduce(tf.placeholder(tf.float32), 2, 1, 2, "Add", "Id")
    steps = [Step(t.op.name, t.op.type, FIRST, 0.0, 0.1, []) for t in (known, unknown)]
    recording = tf.cluster.Recording()
    recording.add(trace_of(graph, steps=steps), FIRST)
    assert recording.reduced_bytes == 40


def test_the_oldest_steps_go_and_a_thousand_take_less_than_20_mb():
    recording = tf.cluster.Recording(max_steps=1000)
    spans = [(task, f"op{i}", 0.0, 1.0) for task in (PS, FIRST, SECOND) for i in range(60)]
    messages = [(PS, FIRST, f"tensor{i}", 0.0, 1.0) for i in range(20)]
    for _ in range(1100):
        recording.add_rows(FIRST, 0.0, 1.0, "applied", None, None, spans, messages)
    assert len(recording) == 1000 and recording.num_steps == 1100
    assert recording.steps()[0].number == 101
    assert recording.num_bytes < 20e6
    few, none = tf.cluster.Recording(), tf.cluster.Recording()
    for _ in range(11):
        few.add_rows(FIRST, 0.0, 1.0, "applied", None, None, spans, messages)
    assert none.num_bytes == 0
    assert few.num_bytes * 1000 == recording.num_bytes * 11  # each step's rows, and no more
    assert few.num_bytes > 11 * (len(spans) + len(messages)) * 8


def test_sessions_of_several_workers_share_a_recording(cluster):
    recording = tf.cluster.Recording()
    sessions = [training(cluster[f"worker:{i}"], i) for i in range(2)]
    sessions[0][0].run(sessions[0][3])

    def work(session, train):
        for _ in range(5):
            recording.run(session, train)

    threads = [threading.Thread(target=work, args=each[:2]) for each in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for each in sessions:
        each[0].close()
    workers = [step.worker for step in recording.steps()]
    assert sorted(workers) == [FIRST] * 5 + [SECOND] * 5


def test_a_session_of_this_process_alone_is_refused():
    with tf.Session() as session, pytest.raises(ValueError, match="pass a session of a cluster"):
        tf.cluster.Recording().run(session, tf.constant(1))
    with pytest.raises(ValueError, match="at least 1, got 0"):
        tf.cluster.Recording(max_steps=0)


def test_a_simulation_is_recorded_with_its_tokens_and_what_was_dropped():
    done = tf.cluster.simulate(2, 1, steps=10, record=True)
    steps = done.recording.steps()
    assert sum(step.outcome == "dropped" for step in steps) == done.gradients_dropped
    assert sum(step.outcome == "applied" for step in steps) == done.gradients_used
    assert all(step.token == step.begin for step in steps)
    assert max(step.version for step in steps) >= 9
    assert {step.staleness for step in steps} == {0, None}
    assert {(m.source, m.name) for m in done.recording.messages()} >= {(PS, "parameters")}
    asynchronous = tf.cluster.simulate(4, steps=20, mode="async", record=True)
    steps = sorted(asynchronous.recording.steps(), key=lambda step: step.number)
    assert [step.staleness for step in steps] == asynchronous.staleness.tolist()
    assert all(step.token is None for step in steps)
    assert tf.cluster.simulate(2, steps=3).recording is None


def test_the_hops_of_a_ring_are_recorded_from_both_ends(make_spec):
    """Each worker records its own session; when a chunk left is in the one run, when it arrived in the other."""
    cluster = LocalCluster(make_spec(worker=3))
    recording = tf.cluster.Recording()

    def work(index):
        graph = tf.Graph()
        with graph.as_default(), tf.device(f"/job:worker/task:{index}"):
            mean = all_reduce(tf.ones([300]), 3, 5, 1, "Add", "Div")
            with tf.Session(cluster[f"worker:{index}"].target, graph=graph) as session:
                for _ in range(4):
                    recording.run(session, mean)

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(3)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
    finally:
        cluster.stop()
    tasks = [f"/job:worker/task:{i}" for i in range(3)]
    assert recording.ring == tasks and recording.reduced_bytes == 1200
    hops = [m for m in recording.messages() if "CollectiveReduce" in m.name]
    assert len(hops) == 4 * 3 * 4  # steps, workers, 2 (n - 1)
    assert sum(m.num_bytes for m in hops) == 4 * 3 * 1600  # 2 (n - 1) / n of the array
    # A finished chunk may be read, in the vector that all share, before the member between passes it on.
    times = [m.received - m.sent for m in hops]
    assert all(0 <= seconds < 30 for seconds in times) and any(times), "both ends are known"
    assert not recording._open_hops and not recording._early_hops
    view = ClusterView(recording)
    assert view._scene["ring"] and "measured: 1.6 KB, 1.33 of it" in view.describe()
    play = view._payload()["play"]
    arcs = {n for n, link in enumerate(view._scene["links"]) if "arrow" in link}
    assert len(play["messages"]) == len(hops) and {row[0] for row in play["messages"]} == arcs
    assert "in theory" in view.to_svg()
