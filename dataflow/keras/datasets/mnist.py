"""Handwritten digits."""

from __future__ import annotations

from typing import Any


def load_data(path: str = "mnist.npz") -> Any:
    """``(x_train, y_train), (x_test, y_test)``: uint8 [n, 28, 28] and [n].

    They come from `dataflow_datasets.mnist`, which says what to do where there is no file.
    """
    from dataflow_datasets import mnist

    return mnist.load_data()
