"""The kernel of the op in `dataflow.ops.lu`: NumPy has no LU decomposition of its own."""

from __future__ import annotations

from typing import Any

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel

#: Columns that are eliminated one by one, before the rest follows in one product.
_BLOCK = 32


def _eliminate(xp: Module, a: Array, order: Any) -> None:
    """Gauss's elimination with partial pivoting of each ``a[i]``, in place; ``order`` follows."""
    size = a.shape[-1]
    each = xp.arange(len(a))
    for start in range(0, size, _BLOCK):
        stop = min(start + _BLOCK, size)
        for k in range(start, stop):
            pivot = k + xp.abs(a[:, k:, k]).argmax(axis=1)
            for rows in (a, order):
                rows[each, pivot], rows[:, k] = rows[:, k].copy(), rows[each, pivot]
            if (a[:, k, k] == 0).any():
                raise ValueError("Input is not invertible.")
            a[:, k + 1 :, k] /= a[:, k, k, None]
            a[:, k + 1 :, k + 1 : stop] -= a[:, k + 1 :, k, None] * a[:, k, None, k + 1 : stop]
        for k in range(start, stop - 1):
            a[:, k + 1 : stop, stop:] -= a[:, k + 1 : stop, k, None] * a[:, k, None, stop:]
        a[:, stop:, stop:] -= a[:, stop:, start:stop] @ a[:, start:stop, stop:]


@kernel("Lu")
def lu_kernel(xp: Module, x: Array, *, output_idx_type: Any) -> Any:
    size = x.shape[-1]
    a = x.reshape(-1, size, size).astype(xp.float32 if x.dtype.char == "e" else x.dtype)  # a copy
    order = xp.empty((len(a), size), output_idx_type.numpy)
    order[:] = xp.arange(size)
    if size:
        _eliminate(xp, a, order)
    return a.reshape(x.shape).astype(x.dtype, copy=False), order.reshape(x.shape[:-1])
