"""Variables of layers within layers are called as in TensorFlow 1.15, whose checkpoints have these names."""

from __future__ import annotations

from typing import Any

import pytest

import dataflow

tf: Any = dataflow
K: Any = tf.keras.layers

LAYERS: dict[str, Any] = {
    "each-step": (lambda: K.TimeDistributed(K.Dense(3)), (5, 6)),
    "each-step-of-a-name": (lambda: K.TimeDistributed(K.Dense(3, name="d"), name="t"), (5, 6)),
    "each-sequence": (lambda: K.TimeDistributed(K.LSTM(3)), (4, 5, 6)),
    "each-image": (lambda: K.TimeDistributed(K.Conv2D(2, 3)), (4, 8, 8, 3)),
    "cell": (lambda: K.RNN(K.SimpleRNNCell(3)), (5, 6)),
    "cells": (lambda: K.RNN([K.LSTMCell(3), K.GRUCell(2)]), (5, 6)),
    "both-ways": (lambda: K.Bidirectional(K.GRU(3)), (5, 6)),
}
#: TensorFlow 1.15.5's.
NAMES = {
    "each-step": ["time_distributed/kernel:0", "time_distributed/bias:0"],
    "each-step-of-a-name": ["t/kernel:0", "t/bias:0"],
    "each-sequence": [
        "time_distributed/kernel:0",
        "time_distributed/recurrent_kernel:0",
        "time_distributed/bias:0",
    ],
    "each-image": ["time_distributed/kernel:0", "time_distributed/bias:0"],
    "cell": ["rnn/kernel:0", "rnn/recurrent_kernel:0", "rnn/bias:0"],
    "cells": [
        "rnn/kernel:0",
        "rnn/recurrent_kernel:0",
        "rnn/bias:0",
        "rnn/kernel_1:0",
        "rnn/recurrent_kernel_1:0",
        "rnn/bias_1:0",
    ],
    "both-ways": [
        f"bidirectional/{way}_gru/{name}:0"
        for way in ("forward", "backward")
        for name in ("kernel", "recurrent_kernel", "bias")
    ],
}


@pytest.mark.parametrize("name", LAYERS)
def test_names(name: str) -> None:
    make, shape = LAYERS[name]
    with tf.Graph().as_default():
        make()(tf.keras.Input(shape))
        assert [v.name for v in tf.global_variables()] == NAMES[name]


def test_a_step_needs_two_sizes() -> None:
    with pytest.raises(ValueError, match=r"at least 3 dimensions, received: \[None, 5\]"):
        K.TimeDistributed(K.Dense(3))(tf.keras.Input((5,)))
