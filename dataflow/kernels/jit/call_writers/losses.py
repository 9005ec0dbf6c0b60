"""The softmax cross entropies, as the kernels in `kernels.loss` compute them. The list refuses a label out of range."""

from __future__ import annotations

import numpy as np

from dataflow.kernels.array_types import Array
from dataflow.kernels.jit.call_list import At, CallWriter
from dataflow.kernels.jit.call_writers.base import CannotWrite, Node, must, only, writes
from dataflow.kernels.jit.call_writers.elementwise import loop
from dataflow.kernels.jit.checked_rows import pick
from dataflow.kernels.jit.row_mapping import CROSS_ENTROPY, SOFTMAX_PARTS, RowMapping, are_summed
from dataflow.kernels.reduce import is_tall


@writes("SparseSoftmaxCrossEntropyWithLogits")
def _sparse_cross_entropy(w: CallWriter, node: Node) -> None:
    only(node)
    logits, labels = node.inputs
    loss, shares = node.results
    rows, classes = logits.shape
    function = pick(logits.dtype.char, labels.dtype.char)
    if function is None or not logits.size or labels.shape != (rows,):
        raise CannotWrite
    largest, total, chosen = (w.buffer((rows, 1), logits.dtype) for _ in range(3))
    if are_summed(logits.shape):
        loop(w, RowMapping, logits.dtype.char, *SOFTMAX_PARTS, [logits], [largest, total, shares])
    else:
        axis = 0 if is_tall(np, logits) else 1
        powers = _powers(w, logits, axis, largest, total)
        must(w.ufunc(np.true_divide, powers, _turned(total, axis), _turned(shares, axis)))
        w.release(powers)
    w.call(
        function,
        *(rows, classes, At(w.refused), At(labels), labels.strides[0]),
        *(At(logits), *logits.strides, At(largest), At(chosen), At(shares)),
    )
    must(w.ufunc(np.log, total.reshape(rows), loss))
    must(w.ufunc(np.subtract, loss, chosen.reshape(rows), loss))
    for x in (largest, total, chosen):
        w.release(x)


@writes("SoftmaxCrossEntropyWithLogits")
def _cross_entropy(w: CallWriter, node: Node) -> None:
    only(node)
    logits, labels = node.inputs
    loss, gradient = node.results
    if logits.shape != labels.shape or not logits.size or logits.dtype.char not in "fd":
        raise CannotWrite
    largest, total = (w.buffer((len(logits), 1), logits.dtype) for _ in range(2))
    sums = loss.reshape(total.shape)
    if are_summed(logits.shape):
        outputs = [total, gradient, largest, sums]
        loop(w, RowMapping, logits.dtype.char, *CROSS_ENTROPY, [logits, labels], outputs)
        must(w.ufunc(np.log, total, total) and w.ufunc(np.multiply, total, largest, total))
        must(w.ufunc(np.subtract, total, sums, sums))
    else:
        axis = 0 if is_tall(np, logits) else 1
        powers = _powers(w, logits, axis, largest, total)
        terms = w.buffer(powers.shape, logits.dtype)
        turned = [_turned(x, axis) for x in (logits, labels, largest, total, gradient, sums)]
        x, given, most, all_powers, to, all_terms = turned
        must(w.ufunc(np.true_divide, powers, all_powers, powers))
        must(w.ufunc(np.subtract, powers, given, to))
        must(w.ufunc(np.log, total, total) and w.ufunc(np.subtract, x, most, terms))
        must(w.ufunc(np.subtract, all_powers, terms, terms))
        must(w.ufunc(np.multiply, terms, given, terms))
        must(w.fill(sums, 0) and w.reduce(np.add, terms, axis, all_terms))
        w.release(powers)
        w.release(terms)
    w.release(largest)
    w.release(total)


def _turned(x: Array, axis: int) -> Array:
    """What has a row for each label, as the kernel works on it: a tall matrix has its classes along axis 0."""
    return x if axis else x.T


def _powers(w: CallWriter, x: Array, axis: int, largest: Array, total: Array) -> Array:
    """Writes ``exp(x - largest)``, with the classes along an axis, the largest of each row, and their sums; a buffer."""
    out = w.buffer(_turned(x, axis).shape, x.dtype)
    most, sums = _turned(largest, axis), _turned(total, axis)
    must(w.copy(_turned(x, axis), out))
    first, rest = np.split(out, [1], axis)
    must(w.copy(first, most))
    if rest.size:
        must(w.reduce(np.maximum, rest, axis, most))
    must(w.ufunc(np.subtract, out, most, out) and w.ufunc(np.exp, out, out))
    must(w.fill(total, 0) and w.reduce(np.add, out, axis, sums))
    return out
