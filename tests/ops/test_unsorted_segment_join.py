"""`tf.strings.unsorted_segment_join`: what its ids must be."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf

ROWS = [[b"Y", b"q"], [b"Y", b"6"], [b"p", b"G"]]


def test_rows_of_one_segment_are_joined_and_empty_ones_are_empty_texts() -> None:
    with tf.Session() as session:
        found = session.run(tf.strings.unsorted_segment_join(ROWS, [1, 0, 1], 3, ":"))
        assert found.tolist() == [[b"Y", b"6"], [b"Y:p", b"q:G"], [b"", b""]]
        none = tf.strings.unsorted_segment_join(np.array([], "S1"), np.array([], np.int32), 2)
        assert session.run(none).tolist() == [b"", b""]


@pytest.mark.parametrize("ids", [[-1, 0, 0], [0, 2, 1]])
def test_ids_outside_of_the_segments_are_refused(ids: list[int]) -> None:
    joined = tf.strings.unsorted_segment_join(ROWS, ids, 2)
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="from 0 up to num_segments, 2"):
            session.run(joined)


def test_ids_of_another_shape_are_refused_when_built_and_in_the_run() -> None:
    with pytest.raises(ValueError, match="prefix of that of inputs"):
        tf.strings.unsorted_segment_join(ROWS, [0, 0, 0, 0], 1)
    ids = tf.placeholder_with_default([0, 0, 0, 0], None)
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="prefix of that of inputs"):
            session.run(tf.strings.unsorted_segment_join(ROWS, ids, 1))
