"""Summaries of collections, in ``contrib.layers`` and in slim."""

from __future__ import annotations

import dataflow as tf
from dataflow.contrib import layers
from dataflow.contrib.slim import summaries


def tags(ops) -> list[str]:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [v.tag for o in ops for v in tf.Summary.FromString(session.run(o)).value]


def test_variables_weights_and_activations() -> None:
    with tf.Graph().as_default() as graph:
        w = tf.Variable([1.0, 2.0], name="w")
        tf.add_to_collection(tf.GraphKeys.WEIGHTS, w)
        y = tf.nn.relu6(w, name="y")
        tf.add_to_collection(tf.GraphKeys.ACTIVATIONS, y)
        assert tags(layers.summarize_weights()) == ["w_summary"]
        assert layers.summarize_biases() == []
        assert tags(layers.summarize_activations()) == ["y/activation"]
        assert tags(graph.get_collection(tf.GraphKeys.SUMMARIES)) == [
            "w_summary",
            "y/zeros",
            "y/sixes",
            "y/activation",
        ]


def test_strings_have_no_summary() -> None:
    assert layers.summarize_tensor(tf.constant("a")) is None
    assert layers.summarize_tensor(tf.constant([True])) is None


def test_slims_names_and_fraction_of_zeros(capfd) -> None:
    with tf.Graph().as_default():
        x = tf.constant([0.0, 1.0, 2.0, 0.0], name="x")
        made = [
            summaries.add_histogram_summary(x, prefix="train"),
            summaries.add_scalar_summary(tf.reduce_sum(x), "sum", "train", print_summary=True),
            *summaries.add_zero_fraction_summaries([x]),
        ]
        assert tags(made) == ["train/x", "train/sum", "x/Fraction_of_Zero_Values"]
        assert "train/sum[3]" in capfd.readouterr().err.replace(" ", "")
        # The one that prints is collected; the one it is made of is not.
        assert len(tf.get_collection(tf.GraphKeys.SUMMARIES)) == 3
