"""``tf.contrib.layers``: group, instance and batch normalization, by what they do to numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from tests.running import run_initialized

layers = tf.contrib.layers
IMAGES = np.random.RandomState(0).normal(3, 2, [4, 5, 6, 8]).astype(np.float32)


pytestmark = pytest.mark.usefixtures("graph")


@pytest.mark.parametrize("close", [False, True])
def test_groups_of_channels_have_mean_0_and_variance_1(close: bool) -> None:
    out = run_initialized(
        layers.group_norm(tf.constant(IMAGES), groups=2, mean_close_to_zero=close)
    )
    grouped = out.reshape(4, 30, 2, 4)
    np.testing.assert_allclose(grouped.mean((1, 3)), 0.0, atol=1e-5)
    np.testing.assert_allclose(grouped.var((1, 3)), 1.0, rtol=1e-4)
    assert [v.op.name for v in tf.trainable_variables()] == ["GroupNorm/beta", "GroupNorm/gamma"]


def test_groups_with_channels_first_are_the_same() -> None:
    last = layers.group_norm(tf.constant(IMAGES), groups=4)
    first = layers.group_norm(
        tf.constant(IMAGES.transpose(0, 3, 1, 2)), 4, channels_axis=-3, reduction_axes=(-2, -1)
    )
    a, b = run_initialized([last, first])
    np.testing.assert_allclose(a, b.transpose(0, 2, 3, 1), rtol=1e-4, atol=1e-5)


def test_group_errors() -> None:
    with pytest.raises(ValueError, match="8 channels is not commensurate with 3 groups"):
        layers.group_norm(tf.constant(IMAGES), groups=3)
    with pytest.raises(ValueError, match="mutually exclusive"):
        layers.group_norm(tf.constant(IMAGES), 2, reduction_axes=(-1,))


def test_each_channel_of_each_example_by_itself() -> None:
    out, first = run_initialized(
        [
            layers.instance_norm(tf.constant(IMAGES)),
            layers.instance_norm(tf.constant(IMAGES.transpose(0, 3, 1, 2)), data_format="NCHW"),
        ]
    )
    np.testing.assert_allclose(out.mean((1, 2)), 0.0, atol=1e-5)
    np.testing.assert_allclose(out.var((1, 2)), 1.0, rtol=1e-4)
    np.testing.assert_allclose(first.transpose(0, 2, 3, 1), out, rtol=1e-4, atol=1e-5)


def test_batch_norm_of_vectors_moves_the_variance_of_a_sample() -> None:
    rows = IMAGES.reshape(-1, 8)[:10]
    layers.batch_norm(tf.constant(rows), decay=0.0, updates_collections="updates")
    updates = tf.get_collection("updates")
    assert [u.op.name for u in updates] == [
        "BatchNorm/AssignMovingAvg",
        "BatchNorm/AssignMovingAvg_1",
    ]
    variance = next(v for v in tf.global_variables() if v.op.name.endswith("moving_variance"))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(updates)
        np.testing.assert_allclose(session.run(variance), rows.var(0, ddof=1), rtol=1e-4)


def test_batch_weights_count_examples_so_often() -> None:
    rows = IMAGES.reshape(-1, 8)[:3]
    out = layers.batch_norm(tf.constant(rows), batch_weights=tf.constant([1.0, 2.0, 0.0]))
    often = rows[[0, 1, 1]]
    expected = (rows - often.mean(0)) / np.sqrt(often.var(0) + 0.001)
    np.testing.assert_allclose(run_initialized(out), expected, rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="not currently supported for fused"):
        layers.batch_norm(tf.constant(rows), batch_weights=tf.constant([1.0] * 3), fused=True)


def test_batch_norm_puts_a_variable_once_into_a_collection() -> None:
    with tf.Graph().as_default():
        key = tf.GraphKeys.TRAINABLE_VARIABLES
        layers.batch_norm(tf.constant(IMAGES), scale=True, variables_collections=[key])
        names = ["gamma", "beta", "moving_mean", "moving_variance"]
        assert [v.op.name for v in tf.get_collection(key)] == [f"BatchNorm/{n}" for n in names]
        tf.train.Saver(tf.trainable_variables())


@pytest.mark.parametrize(
    "given",
    [
        {"updates_collections": None},
        {"updates_collections": "mine"},
        {"zero_debias_moving_mean": True},
        {"batch_weights": [1.0] * len(IMAGES)},
    ],
)
def test_batch_norm_by_contrib_makes_beta_first_and_moves_when_frozen(given: dict) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        out = layers.batch_norm(
            tf.constant(IMAGES), decay=0.5, scale=True, trainable=False, **given
        )
        names = [v.op.name.rpartition("/")[2] for v in tf.model_variables()]
        assert names[:2] == ["beta", "gamma"]
        session.run(tf.global_variables_initializer())
        session.run([out, tf.get_collection("mine"), tf.get_collection("update_ops")])
        (mean,) = [v for v in tf.model_variables() if v.op.name.endswith("moving_mean")]
        assert np.abs(session.run(mean)).max() > 0.01


def test_batch_norm_regularizes_its_parameters() -> None:
    layers.batch_norm(tf.constant(IMAGES), param_regularizers={"beta": layers.l2_regularizer(0.1)})
    assert len(tf.losses.get_regularization_losses()) == 1


def test_layer_norm_has_variables_of_the_model() -> None:
    with tf.Graph().as_default():
        tf.contrib.layers.layer_norm(
            tf.ones([2, 3]), variables_collections=["mine"], trainable=False
        )
        beta_gamma = ["LayerNorm/beta", "LayerNorm/gamma"]
        assert [v.op.name for v in tf.contrib.framework.get_model_variables()] == beta_gamma
        assert [v.op.name for v in tf.get_collection("mine")] == beta_gamma
        assert not tf.trainable_variables()


def test_instance_norm_names_its_nodes_after_itself() -> None:
    with tf.Graph().as_default():
        out = tf.contrib.layers.instance_norm(tf.zeros([2, 3, 3, 4]))
        assert out.op.name == "InstanceNorm/instancenorm/add_1"


def test_initializers_are_for_floating_numbers() -> None:
    layers = tf.contrib.layers
    for make in (layers.xavier_initializer, layers.variance_scaling_initializer):
        with pytest.raises(TypeError, match="non-floating"):
            make(dtype=tf.int32)


@pytest.mark.parametrize(
    ("shape", "fused", "names", "updates"),
    [
        ((4, 5), None, ["beta", "gamma"], 2),
        ((4, 5), False, ["gamma", "beta"], 0),
        ((4, 3, 3, 2), None, ["gamma", "beta"], 0),
    ],
    ids=["rows, fused", "rows", "images"],
)
def test_order_of_variables_and_updates_of_a_frozen_layer(
    shape: Any, fused: Any, names: list[str], updates: int
) -> None:
    with tf.Graph().as_default() as graph:
        tf.contrib.layers.batch_norm(tf.ones(shape), fused=fused, scale=True)
        assert [v.op.name for v in tf.trainable_variables()] == [f"BatchNorm/{n}" for n in names]
        before = len(graph.get_collection(tf.GraphKeys.UPDATE_OPS))
        tf.contrib.layers.batch_norm(tf.ones(shape), fused=fused, trainable=False)
        assert len(graph.get_collection(tf.GraphKeys.UPDATE_OPS)) - before == updates


def test_what_normalizations_refuse() -> None:
    unknown = tf.placeholder(tf.float32)
    with pytest.raises(ValueError, match="rank must be known"):
        layers.unit_norm(unknown, dim=2)
    for dim in (-1, 2):
        with pytest.raises(ValueError, match="smaller than the input rank"):
            layers.unit_norm(tf.zeros([2, 3]), dim=dim)
    with pytest.raises(ValueError, match="has to be either NCHW or NHWC"):
        layers.batch_norm(unknown, data_format="CHWN")
