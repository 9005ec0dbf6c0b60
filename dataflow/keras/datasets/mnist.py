"""Handwritten digits."""

from __future__ import annotations

from typing import Any

from dataflow.keras.datasets.stored import arrays
from dataflow.keras.utils.data_files import cached_file


def load_data(path: str = "mnist.npz") -> Any:
    """``(x_train, y_train), (x_test, y_test)``: uint8 [n, 28, 28] and [n].

    Keras's own file is taken where it is: ``path``, or that name in ``~/.keras/datasets``. Otherwise
    they come from `dataflow_datasets.mnist`, which says what to do where there is no file.
    """
    if cached_file(path).is_file():
        found = arrays(path)
        return tuple((found[f"x_{part}"], found[f"y_{part}"]) for part in ("train", "test"))
    from dataflow_datasets import mnist

    return mnist.load_data()
