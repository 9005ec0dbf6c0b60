"""Embeddings by hashes, with the numbers that TensorFlow 1.15.5 gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.contrib.scattered_embeddings import (
    scattered_embedding_lookup,
    scattered_embedding_lookup_sparse,
)

pytestmark = pytest.mark.usefixtures("graph")


def parts() -> list[Any]:
    """The weights 0, ..., 7 in three vectors."""
    return [tf.constant([0.0, 1.0, 2.0]), tf.constant([3.0, 4.0, 5.0]), tf.constant([6.0, 7.0])]


def values_of(tensor: Any) -> Any:
    with tf.Session() as sess:
        return sess.run(tensor).tolist()


@pytest.mark.parametrize(
    ("values", "key", "expected"),
    [
        (["foo", "bar"], None, [[2, 4, 5, 6, 7], [6, 0, 1, 2, 3]]),
        ([[4, 4, 5]], None, [[[5, 5, 4, 7, 6], [5, 5, 4, 7, 6], [4, 2, 3, 0, 1]]]),
        (["foo"], 7, [[7, 4, 7, 3, 4]]),
    ],
)
def test_numbers_are_found_by_hashes(values: Any, key: int | None, expected: Any) -> None:
    whole = tf.constant(np.arange(8, dtype=np.float32))
    for weights in (whole, parts()):
        found = scattered_embedding_lookup(weights, tf.constant(values), 5, hash_key=key)
        assert values_of(found) == expected


@pytest.mark.parametrize(
    ("combiner", "second"), [(None, [4, 2, 3]), ("sqrtn", [4, 2, 3]), ("sum", [8, 4, 6])]
)
def test_rows_are_combined(combiner: str | None, second: list[float]) -> None:
    words = tf.SparseTensor([[0, 0], [1, 0], [1, 1], [3, 0]], ["foo", "bar", "foo", "bar"], [5, 2])
    found = values_of(scattered_embedding_lookup_sparse(parts(), words, 3, combiner))
    scale = np.sqrt(2.0) if combiner == "sqrtn" else 1.0
    np.testing.assert_allclose(found[1], np.multiply(second, scale), rtol=1e-6)
    assert found[0] == [2, 4, 5] and found[3] == [6, 0, 1]
    assert found[2] == found[4] == [0, 6, 7]  # rows without values


def test_what_is_refused() -> None:
    word = tf.constant(["a"])
    with pytest.raises(ValueError, match="a dimension above 0"):
        scattered_embedding_lookup(parts(), word, 0)
    with pytest.raises(ValueError, match="Tensor 0 in params has size 2, expected 3"):
        scattered_embedding_lookup(parts()[::-1], word, 3)
    with pytest.raises(ValueError, match="vectors of known length"):
        scattered_embedding_lookup(tf.ones([2, 2]), word, 3)
    with pytest.raises(TypeError, match="must be a SparseTensor"):
        scattered_embedding_lookup_sparse(parts(), word, 3)
    sparse = tf.SparseTensor([[0, 0]], ["a"], [1, 1])
    with pytest.raises(ValueError, match="'max'"):
        scattered_embedding_lookup_sparse(parts(), sparse, 3, "max")
