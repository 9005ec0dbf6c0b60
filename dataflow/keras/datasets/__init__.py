"""`tf.keras.datasets`: from files on this machine, or downloaded."""

from __future__ import annotations

from dataflow.keras.datasets import boston_housing, cifar10, cifar100, fashion_mnist, imdb, mnist
from dataflow.keras.datasets import reuters

__all__ = ["boston_housing", "cifar10", "cifar100", "fashion_mnist", "imdb", "mnist", "reuters"]
