"""``tf.contrib.learn.datasets``: readers of CSV files, and iris."""

from __future__ import annotations

from typing import Any

from dataflow.contrib.learn.datasets import base, mnist
from dataflow.contrib.learn.datasets.base import Dataset

__all__ = ["Dataset", "base", "load_dataset", "load_iris", "mnist"]


def load_iris() -> Dataset:
    """All 150 flowers: ``data`` float32 [150, 4], ``target`` int64 [150]; from dataflow_datasets."""
    import numpy as np
    from dataflow_datasets import iris

    (train_x, train_y), (test_x, test_y) = iris.load_data()
    columns = list(train_x)
    rows = [np.stack([part[c] for c in columns], 1) for part in (train_x, test_x)]
    target = np.concatenate([np.asarray(train_y), np.asarray(test_y)])
    return Dataset(np.concatenate(rows).astype(np.float32), target.astype(np.int64))


def load_dataset(name: str, size: str = "small", test_with_fake_data: bool = False) -> Any:
    """The dataset by name, "iris" or "mnist"; raises `ValueError` for one that is not here."""
    if name == "mnist":
        return mnist.load_mnist()
    if name != "iris":
        raise ValueError(
            f"Name of dataset is not found: {name}. Here are iris and mnist; see dataflow_datasets for more."
        )
    return load_iris()
