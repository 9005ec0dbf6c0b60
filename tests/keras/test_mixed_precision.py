"""Policies of `tf.keras.mixed_precision.experimental`: layers that compute in half precision, with float32 variables."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import dataflow as tf
from dataflow import logging
from dataflow.keras.autocast_variables import AutoCastVariable, casting_to
from dataflow.keras.precision_policies import policy_scope, use_version2_dtypes

keras: Any = tf.keras
layers: Any = keras.layers
precision: Any = keras.mixed_precision.experimental
Policy: Any = precision.Policy


def test_names_of_policies() -> None:
    mixed = Policy("mixed_float16")
    assert (mixed.compute_dtype, mixed.variable_dtype) == ("float16", "float32")
    assert mixed.should_cast_variables
    assert mixed.loss_scale is not None
    assert Policy("mixed_bfloat16").loss_scale is None
    assert Policy("float32_with_float32_vars").name == "float32"
    assert Policy("infer_float32_vars").variable_dtype == "float32"
    assert Policy("infer").compute_dtype is None
    assert repr(Policy("float16", loss_scale=2.0).loss_scale) == "FixedLossScale(2.0)"
    assert repr(Policy("float64")) == '<Policy "float64", loss_scale=None>'
    with pytest.raises(TypeError, match="DType.name"):
        Policy(tf.float16)
    with pytest.raises(TypeError, match="must be a string"):
        Policy(16)
    with pytest.raises(ValueError, match="mixed precision Policy"):
        Policy("half a number")
    with mock.patch.object(logging, "warn") as warned:
        Policy("float16", loss_scale=2.0)
        assert not warned.called
        Policy("float32", loss_scale=2.0)
    assert "only useful for float16" in warned.call_args[0][0]


def test_the_policy_of_all_layers_can_only_wait_for_the_input() -> None:
    assert precision.global_policy().name == "infer"
    precision.set_policy("infer_with_float32_vars")
    try:
        layer = layers.Dense(2)
        assert layer(tf.ones([1, 3], tf.float16)).dtype == tf.float16
        assert layer.weights[0].dtype.base_dtype == tf.float32
    finally:
        precision.set_policy(None)
    with pytest.raises(ValueError, match="TensorFlow 2"):
        precision.set_policy("mixed_float16")


def _mixed(cls: Any, *args: Any, **kwargs: Any) -> Any:
    return cls(*args, dtype=Policy("mixed_float16"), autocast=True, **kwargs)


def test_a_mixed_layer_trains_its_float32_weights(tmp_path: Path) -> None:
    x = keras.Input((3,))
    layer = _mixed(layers.Dense, 2, kernel_initializer="ones")
    y = layer(x)
    assert (y.dtype, layer.dtype, layer.weights[0].dtype.base_dtype) == (
        *(tf.float16, tf.float32),
        tf.float32,
    )
    model = keras.Model(x, layers.Lambda(lambda t: tf.cast(t, tf.float32))(y))
    model.compile("sgd", "mse")
    assert model.train_on_batch(np.ones((4, 3)), np.zeros((4, 2))) == 9
    kernel, bias = model.get_weights()
    np.testing.assert_allclose(kernel, np.full((3, 2), 0.97), rtol=1e-6)  # as TensorFlow 1.15
    np.testing.assert_allclose(bias, [-0.03, -0.03], rtol=1e-6)
    model.save_weights(tmp_path / "weights")
    names = [name for name, _ in tf.train.list_variables(str(tmp_path / "weights"))]
    assert "layer_with_weights-0/kernel/.ATTRIBUTES/VARIABLE_VALUE" in names


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: _mixed(layers.LSTM, 2), [2, 3, 4]),
        (lambda: _mixed(layers.Conv2D, 2, 3), [1, 5, 5, 3]),
        (lambda: _mixed(layers.BatchNormalization), [4, 3]),
    ],
)
def test_layers_compute_in_half_precision(make: Any, shape: list[int]) -> None:
    layer = make()
    found = layer(tf.ones(shape), training=True) if "Batch" in str(layer) else layer(tf.ones(shape))
    assert found.dtype == tf.float16
    assert {w.dtype.base_dtype for w in layer.weights} == {tf.float32}
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(found).dtype == np.float16


def test_inputs_are_cast_only_on_request() -> None:
    seen = []

    class Plain(layers.Layer):  # type: ignore[misc]
        def call(self, inputs: Any) -> Any:
            seen.append(inputs.dtype)
            return inputs

    Plain(dtype="float16")(tf.ones([1]))
    Plain(dtype="float16", autocast=True)(tf.ones([1]))
    Plain(dtype="float16", autocast=True)(tf.ones([1], tf.int32))
    assert seen == [tf.float32, tf.float16, tf.int32]


def test_a_model_with_a_policy_scales_its_loss() -> None:
    class Model(keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(dtype=Policy("mixed_float16", loss_scale=4.0))
            self.dense = layers.Dense(1)

        def call(self, inputs: Any) -> Any:
            return self.dense(inputs)

    model = Model()
    model.compile("sgd", "mse")
    assert isinstance(model.optimizer, precision.LossScaleOptimizer)
    assert repr(model.optimizer.loss_scale) == "FixedLossScale(4.0)"


def test_a_variable_that_is_read_in_another_dtype() -> None:
    x: Any = AutoCastVariable(tf.Variable([7.0, 2.0], use_resource=True))
    with tf.Session() as sess, casting_to(tf.float16):
        sess.run(x.initializer)
        assert (x.dtype, x.true_dtype, x.read_value().dtype) == (
            *(tf.float16, tf.float32),
            tf.float16,
        )
        made: Any
        for made, expected in (
            *((x + 1, [8, 3]), (1 - x, [-6, -1]), (x * x, [49, 4]), (x[0], 7)),
            *((-x, [-7, -2]), (abs(x), [7, 2]), (2.0**x, [128, 4]), (x > 3, [True, False])),
            (x.sparse_read([1]), [2]),
        ):
            assert made.dtype.name in ("float16", "bool")
            np.testing.assert_array_equal(sess.run(made), expected)
        sess.run(x.assign([1.0, 1.0]))
        np.testing.assert_array_equal(sess.run(tf.identity(x)), [1, 1])
    with casting_to(None):
        assert tf.convert_to_tensor(x).dtype == tf.float32
    assert "true_dtype=float32" in repr(x)
    with pytest.raises(ValueError, match="floating point"):
        AutoCastVariable(tf.Variable(1))


def test_with_version_2s_dtypes_layers_cast_what_they_are_given() -> None:
    use_version2_dtypes(True)
    try:
        assert precision.global_policy().name == "float32"
        layer = layers.Dense(2)
        assert layer(tf.ones([1, 3], tf.float64)).dtype == tf.float32
        with policy_scope("float64"):
            assert layers.Dense(2)(tf.ones([1, 3])).dtype == tf.float64
        assert precision.global_policy().name == "float32"
    finally:
        use_version2_dtypes(False)
    assert layers.Dense(2)(tf.ones([1, 3], tf.float64)).dtype == tf.float64


def test_a_policy_of_all_layers_or_the_rewrite_of_graphs() -> None:
    tf.train.experimental.enable_mixed_precision_graph_rewrite(
        tf.train.GradientDescentOptimizer(1.0)
    )
    try:
        with pytest.raises(ValueError, match="graph rewrite has already been enabled"):
            precision.set_policy("infer_with_float32_vars")
    finally:
        tf.train.experimental.disable_mixed_precision_graph_rewrite()
    with policy_scope("infer_with_float32_vars"):
        assert precision.global_policy().name == "infer_with_float32_vars"
    assert precision.global_policy().name == "infer"
