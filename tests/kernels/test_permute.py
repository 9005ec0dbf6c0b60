"""Kernels that put elements in another order, beside NumPy's functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels.permute import roll_kernel


@pytest.mark.parametrize("shape", [(4, 5), (1, 5), (0, 5), (3, 4, 2)], ids=str)
@pytest.mark.parametrize(
    ("shift", "axis"),
    [(0, 0), (1, 1), (-2, -1), (7, 0), (-9, -2), ([3, 1], [0, 1]), ([2, 3], [1, 1]), ([2], [0])],
    ids=str,
)
def test_roll_is_numpys(shape: tuple[int, ...], shift: Any, axis: Any) -> None:
    x = np.arange(np.prod(shape)).reshape(shape)
    got = roll_kernel(np, x, np.array(shift), np.array(axis))
    np.testing.assert_array_equal(got, np.roll(x, shift, axis))
    assert not np.shares_memory(got, x)
