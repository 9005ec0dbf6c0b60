"""1,797 handwritten digits of 8 x 8 pixels; scikit-learn carries them, so nothing is downloaded."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import scikit_tables
from .registry import DatasetInfo
from .tables import split_rows

INFO = DatasetInfo(
    name="digits",
    title="1,797 handwritten digits, 8 x 8 pixels",
    license="CC BY 4.0 (UCI)",
)

Array = np.ndarray[Any, Any]


def load_data(
    test_fraction: float = 0.2, seed: int = 0
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """``(train_x, train_y), (test_x, test_y)``.

    Images are float32 of shape ``[n, 8, 8]`` in [0, 1] (16 gray levels); labels int64, 0 to 9.
    """
    table = scikit_tables.digits()
    images = (table.data.reshape(-1, 8, 8) / 16.0).astype(np.float32)
    labels = table.target.astype(np.int64)
    train, test = split_rows(len(labels), test_fraction, seed)
    return (images[train], labels[train]), (images[test], labels[test])
