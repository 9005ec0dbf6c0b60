"""Vectors for a model that meets its inputs when it is given data; TensorFlow 1.15's numbers."""

import numpy as np

import dataflow as tf
from dataflow.keras import Model
from dataflow.keras.layers import Dense, Embedding


class Product(Model):
    def __init__(self):
        super().__init__()
        self.table = Embedding(5, 2, embeddings_initializer="ones")
        self.last = Dense(1, kernel_initializer="ones")

    def call(self, inputs):
        user, item = inputs
        rows = [tf.reshape(self.table(x), [-1, 2]) for x in (user, item)]
        return self.last(rows[0] * rows[1])


class Shifted(Model):
    def __init__(self):
        super().__init__()
        self.first = Dense(1, kernel_initializer="ones")

    def call(self, inputs):
        return self.first(inputs[0]) + inputs[1]


def test_a_list_of_vectors_is_an_input_for_each(graph):
    model = Product()
    model.compile("sgd", "mse")
    user, item, target = np.arange(4), np.arange(1, 5), np.array([1.0, 2.0, 3.0, 4.0])
    history = model.fit([user, item], target, batch_size=2, epochs=2, verbose=0, shuffle=False)
    np.testing.assert_allclose(history.history["loss"], [1.5454500, 1.3309991], rtol=1e-5)
    expected = [[2.0301514], [2.1097705], [2.2781732], [2.3237104]]
    np.testing.assert_allclose(model.predict([user, item]), expected, rtol=1e-5)


def test_vectors_become_columns(graph):
    model = Shifted()
    pair = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]
    assert model.predict(pair).tolist() == [[4.0], [6.0]]
    assert [x.shape.as_list() for x in model.inputs] == [[None, 1], [None, 1]]


def test_one_vector_is_a_column_too(graph):
    model = tf.keras.Sequential([Dense(1, kernel_initializer="ones")])
    assert model.predict(np.array([1.0, 2.0])).tolist() == [[1.0], [2.0]]
