"""Models of `tf.contrib.gan`, their losses and their training, with numbers of TensorFlow 1.15 and TFGAN."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf

gan = tf.contrib.gan
LABELS = np.eye(3, dtype=np.float32)[[0, 1, 2, 1]]


def normal(seed: int, *shape: int) -> Any:
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


A, B, NOISE = normal(2, 4, 3), normal(3, 4, 3), normal(11, 4, 2)


@pytest.fixture(autouse=True)
def graph_of_a_test() -> Any:
    with tf.Graph().as_default():
        yield


def generator(noise: Any) -> Any:
    return tf.tanh(
        tf.layers.dense(
            noise,
            3,
            kernel_initializer=tf.ones_initializer(),
            kernel_regularizer=tf.contrib.layers.l2_regularizer(0.1),
        )
    )


def discriminator(data: Any, _: Any) -> Any:
    return tf.layers.dense(
        data,
        1,
        kernel_initializer=tf.constant_initializer([0.3, -0.2, 0.5]),
        bias_regularizer=tf.contrib.layers.l2_regularizer(0.1),
    )


def with_classes(data: Any, inputs: Any) -> tuple[Any, Any]:
    kernel = tf.constant_initializer(0.1 * np.arange(9.0).reshape(3, 3))
    return discriminator(data, inputs), tf.layers.dense(
        data, 3, kernel_initializer=kernel, name="classes"
    )


def a_model() -> Any:
    return gan.gan_model(generator, discriminator, tf.constant(A), tf.constant(NOISE * 0.3))


def test_a_model_and_its_training() -> None:
    model = a_model()
    assert [v.name for v in model.generator_variables] == [
        "Generator/dense/kernel:0",
        "Generator/dense/bias:0",
    ]
    assert model.discriminator_scope.name == "Discriminator"
    loss = gan.gan_loss(model, gradient_penalty_weight=0.5)
    assert sorted(t.op.name for t in tf.get_collection(tf.GraphKeys.SUMMARIES)) == [
        "discriminator_wasserstein_loss/discriminator_gen_wass_loss",
        "discriminator_wasserstein_loss/discriminator_real_wass_loss",
        "discriminator_wasserstein_loss/discriminator_wass_loss",
        "generator_wasserstein_loss/generator_wass_loss",
        "wasserstein_gradient_penalty/gradient_penalty_loss",
    ]
    rates = [tf.train.GradientDescentOptimizer(rate) for rate in (0.1, 0.2)]
    train_ops = gan.gan_train_ops(model, loss, *rates)
    step = tf.train.get_global_step()
    seen = []

    class Seen(tf.train.SessionRunHook):
        def before_run(self, run_context: Any) -> Any:
            return tf.train.SessionRunArgs([*loss, step])

        def after_run(self, run_context: Any, run_values: Any) -> None:
            seen.append(run_values.results)

    last = gan.gan_train(
        train_ops,
        None,
        gan.get_joint_train_hooks(gan.GANTrainSteps(2, 3)),
        hooks=[tf.train.StopAtStepHook(num_steps=4), Seen()],
        save_checkpoint_secs=None,
        save_summaries_steps=None,
    )
    assert last == 4
    expected = [
        [0.260445, -0.267778, 1.0],
        [0.0625426, -0.384751, 2.0],
        [-0.162625, -0.361203, 3.0],
        [-0.355832, -0.283553, 4.0],
    ]
    np.testing.assert_allclose(seen, expected, rtol=1e-4)


def test_training_needs_a_folder_unless_nothing_is_kept() -> None:
    model = a_model()
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    train_ops = gan.gan_train_ops(model, gan.gan_loss(model), optimizer, optimizer)
    with pytest.raises(ValueError, match="logdir cannot be None when save_summaries_steps"):
        gan.gan_train(train_ops, None)


def test_what_update_operations_are_of() -> None:
    def normalized(noise: Any) -> Any:
        return tf.layers.batch_normalization(generator(noise), training=True)

    model = gan.gan_model(normalized, discriminator, tf.constant(A), tf.constant(NOISE))
    loss = gan.gan_loss(model)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    train_ops = gan.gan_train_ops(model, loss, optimizer, optimizer)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        moving = next(v for v in tf.global_variables() if "moving_mean" in v.name)
        session.run(train_ops.discriminator_train_op)
        assert not session.run(moving).any(), "the discriminator's step updates its scope alone"
        session.run(train_ops.generator_train_op)
        assert session.run(moving).any()
    with tf.variable_scope("other"):
        tf.layers.batch_normalization(tf.constant(A), training=True)
    with pytest.raises(ValueError, match="There are unused update ops"):
        gan.gan_train_ops(model, loss, optimizer, optimizer)
    gan.gan_train_ops(model, loss, optimizer, optimizer, check_for_unused_update_ops=False)


def test_a_cycle() -> None:
    model = gan.cyclegan_model(
        lambda x: tf.layers.dense(x, 3, kernel_initializer=tf.constant_initializer(0.4)),
        discriminator,
        tf.constant(A),
        tf.constant(B),
    )
    loss = gan.cyclegan_loss(model)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    train_ops = gan.gan_train_ops(model, loss, optimizer, optimizer)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = [session.run(list(way)) for way in loss]
        np.testing.assert_allclose(before, [[9.20456, 0.621284], [9.09364, 0.895714]], rtol=1e-5)
        session.run(train_ops.generator_train_op)
        session.run(train_ops.discriminator_train_op)
        assert session.run(train_ops.global_step_inc_op) == 1
        after = [session.run(list(way)) for way in loss]
        np.testing.assert_allclose(after, [[6.76408, 0.392255], [6.74546, 0.493707]], rtol=1e-5)
    names = [v.op.name for v in tf.trainable_variables()]
    assert names[0] == "ModelX2Y/Generator/dense/kernel" and len(names) == 8
    with pytest.raises(ValueError, match="must be a `CycleGANModel`"):
        gan.cyclegan_loss(model.model_x2y)


def test_a_model_of_classes() -> None:
    model = gan.acgan_model(
        generator, with_classes, tf.constant(A), tf.constant(NOISE), tf.constant(LABELS)
    )
    loss = gan.gan_loss(
        model,
        gan.losses.minimax_generator_loss,
        gan.losses.minimax_discriminator_loss,
        aux_cond_generator_weight=1.0,
        aux_cond_discriminator_weight=2.0,
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(list(loss)), [0.523624, 6.02672], rtol=1e-5)
    with pytest.raises(TypeError, match="must output a tuple"), tf.Graph().as_default():
        gan.acgan_model(generator, discriminator, A, NOISE, LABELS)


def test_a_model_that_learns_what_its_inputs_mean() -> None:
    def both(data: Any, inputs: Any) -> tuple[Any, list[Any]]:
        mean = tf.layers.dense(data, 2, name="mean")
        return discriminator(data, inputs), [
            tf.distributions.Normal(mean, tf.ones_like(mean)),
            tf.distributions.Categorical(logits=tf.layers.dense(data, 5, name="classes")),
        ]

    def of_inputs(inputs: list[Any]) -> Any:
        noise, continuous, classes = inputs
        return generator(tf.concat([noise, continuous, tf.one_hot(classes, 5)], 1))

    structured = [tf.constant(NOISE), tf.constant([0, 1, 2, 4])]
    model = gan.infogan_model(of_inputs, both, tf.constant(A), [tf.constant(A)], structured)
    without = gan.gan_loss(model)
    loss = gan.gan_loss(model, mutual_information_penalty_weight=2.0)
    penalty = gan.losses.mutual_information_penalty(model)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        plain, more, extra = session.run([list(without), list(loss), penalty])
    np.testing.assert_allclose(np.subtract(more, plain), [2 * extra] * 2, rtol=1e-4)
    with pytest.raises(ValueError, match=r"`predicted_distributions` 2 must .* structured noise 1"):
        with tf.Graph().as_default():
            gan.infogan_model(of_inputs, both, A, [A, NOISE], [np.arange(4)])


def test_what_a_loss_is_refused_for() -> None:
    model = a_model()
    with pytest.raises(ValueError, match="`model` must be an `InfoGANModel`"):
        gan.gan_loss(model, mutual_information_penalty_weight=1.0)
    with pytest.raises(ValueError, match="`model` must be an `ACGANModel`"):
        gan.gan_loss(model, aux_cond_generator_weight=1.0)
    with pytest.raises(ValueError, match="`gradient_penalty_weight` must be greater than 0"):
        gan.gan_loss(model, gradient_penalty_weight=-1.0)
    with pytest.raises(ValueError, match="must be the same shape as real data"):
        gan.gan_model(generator, lambda data, _: data, tf.zeros([4, 2]), NOISE)


def test_a_discriminator_that_sees_earlier_data() -> None:
    model = gan.gan_model(generator, discriminator, tf.constant(A), tf.random_normal([4, 2]))
    pooled = gan.gan_loss(
        model, tensor_pool_fn=lambda given: gan.features.tensor_pool(given, 1, 1.0)
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run([model.generated_data, pooled.discriminator_loss])
        second = session.run([model.generated_data, pooled.discriminator_loss])

    def expected(generated: Any) -> float:
        return float(((generated - A) @ [0.3, -0.2, 0.5]).mean())

    assert first[1] == pytest.approx(expected(first[0]), rel=1e-4)
    assert second[1] == pytest.approx(expected(first[0]), rel=1e-4), "the data of the step before"


def test_steps_of_a_slim_loop(tmp_path: Path) -> None:
    model = a_model()
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    train_ops = gan.gan_train_ops(model, gan.gan_loss(model), optimizer, optimizer)
    loss = tf.contrib.slim.learning.train(
        train_ops,
        str(tmp_path),
        train_step_fn=gan.get_sequential_train_steps(gan.GANTrainSteps(1, 2)),
        number_of_steps=3,
        save_summaries_secs=0,
        save_interval_secs=0,
    )
    assert np.isfinite(loss)
    values = tf.train.load_checkpoint(str(tmp_path))
    assert values.get_tensor("global_step") == 3


def test_the_hooks_of_each_scheme() -> None:
    model = a_model()
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    train_ops = gan.gan_train_ops(model, gan.gan_loss(model), optimizer, optimizer)
    assert len(gan.get_sequential_train_hooks()(train_ops)) == 2
    assert len(gan.get_joint_train_hooks()(train_ops)) == 3
    workers = [tf.train.SyncReplicasOptimizer(optimizer, 1) for _ in range(2)]
    train_ops = gan.gan_train_ops(model, gan.gan_loss(model), *workers)
    assert len(gan.get_joint_train_hooks()(train_ops)) == 5


def test_the_paths_of_the_time() -> None:
    of = importlib.import_module("dataflow.contrib.gan.python.train")
    losses = importlib.import_module("dataflow.contrib.gan.python.losses.python.losses_impl")
    tuples = importlib.import_module("dataflow.contrib.gan.python.losses.python.tuple_losses_impl")
    assert of.gan_train_ops is gan.gan_train_ops and of.gan_loss is gan.gan_loss
    assert losses.minimax_generator_loss is gan.losses.wargs.minimax_generator_loss
    assert tuples.minimax_generator_loss is gan.losses.minimax_generator_loss
    assert gan.python.features.tensor_pool is gan.features.tensor_pool
