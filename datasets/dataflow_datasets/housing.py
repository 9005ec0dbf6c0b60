"""Median house values of California's districts in the census of 1990."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .fetch import fetch
from .registry import DatasetInfo, RemoteFile
from .tables import read_rows, split_rows

if TYPE_CHECKING:
    import pandas

FILE = RemoteFile(
    "housing",
    "housing.csv",
    (
        "https://raw.githubusercontent.com/ageron/handson-ml2/"
        "aa555aa16b9d0af6c84e67c7757f3317d05acb12/datasets/housing/housing.csv",
        "https://raw.githubusercontent.com/ageron/handson-ml2/master/datasets/housing/housing.csv",
    ),
    "8a3727f4cf54ac1a327f69b1d5b4db54c5834ea81c6e4efc0d163300022a685e",
    1_423_529,
)
INFO = DatasetInfo(
    name="housing",
    title="20,640 Californian districts of 1990 and their median house value",
    license="public domain (StatLib)",
    files=(FILE,),
)


def _number_or_missing(cell: str) -> float:
    return float(cell) if cell else float("nan")


_COLUMNS: tuple[tuple[str, Callable[[str], Any]], ...] = (
    ("longitude", float),
    ("latitude", float),
    ("housing_median_age", float),
    ("total_rooms", float),
    ("total_bedrooms", _number_or_missing),
    ("population", float),
    ("households", float),
    ("median_income", float),
    ("median_house_value", float),
    ("ocean_proximity", str),
)
CSV_COLUMN_NAMES = [name for name, _ in _COLUMNS]


def read_frame(path: Path) -> pandas.DataFrame:
    """A file in the format of ``housing.csv`` (one header line) as a frame of ten columns.

    Raises `BadRowError`, naming file, line and column, for a row that cannot be read.
    """
    import pandas

    return pandas.DataFrame(list(read_rows(path, _COLUMNS, skip_lines=1)), columns=CSV_COLUMN_NAMES)


def load_frame() -> pandas.DataFrame:
    """All 20,640 districts; ``total_bedrooms`` is NaN in 207 of them."""
    return read_frame(fetch(FILE))


def load_data(
    test_fraction: float = 0.2, seed: int = 0
) -> tuple[
    tuple[pandas.DataFrame, pandas.Series[Any]], tuple[pandas.DataFrame, pandas.Series[Any]]
]:
    """``(train_x, train_y), (test_x, test_y)``; the label is the median house value in dollars."""
    frame = load_frame()
    label = frame.pop("median_house_value")
    train, test = split_rows(len(frame), test_fraction, seed)
    return (
        (frame.iloc[train].reset_index(drop=True), label.iloc[train].reset_index(drop=True)),
        (frame.iloc[test].reset_index(drop=True), label.iloc[test].reset_index(drop=True)),
    )
