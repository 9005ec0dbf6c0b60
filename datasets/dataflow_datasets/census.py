"""Adult income: the table of the wide-and-deep tutorial (US census of 1994)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .fetch import fetch
from .registry import DatasetInfo, RemoteFile
from .tables import read_rows

if TYPE_CHECKING:
    import pandas

_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"
TRAIN = RemoteFile(
    "census",
    "adult.data",
    (_URL + "adult.data",),
    "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    3_974_305,
)
TEST = RemoteFile(
    "census",
    "adult.test",
    (_URL + "adult.test",),
    "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    2_003_153,
)
INFO = DatasetInfo(
    name="census",
    title="48,842 adults of the 1994 census: who earns more than $50,000?",
    license="CC BY 4.0 (UCI)",
    files=(TRAIN, TEST),
)

LABELS = ("<=50K", ">50K")


def _income(cell: str) -> int:
    # The test file ends each label in a full stop.
    try:
        return LABELS.index(cell.rstrip("."))
    except ValueError:
        raise ValueError(f"the label must be one of {', '.join(LABELS)}") from None


# The column names of TensorFlow's wide-and-deep tutorial.
_COLUMNS: tuple[tuple[str, Callable[[str], Any]], ...] = (
    ("age", int),
    ("workclass", str),
    ("fnlwgt", int),
    ("education", str),
    ("education_num", int),
    ("marital_status", str),
    ("occupation", str),
    ("relationship", str),
    ("race", str),
    ("gender", str),
    ("capital_gain", int),
    ("capital_loss", int),
    ("hours_per_week", int),
    ("native_country", str),
    ("income_bracket", _income),
)
CSV_COLUMN_NAMES = [name for name, _ in _COLUMNS]
NUMERIC_COLUMNS = [name for name, convert in _COLUMNS if convert is int]
CATEGORICAL_COLUMNS = [name for name, convert in _COLUMNS if convert is str]


def read_frame(path: Path, skip_lines: int = 0) -> pandas.DataFrame:
    """A file in the format of ``adult.data`` as a frame of the fifteen columns.

    Raises `BadRowError`, naming file, line and column, for a row that cannot be read.
    """
    import pandas

    rows = list(read_rows(path, _COLUMNS, skip_lines=skip_lines))
    return pandas.DataFrame(rows, columns=CSV_COLUMN_NAMES)


def load_frames() -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """The 32,561 training and 16,281 test rows; an unknown category is the string ``"?"``."""
    # The first line of the test file is a note, not a row.
    return read_frame(fetch(TRAIN)), read_frame(fetch(TEST), skip_lines=1)


def load_data() -> tuple[
    tuple[pandas.DataFrame, pandas.Series[Any]], tuple[pandas.DataFrame, pandas.Series[Any]]
]:
    """``(train_x, train_y), (test_x, test_y)``; the label is 1 for more than $50,000 a year."""
    train, test = load_frames()
    train_y, test_y = train.pop("income_bracket"), test.pop("income_bracket")
    return (train, train_y), (test, test_y)
