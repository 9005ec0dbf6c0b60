"""What ``tf.contrib.learn`` uses in place of scikit-learn if that is not installed: two scores, one split."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["accuracy_score", "mean_squared_error", "train_test_split"]


def accuracy_score(y: Any, y_pred: Any) -> float:
    """The share of predictions that equal the label; both arrays have the same shape."""
    return float(np.mean(np.asarray(y) == np.asarray(y_pred)))


def mean_squared_error(x: Any, y: Any) -> float:
    """The mean of squared differences; dimensions of size 1 are ignored, as in TensorFlow."""
    return float(np.mean(np.square(np.squeeze(np.asarray(x)) - np.squeeze(np.asarray(y)))))


def train_test_split(
    *arrays: Any, test_size: float | None = None, random_state: int | None = None
) -> list[Any]:
    """Each array in two: rows to train with and the share ``test_size`` (0.25) to test with, shuffled.

    Raises `ValueError` where the numbers of rows differ.
    """
    if len({len(a) for a in arrays}) != 1:
        raise ValueError(f"The arrays differ in length: {[len(a) for a in arrays]}.")
    order = np.random.RandomState(random_state).permutation(len(arrays[0]))
    first = int((1 - (0.25 if test_size is None else test_size)) * len(order))
    return [
        part
        for a in arrays
        for part in (np.asarray(a)[order[:first]], np.asarray(a)[order[first:]])
    ]
