"""Training as the package ``keras`` 2.2 does it, where `tf.keras` does otherwise."""

from __future__ import annotations

import numpy as np

from tests.shim.test_as_tensorflow import result_of

_BEGIN = """
import dataflow
dataflow.as_tensorflow()
import os, tempfile, warnings
import numpy as np
import keras
from keras import backend as K, layers
from keras.layers import Dense, Dropout, Input
from keras.models import Model, Sequential

def refused(function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except Exception as error:
        return type(error).__name__
"""


def test_weighted_losses_and_metrics_are_divided_by_the_share_of_weights() -> None:
    found = result_of(
        _BEGIN
        + """
model = Sequential([Dense(1, input_shape=(1,), kernel_initializer="ones")])
model.compile("sgd", "mse", metrics=["mse"], weighted_metrics=["mse"])
x, y, w = np.array([[1.0], [2], [3], [4]]), np.zeros((4, 1)), np.array([2.0, 0, 1, 0])
result = [float(v) for v in model.test_on_batch(x, y, w)]
"""
    )
    weighted = (2 * 1 + 9) / 4 / 0.5
    assert np.allclose(found, [weighted, (1 + 4 + 9 + 16) / 4, weighted])


def test_metrics_weigh_batches_by_their_examples() -> None:
    found = result_of(
        _BEGIN
        + """
model = Sequential([Dense(1, input_shape=(1,), kernel_initializer="ones")])
def largest(y_true, y_pred):
    return K.max(y_pred)
model.compile("sgd", "mse", metrics=[largest])
result = model.evaluate(np.array([[1.0], [2], [4]]), np.zeros((3, 1)), batch_size=2, verbose=0)[1]
"""
    )
    assert np.isclose(found, (2 * 2 + 4) / 3)


def test_a_layer_that_counts_is_a_metric() -> None:
    found = result_of(
        _BEGIN
        + """
class Positives(layers.Layer):
    def __init__(self, name="positives", **kwargs):
        super().__init__(name=name, **kwargs)
        self.stateful = True
        self.count = K.variable(0, dtype="int32")
    def reset_states(self):
        K.set_value(self.count, 0)
    def __call__(self, y_true, y_pred):
        positive = K.sum(K.cast(y_true > 0.5, "int32"))
        before = self.count * 1
        self.add_update(K.update_add(self.count, positive), inputs=[y_true, y_pred])
        return before + positive

model = Sequential([Dense(1, input_shape=(1,))])
model.compile("sgd", "mse", metrics=[Positives()])
x, y = np.zeros((5, 1)), np.array([[1.0], [0], [1], [1], [0]])
history = model.fit(x, y, batch_size=2, epochs=2, validation_data=(x[:2], y[:2]), verbose=0).history
result = [[int(v) for v in history["positives"]], [int(v) for v in history["val_positives"]],
          int(model.evaluate(x, y, batch_size=3, verbose=0)[1]), model.metrics_names,
          model.predict(x).shape]
"""
    )
    assert found == [[3, 3], [1, 1], 3, ["loss", "positives"], [5, 1]]


def test_callbacks_see_what_is_validated_on() -> None:
    found = result_of(
        _BEGIN
        + """
x, y = np.arange(8.0).reshape(8, 1), np.zeros((8, 1))
class See(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        seen.append([a.shape for a in self.validation_data] + [float(self.validation_data[0][0, 0])])
seen = []
def model():
    made = Sequential([Dense(1, input_shape=(1,))])
    made.compile("sgd", "mse")
    return made
model().fit(x, y, epochs=1, validation_data=(x[4:6], y[4:6]), callbacks=[See()], verbose=0)
model().fit(x, y, epochs=1, validation_split=0.25, callbacks=[See()], verbose=0)
batches = ((x[:2], y[:2]) for _ in range(9))
model().fit_generator(batches, 2, validation_data=(x[5:], y[5:]), callbacks=[See()], verbose=0)
result = seen
"""
    )
    assert found == [
        [[2, 1], [2, 1], [2], 4.0],
        [[2, 1], [2, 1], [2], 6.0],
        [[3, 1], [3, 1], [3], 5.0],
    ]


def test_arguments_that_the_package_refuses() -> None:
    found = result_of(
        _BEGIN
        + """
x = Input((3,))
model = Model(x, [Dense(1, name="a")(x), Dense(1, name="b")(x)])
model.compile("sgd", "mse")
xs, ys, w = np.zeros((4, 3)), [np.zeros((4, 1))] * 2, np.ones(4)
stateful = Sequential([layers.LSTM(2, stateful=True, batch_input_shape=(2, 3, 1))])
stateful.compile("sgd", "mse")
result = [refused(model.train_on_batch, xs, ys, sample_weight=(w, w)),
          refused(model.train_on_batch, xs, ys, sample_weight=[w, w]),
          refused(model.train_on_batch, xs, ys, sample_weight={"a": w}),
          refused(model.compile, "sgd", "mse", loss_weights=(0.5, 0.5)),
          refused(model.compile, "sgd", "mse", sample_weight_mode={"a": None}),
          refused(stateful.fit, np.zeros((4, 3, 1)), np.zeros((4, 2)), verbose=0),
          refused(stateful.fit, np.zeros((4, 3, 1)), np.zeros((4, 2)), batch_size=2, verbose=0)]
"""
    )
    assert found == ["TypeError", None, None, "TypeError", "ValueError", "ValueError", None]


def test_placeholders_as_targets_and_tensors_as_batches() -> None:
    found = result_of(
        _BEGIN
        + """
model = Sequential([Dense(2, input_shape=(3,), kernel_initializer="ones", name="d")])
target = K.placeholder((None, 2))
model.compile("sgd", "mse", target_tensors={"d": target})
given = float(model.test_on_batch(np.ones((4, 3)), np.ones((4, 2))))
model.compile("sgd", "mse")
x, y = K.ones((4, 3)), K.ones((4, 2))
result = [given, float(model.test_on_batch(x, y)), float(model.train_on_batch(x, y)),
          float(model.evaluate(x, y, steps=2, verbose=0))]
a, b = Input((3,)), Input((5,))
two = Model([a, b], layers.concatenate([a, b]))
result.append(two.predict_generator(([np.ones((2, 3)), np.ones((2, 5))] for _ in range(3)), 2).shape)
"""
    )
    assert np.allclose(found[:3], 4.0) and found[3] < 4.0
    assert found[4] == [4, 8]


def test_losses_and_updates_of_a_model_are_of_its_own_calls() -> None:
    found = result_of(
        _BEGIN
        + """
inner = Sequential([Dense(2, input_dim=2, activity_regularizer="l1"), layers.BatchNormalization()])
x = Input((2,))
outer = Model(x, inner(x))
dense = Dense(1)
dense.add_loss(0, inputs=x)
dense.add_loss(1)
dense.add_update(3, inputs=x)
dense.add_update(4)
def sizes(model):
    return [len(model.losses), len(model.updates)]
outer.compile("sgd", "mse")
result = [sizes(inner), sizes(outer), dense.get_losses_for(x), dense.get_losses_for(None),
          dense.get_updates_for(x), dense.get_updates_for(None), len(dense.losses),
          np.isfinite(outer.train_on_batch(np.ones((3, 2)), np.ones((3, 2)))).item()]
"""
    )
    assert found == [[1, 2], [1, 2], [0], [1], [3], [4], 2, True]


def test_nodes_depths_and_inputs_of_several_calls() -> None:
    found = result_of(
        _BEGIN
        + """
a, b = Input((3,), name="a"), Input((3,), name="b")
dense = Dense(2, name="d")
first, second = dense(a), dense(b)
end = layers.concatenate([first, second], name="end")
model = Model([a, b], end)
inner = Model(a, Dense(1, name="last")(a))
inner(b)
node = dense._inbound_nodes[1]
result = [refused(lambda: dense.output), inner.get_layer("last").output.name.split("/")[0],
          [t.name for t in a._keras_history[0]._inbound_nodes[0].input_tensors] == [a.name],
          node.get_config(), node.input_masks,
          {depth: sorted(layer.name for layer in found) for depth, found in model._layers_by_depth.items()},
          [layer.name for layer in model._input_layers + model._output_layers],
          model.compute_mask([a, b], [None, None])]
"""
    )
    assert found[:3] == ["AttributeError", "last", True]
    assert found[3] == {
        "outbound_layer": "d",
        "inbound_layers": ["b"],
        "node_indices": [0],
        "tensor_indices": [0],
    }
    assert found[4] == [None]
    assert found[5] == {"0": ["end"], "1": ["d"], "2": ["a", "b"]}
    assert found[6:] == [["a", "b", "end"], None]


def test_small_rules_of_the_package() -> None:
    found = result_of(
        _BEGIN
        + """
from keras.utils.io_utils import HDF5Matrix, h5dict
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    keras.activations.get(Dense(2))
result = [Dropout(3).rate, len(seen), h5dict({}).get("x", 5),
          refused(Sequential, [layers.Embedding(9, 2, input_length=2, input_shape=(3, 5))]),
          refused(Sequential, [layers.Embedding(9, 2, input_length=3, input_shape=(3,))])]
"""
    )
    assert found == [1.0, 1, 5, "ValueError", None]


def test_averages_of_batch_normalization_forget_what_they_began_with() -> None:
    """As Keras 2.2.5 on TensorFlow 1.15.5, whose numbers for channels last and first are these, too."""
    moved, fused, first, double = result_of(
        _BEGIN
        + """
rng = np.random.RandomState(0)
x, images = rng.normal(5, 2, (16, 3)), rng.normal(5, 2, (6, 4, 4, 2))

def averages(batches, **kwargs):
    shape = batches[0].shape[1:]
    layer = layers.BatchNormalization(input_shape=shape, **kwargs)
    model = Sequential([layer, layers.Flatten(), Dense(1)] if len(shape) > 1 else [layer, Dense(1)])
    model.compile("sgd", "mse")
    for batch in batches:
        model.train_on_batch(batch, np.zeros((len(batch), 1)))
    assert [w.name.split("/")[-1] for w in layer.weights][2:] == ["moving_mean:0", "moving_variance:0"]
    return [w.tolist() for w in layer.get_weights()[2:]]

result = [averages([x[:8], x[8:]], momentum=0.9), averages([images]), averages([images], axis=1)]
K.set_floatx("float64")
result.append(averages([x[:8]]))
"""
    )
    rng = np.random.RandomState(0)
    x, images = rng.normal(5, 2, (16, 3)), rng.normal(5, 2, (6, 4, 4, 2))
    old, new = x[:8], x[8:]
    weights = np.array([0.9, 1.0]) / 1.9
    assert np.allclose(moved[0], weights @ [old.mean(0), new.mean(0)], rtol=1e-5)
    assert np.allclose(moved[1], weights @ [old.var(0), new.var(0)] * 8 / 6.999, rtol=1e-5)
    others = (0, 1, 2)
    assert np.allclose(fused[0], images.mean(others), rtol=1e-5)
    assert np.allclose(fused[1], images.var(others) * 96 / 95 * 96 / 94.999, rtol=1e-5)
    assert np.allclose(first[1], images.var((0, 2, 3)) * 48 / 47, rtol=1e-4)
    assert np.allclose(double[1], old.var(0) * 8 / 6.999, rtol=1e-9)


def test_moving_average_update_has_no_bias() -> None:
    found = result_of(
        _BEGIN
        + """
x = K.variable([1.0, 2.0])
update = K.moving_average_update(x, K.constant([5.0, 6.0]), 0.9)
K.get_session().run(update)
result = K.get_value(x).tolist()
"""
    )
    assert np.allclose(found, [5.0, 6.0], rtol=1e-5)


def test_targets_that_sum_to_something_else_than_1_train_as_the_packages_formula_says() -> None:
    """Rows of 0 (padded sequences) change no weights; advantages (policy gradients) weigh the row's gradient."""
    found = result_of(
        _BEGIN
        + """
x = np.array([[1.0, -2.0, 0.5]])
result = []
for target in ([0.0, 0, 0], [0, 2.5, 0], [0, 1, 0]):
    scale = Dense(3, use_bias=False, kernel_initializer="identity", input_shape=(3,))
    model = Sequential([scale, layers.Activation("softmax")])
    model.compile(keras.optimizers.SGD(1.0), "categorical_crossentropy")
    loss = model.train_on_batch(x, np.array([target]))
    result.append([float(loss), (np.eye(3) - model.get_weights()[0]).tolist()])
"""
    )
    x = np.array([1.0, -2.0, 0.5])
    p = np.exp(x) / np.exp(x).sum()
    for (loss, gradient), target in zip(
        found, np.array([[0, 0, 0], [0, 2.5, 0], [0, 1, 0]]), strict=True
    ):
        assert np.allclose(loss, -(target * np.log(p)).sum(), atol=1e-5)
        assert np.allclose(gradient, np.outer(x, p * target.sum() - target), atol=1e-5)
