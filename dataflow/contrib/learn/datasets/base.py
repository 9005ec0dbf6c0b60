"""Readers of CSV files into arrays."""

from __future__ import annotations

import csv
from typing import Any, NamedTuple

import numpy as np

from dataflow import gfile


class Dataset(NamedTuple):
    """Features, one row for each example, and the class or number of each."""

    data: Any
    target: Any


def load_csv_with_header(
    filename: Any, target_dtype: Any, features_dtype: Any, target_column: int = -1
) -> Dataset:
    """A file whose first line holds the number of rows and of features, as the iris files do.

    Raises `ValueError` for a row of another length, or that is no number: it names file and line.
    """
    with gfile.Open(filename) as file:
        lines = csv.reader(file)
        header = next(lines, [])
        try:
            num_rows, num_features = int(header[0]), int(header[1])
        except (IndexError, ValueError):
            raise ValueError(
                f"{filename}, line 1: the header must begin with the numbers of rows and of "
                f"features, got {header}; use load_csv_without_header for a file without one."
            ) from None
        result = _read(
            filename, lines, 2, target_dtype, features_dtype, target_column, num_features
        )
    if len(result.data) != num_rows:
        raise ValueError(
            f"{filename}: the header says {num_rows} rows, there are {len(result.data)}."
        )
    return result


def load_csv_without_header(
    filename: Any, target_dtype: Any, features_dtype: Any, target_column: int = -1
) -> Dataset:
    """A file of rows of numbers. Raises `ValueError` as `load_csv_with_header` does."""
    with gfile.Open(filename) as file:
        return _read(filename, csv.reader(file), 1, target_dtype, features_dtype, target_column)


def load_iris(data_path: str | None = None) -> Dataset:
    """All 150 flowers: ``data`` float64 [150, 4], ``target`` int64 [150]; those of a file with a header, where given."""
    if data_path is not None:
        return load_csv_with_header(data_path, np.int64, np.float64)
    from dataflow_datasets import iris

    (train_x, train_y), (test_x, test_y) = iris.load_data()
    rows = [np.stack([part[c] for c in train_x], 1) for part in (train_x, test_x)]
    target = np.concatenate([np.asarray(train_y), np.asarray(test_y)])
    data = np.concatenate(rows).astype(np.float64).round(1)  # they were measured to a millimeter
    return Dataset(data, target.astype(np.int64))


def load_boston(data_path: str | None = None) -> Dataset:
    """Prices of 506 houses around Boston: ``data`` float64 [506, 13], ``target`` float64 [506].

    They come as `tf.keras.datasets.boston_housing` finds them, or from a file with a header.
    """
    if data_path is not None:
        return load_csv_with_header(data_path, float, float)
    from dataflow.keras.datasets.boston_housing import stored_arrays

    found = stored_arrays()
    return Dataset(found["x"], found["y"])


def _read(
    filename: Any,
    lines: Any,
    first_line: int,
    target_dtype: Any,
    features_dtype: Any,
    target_column: int,
    num_features: int | None = None,
) -> Dataset:
    data, target = [], []
    target_kind, features_kind = np.dtype(target_dtype).type, np.dtype(features_dtype).type
    for number, row in enumerate(lines, first_line):
        if not row:
            continue
        if num_features is None:
            num_features = len(row) - 1
        if len(row) != num_features + 1:
            raise ValueError(
                f"{filename}, line {number}: {len(row)} columns, but {num_features + 1} are needed "
                "(the features and the target)."
            )
        try:
            target.append(target_kind(row.pop(target_column)))
            data.append([features_kind(value) for value in row])
        except ValueError as e:
            raise ValueError(f"{filename}, line {number}: {e}") from None
    return Dataset(np.array(data, features_dtype), np.array(target, target_dtype))
