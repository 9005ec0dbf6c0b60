"""The numbers with which lines of a plan are tried as calls."""

from __future__ import annotations

import numpy as np
import pytest

from dataflow.runtime.array_layouts import Layout, random_array


def layout(*shape: int) -> Layout:
    found = Layout.of(np.zeros(shape, np.float32))
    assert found is not None
    return found


@pytest.mark.parametrize("number", [0, 5, 8, 1000])
@pytest.mark.parametrize("size", [1, 7, 8, 60_000])
def test_arrays_of_one_number_are_parts_of_one_row_that_begins_again(
    number: int, size: int
) -> None:
    whole = random_array(layout(1 << 16), np.zeros(()), 0, False)[:65_521]
    start = number * 7919 % len(whole)
    found = random_array(layout(size), np.zeros(()), number, False)
    assert (found == np.roll(whole, -start)[:size]).all()


def test_small_arrays_show_all_special_numbers() -> None:
    numbers = [float(random_array(layout(), np.zeros(()), n, True)) for n in range(200)]
    assert any(np.isnan(numbers))
    assert {np.inf, -np.inf, 1.0, -1.0, 100.0, -100.0} <= set(numbers)
    assert {np.signbit(x) for x in numbers if x == 0.0} == {True, False}


def test_large_arrays_are_mostly_usual_numbers() -> None:
    numbers = random_array(layout(4000), np.zeros(()), 0, True)
    assert 0.02 < np.mean(~np.isfinite(numbers)) < 0.1


@pytest.mark.parametrize("axis", [1, 2])
def test_rows_that_lie_far_apart_share_memory_and_keep_their_numbers(axis: int) -> None:
    whole = np.zeros((5, 25, 60, 4), np.float32)
    sliced = Layout.of(whole[:, 3] if axis == 1 else whole[:, :, 3])
    assert sliced is not None
    made = [random_array(sliced, np.zeros(()), n, False) for n in range(70)]
    kept = [x.copy() for x in made]
    assert {x.strides for x in made} == {sliced.strides}
    for x, numbers in zip(made, kept, strict=True):
        np.testing.assert_array_equal(x, numbers)
    first = np.ascontiguousarray(random_array(layout(made[0].size), np.zeros(()), 0, False))
    np.testing.assert_array_equal(made[0].reshape(-1), first)
    blocks = {id(x.base) for x in made}
    assert len(blocks) == -(-70 // 25) if axis == 1 else -(-70 // 60)
    made[0][...] = 0.0
    for x, numbers in zip(made[1:], kept[1:], strict=True):
        np.testing.assert_array_equal(x, numbers)
