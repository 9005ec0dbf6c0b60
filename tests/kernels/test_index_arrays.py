"""What is seen at a glance of index arrays, and what the kernels make of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels import index_arrays
from dataflow.kernels.gather_scatter import gather_nd_kernel, one_hot_kernel
from dataflow.kernels.reduce import all_kernel, any_kernel
from dataflow.kernels.selection import where_kernel
from dataflow.kernels.sparse_dense import sparse_to_dense_kernel


@pytest.mark.parametrize("short", [4096, 0])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
def test_counting(short: int, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_arrays, "_SHORT", short)
    numbers = np.arange(6, dtype=dtype)
    assert index_arrays.is_counting(numbers)
    assert index_arrays.is_counting(np.stack([numbers, numbers * 0], 1)[:, 0])
    for wrong in ([0, 1, 2, 4, 4, 5], [1, 2, 3, 4, 5, 6], [0, 0, 2, 3, 4, 5], []):
        assert not index_arrays.is_counting(np.array(wrong, dtype))


@pytest.mark.parametrize("shape", [(3, 1), (2, 3), (2, 2, 2), (0, 2)])
def test_all_elements_by_their_places(shape: tuple[int, ...]) -> None:
    """Where everything is true it is as if each was looked at, and what is returned is the caller's own."""
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + 1
    for _ in range(2):
        at = where_kernel(np, x > 0)
        assert at.dtype == np.int64 and at.tolist() == np.argwhere(x > 0).tolist()
        assert index_arrays.are_places_of_all(at, shape)
        taken = gather_nd_kernel(np, x, at)
        assert taken.tolist() == x.reshape(-1).tolist() and not np.shares_memory(taken, x)
        dense = sparse_to_dense_kernel(
            np, at, np.array(shape), taken, np.float32(0), validate_indices=True
        )
        assert dense.tolist() == x.tolist() and not np.shares_memory(dense, taken)
        at += 1


def test_some_elements_by_their_places() -> None:
    x = np.array([[1, 0, 2], [0, 3, 4]], np.float32)
    at = where_kernel(np, x)
    assert at.tolist() == [[0, 0], [0, 2], [1, 1], [1, 2]]
    assert not index_arrays.are_places_of_all(at, x.shape)
    assert not index_arrays.are_places_of_all(at, (4, 1))
    assert gather_nd_kernel(np, x, at).tolist() == [1, 2, 3, 4]
    back = np.array([[1, 2], [0, 1], [1, 1], [0, 0], [0, 2], [1, 0]])
    assert gather_nd_kernel(np, x, back).tolist() == [4, 0, 3, 1, 2, 0]


@pytest.mark.parametrize(
    ("labels", "rows"), [([2, 0], [[0, 0, 1], [1, 0, 0]]), ([3, -1], [[0] * 3] * 2)]
)
def test_labels_inside_and_outside(labels: list[int], rows: Any) -> None:
    got = one_hot_kernel(np, np.array(labels), 3, np.float32(1), np.float32(0), axis=-1)
    assert got.tolist() == rows


@pytest.mark.parametrize(
    "truths", [[True] * 5, [False] * 5, [True, False], [[True, True], [False, True]]]
)
def test_truths_of_a_whole_array_are_counted(truths: Any) -> None:
    x = np.array(truths)
    for function, wanted in ((all_kernel, x.all()), (any_kernel, x.any())):
        got = function(np, x, np.arange(x.ndim), keep_dims=False)
        assert got == wanted and type(got) is np.bool_
        kept = function(np, x, np.arange(x.ndim), keep_dims=True)
        assert kept.shape == (1,) * x.ndim and kept.reshape(()) == wanted
    empty = np.zeros((0, 2), bool)
    assert all_kernel(np, empty, np.arange(2), keep_dims=False)
    assert not any_kernel(np, empty, np.arange(2), keep_dims=False)
