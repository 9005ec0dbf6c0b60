"""Classes of one's own that are built from shapes, read weights before they have any, or forget to begin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow
from dataflow.python.eager import context

tf: Any = dataflow
keras: Any = tf.keras
layers: Any = keras.layers


@pytest.fixture(autouse=True)
def a_new_graph():
    keras.backend.clear_session()
    yield
    keras.backend.clear_session()


class Classifier(keras.Model):
    """Dense, batch norm, dropout, dense: weights, updates, and a phase."""

    def __init__(self):
        super().__init__()
        self.hidden = layers.Dense(5, "relu", kernel_initializer="ones", kernel_regularizer="l2")
        self.norm = layers.BatchNormalization()
        self.drop = layers.Dropout(0.5)
        self.last = layers.Dense(2)

    def call(self, x, training=None):
        return self.last(self.drop(self.norm(self.hidden(x)), training=training))


class Sum(keras.Model):
    """Of two inputs."""

    def __init__(self):
        super().__init__()
        self.left, self.right = layers.Dense(3), layers.Dense(3)

    def call(self, inputs):
        a, b = inputs
        return self.left(a) + self.right(b)


def test_a_shape_makes_the_weights_and_nothing_else():
    model = Classifier()
    assert not model.built and not model.weights
    model.build((None, 4))
    assert model.built
    assert [w.shape.as_list() for w in model.trainable_weights] == [
        [4, 5],
        [5],
        [5],
        [5],
        [5, 2],
        [2],
    ]
    assert (
        model.hidden.kernel.name == "dense/kernel:0"
    )  # as in TensorFlow: not below the model's name
    assert model.norm.updates == [] and len(model.losses) == 1  # what a call leaves is forgotten
    model.compile("sgd", "mse")
    x = np.ones((4, 4), np.float32)
    before = model.norm.get_weights()[2]
    model.train_on_batch(x, np.zeros((4, 2)))
    assert not np.array_equal(
        model.norm.get_weights()[2], before
    )  # the updates of the real call run
    lines: list[str] = []
    model.summary(print_fn=lines.append)
    assert any(line.startswith("Trainable params: 47") for line in lines)


def test_shapes_of_several_inputs_come_as_a_list():
    model = Sum()
    model.build([(None, 4), tf.TensorShape([None, 2])])
    assert [w.shape.as_list() for w in model.weights] == [[4, 3], [3], [2, 3], [3]]
    assert model.predict([np.ones((1, 4)), np.ones((1, 2))]).shape == (1, 3)


def test_a_build_of_ones_own_runs_alone_when_data_comes():
    class Own(keras.Model):
        def build(self, input_shape):
            self.last = layers.Dense(input_shape[-1])
            super().build(input_shape)

        def call(self, x):
            return self.last(x)

    model = Own()
    model.compile("sgd", "mse")
    model.fit(np.ones((2, 3)), np.ones((2, 3)), verbose=0)
    assert [w.shape.as_list() for w in model.weights] == [[3, 3], [3]]


def test_what_no_shape_can_build():
    class Takes(keras.Model):
        def call(self, x, state):
            return x + state

    class TakesNothing(keras.Model):
        def call(self):
            return 1

    class Embeds(keras.Model):
        def call(self, x):
            return tf.nn.embedding_lookup(tf.ones([3, 2]), x)

    with pytest.raises(ValueError, match="Input shape must be defined"):
        Classifier().build(None)
    with pytest.raises(ValueError, match="not one of the valid types"):
        Classifier().build(tf.Dimension(4))
    with pytest.raises(ValueError, match="cannot build your model if it has positional"):
        Takes().build((None, 4))
    with pytest.raises(ValueError, match="accepts an `inputs` argument"):
        TakesNothing().build((None, 4))
    with pytest.raises(ValueError, match="if your layers do not support float type inputs"):
        Embeds().build((None, 4))


def test_eager_code_builds_too():
    with context.eager_mode():
        model = Classifier()
        model.build((None, 4))
        assert len(model.weights) == 8
        assert model(tf.ones([2, 4])).shape.as_list() == [2, 2]


def test_weights_of_a_file_wait_for_the_model(tmp_path):
    x = np.ones((3, 4), np.float32)
    written = Classifier()
    expected = written.predict(x)
    written.save_weights(str(tmp_path / "weights"))
    for build in (lambda model: model.build((None, 4)), lambda model: None):
        model = Classifier()
        model.load_weights(str(tmp_path / "weights"))
        build(model)
        np.testing.assert_allclose(model.predict(x), expected, rtol=1e-6)


def test_a_forgotten_super_call_says_so():
    class Forgets(keras.Model):
        def __init__(self):
            self.parts = [layers.Dense(1)]

    with pytest.raises(RuntimeError, match=r"forgot to call super\(Forgets, self\)"):
        Forgets()


@pytest.mark.parametrize("of", [np.ones, tf.ones], ids=["array", "tensor"])
def test_programs_set_the_inputs_themselves(of):
    model = Classifier()
    model._set_inputs(of((3, 4)))
    assert [t.shape.as_list() for t in (*model.inputs, *model.outputs)] == [[None, 4], [None, 2]]
    assert len(model.updates) == 2
    with pytest.raises(ValueError, match="set already"):
        model._set_inputs(of((3, 4)))


def test_a_network_is_laid_out_in_build():
    """As Berkeley's course on reinforcement learning does, from shapes whose batch is not known."""

    class QFunction(keras.Model):
        def build(self, input_shape):
            inputs = [layers.Input(batch_shape=shape) for shape in input_shape]
            x = layers.Dense(4, "relu")(layers.Concatenate(axis=1)(inputs))
            self._init_graph_network(inputs, layers.Dense(1)(x))
            super().build(input_shape)

    observations = tf.placeholder(tf.float32, [None, 3])
    actions = tf.placeholder(tf.float32, [None, 2])
    q = QFunction()
    values = q((observations, actions))
    again = q((observations, 2 * actions))
    assert values.shape.as_list() == [None, 1]
    assert [w.shape.as_list() for w in q.trainable_variables] == [[5, 4], [4], [4, 1], [1]]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        feeds = {observations: np.ones((6, 3)), actions: np.zeros((6, 2))}
        first, second = session.run([values, again], feeds)
    np.testing.assert_array_equal(first, second, "the weights are shared")


@pytest.mark.parametrize("place", ["a subclass", "by itself"])
def test_a_sequential_is_built_in_the_graph_that_calls_it(place):
    sequential = keras.Sequential([layers.Dense(3), layers.Dense(2)])

    class Holder(keras.Model):
        def __init__(self):
            super().__init__()
            self.parts = sequential

        def call(self, x):
            return self.parts(x)

    model = Holder() if place == "a subclass" else sequential
    with tf.Graph().as_default():
        y = model(tf.ones([5, 4]))
        assert all(w.graph is y.graph for w in model.weights)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert session.run(y).shape == (5, 2)
    assert len(sequential.weights) == 4
