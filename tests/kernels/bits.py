"""Whether two arrays hold the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np


def assert_same_bits(got: Any, wanted: Any) -> None:
    """Equal types and shapes, and equal bits; a NaN is equal to any other."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    if wanted.dtype.kind == "f":
        np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
        got, wanted = (np.where(np.isnan(x), 0, x).astype(x.dtype) for x in (got, wanted))
        got, wanted = (np.ascontiguousarray(x).view(f"u{x.itemsize}") for x in (got, wanted))
    np.testing.assert_array_equal(got, wanted)
