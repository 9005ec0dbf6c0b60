"""What the examples of the package ``keras`` 2.2 and its own tests stumbled on."""

from __future__ import annotations

import numpy as np

from tests.shim.test_as_tensorflow import result_of

_BEGIN = """
import dataflow
dataflow.as_tensorflow()
import re
import numpy as np
import keras
from keras import backend as K
from keras.layers import GRU, LSTM, RNN, ConvLSTM2D, Dense, Input, LSTMCell, SimpleRNN, add
from keras.models import Model
"""


def test_words_are_split_at_an_optional_group_as_before_python_3_7() -> None:
    found = result_of(
        _BEGIN
        + r"""
result = [[x.strip() for x in re.split(r"(\W+)?", "Where is Mary?") if x.strip()],
          re.split("(a)?", "xaay", maxsplit=1), re.split("(a)(b)?", "xaby"), re.split(r"(\W+)", "a b"),
          re.split("(?=[A-Z])", "aB")]
"""
    )
    assert found == [
        ["Where", "is", "Mary", "?"],
        ["x", "a", "ay"],
        ["x", "a", "b", "y"],
        ["a", " ", "b"],
        ["a", "B"],
    ]


def test_a_model_predicts_as_many_samples_as_its_first_input_has() -> None:
    found = result_of(
        _BEGIN
        + """
a, b = Input((2,)), Input((2,))
model = Model([a, b], add([a, b]))
result = model.predict([np.ones((3, 2)), np.arange(10.0).reshape(5, 2)], batch_size=2).tolist()
"""
    )
    assert found == [[1, 2], [3, 4], [5, 6]]


def test_optimizers_of_tensorflow_are_told_the_weights_by_name() -> None:
    found = result_of(
        _BEGIN
        + """
import tensorflow as tf
told = []
class Mine(tf.train.GradientDescentOptimizer):
    def compute_gradients(self, loss, **kwargs):
        told.append(sorted(kwargs))
        return super().compute_gradients(loss, **kwargs)
x = Input((2,))
model = Model(x, Dense(1, kernel_initializer="ones", use_bias=False)(x))
model.compile(keras.optimizers.TFOptimizer(Mine(0.5)), "mse")
model.fit(np.ones((1, 2)), np.zeros((1, 1)), verbose=0)
result = [told, model.get_weights()[0].tolist()]
"""
    )
    assert found == [[["var_list"]], [[-1], [-1]]]


def test_states_that_no_layer_made() -> None:
    """A model takes them as they are, with the values that they have when it runs."""
    found = result_of(
        _BEGIN
        + """
result = []
sequence = np.random.RandomState(1).rand(2, 4, 3)
for make, count in ((SimpleRNN, 1), (GRU, 1), (LSTM, 2), (lambda units: RNN(LSTMCell(units)), 2)):
    x, states = Input((4, 3)), [K.variable(np.full((2, 5), 0.5)) for _ in range(count)]
    layer = make(5)
    model = Model(x, layer(x, initial_state=states))
    before = model.predict(sequence)
    K.set_value(states[0], np.zeros((2, 5)))
    after = model.predict(sequence)
    given = [Input((5,)) for _ in states]
    other = Model([x, *given], layer(x, initial_state=given))
    expected = [other.predict([sequence, np.full((2, 5), first), *[np.full((2, 5), 0.5)] * (count - 1)])
                for first in (0.5, 0.0)]
    result.append([float(np.abs(before - expected[0]).max()), float(np.abs(after - expected[1]).max()),
                   float(np.abs(before - after).max())])
"""
    )
    for before, after, change in found:
        assert before < 1e-6 and after < 1e-6 and change > 1e-4


def test_states_of_convolutions_stand_as_the_layers_images_do() -> None:
    found = result_of(
        _BEGIN
        + """
result = []
images = np.random.RandomState(2).rand(2, 3, 6, 5, 2)
weights = None
for data_format in ("channels_last", "channels_first"):
    first = data_format == "channels_first"
    values = images.transpose(0, 1, 4, 2, 3) if first else images
    x = Input(batch_shape=values.shape)
    layer = ConvLSTM2D(4, 3, strides=(2, 1), data_format=data_format, return_state=True)
    layer.build(values.shape)
    zeros = layer.get_initial_state(x)
    y, h, c = layer(x, initial_state=zeros)
    again, _, _ = layer(x, initial_state=[h, c])
    model = Model(x, [y, h, again])
    weights = weights or model.get_weights()
    model.set_weights(weights)
    y, h, again = model.predict(values)
    shapes = [list(K.int_shape(zeros[0])), list(h.shape)]
    result.append([shapes, (again.transpose(0, 2, 3, 1) if first else again).tolist(), bool((y == h).all())])
"""
    )
    (last, of_last, same_last), (first, of_first, same_first) = found
    assert last == [[2, 2, 3, 4]] * 2 and first == [[2, 4, 2, 3]] * 2
    assert same_last and same_first
    np.testing.assert_allclose(of_first, of_last, atol=1e-6)


def test_models_with_layers_of_ones_own_are_cloned() -> None:
    found = result_of(
        _BEGIN
        + """
class Swap(keras.layers.Layer):
    def call(self, inputs):
        return [inputs[1], inputs[0]]
    def compute_output_shape(self, input_shape):
        return [input_shape[1], input_shape[0]]
class Twice(keras.layers.Layer):
    def call(self, inputs):
        return 2 * inputs
a, b = Input((1,)), Input((1,))
inner = keras.models.Sequential([Twice(input_shape=(1,))])
model = Model([a, b], Swap()([inner(a), b]))
result = [v.tolist() for v in keras.models.clone_model(model).predict([np.ones((1, 1)), np.full((1, 1), 3.0)])]
result.append("Swap" in keras.utils.get_custom_objects())
"""
    )
    assert found == [[[3]], [[2]], False]


def test_functions_of_the_backend_as_the_package_has_them() -> None:
    found = result_of(
        _BEGIN
        + """
steps = np.full((1, 5, 3), 0.05)
steps[0, range(5), [0, 2, 0, 0, 1]] = 0.9
decoded = [K.ctc_decode(K.constant(steps), K.constant([5], "int32"), greedy=False, **how)[0][0]
           for how in ({}, {"merge_repeated": True})]
x = K.constant([[0.0, 2.0]])
result = [K.eval(t).tolist() for t in (*decoded, K.tile(x, 2), K.tile(x, (2, 1)), K.eye((2, 3)), K.any(x, axis=1),
    K.all(x), K.binary_crossentropy(K.constant([1.0]), K.constant([0.0])))]
"""
    )
    assert found[:7] == [
        [[0, 0, 1]],
        [[0, 1]],
        [[0, 2, 0, 2]],
        [[0, 2], [0, 2]],
        [[1, 0, 0], [0, 1, 0]],
        [True],
        False,
    ]
    np.testing.assert_allclose(found[7], -np.log(1e-7), rtol=1e-6)
