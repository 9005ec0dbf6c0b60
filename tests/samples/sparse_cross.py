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


def _first_cross(tf, *_):
    layers = tf.contrib.layers
    columns = [
        layers.sparse_column_with_integerized_feature("i", 5),
        layers.sparse_column_with_hash_bucket("a", 9),
    ]
    features = {
        "a": tf.SparseTensor([[0, 0], [1, 0], [1, 1]], ["x", "y", "z"], [2, 2]),
        "i": tf.SparseTensor([[0, 0], [1, 0]], np.array([1, 2]), [2, 1]),
    }
    cross = layers.crossed_column(columns, 100)
    return layers.transform_features(features, [cross])[cross].values


SAMPLES = [
    Sample("SparseCross", _indicator_of_cross, expected=_one_hot([44, 14, 35], 50)),
    # The buckets are those of TensorFlow 1.15.5; 2.15 has no contrib.
    Sample(
        "SparseFeatureCross",
        _first_cross,
        expected=np.array([43, 26, 74], np.int64),
        oracle=False,
    ),
]
