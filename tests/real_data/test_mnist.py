"""MNIST's 10,000 test images: 8,000 to learn from, the other 2,000 to be read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow_datasets import mnist

pytestmark = pytest.mark.slow

Split = tuple[tuple[Any, Any], tuple[Any, Any]]


@pytest.fixture
def digits(real_data: Path) -> Split:
    """Images [n, 28, 28, 1] in [0, 1] and one-hot labels, split 8,000 / 2,000 by seed 0."""
    folder = real_data / "mnist"
    images = mnist.read_idx(folder / mnist.TEST_IMAGES, 3)[..., None] / np.float32(255)
    labels = mnist.dense_to_one_hot(mnist.read_idx(folder / mnist.TEST_LABELS, 1))
    order = np.random.RandomState(0).permutation(len(images))
    train, test = order[:8000], order[8000:]
    return (images[train], labels[train]), (images[test], labels[test])


def batches(data: Any, batch_size: int, num_epochs: int) -> Iterator[tuple[Any, Any]]:
    images, labels = data
    rng = np.random.RandomState(0)
    for _ in range(num_epochs):
        order = rng.permutation(len(images))
        for start in range(0, len(order), batch_size):
            chosen = order[start : start + batch_size]
            yield images[chosen], labels[chosen]


def test_softmax_of_the_slides_reads_0_88(digits: Split) -> None:
    """As the workshop prints it: batches of 100, gradient descent at 0.003."""
    train, (test_x, test_y) = digits
    with tf.Graph().as_default(), tf.Session() as sess:
        X = tf.placeholder(tf.float32, [None, 28, 28, 1])
        W = tf.Variable(tf.zeros([784, 10]))
        b = tf.Variable(tf.zeros([10]))
        Y = tf.nn.softmax(tf.matmul(tf.reshape(X, [-1, 784]), W) + b)
        Y_ = tf.placeholder(tf.float32, [None, 10])
        cross_entropy = -tf.reduce_sum(Y_ * tf.log(Y))
        is_correct = tf.equal(tf.argmax(Y, 1), tf.argmax(Y_, 1))
        accuracy = tf.reduce_mean(tf.cast(is_correct, tf.float32))
        train_step = tf.train.GradientDescentOptimizer(0.003).minimize(cross_entropy)
        sess.run(tf.initialize_all_variables())
        for images, labels in batches(train, 100, num_epochs=12):
            sess.run(train_step, {X: images, Y_: labels})
        reached = sess.run(accuracy, {X: test_x, Y_: test_y})
    print(f"MNIST softmax: {reached:.4f}")
    assert reached >= 0.88


def test_two_convolutional_layers_read_0_975(digits: Split) -> None:
    train, (test_x, test_y) = digits
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.set_random_seed(0)
        images = tf.placeholder(tf.float32, [None, 28, 28, 1])
        labels = tf.placeholder(tf.float32, [None, 10])
        is_training = tf.placeholder_with_default(False, [])
        net = tf.layers.conv2d(images, 16, 5, padding="same", activation=tf.nn.relu)
        net = tf.layers.max_pooling2d(net, 2, 2)
        net = tf.layers.conv2d(net, 32, 5, padding="same", activation=tf.nn.relu)
        net = tf.layers.max_pooling2d(net, 2, 2)
        net = tf.layers.dropout(tf.layers.flatten(net), 0.4, training=is_training)
        net = tf.layers.dense(net, 128, activation=tf.nn.relu)
        net = tf.layers.dropout(net, 0.4, training=is_training)
        logits = tf.layers.dense(net, 10)
        loss = tf.losses.softmax_cross_entropy(labels, logits)
        step = tf.train.get_or_create_global_step()
        rate = tf.train.polynomial_decay(0.002, step, 800, 0.0001)
        train_step = tf.train.AdamOptimizer(rate).minimize(loss, step)
        is_correct = tf.equal(tf.argmax(logits, 1), tf.argmax(labels, 1))
        accuracy = tf.reduce_mean(tf.cast(is_correct, tf.float32))
        sess.run(tf.global_variables_initializer())
        for x, y in batches(train, 50, num_epochs=5):
            sess.run(train_step, {images: x, labels: y, is_training: True})
        parts = [
            sess.run(accuracy, {images: test_x[i : i + 500], labels: test_y[i : i + 500]})
            for i in range(0, len(test_x), 500)
        ]
    reached = float(np.mean(parts))
    print(f"MNIST CNN: {reached:.4f}")
    assert reached >= 0.975
