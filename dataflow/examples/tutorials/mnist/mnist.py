"""``tensorflow.examples.tutorials.mnist.mnist``: the two-layer network of the tutorial on mechanics.

Programs build it in four calls: `inference`, `loss`, `training`, `evaluation`.
"""

from __future__ import annotations

import math

import dataflow as tf

NUM_CLASSES = 10
IMAGE_SIZE = 28
IMAGE_PIXELS = IMAGE_SIZE * IMAGE_SIZE


def inference(images: tf.Tensor, hidden1_units: int, hidden2_units: int) -> tf.Tensor:
    """Two layers of ReLU and a linear one: logits ``[batch, 10]`` of float32 images ``[batch, 784]``.

    The variables are ``weights`` and ``biases`` in the name scopes hidden1, hidden2 and softmax_linear.
    """
    hidden1 = tf.nn.relu(_linear(images, IMAGE_PIXELS, hidden1_units, "hidden1"))
    hidden2 = tf.nn.relu(_linear(hidden1, hidden1_units, hidden2_units, "hidden2"))
    return _linear(hidden2, hidden2_units, NUM_CLASSES, "softmax_linear")


def _linear(x: tf.Tensor, inputs: int, outputs: int, scope: str) -> tf.Tensor:
    with tf.name_scope(scope):
        initial = tf.truncated_normal([inputs, outputs], stddev=1.0 / math.sqrt(inputs))
        weights = tf.Variable(initial, name="weights")
        biases = tf.Variable(tf.zeros([outputs]), name="biases")
        outputs_of_layer: tf.Tensor = tf.matmul(x, weights) + biases
        return outputs_of_layer


def loss(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """The mean cross-entropy of logits ``[batch, 10]`` and integer labels ``[batch]``: a scalar."""
    return tf.losses.sparse_softmax_cross_entropy(labels=tf.cast(labels, tf.int64), logits=logits)


def training(loss: tf.Tensor, learning_rate: float) -> tf.Operation:
    """One step of gradient descent on ``loss``, which becomes a summary; counts in ``global_step``."""
    tf.summary.scalar("loss", loss)
    global_step = tf.Variable(0, name="global_step", trainable=False)
    optimizer = tf.train.GradientDescentOptimizer(learning_rate)
    train_op: tf.Operation = optimizer.minimize(loss, global_step=global_step)
    return train_op


def evaluation(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """How many of the batch have their label as the largest logit: an int32 scalar."""
    correct = tf.nn.in_top_k(logits, labels, 1)
    return tf.reduce_sum(tf.cast(correct, tf.int32))
