"""Small color images of a hundred kinds of things, in twenty groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dataflow.keras.datasets.cifar10 import read_batch
from dataflow.keras.utils.data_files import get_file


def load_data(label_mode: str = "fine") -> Any:
    """``(x_train, y_train), (x_test, y_test)``: uint8 [n, 32, 32, 3], and classes [n, 1].

    ``label_mode``: "fine" (0 to 99) or "coarse" (0 to 19). Raises `ValueError` for another one,
    `FileNotFoundError` without file and network.
    """
    if label_mode not in ("fine", "coarse"):
        raise ValueError('`label_mode` must be one of `"fine"`, `"coarse"`.')
    folder = get_file(
        "cifar-100-python",
        origin="https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz",
        untar=True,
    )
    key = f"{label_mode}_labels".encode()
    return read_batch(Path(folder) / "train", key), read_batch(Path(folder) / "test", key)
