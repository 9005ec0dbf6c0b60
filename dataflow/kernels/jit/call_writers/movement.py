"""Ops that move elements and compute nothing with them."""

from __future__ import annotations

import numpy as np

from dataflow.kernels.jit.call_list import CallWriter
from dataflow.kernels.jit.call_writers.base import CannotWrite, Node, must, only, writes


@writes("Identity", "Reshape", "ExpandDims", "Squeeze")
@writes("Slice", "StridedSlice", "Split", "SplitV", "Unpack")
def _view(w: CallWriter, node: Node) -> None:
    raise CannotWrite  # a view needs no calls; where it is a copy, nothing is won


@writes("Transpose", "BroadcastTo")
def _moved(w: CallWriter, node: Node) -> None:
    only(node)
    x, out = node.inputs[0], node.results[0]
    order = np.asarray(node.number(1)).tolist()
    if node.op_type == "Transpose":
        x = x.transpose(order)
    must(w.copy(x, out))


@writes("Tile")
def _tile(w: CallWriter, node: Node) -> None:
    only(node)
    x, out = node.inputs[0], node.results[0]
    counts = np.asarray(node.number(1)).tolist()
    apart = [s for m, d in zip(counts, x.shape, strict=True) for s in (m, d)]
    source = x.reshape([s for d in x.shape for s in (1, d)])
    must(bool(counts) and w.copy(source, out.reshape(apart)))


@writes("Fill")
def _fill(w: CallWriter, node: Node) -> None:
    only(node)
    node.number(0)
    must(w.copy(node.inputs[1], node.results[0]))


@writes("ZerosLike", "OnesLike")
def _like(w: CallWriter, node: Node) -> None:
    only(node)
    must(w.fill(node.results[0], int(node.op_type == "OnesLike")))


@writes("Cast")
def _cast(w: CallWriter, node: Node) -> None:
    only(node)
    x = node.inputs[0]
    if x.flags.c_contiguous:
        must(w.convert(x, node.results[0]))
        return
    packed = w.buffer(x.shape, x.dtype)
    must(w.copy(x, packed) and w.convert(packed, node.results[0]))
    w.release(packed)


@writes("ConcatV2")
def _concat(w: CallWriter, node: Node) -> None:
    only(node)
    *parts, _ = node.inputs
    axis = int(node.number(len(parts)))
    out = node.results[0]
    at, before = 0, (slice(None),) * (axis % out.ndim)
    for x in parts:
        size = x.shape[axis]
        if x.size:
            must(w.copy(x, out[(*before, slice(at, at + size))]))
        at += size


@writes("Pack")
def _pack(w: CallWriter, node: Node) -> None:
    only(node)
    out = node.results[0]
    before = (slice(None),) * (node.attrs["axis"] % out.ndim)
    for i, x in enumerate(node.inputs):
        must(w.copy(x, out[(*before, i)] if out.ndim > 1 else out[i : i + 1].reshape(())))


@writes("Roll")
def _roll(w: CallWriter, node: Node) -> None:
    only(node)
    x, out = node.inputs[0], node.results[0]
    shifts, axes = (np.atleast_1d(node.number(i)).tolist() for i in (1, 2))
    if len(axes) != 1:
        raise CannotWrite
    at = axes[0] % x.ndim
    before, size = (slice(None),) * at, x.shape[at]
    first = size - sum(shifts) % size
    for source, to in (
        (slice(first, None), slice(size - first)),
        (slice(first), slice(size - first, None)),
    ):
        if x[(*before, source)].size:
            must(w.copy(x[(*before, source)], out[(*before, to)]))


@writes("StridedSliceGrad")
def _strided_slice_grad(w: CallWriter, node: Node) -> None:
    from dataflow.kernels.slicing import index_of

    only(node)
    *where, dy = node.inputs
    attrs, out = node.attrs, node.results[0]
    for i in range(len(where)):
        node.number(i)
    masks = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    index = index_of(*where[1:], *(attrs[m] for m in masks))
    must(w.fill(out, 0))
    to = out[index]
    if isinstance(to, np.ndarray) and to.size:
        must(w.copy(dy, to))
    elif not isinstance(to, np.ndarray):
        raise CannotWrite


@writes("Pad")
def _pad(w: CallWriter, node: Node) -> None:
    only(node)
    x, out = node.inputs[0], node.results[0]
    widths = np.asarray(node.number(1)).tolist()
    must(w.fill(out, 0))
    inside = tuple(slice(low, low + n) for (low, _), n in zip(widths, x.shape, strict=True))
    if x.size:
        must(w.copy(x, out[inside]))


@writes("_SumOfSlices")
def _sum_of_slices(w: CallWriter, node: Node) -> None:
    from dataflow.kernels.slicing import views_of

    only(node)
    node.number(0)
    out, zero = node.results[0], w.constant(np.zeros((), node.results[0].dtype))
    grads = node.inputs[1:]
    covers = node.attrs["apart"] and sum(x.size for x in grads) == out.size
    if not covers:
        must(w.fill(out, 0))
    for x, place in zip(grads, views_of(node.attrs["indices"]), strict=True):
        part = out[place]
        if x.size:
            must(w.ufunc(np.add, zero if covers else part, x, part))
