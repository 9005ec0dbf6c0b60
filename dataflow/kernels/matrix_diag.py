"""Kernels of the ops in `dataflow.ops.matrix_diag`."""

from __future__ import annotations

from typing import Any

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.jit.native_ufunc import NativeUfunc
from dataflow.kernels.registry import kernel


@kernel("Diag")
def diag_kernel(xp: Module, diagonal: Array) -> Any:
    flat = diagonal.reshape(-1)
    return xp.diag(flat).reshape(diagonal.shape + diagonal.shape)


@kernel("DiagPart")
def diag_part_kernel(xp: Module, x: Array) -> Any:
    half = x.shape[: x.ndim // 2]
    if x.shape[x.ndim // 2 :] != half:
        raise ValueError(f"the two halves of the shape must agree: {list(x.shape)}")
    size = 1
    for d in half:
        size *= d
    return xp.diagonal(x.reshape(size, size)).copy().reshape(half)


def _ends(k: Any) -> tuple[int, int]:
    values = k.reshape(-1).tolist()
    return values[0], values[-1]


def _left_aligned(offset: int, align: str) -> bool:
    above, below = align.split("_")
    return (offset >= 0 and above == "LEFT") or (offset <= 0 and below == "LEFT")


def _diagonals(rows: int, columns: int, low: int, high: int, align: str) -> Any:
    """For each diagonal, from the highest: its number, length, and place in a row of the band."""
    longest = min(rows + min(high, 0), columns - max(low, 0))
    for number, offset in enumerate(range(high, low - 1, -1)):
        length = min(rows + min(offset, 0), columns - max(offset, 0))
        start = 0 if _left_aligned(offset, align) else longest - length
        yield number, offset, length, start


def _positions(xp: Module, offset: int, length: int) -> tuple[Any, Any]:
    steps = xp.arange(length)
    return steps - min(offset, 0), steps + max(offset, 0)


def set_diagonals(xp: Module, result: Any, diagonal: Any, low: int, high: int, align: str) -> Any:
    """Writes the diagonals into ``result``, in place."""
    rows, columns = result.shape[-2:]
    for number, offset, length, start in _diagonals(rows, columns, low, high, align):
        values = diagonal if low == high else diagonal[..., number, start : start + length]
        row, column = _positions(xp, offset, length)
        result[..., row, column] = values
    return result


@kernel("MatrixDiag")
def matrix_diag_kernel(xp: Module, diagonal: Array) -> Any:
    size = diagonal.shape[-1]
    result = xp.zeros((*diagonal.shape, size), diagonal.dtype)
    return set_diagonals(xp, result, diagonal, 0, 0, "LEFT_LEFT")


@kernel("MatrixDiagV3")
def matrix_diag_v3_kernel(
    xp: Any, diagonal: Any, k: Any, num_rows: Any, num_cols: Any, padding_value: Any, *, align: str
) -> Any:
    low, high = _ends(k)
    length = diagonal.shape[-1]
    batch = diagonal.shape[:-1] if low == high else diagonal.shape[:-2]
    if low != high and diagonal.shape[-2] != high - low + 1:
        raise ValueError(f"expected {high - low + 1} diagonals, got {diagonal.shape[-2]}")
    rows, columns = int(num_rows), int(num_cols)
    min_rows, min_columns = length - min(high, 0), length + max(low, 0)
    if rows < 0 and columns < 0:
        rows = columns = max(min_rows, min_columns)
    rows = min_rows if rows < 0 else rows
    columns = min_columns if columns < 0 else columns
    if rows < min_rows or columns < min_columns:
        raise ValueError(f"a {rows} x {columns} matrix has no such diagonal of {length}")
    result = xp.full((*batch, rows, columns), padding_value, dtype=diagonal.dtype)
    return set_diagonals(xp, result, diagonal, low, high, align)


@kernel("MatrixDiagPart")
def matrix_diag_part_kernel(xp: Module, x: Array) -> Any:
    return xp.diagonal(x, axis1=-2, axis2=-1).copy()


@kernel("MatrixDiagPartV3")
def matrix_diag_part_v3_kernel(
    xp: Module, x: Array, k: Array, padding_value: Array, *, align: str
) -> Any:
    low, high = _ends(k)
    if low == high:
        return xp.diagonal(x, low, axis1=-2, axis2=-1).copy()
    rows, columns = x.shape[-2:]
    longest = min(rows + min(high, 0), columns - max(low, 0))
    result = xp.full((*x.shape[:-2], high - low + 1, longest), padding_value, dtype=x.dtype)
    for number, offset, length, start in _diagonals(rows, columns, low, high, align):
        row, column = _positions(xp, offset, length)
        result[..., number, start : start + length] = x[..., row, column]
    return result


def _need_diagonals(x: Array, diagonal: Array, low: int, high: int) -> None:
    """Raises ValueError unless there is one diagonal for each place in each matrix."""
    rows, columns = x.shape[-2:]
    count = () if low == high else (high - low + 1,)
    wanted = (*x.shape[:-2], *count, min(rows + min(high, 0), columns - max(low, 0)))
    if diagonal.shape != wanted:
        raise ValueError(f"the diagonal must have shape {list(wanted)}, got {list(diagonal.shape)}")


@kernel("MatrixSetDiag")
def matrix_set_diag_kernel(xp: Module, x: Array, diagonal: Array) -> Any:
    _need_diagonals(x, diagonal, 0, 0)
    return set_diagonals(xp, x.copy(), diagonal, 0, 0, "LEFT_LEFT")


@kernel("MatrixSetDiagV3")
def matrix_set_diag_v3_kernel(
    xp: Module, x: Array, diagonal: Array, k: Array, *, align: str
) -> Any:
    low, high = _ends(k)
    _need_diagonals(x, diagonal, low, high)
    return set_diagonals(xp, x.copy(), diagonal, low, high, align)


@kernel("MatrixBandPart")
def matrix_band_part_kernel(xp: Module, x: Array, num_lower: Array, num_upper: Array) -> Any:
    rows, columns = x.shape[-2:]
    lower, upper = int(num_lower), int(num_upper)
    for name, number, size in (("num_lower", lower, rows), ("num_upper", upper, columns)):
        if number > size:
            raise ValueError(f"{name} must be negative or at most {size}, got {number}")
    inside = xp.ones((1, 1), bool) if upper < 0 else xp.tri(rows, columns, upper, dtype=bool)
    if lower >= 0:
        inside = inside & ~xp.tri(rows, columns, -lower - 1, dtype=bool)
    return _select(xp, inside, x, xp.zeros((), x.dtype), dtype=x.dtype)


@NativeUfunc
def _select(xp: Module, condition: Any, x: Array, y: Array) -> Any:
    return xp.where(condition, x, y)


@kernel("LinSpace")
def lin_space_kernel(xp: Module, start: Array, stop: Array, num: Array) -> Any:
    count = int(num)
    if count <= 0:
        raise ValueError(f"Requires num > 0: {count}")
    return xp.linspace(start, stop, count).astype(start.dtype)
