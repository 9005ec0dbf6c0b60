"""Whole numbers in the dtype that NumPy counts and addresses with."""

from __future__ import annotations

from typing import Any

import numpy as np


def as_intp(array: Any) -> Any:
    """``array`` as `numpy.intp`, itself where it is so already.

    ``bincount`` and ``repeat`` take nothing wider, and refuse int64 where addresses have 32 bits (in
    WebAssembly).
    """
    return array.astype(np.intp, copy=False)
