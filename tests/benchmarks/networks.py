"""Networks of the sizes that learners write, for measuring and picturing how they are drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dataflow as tf


def train(logits: Any, labels: Any) -> None:
    """A loss, Adam, an initializer and a saver, as a program has them."""
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    tf.train.AdamOptimizer().minimize(tf.reduce_mean(losses, name="loss"))
    tf.global_variables_initializer()
    tf.train.Saver()


def mlp() -> None:
    """A multilayer perceptron for 28 x 28 digits."""
    x = tf.placeholder(tf.float32, [None, 784], name="x")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    hidden = tf.layers.dense(x, 128, tf.nn.relu, name="hidden")
    train(tf.layers.dense(hidden, 10, name="logits"), labels)


def cnn() -> None:
    """Two convolutions, two poolings and two dense layers for 28 x 28 digits."""
    x = tf.placeholder(tf.float32, [None, 28, 28, 1], name="x")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    value = x
    for i, filters in ((1, 32), (2, 64)):
        value = tf.layers.conv2d(
            value, filters, 5, padding="same", activation=tf.nn.relu, name=f"conv{i}"
        )
        value = tf.layers.max_pooling2d(value, 2, 2, name=f"pool{i}")
    value = tf.layers.dense(tf.layers.flatten(value), 256, tf.nn.relu, name="fc1")
    train(tf.layers.dense(value, 10, name="logits"), labels)


def deep_cnn() -> None:
    """Thirteen layers in a row, as VGG has them, for 32 x 32 images."""
    value = tf.placeholder(tf.float32, [None, 32, 32, 3], name="images")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    for block, (filters, num) in enumerate(((64, 2), (128, 2), (256, 2), (512, 2)), start=1):
        for i in range(1, num + 1):
            name = f"conv{block}_{i}"
            value = tf.layers.conv2d(
                value, filters, 3, padding="same", activation=tf.nn.relu, name=name
            )
        value = tf.layers.max_pooling2d(value, 2, 2, name=f"pool{block}")
    value = tf.layers.dense(tf.layers.flatten(value), 512, tf.nn.relu, name="fc1")
    train(tf.layers.dense(value, 10, name="logits"), labels)


def lstm() -> None:
    """An LSTM unrolled over 20 steps."""
    x = tf.placeholder(tf.float32, [None, 20, 8], name="x")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    cell = tf.contrib.rnn.LSTMCell(16)
    outputs, _ = tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32)
    train(tf.layers.dense(outputs[-1], 3, name="logits"), labels)


def transformer() -> None:
    """A transformer's encoder of 12 layers."""
    tokens = tf.placeholder(tf.int64, [None, 32], name="tokens")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    width, heads = 64, 4
    with tf.variable_scope("embedding"):
        value = tf.nn.embedding_lookup(tf.get_variable("table", [1000, width]), tokens)
    for i in range(12):
        with tf.variable_scope(f"layer_{i}"):
            value = _encoder_layer(value, width, heads)
    train(tf.layers.dense(tf.reduce_mean(value, 1, name="pool"), 5, name="logits"), labels)


def _encoder_layer(value: Any, width: int, heads: int) -> Any:
    def split(x: Any) -> Any:
        return tf.transpose(tf.reshape(x, [-1, 32, heads, width // heads]), [0, 2, 1, 3])

    with tf.variable_scope("attention"):
        q, k, v = (split(tf.layers.dense(value, width, name=n)) for n in ("query", "key", "value"))
        weights = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * (heads / width) ** 0.5)
        mixed = tf.reshape(tf.transpose(tf.matmul(weights, v), [0, 2, 1, 3]), [-1, 32, width])
        value = value + tf.layers.dense(mixed, width, name="output")
    with tf.variable_scope("feed_forward"):
        hidden = tf.layers.dense(value, 4 * width, tf.nn.relu, name="inner")
        return value + tf.layers.dense(hidden, width, name="outer")


def inception_v3() -> None:
    """Inception v3 of `tf.contrib.slim.nets`."""
    images = tf.placeholder(tf.float32, [None, 299, 299, 3], name="images")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    nets = tf.contrib.slim.nets.inception
    logits, _ = nets.inception_v3(images, num_classes=1001)
    train(logits, labels)


def chain(num_nodes: int, scope: str = "block") -> None:
    """Layers of five operations, each in a ``scope``, until there are ``num_nodes``."""
    value = tf.placeholder(tf.float32, [None, 8], name="x")
    for i in range(num_nodes // 5):
        with tf.name_scope(f"{scope}_{i % 40}"):
            for op in (tf.tanh, tf.square, tf.negative, tf.exp, tf.sigmoid):
                value = op(value)


#: What `make bench-widgets` draws, by the name it prints.
NETWORKS: dict[str, Callable[[], None]] = {
    "MLP": mlp,
    "CNN": cnn,
    "CNN of 13 layers": deep_cnn,
    "LSTM of 20 steps": lstm,
    "transformer of 12 layers": transformer,
    "Inception v3": inception_v3,
}
