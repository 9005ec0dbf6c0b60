"""Thirteen measurements of 178 wines from three growers; scikit-learn carries the table."""

from __future__ import annotations

from .registry import DatasetInfo
from .scikit_tables import Split, load_split, wine

INFO = DatasetInfo(
    name="wine",
    title="178 wines of three growers, thirteen chemical measurements each",
    license="CC BY 4.0 (UCI)",
)


def load_data(test_fraction: float = 0.2, seed: int = 0) -> Split:
    """``(train_x, train_y), (test_x, test_y)``: frames of 13 float columns; labels 0, 1, 2."""
    return load_split(wine(), "grower", test_fraction, seed)
