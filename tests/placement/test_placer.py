"""Pins of a local session: kept, softened, or refused with what there is."""

from __future__ import annotations

import pytest

import dataflow as tf
from dataflow.placement import placer

pytestmark = pytest.mark.usefixtures("graph")


@pytest.mark.parametrize(
    "device",
    [
        "/cpu:0",
        "/device:CPU:0",
        "/job:localhost/replica:0/task:0/cpu:0",
        "/job:localhost",
        "/task:0",
        "",
    ],
)
def test_what_is_there_is_taken(device) -> None:
    with tf.device(device):
        a = tf.constant(1) + 1
    with tf.Session() as s:
        assert s.run(a) == 2


@pytest.mark.parametrize(
    ("device", "advice"),
    [
        ("/gpu:9", "allow_soft_placement"),
        ("/cpu:1", "allow_soft_placement"),
        ("/job:ps/task:0", "server.target"),
        ("/job:worker/task:7/gpu:0", "server.target"),
    ],
)
def test_what_is_not_there_is_refused(device, advice) -> None:
    with tf.device(device):
        a = tf.constant(1, name="pinned")
    b = tf.constant(2)
    with tf.Session() as s:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device") as e:
            s.run(a)
        for part in (
            "pinned",
            tf.DeviceSpec.from_string(device).to_string(),
            "CPU:0",
            advice,
            "test_placer",
        ):
            assert part in str(e.value)
        assert s.run(b) == 2  # what is pruned need not be placed, and the session goes on


def test_soft_placement_falls_back_to_the_cpu() -> None:
    with tf.device("/gpu:0"):
        i = tf.Variable(3)
    config = tf.ConfigProto()
    config.allow_soft_placement = True
    with tf.Session(config=config) as s:
        s.run(i.initializer)
        assert s.run(i) == 3
    with tf.device("/job:ps/task:0"):  # a graph for a cluster, tried in one process
        a = tf.constant(1)
    with tf.Session(config=config) as s:
        assert s.run(a) == 1


def test_more_cpus_can_be_shown() -> None:
    with tf.device("/cpu:1"):
        beta = tf.Variable(2.0)
    with tf.device("/cpu:0"):
        y = beta * 2.0
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as s:
        s.run(beta.initializer)
        assert s.run(y) == 4


def test_the_log_says_where_nodes_run(capsys) -> None:
    with tf.device("/cpu:0"):
        a = tf.constant(1, name="a")
    b = tf.add(a, 1, name="b")
    with tf.Session(config=tf.ConfigProto(log_device_placement=True)) as s:
        s.run(b)
    text = capsys.readouterr().err
    assert "a: (Const): /job:localhost/replica:0/task:0/device:CPU:0" in text
    assert "b: (Add): /job:localhost" in text


def test_placement_is_logged_once(capsys: pytest.CaptureFixture[str]) -> None:
    y = tf.square(tf.placeholder(tf.float32, [], name="x"), name="y")
    with tf.Session(config=tf.ConfigProto(log_device_placement=True)) as s:
        for _ in range(5):  # rewritten on the way
            s.run(y, {"x:0": 2.0})
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["y: (Square): /job:localhost/replica:0/task:0/device:CPU:0"]


def test_the_debugging_module_logs_placement_of_every_session(
    capsys: pytest.CaptureFixture[str],
) -> None:
    y = tf.square(tf.placeholder(tf.float32, [], name="x"), name="y")
    assert not tf.debugging.get_log_device_placement()
    tf.debugging.set_log_device_placement(True)
    try:
        with tf.Session() as s:
            s.run(y, {"x:0": 2.0})
        assert tf.debugging.get_log_device_placement()
    finally:
        tf.debugging.set_log_device_placement(False)
    with tf.Session() as s:
        s.run(y, {"x:0": 2.0})
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["y: (Square): /job:localhost/replica:0/task:0/device:CPU:0"]


def test_what_is_not_pinned_runs_on_the_first_cpu(capsys: pytest.CaptureFixture[str]) -> None:
    a = tf.constant(1, name="a")
    with tf.device("/cpu:1"):
        b = tf.add(a, 1, name="b")
    c = tf.add(b, 1, name="c")
    config = tf.ConfigProto(device_count={"CPU": 3}, log_device_placement=True)
    with tf.Session(config=config) as s:
        assert s.run(c) == 3
    told = dict(line.split(": ", 1) for line in capsys.readouterr().err.splitlines())
    where = {name: text.rpartition("device:")[2] for name, text in told.items()}
    assert (where["a"], where["b"], where["c"]) == ("CPU:0", "CPU:1", "CPU:0")


@pytest.mark.parametrize(
    ("counts", "num_gpus", "shown"),
    [
        ({}, 0, ["CPU:0"]),
        ({}, 2, ["CPU:0", "GPU:0", "GPU:1"]),
        ({"CPU": 2}, 1, ["CPU:0", "CPU:1", "GPU:0"]),
        ({"CPU": 0}, 0, ["CPU:0"]),  # there is always one
        ({"GPU": 1}, 2, ["CPU:0", "GPU:0"]),
        ({"GPU": 3}, 1, ["CPU:0", "GPU:0"]),  # no more than there are
        ({"GPU": 0}, 1, ["CPU:0"]),
    ],
)
def test_devices_of_a_process(counts: dict[str, int], num_gpus: int, shown: list[str]) -> None:
    config = tf.ConfigProto(device_count=counts)
    found = placer.local_devices(config, num_gpus)
    assert found == [f"/job:localhost/replica:0/task:0/device:{name}" for name in shown]
    (first, *_) = placer.local_devices(None, 0, "/job:ps/task:3")
    assert first == "/job:ps/replica:0/task:3/device:CPU:0"


@pytest.mark.parametrize(
    ("device", "asked"),
    [
        ("", ""),
        ("/job:ps/task:1", ""),
        ("/job:ps/task:1/gpu:2", "/device:GPU:2"),
        ("/device:GPU:*", "/device:GPU:0"),
        ("/cpu:0", "/device:CPU:0"),
    ],
)
def test_what_a_node_asks_of_its_task(device: str, asked: str) -> None:
    with tf.device(device):
        node = tf.constant(1).op
    assert placer.pin_within_task(node) == asked


def test_where_nothing_compiles_the_error_says_that_there_are_no_gpus(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Said of GPUs only, and only there (in the browser)."""

    def error(device: str) -> str:
        with tf.device(device):
            node = tf.constant(1)
        with tf.Session() as s, pytest.raises(tf.errors.InvalidArgumentError) as e:
            s.run(node)
        return str(e.value)

    told = "there is no CuPy"
    assert told not in error("/cpu:7")
    if placer.MACHINE_CODE:
        assert told not in error("/gpu:0")
    monkeypatch.setattr(placer, "MACHINE_CODE", False)
    monkeypatch.setattr(placer, "why_not", lambda: "this is a browser")
    assert told not in error("/cpu:7")
    assert "As this is a browser, there is no CuPy" in error("/gpu:0")


def test_a_pin_to_another_replica_is_another_tasks() -> None:
    with tf.device("/job:localhost/replica:1/task:0/cpu:0"):
        node = tf.constant(1)
    with tf.Session() as s, pytest.raises(tf.errors.InvalidArgumentError, match="server.target"):
        s.run(node)
