"""`RNN`, its cells, stacks of cells, and layers that read feature columns."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf

keras = tf.keras
layers = keras.layers


@pytest.fixture(autouse=True)
def graph():
    keras.backend.clear_session()
    with tf.Graph().as_default() as g:
        tf.set_random_seed(0)
        yield g
    keras.backend.clear_session()


def batch(steps: int = 5) -> np.ndarray:
    return np.random.RandomState(0).randn(4, steps, 3).astype("float32")


@pytest.mark.parametrize("kind", ["SimpleRNN", "LSTM", "GRU"])
def test_a_cell_in_a_loop_is_the_layer(kind: str) -> None:
    entry = keras.Input((5, 3))
    layer = getattr(layers, kind)(4, return_sequences=True)
    looped = layers.RNN(getattr(layers, kind + "Cell")(4), return_sequences=True)
    model = keras.Model(entry, [layer(entry), looped(entry)])
    layer.set_weights([w + 0.1 for w in layer.get_weights()])
    looped.set_weights(layer.get_weights())
    one, other = model.predict(batch())
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    assert [w.shape for w in layer.get_weights()] == [w.shape for w in looped.get_weights()]
    assert not isinstance(looped.cell, layers.RNN)
    assert not isinstance(looped.cell, getattr(layers, kind))


def test_a_sequence_drops_the_same_entries_at_every_step() -> None:
    class Sums(layers.SimpleRNNCell):
        """Adds up its inputs: what is dropped once is dropped at each step."""

    cell = Sums(
        6, "linear", kernel_initializer="identity", recurrent_initializer="zeros", dropout=0.5
    )
    entry = keras.Input((7, 6))
    model = keras.Model(entry, layers.RNN(cell, return_sequences=True)(entry, training=True))
    seen = model.predict(np.ones((50, 7, 6), "float32"))
    assert (seen == seen[:, :1]).all()
    assert set(np.unique(seen)) == {0.0, 2.0}
    assert 0.4 < (seen[:, 0] == 0).mean() < 0.6
    assert len(np.unique(seen[:, 0], axis=0)) > 10  # another choice for every example


def test_dropout_is_off_while_predicting_and_on_while_training() -> None:
    cells = [layers.LSTMCell(4, dropout=0.5), layers.GRUCell(3, recurrent_dropout=0.5)]
    model = keras.Sequential([layers.RNN(cells, input_shape=(5, 3)), layers.Dense(1)])
    model.compile("sgd", "mse")
    np.testing.assert_array_equal(model.predict(batch()), model.predict(batch()))
    phase = keras.backend.function(
        [model.inputs[0], keras.backend.learning_phase()], [model.output]
    )
    assert (phase([batch(), 1])[0] != phase([batch(), 1])[0]).any()
    model.fit(batch(), np.ones((4, 1)), epochs=2, verbose=0)


def test_a_cell_of_ones_own_is_trained_saved_and_loaded(tmp_path) -> None:
    class Minimal(layers.Layer):
        def __init__(self, units: int, **kwargs) -> None:
            super().__init__(**kwargs)
            self.units = units
            self.state_size = units

        def build(self, input_shape) -> None:
            shape = (input_shape[-1].value, self.units)
            self.kernel = self.add_weight("kernel", shape, initializer="uniform")
            self.recurrent = self.add_weight("recurrent", (self.units, self.units))
            self.built = True

        def call(self, inputs, states):
            h = keras.backend.dot(inputs, self.kernel)
            output = h + keras.backend.dot(states[0], self.recurrent)
            return output, [output]

    model = keras.Sequential([layers.RNN(Minimal(8), input_shape=(5, 3)), layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.02), "mse")
    x = np.random.RandomState(1).randn(64, 5, 3).astype("float32")
    y = x[:, :, :1].sum(1)
    history = model.fit(x, y, epochs=25, verbose=0).history["loss"]
    assert history[-1] < history[0] / 20
    assert len(model.trainable_weights) == 4
    model.save(tmp_path / "model.h5")
    again = keras.models.load_model(tmp_path / "model.h5", custom_objects={"Minimal": Minimal})
    np.testing.assert_allclose(again.predict(x), model.predict(x), rtol=1e-6)


def test_stacked_cells_hold_weights_losses_and_sizes() -> None:
    cell = layers.StackedRNNCells(
        [layers.LSTMCell(4, kernel_regularizer=keras.regularizers.l2(0.1)), layers.GRUCell(2)]
    )
    assert cell.state_size == ([4, 4], 2)
    assert cell.output_size == 2
    zeros = cell.get_initial_state(batch_size=3, dtype=tf.float32)
    assert [t.shape.as_list() for t in tf.nest.flatten(zeros)] == [[3, 4], [3, 4], [3, 2]]
    layer = layers.RNN(cell, return_state=True)
    outputs = layer(keras.Input((5, 3)))
    assert [o.shape.as_list() for o in outputs] == [[None, 2], [None, 4], [None, 4], [None, 2]]
    assert len(layer.weights) == 6
    assert len(layer.losses) == 1
    layer.trainable = False
    assert not layer.trainable_weights
    assert len(layer.non_trainable_weights) == 6


def test_a_stateful_layer_goes_on_where_it_stopped() -> None:
    entry = keras.Input(batch_shape=(4, 5, 3))
    layer = layers.RNN(layers.LSTMCell(4), stateful=True)
    half = keras.Model(entry, layer(entry))
    whole_layer = layers.RNN(layers.LSTMCell(4))
    long = keras.Input((10, 3))
    whole = keras.Model(long, whole_layer(long))
    whole.set_weights(half.get_weights())
    x = batch(10)
    half.predict(x[:, :5], batch_size=4)
    np.testing.assert_allclose(
        half.predict(x[:, 5:], batch_size=4), whole.predict(x), rtol=1e-5, atol=1e-6
    )


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="should have a `call` method"):
        layers.RNN(3)
    with pytest.raises(ValueError, match="attribute `state_size`"):
        layers.RNN(layers.Dense(3))
    layer = layers.RNN(layers.LSTMCell(4))
    with pytest.raises(ValueError, match="has 2 states, got 1"):
        layer(keras.Input((5, 3)), initial_state=keras.Input((4,)))
    with pytest.raises(ValueError, match="batch_size and dtype"):
        layers.StackedRNNCells([layers.LSTMCell(4)]).get_initial_state()


def test_features_of_sequences() -> None:
    columns = [
        tf.feature_column.embedding_column(
            tf.feature_column.sequence_categorical_column_with_identity("ids", 5), 3
        ),
        tf.feature_column.sequence_numeric_column("weights"),
    ]
    features = {
        "ids": tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [1, 4, 2], [2, 2]),
        "weights": tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [1.0, 2.0, 3.0], [2, 2]),
    }
    layer = keras.experimental.SequenceFeatures(columns)
    sequence, lengths = layer(features)
    again, _ = layer(features)
    assert [w.shape.as_list() for w in layer.trainable_weights] == [[5, 3]]
    outputs = layers.LSTM(2)(sequence, mask=tf.sequence_mask(lengths))
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        table = s.run(layer.weights[0])
        values, same, length, out = s.run([sequence, again, lengths, outputs])
    np.testing.assert_array_equal(values, same)
    np.testing.assert_array_equal(length, [2, 1])
    np.testing.assert_allclose(values[0, :, :3], table[[1, 4]], rtol=1e-6)
    np.testing.assert_allclose(values[:, :, 3], [[1, 2], [3, 0]])
    assert out.shape == (2, 2)


def test_dense_features_in_a_model() -> None:
    columns = [
        tf.feature_column.numeric_column("age"),
        tf.feature_column.embedding_column(
            tf.feature_column.categorical_column_with_identity("town", 4), 2
        ),
    ]
    inputs = {
        "age": keras.Input((1,), name="age"),
        "town": keras.Input((1,), name="town", dtype="int32"),
    }
    layer = layers.DenseFeatures(columns)
    model = keras.Model(list(inputs.values()), layers.Dense(1)(layer(inputs)))
    model.compile(keras.optimizers.Adam(0.05), "mse")
    random = np.random.RandomState(0)
    x = {"age": random.randn(64, 1), "town": random.randint(0, 4, (64, 1))}
    y = x["age"] + x["town"]
    history = model.fit(x, y, epochs=60, verbose=0).history["loss"]
    assert history[-1] < history[0] / 10
    assert [w.shape.as_list() for w in layer.weights] == [[4, 2]]
    assert len(model.trainable_weights) == 3


class _Plain:
    """A cell that is no layer."""

    state_size = 3

    def __init__(self) -> None:
        self.kernel = tf.keras.backend.variable(np.eye(3))

    def call(self, inputs, states):
        output = tf.keras.backend.dot(inputs, self.kernel) + states[0]
        return output, [output]


def test_a_cell_that_is_no_layer_runs_and_has_nothing_to_train() -> None:
    x = tf.keras.Input((None, 3))
    model = tf.keras.Model(x, tf.keras.layers.RNN([_Plain(), _Plain()])(x))
    model.compile("sgd", "mse")
    with pytest.warns(UserWarning, match="Nothing to train"):
        model.train_on_batch(np.ones((2, 4, 3)), np.zeros((2, 3)))
    np.testing.assert_allclose(model.predict(np.ones((1, 3, 3))), 6 * np.ones((1, 3)))


class _Shifted(tf.keras.layers.Layer):
    """Adds a constant, through a kernel."""

    state_size = 2

    def build(self, input_shape):
        assert input_shape.as_list() == [None, 2]  # not that of the constant
        self.kernel = self.add_weight("k", [1, 2], initializer="ones")
        self.built = True

    def call(self, inputs, states, constants):
        output = inputs + states[0] + tf.matmul(constants[0], self.kernel)
        return output, [output]


def test_constants_reach_the_cells_that_take_them() -> None:
    x, c = tf.keras.Input((None, 2)), tf.keras.Input((1,))
    fed = [np.zeros((1, 2, 2)), np.ones((1, 1))]
    layer = tf.keras.layers.RNN(_Shifted())
    model = tf.keras.Model([x, c], layer(x, constants=c))
    assert model.predict(fed).tolist() == [[2, 2]]
    with tf.keras.utils.CustomObjectScope({"_Shifted": _Shifted}):
        again = tf.keras.layers.RNN.from_config(layer.get_config())
    assert tf.keras.Model([x, c], again([x, c])).predict(fed).tolist() == [[2, 2]]
    stack = tf.keras.layers.RNN([tf.keras.layers.SimpleRNNCell(2), _Shifted()])
    assert tf.keras.Model([x, c], stack(x, constants=c)).predict(fed).tolist() == [[2, 2]]


def test_a_subclass_hands_states_over_apart_from_the_inputs() -> None:
    """Layers of Keras's time call `super().call(inputs, mask=..., initial_state=...)`."""

    class Own(tf.keras.layers.RNN):
        def call(self, inputs, mask=None, training=None, initial_state=None):
            start = tf.ones([tf.shape(inputs)[0], 2]) if initial_state is None else initial_state
            return super().call(inputs, mask=mask, training=training, initial_state=start)

    class Gru(tf.keras.layers.GRU):
        def call(self, inputs, mask=None, training=None, initial_state=None):
            return super().call(inputs, mask, training, initial_state=[tf.ones([3, 2])])

    x = tf.constant(np.random.RandomState(0).rand(3, 4, 2).astype(np.float32))
    with tf.Session() as session:
        for own, plain in (
            (Own(tf.keras.layers.SimpleRNNCell(2)), tf.keras.layers.SimpleRNN(2)),
            (Gru(2), tf.keras.layers.GRU(2)),
        ):
            found, expected = own(x), plain(x, initial_state=tf.ones([3, 2]))
            session.run(tf.global_variables_initializer())
            session.run([a.assign(b) for a, b in zip(plain.weights, own.weights, strict=True)])
            np.testing.assert_allclose(*session.run([found, expected]), rtol=1e-5)


@pytest.mark.parametrize("kind", ["SimpleRNN", "LSTM", "GRU"])
def test_a_layer_shows_the_cell_of_its_step(kind: str) -> None:
    layer = getattr(layers, kind)(3, kernel_regularizer="l1", activity_regularizer="l2")
    x = layers.Input((4, 2))
    y = layer(x)
    cell = layer.cell
    assert isinstance(cell, getattr(layers, kind + "Cell")) and layer.cell is cell
    assert cell.units == 3 and cell.kernel is layer.kernel
    assert [len(cell.losses), len(layer.losses), len(layer.get_losses_for(x))] == [1, 2, 1]
    assert layer.states == [None] * (2 if kind == "LSTM" else 1)
    run = tf.keras.backend.function([x], [y, layers.RNN(cell)(x)])
    first, second = run([np.random.RandomState(0).rand(2, 4, 2)])
    np.testing.assert_allclose(first, second, rtol=1e-6)


def test_layers_without_a_cell_say_so() -> None:
    assert not hasattr(layers.ConvLSTM2D(2, 3), "cell")
    assert not hasattr(layers.CuDNNGRU(2), "cell")


class _Twice(tf.keras.layers.Layer):
    """A cell whose output is its input and its state side by side, wider than its states."""

    state_size = output_size = 2

    def call(self, inputs, states):
        return tf.concat([inputs, states[0]], -1), [states[0] + 1.0]


def test_outputs_are_as_wide_as_the_cell_makes_them() -> None:
    x = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    outputs = tf.keras.layers.RNN(_Twice(), return_sequences=True)(tf.constant(x))
    assert outputs.shape == [2, 3, 4]
    counts = np.tile(np.arange(3.0)[:, None], [2, 1, 2])
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(outputs), np.concatenate([x, counts], -1))


class _Sum(tf.keras.layers.Layer):
    """Gives the sum of all that came before, as a memory of a Transformer-XL does."""

    def __init__(self, stateful, **kwargs):
        super().__init__(**kwargs)
        self.stateful = stateful

    def build(self, input_shape):
        self.total = self.add_weight("total", (), initializer="zeros", trainable=False)

    def call(self, inputs):
        before = tf.identity(self.total) + 0.0
        with tf.control_dependencies([before]):
            self.add_update(tf.assign_add(self.total, tf.reduce_sum(inputs)), inputs)
        return inputs * 0.0 + before


@pytest.mark.parametrize(("stateful", "found"), [(True, [0.0, 4.0, 8.0]), (False, [0.0, 0.0, 0.0])])
def test_predict_runs_the_updates_of_a_stateful_layer(stateful: bool, found: list[float]) -> None:
    inputs = tf.keras.Input([4])
    model = tf.keras.Model(inputs, _Sum(stateful)(inputs))
    assert [model.predict(np.ones([1, 4]))[0, 0] for _ in found] == found
