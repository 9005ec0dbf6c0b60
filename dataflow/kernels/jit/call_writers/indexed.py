"""Rows of a table by index, and products of sparse matrices. The list refuses an index out of range."""

from __future__ import annotations

from dataflow.kernels.jit.call_list import At, CallWriter
from dataflow.kernels.jit.call_writers.base import CannotWrite, Node, must, only, writes
from dataflow.kernels.jit.checked_rows import multiply, take

#: Products of more numbers are SciPy's, or take so long that they do not belong in a list.
_MOST_PRODUCTS = 1 << 17


@writes("GatherV2", "Gather", "ResourceGather")
def _gather(w: CallWriter, node: Node) -> None:
    only(node)
    table, indices = node.inputs[:2]
    if len(node.inputs) > 2 and (int(node.number(2)) or node.attrs["batch_dims"]):
        raise CannotWrite
    if not (table.ndim and table.flags.c_contiguous and indices.flags.c_contiguous and table.size):
        raise CannotWrite
    function = take(indices.dtype.char)
    if function is None:
        raise CannotWrite
    numbers = indices.size, len(table), At(w.refused), At(indices), indices.itemsize
    w.call(function, *numbers, At(table), table.nbytes // len(table), At(node.results[0]))


@writes("SparseTensorDenseMatMul")
def _sparse_product(w: CallWriter, node: Node) -> None:
    only(node)
    (indices, values, _, b), out, attrs = node.inputs, node.results[0], node.attrs
    node.number(2)
    function = multiply(b.dtype.char)
    if function is None or indices.dtype.char not in "lq" or not b.size or not values.size:
        raise CannotWrite
    if not (indices.flags.c_contiguous and values.flags.c_contiguous):
        raise CannotWrite
    if attrs["adjoint_b"]:
        b = b.T
    if values.size * b.shape[1] > _MOST_PRODUCTS:
        raise CannotWrite
    matrix = b
    if not b.flags.c_contiguous:
        matrix = w.buffer(b.shape, b.dtype)
        must(w.copy(b, matrix))
    must(w.fill(out, 0))
    row_at, column_at = (8, 0) if attrs["adjoint_a"] else (0, 8)
    w.call(
        function,
        *(len(values), len(out), At(w.refused), At(indices), 16, row_at, column_at, At(values)),
        *(len(b), At(matrix), b.shape[1], At(out)),
    )
    if matrix is not b:
        w.release(matrix)
