"""Small color images of ten kinds of things."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dataflow.keras import backend as K
from dataflow.keras.datasets.stored import unpickled
from dataflow.keras.utils.data_files import get_file


def load_data() -> Any:
    """``(x_train, y_train), (x_test, y_test)``: uint8 [n, 32, 32, 3], and classes uint8 [n, 1].

    Channels come first where ``image_data_format()`` says so. The file is looked for in
    ``~/.keras/datasets`` and in ``DATAFLOW_DATA``, and downloaded where it is in neither. Raises
    `FileNotFoundError` without file and network.
    """
    folder = get_file(
        "cifar-10-batches-py",
        origin="https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
        untar=True,
    )
    parts = [read_batch(Path(folder) / f"data_batch_{i}") for i in range(1, 6)]
    x_train = np.concatenate([x for x, _ in parts])
    y_train = np.concatenate([y for _, y in parts])
    return (x_train, y_train), read_batch(Path(folder) / "test_batch")


def read_batch(path: Path, key: bytes = b"labels") -> tuple[Any, Any]:
    """The images of one file, and their labels called ``key``."""
    with path.open("rb") as opened:
        batch = unpickled(opened, path)
    images = np.asarray(batch[b"data"]).reshape(-1, 3, 32, 32)
    if K.image_data_format() == "channels_last":
        images = images.transpose(0, 2, 3, 1)
    return images, np.array(batch[key], "uint8").reshape(-1, 1)
