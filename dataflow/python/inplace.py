"""``tensorflow.python.ops.inplace_ops``: a tensor with some of its rows replaced.

In TensorFlow they may change the tensor where it lies; a graph in which that shows has no defined result.
Here they are scatters, which leave it as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.ops import array

__all__ = [
    "alias_inplace_add",
    "alias_inplace_sub",
    "alias_inplace_update",
    "empty_like",
    "inplace_add",
    "inplace_sub",
    "inplace_update",
]


def _in_rows(scatter: Callable[..., Any], x: Any, i: Any, v: Any) -> Tensor:
    x, v = convert_to_tensor(x), convert_to_tensor(v)
    if i is None:
        whole = scatter(array.expand_dims(x, 0), [[0]], array.expand_dims(v, 0))
        return array.squeeze(whole, [0])
    rows = convert_to_tensor(i)
    if rows.dims == ():
        rows, v = array.reshape(rows, [1]), array.expand_dims(v, 0)
    return scatter(x, array.expand_dims(rows, 1), v)  # type: ignore[no-any-return]


def alias_inplace_update(x: Any, i: Any, v: Any) -> Tensor:
    """``x`` with ``v`` as its rows ``i``: a number or a vector of them, or ``None`` for all."""
    return _in_rows(array.tensor_scatter_update, x, i, v)


def alias_inplace_add(x: Any, i: Any, v: Any) -> Tensor:
    """``x`` with ``v`` added to its rows ``i``."""
    return _in_rows(array.tensor_scatter_add, x, i, v)


def alias_inplace_sub(x: Any, i: Any, v: Any) -> Tensor:
    """``x`` with ``v`` taken from its rows ``i``."""
    return _in_rows(array.tensor_scatter_sub, x, i, v)


inplace_update, inplace_add, inplace_sub = (
    alias_inplace_update,
    alias_inplace_add,
    alias_inplace_sub,
)


def empty_like(x: Any, init: bool | None = None) -> Tensor:
    """A tensor like ``x``; zeros, also where ``init`` is not set."""
    return array.zeros_like(x)
