"""Samples of `SparseCross`; the buckets are real TensorFlow's."""

from __future__ import annotations

import numpy as np

from tests.samples.base import Sample


def _indicator_of_cross(tf, *_):
    column = tf.feature_column
    features = {"job": [["a"], ["b"], ["a"]], "id": [[0], [3], [1]]}
    return column.input_layer(
        features, [column.indicator_column(column.crossed_column(["job", "id"], 50))]
    )


def _one_hot(places, depth):
    return np.eye(depth, dtype=np.float32)[places]


SAMPLES = [Sample("SparseCross", _indicator_of_cross, expected=_one_hot([44, 14, 35], 50))]
