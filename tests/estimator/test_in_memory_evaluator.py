"""Evaluations within a training, metrics of Keras in a spec, and configurations that say values by properties."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Any

import pytest

import dataflow as tf
from dataflow.estimator import early_stopping


def counting_model(features: Any, labels: Any, mode: str) -> Any:
    """Trains ``w`` to be the step plus 2, and tells the mean of the features, and ``w``."""
    step = tf.train.get_global_step()
    w = tf.get_variable("w", [], tf.int64, tf.zeros_initializer())
    if mode == tf.estimator.ModeKeys.TRAIN:
        with tf.control_dependencies([features]):
            following = tf.assign_add(step, 1)
        with tf.control_dependencies([following]):
            train = w.assign(step + 2)
        return tf.estimator.EstimatorSpec(mode, loss=tf.constant(3.0), train_op=train)
    mean, current = tf.keras.metrics.Mean(), tf.keras.metrics.Mean()
    mean.update_state(features)
    current.update_state(w)
    metrics = {"mean": mean, "w": current}
    return tf.estimator.EstimatorSpec(mode, loss=tf.constant(5.0), eval_metric_ops=metrics)


def ten_numbers() -> Any:
    return tf.data.Dataset.range(10)


def written(folder: str) -> dict[int, dict[str, float]]:
    tf.summary.FileWriterCache.clear()
    found: dict[int, dict[str, float]] = {}
    for event in tf.train.summary_iterator(glob.glob(os.path.join(folder, "events*"))[-1]):
        for value in event.summary.value:
            found.setdefault(event.step, {})[value.tag] = value.simple_value
    return found


@pytest.mark.parametrize("package", ["estimator.experimental", "contrib.estimator"])
def test_a_training_is_evaluated_as_it_goes(tmp_path: Path, package: str) -> None:
    hook = tf
    for name in [*package.split("."), "InMemoryEvaluatorHook"]:
        hook = getattr(hook, name)
    estimator = tf.estimator.Estimator(counting_model, str(tmp_path))
    estimator.train(ten_numbers, hooks=[hook(estimator, ten_numbers, every_n_iter=4, name="own")])
    found = written(estimator.eval_dir("own"))
    assert sorted(found) == [0, 4, 8, 10]
    assert {values["mean"] for values in found.values()} == {4.5}
    assert [found[step]["w"] for step in (0, 4, 10)] == [0, 6, 12]


@pytest.mark.parametrize(
    ("scaffold", "message"),
    [
        (lambda: tf.train.Scaffold(saver=tf.train.Saver()), "custom saver"),
        (lambda: tf.train.Scaffold(init_fn=lambda scaffold, session: None), "custom init_fn"),
    ],
)
def test_what_the_hook_refuses(scaffold: Any, message: str) -> None:
    def model(features: Any, labels: Any, mode: str) -> Any:
        made = tf.train.get_global_step() and scaffold()
        return tf.estimator.EstimatorSpec(mode, loss=tf.constant(1.0), scaffold=made)

    estimator = tf.estimator.Estimator(model)
    with pytest.raises(ValueError, match=message):
        tf.estimator.experimental.InMemoryEvaluatorHook(estimator, ten_numbers).begin()
    with pytest.raises(ValueError, match="every_n_iter=0"):
        tf.estimator.experimental.InMemoryEvaluatorHook(estimator, ten_numbers, every_n_iter=0)


def test_a_metric_of_keras_is_updated_before_it_is_read() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="call update_state"):
            tf.estimator.EstimatorSpec(
                "eval", loss=tf.constant(1.0), eval_metric_ops={"m": tf.keras.metrics.Mean()}
            )
        with pytest.raises(TypeError, match="update_op"):
            tf.estimator.EstimatorSpec("eval", loss=tf.constant(1.0), eval_metric_ops={"m": 3})


def test_a_configuration_may_say_its_values_by_properties(tmp_path: Path) -> None:
    class Worker(tf.estimator.RunConfig):
        @property
        def is_chief(self) -> bool:
            return False

    assert not Worker().is_chief and not Worker().replace(tf_random_seed=3).is_chief
    estimator = tf.estimator.Estimator(counting_model, str(tmp_path), Worker())
    hook = tf.contrib.estimator.make_stop_at_checkpoint_step_hook(estimator, 10, 0)
    assert isinstance(hook, early_stopping._StopAtCheckpointStepHook)
    with tf.Graph().as_default():  # a checkpoint whose name does not tell its step
        step = tf.train.create_global_step()
        with tf.Session() as session:
            session.run(step.assign(10))
            tf.train.Saver().save(session, str(tmp_path / "model.ckpt"))
        with tf.train.SingularMonitoredSession([hook], checkpoint_dir=str(tmp_path)) as session:
            session.run(step)
            assert session.should_stop()
