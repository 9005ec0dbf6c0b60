"""Where copies between memories are put, and where fetched values are left."""

from __future__ import annotations

from typing import Any

import pytest

import dataflow as tf
from dataflow.placement.transfers import Placed, devices_of_feeds, insert_copies, short_name
from dataflow.rewrites.prune import needed_operations

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
GPU_1 = "/job:localhost/replica:0/task:0/device:GPU:1"


pytestmark = pytest.mark.usefixtures("graph")


def placed(fetches: list[Any], on: dict[Any, str], feeds: Any = (), **places: Any) -> Placed:
    """The plan of some fetches with nodes on the devices that ``on`` says, else on the CPU."""
    ops = needed_operations(fetches, [], feeds)
    devices = dict.fromkeys(ops, CPU) | {tensor.op: device for tensor, device in on.items()}
    return insert_copies(ops, fetches, [], feeds, devices, **places)


def copies(result: Placed) -> dict[str, str]:
    """By name of each copy the memory that its kernel runs in."""
    return {op.name: result.kernel_devices[op] for op in result.ops if op.type.startswith("_Copy")}


@pytest.mark.parametrize(
    ("device", "short"), [(CPU, "cpu"), (GPU, "gpu:0"), (GPU_1, "gpu:1"), ("/gpu", "gpu:0")]
)
def test_short_names(device: str, short: str) -> None:
    assert short_name(device) == short


@pytest.mark.parametrize(
    ("wanted", "left", "made"),
    [
        ("cpu", "cpu", {"y/copy_to_host": "gpu:0"}),
        ("gpu:0", "gpu:0", {}),
        (None, "gpu:0", {}),
        ("gpu:1", "gpu:1", {"y/copy_to_gpu_1": "gpu:1"}),
    ],
)
def test_a_value_of_a_gpu_is_left_where_it_is_wanted(
    wanted: str | None, left: str, made: dict[str, str]
) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.square(x, name="y")
    result = placed([y], {y: GPU}, [x], feed_places=["gpu:0"], fetch_places=[wanted])
    assert result.fetch_places == (left,) and copies(result) == made
    assert result.fetches[0].op.name == next(iter(made), "y")


def test_a_value_of_the_host_is_brought_to_the_gpu_that_wants_it() -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.square(x, name="y")
    result = placed([y, x], {}, [x], fetch_places=["gpu:1", None])
    assert result.fetch_places == ("gpu:1", "cpu")
    assert copies(result) == {"y/copy_to_gpu_1": "gpu:1"}
    (copy,) = (op for op in result.ops if op.type == "_CopyToDevice")
    assert copy.device == GPU_1


def test_one_copy_serves_a_fetch_and_a_node() -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.square(x, name="y")
    z = tf.negative(y, name="z")
    result = placed([y, z], {y: GPU}, [x], feed_places=["gpu:0"], fetch_places=["cpu", "cpu"])
    assert copies(result) == {"y/copy_to_host": "gpu:0"}
    assert [t.op.name for t in result.fetches] == ["y/copy_to_host", "z"]


def test_a_value_that_is_fed_to_a_gpu_is_copied_to_the_host_for_its_nodes() -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.square(x, name="y")
    assert copies(placed([y], {y: GPU}, [x], feed_places=["gpu:0"])) == {}
    assert copies(placed([y], {y: GPU}, [x])) == {"x/copy_to_gpu_0": "gpu:0"}
    assert copies(placed([y], {}, [x], feed_places=["gpu:0"])) == {"x/copy_to_host": "gpu:0"}


def test_an_output_that_is_not_the_first_says_which_it_is() -> None:
    a, b = tf.split(tf.placeholder(tf.float32, [4], name="x"), 2, name="parts")
    on = {a: GPU}
    result = placed([b, a], on, fetch_places=["cpu", "cpu"])
    assert [t.op.name for t in result.fetches] == ["parts/copy_to_host_1", "parts/copy_to_host"]
    assert len({t.op for t in result.fetches}) == 2


@pytest.mark.parametrize(("waits", "tested"), [(False, "positive"), (True, "again")])
def test_a_switch_tests_what_is_behind_an_identity_that_waits_for_nothing(
    waits: bool, tested: str
) -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    positive = tf.greater(x, 0.0, name="positive")
    with tf.control_dependencies([tf.no_op()] if waits else []):
        again = tf.identity(positive, name="again")
    _, taken = tf.raw_ops.Switch(data=x, pred=again)
    everywhere = dict.fromkeys((positive, again, taken, x), GPU)
    result = placed([taken], everywhere, [x])
    assert f"{tested}/copy_to_host" in copies(result)
    (switch,) = (op for op in result.ops if op.type == "Switch")
    assert switch.inputs[1].op.name == f"{tested}/copy_to_host"


def test_a_feed_is_copied_to_the_one_gpu_that_reads_it() -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    y, z = tf.square(x, name="y"), tf.negative(x, name="z")
    assert devices_of_feeds(placed([y], {y: GPU_1}, [x])) == ["gpu:1"]
    assert devices_of_feeds(placed([y, z], {y: GPU, z: GPU_1}, [x])) == [""]
    assert devices_of_feeds(placed([y, z], {y: GPU}, [x])) == [""]  # the host reads it, too
    assert devices_of_feeds(placed([y, x], {y: GPU}, [x])) == [""]  # and here it is fetched


def test_a_constant_that_only_the_host_reads_stays_there() -> None:
    c = tf.constant([1.0, 2.0], name="c")
    y, z = tf.square(c, name="y"), tf.negative(c, name="z")
    result = placed([y], {c: GPU})
    assert result.kernel_devices == {} and copies(result) == {}
    assert copies(placed([y, z], {c: GPU, z: GPU})) == {"c/copy_to_host": "gpu:0"}


def test_who_reads_a_feed_is_looked_for_behind_a_node_that_wants_its_shape() -> None:
    x = tf.placeholder(tf.float32, [None], name="x")
    with tf.control_dependencies([tf.shape(x)]):
        y = tf.square(x, name="y")
    assert devices_of_feeds(placed([y], {y: GPU_1}, [x])) == ["gpu:1"]
