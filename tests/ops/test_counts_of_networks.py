"""Losses, loops, branches and images count as many nodes as TensorFlow 1.15.5 makes, with their gradients.

The numbers are the differences of ``tf.get_default_graph()._last_id`` there, for the same calls after the same tensors.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dataflow

tf: Any = dataflow
pytestmark = pytest.mark.usefixtures("as_tensorflow")


def ramp(*shape: int) -> Any:
    return tf.constant(np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / 100)


def given() -> SimpleNamespace:
    """The tensors and variables that the calls are about."""
    x = tf.constant([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]])
    classes = tf.constant([0, 1])
    series = ramp(2, 3, 3)
    table = tf.Variable(tf.ones([4, 3]), name="table", use_resource=False)
    resource = tf.Variable(tf.ones([4, 3]), name="resource", use_resource=True)
    return SimpleNamespace(
        x=x,
        y=tf.constant([[2.0, 1.0, 1.5], [0.5, 3.0, 2.0]]),
        p=tf.constant([[0.2, 0.7, 0.1], [0.3, 0.3, 0.4]]),
        classes=classes,
        zero=tf.constant(0),
        training=tf.placeholder_with_default(True, []),
        image=ramp(2, 8, 8, 2),
        colors=ramp(2, 8, 8, 3),
        stacks=ramp(2, 4, 3),
        series=series,
        some_x=tf.placeholder_with_default(x, [None, None]),
        some_series=tf.placeholder_with_default(series, [None, None, 3]),
        filters=tf.constant(np.ones([3, 3, 2, 4], np.float32)),
        table=table,
        resource=resource,
    )


def gradients(y: Any, last: int) -> Any:
    """Those of the variables that were made last."""
    return tf.gradients(y, tf.trainable_variables()[-last:])


def recurrent(cell: Any, series: Any) -> Any:
    return tf.nn.dynamic_rnn(cell, series, dtype=tf.float32)


def looked_up(g: SimpleNamespace) -> Any:
    return tf.reduce_mean(tf.nn.embedding_lookup(g.resource, g.classes))


def global_step() -> Any:
    return tf.train.get_or_create_global_step()


def in_both_directions(g: SimpleNamespace) -> Any:
    cells = [tf.nn.rnn_cell.LSTMCell(4) for _ in range(2)]
    return gradients(tf.nn.bidirectional_dynamic_rnn(*cells, g.series, dtype=tf.float32)[0], 4)


def with_dropout(g: SimpleNamespace) -> Any:
    cell = tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.BasicLSTMCell(4), output_keep_prob=0.5)
    return gradients(recurrent(cell, g.series)[0], 2)


def two_layers(g: SimpleNamespace) -> Any:
    cells = [tf.nn.rnn_cell.BasicLSTMCell(4) for _ in range(2)]
    return gradients(recurrent(tf.nn.rnn_cell.MultiRNNCell(cells), g.some_series)[0], 4)


def normalized(g: SimpleNamespace) -> Any:
    inner = tf.layers.batch_normalization(tf.layers.dense(g.x, 4), training=g.training)
    return gradients(tf.layers.dense(inner, 2), 6)


def looped(g: SimpleNamespace) -> Any:
    def body(i: Any, a: Any) -> Any:
        return i + 1, tf.matmul(a, g.table, transpose_b=True)[:, :3]

    return tf.gradients(tf.while_loop(lambda i, a: i < 3, body, [g.zero, g.x])[1], g.table)


def squared_in_a_loop(g: SimpleNamespace) -> Any:
    result = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * a), [g.zero, g.some_x])
    return tf.gradients(result[1], g.some_x)


def scanned(g: SimpleNamespace) -> Any:
    def step(a: Any, t: Any) -> Any:
        return tf.tanh(a * g.table[0] + t)

    return tf.gradients(tf.scan(step, g.x, initializer=tf.zeros([3])), g.table)


def branched(g: SimpleNamespace) -> Any:
    first, second = (lambda v=v: tf.matmul(v, g.table, transpose_b=True) for v in (g.x, g.y))
    return tf.gradients(tf.cond(g.training, first, second), g.table)


def from_normal_to_normal(g: SimpleNamespace) -> Any:
    ds = tf.distributions
    return tf.gradients(ds.kl_divergence(ds.Normal(g.x, 1.0), ds.Normal(g.y, 2.0)), g.x)


CELLS = tf.nn.rnn_cell
#: What is called, and how many nodes TensorFlow 1.15.5 makes for it.
COUNTED: dict[str, tuple[Any, int]] = {
    "squares": (lambda g: tf.gradients(tf.losses.mean_squared_error(g.p, g.x), g.x), 69),
    "softmax": (lambda g: tf.gradients(tf.losses.softmax_cross_entropy(g.p, g.x), g.x), 108),
    "classes": (
        lambda g: tf.gradients(tf.losses.sparse_softmax_cross_entropy(g.classes, g.x), g.x),
        69,
    ),
    "huber": (lambda g: tf.gradients(tf.losses.huber_loss(g.p, g.x), g.x), 110),
    "log-loss": (lambda g: tf.gradients(tf.losses.log_loss(g.p, tf.sigmoid(g.x)), g.x), 106),
    "rows": (lambda g: tf.gradients(tf.nn.embedding_lookup(g.resource, g.classes), g.resource), 18),
    "rnn": (lambda g: gradients(recurrent(CELLS.BasicRNNCell(4), g.series)[0], 2), 206),
    "rnn-unknown": (
        lambda g: gradients(recurrent(CELLS.BasicRNNCell(4), g.some_series)[0], 2),
        230,
    ),
    "lstm": (
        lambda g: gradients(recurrent(CELLS.BasicLSTMCell(4), g.series)[0][:, -1], 2),
        295,
    ),
    "lstm-unknown": (
        lambda g: gradients(recurrent(CELLS.LSTMCell(4), g.some_series)[0][:, -1], 2),
        409,
    ),
    "gru": (lambda g: gradients(recurrent(CELLS.GRUCell(4), g.series)[1], 4), 297),
    "gru-unknown": (lambda g: gradients(recurrent(CELLS.GRUCell(4), g.some_series)[1], 4), 409),
    "two-layers": (two_layers, 671),
    "dropout-in-loop": (with_dropout, 340),
    "both-directions": (in_both_directions, 580),
    "dropout": (
        lambda g: gradients(
            tf.layers.dense(
                tf.layers.dropout(tf.layers.dense(g.x, 4), 0.5, training=g.training), 2
            ),
            4,
        ),
        90,
    ),
    "normalized": (normalized, 200),
    "normalized-image": (
        lambda g: gradients(
            tf.layers.batch_normalization(tf.layers.conv2d(g.image, 4, 3), training=g.training), 4
        ),
        128,
    ),
    "dense-stacks": (lambda g: gradients(tf.layers.dense(g.stacks, 4), 2), 38),
    "loop": (looped, 71),
    "loop-unknown": (squared_in_a_loop, 73),
    "map": (lambda g: tf.gradients(tf.map_fn(lambda t: t * g.table[0], g.x), g.table), 126),
    "scan": (scanned, 149),
    "branches": (branched, 32),
    "tensordot": (lambda g: tf.gradients(tf.tensordot(g.x, g.table, [[1], [1]]), g.table), 22),
    "tensordot-stacks": (
        lambda g: tf.gradients(tf.tensordot(g.stacks, tf.transpose(g.table), 1), g.table),
        26,
    ),
    "nearest": (
        lambda g: tf.gradients(tf.image.resize_nearest_neighbor(g.image, [16, 16]), g.image),
        7,
    ),
    "entropy-of-normal": (
        lambda g: tf.gradients(tf.distributions.Normal(g.x, tf.exp(g.y)).entropy(), g.y),
        25,
    ),
    "normals": (from_normal_to_normal, 47),
    "adam-rows": (lambda g: tf.train.AdamOptimizer(0.1).minimize(looked_up(g)), 101),
    "momentum-rows": (lambda g: tf.train.MomentumOptimizer(0.1, 0.9).minimize(looked_up(g)), 42),
    "polynomial-decay": (lambda g: tf.train.polynomial_decay(0.1, global_step(), 100), 19),
    "ones": (lambda g: tf.ones([tf.shape(g.x)[0], 3]), 13),
    "zeros": (lambda g: tf.zeros([2, tf.size(g.x), 3, tf.size(g.x)]), 14),
    "swish": (lambda g: tf.nn.swish(g.x), 4),
    "zero-fraction": (lambda g: tf.nn.zero_fraction(g.x), 26),
    "dilated": (lambda g: tf.nn.atrous_conv2d(g.image, g.filters, 2, "SAME"), 13),
    "identity": (
        lambda g: tf.get_variable("q", [4, 4], initializer=tf.initializers.identity()),
        7,
    ),
    "entropy": (lambda g: tf.distributions.Categorical(logits=g.x).entropy(), 10),
    "bernoulli": (lambda g: tf.distributions.Bernoulli(logits=g.x).log_prob(g.p), 12),
    "bernoulli-unknown": (lambda g: tf.distributions.Bernoulli(logits=g.some_x).log_prob(g.p), 20),
    "keras-squares": (lambda g: tf.keras.losses.mean_squared_error(g.p, g.x), 3),
    "cut": (lambda g: tf.image.resize_image_with_crop_or_pad(g.colors, 4, 4), 11),
    "put-around": (lambda g: tf.image.resize_image_with_crop_or_pad(g.colors[0], 12, 12), 18),
    "mirrored": (lambda g: tf.image.flip_left_right(g.colors), 3),
    "standardized": (lambda g: tf.image.per_image_standardization(g.colors[0]), 27),
    "colored": (lambda g: tf.image.grayscale_to_rgb(g.colors[..., :1]), 18),
    "middle": (lambda g: tf.image.central_crop(g.colors[0], 0.5), 8),
    "window": (lambda g: tf.image.crop_to_bounding_box(g.colors[0], 0, 0, 4, 4), 11),
    "padded": (lambda g: tf.image.pad_to_bounding_box(g.colors[0], 1, 1, 10, 10), 12),
    "transposed": (lambda g: tf.image.transpose_image(g.colors[0]), 7),
}


@pytest.mark.parametrize("name", COUNTED)
def test_as_many_nodes_count_as_tensorflow_makes(name: str) -> None:
    make, expected = COUNTED[name]
    with tf.Graph().as_default() as graph:
        tensors = given()
        before = len(graph.operations) + graph.num_left_out
        make(tensors)
        assert len(graph.operations) + graph.num_left_out - before == expected


def test_what_follows_a_loss_of_a_recurrent_network_draws_tensorflow_s_numbers() -> None:
    """The weights of a second network, made after the gradients of a first one, are seeded by their place."""
    with tf.Graph().as_default():
        tf.set_random_seed(3)
        outputs, _ = recurrent(CELLS.GRUCell(4), tf.placeholder(tf.float32, [None, 5, 3]))
        loss = tf.losses.mean_squared_error(tf.zeros_like(outputs), outputs)
        tf.train.AdamOptimizer(0.1).minimize(loss)
        weights = tf.random_normal([2, 2])
        assert weights.op.inputs[0].op.inputs[0].op.get_attr("seed2") == 611
