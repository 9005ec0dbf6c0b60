"""TimeDistributed around layers of one's own, shapes that layers say, names of weights, joins that do not fit."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from dataflow.python.training.tracking import util as tracking

layers = tf.keras.layers


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default(), tf.Session():
        yield


class Doubled(layers.Layer):
    """Its inputs twice along the last axis; the shape as the class attribute says."""

    kind: type = tf.TensorShape

    def __init__(self, factor):
        super().__init__()
        self.factor = factor  # which no config has

    def call(self, inputs):
        return self.factor * tf.concat([inputs, inputs], -1)

    def compute_output_shape(self, input_shape):
        *rest, last = tf.TensorShape(input_shape).as_list()
        return self.kind([*rest, 2 * last])


@pytest.mark.parametrize("kind", [tf.TensorShape, list, tuple])
def test_steps_of_a_layer_of_ones_own(kind):
    inner = Doubled(3.0)
    inner.kind = kind
    layer = layers.TimeDistributed(inner)
    assert layer.compute_output_shape([None, 2, 4]).as_list() == [None, 2, 8]
    x = tf.keras.Input((2, 4))
    model = tf.keras.Model(x, layer(x))
    assert model.output_shape == (None, 2, 8)
    assert (model.predict(np.ones([1, 2, 4])) == 3.0).all()


def test_shapes_of_wrappers_without_a_shape_rule():
    class Halved(layers.Layer):
        def call(self, inputs):
            return inputs[..., ::2]

    wrapped = layers.TimeDistributed(layers.TimeDistributed(Halved()))
    assert wrapped.compute_output_shape([None, 2, 3, 4]).as_list() == [None, 2, 3, 2]
    both = layers.Bidirectional(layers.LSTM(3, return_sequences=True))
    assert both.compute_output_shape([None, 5, 4]).as_list() == [None, 5, 6]


def test_what_time_distributed_refuses():
    with pytest.raises(ValueError, match="Please initialize `TimeDistributed` layer with a"):
        layers.TimeDistributed(tf.zeros([1, 1]))
    with pytest.raises(ValueError, match=r"at least 3 dimensions, received: \[None, 10\]"):
        layers.TimeDistributed(layers.Dense(5))(tf.keras.Input((10,)))


def test_joins_say_which_shapes_do_not_fit():
    one, other = tf.keras.Input((4, 5)), tf.keras.Input((3, 5))
    with pytest.raises(ValueError, match=r"inputs with matching shapes .*\[None, 3, 5\]"):
        layers.concatenate([one, other])
    assert layers.concatenate([one, other], axis=1).shape.as_list() == [None, 7, 5]
    unknown = tf.placeholder(tf.float32, [None, None, 5])
    assert layers.concatenate([one, unknown], axis=-1).shape.as_list() == [None, 4, 10]


def test_weights_without_a_name_are_variables():
    class Plain(layers.Layer):
        def __init__(self):
            super().__init__()
            self.first, self.second = (
                self.add_weight(),
                self.add_weight(shape=(2,), regularizer="l2"),
            )

    layer = Plain()
    assert [layer.first.op.name, layer.second.op.name] == ["Variable", "Variable_1"]
    assert layer.losses[0].name.startswith("Variable_1/Regularizer")


def test_objects_of_a_model_are_listed():
    model = tf.keras.Sequential([layers.TimeDistributed(layers.Dense(2), input_shape=(3, 4))])
    model.compile("adam", "mse")
    model.fit(np.ones([2, 3, 4]), np.ones([2, 3, 2]), verbose=0)
    listed = {id(item) for item in tracking.list_objects(model)}
    assert all(id(v) in listed for v in [*model.variables, *model.optimizer.weights])
