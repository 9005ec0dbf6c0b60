"""Timeline and Stepper of a run on several tasks: a lane for each, what travels, who waits."""

import numpy as np
import pytest

import dataflow as tf
from dataflow.runtime.stepper import record
from dataflow_widgets import ClusterPanel, RewritePlayer, Stepper, Timeline
from dataflow_widgets.base import Delivery

pytestmark = pytest.mark.usefixtures("no_gpus")
PS, WORKER = (f"/job:{job}/replica:0/task:0/device:CPU:0" for job in ("ps", "worker"))


@pytest.fixture(autouse=True)
def _no_bundle():
    Delivery.begun = True


@pytest.fixture
def total(cluster):
    with tf.device("/job:ps/task:0"):
        weights = tf.Variable(np.ones([200, 200], np.float32), name="weights")
    with tf.device("/job:worker/task:0"):
        product = tf.matmul(weights, weights, name="product")
    with tf.device("/job:ps/task:0"):
        result = tf.reduce_sum(product, name="total")
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(weights.initializer)
        yield session, result


def test_a_lane_for_each_task_with_its_copies(total):
    session, result = total
    metadata = tf.RunMetadata()
    session.run(
        result,
        options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE),
        run_metadata=metadata,
    )
    times = Timeline(metadata).times
    assert set(times.lanes) == {PS, WORKER}
    traveled = {
        (times.ops[c.source].name, times.lanes[times.ops[c.target].lane], c.num_bytes)
        for c in times.copies
    }
    assert traveled == {("send_read_1", WORKER, 160_000), ("send_product_0", PS, 160_000)}
    path = [times.ops[i].name for i in times.critical]
    assert path[-4:] == ["product", "send_product_0", "recv_product_0", "total"]
    waits = {times.ops[wait.op].name: wait for wait in times.waits}
    assert times.ops[waits["recv_product_0"].source].name == "send_product_0"


def test_what_travels_is_a_message_with_its_tensors_bytes_and_times(total):
    session, result = total
    for _ in range(2):  # the first run prepares the step
        trace = record(session, result, values="sizes")
    ps, worker = "/job:ps/task:0", "/job:worker/task:0"
    assert [(m.source, m.target, m.tensors, m.num_bytes) for m in trace.messages] == [
        (ps, worker, ("weights/read:0",), 160_000),
        (worker, ps, ("product:0",), 160_000),
    ]
    there, back = trace.messages
    assert 0 <= there.sent_seconds <= there.received_seconds <= back.sent_seconds
    assert back.sent_seconds <= back.received_seconds
    steps = {step.op_name: step for step in trace.steps}
    assert steps["recv_product_0"].device == PS and steps["send_product_0"].device == WORKER
    assert steps["recv_product_0"].outputs[0].shape == (200, 200)
    assert trace.inputs["total"][0] == "recv_product_0:0"


def test_a_message_without_a_tensor_says_that_a_node_is_done(cluster):
    with tf.device("/job:ps/task:0"):
        step = tf.Variable(0, name="step")
        more = tf.assign_add(step, 1, name="more")
    with tf.device("/job:worker/task:0"), tf.control_dependencies([more.op]):
        done = tf.constant(1.0) + 1.0
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(step.initializer)
        (message,) = record(session, done).messages
    assert message.tensors == () and message.num_bytes == 0
    assert (message.source, message.target) == ("/job:ps/task:0", "/job:worker/task:0")


def test_the_stepper_names_tasks_sends_and_receives(total):
    session, result = total
    stepper = Stepper(session, result)
    assert stepper.result == 200.0**3
    nodes = stepper.payload["nodes"]
    run = stepper.payload["trace"]["runs"][0]
    steps = {nodes[step["i"]]["name"]: step for step in run["steps"]}
    assert steps["product"]["on"] == "worker 0"
    assert steps["total"]["on"] == "ps 0"
    (came,) = steps["recv_read_1"]["recv"]
    assert nodes[came[0]]["name"] == "send_read_1"
    assert came[1:3] == ["ps 0", 160_000]
    assert steps["send_product_0"]["send"] == [["ps 0", 160_000]]
    by_name = {node["name"]: node for node in nodes}
    assert by_name["product"]["inputs"] == ["recv_read_1:0", "recv_read_1:0"]
    assert by_name["recv_product_0"]["inputs"] == ["send_product_0:0"]
    sampled = Stepper(session, result, values="sampled")
    assert sampled.result == stepper.result
    assert not any(hasattr(v, "base") for step in sampled.trace.steps for v in step.outputs)


def test_the_rewrites_of_a_divided_run_are_not_one_plan(total):
    session, result = total
    with pytest.raises(TypeError, match=r"divided among /job:ps/task:0, /job:worker/task:0"):
        RewritePlayer(session, result)


def test_the_panel_draws_a_run_by_task_with_what_travels(total, cluster):
    session, result = total
    panel = ClusterPanel()
    words = panel.show_graph(session, result)
    assert "nodes on ps:0, worker:0; 2 values travel, 320,000 bytes a run." in words
    assert {(t["tensor"], t["from"], t["to"]) for t in panel._live.drawn["transfers"]} == {
        ("weights/read:0", "ps:0", "worker:0"),
        ("product:0", "worker:0", "ps:0"),
    }
    panel.close()


def test_the_panel_follows_runs_and_finds_clusters_made_in_code(total, cluster, monkeypatch):
    session, result = total
    messages = []
    monkeypatch.setattr(ClusterPanel, "send", lambda self, m, buffers=None: messages.append(m))
    panel = ClusterPanel()
    panel._selected = next(c for c in panel.clusters if c.spec == cluster.spec)
    assert panel._state()["clusters"][0]["launched"] is False
    panel._receive(panel, {"kind": "opened"}, [])
    for _ in range(5):
        session.run(result)
    assert panel._num_runs == 5
    assert panel._live.drawn["what"] == "session.run(total:0)"
    version = panel._live.version
    session.run("weights:0")  # one variable is looked at: the picture stays
    assert panel._live.version == version
    panel.close()
    session.run(result)
    assert panel._num_runs == 5, "a closed panel costs a run nothing"
    assert session.remote.tasks_of_run(["nothing:0"], []) == {}


def test_the_tasks_of_a_run_are_found_by_its_fetches_and_feeds(total):
    session, result = total
    session.run(result)
    session.run(result, {"product:0": np.zeros((200, 200), np.float32)})
    tasks = session.remote.tasks_of_run(["total:0"], [])
    assert (tasks["weights"], tasks["product"]) == ("/job:ps/task:0", "/job:worker/task:0")
    assert "weights" not in session.remote.tasks_of_run(["total:0"], ["product:0"])
    assert session.remote.tasks_of_run(["total:0"], ["weights:0"]) == {}


def test_a_recorded_run_that_fails_on_a_task_keeps_its_error_or_raises_it(cluster):
    with tf.device("/job:worker/task:1"):
        x = tf.check_numerics(
            tf.placeholder(tf.float32, [2], name="x"), "not finite", name="checked"
        )
    feeds = {"x:0": np.array([1.0, np.inf], np.float32)}
    with tf.Session(cluster["worker:0"].target) as session:
        trace = record(session, x, feeds, catch=True)
        assert "checked" in str(trace.error) and trace.result is None
        with pytest.raises(tf.errors.InvalidArgumentError, match="checked"):
            record(session, x, feeds)


def test_traced_code_is_made_before_the_step_and_only_once(cluster, total):
    """Made in the step it looked like a message of 8 bytes that took 40 ms."""
    session, result = total
    full = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    task = cluster["ps:0"].service
    counts = []
    for _ in range(3):
        session.run(result, options=full, run_metadata=tf.RunMetadata())
        traced = [p.partition for p in task._partitions.values() if p.partition._traced]
        counts.append(len(traced))
    assert counts == [1, 1, 1]
    assert len(traced[0]._traced) == len(traced[0].plan.segments)
    assert not traced[0].is_new, "a traced step does not rewrite its partition meanwhile"
    fresh = type(traced[0])(traced[0].plan, traced[0].session, traced=True)
    fresh._compile = None
    assert all(fresh._traced_segment(n) for n in range(len(fresh.plan.segments)))
