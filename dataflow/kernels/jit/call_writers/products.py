"""Products of matrices."""

from __future__ import annotations

import math

import numpy as np

from dataflow.kernels.array_types import Array
from dataflow.kernels.jit.call_list import CallWriter
from dataflow.kernels.jit.call_writers.base import CannotWrite, Node, must, only, writes

#: Products of more multiplications are packed and shared among threads: they do not belong in a list.
MOST_MULTIPLICATIONS = 1 << 19


def _product(w: CallWriter, a: Array, b: Array, out: Array) -> None:
    if a.shape[0] * a.shape[1] * b.shape[1] >= MOST_MULTIPLICATIONS:
        raise CannotWrite
    must(w.product(a, b, out))


@writes("MatMul")
def _mat_mul(w: CallWriter, node: Node) -> None:
    only(node)
    attrs = node.attrs
    a, b = node.inputs
    _product(
        w, a.T if attrs["transpose_a"] else a, b.T if attrs["transpose_b"] else b, node.results[0]
    )


@writes("_PackedProduct")
def _packed_product(w: CallWriter, node: Node) -> None:
    only(node)
    _product(w, node.inputs[0], node.inputs[1], node.results[0])


@writes("_MatMulSum")
def _mat_mul_sum(w: CallWriter, node: Node) -> None:
    only(node)
    attrs, out = node.attrs, node.results[0]
    half = len(node.inputs) // 2
    pairs = [
        (a.T if attrs["transpose_a"] else a, b.T if attrs["transpose_b"] else b)
        for a, b in zip(node.inputs[:half], node.inputs[half:], strict=True)
    ]
    _product(w, *pairs[0], out)
    product = w.buffer(out.shape, out.dtype)
    for a, b in pairs[1:]:
        _product(w, a, b, product)
        must(w.ufunc(np.add, out, product, out))
    w.release(product)


@writes("BatchMatMul", "BatchMatMulV2")
def _batch_mat_mul(w: CallWriter, node: Node) -> None:
    only(node)
    a, b = node.inputs
    out = node.results[0]
    if node.attrs["adj_x"]:
        a = a.swapaxes(-1, -2)
    if node.attrs["adj_y"]:
        b = b.swapaxes(-1, -2)
    batch = out.shape[:-2]
    if math.prod(batch) > 256 or out.size * a.shape[-1] >= MOST_MULTIPLICATIONS:
        raise CannotWrite
    a, b = np.broadcast_to(a, (*batch, *a.shape[-2:])), np.broadcast_to(b, (*batch, *b.shape[-2:]))
    for index in np.ndindex(*batch):
        must(w.product(a[index], b[index], out[index]))
