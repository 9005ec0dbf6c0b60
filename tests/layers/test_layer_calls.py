"""What a layer tells of its calls, its values and its settings."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def test_inputs_and_outputs() -> None:
    layer = tf.layers.Dense(2, name="d")
    with pytest.raises(AttributeError, match="not connected"):
        layer.output
    x = tf.placeholder(tf.float32, [None, 5])
    y = layer(x)
    assert layer.input is x
    assert layer.output is y
    assert layer.input_shape == (None, 5)
    assert layer.output_shape == (None, 2)
    z = layer(tf.ones([7, 5]))
    assert layer.output is y
    assert layer.get_output_at(1) is z
    assert layer.get_input_shape_at(1) == (7, 5)
    with pytest.raises(AttributeError, match="several shapes"):
        layer.output_shape
    with pytest.raises(ValueError, match="there is no call 2"):
        layer.get_input_at(2)


def test_losses_and_updates_of_an_input() -> None:
    def penalty(t):
        return tf.reduce_sum(t) * 1e-3

    layer = tf.layers.Dense(2, activity_regularizer=penalty, kernel_regularizer=penalty)
    x, other = tf.ones([3, 5]), tf.ones([3, 5])
    layer(x)
    assert layer.activity_regularizer is penalty
    of_kernel, of_output = layer.losses
    assert layer.get_losses_for(x) == [of_output]
    assert layer.get_losses_for(None) == [of_kernel]
    assert layer.get_losses_for(other) == []
    norm = tf.layers.BatchNormalization()
    norm(x, training=True)
    assert norm.get_updates_for(x) == norm.updates
    assert norm.get_updates_for(None) == []


def test_values_are_read_and_set() -> None:
    layer = tf.layers.Dense(2)
    y = layer(tf.ones([3, 5]))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert [v.shape for v in layer.get_weights()] == [(5, 2), (2,)]
        layer.set_weights([np.ones([5, 2]), np.zeros(2)])
        assert sess.run(y).tolist() == [[5.0, 5.0]] * 3
        with pytest.raises(ValueError, match="has 2 weights, got 1 arrays"):
            layer.set_weights([np.ones([5, 2])])


def test_variables_outside_of_a_call_are_in_the_layers_scope() -> None:
    layer = tf.layers.Layer(name="mine")
    assert layer.add_variable("v", [2, 2]).name == "mine/v:0"
    cell = tf.nn.rnn_cell.BasicRNNCell(3)
    cell.build((None, 2))
    assert [v.name for v in cell.weights] == ["basic_rnn_cell/kernel:0", "basic_rnn_cell/bias:0"]
    dense = tf.layers.Dense(3, name="d")
    dense.build((None, 2))
    dense(tf.ones([1, 2]))
    assert [v.name for v in tf.global_variables("d/")] == ["d/kernel:0", "d/bias:0"]


@pytest.mark.parametrize(
    ("settings", "value", "match"),
    [
        ({"dtype": "float32"}, [1], "dtype=float32, found int32"),
        ({"max_ndim": 1}, [[1.0]], "max_ndim=1, found ndim=2"),
        ({"min_ndim": 2}, [1.0], "min_ndim=2, found ndim=1"),
        ({"shape": (None, 3)}, [[1.0, 2.0]], r"shape=\(\?, 3\), found shape=\[1, 2\]"),
        ({"axes": {-1: 2}}, [[1.0]], "axis -1 of input shape to have value 2"),
    ],
)
def test_input_specs(settings, value, match) -> None:
    layer = tf.layers.Layer(name="c")
    layer.input_spec = tf.layers.InputSpec(**settings)
    with pytest.raises(ValueError, match=match):
        layer(tf.constant(value))


def test_dtype_is_taken_from_the_input() -> None:
    layer = tf.layers.Flatten()
    layer(tf.ones([1, 2], tf.int32))
    assert layer.dtype == "int32"
    with pytest.raises(TypeError, match="non-floating point dtype int32"):
        tf.layers.dense(tf.ones([1, 2], tf.int32), 2)


@pytest.mark.parametrize("shape", [(), (3,), None, (3, None)])
def test_output_shape_of_dense_needs_the_last_size(shape) -> None:
    with pytest.raises(ValueError, match="rank|last dimension"):
        tf.layers.Dense(4).compute_output_shape(tf.TensorShape(shape))


def test_pooling_refuses_what_it_does_not_know() -> None:
    image = tf.ones([1, 4, 4, 3])
    with pytest.raises(ValueError, match="channels_first, channels_last"):
        tf.layers.max_pooling2d(image, 2, 2, data_format="invalid")
    with pytest.raises(ValueError, match="strides"):
        tf.layers.average_pooling2d(image, 2, strides=None)


def test_cells_from_their_config() -> None:
    cells = tf.nn.rnn_cell
    made = cells.DropoutWrapper(cells.LSTMCell(3, use_peepholes=True), input_keep_prob=0.5)
    config = made.get_config()
    assert config["cell"]["class_name"] == "LSTMCell"
    again = cells.DropoutWrapper.from_config(config)
    assert again.get_config() == config
    assert again.wrapped_cell.get_config()["use_peepholes"] is True
    residual = cells.ResidualWrapper(cells.BasicRNNCell(3))
    assert sorted(residual.get_config()) == ["cell", "dtype", "name", "trainable"]


def doubling(base):
    class Doubling(base):
        def call(self, x):
            return x * 2.0

    return Doubling()


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.layers.Dense(3),
        lambda: tf.keras.layers.Dense(3),
        lambda: doubling(tf.layers.Layer),
        lambda: doubling(tf.keras.layers.Layer),
        lambda: doubling(tf.keras.Model),
    ],
)
def test_layers_that_do_not_ask_are_told_of_training_in_vain(make) -> None:
    assert make()(tf.ones([2, 3]), training=True).shape.as_list() == [2, 3]
    with pytest.raises(TypeError, match="other"):
        make()(tf.ones([2, 3]), other=True)


@pytest.mark.parametrize("base", [tf.layers.Layer, tf.keras.layers.Layer])
def test_layers_that_ask_for_anything_are_told_of_training(base) -> None:
    heard = []

    class Open(base):
        def call(self, x, **kwargs):
            heard.append(kwargs.get("training"))
            return x * 2.0

    class Asking(base):
        def call(self, x, training=None):
            heard.append(training)
            return x * 2.0

    Open()(tf.ones([1]), training=True)
    Asking()(tf.ones([1]), training=True)
    assert heard == [True, True]


def test_a_layer_is_called_what_it_was_called_wherever_its_variables_are() -> None:
    with tf.Graph().as_default():
        x = tf.ones([2, 3])
        with tf.variable_scope("s"):
            given, first, second = (
                tf.layers.Dense(3, name="d"),
                tf.layers.Dense(3),
                tf.layers.Dense(3),
            )
            for layer in (given, first, second):
                layer(x)
        outside = tf.layers.Dense(3)
        outside(x)
        made = (given, first, second, outside)
        # TensorFlow 1.15.5's names: of layers, and of their scopes.
        assert [layer.name for layer in made] == ["d", "dense_1", "dense_2", "dense_3"]
        assert [layer.scope_name for layer in made] == ["s/d", "s/dense", "s/dense_1", "dense"]
        assert first.get_config()["name"] == "dense_1"
        assert tf.nn.rnn_cell.BasicLSTMCell(3).name == "basic_lstm_cell_1"
