"""Values of which a part is kept: which part, and what is counted of the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.runtime.value_sample import ValueSample, not_finite, sample_of, size_of


def test_a_small_value_is_kept_whole_and_is_a_copy() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    kept = sample_of(array)
    array[0, 0] = 9
    assert kept.is_whole and kept.sample is not None and kept.sample[0, 0] == 0
    assert (kept.dtype, kept.shape, kept.nbytes, kept.size) == (np.float32, (2, 3), 24, 6)


@pytest.mark.parametrize("order", ["C", "F"])
def test_of_a_large_value_rows_and_columns_are_kept_evenly(order: Any) -> None:
    array = np.asarray(np.arange(1_000_000.0).reshape(100, 20, 500), order=order)
    kept = sample_of(array)
    assert not kept.is_whole and kept.size == 1_000_000 and kept.nbytes == 8_000_000
    sample = kept.sample
    assert sample is not None and sample.ndim == 2 and sample.size < 100_000
    rows, columns = np.diff(sample[:, 0]), np.diff(sample[0])
    assert sample[0, 0] == 0 and set(columns) == {columns[0]} and set(rows) == {rows[0]}
    assert rows[0] % 500 == 0
    assert sample[-1, 0] >= 1_000_000 - 500 - rows[0]  # to the end
    assert sample[0, -1] >= 499 - columns[0]


@pytest.mark.parametrize("order", ["C", "F"])
def test_at_most_so_many_rows_and_columns_are_kept(order: Any) -> None:
    for rows, columns, kept in ((24 * 9, 32 * 8, (24, 32)), (24 * 9 + 1, 32 * 8 + 1, (22, 29))):
        sample = sample_of(np.zeros((rows, columns), order=order)).sample
        assert sample is not None and sample.shape == kept


def test_the_size_alone_has_no_sample() -> None:
    kept = size_of(np.zeros((3, 4), np.int16))
    assert kept == ValueSample(np.dtype(np.int16), (3, 4), 24, None)
    assert not kept.is_whole and kept.size == 12
    assert size_of(np.zeros((0, 4))).size == 0 and size_of(np.zeros(())).size == 1


@pytest.mark.parametrize(
    ("array", "counts"),
    [
        (np.float32([1, np.nan, np.inf, -np.inf, np.nan]), (2, 2)),
        (np.float32([1e30, -1e30]), (0, 0)),  # whose squares overflow
        (np.float16([np.inf, 1]), (0, 1)),
        (np.array([[1, np.nan], [2, 3]])[:, 1], (1, 0)),
        (np.array([complex(np.nan, 1)]), (1, 0)),
        (np.arange(3), (0, 0)),
        (np.array([b"nan"], object), (0, 0)),
    ],
)
def test_what_is_not_finite_is_counted(array: Any, counts: tuple[int, int]) -> None:
    assert not_finite(array) == counts
    kept = sample_of(array)
    assert (kept.num_nan, kept.num_inf) == counts
    unchecked = sample_of(array, check=False)
    assert (unchecked.num_nan, unchecked.num_inf) == (0, 0)
