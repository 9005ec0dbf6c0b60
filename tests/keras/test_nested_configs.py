"""Configs of models whose layers are called with dictionaries and lists in lists: as TensorFlow 1.15.5 writes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.python.eager import context

Layer = tf.keras.layers.Layer


class Named(Layer):  # type: ignore[misc]
    def call(self, x: Any) -> Any:
        return x["a"] - 2 * x["b"]


class Nested(Layer):  # type: ignore[misc]
    def call(self, x: Any) -> Any:
        return x[0] + x[1][0] * x[1][1]


class Several(Layer):  # type: ignore[misc]
    def call(self, x: Any) -> Any:
        return {"s": x * 2, "t": x * 3}


CLASSES = {"Named": Named, "Nested": Nested, "Several": Several}


@pytest.fixture(autouse=True)
def fresh() -> Any:
    tf.reset_default_graph()
    tf.keras.backend.clear_session()
    yield
    tf.keras.backend.clear_session()


def ends(model: Any) -> Any:
    config = model.get_config()
    calls = [layer["inbound_nodes"] for layer in config["layers"]]
    return config["input_layers"], calls, config["output_layers"]


def test_dictionaries() -> None:
    a, b = tf.keras.Input((1,), name="a"), tf.keras.Input((1,), name="b")
    model = tf.keras.Model({"a": a, "b": b}, Named(name="l")({"a": a, "b": b}))
    inputs, calls, outputs = ends(model)
    assert inputs == {"a": ["a", 0, 0], "b": ["b", 0, 0]} and outputs == [["l", 0, 0]]
    assert calls == [[], [], [{"a": ["a", 0, 0, {}], "b": ["b", 0, 0, {}]}]]
    again = tf.keras.models.model_from_json(model.to_json(), CLASSES)
    feeds = {"a": np.ones((2, 1), np.float32), "b": np.full((2, 1), 3, np.float32)}
    np.testing.assert_array_equal(again.predict(feeds), [[-5], [-5]])


def test_lists_in_lists() -> None:
    a, b = tf.keras.Input((1,), name="a"), tf.keras.Input((1,), name="b")
    model = tf.keras.Model([a, b], Nested(name="m")([a, [a, b]]))
    inputs, calls, _ = ends(model)
    assert inputs == [["a", 0, 0], ["b", 0, 0]]
    assert calls[2] == [[["a", 0, 0, {}], [["a", 0, 0, {}], ["b", 0, 0, {}]]]]
    again = tf.keras.Model.from_config(model.get_config(), CLASSES)
    x = [np.full((1, 1), 2, np.float32), np.full((1, 1), 5, np.float32)]
    np.testing.assert_array_equal(again.predict(x), [[12]])


def test_outputs_by_name() -> None:
    a = tf.keras.Input((1,), name="a")
    made = Several(name="o")(a)
    dense = tf.keras.layers.Dense(1, kernel_initializer="ones", name="d")(made["t"])
    model = tf.keras.Model(a, {"u": made["s"], "v": dense})
    assert ends(model)[2] == {"u": ["o", 0, 0], "v": ["d", 0, 0]}
    again = tf.keras.Model.from_config(model.get_config(), CLASSES)
    found = again.predict(np.ones((1, 1), np.float32))
    assert [float(v[0, 0]) for v in found] == [2, 3]


def test_feature_columns() -> None:
    again = of_columns()
    tf.keras.backend.get_session().run(tf.tables_initializer())
    feeds = {"a": np.array([[7.0]], np.float32), "b": np.array([["two"]])}
    np.testing.assert_array_equal(again.predict(feeds), [[7, 0, 1]])


def test_tables_of_eager_codes_layers_are_filled() -> None:
    feeds = {"a": np.array([[7.0], [8.0]], np.float32), "b": np.array([["one"], ["three"]])}
    with context.eager_mode():
        np.testing.assert_array_equal(of_columns().predict(feeds), [[7, 1, 0], [8, 0, 0]])


def of_columns() -> Any:
    """A model of a number and of a word, come back from its JSON."""
    column = tf.feature_column
    words = column.categorical_column_with_vocabulary_list("b", ["one", "two"])
    columns = [column.numeric_column("a"), column.indicator_column(words)]
    inputs = {
        "a": tf.keras.Input((1,), name="a"),
        "b": tf.keras.Input((1,), name="b", dtype="string"),
    }
    model = tf.keras.Model(inputs, tf.keras.layers.DenseFeatures(columns)(inputs))
    return tf.keras.models.model_from_json(model.to_json())
