"""`tf.estimator.tpu`: estimators of programs that would run on a TPU, without one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.estimator.tpu import RunConfig, TPUConfig, TPUEstimator, TPUEstimatorSpec

TRUE = np.float32([[2.0], [-1.0]])


def input_fn(params: dict[str, Any]) -> tf.data.Dataset:
    x = np.random.default_rng(0).random((64, 2), np.float32)
    whole = tf.data.Dataset.from_tensor_slices((x, x @ TRUE)).repeat()
    return whole.batch(params["batch_size"], drop_remainder=True)


class Model:
    """What a program's model function is, and what it was told."""

    def __init__(self) -> None:
        self.told: dict[str, tuple[Any, Any, int]] = {}
        self.host_calls: list[float] = []

    def __call__(self, features: Any, labels: Any, mode: str, params: Any) -> TPUEstimatorSpec:
        self.told[mode] = (params["batch_size"], params["use_tpu"], features.shape.as_list()[0])
        w = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer())
        y = tf.matmul(features, w)
        if mode == tf.estimator.ModeKeys.PREDICT:
            return TPUEstimatorSpec(mode, predictions={"y": y})
        loss = tf.reduce_mean(tf.square(y - labels))
        optimizer = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.2))
        train = optimizer.minimize(loss, tf.train.get_global_step())
        assert [v.op.name for v in optimizer.variables()][:1] == ["beta1_power"]
        assert optimizer.get_slot(w, "m") is not None and "m" in optimizer.get_slot_names()

        def metric_fn(y: Any, labels: Any) -> dict[str, Any]:
            return {"mse": tf.metrics.mean_squared_error(labels, y)}

        def host_fn(loss: Any) -> Any:
            return tf.py_func(lambda value: self.host_calls.append(float(value)), [loss], [])

        return TPUEstimatorSpec(
            mode=mode,
            loss=loss,
            train_op=train,
            eval_metrics=(metric_fn, {"y": y, "labels": labels}),
            host_call=(host_fn, [loss]),
            scaffold_fn=tf.train.Scaffold,
        )


def test_functions_are_told_the_size_of_a_batch(tmp_path: Path) -> None:
    model = Model()
    config = RunConfig(
        cluster=None, master="", model_dir=str(tmp_path), tpu_config=TPUConfig(num_shards=8)
    )
    assert (config.master, config.evaluation_master, config.tpu_config[0]) == ("", "", 2)
    estimator = TPUEstimator(
        model, use_tpu=False, config=config, params={"a": 1},
        train_batch_size=16, eval_batch_size=8, predict_batch_size=4,
    )  # fmt: skip
    estimator.train(input_fn, max_steps=60)
    results = estimator.evaluate(input_fn, steps=3)
    assert results["mse"] == pytest.approx(results["loss"]) and results["mse"] < 0.05
    prediction = next(estimator.predict(input_fn))
    assert prediction["y"].shape == (1,)
    assert model.told == {
        "train": (16, False, 16),
        "eval": (8, False, 8),
        "infer": (4, False, 4),
    }
    assert len(model.host_calls) == 63 and model.host_calls[0] > model.host_calls[59]


def test_parameters_may_be_of_the_hparams_class(tmp_path: Path) -> None:
    def model_fn(features: Any, labels: Any, mode: str, params: Any) -> Any:
        assert (params.batch_size, params.use_tpu, params.rate) == (8, False, 0.5)
        w = tf.get_variable("w", [])
        return tf.estimator.EstimatorSpec(
            mode, loss=w * w, train_op=tf.assign_add(tf.train.get_global_step(), 1)
        )

    given = tf.contrib.training.HParams(rate=0.5)
    estimator = tf.contrib.tpu.TPUEstimator(
        model_fn, str(tmp_path), RunConfig(), given, use_tpu=False, train_batch_size=8
    )
    estimator.train(lambda params: input_fn({"batch_size": params.batch_size}), steps=1)
    assert "batch_size" not in given


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there are no TPUs here.*use_tpu=False"):
        TPUEstimator(Model(), config=RunConfig(), train_batch_size=8)
    with pytest.raises(ValueError, match="type `tpu_config.RunConfig`"):
        TPUEstimator(Model(), config=tf.estimator.RunConfig(), use_tpu=False)
    with pytest.raises(ValueError, match="reserved keys"):
        TPUEstimator(Model(), config=RunConfig(), params={"batch_size": 1}, use_tpu=False)
    with pytest.raises(ValueError, match="does not include params"):
        TPUEstimator(lambda features: None, config=RunConfig(), use_tpu=False)
    with pytest.raises(ValueError, match="eval_metrics should have two elements"):
        TPUEstimatorSpec("eval", loss=1.0, eval_metrics=(max,))
    with pytest.raises(TypeError, match=r"host_call\[0\] should be callable"):
        TPUEstimatorSpec("eval", loss=1.0, host_call=([], []))
    with pytest.raises(AttributeError, match="There are no TPUs here"):
        tf.tpu.initialize_system
    with pytest.raises(ValueError, match="Unsupported reduction"):
        tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(), reduction="none")


def test_a_scope_of_bfloat16_keeps_variables_in_float32() -> None:
    with tf.Graph().as_default(), tf.contrib.tpu.bfloat16_scope():
        used = tf.get_variable("w", [2], tf.bfloat16, tf.ones_initializer())
        other = tf.get_variable("b", [], tf.float32)
        assert used.dtype == tf.bfloat16 and other.dtype.base_dtype == tf.float32
        (kept,) = [v for v in tf.global_variables() if v.op.name == "w"]
        assert kept.dtype.base_dtype == tf.float32


def test_shards_are_told_where_libraries_ask() -> None:
    from dataflow.python import tpu_function

    context = tpu_function.get_tpu_context()
    assert context.number_of_shards is None
    with tpu_function.tpu_shard_context(4):
        assert context.number_of_shards == 4
        with pytest.raises(NotImplementedError), tpu_function.tpu_shard_context(2):
            pass
    assert context.number_of_shards is None


def test_a_topology_tells_where_devices_stand() -> None:
    from dataflow.python.tpu.topology import Topology

    found = Topology(
        mesh_shape=[2, 1, 2], device_coordinates=[[[0, 0, 0], [0, 0, 1]], [[1, 0, 0], [1, 0, 1]]]
    )
    assert (found.mesh_rank, found.num_tasks, found.num_tpus_per_task) == (3, 2, 2)
    assert found.mesh_shape.dtype == found.device_coordinates.dtype == "int32"
    last = [1, 0, 1]
    assert (
        found.task_ordinal_at_coordinates(last)
        == found.tpu_device_ordinal_at_coordinates(last)
        == 1
    )
    assert found.cpu_device_name_at_coordinates(last) == "/task:1/device:CPU:0"
    assert found.tpu_device_name_at_coordinates(last, "w") == "/job:w/task:1/device:TPU:1"
    with pytest.raises(ValueError, match="3 positive entries; got \\[2, 0, 1\\]"):
        Topology(mesh_shape=[2, 0, 1], device_coordinates=[[[0, 0, 0]]])
    with pytest.raises(ValueError, match=r"got the shape \(1, 3\)"):
        Topology(mesh_shape=[2, 1, 1], device_coordinates=[[0, 0, 0]])
    with pytest.raises(NotImplementedError, match="has no TPUs"):
        Topology(serialized=b"\x0a\x03\x02\x02\x02")
