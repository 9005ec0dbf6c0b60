"""Products of matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array
from dataflow.kernels.jit.call_list import At, CallWriter
from dataflow.kernels.jit.call_writers.base import CannotWrite, Node, must, only, writes
from dataflow.kernels.parallel import MEDIUM_PRODUCT, num_shares, shares_with_packed

#: Products of more multiplications take so long that they do not belong in a list.
MOST_MULTIPLICATIONS = 1 << 24
#: Batches of more multiplications are shared among threads.
_MOST_IN_BATCH = 1 << 19


def _product(w: CallWriter, a: Array, b: Array, out: Array) -> None:
    """As `parallel.matrix_product`."""
    multiplications = a.shape[0] * a.shape[1] * b.shape[1]
    if multiplications >= MOST_MULTIPLICATIONS:
        raise CannotWrite
    if multiplications >= MEDIUM_PRODUCT and _by_our_code(w, a, b, out, multiplications):
        return
    must(w.product(a, b, out))


def _by_our_code(w: CallWriter, a: Array, b: Array, out: Array, multiplications: int) -> bool:
    from dataflow.kernels.jit import product_calls

    others: list[Array] = []

    def outs(count: int) -> list[Array]:
        while len(others) < count - 1:
            others.append(w.buffer(out.shape, out.dtype))
        return [out, *others]

    calls = product_calls.of_product(a, b, outs, num_shares(multiplications))
    if calls is None:
        return False
    _share(w, calls)
    w.is_apart = False  # all such products use the same memory for panels
    for x in others:
        must(w.ufunc(np.add, out, x, out))
        w.release(x)
    return True


def _share(w: CallWriter, calls: list[tuple[int, list[Any]]]) -> None:
    w.share([(f, [At(*x) if type(x) is tuple else x for x in fields]) for f, fields in calls])


def packed_parts(op_type: str, shapes: Sequence[tuple[int, ...]]) -> int:
    """Into how many parts a matrix is packed for a product with inputs of these ``shapes``; 0 where it is not."""
    if op_type != "_PackedProduct" or len(shapes[0]) != 2:
        return 0
    return shares_with_packed(math.prod(shapes[0]) * shapes[1][1])


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
    (a, b), out = node.inputs, node.results[0]
    parts = packed_parts(node.op_type, [a.shape, b.shape])
    panels = w.packed.get((id(b), parts))
    if panels is not None and math.prod(a.shape) * b.shape[1] < MOST_MULTIPLICATIONS:
        from dataflow.kernels.jit import product_calls

        calls = product_calls.with_panels(a, b, panels, out, parts)
        if calls is not None:
            _share(w, calls)
            return
    _product(w, a, b, out)


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
    if math.prod(batch) > 256 or out.size * a.shape[-1] >= _MOST_IN_BATCH:
        raise CannotWrite
    a, b = np.broadcast_to(a, (*batch, *a.shape[-2:])), np.broadcast_to(b, (*batch, *b.shape[-2:]))
    for index in np.ndindex(*batch):
        must(w.product(a[index], b[index], out[index]))
