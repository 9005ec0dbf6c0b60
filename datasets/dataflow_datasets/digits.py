"""1,797 handwritten digits of 8 x 8 pixels; scikit-learn carries them, so nothing is downloaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .registry import DatasetInfo
from .tables import split_rows

#: Only in the site of `make site`, whose Python may have no scikit-learn: `tools/wheels.py` puts it there.
PACKED = Path(__file__).parent / "digits.csv.gz"

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
    table = _table()
    images = (table[:, :64].reshape(-1, 8, 8) / 16.0).astype(np.float32)
    labels = table[:, 64].astype(np.int64)
    train, test = split_rows(len(labels), test_fraction, seed)
    return (images[train], labels[train]), (images[test], labels[test])


def _table() -> Array:
    """A digit a row: 64 gray levels from 0 to 16, and the label; float64 [1797, 65]."""
    if PACKED.is_file():
        return np.loadtxt(PACKED, delimiter=",")
    from sklearn.datasets import load_digits

    found = load_digits()
    return np.column_stack([found.data, found.target])
