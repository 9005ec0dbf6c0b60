"""Strings of arrays as Python's: what kernels that read names, paths and tags begin with."""

from __future__ import annotations

from typing import Any

import numpy as np


def _decoded(item: Any) -> str:
    return item.decode() if isinstance(item, bytes) else str(item)


def text(value: Any) -> str:
    """The (first) string of an array, decoded as UTF-8."""
    return _decoded(np.asarray(value, object).reshape(-1)[0])


def texts(values: Any) -> list[str]:
    """All strings of an array in a row, decoded as UTF-8."""
    return [_decoded(item) for item in np.asarray(values, object).reshape(-1)]
