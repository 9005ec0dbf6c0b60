"""What the table-shaped sets share: splitting rows, and reading CSV files that may be damaged."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np


class BadRowError(ValueError):
    """A row of a data file cannot be used; the message names file, line and column."""


def split_rows(
    num_rows: int, test_fraction: float, seed: int
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Row numbers (train, test) of a shuffled split; at least one row on each side.

    Raises `ValueError` unless ``0 < test_fraction < 1`` and there are two rows or more.
    """
    if not 0.0 < test_fraction < 1.0:
        raise ValueError(f"test_fraction must lie between 0 and 1, got {test_fraction}.")
    if num_rows < 2:
        raise ValueError(f"Two rows or more are needed for a split, got {num_rows}.")
    num_test = min(max(round(num_rows * test_fraction), 1), num_rows - 1)
    order = np.random.default_rng(seed).permutation(num_rows)
    return order[num_test:], order[:num_test]


def read_rows(
    path: Path,
    columns: Sequence[tuple[str, Callable[[str], Any]]],
    *,
    skip_lines: int = 0,
) -> Iterator[list[Any]]:
    """Rows of a CSV file, each cell put through its column's function.

    Raises:
        BadRowError: a row has the wrong number of cells, or a cell its function refuses
            (`ValueError`).
    """
    with path.open(encoding="utf-8", newline="") as opened:
        for number, cells in enumerate(csv.reader(opened, skipinitialspace=True), start=1):
            if number <= skip_lines or not cells:
                continue
            if len(cells) != len(columns):
                raise BadRowError(
                    f"{path}, line {number}: {len(cells)} cells, needed {len(columns)}"
                    f" ({', '.join(name for name, _ in columns)})."
                )
            row = []
            for (name, convert), cell in zip(columns, cells, strict=True):
                try:
                    row.append(convert(cell))
                except ValueError as error:
                    raise BadRowError(
                        f"{path}, line {number}, column {name!r}: {cell!r} cannot be read: {error}."
                    ) from error
            yield row
