"""`tf.config.experimental.set_visible_devices`: which devices sessions use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import dataflow as tf
from dataflow.kernels.xp import pretend_gpus
from dataflow.runtime.devices import show_gpus

config = tf.config.experimental


@pytest.fixture(autouse=True)
def two_pretend_gpus() -> Iterator[None]:
    with pretend_gpus(2), tf.Graph().as_default():
        yield
        show_gpus(None)


def kinds(session: tf.Session) -> list[str]:
    return [d.device_type for d in session.list_devices()]


def test_without_gpus() -> None:
    assert len(config.get_visible_devices("GPU")) == 2
    with tf.Session() as session:
        assert kinds(session) == ["CPU", "GPU", "GPU"]
    config.set_visible_devices([], "GPU")
    assert config.get_visible_devices("GPU") == []
    assert [d.device_type for d in config.get_visible_devices()] == ["CPU"]
    assert len(config.list_physical_devices("GPU")) == 2
    assert not tf.test.is_gpu_available()
    x = tf.constant([1.0, 2.0]) + 1.0
    with tf.Session() as session:
        assert kinds(session) == ["CPU"]
        assert session.run(x).tolist() == [2, 3]
        with tf.device("/gpu:0"):
            y = tf.identity(x)
        with pytest.raises(tf.errors.InvalidArgumentError, match="GPU:0"):
            session.run(y)


def test_the_first_ones() -> None:
    first, second = config.list_physical_devices("GPU")
    config.set_visible_devices(first, "GPU")
    with tf.Session() as session:
        assert kinds(session) == ["CPU", "GPU"]
    config.set_visible_devices(config.list_physical_devices())
    assert config.get_visible_devices() == config.list_physical_devices()
    with pytest.raises(ValueError, match="CUDA_VISIBLE_DEVICES"):
        config.set_visible_devices([second], "GPU")


def test_what_cannot_be() -> None:
    (cpu,) = config.list_physical_devices("CPU")
    with pytest.raises(ValueError, match="the CPU cannot be hidden"):
        config.set_visible_devices([], "CPU")
    with pytest.raises(ValueError, match="not among the devices of type GPU"):
        config.set_visible_devices([cpu], "GPU")
    with pytest.raises(ValueError, match="not among the devices"):
        config.set_visible_devices([config.PhysicalDevice("/physical_device:GPU:7", "GPU")])
    assert len(config.get_visible_devices("GPU")) == 2  # nothing has changed


def test_logical_devices_are_those_of_a_session() -> None:
    config.set_visible_devices(config.list_physical_devices("GPU")[:1], "GPU")
    logical = config.list_logical_devices()
    with tf.Session() as session:
        assert [(d.name, d.device_type) for d in session.list_devices()] == logical
    (gpu,) = config.list_logical_devices("GPU")
    with tf.device(gpu.name):
        assert tf.constant(1.0).device == gpu.name
