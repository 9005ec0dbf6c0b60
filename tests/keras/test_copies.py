"""Models in pickles and deep copies, and what programs call before they start threads."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import dataflow as tf

keras = tf.keras
layers = keras.layers


def _trained() -> keras.Model:
    model = keras.Sequential(
        [layers.Dense(3, activation="relu", input_shape=(2,)), layers.Dense(1)]
    )
    model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
    model.train_on_batch(np.ones((4, 2)), np.ones((4, 1)))
    return model


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_predicts_and_trains_on_as_the_model_does(copied):
    model, x, y = _trained(), np.ones((4, 2)), np.zeros((4, 1))
    again = copied(model)
    assert again is not model
    assert np.array_equal(again.predict(x), model.predict(x))
    assert np.allclose(again.train_on_batch(x, y), model.train_on_batch(x, y))
    assert np.allclose(again.predict(x), model.predict(x))
    model.set_weights([np.zeros(w.shape) for w in model.get_weights()])
    assert not np.allclose(again.get_weights()[0], 0)


def test_models_without_weights_and_with_lambdas_are_pickled():
    x = keras.Input((4,))
    model = keras.Model(x, layers.Lambda(lambda t: t[:, :2] * 3.0)(x))
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(np.ones((1, 4))), [[3.0, 3.0]])


def test_functions_are_compiled_when_asked_for():
    model = keras.Sequential([layers.Dense(1, input_shape=(2,))])
    model._make_predict_function()
    assert np.array(model.predict_function([np.zeros((1, 2))])).tolist() == [[[0.0]]]
    with pytest.raises(RuntimeError, match="must compile your model"):
        model._make_train_function()
    model.compile("adam", "mse")
    model._make_train_function()
    assert len(model.optimizer.weights) == 5
    model._make_test_function()
    values = [np.zeros((1, 2)), np.ones((1, 1)), np.ones(1)]
    assert np.ravel(model.test_function(values)).tolist() == [1.0]


def test_a_model_of_lists_of_one_returns_a_tensor():
    x = keras.Input((2,))
    model = keras.Model([x], [layers.Dense(3)(x)])
    made = model(keras.Input((2,)))
    assert made.shape.as_list() == [None, 3]
    outer = keras.Model(x, layers.Dense(1)(model(x)))
    assert outer.predict(np.ones((1, 2))).shape == (1, 1)


def test_inputs_that_are_tensors_are_not_fed():
    known = tf.keras.backend.variable(np.full((3, 2), 2.0))
    a, b = keras.Input((2,)), keras.Input(tensor=known)
    model = keras.Model([a, b], layers.add([a, b]))
    x = np.ones((3, 2))
    assert model.predict(x).tolist() == [[3.0, 3.0]] * 3
    assert model.predict_on_batch([x]).tolist() == [[3.0, 3.0]] * 3
    model.compile("sgd", "mse")
    assert model.train_on_batch(x, np.zeros((3, 2))) == 9.0
    alone = keras.Model(b, layers.Dense(2, use_bias=False, kernel_initializer="ones")(b))
    alone.compile("sgd", "mse")
    assert alone.train_on_batch(None, np.zeros((3, 2))) == 16.0


def test_targets_that_are_tensors():
    model = keras.Sequential([layers.Dense(2, use_bias=False, kernel_initializer="zeros", input_shape=(2,), name="d")])  # fmt: skip
    target = tf.keras.backend.variable(np.full((3, 2), 2.0))
    for given in (target, [target], {"d": target}):
        model.compile("sgd", "mse", target_tensors=given)
        assert model.test_on_batch(np.ones((3, 2)), None) == 4.0
    with pytest.raises(TypeError, match="a list or tuple or dict or a single tensor"):
        model.compile("sgd", "mse", target_tensors=set())
    with pytest.raises(ValueError, match="one entry per model output"):
        model.compile("sgd", "mse", target_tensors=[target, target])
    x = keras.Input((2,))
    two = keras.Model(x, [model(x), layers.Dense(2)(x)])
    with pytest.raises(ValueError, match="a single tensor as `target_tensors`"):
        two.compile("sgd", "mse", target_tensors=target)


def test_sparse_arrays_and_vectors_in_sequences():
    sparse = pytest.importorskip("scipy.sparse")
    model = keras.Sequential([layers.Dense(1, kernel_initializer="ones", input_shape=(3,))])
    assert model.predict(sparse.csr_matrix(np.eye(3))).tolist() == [[1.0]] * 3
    padded = keras.preprocessing.sequence.pad_sequences([[[1, 1]], [[2, 1], [2, 2]]])
    assert padded.tolist() == [[[0, 0], [1, 1]], [[2, 1], [2, 2]]]
