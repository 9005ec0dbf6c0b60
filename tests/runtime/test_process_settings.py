"""`tf.config`: what sessions without a `ConfigProto`, and eager code, begin with."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.xp import gpus, pretend_gpus
from dataflow.runtime import process_settings

config = tf.config
experimental = tf.config.experimental


@pytest.fixture(autouse=True)
def as_at_the_start() -> Iterator[None]:
    process_settings.reset()
    with tf.Graph().as_default():
        yield
    process_settings.reset()


def test_settings_are_told_back_and_go_to_sessions() -> None:
    # The values of TensorFlow 1.15.5.
    assert config.threading.get_intra_op_parallelism_threads() == 0
    assert config.threading.get_inter_op_parallelism_threads() == 0
    assert not config.optimizer.get_jit()
    always = {"disable_model_pruning": False, "disable_meta_optimizer": False}
    assert config.optimizer.get_experimental_options() == always
    config.threading.set_intra_op_parallelism_threads(2)
    config.threading.set_inter_op_parallelism_threads(3)
    config.optimizer.set_jit(True)
    options = {"constant_folding": False, "min_graph_nodes": 3}
    config.optimizer.set_experimental_options({**options, "of_another_release": 1})
    config.set_soft_device_placement(True)
    assert config.threading.get_intra_op_parallelism_threads() == 2
    assert config.threading.get_inter_op_parallelism_threads() == 3
    assert config.optimizer.get_jit()
    assert config.get_soft_device_placement()
    assert config.optimizer.get_experimental_options() == always | options
    with tf.Session() as session:
        given = session._config
    assert given.intra_op_parallelism_threads == 2
    assert given.inter_op_parallelism_threads == 3
    assert given.allow_soft_placement
    assert given.graph_options.optimizer_options.global_jit_level == tf.OptimizerOptions.ON_1
    rewrites = given.graph_options.rewrite_options
    assert (rewrites.constant_folding, rewrites.min_graph_nodes) == (2, 3)
    with tf.Session(config=tf.ConfigProto()) as session:
        assert session._config == tf.ConfigProto()


def test_a_session_has_settings_of_its_own() -> None:
    with tf.Session() as session:
        session._config.intra_op_parallelism_threads = 7
    assert config.threading.get_intra_op_parallelism_threads() == 0


def test_several_cpus() -> None:
    (cpu,) = experimental.list_physical_devices("CPU")
    assert experimental.get_virtual_device_configuration(cpu) is None
    parts = [experimental.VirtualDeviceConfiguration()] * 2
    experimental.set_virtual_device_configuration(cpu, parts)
    assert experimental.get_virtual_device_configuration(cpu) == parts
    names = [f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(2)]
    with tf.device("/cpu:1"):
        x = tf.constant([1.0]) + 1.0
    with tf.Session() as session:
        assert [d.name for d in session.list_devices()] == names
        np.testing.assert_array_equal(session.run(x), [2.0])
    assert config.experimental_list_devices() == names
    with pytest.raises(RuntimeError, match="Intra op parallelism cannot be modified after init"):
        config.threading.set_intra_op_parallelism_threads(5)
    with pytest.raises(RuntimeError, match="Virtual devices cannot be modified"):
        experimental.set_virtual_device_configuration(cpu, parts)
    config.threading.set_intra_op_parallelism_threads(0)  # as it is


def test_a_limit_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    with pretend_gpus(1):
        ((name, _),) = gpus()
        monkeypatch.setattr(tf.config.experimental, "gpus", lambda: [(name, 2**34)])
        (gpu,) = experimental.list_physical_devices("GPU")
        part = experimental.VirtualDeviceConfiguration(memory_limit=1024)
        with pytest.raises(ValueError, match="a GPU is one device here"):
            experimental.set_virtual_device_configuration(gpu, [part, part])
        experimental.set_virtual_device_configuration(gpu, [part])
        with tf.Session() as session:
            assert session._config.gpu_options.per_process_gpu_memory_fraction == 1 / 16


def test_what_cannot_be() -> None:
    (cpu,) = experimental.list_physical_devices("CPU")
    with pytest.raises(ValueError, match="memory limit on CPU"):
        experimental.set_virtual_device_configuration(
            cpu, [experimental.VirtualDeviceConfiguration(10)]
        )
    absent = experimental.PhysicalDevice("/physical_device:GPU:7", "GPU")
    with pytest.raises(ValueError, match="Unrecognized device"):
        experimental.set_virtual_device_configuration(absent, [])
    wrong: Any
    for wrong in (-1, 1.5, True):
        with pytest.raises(ValueError, match="number of threads"):
            config.threading.set_intra_op_parallelism_threads(wrong)


def test_settings_of_a_thread() -> None:
    assert experimental.get_device_policy() == "silent"
    for policy in ("warn", "explicit", "silent_for_int32", "silent"):
        experimental.set_device_policy(policy)
        assert experimental.get_device_policy() == policy
    experimental.set_device_policy("warn")
    experimental.set_device_policy(None)
    assert experimental.get_device_policy() == "silent"
    with pytest.raises(ValueError, match="Not a valid device policy: 'x'"):
        experimental.set_device_policy("x")
    assert experimental.get_synchronous_execution()
    experimental.set_synchronous_execution(False)
    assert not experimental.get_synchronous_execution()
    experimental.set_synchronous_execution(None)
    assert experimental.get_synchronous_execution()


def test_eager_code_takes_the_settings() -> None:
    program = (
        "import dataflow as tf\n"
        "tf.enable_eager_execution()\n"
        "tf.config.threading.set_intra_op_parallelism_threads(1)\n"
        "print(float(tf.constant(1.0) + 1.0))\n"
        "try:\n"
        "    tf.config.threading.set_intra_op_parallelism_threads(2)\n"
        "except RuntimeError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.startswith("2.0\nIntra op parallelism cannot be modified"), done.stderr
