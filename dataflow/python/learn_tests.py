"""What TensorFlow's tests of `tf.contrib.learn` share: the iris data, and what an estimator must have."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.contrib.learn.datasets import load_iris
from dataflow.contrib.learn.datasets.base import Dataset
from dataflow.ops.reshape import reshape
from dataflow.ops.sources import constant

__all__ = [
    "assert_estimator_contract",
    "assert_in_range",
    "get_quantile_based_buckets",
    "iris_input_logistic_fn",
    "iris_input_multiclass_fn",
    "prepare_iris_data_for_logistic_regression",
]


def assert_estimator_contract(tester: Any, estimator_class: Any) -> None:
    """Asserts that the constructor takes ``config`` and ``model_dir``."""
    names = inspect.signature(estimator_class.__init__).parameters
    for name in ("config", "model_dir"):
        assert name in names


def assert_in_range(min_value: Any, max_value: Any, key: Any, metrics: Any) -> None:
    """Asserts that the metric ``key`` is between the two."""
    assert min_value <= metrics[key] <= max_value, f"{key}: {metrics[key]}"


def get_quantile_based_buckets(feature_values: Any, num_buckets: int) -> list[float]:
    """The boundaries between buckets of equally many values, without repetitions."""
    quantiles = np.percentile(
        feature_values, [100 * (i + 1.0) / (num_buckets + 1.0) for i in range(num_buckets)]
    )
    return list(np.unique(quantiles))


def prepare_iris_data_for_logistic_regression() -> Dataset:
    """The first two kinds of flowers: 100 of them."""
    iris = load_iris()
    kept = np.where((iris.target == 0) | (iris.target == 1))
    return Dataset(iris.data[kept], iris.target[kept])


def _input(iris: Dataset) -> Any:
    features = {"feature": constant(iris.data, dtype=dtypes.float32)}
    return features, reshape(constant(iris.target, dtype=dtypes.int32), [-1, 1])


def iris_input_multiclass_fn() -> Any:
    """Features [150, 4] and classes [150, 1]."""
    return _input(load_iris())


def iris_input_logistic_fn() -> Any:
    """Features [100, 4] and classes 0 and 1 [100, 1]."""
    return _input(prepare_iris_data_for_logistic_regression())
