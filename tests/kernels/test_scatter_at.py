"""`ufunc.at` for the dtypes that CuPy's atomics do not take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels.scatter_at import ATOMIC_DTYPES, scatter_at
from dataflow.kernels.xp import pretend_gpus, pretend_module

DTYPES = [
    *("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]
CASES = [
    (name, dtype)
    for name in ATOMIC_DTYPES
    for dtype in DTYPES
    if not (dtype.startswith("complex") and name in ("maximum", "minimum"))
]


def check_scatter(xp: Any, name: str, dtype: str) -> None:
    """As NumPy's, where an index is repeated, for negative numbers and large ones."""
    rng = np.random.RandomState(0)
    start, values = (
        (rng.randint(-9, 9, shape) * (1 << 40 if dtype == "int64" else 1)).astype(dtype)
        for shape in ((5, 3), (7, 3))
    )
    where = np.array([4, 0, 4, 2, 0, 4, 1])
    want = start.copy()
    getattr(np, name).at(want, where, values)
    got = xp.asarray(start)
    scatter_at(xp, name, got, xp.asarray(where), xp.asarray(values))
    np.testing.assert_array_equal(got.get() if xp is not np else got, want)


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_like_numpy(name: str, dtype: str) -> None:
    check_scatter(np, name, dtype)
    with pretend_gpus(1):
        check_scatter(pretend_module(0), name, dtype)
