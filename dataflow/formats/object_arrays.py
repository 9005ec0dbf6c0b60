"""Arrays of Python objects: how NumPy holds strings, and values of several lengths."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np


def object_array(values: Collection[Any], shape: int | tuple[int, ...] | None = None) -> Any:
    """The values along one axis, or in an array of ``shape``; each stays the object that it is.

    ``np.array(values, object)`` would make axes of values that are sequences of one length.
    """
    array = np.fromiter(values, object, len(values))
    return array if shape is None else array.reshape(shape)
