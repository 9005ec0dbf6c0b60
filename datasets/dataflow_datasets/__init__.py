"""Data sets for the lessons: small, documented, checked, and mostly without a download.

``import dataflow_datasets as datasets`` and then, for example::

    (train_x, train_y), (test_x, test_y) = datasets.iris.load_data()
    mnist = datasets.mnist.read_data_sets("MNIST_data", one_hot=True)
    print(datasets.card("census"))

Each set is a module that is imported when it is first named.
"""

from __future__ import annotations

from typing import Any

from .registry import NAMES, card, info, list_datasets, load

__all__ = ["card", "info", "list_datasets", "load", *NAMES]


def __getattr__(name: str) -> Any:
    if name in NAMES:
        from . import registry

        return registry.module(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
