"""Progression of diabetes in 442 patients; scikit-learn carries the table."""

from __future__ import annotations

from .registry import DatasetInfo
from .scikit_tables import Split, diabetes, load_split

INFO = DatasetInfo(
    name="diabetes",
    title="442 patients, ten measurements, and how far the disease got in a year",
    license="free for research and teaching (Efron et al. 2004); scikit-learn's copy",
)


def load_data(test_fraction: float = 0.2, seed: int = 0, scaled: bool = True) -> Split:
    """``(train_x, train_y), (test_x, test_y)``: frames of 10 float columns; a float label.

    With ``scaled`` each column has mean 0 and sum of squares 1 over all 442 patients; without, the
    units are the card's.
    """
    return load_split(diabetes(scaled), "progression", test_fraction, seed)
