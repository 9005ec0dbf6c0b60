"""`Input(sparse=True)`: graphs' adjacency and bags of words as SciPy matrices, as graph networks feed them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.keras import Model, Sequential, backend as K, layers
from dataflow.keras.sparse_rows import sparse_rows

sp = pytest.importorskip("scipy.sparse")

WEIGHTS = np.random.RandomState(1).rand(6, 2).astype("float32")
Y = np.random.RandomState(2).rand(12, 2).astype("float32")


@pytest.fixture
def words() -> Any:
    dense = np.random.RandomState(0).rand(12, 6).astype("float32")
    return sp.csr_matrix(np.where(dense < 0.4, dense, 0))


def model(sparse: bool) -> Any:
    x = layers.Input(shape=(6,), sparse=sparse)
    y = layers.Dense(2, kernel_initializer=tf.constant_initializer(WEIGHTS))(x)
    made = Model(x, y)
    made.compile("sgd", "mse")
    return made


def test_training_is_that_on_the_dense_matrix(words: Any) -> None:
    kinds = model(True), model(False)
    for one in kinds:
        one.fit(words, Y, batch_size=5, epochs=3, verbose=0, shuffle=False)
    sparse, dense = kinds
    losses = [one.evaluate(words, Y, verbose=0, batch_size=7) for one in kinds]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    np.testing.assert_allclose(
        sparse.predict(words, batch_size=5), dense.predict(words.toarray()), rtol=1e-5
    )


def test_shuffled_epochs_take_the_same_order(words: Any) -> None:
    results = []
    for sparse in (True, False):
        np.random.seed(3)
        one = model(sparse)
        one.fit(words, Y, batch_size=5, epochs=2, verbose=0, validation_split=0.25)
        results.append(one.get_weights()[0])
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5)


def test_a_generator_and_one_batch(words: Any) -> None:
    one, other = model(True), model(False)
    one.fit_generator(iter([(words[:4], Y[:4])] * 2), steps_per_epoch=2, verbose=0)
    for _ in range(2):
        other.train_on_batch(words[:4].toarray(), Y[:4])
    np.testing.assert_allclose(one.get_weights()[0], other.get_weights()[0], rtol=1e-5)
    value = tf.SparseTensorValue([[0, 1], [1, 5]], [2.0, 1.0], [2, 6])
    expected = [2 * WEIGHTS[1], WEIGHTS[5]]
    np.testing.assert_allclose(model(True).predict_on_batch(value), expected, rtol=1e-5)


def test_a_graph_convolution_beside_a_dense_input() -> None:
    class Convolution(layers.Layer):  # type: ignore[misc]
        def build(self, shapes: Any) -> None:
            self.w = self.add_weight("w", (shapes[0][-1], 2), initializer="ones")
            self.built = True

        def call(self, inputs: Any) -> Any:
            features, adjacency = inputs
            return K.dot(adjacency, K.dot(features, self.w))

    x = layers.Input(batch_shape=(12, 3))
    adjacency = layers.Input(batch_shape=(12, 12), sparse=True)
    graph = Model([x, adjacency], Convolution()([x, adjacency]))
    graph.compile("sgd", "mse")
    features = np.arange(36, dtype="float32").reshape(12, 3)
    edges = sp.eye(12).tocsr() * 2
    result = graph.predict([features, edges], batch_size=12)
    np.testing.assert_allclose(result, 2 * features.sum(1, keepdims=True) * np.ones((1, 2)))


def test_a_layer_may_return_a_sparse_tensor() -> None:
    places = layers.Input(batch_shape=(1, None, 2), dtype="int64")
    values = layers.Input(batch_shape=(1, None))
    matrix = layers.Lambda(
        lambda t: tf.SparseTensor(tf.squeeze(t[0], 0), tf.squeeze(t[1], 0), [3, 3])
    )([places, values])
    assert K.is_keras_tensor(matrix)
    dense = layers.Lambda(lambda t: tf.expand_dims(tf.sparse.to_dense(t), 0))(matrix)
    given = [np.array([[[0, 0], [1, 2]]]), np.array([[1.0, 2.0]], "float32")]
    result = Model([places, values], dense).predict(given, batch_size=1)
    assert result.tolist() == [[[1, 0, 0], [0, 0, 2], [0, 0, 0]]]


def test_configs_keep_that_an_input_is_sparse(words: Any) -> None:
    one = model(True)
    config = one.get_config()
    assert [c["config"].get("sparse") for c in config["layers"]] == [True, None]
    copy = Model.from_config(config)
    copy.set_weights(one.get_weights())
    np.testing.assert_allclose(copy.predict(words), one.predict(words))
    first = layers.InputLayer(input_shape=(6,), sparse=True)
    chain = Sequential([first, layers.Dense(2)])
    assert chain.predict(words).shape == (12, 2)


def test_functions_of_the_backend_take_matrices(words: Any) -> None:
    x = layers.Input(shape=(6,), sparse=True)
    (result,) = K.function([x], [K.dot(x, K.constant(WEIGHTS))])([words])
    np.testing.assert_allclose(result, words.toarray() @ WEIGHTS, rtol=1e-5)


@pytest.mark.parametrize("rows", [slice(2, 9), slice(0, 0), np.array([3, 1, 1, 7])])
def test_rows_are_those_of_the_array(words: Any, rows: Any) -> None:
    taken = sparse_rows(words.tocoo(), "x")[rows]
    entries, values, shape = taken.fed("float32")
    dense = np.zeros(shape, "float32")
    dense[tuple(entries.T)] = values
    np.testing.assert_array_equal(dense, words.toarray()[rows])
    assert len(taken) == len(dense)


def test_a_dense_array_says_what_a_sparse_input_takes() -> None:
    with pytest.raises(ValueError, match="is sparse .* got ndarray.\nGive a SciPy sparse matrix"):
        model(True).predict(np.ones((2, 6), "float32"))
