"""A seeded training gives the same bits: again in this process, and in others with any cache."""

from __future__ import annotations

import hashlib
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.capabilities import MACHINE_CODE
from dataflow.kernels.jit import compiler, isa

#: More than after how many calls loops are compiled.
STEPS = 60


def mlp() -> tuple[Any, Any, Any, Any]:
    x, y = tf.placeholder(tf.float32, [None, 64]), tf.placeholder(tf.float32, [None, 10])
    h = tf.layers.dense(x, 128, tf.tanh)
    h = tf.nn.dropout(tf.layers.dense(h, 96, tf.nn.elu), 0.8, seed=3)
    logits = tf.layers.dense(h, 10)
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))
    return x, y, loss, tf.train.AdamOptimizer(1e-2).minimize(loss)


def cnn() -> tuple[Any, Any, Any, Any]:
    x, y = tf.placeholder(tf.float32, [None, 64]), tf.placeholder(tf.float32, [None, 10])
    h = tf.layers.conv2d(tf.reshape(x, [-1, 8, 8, 1]), 16, 3, activation=tf.nn.relu, padding="same")
    h = tf.layers.batch_normalization(h, training=True)
    h = tf.layers.max_pooling2d(h, 2, 2)
    h = tf.nn.dropout(tf.layers.dense(tf.layers.flatten(h), 32, tf.sigmoid), 0.7, seed=5)
    logits = tf.layers.dense(h, 10)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits))
    return x, y, loss, tf.train.MomentumOptimizer(1e-2, 0.9).minimize(loss)


def lstm() -> tuple[Any, Any, Any, Any]:
    x, y = tf.placeholder(tf.float32, [None, 64]), tf.placeholder(tf.float32, [None, 10])
    words = tf.cast(tf.clip_by_value(x * 4 + 10, 0, 19), tf.int32)[:, :8]
    table = tf.get_variable("table", [20, 32])
    cell = tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.LSTMCell(48), 0.9, seed=7)
    outputs, _ = tf.nn.dynamic_rnn(cell, tf.nn.embedding_lookup(table, words), dtype=tf.float32)
    logits = tf.layers.dense(outputs[:, -1], 10)
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))
    return x, y, loss, tf.train.RMSPropOptimizer(1e-2).minimize(loss)


NETWORKS: dict[str, Callable[[], tuple[Any, Any, Any, Any]]] = {
    "mlp": mlp,
    "cnn": cnn,
    "lstm": lstm,
}


def train(name: str) -> str:
    """A digest of all losses and of the variables at the end."""
    rng = np.random.default_rng(0)
    digest = hashlib.sha256()
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        x, y, loss, step = NETWORKS[name]()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(STEPS):
                images = rng.standard_normal((48, 64), dtype=np.float32)
                labels = np.eye(10, dtype=np.float32)[rng.integers(0, 10, 48)]
                value, _ = session.run([loss, step], {x: images, y: labels})
                digest.update(value.tobytes())
            for variable in session.run(tf.global_variables()):
                digest.update(variable.tobytes())
    return digest.hexdigest()


PROGRAM = """
import os, sys
if "WITHOUT_LLVMLITE" in os.environ:
    sys.modules["llvmlite"] = sys.modules["llvmlite.binding"] = None
from tests.runtime import test_same_bits_again as t
for name in sys.argv[1:]:
    print(t.train(name))
"""


def train_elsewhere(names: list[str], **environment: str) -> list[str]:
    root = pathlib.Path(__file__).resolve().parents[2]
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, *names],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=root,
        env={**os.environ, **environment},
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.split()


@pytest.mark.threads  # without them there is no machine code, and no cache of it
def test_a_seeded_training_gives_the_same_bits(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")
    names = list(NETWORKS)
    before = [train(name) for name in names]
    assert not MACHINE_CODE or any(lazy.function is not None for lazy in compiler._lazy.values()), (
        "no machine code ran"
    )
    assert [train(name) for name in names] == before
    cache = {"DATAFLOW_KERNEL_CACHE": str(tmp_path / "kernels")}
    assert train_elsewhere(names, **cache) == before
    assert list((tmp_path / "kernels").iterdir()), "no machine code was kept"
    assert train_elsewhere(names, **cache) == before


def test_it_does_so_with_another_number_of_threads() -> None:
    names = list(NETWORKS)
    several, one = (train_elsewhere(names, OPENBLAS_NUM_THREADS=str(n)) for n in (2, 1))
    assert several == one


# Machine code has an order of its own for products and sums of rows.
if not isa.host():

    def test_it_does_so_without_machine_code() -> None:
        pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")
        names = list(NETWORKS)
        assert train_elsewhere(names, WITHOUT_LLVMLITE="1") == train_elsewhere(names)
