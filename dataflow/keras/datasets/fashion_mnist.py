"""Small gray images of ten kinds of clothes (Xiao, Rasul and Vollgraf 2017)."""

from __future__ import annotations

import gzip
import os
from typing import Any

import numpy as np

from dataflow.errors import DataLossError
from dataflow.keras.datasets.stored import ORIGIN
from dataflow.keras.utils.data_files import get_file


def load_data() -> Any:
    """``(x_train, y_train), (x_test, y_test)``: uint8 [n, 28, 28] and [n].

    The files are looked for in ``~/.keras/datasets/fashion-mnist`` and in ``DATAFLOW_DATA``, and
    downloaded where they are in neither. Raises `FileNotFoundError` without file and network,
    `DataLossError` for a damaged file.
    """
    return _part("train"), _part("t10k")


def _part(name: str) -> tuple[Any, Any]:
    labels = _values(f"{name}-labels-idx1-ubyte.gz", header=8)
    images = _values(f"{name}-images-idx3-ubyte.gz", header=16)
    return images.reshape(-1, 28, 28), labels


def _values(name: str, header: int) -> Any:
    path = get_file(name, ORIGIN + name, cache_subdir=os.path.join("datasets", "fashion-mnist"))
    try:
        with gzip.open(path, "rb") as opened:
            values = np.frombuffer(opened.read(), np.uint8, offset=header)
    except (OSError, EOFError, ValueError) as error:
        raise DataLossError(message=f"{path} is damaged: {error}.") from error
    if header == 16 and values.size % 784:
        raise DataLossError(message=f"{path} is damaged: it holds {values.size} pixels.")
    return values
