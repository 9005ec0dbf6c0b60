"""One step of a cell, and the inputs and states that tests give it."""

from __future__ import annotations

from typing import Any

import numpy as np

import dataflow as tf

X = np.random.RandomState(0).randn(3, 4).astype(np.float32)
H = np.random.RandomState(1).randn(3, 4).astype(np.float32)
C = np.random.RandomState(2).randn(3, 4).astype(np.float32)
CLOSE: Any = {"rtol": 1e-4, "atol": 1e-5}


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def relu(x: Any) -> Any:
    return np.maximum(x, 0)


def step(cell: Any, state: Any, inputs: Any = X) -> tuple[Any, Any, dict[str, Any]]:
    with tf.variable_scope("net", initializer=tf.random_normal_initializer()):
        output, new_state = cell(inputs, state)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        weights = {v.op.name.split("/", 2)[2]: v for v in tf.global_variables()}
        return sess.run((output, new_state, weights))


def pair() -> Any:
    return tf.nn.rnn_cell.LSTMStateTuple(tf.constant(C), tf.constant(H))
