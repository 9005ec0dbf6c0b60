"""Keras models as estimators: they go on from the model's weights, and leave it as it is."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf

keras = tf.keras
layers = keras.layers
X = np.random.RandomState(0).randn(96, 3).astype("float32")
Y = (X @ [[1.0], [-2.0], [0.5]] > 0).astype("float32")


@pytest.fixture(autouse=True)
def _fresh():
    before = tf.logging.get_verbosity()
    tf.logging.set_verbosity(tf.logging.ERROR)
    keras.backend.clear_session()
    tf.set_random_seed(0)
    yield
    keras.backend.clear_session()
    tf.logging.set_verbosity(before)


def classifier(optimizer="adam", metrics=("accuracy",)):
    model = keras.Sequential(
        [
            layers.Dense(8, activation="relu", input_shape=(3,)),
            layers.BatchNormalization(),
            layers.Dropout(0.1),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(optimizer, "binary_crossentropy", metrics=list(metrics))
    return model


def inputs(epochs, features="dense_input", labels=Y):
    if features is None:
        return tf.estimator.inputs.numpy_input_fn(X, labels, 32, num_epochs=epochs, shuffle=False)
    return tf.estimator.inputs.numpy_input_fn(
        {features: X}, labels, 32, num_epochs=epochs, shuffle=False
    )


@pytest.mark.parametrize("optimizer", ["keras", "tf"])
def test_an_estimator_trains_evaluates_and_predicts(tmp_path, optimizer):
    used = keras.optimizers.Adam(0.03) if optimizer == "keras" else tf.train.AdamOptimizer(0.03)
    model = classifier(used, ["accuracy", keras.metrics.AUC(name="auc")])
    before = model.get_weights()
    config = tf.estimator.RunConfig(str(tmp_path), tf_random_seed=1)
    estimator = keras.estimator.model_to_estimator(model, config=config)
    first = estimator.evaluate(inputs(1))
    loss, accuracy, auc = model.evaluate(X, Y, verbose=0)
    np.testing.assert_allclose(
        [first["loss"], first["acc"], first["auc"]], [loss, accuracy, auc], rtol=1e-4
    )
    estimator.train(inputs(30))
    last = estimator.evaluate(inputs(1))
    assert last["global_step"] == 90
    assert last["loss"] < 0.5 * first["loss"]
    assert last["acc"] > 0.9
    rows = list(estimator.predict(inputs(1, labels=None)))
    guesses = np.array([row["dense_1"] for row in rows])
    assert guesses.shape == (96, 1)
    assert np.mean((guesses > 0.5) == (Y > 0.5)) == pytest.approx(last["acc"])
    moving = estimator.get_variable_value("batch_normalization/moving_mean")
    assert np.abs(moving).max() > 0.01
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


def test_a_model_of_two_inputs_and_outputs(tmp_path):
    a, b = keras.Input((3,), name="a"), keras.Input((3,), name="b")
    hidden = layers.Dense(4, activation="relu")(layers.concatenate([a, b]))
    model = keras.Model(
        [a, b], [layers.Dense(1, name="sum")(hidden), layers.Dense(1, name="sign")(hidden)]
    )
    model.compile(keras.optimizers.SGD(0.05), "mse", metrics={"sum": ["mae"]})
    estimator = keras.estimator.model_to_estimator(model, model_dir=str(tmp_path))
    data = {"a": X, "b": -X}
    labels = {"sum": Y, "sign": 1 - Y}

    def read(epochs):
        return lambda: tf.data.Dataset.from_tensor_slices((data, labels)).repeat(epochs).batch(32)

    before = estimator.evaluate(read(1))
    np.testing.assert_allclose(
        [before["loss"], before["mean_absolute_error"]],
        np.array(model.evaluate(data, labels, verbose=0))[[0, 3]],
        rtol=1e-4,
    )
    estimator.train(read(10))
    assert estimator.evaluate(read(1))["loss"] < before["loss"]
    assert sorted(next(estimator.predict(read(1)))) == ["sign", "sum"]


def test_a_saved_model_is_exported_for_serving(tmp_path):
    model = classifier()
    model.save(tmp_path / "model.safetensors")
    estimator = keras.estimator.model_to_estimator(
        keras_model_path=str(tmp_path / "model.safetensors"), model_dir=str(tmp_path / "run")
    )
    estimator.train(inputs(1, None))
    receiver = tf.estimator.export.build_raw_serving_input_receiver_fn(
        {"dense_input": tf.placeholder(tf.float32, [None, 3])}
    )
    folder = estimator.export_savedmodel(str(tmp_path / "export"), receiver)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.saved_model.loader.load(session, ["serve"], folder.decode())
        assert session.graph.get_operations()


def test_what_does_not_fit_is_explained(tmp_path):
    with pytest.raises(ValueError, match="not both"):
        keras.estimator.model_to_estimator()
    plain = keras.Sequential([layers.Dense(1, input_dim=3)])
    with pytest.raises(ValueError, match="compile"):
        keras.estimator.model_to_estimator(plain)
    estimator = keras.estimator.model_to_estimator(classifier(), model_dir=str(tmp_path))
    with pytest.raises(ValueError, match=r"called \['x'\], the model has \['dense.*_input'\]"):
        estimator.train(inputs(1, "x"))


@pytest.mark.parametrize("form", ["saver", "checkpoint"])
def test_the_first_checkpoint_is_of_the_model_and_later_runs_start_from_it(tmp_path, form):
    to_estimator = keras.estimator.model_to_estimator
    model = classifier()
    first = to_estimator(model, model_dir=str(tmp_path), checkpoint_format=form)
    prefix = str(tmp_path / "keras" / "keras_model.ckpt")
    assert tf.train.latest_checkpoint(str(tmp_path / "keras")) == prefix
    stored = dict(tf.train.list_variables(prefix))
    step, slot = {
        "saver": ("global_step", "training/Adam/dense/kernel/m"),
        "checkpoint": (
            "estimator_global_step/.ATTRIBUTES/VARIABLE_VALUE",
            "layer_with_weights-0/kernel/.OPTIMIZER_SLOT/optimizer/m/.ATTRIBUTES/VARIABLE_VALUE",
        ),
    }[form]
    assert (stored[step], stored[slot]) == ([], [3, 8])
    losses = [first.evaluate(inputs(1))["loss"], model.evaluate(X, Y, verbose=0)[0]]
    keras.backend.clear_session()
    tf.set_random_seed(5)
    later = to_estimator(classifier("sgd"), model_dir=str(tmp_path), checkpoint_format=form)
    losses.append(later.evaluate(inputs(1))["loss"])
    np.testing.assert_allclose(losses, [losses[0]] * 3, rtol=1e-4)
    later.train(inputs(2))
    assert later.get_variable_value("global_step") == 6
    assert "training/SGD/iter" not in later.get_variable_names()
