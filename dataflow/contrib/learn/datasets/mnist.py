"""``tf.contrib.learn.datasets.mnist``: MNIST with ``next_batch``; the data are `dataflow_datasets`'s."""

from __future__ import annotations

from typing import Any


def load_mnist(train_dir: str = "MNIST-data") -> Any:
    """MNIST in three parts, labels as numbers: `dataflow_datasets.mnist.read_data_sets`."""
    from dataflow.examples.tutorials.mnist import input_data

    return input_data.read_data_sets(train_dir)


def __getattr__(name: str) -> Any:
    from dataflow.examples.tutorials.mnist import input_data

    return getattr(input_data, name)
