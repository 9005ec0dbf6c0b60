"""Sets are the rows of tensors: what has no rows, or others than the second one has, is refused when built."""

from __future__ import annotations

import pytest

import dataflow as tf


def sparse(rank: int) -> tf.SparseTensor:
    return tf.SparseTensor([[0] * rank], [1], [1] * rank)


@pytest.mark.parametrize(
    "a, b, argument",
    [
        (lambda: tf.constant([1]), lambda: tf.constant([[1]]), "set1"),
        (lambda: tf.constant([[1]]), lambda: tf.constant([1]), "set2"),
        (lambda: tf.constant([1]), lambda: sparse(1), "set1"),
        (lambda: tf.constant([[1]]), lambda: sparse(1), "set2"),
        (lambda: sparse(1), lambda: sparse(1), "set1"),
    ],
)
def test_what_has_no_rows_is_refused(a: object, b: object, argument: str) -> None:
    with pytest.raises(ValueError, match=f"`{argument}` must have rank 2 or more, got rank 1"):
        tf.sets.set_intersection(a(), b())


def test_ranks_and_rows_are_those_of_the_other() -> None:
    with pytest.raises(ValueError, match="sets of rank 2 and 3"):
        tf.sets.set_union(tf.constant([[1]]), tf.constant([[[1]]]))
    for first in (tf.constant([[1]]), sparse(2)):
        with pytest.raises(ValueError, match="sets of rank 2 and 3"):
            tf.sets.set_union(first, sparse(3))
    with pytest.raises(ValueError, match=r"`set1` has rows \(1,\), `set2` rows \(2,\)"):
        tf.sets.set_union(tf.constant([[1]]), tf.constant([[1], [2]]))


def test_unknown_shapes_take_what_the_other_says() -> None:
    unknown = tf.placeholder(tf.int32)
    rows = tf.placeholder(tf.int32, [None, 3])
    known = tf.constant([[1, 2], [3, 4]])
    for a, b in ((unknown, known), (known, rows), (unknown, sparse(2)), (rows, sparse(2))):
        assert tf.sets.set_intersection(a, b).indices.shape.as_list() == [None, 2]
    with tf.Session() as session:
        found = session.run(
            tf.sets.set_size(tf.sets.set_intersection(known, rows)), {rows: [[1, 5, 2], [6, 7, 8]]}
        )
    assert found.tolist() == [2, 0]
