"""``tf.contrib.learn.datasets``: readers of CSV files, iris, and Boston's houses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.contrib.learn.datasets import base, mnist, synthetic
from dataflow.contrib.learn.datasets.base import Dataset, load_boston, load_iris

__all__ = [
    "SYNTHETIC",
    "Dataset",
    "base",
    "load_boston",
    "load_dataset",
    "load_iris",
    "make_dataset",
    "mnist",
    "synthetic",
]

#: Functions that make data, by name.
SYNTHETIC: dict[str, Callable[..., Dataset]] = {
    "circles": synthetic.circles,
    "spirals": synthetic.spirals,
}


def make_dataset(
    name: str,
    n_samples: int = 100,
    noise: float | None = None,
    seed: int = 42,
    *args: Any,
    **kwargs: Any,
) -> Dataset:
    """Made data, "circles" or "spirals"; raises `ValueError` for another name."""
    if name not in SYNTHETIC:
        raise ValueError(
            f"Synthetic dataset not found or not specified: {name}; take one of {sorted(SYNTHETIC)}."
        )
    return SYNTHETIC[name](n_samples, noise, seed, *args, **kwargs)


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
