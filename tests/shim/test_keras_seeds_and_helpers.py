"""The package Keras: NumPy's seed decides; `training_utils`, layers of Keras 1, optimizers' configs."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from dataflow.python import keras_training_utils as utils
from tests.shim.test_as_tensorflow import result_of


def test_numpys_seed_repeats_weights_and_dropout() -> None:
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow()
import numpy as np
import keras
import keras.legacy.layers
from keras import backend as K
from keras.layers import Dense, Dropout, GaussianNoise, LSTM

def made(seed):
    K.clear_session()
    np.random.seed(seed)
    model = keras.models.Sequential([LSTM(3, dropout=0.5, input_shape=(2, 2)), Dropout(0.5), GaussianNoise(1.0), Dense(4)])
    model.compile("sgd", "mse")
    model.fit(np.ones((8, 2, 2)), np.ones((8, 4)), 4, epochs=2, verbose=0)
    drawn = [K.eval(K.random_uniform((2,))), K.eval(K.truncated_normal((2,))), K.eval(K.dropout(K.ones((5,)), 0.5))]
    return [np.asarray(w).tolist() for w in [*model.get_weights(), *drawn]]

config = {"class_name": "SGD", "config": {"lr": 0.5}}
keras.optimizers.deserialize(config)
x = keras.layers.Input((2,))
both = keras.models.Model(x, keras.layers.MaxoutDense(3, nb_feature=2)(keras.legacy.layers.Highway(activation="tanh")(x)))
again = keras.models.Model.from_config(both.get_config())
again.set_weights(both.get_weights())
old = [np.abs(both.predict(np.eye(2)) - again.predict(np.eye(2))).max().item(),
       [w.shape for w in both.get_weights()], both.get_weights()[3].tolist()]
first, second, other = made(1), made(1), made(2)
result = [first == second, first == other, config["class_name"], *old]
"""
    )
    assert found[:3] == [True, False, "sgd"]
    assert found[3] == 0
    assert found[4] == [[2, 2], [2, 2], [2], [2], [2, 2, 3], [2, 3]]
    assert found[5] == [-2, -2]


def test_numpys_seed_gives_the_losses_of_the_package_keras() -> None:
    """Those of Keras 2.2.4 on TensorFlow 1.15.5: seeds, orthogonal matrices and orders are NumPy's."""
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow()
import numpy as np
from keras import backend as K
from keras.layers import LSTM, Dense, Dropout
from keras.models import Sequential

x = np.random.RandomState(0).randn(40, 5, 3)
y = (x.sum((1, 2)) > 0).astype("float32")
np.random.seed(7)
model = Sequential([LSTM(3, input_shape=(5, 3)), Dropout(0.5), Dense(1, activation="sigmoid")])
model.compile("sgd", "binary_crossentropy")
losses = model.fit(x, y, batch_size=8, epochs=3, verbose=0).history["loss"]
result = [float(v) for v in losses]
"""
    )
    assert np.allclose(found, [0.6340047, 0.6155383, 0.6313355], atol=1e-5)


def test_highway_and_maxout_compute_what_they_say() -> None:
    from dataflow.python.keras_legacy_layers import Highway, MaxoutDense

    x = np.random.RandomState(0).randn(4, 3).astype("float32")
    given = tf.keras.Input((3,))
    wide, way = MaxoutDense(2), Highway(activation="relu")
    model = tf.keras.Model(given, [wide(given), way(given)])
    found = model.predict(x)
    w, b = wide.get_weights()
    assert np.allclose(found[0], (np.einsum("bi,fio->bfo", x, w) + b).max(1), atol=1e-6)
    w, carry, b, b_carry = way.get_weights()
    gate = 1 / (1 + np.exp(-(x @ carry + b_carry)))
    assert np.allclose(found[1], np.maximum(x @ w + b, 0) * gate + (1 - gate) * x, atol=1e-6)


def test_what_fit_is_given_is_checked() -> None:
    one, two = np.zeros((4, 3)), np.zeros((3, 4))
    utils.check_array_length_consistency(None, None)
    utils.check_array_length_consistency([one, one], [one], [one])
    for wrong in ([[one], [two], None], [[one, two], None, None], [[one], [one], [two]]):
        with pytest.raises(ValueError, match="same number of samples"):
            utils.check_array_length_consistency(*wrong)
    cross = tf.keras.losses.categorical_crossentropy
    utils.check_loss_and_target_compatibility([one], [cross], [(None, 3)])
    with pytest.raises(ValueError, match="You are passing a target array"):
        utils.check_loss_and_target_compatibility([one[:, :1]], [cross], [(None, 3)])
    with pytest.raises(ValueError, match="same shape as the output"):
        utils.check_loss_and_target_compatibility([one], [tf.keras.losses.mse], [(None, 4)])
    assert utils.make_batches(5, 2) == [(0, 2), (2, 4), (4, 5)]
    mixed = utils.batch_shuffle(np.arange(5), 2)
    assert mixed[4] == 4
    assert sorted(mixed[::2][:2]) == [0, 2]
    assert utils.should_run_validation(2, 1)
    assert not utils.should_run_validation([1], 1)
    assert utils.standardize_weights(np.ones((2, 1)), class_weight={1: 3.0}).tolist() == [3, 3]
    with pytest.raises(ValueError, match="temporal"):
        utils.standardize_weights(one, sample_weight_mode="all")


def test_a_weighted_objective_is_a_mean_over_what_counts() -> None:
    K = tf.keras.backend
    objective = utils.weighted_masked_objective(tf.keras.losses.mse)
    assert objective is not None
    assert utils.weighted_masked_objective(None) is None
    a, b = K.constant(np.zeros((2, 2, 1))), K.constant(np.array([[[1.0], [2.0]], [[3.0], [4.0]]]))
    assert K.eval(objective(a, b, None)) == pytest.approx(7.5)
    assert K.eval(objective(a, b, K.constant([2.0, 0.0]))) == pytest.approx(5.0)
    mask = K.constant(np.array([[1.0, 0.0], [0.0, 0.0]]))
    assert K.eval(objective(a, b, None, mask)) == pytest.approx(1.0, rel=1e-5)
