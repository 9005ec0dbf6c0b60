"""`contrib.model_pruning`: masks, their sparsity, and layers with masks."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from dataflow.contrib import model_pruning as pruning


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        tf.train.create_global_step()
        yield


def _spec(**settings):
    spec = pruning.get_pruning_hparams()
    for name, value in settings.items():
        spec.set_hparam(name, value)
    return spec


def _masks_after(spec, weights, sparsity=None):
    """The masks of a variable that starts as ``weights``, computed once."""
    weights = np.asarray(weights, np.float32)
    variable = tf.Variable(weights, name="weights")
    masked = pruning.apply_mask(variable, "layer")
    updated = pruning.Pruning(spec, sparsity=sparsity).mask_update_op()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(sess.run(masked), weights)
        sess.run(updated)
        (mask,) = sess.run(pruning.get_masks())
        np.testing.assert_array_equal(sess.run(masked), mask * weights)
        np.testing.assert_allclose(sess.run(pruning.get_weight_sparsity()), [np.mean(mask == 0)])
        return mask


def test_the_smallest_weights_are_left_out():
    weights = np.arange(1.0, 101.0) * np.where(np.arange(100) % 2, 1, -1)
    mask = _masks_after(_spec(), weights, sparsity=tf.constant(0.8))
    np.testing.assert_array_equal(mask, np.arange(1, 101) > 80)


@pytest.mark.parametrize(("function", "kept"), [("MAX", 1), ("AVG", 3)])
def test_blocks_become_zero_together(function, kept):
    weights = np.array(
        [[0.1, 0.1, 0.2, 0.2], [0.1, 0.9, 0.2, 0.2], [0.3, 0.3, 0.4, 0.4], [0.3, 0.3, 0.4, 0.4]]
    )
    weights = np.where(weights == 0.9, 0.45, weights)
    spec = _spec(block_height=2, block_width=2, block_pooling_function=function)
    mask = _masks_after(spec, weights, sparsity=tf.constant(0.75))
    expected = np.zeros([4, 4])
    row, column = {1: (0, 0), 3: (2, 2)}[kept]
    expected[row : row + 2, column : column + 2] = 1
    np.testing.assert_array_equal(mask, expected)


def test_a_weight_with_a_target_of_its_own():
    spec = _spec(weight_sparsity_map=["weights:0.9"], target_sparsity=0.5)
    mask = _masks_after(spec, np.linspace(0.1, 1.0, 10), sparsity=tf.constant(0.5))
    np.testing.assert_array_equal(mask, [0] * 9 + [1])


def test_parts_of_a_partitioned_variable():
    with tf.variable_scope("part", partitioner=tf.fixed_size_partitioner(2)):
        weights = tf.get_variable("w", [4, 2])
        pruning.apply_mask(weights, "masks")
    updated = pruning.Pruning(sparsity=tf.constant(0.5)).mask_update_op()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for i, part in enumerate(weights):
            part.load(np.arange(1.0, 5.0).reshape(2, 2) + 4 * i, sess)
        sess.run(updated)
        (mask,) = pruning.get_masks()
        np.testing.assert_array_equal(sess.run(mask.as_tensor()), [[0, 0], [0, 0], [1, 1], [1, 1]])


def test_sparsity_grows_and_masks_follow_every_few_steps():
    step = tf.train.get_global_step()
    weights = tf.Variable(np.linspace(1.0, 100.0, 100).astype(np.float32))
    pruning.apply_mask(weights)
    spec = _spec(
        pruning_frequency=2,
        begin_pruning_step=1,
        end_pruning_step=6,
        sparsity_function_end_step=10,
        target_sparsity=0.5,
    )
    trainer = pruning.Pruning(spec, global_step=step)
    trainer.add_pruning_summaries()
    update, next_step = trainer.conditional_mask_update_op(), tf.assign_add(step, 1)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        found = []
        for _ in range(10):
            sess.run(next_step)
            sess.run(update)
            found.append(np.sum(sess.run(pruning.get_masks()[0]) == 0))
        grown = [round(100 * (0.5 - 0.5 * (1 - t / 10) ** 3)) for t in (2, 4, 6)]
        np.testing.assert_allclose(
            found, [0, *np.repeat(grown, 2), grown[-1], grown[-1], grown[-1]], atol=1
        )
        assert b"sparsity" in sess.run(tf.summary.merge_all())


def test_layers_with_masks_keep_their_variables_names():
    image = tf.ones([1, 4, 4, 2])
    tap = pruning.masked_conv2d(image, 3, 3, scope="conv", activation_fn=None)
    flat = pruning.masked_fully_connected(tf.layers.flatten(tap), 5, scope="dense")
    assert flat.shape.as_list() == [1, 5]
    names = {v.op.name for v in tf.global_variables()} - {"global_step"}
    assert names == {
        f"{l}/{n}" for l in ("conv", "dense") for n in ("weights", "biases", "mask", "threshold")
    }
    assert len(tf.trainable_variables()) == 4
    assert [w.op.name for w in pruning.get_weights()] == ["conv/weights", "dense/weights"]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        mask = pruning.get_masks()[0]
        sess.run(mask.assign(tf.zeros_like(mask)))
        assert not sess.run(tap).any()
        (gradient,) = tf.gradients(tap, pruning.get_weights()[0])
        assert not sess.run(gradient).any()
    with pytest.raises(ValueError, match="rank 4, got shape"):
        pruning.masked_conv2d(tf.ones([1, 4, 2]), 3, 3)
    with pytest.raises(ValueError, match="Invalid data_format: 'CHWN'"):
        pruning.masked_conv2d(image, 3, 3, data_format="CHWN")
    with pytest.raises(ValueError, match="should be int or long"):
        pruning.masked_fully_connected(tf.ones([2, 3]), 2.5)


@pytest.mark.parametrize(
    ("masked", "plain"),
    [
        (pruning.MaskedBasicLSTMCell, tf.nn.rnn_cell.BasicLSTMCell),
        (
            lambda n: pruning.MaskedLSTMCell(n, num_proj=2),
            lambda n: tf.nn.rnn_cell.LSTMCell(n, num_proj=2),
        ),
    ],
)
def test_cells_with_masks_compute_as_the_plain_ones(masked, plain):
    x = tf.ones([2, 5, 3])

    def unrolled(make, scope):
        with tf.variable_scope(scope, initializer=tf.constant_initializer(0.1)):
            return tf.nn.dynamic_rnn(make(4), x, dtype=tf.float32)[0]

    one, other = unrolled(masked, "masked"), unrolled(plain, "plain")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        np.testing.assert_allclose(*sess.run([one, other]))
        (mask,) = pruning.get_masks()
        sess.run(mask.assign(tf.zeros_like(mask)))
        assert np.abs(sess.run(one) - sess.run(other)).max() > 0.01


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"begin_pruning_step": -1}, "Illegal value for begin_pruning_step: -1"),
        ({"begin_pruning_step": 5, "end_pruning_step": 5}, "must begin before it can end"),
        ({"sparsity_function_begin_step": -1}, "Illegal value for sparsity_function_begin_step"),
        ({"sparsity_function_end_step": 0}, "requires begin_step < end_step"),
        ({"threshold_decay": 1.0}, r"threshold_decay must be in range \[0,1\), got 1.0"),
        ({"target_sparsity": -0.1}, "target_sparsity must be in range"),
        ({"block_pooling_function": "SUM"}, "Unknown pooling function for block sparsity: SUM"),
        ({"block_dims_map": ["w:2x2x2"]}, "Expected 2 values for block dims, such as 2x4"),
        ({"weight_sparsity_map": ["w:1.5"]}, "can not exceed 1.0, got 1.5"),
    ],
)
def test_settings_that_contradict_each_other(settings, message):
    with pytest.raises(ValueError, match=message):
        pruning.Pruning(_spec(**settings))


def test_training_updates_the_masks(tmp_path):
    x = tf.random_normal([8, 6], seed=1)
    loss = tf.reduce_mean(tf.square(pruning.masked_fully_connected(x, 3, activation_fn=None) - 1.0))
    trainer = pruning.Pruning(sparsity=tf.constant(0.5))
    train_op = tf.contrib.slim.learning.create_train_op(
        loss, tf.train.GradientDescentOptimizer(0.1)
    )
    result = pruning.train(
        train_op, str(tmp_path), trainer.mask_update_op(), number_of_steps=3, log_every_n_steps=10
    )
    assert np.isfinite(result)
    saved = tf.train.load_variable(
        tf.train.latest_checkpoint(str(tmp_path)), "fully_connected/mask"
    )
    assert saved.sum() == 9
