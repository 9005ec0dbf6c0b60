"""Diagonals and triangles of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array
from dataflow.kernels.jit.call_list import CallWriter
from dataflow.kernels.jit.call_writers.base import CannotWrite, Node, must, only, writes
from dataflow.kernels.jit.call_writers.elementwise import loop
from dataflow.kernels.jit.native_ufunc import Mapping


def _diagonal(x: Array, k: Any) -> Array:
    """One diagonal, a view; several are left to the kernel."""
    ends = np.asarray(k).reshape(-1)
    if ends[0] != ends[-1]:
        raise CannotWrite
    return np.diagonal(x, int(ends[0]), axis1=-2, axis2=-1)


@writes("MatrixDiagPart", "MatrixDiagPartV3")
def _diag_part(w: CallWriter, node: Node) -> None:
    only(node)
    k = node.number(1) if len(node.inputs) > 1 else 0
    must(w.copy(_diagonal(node.inputs[0], k), node.results[0]))


@writes("MatrixSetDiag", "MatrixSetDiagV3")
def _set_diag(w: CallWriter, node: Node) -> None:
    only(node)
    x, diagonal, out = *node.inputs[:2], node.results[0]
    to = _diagonal(out, node.number(2) if len(node.inputs) > 2 else 0)
    must(w.copy(x, out) and w.copy(diagonal, to))


@writes("MatrixBandPart")
def _band_part(w: CallWriter, node: Node) -> None:
    only(node)
    x, out = node.inputs[0], node.results[0]
    rows, columns = x.shape[-2:]
    lower, upper = (int(node.number(i)) for i in (1, 2))
    inside = np.ones((rows, columns), bool)
    if upper >= 0:
        inside &= np.tri(rows, columns, upper, dtype=bool)
    if lower >= 0:
        inside &= ~np.tri(rows, columns, -lower - 1, dtype=bool)
    if out.dtype.kind != "f":
        raise CannotWrite
    operands = [w.constant(inside), x, w.constant(np.zeros((1, 1), out.dtype))]
    steps = (("SelectV2", (0, 1, 2)),)
    loop(w, Mapping, out.dtype.char, steps, (3,), operands, [out], compiles=True)
