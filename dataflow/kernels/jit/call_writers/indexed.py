"""Rows of a table by index. The list refuses an index out of range."""

from __future__ import annotations

from dataflow.kernels.jit.call_list import At, CallWriter
from dataflow.kernels.jit.call_writers.base import CannotWrite, Node, only, writes
from dataflow.kernels.jit.checked_rows import take


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
