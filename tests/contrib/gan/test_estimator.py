"""`tf.contrib.gan.estimator`: training, evaluation and samples of adversarial estimators."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf

gan = tf.contrib.gan
DATA = np.random.RandomState(0).randn(8, 3).astype(np.float32) + 2


def generator(noise: Any, mode: str) -> Any:
    made = tf.layers.dense(noise, 3, kernel_initializer=tf.ones_initializer())
    return tf.layers.dropout(made, 0.0, training=mode == tf.estimator.ModeKeys.TRAIN)


def discriminator(data: Any, _: Any) -> Any:
    return tf.layers.dense(data, 1, kernel_initializer=tf.ones_initializer())


def estimator(folder: Path, **options: Any) -> Any:
    arguments: dict[str, Any] = {
        "generator_fn": generator,
        "discriminator_fn": discriminator,
        "generator_loss_fn": gan.losses.wasserstein_generator_loss,
        "discriminator_loss_fn": gan.losses.wasserstein_discriminator_loss,
        "generator_optimizer": tf.train.GradientDescentOptimizer(0.1),
        "discriminator_optimizer": lambda: tf.train.GradientDescentOptimizer(0.1),
    }
    return gan.estimator.GANEstimator(str(folder), **{**arguments, **options})


def noise_and_data() -> tuple[Any, Any]:
    return tf.ones([8, 2]), tf.constant(DATA)


def test_training_evaluation_and_samples(tmp_path: Path) -> None:
    made = estimator(
        tmp_path,
        add_summaries=gan.estimator.SummaryType.VARIABLES,
        get_eval_metric_ops_fn=lambda model: {"top": tf.metrics.mean(model.generated_data)},
    )
    made.train(noise_and_data, steps=2)
    bias = made.get_variable_value("Generator/dense/bias")
    # By hand: the generator goes before the discriminator, whose gradient is what it made minus the data.
    weights, value, own = np.ones(3), np.full(3, 2.0), np.zeros(3)
    kernel = np.ones((2, 3))
    for _ in range(2):
        kernel, own = kernel + 0.1 * weights, own + 0.1 * weights
        value = kernel.sum(0) + own
        weights = weights - 0.1 * (value - DATA.mean(0))
    np.testing.assert_allclose(bias, own, rtol=1e-4)
    metrics = made.evaluate(noise_and_data, steps=1)
    assert metrics["generator_loss"] == pytest.approx(-(value @ weights), rel=1e-4)
    total = metrics["generator_loss"] + metrics["discriminator_loss"]
    assert metrics["loss"] == pytest.approx(total, rel=1e-4)
    assert metrics["top"] == pytest.approx(value.mean(), rel=1e-4)
    assert metrics["global_step"] == 2
    samples = list(islice(made.predict(lambda: tf.ones([4, 2])), 4))
    np.testing.assert_allclose(samples, [value] * 4, rtol=1e-4)


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="generator_loss_fn must be callable"):
        estimator(tmp_path, generator_loss_fn=1.0)
    with pytest.raises(ValueError, match="use_loss_summaries must be"):
        estimator(tmp_path, use_loss_summaries=3)
    with pytest.raises(TypeError, match="get_hooks_fn must be callable"):
        estimator(tmp_path, get_hooks_fn=3)


def test_an_estimator_between_domains(tmp_path: Path) -> None:
    def between(data: Any, labels: Any) -> Any:
        return tf.layers.dense(tf.concat([data, labels], 1), 3)

    def classify(data: Any, domains: int) -> tuple[Any, Any]:
        return tf.layers.dense(data, 1, name="a"), tf.layers.dense(data, domains, name="b")

    labels = np.eye(2, dtype=np.float32)[[0, 1] * 4]
    made = gan.estimator.StarGANEstimator(
        str(tmp_path),
        between,
        classify,
        gan.stargan_loss,
        tf.train.AdamOptimizer(0.01),
        tf.train.AdamOptimizer(0.01),
    )
    made.train(lambda: (tf.constant(DATA), tf.constant(labels)), steps=3)
    metrics = made.evaluate(lambda: (tf.constant(DATA), tf.constant(labels)), steps=1)
    assert np.isfinite(metrics["loss"]) and metrics["global_step"] == 3
    samples = made.predict(lambda: ((tf.constant(DATA), tf.constant(labels)), None))
    assert np.shape(list(islice(samples, 8))) == (8, 3)
