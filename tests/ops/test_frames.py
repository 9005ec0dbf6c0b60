"""`tf.signal.frame` with sizes that are fed, and arguments that do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((1, 1, 1), "needs an axis"),
        (([1], [1], 1), "frame_length must be a scalar"),
        (([1], 1, [1]), "frame_step must be a scalar"),
        (([1], 1, 1, True, [1]), "pad_value must be a scalar"),
    ],
)
def test_arguments_of_other_ranks(arguments: Any, text: str) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=text):
        tf.signal.frame(*arguments)


@pytest.mark.parametrize("pad_end", [False, True])
def test_sizes_that_are_fed_cut_the_same_frames(pad_end: bool) -> None:
    signal = np.arange(40).reshape(2, 10, 2)
    with tf.Graph().as_default(), tf.Session() as session:
        length, step = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
        known = tf.signal.frame(signal, 4, 3, pad_end, 7, axis=1)
        fed = tf.signal.frame(tf.constant(signal), length, step, pad_end, 7, axis=1)
        named = tf.signal.frame(signal, tf.constant(4), tf.constant(3), pad_end, 7, axis=1)
        assert named.shape.as_list() == known.shape.as_list()
        assert fed.shape.as_list() == [2, None, None, 2]
        a, b, c = session.run([known, fed, named], {length: 4, step: 3})
    assert a.tolist() == b.tolist() == c.tolist()


def test_what_the_graph_knows_of_frames() -> None:
    with tf.Graph().as_default():
        signal = tf.placeholder(tf.int32, [1, 2, 3])
        length = tf.placeholder(tf.int32, [])
        padded = tf.signal.frame(signal, length, 1, pad_end=True, axis=1)
        cut = tf.signal.frame(signal, length, 1, axis=1)
        unknown = tf.signal.frame(tf.placeholder(tf.float32), 4, 3)
        half = tf.signal.frame(tf.placeholder(tf.int32, [None, 20, None]), 4, 3, axis=1)
        assert padded.shape.as_list() == [1, 2, None, 3]
        assert cut.shape.as_list() == [1, None, None, 3]
        assert unknown.shape.ndims is None
        assert half.shape.as_list() == [None, 6, 4, None]
