"""Fisher's iris flowers in the order and split of TensorFlow's tutorial, without a download."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import scikit_tables
from .frames import make_frame
from .registry import DatasetInfo

if TYPE_CHECKING:
    import pandas

    Part = tuple[pandas.DataFrame, pandas.Series[Any]]

INFO = DatasetInfo(
    name="iris",
    title="150 iris flowers of three species, four lengths each",
    license="public domain (Fisher 1936)",
)

CSV_COLUMN_NAMES = ["SepalLength", "SepalWidth", "PetalLength", "PetalWidth", "Species"]
SPECIES = ["Setosa", "Versicolor", "Virginica"]

# Row numbers of scikit-learn's table (from 0) in the order of iris_training.csv and iris_test.csv.
# Two pairs cannot be told apart by their values: 101 and 142 are the same flower twice, and 34 and
# 37 are the same in TensorFlow's files only (see the card). The lower number comes first.
# fmt: off
TRAIN_ROWS = (
    132, 93, 106, 9, 18, 42, 31, 141, 65, 21, 59, 52, 14, 5, 117, 56, 143, 105, 115, 15,
    124, 128, 16, 134, 129, 27, 92, 149, 84, 77, 87, 98, 51, 112, 126, 120, 110, 114, 19, 45,
    131, 101, 145, 44, 29, 119, 11, 118, 22, 125, 49, 75, 71, 35, 50, 138, 130, 142, 148, 60,
    69, 140, 146, 137, 68, 107, 38, 109, 116, 7, 2, 58, 36, 135, 127, 34, 80, 96, 78, 111,
    10, 63, 54, 94, 136, 37, 76, 55, 83, 40, 147, 73, 17, 3, 104, 6, 47, 122, 70, 46,
    1, 57, 41, 67, 26, 28, 48, 4, 64, 30, 123, 99, 25, 100, 43, 90, 95, 8, 12, 81,
)
TEST_ROWS = (
    61, 139, 23, 85, 89, 97, 33, 133, 88, 108, 102, 13, 121, 53, 62, 0, 79, 24, 39, 113,
    20, 66, 103, 72, 82, 91, 32, 86, 144, 74,
)
# fmt: on


def load_frames(label_name: str = "Species") -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """The 120 training and the 30 test flowers as pandas frames, label column last.

    Lengths are float64 centimetres; the label is int64, an index into `SPECIES`.
    """
    table = scikit_tables.iris()
    frame = make_frame(dict(zip(CSV_COLUMN_NAMES[:-1], table.data.T, strict=True)))
    frame[label_name] = table.target.astype("int64")
    train = frame.iloc[list(TRAIN_ROWS)].reset_index(drop=True)
    test = frame.iloc[list(TEST_ROWS)].reset_index(drop=True)
    return train, test


def load_data(label_name: str = "Species") -> tuple[Part, Part]:
    """``(train_x, train_y), (test_x, test_y)``: frames of four columns, and label columns."""
    train, test = load_frames(label_name)
    train_y, test_y = train.pop(label_name), test.pop(label_name)
    return (train, train_y), (test, test_y)
