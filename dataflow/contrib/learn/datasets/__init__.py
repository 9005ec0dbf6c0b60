"""``tf.contrib.learn.datasets``: readers of CSV files, iris, and Boston's houses."""

from __future__ import annotations

from typing import Any

from dataflow.contrib.learn.datasets import base, mnist
from dataflow.contrib.learn.datasets.base import Dataset, load_boston, load_iris

__all__ = ["Dataset", "base", "load_boston", "load_dataset", "load_iris", "mnist"]


def load_dataset(name: str, size: str = "small", test_with_fake_data: bool = False) -> Any:
    """The dataset by name, "iris", "boston" or "mnist"; raises `ValueError` for one that is not here."""
    if name == "mnist":
        return mnist.load_mnist()
    if name == "boston":
        return load_boston()
    if name != "iris":
        raise ValueError(
            f"Name of dataset is not found: {name}. Here are iris, boston and mnist; see dataflow_datasets for more."
        )
    return load_iris()
