"""Tasks with a GPU (a pretend one): nodes go to it, what travels between tasks is the host's, and
the client sees both in its list of devices and in traces.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.xp import is_device_array, pretend_gpus
from tests.cluster.conftest import LocalCluster


@pytest.fixture
def server() -> Iterator[Any]:
    with pretend_gpus(1), tf.Graph().as_default():
        server = tf.train.Server.create_local_server()
        try:
            yield server
        finally:
            server.stop()


def test_training_on_a_tasks_gpu(server: Any) -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    w = tf.get_variable("w", initializer=np.ones((3, 1), np.float32))
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 2.0))
    count = tf.train.get_or_create_global_step()
    step = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=count)
    data = np.linspace(0, 1, 12, dtype=np.float32).reshape(4, 3)

    def train(session: Any) -> list[float]:
        session.run(tf.global_variables_initializer())
        return [session.run([loss, step], {x: data})[0] for _ in range(6)]

    with tf.Session(server.target) as session:
        losses = train(session)
        assert session.run(count) == 6
    held = dict(server.resources.items("variable"))
    assert is_device_array(held["w"].array)
    with pretend_gpus(0), tf.Session() as plain:
        np.testing.assert_allclose(losses, train(plain), rtol=1e-5)


def test_pins_name_a_tasks_devices(server: Any) -> None:
    with tf.device("/job:local/task:0/cpu:0"):
        a = tf.constant([1.0, 2.0])
    with tf.device("/job:local/task:0/device:GPU:0"):
        b = tf.square(a, name="b")
    text = tf.as_string(b)
    with tf.Session(server.target) as session:
        assert session.run([b, text[0]])[1].startswith(b"1.0")
        assert session.run(b).tolist() == [1, 4]


def test_status_names_the_devices(server: Any) -> None:
    assert server.status()["device"] == "CPU:0, GPU:0"


@pytest.fixture
def gpu_cluster(make_spec: Any) -> Iterator[LocalCluster]:
    with pretend_gpus(1), tf.Graph().as_default():
        cluster = LocalCluster(make_spec(ps=1, worker=2))
        try:
            yield cluster
        finally:
            cluster.stop()


def traced(session: Any, fetch: Any, feeds: Any = None) -> tuple[Any, dict[str, list[str]]]:
    """The result of a traced run, and the labels of its nodes by lane."""
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    result = session.run(fetch, feeds, options=options, run_metadata=metadata)
    lanes = {
        lane.device: [node.timeline_label for node in lane.node_stats]
        for lane in metadata.step_stats.dev_stats
    }
    return result, lanes


def lane(job: str, index: int, device: str) -> str:
    return f"/job:{job}/replica:0/task:{index}/device:{device}"


def test_the_client_lists_the_gpus_of_all_tasks(gpu_cluster: LocalCluster) -> None:
    with tf.Session(gpu_cluster["worker:0"].target) as session:
        listed = session.list_devices()
        assert [(d.name, d.device_type) for d in listed] == [
            (lane(job, index, f"{kind}:0"), kind)
            for job, index in (("ps", 0), ("worker", 0), ("worker", 1))
            for kind in ("CPU", "GPU")
        ]
        assert all("pretend" in d.physical_device_desc for d in listed if d.device_type == "GPU")
        gpu_cluster["worker:1"].stop()
        assert [d.name for d in session.list_devices()[4:]] == [lane("worker", 1, "CPU:0")]
        assert "does not answer" in session.list_devices()[4].physical_device_desc


def test_a_trace_has_lanes_for_gpus_and_the_copies_on_them(gpu_cluster: LocalCluster) -> None:
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    with tf.device("/job:ps/task:0/cpu:0"):
        w = tf.Variable(np.eye(2, dtype=np.float32) * 2, name="w")
        read = tf.identity(w, name="read")
    with tf.device("/job:worker/task:0"):
        left = tf.matmul(x, read, name="left")
    with tf.device("/job:worker/task:1/gpu:0"):
        right = tf.matmul(read, x, name="right")
    with tf.device("/job:ps/task:0/cpu:0"):
        total = tf.add(left, right, name="total")
    feeds = {x: np.arange(4, dtype=np.float32).reshape(2, 2)}
    with tf.Session(gpu_cluster["worker:0"].target) as session:
        session.run(w.initializer)
        result, lanes = traced(session, total, feeds)
        assert result.tolist() == [[0, 4], [8, 12]]
        assert "total = Add(recv_left_0, recv_right_3)" in lanes[lane("ps", 0, "CPU:0")]
        sends = lanes[lane("worker", 0, "CPU:0")]
        assert "send_left_0 = _Send(left/copy_to_host)" in sends
        assert not any("GPU" in name and "/job:ps" in name for name in lanes)
        for index, name in ((0, "left"), (1, "right")):
            labels = lanes[lane("worker", index, "GPU:0")]
            into = [text for text in labels if "= _CopyToDevice(" in text]
            assert sorted(text.partition("(")[2] for text in into) == [
                f"recv_read_{index + 1})",
                "x)",
            ], labels
            (made,) = [text for text in labels if text.startswith(f"{name} = MatMul(")]
            # What it reads are the copies of its own task.
            names = {text.partition(" = ")[0] for text in into}
            assert names == set(made.partition("(")[2].rstrip(")").split(", "))
            out = [text for text in labels if "= _CopyToHost(" in text]
            assert out == [f"{name}/copy_to_host = _CopyToHost({name})"]
        copies = [text for labels in lanes.values() for text in labels if "_Copy" in text]
        assert len({text.partition(" = ")[0] for text in copies}) == len(copies) == 6

        from dataflow_widgets import Stepper

        stepper = Stepper(session, total, feeds)
        nodes = {node["name"]: node for node in stepper._nodes}
        assert nodes["x/copy_to_gpu_0"]["inputs"] == ["x:0"]
        assert "worker 1 GPU 0" in str(stepper.payload["trace"]["runs"][0])


def test_what_stays_on_a_task_stays_on_its_gpu(gpu_cluster: LocalCluster) -> None:
    """Values that wait for another task's wait in the GPU's memory; what travels is copied once."""
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    with tf.device("/job:worker/task:0"):
        squares = tf.square(x, name="squares")
        sums = tf.reduce_sum(squares, 0, name="sums")
    with tf.device("/job:ps/task:0"):
        scale = tf.negative(sums, name="scale")
    with tf.device("/job:worker/task:0"):
        y = tf.multiply(squares, scale, name="y")  # in a later segment than the squares
        z = tf.add(y, sums, name="z")
    feeds = {x: np.arange(8, dtype=np.float32).reshape(2, 4)}
    with tf.Session(gpu_cluster["worker:0"].target) as session:
        for _ in range(5):  # rewritten on the way
            result = session.run(z, feeds)
        traced_result, lanes = traced(session, z, feeds)
    squared = feeds[x] ** 2
    np.testing.assert_allclose(result, squared * -squared.sum(0) + squared.sum(0))
    np.testing.assert_array_equal(traced_result, result)
    copies = [
        text.partition(" = ")[2] for text in lanes[lane("worker", 0, "GPU:0")] if "= _Copy" in text
    ]
    assert sorted(copies) == [
        "_CopyToDevice(recv_scale_0)",
        "_CopyToDevice(sums)",
        "_CopyToDevice(x)",
        "_CopyToHost(sums)",
        "_CopyToHost(z)",
    ]


def test_placement_is_logged_by_the_client(
    gpu_cluster: LocalCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    with tf.device("/job:ps/task:0/cpu:0"):
        a = tf.constant([1.0, 2.0], name="a")
    with tf.device("/job:worker/task:1"):
        b = tf.square(a, name="b")
        text = tf.as_string(b, name="text")
    config = tf.ConfigProto(log_device_placement=True)
    with tf.Session(gpu_cluster["worker:0"].target, config=config) as session:
        for _ in range(4):
            session.run(text)
    assert sorted(capsys.readouterr().err.splitlines()) == [
        f"a: (Const): {lane('ps', 0, 'CPU:0')}",
        f"b: (Square): {lane('worker', 1, 'GPU:0')}",
        f"text: (AsString): {lane('worker', 1, 'CPU:0')}",
    ]


def test_a_pin_that_a_task_cannot_keep_is_refused(gpu_cluster: LocalCluster) -> None:
    """As in a session of one process: which kernel is missing, where, and what to do."""
    with tf.device("/job:worker/task:1/gpu:0"):
        count = tf.Variable(0, name="count")
    with tf.device("/job:worker/task:1/gpu:3"):
        y = tf.square(2.0, name="y")
    with tf.device("/job:worker/task:0/gpu:0"):
        text = tf.as_string([1.5], name="text")
    with tf.Session(gpu_cluster["worker:0"].target) as session:
        for fetch, parts in (
            (count.initializer, ("count", "VariableV2", "a GPU holds no variables of int32")),
            (y, ("/job:worker/replica:0/task:1/device:GPU:0", "/device:GPU:3")),
            (text, ("AsString", "strings live in the host's memory")),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign") as e:
                session.run(fetch)
            for part in (*parts, "allow_soft_placement", "test_gpu_in_tasks"):
                assert part in str(e.value)
        assert session.run(tf.constant(3.0) * 2.0) == 6.0  # the session goes on
    config = tf.ConfigProto(allow_soft_placement=True)
    with tf.Session(gpu_cluster["worker:0"].target, config=config) as session:
        session.run(count.initializer)
        assert session.run([count, y, text[0]]) == [0, 4.0, b"1.500000"]


@pytest.fixture
def no_gpu() -> Iterator[None]:
    with pretend_gpus(0):
        yield


def test_without_a_gpu_a_softened_pin_makes_no_lane(no_gpu: None, cluster: LocalCluster) -> None:
    with tf.device("/job:worker/task:1/gpu:0"):
        y = tf.square(tf.constant(3.0), name="y")
    config = tf.ConfigProto(allow_soft_placement=True)
    with tf.Session(cluster["worker:0"].target, config=config) as session:
        result, lanes = traced(session, y)
    with tf.Session(cluster["worker:0"].target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Const.*GPU:0.*CPU:0"):
            session.run(y)
    assert result == 9.0
    assert any(text.startswith("y = ") for text in lanes[lane("worker", 1, "CPU:0")])
    assert not any("GPU" in name for name in lanes)


def test_gpus_of_other_processes(
    make_spec: Any,
    start_servers: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("DATAFLOW_PRETEND_GPUS", "1")
        cluster = start_servers(make_spec(worker=2), "worker")
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.device("/job:worker/task:1/gpu:0"):
        y = tf.square(x, name="y")
    config = tf.ConfigProto(log_device_placement=True)
    with tf.Session(cluster.target("worker:0"), config=config) as session:
        kinds = [(d.name, d.device_type) for d in session.list_devices()]
        assert (lane("worker", 1, "GPU:0"), "GPU") in kinds and len(kinds) == 4
        result, lanes = traced(session, y, {x: [1.0, 3.0]})
        assert result.tolist() == [1, 9]
        assert "y = Square(x/copy_to_gpu_0)" in lanes[lane("worker", 1, "GPU:0")]
        session.run(y, {x: [1.0, 3.0]})
    assert f"y: (Square): {lane('worker', 1, 'GPU:0')}" in capsys.readouterr().err
