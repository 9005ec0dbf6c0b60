"""Keras models in scikit-learn, and as pictures."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import dataflow as tf
from dataflow.keras.call_nodes import tag_of

keras = tf.keras
layers = keras.layers
pytestmark = pytest.mark.usefixtures("new_keras_session")


def classifier(units=8, loss="categorical_crossentropy"):
    columns = 1 if loss == "binary_crossentropy" else 3
    last = "sigmoid" if columns == 1 else "softmax"
    model = keras.Sequential(
        [
            layers.Dense(units, activation="relu", input_dim=2),
            layers.Dense(columns, activation=last),
        ]
    )
    model.compile(keras.optimizers.Adam(0.05), loss)
    return model


RNG = np.random.RandomState(0)
Y = np.array(["low", "middle", "high"])[np.arange(60) % 3]
X = RNG.randn(60, 2) * 0.3 + np.array([[0, 0], [2, 0], [0, 2]])[np.arange(60) % 3]


def test_a_classifier_is_searched_and_validated():
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    wrapped = keras.wrappers.scikit_learn.KerasClassifier(classifier, epochs=25, verbose=0)
    scores = cross_val_score(make_pipeline(StandardScaler(), wrapped), X, Y, cv=3)
    assert scores.min() > 0.9
    search = GridSearchCV(wrapped, {"units": [1, 8]}, cv=2).fit(X, Y)
    assert search.best_params_ == {"units": 8}
    best = search.best_estimator_
    assert sorted(set(best.predict(X))) == ["high", "low", "middle"]
    np.testing.assert_allclose(best.predict_proba(X).sum(1), 1, rtol=1e-5)
    two = keras.wrappers.scikit_learn.KerasClassifier(classifier, loss="binary_crossentropy")
    two.set_params(epochs=25, verbose=0).fit(X, Y == "low")
    assert two.predict_proba(X).shape == (60, 2)
    assert two.score(X, Y == "low") > 0.9
    with pytest.raises(ValueError, match="color is not a legal parameter"):
        keras.wrappers.scikit_learn.KerasClassifier(classifier, color=1)
    with pytest.raises(TypeError, match="build_fn"):
        keras.wrappers.scikit_learn.KerasClassifier()


def test_a_regressor_scores_by_its_loss():
    def line():
        model = keras.Sequential([layers.Dense(1, input_dim=2)])
        model.compile(keras.optimizers.SGD(0.1), "mse")
        return model

    wrapped = keras.wrappers.scikit_learn.KerasRegressor(line, epochs=30, verbose=0)
    y = X @ [1.0, -2.0] + 3
    wrapped.fit(X, y)
    found = wrapped.predict(X)
    assert found.shape == (60,)
    assert wrapped.score(X, y) == pytest.approx(-np.mean((found - y) ** 2), rel=1e-4)
    assert wrapped.score(X, y) > -0.1


def test_a_model_is_drawn(tmp_path):
    a = keras.Input((3,), name="a")
    hidden = layers.Dense(4, name="hidden")(a)
    model = keras.Model(a, layers.add([hidden, layers.Dense(4, name="other")(a)]))
    keras.utils.plot_model(model, str(tmp_path / "model.dot"), show_shapes=True)
    text = (tmp_path / "model.dot").read_text()
    assert 'label="hidden: Dense\\nin: (None, 3)\\nout: (None, 4)"' in text
    arrows = [line.strip() for line in text.splitlines() if "->" in line]
    assert len(arrows) == 4 and len(set(arrows)) == 4
    with pytest.raises(ValueError, match="not yet been built"):
        keras.utils.plot_model(keras.Sequential([layers.Dense(1)]))


def test_a_picture_needs_graphviz(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ImportError, match=r"model\.dot"):
        keras.utils.plot_model(classifier(), str(tmp_path / "model.png"))


@pytest.mark.skipif(not shutil.which("dot"), reason="Graphviz is not installed: apt-get install graphviz")  # fmt: skip
def test_a_model_is_a_picture(tmp_path):
    image = pytest.importorskip("PIL.Image")
    model = keras.Sequential([layers.Dense(4, input_shape=(3,)), layers.Dense(1)])
    keras.utils.plot_model(model, str(tmp_path / "small.png"))
    for i in range(6):
        model.add(layers.Dense(2, name=f"added_{i}"))
    keras.utils.plot_model(model, str(tmp_path / "large.png"), show_shapes=True)
    with image.open(tmp_path / "small.png") as small, image.open(tmp_path / "large.png") as large:
        assert small.format == large.format == "PNG"
        assert large.height > 2 * small.height > 100
        assert large.convert("L").getextrema()[0] < 64  # lines and letters on white


class Twice(layers.Wrapper):
    """A wrapper of one's own, which builds the layer that it is given."""

    def __init__(self, layer, **kwargs):
        super().__init__(layer, **kwargs)
        self.layer = layer

    def build(self, input_shape):
        if not self.layer.built:
            self.layer.build(input_shape)
        super().build(input_shape)

    def call(self, inputs):
        return self.layer.call(inputs) * 2.0


def test_wrappers_of_ones_own_come_back_from_files(tmp_path) -> None:
    model = keras.Sequential([Twice(layers.Dense(3), input_shape=(2,))])
    path = str(tmp_path / "model.h5")
    model.save(path)
    again = keras.models.load_model(path, custom_objects={"Twice": Twice})
    assert isinstance(again.layers[0].layer, layers.Dense)
    ones = np.ones((1, 2), "float32")
    np.testing.assert_array_equal(again.predict(ones), model.predict(ones))


STEPS = np.array([[[1, 0], [0, 0], [2, 3]]])


def _mask_of(layers_of, shape, dtype="int32"):
    given = tf.keras.Input(shape, dtype=dtype)
    mask = tag_of(layers_of(given), "mask")
    run = tf.keras.backend.function([given], [mask])
    return run([STEPS.reshape(1, *(n or 2 for n in shape))])[0].astype(int).tolist()


@pytest.mark.parametrize("shape", [(3, 2), (None, None)])
def test_time_distributed_tells_the_masks_of_its_layer(shape):
    layers, each = tf.keras.layers, tf.keras.layers.TimeDistributed
    words = [[[1, 0], [0, 0], [1, 1]]]

    def embedded(given):
        return each(layers.Embedding(5, 2, mask_zero=True))(given)

    if shape[0]:
        assert _mask_of(embedded, shape) == words
        assert _mask_of(lambda x: each(layers.LSTM(2))(embedded(x)), shape) == [[1, 0, 1]]
        assert _mask_of(lambda x: each(layers.Dense(2))(layers.Masking()(x)), shape, "float32") == [[1, 0, 1]]  # fmt: skip
        assert _mask_of(each(layers.Masking()), (3, 2, 1), "float32") == words
    given = tf.keras.Input(shape, dtype="int32")
    assert tag_of(embedded(given), "mask").shape.as_list() == [None, *shape]
    assert tag_of(each(layers.Dense(1))(tf.keras.Input((3, 2))), "mask") is None


def test_time_distributed_hands_masks_to_its_layer():
    layers, each = tf.keras.layers, tf.keras.layers.TimeDistributed
    given = tf.keras.Input((3, 2), dtype="int32")
    ones = {"kernel_initializer": "ones", "recurrent_initializer": "ones"}
    embedding = layers.Embedding(5, 2, mask_zero=True, embeddings_initializer="ones")
    found = tf.keras.Model(given, each(layers.LSTM(2, **ones))(each(embedding)(given)))
    values = found.predict(STEPS)[0, :, 0]
    assert np.allclose(
        values, [0.6301, 0, 0.9531], atol=1e-4
    )  # TensorFlow 1.15's: 1, 0 and 2 words


class _Shifted(layers.Layer):
    """A cell that adds a constant to its state at each step."""

    state_size = 2

    def build(self, input_shape):
        assert input_shape.as_list() == [None, 2]  # without that of the constant
        self.built = True

    def call(self, inputs, states, constants):
        new = states[0] + constants[0] + 0 * inputs
        return new, [new]


def test_bidirectional_hands_constants_and_states_to_both_layers():
    x, constant = tf.keras.Input((3, 2)), tf.keras.Input((2,))
    first, second = tf.keras.Input((2,)), tf.keras.Input((2,))
    with tf.keras.utils.CustomObjectScope({"_Shifted": _Shifted}):
        wrapped = layers.Bidirectional(layers.RNN(_Shifted()))
        again = layers.Bidirectional.from_config(
            {**wrapped.get_config(), "name": "again", "num_constants": 1}
        )
    out = wrapped(x, initial_state=[first, second], constants=constant)
    flat = again([x, first, second, constant])
    model = tf.keras.Model([x, first, second, constant], [out, flat])
    given = [np.zeros((1, 3, 2)), np.ones((1, 2)), 5 * np.ones((1, 2)), 2 * np.ones((1, 2))]
    for found in model.predict(given):
        np.testing.assert_allclose(found, [[7, 7, 11, 11]])
    assert wrapped.get_config()["num_constants"] == 1
    with pytest.raises(ValueError, match="initial_state is a list"):
        layers.Bidirectional(layers.GRU(2))(x, initial_state=first)


def test_merged_inputs_of_lower_rank_get_axes_behind_the_examples():
    a, b = tf.keras.Input((4, 5)), tf.keras.Input((5,))
    model = tf.keras.Model([a, b], [layers.add([a, b]), layers.maximum([b, a])])
    x, y = np.random.RandomState(0).rand(4, 4, 5), np.random.RandomState(1).rand(4, 5)
    found = model.predict([x, y])
    np.testing.assert_allclose(found[0], x + y[:, None], rtol=1e-6)
    np.testing.assert_allclose(found[1], np.maximum(x, y[:, None]), rtol=1e-6)


def test_masks_that_do_not_fit_are_refused():
    x = tf.keras.Input((4, 5))
    merged = layers.Add()
    merged([x, x])
    for mask in (tf.ones([2]), [None]):
        with pytest.raises(ValueError, match="mask"):
            merged.compute_mask([x, x], mask)
    assert merged.compute_mask([x, x], [None, None]) is None
    with pytest.raises(TypeError, match="does not support masking"):
        layers.Flatten().compute_mask(x, tf.ones([2, 4]))
    inner = tf.keras.Model(x, layers.LSTM(2, return_sequences=True)(x))
    assert inner.compute_mask(x) is None
    mask = inner.compute_mask(x, tf.ones([2, 4], "bool"))
    assert mask.shape.as_list() == [2, 4]
