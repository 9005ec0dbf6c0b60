"""Tables that scikit-learn carries, as frames split in two; in the site of `make site` they are ours to carry."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .frames import column, has_pandas, make_frame
from .tables import split_rows

if TYPE_CHECKING:
    import pandas

Split = tuple[
    tuple["pandas.DataFrame", "pandas.Series[Any]"],
    tuple["pandas.DataFrame", "pandas.Series[Any]"],
]
Array = np.ndarray[Any, Any]

#: Only in the site, whose Python may have no scikit-learn: `tools/wheels.py` puts files of it there.
PACKED = Path(__file__).parent / "packed"
#: Those files, of ``sklearn.datasets.data``.
FILES = (
    "digits.csv.gz",
    "iris.csv",
    "wine_data.csv",
    "diabetes_data_raw.csv.gz",
    "diabetes_target.csv.gz",
)

_DIABETES_COLUMNS = ("age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6")
_WINE_COLUMNS = (
    "alcohol",
    "malic_acid",
    "ash",
    "alcalinity_of_ash",
    "magnesium",
    "total_phenols",
    "flavanoids",
    "nonflavanoid_phenols",
    "proanthocyanins",
    "color_intensity",
    "hue",
    "od280/od315_of_diluted_wines",
    "proline",
)


class Table(NamedTuple):
    """``data``: float64 [rows, columns]; ``target``: a number a row; ``names``: of the columns."""

    data: Array
    target: Array
    names: tuple[str, ...]


def digits() -> Table:
    """A digit a row: 64 gray levels from 0 to 16, and what it is."""
    rows = np.loadtxt(_file("digits.csv.gz"), delimiter=",")
    return Table(rows[:, :64], rows[:, 64], tuple(str(i) for i in range(64)))


def iris() -> Table:
    """A flower a row: lengths and widths of sepal and petal in centimeters; the species, int64."""
    return _first_line_counts(
        "iris.csv", ("sepal length", "sepal width", "petal length", "petal width")
    )


def wine() -> Table:
    """A wine a row, thirteen measurements; the grower, int64."""
    if PACKED.is_dir():
        return _first_line_counts("wine_data.csv", _WINE_COLUMNS)
    from sklearn.datasets import load_wine

    return _table(load_wine())


def diabetes(scaled: bool) -> Table:
    """A patient a row, ten measurements, each of mean 0 and sum of squares 1 if ``scaled``; progression."""
    if PACKED.is_dir():
        data = np.loadtxt(PACKED / "diabetes_data_raw.csv.gz")
        if scaled:
            data = data - data.mean(0)
            data /= np.sqrt((data**2).sum(0))
        return Table(data, np.loadtxt(PACKED / "diabetes_target.csv.gz"), _DIABETES_COLUMNS)
    from sklearn.datasets import load_diabetes

    return _table(load_diabetes(scaled=scaled))


def _file(name: str) -> Path:
    """A file of scikit-learn's, found without importing it: that takes five seconds, and these need none of it."""
    if PACKED.is_dir():
        return PACKED / name
    spec = importlib.util.find_spec("sklearn")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("No module named 'sklearn': install scikit-learn", name="sklearn")
    return Path(spec.submodule_search_locations[0]) / "datasets" / "data" / name


def _table(bunch: Any) -> Table:
    return Table(bunch.data, bunch.target, tuple(str(name) for name in bunch.feature_names))


def _first_line_counts(file: str, names: tuple[str, ...]) -> Table:
    rows = np.loadtxt(_file(file), delimiter=",", skiprows=1)
    return Table(rows[:, :-1], rows[:, -1].astype(np.int64), names)


def load_split(table: Table, label_name: str, test_fraction: float, seed: int) -> Split:
    """``(train_x, train_y), (test_x, test_y)``: the rows of a table in two shuffled parts."""
    train, test = split_rows(len(table.data), test_fraction, seed)
    return _part(table, train, label_name), _part(table, test, label_name)


def _part(table: Table, rows: Array, label_name: str) -> Any:
    data, label = table.data[rows], table.target[rows]
    frame = make_frame(dict(zip(table.names, data.T, strict=True)))
    if not has_pandas():
        return frame, column(label, label_name)
    import pandas

    return frame, pandas.Series(label, name=label_name)
