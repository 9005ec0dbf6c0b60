"""What an error of two dtypes advises to cast."""

from __future__ import annotations

import pytest

import dataflow as tf
from dataflow.errors import DTypeError

WHOLE, REAL, COMPLEX = tf.int32, tf.float32, tf.complex64


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        (WHOLE, REAL, "float32"),
        (REAL, WHOLE, "float32"),
        (WHOLE, COMPLEX, "complex64"),
        (WHOLE, tf.int64, "int32"),
        (REAL, tf.float64, "float32"),
    ],
)
def test_whole_numbers_are_cast_to_those_that_keep_both(first, second, kept, graph):
    one, other = tf.placeholder(first), tf.placeholder(second)
    with pytest.raises(DTypeError, match=rf"tf\.cast\(t, tf\.{kept}\)"):
        tf.add(one, other)
