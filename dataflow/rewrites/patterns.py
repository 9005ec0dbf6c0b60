"""Patterns for Python's ``match`` over tensors.

::

    match t:
        case Tensor("Log", [Tensor("Add", [Const(1), Tensor("Exp", [x])])]):
            return softplus(x)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.graph.tensor import Tensor

#: ``Tensor(type, inputs)`` as a pattern.
Tensor.__match_args__ = ("op_type", "inputs")  # type: ignore[attr-defined,misc]


class _ConstMeta(type):
    def __instancecheck__(cls, tensor: Any) -> bool:
        return isinstance(tensor, Tensor) and tensor.op.type == "Const"


class Const(metaclass=_ConstMeta):
    """``Const(value)`` as a pattern: a constant; a scalar's value can be compared with a number."""

    __match_args__ = ("const_value",)


def const_value(tensor: Tensor) -> Any:
    """The value of a constant all of whose elements are equal, as a Python number, else ``None``."""
    if tensor.op.type != "Const" or tensor.op._control_inputs:
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
