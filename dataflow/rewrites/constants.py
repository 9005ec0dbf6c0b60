"""Questions that rules ask about constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.graph.tensor import Tensor


def const_value(tensor: Tensor) -> Any:
    """The value of a constant all of whose elements are equal, as a Python number, else ``None``."""
    if tensor.op.type != "Const" or tensor.op.control_inputs:
        return None
    value = tensor.op.attrs["value"]
    if value.dtype == object or not value.size or value.size > 4096:
        return None
    first = value.reshape(-1)[0]
    if value.size > 1 and not bool((value == first).all()):
        return None
    return first.item() if isinstance(first, np.generic) else first


def is_all(tensor: Tensor, number: float) -> bool:
    """True for a constant whose elements all equal ``number``."""
    value = const_value(tensor)
    return value is not None and value == number and not isinstance(value, bool)
