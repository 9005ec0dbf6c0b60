"""Graphs whose control flow and calls are functions, and SavedModels of TensorFlow 2: writes them to a folder.

    python function_programs.py FOLDER

Runs in TensorFlow's own environment. ``values.json`` has by name what each gives.
"""

# mypy: disable-error-code="import-untyped, untyped-decorator, misc"
from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf2
import tensorflow.compat.v1 as tf

ROWS = np.arange(30, dtype=np.float32).reshape(2, 5, 3) / 30


def conditional() -> list[Any]:
    x, p = tf.placeholder(tf.float32, [], "x"), tf.placeholder_with_default(True, [], "p")
    y = tf.cond(p, lambda: x * 2, lambda: x - 1)
    return [y, tf.gradients(y, x)[0]]


def loop() -> list[Any]:
    x = tf.placeholder(tf.float32, [2], "x")
    y = tf.while_loop(lambda i, _: i < 4, lambda i, v: (i + 1, v * x), [0, x])[1]
    return [y, tf.gradients(y, x)[0]]


def cases() -> list[Any]:
    x = tf.placeholder(tf.int32, [], "x")
    made = [lambda value=value: tf.constant(value) for value in (1.0, 2.0, 5.0)]
    return [tf.switch_case(x + number, made) for number in (-1, 0, 1, 5)]


def function() -> list[Any]:
    x = tf.placeholder(tf.float32, [None, 3], "x")
    v = tf.get_variable("v", [3], initializer=tf.ones_initializer(), use_resource=True)

    @tf.function
    def call(x: Any) -> Any:
        v.assign_add([1.0, 2.0, 3.0])
        return x * v, tf.reduce_sum(x)

    product, total = call(x)
    with tf.control_dependencies([product]):
        return [product, total, v.read_value()]


def recurrent() -> list[Any]:
    x = tf.placeholder(tf.float32, [2, 5, 3], "x")
    cell = tf.nn.rnn_cell.LSTMCell(4, initializer=tf.ones_initializer())
    y, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    return [y, tf.gradients(y, x)[0]]


def mapped() -> list[Any]:
    x = tf.placeholder(tf.float32, [None], "x")
    y = tf.map_fn(lambda v: tf.cond(v > 1, lambda: v * v, lambda: -v), x)
    return [y, tf.gradients(y, x)[0]]


GRAPHS: list[tuple[Callable[[], list[Any]], Any]] = [
    (conditional, 3.0),
    (loop, [2.0, 3.0]),
    (cases, 1),
    (function, [[1.0, 2.0, 3.0]]),
    (recurrent, ROWS),
    (mapped, [1.0, 2.0, 3.0]),
]


def write_graphs(folder: Path) -> dict[str, Any]:
    found = {}
    for build, x in GRAPHS:
        with tf.Graph().as_default() as graph, tf.Session() as session:
            results = [tf.identity(y, f"result_{i}") for i, y in enumerate(build())]
            session.run(tf.global_variables_initializer())
            values = session.run(results, {"x:0": x})
            (folder / f"{build.__name__}.pb").write_bytes(graph.as_graph_def().SerializeToString())
        found[build.__name__] = np.asarray(x).tolist(), [np.asarray(v).tolist() for v in values]
    return found


class Halving(tf.Module):
    """A loop and a branch by AutoGraph, and a variable."""

    def __init__(self) -> None:
        super().__init__()
        self.by = tf.Variable(2.0)

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def call(self, x: Any) -> Any:
        i = tf.constant(0)
        while i < 5:
            if x > 10.0:
                x = x - self.by
            else:
                x = x * self.by
            i += 1
        return x


def write_saved_models(folder: Path) -> dict[str, Any]:
    keras, layers = tf2.keras, tf2.keras.layers
    network = keras.Sequential(
        [
            layers.Conv2D(4, 3, input_shape=(8, 8, 3)),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.GlobalAveragePooling2D(),
            layers.Dense(2, activation="softmax"),
        ]
    )
    text = keras.Sequential(
        [
            layers.Embedding(20, 8, mask_zero=True, input_length=7),
            layers.Bidirectional(layers.LSTM(4, return_sequences=True)),
            layers.GRU(3),
            layers.Dense(2),
        ]
    )
    images = np.random.RandomState(0).rand(2, 8, 8, 3).astype(np.float32)
    words = np.random.RandomState(0).randint(0, 20, (3, 7)).astype(np.int32)
    halving = Halving()
    models: dict[str, Any] = {"network": (network, network, images), "text": (text, text, words)}
    models["halving"] = halving, halving.call, np.float32(3)
    found = {}
    for name, (model, call, x) in models.items():
        y = np.asarray(call(tf2.constant(x)))
        signatures = halving.call if model is halving else None
        tf2.saved_model.save(model, str(folder / name), signatures)
        found[name] = x.tolist(), y.tolist()
    return found


if __name__ == "__main__":
    target = Path(sys.argv[1])
    tf.enable_v2_behavior()
    saved = write_saved_models(target)
    tf.enable_control_flow_v2()
    with tf.Graph().as_default():
        graphs = write_graphs(target)
    (target / "values.json").write_text(json.dumps({"graphs": graphs, "saved_models": saved}))
