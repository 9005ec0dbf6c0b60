"""`fit`, `evaluate` and `predict` of tensors, such as an iterator gives: each run is a batch."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf

K = tf.keras
X = np.random.RandomState(0).rand(12, 3).astype(np.float32)
Y = (X @ [[1.0], [2.0], [3.0]]).astype(np.float32)


def model(optimizer="sgd") -> K.Model:
    made = K.Sequential([K.layers.Dense(1, kernel_initializer="ones", input_shape=(3,))])
    made.compile(optimizer, "mse", metrics=["mae"])
    return made


def pieces():
    return tf.data.Dataset.from_tensor_slices((X, Y)).batch(4).repeat().make_one_shot_iterator()


def test_runs_of_tensors_train_as_their_arrays_do() -> None:
    x, y = pieces().get_next()
    of_tensors, of_arrays = model(), model()
    found = of_tensors.fit(x, y, epochs=2, steps_per_epoch=3, verbose=0)
    expected = of_arrays.fit(X, Y, batch_size=4, epochs=2, shuffle=False, verbose=0)
    for name in ("loss", "mean_absolute_error"):
        np.testing.assert_allclose(found.history[name], expected.history[name], rtol=1e-5)
    for one, other in zip(of_tensors.get_weights(), of_arrays.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_weights_of_examples_may_be_tensors() -> None:
    x, y = pieces().get_next()
    trained = model()
    trained.fit(x, y, sample_weight=tf.zeros([4]), steps_per_epoch=2, verbose=0)
    np.testing.assert_array_equal(trained.get_weights()[0], np.ones([3, 1]))


def test_evaluation_and_prediction_go_on_for_their_steps(capsys, monkeypatch) -> None:
    x, y = pieces().get_next()
    made = model()
    monkeypatch.delenv("PYTEST_CURRENT_TEST")  # which keeps the line to itself
    found = made.evaluate(x, y, steps=3, verbose=1)
    assert capsys.readouterr().out.count("3/3") == 1
    np.testing.assert_allclose(found, made.evaluate(X, Y, verbose=0), rtol=1e-5)
    predicted = made.predict(pieces().get_next()[0], steps=3)
    np.testing.assert_allclose(predicted, made.predict(X), rtol=1e-5)


def test_validation_data_may_be_tensors() -> None:
    held = pieces().get_next()
    history = model(K.optimizers.SGD(0.0)).fit(
        X, Y, epochs=2, verbose=0, validation_data=held, validation_steps=3
    )
    np.testing.assert_allclose(history.history["val_loss"], history.history["loss"], rtol=1e-5)


def test_a_model_that_waits_for_its_inputs_is_built_from_a_dict_of_tensors() -> None:
    class Summing(K.Model):
        def __init__(self):
            super().__init__()
            self.dense = K.layers.Dense(1)

        def call(self, inputs):
            return self.dense(inputs["a"]) + inputs["b"]

    made = Summing()
    made.compile("adam", "mse")
    given = {"a": tf.constant(X), "b": tf.constant(Y)}
    history = made.fit(given, tf.constant(Y), epochs=3, steps_per_epoch=20, verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0]
    assert made.predict(given, steps=2).shape == (24, 1)


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda m, x, y: m.fit(x, y), "steps_per_epoch"),
        (lambda m, x, y: m.evaluate(x, y), "steps"),
        (lambda m, x, y: m.predict(x), "steps"),
        (lambda m, x, y: m.fit(X, Y, verbose=0, validation_data=(x, y)), "validation_steps"),
    ],
)
def test_tensors_have_no_end_of_their_own(call, name) -> None:
    x, y = pieces().get_next()
    with pytest.raises(ValueError, match=f"you should specify the `{name}` argument"):
        call(model(), x, y)


def test_a_model_whose_loss_is_its_own_needs_no_targets() -> None:
    inputs = K.layers.Input([3])
    outputs = K.layers.Dense(1)(inputs)
    made = K.Model(inputs, outputs)
    made.add_loss(tf.reduce_mean(tf.square(outputs)))
    made.compile("sgd", loss=None)
    x, _ = pieces().get_next()
    history = made.fit(x, epochs=3, steps_per_epoch=3, verbose=0).history["loss"]
    assert history[-1] < history[0]
    assert made.evaluate(x, steps=3, verbose=0) < history[-1]
