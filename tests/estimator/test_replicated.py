"""`RunConfig(train_distribute=...)`: replicas' batches make one step; values of TensorFlow 1.15.5."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf


def input_fn() -> Any:
    x = np.arange(24, dtype=np.float32).reshape(12, 2) / 10
    y = (x.sum(1, keepdims=True) > 2).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(3)


def model_fn(features: Any, labels: Any, mode: str) -> Any:
    initial = tf.constant_initializer(0.1)
    hidden = tf.layers.dense(features, 3, tf.nn.tanh, kernel_initializer=initial, name="h")
    out = tf.layers.dense(hidden, 1, kernel_initializer=tf.ones_initializer())
    loss = tf.losses.sigmoid_cross_entropy(labels, out)
    tf.summary.scalar("mine", loss)
    step = tf.train.AdamOptimizer(0.05).minimize(loss, tf.train.get_global_step())
    accuracy = tf.metrics.accuracy(labels, tf.round(tf.sigmoid(out)))
    return tf.estimator.EstimatorSpec(
        mode, loss=loss, train_op=step, eval_metric_ops={"acc": accuracy}
    )


def test_training_evaluation_and_going_on(tmp_path: Path) -> None:
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    config = tf.estimator.RunConfig(train_distribute=strategy)
    estimator = tf.estimator.Estimator(model_fn, tmp_path, config)
    estimator.train(input_fn, steps=7)
    result = estimator.evaluate(input_fn, steps=4)
    assert result["acc"] == 0.75 and result["global_step"] == 7
    assert result["loss"] == pytest.approx(0.45986, abs=2e-5)
    estimator.train(input_fn, steps=3)
    value = estimator.get_variable_value
    assert value("global_step") == 10 and value("dense/bias") == pytest.approx(-0.1308, abs=1e-4)
    np.testing.assert_allclose(value("h/kernel")[:, 0], [0.2283, 0.2060], atol=1e-4)
    np.testing.assert_allclose(value("h/bias/Adam"), [0.1005] * 3, atol=1e-4)
    assert not [n for n in estimator.get_variable_names() if "replica" in n]


def test_tensors_are_refused(tmp_path: Path) -> None:
    config = tf.estimator.RunConfig(
        train_distribute=tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    )
    estimator = tf.estimator.Estimator(model_fn, tmp_path, config)
    with pytest.raises(ValueError, match=r"must return a tf\.data\.Dataset"):
        estimator.train(lambda: (tf.ones((2, 2)), tf.ones((2, 1))), steps=1)
