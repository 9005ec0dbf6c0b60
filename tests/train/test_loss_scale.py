"""Scaled losses: the scales, the optimizers of tf.train and Keras, and contrib's managers."""

from __future__ import annotations

import os

import numpy as np
import pytest

import dataflow as tf
from dataflow.contrib import mixed_precision as managers
from dataflow.keras.loss_scale_optimizer import LossScaleOptimizer
from dataflow.python.test_modes import new_eager_mode

scales = tf.train.experimental


def _history(scale, finite):
    """The scale after each step, whose gradient is finite or not."""
    good = tf.placeholder(tf.bool, [])
    update, applies = scale.update([tf.where(good, 1.0, float("inf")), None])
    found = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for one in finite:
            _, applied = sess.run([update, applies], {good: one})
            assert applied == one
            found.append(sess.run(scale()))
    return found


@pytest.mark.parametrize(
    ("arguments", "finite", "expected"),
    [
        ((1, 2, 2), "+++-+", [1, 2, 2, 1, 1]),
        ((4, 2, 3), "++-++", [4, 12, 4, 4, 12]),
        ((16, 2, 2), "-----", [8, 4, 2, 1, 1]),
        ((2.0**126, 1, 2), "+++", [2.0**127, 2.0**127, 2.0**127]),
    ],
)
def test_dynamic_scale_follows_the_steps(arguments, finite, expected):
    with tf.Graph().as_default():
        scale = scales.DynamicLossScale(*arguments)
        assert _history(scale, [sign == "+" for sign in finite]) == expected


def test_fixed_scale_and_configs():
    with tf.Graph().as_default():
        fixed = scales.FixedLossScale(8)
        assert fixed.update([float("nan")])[1] is True
        again = scales.FixedLossScale.from_config(fixed.get_config())
        assert repr(again) == "FixedLossScale(8.0)"
        dynamic = scales.DynamicLossScale(4, 5, 6)
        assert type(dynamic).from_config(dynamic.get_config()).increment_period == 5
        assert "multiplier=6.0" in repr(dynamic)
        with pytest.raises(ValueError, match="at least 1, got 0.5"):
            scales.FixedLossScale(0.5)
        with pytest.raises(ValueError, match="int or float, got str"):
            scales.FixedLossScale("8")
        with pytest.raises(ValueError, match="Could not interpret loss scale identifier: 'static'"):
            scales.MixedPrecisionLossScaleOptimizer(tf.train.AdamOptimizer(), "static")
        with pytest.raises(RuntimeError, match="has a 'good_steps' already"):
            dynamic._add_weight("good_steps", 0)


def test_steps_with_infinite_gradients_are_left_out():
    with tf.Graph().as_default():
        var = tf.Variable([1.0, 2.0], use_resource=True)
        factor = tf.placeholder(tf.float32, [])
        step = tf.train.get_or_create_global_step()
        scale = scales.DynamicLossScale(2, 1, 4)
        opt = scales.MixedPrecisionLossScaleOptimizer(tf.train.MomentumOptimizer(1.0, 1.0), scale)
        train = opt.minimize(var * factor, global_step=step)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(train, {factor: 1.0})
            np.testing.assert_allclose(sess.run(var), [0.0, 1.0])
            assert sess.run([scale(), step]) == [8.0, 1]
            sess.run(train, {factor: np.nan})
            np.testing.assert_allclose(sess.run(var), [0.0, 1.0])
            assert sess.run([scale(), step]) == [2.0, 1]
            sess.run(train, {factor: 1.0})  # the momentum is that of two steps
            np.testing.assert_allclose(sess.run(var), [-2.0, -1.0])


def test_the_loss_is_scaled_and_sparse_gradients_are_divided():
    with tf.Graph().as_default():
        seen = []

        @tf.custom_gradient
        def tap(x):
            def gradient(dy):
                seen.append(dy)
                return dy

            return tf.identity(x), gradient

        table = tf.Variable(tf.ones([3, 2]))
        opt = scales.MixedPrecisionLossScaleOptimizer(tf.train.GradientDescentOptimizer(1.0), 16)
        loss = tf.reduce_sum(tap(tf.gather(table, [1, 1])))
        ((gradient, _),) = opt.compute_gradients(loss, [table])
        train = opt.apply_gradients([(gradient, table)])
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            np.testing.assert_array_equal(sess.run(seen[0]), np.full([2, 2], 16.0))
            sess.run(train)
            np.testing.assert_array_equal(sess.run(table)[1], [-1.0, -1.0])


def test_gradients_that_half_precision_loses_come_through():
    def gradient_with(opt):
        with tf.Graph().as_default():
            w = tf.Variable(1.0)
            half = tf.cast(w, tf.float16) * tf.constant(1e-4, tf.float16)
            loss = tf.cast(half, tf.float32) * 1e-4
            ((gradient, _),) = opt().compute_gradients(loss, [w])
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                return sess.run(gradient)

    plain = lambda: tf.train.GradientDescentOptimizer(1.0)
    scaled = lambda: scales.enable_mixed_precision_graph_rewrite(plain(), 2.0**10)
    assert gradient_with(plain) == 0.0
    np.testing.assert_allclose(gradient_with(scaled), 1e-8, rtol=0.1)


def test_eager_steps_and_checkpoints(tmp_path):
    with new_eager_mode():
        var = tf.Variable([2.0], use_resource=True)
        scale = scales.DynamicLossScale(1.0, 2, 2.0)
        opt = scales.MixedPrecisionLossScaleOptimizer(tf.train.MomentumOptimizer(1.0, 1.0), scale)
        assert opt.minimize(lambda: var + 1.0, var_list=[var]) is None
        saved = tf.train.Checkpoint(optimizer=opt, var=var)
        path = saved.save(os.path.join(tmp_path, "ckpt"))
        opt.minimize(lambda: var + 1.0, var_list=[var])
        assert scale().numpy() == 2.0
        assert "current_loss_scale=2.0, num_good_steps=0" in repr(scale)
        opt.minimize(lambda: var * float("inf"), var_list=[var])
        np.testing.assert_allclose(var.numpy(), [-1.0])
        saved.restore(path).assert_consumed()
        assert (scale().numpy(), scale._num_good_steps.numpy()) == (1.0, 1)
        np.testing.assert_allclose(var.numpy(), [1.0])


@pytest.mark.threads
def test_replicas_skip_a_step_together():
    with tf.Graph().as_default():
        strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
        with strategy.scope():
            var = tf.Variable(1.0)
            scale = scales.DynamicLossScale(8, 1, 2)
            opt = scales.MixedPrecisionLossScaleOptimizer(
                tf.train.GradientDescentOptimizer(1.0), scale
            )
            bad = tf.placeholder(tf.bool, [])

            def step():
                here = tf.distribute.get_replica_context().replica_id_in_sync_group
                is_bad = tf.logical_and(bad, tf.equal(here, 1))
                return opt.minimize(var * tf.where(is_bad, float("nan"), 1.0), var_list=[var])

            train = strategy.experimental_run(step)
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(train, {bad: True})
            assert sess.run([var, scale()]) == [1.0, 4.0]
            sess.run(train, {bad: False})
            assert sess.run([var, scale()]) == [-1.0, 8.0]


def test_what_is_refused():
    with tf.Graph().as_default():
        enable = scales.enable_mixed_precision_graph_rewrite
        with pytest.raises(
            ValueError, match="must be an instance of a tf.train.Optimizer or a tf.ke"
        ):
            enable(1)
        wrapped = enable(tf.train.GradientDescentOptimizer(1.0))
        with pytest.raises(ValueError, match="not already be an instance of a MixedPrecision"):
            enable(wrapped)
        with pytest.raises(ValueError, match="not already be an instance of a LossScaleOptimizer"):
            enable(enable(tf.keras.optimizers.SGD(), 4))
        with pytest.raises(ValueError, match="loss_scale cannot be None"):
            enable(tf.train.GradientDescentOptimizer(1.0), None)
        with pytest.raises(ValueError, match="with a clipnorm"):
            LossScaleOptimizer(tf.keras.optimizers.SGD(clipnorm=1.0), 4)
        scales.disable_mixed_precision_graph_rewrite()


def test_keras_trains_with_a_scaled_loss():
    def weights_with(wrap):
        with tf.Graph().as_default(), tf.Session():
            model = tf.keras.Sequential([tf.keras.layers.Dense(1, "relu", input_shape=(3,))])
            model.layers[0].kernel.load(np.ones([3, 1]))
            opt = wrap(tf.keras.optimizers.Adam(0.1))
            model.compile(opt, "mse")
            x = np.arange(12.0).reshape(4, 3)
            model.fit(x, x[:, :1], epochs=3, verbose=0, shuffle=False, batch_size=2)
            assert tf.keras.backend.get_value(opt.iterations) == 6
            assert tf.keras.backend.get_value(opt.lr) == np.float32(0.1)
            return model.get_weights()

    plain = weights_with(lambda opt: opt)
    dynamic = weights_with(scales.enable_mixed_precision_graph_rewrite)
    for one, other in zip(plain, dynamic, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_keras_leaves_out_infinite_steps():
    with new_eager_mode():
        var = tf.Variable(3.0, use_resource=True)
        opt = LossScaleOptimizer(tf.keras.optimizers.SGD(1.0), scales.DynamicLossScale(4, 1, 2))
        with tf.GradientTape() as tape:
            loss = opt.get_scaled_loss(var * 2.0)
        gradients = opt.get_unscaled_gradients(tape.gradient(loss, [var]))
        assert (loss.numpy(), gradients[0].numpy()) == (24.0, 2.0)
        opt.apply_gradients([(gradients[0], var)])
        assert (var.numpy(), opt.loss_scale().numpy()) == (1.0, 8.0)
        opt.minimize(lambda: var * float("inf"), [var])
        assert (var.numpy(), opt.loss_scale().numpy(), opt.iterations.numpy()) == (1.0, 4.0, 1)


def test_managers_of_contrib():
    with tf.Graph().as_default():
        manager = managers.ExponentialUpdateLossScaleManager(8.0, 2, 2, 2, 0.5)
        var = tf.Variable(1.0)
        factor = tf.placeholder(tf.float32, [])
        opt = managers.LossScaleOptimizer(tf.train.GradientDescentOptimizer(1.0), manager)
        train = opt.minimize(var * factor)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            found = []
            for one in (1, 1, np.inf, 1, np.inf, 1):
                sess.run(train, {factor: one})
                found.append(sess.run(manager.get_loss_scale()))
            assert found == [8, 16, 16, 16, 8, 8]
            assert sess.run(var) == -3.0
        fixed = managers.FixedLossScaleManager(4)
        assert fixed.get_loss_scale().dtype == tf.float32
        with pytest.raises(ValueError, match="at least 1, got 0.1"):
            managers.FixedLossScaleManager(0.1)
