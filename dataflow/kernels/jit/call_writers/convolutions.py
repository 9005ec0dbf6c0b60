"""Convolutions that one thread makes, as the tiles of `direct_conv` or products, and blocks of space in the batch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dataflow.kernels import direct_conv, direct_few_outputs, direct_filter_gradient
from dataflow.kernels.array_types import Array
from dataflow.kernels.conv import problem_for
from dataflow.kernels.conv_geometry import Problem, attr_windows, leave_out
from dataflow.kernels.direct_conv_common import is_worthwhile
from dataflow.kernels.jit.call_list import At, CallWriter
from dataflow.kernels.jit.call_writers.base import CannotWrite, Node, must, only, writes
from dataflow.kernels.jit.compiler import address_of
from dataflow.kernels.jit.implicit_gemm import Steps
from dataflow.kernels.jit.isa import ALIGNMENT, BIAS, PLAIN, RELU

#: Products of more multiplications are shared among threads.
_MOST_MULTIPLICATIONS = 1 << 20


def _problem(node: Node, x: Any, filters: Any, *arrays: Array) -> Problem:
    """The problem of the shapes of images and filters: in single precision, in two dimensions, channels last, of one
    group."""
    attrs = node.attrs
    if attrs.get("data_format", "NHWC") != "NHWC" or x[-1] != filters[-2] or len(x) != 4:
        raise CannotWrite
    if any(a.dtype.char != "f" or not a.flags.c_contiguous or not a.size for a in arrays):
        raise CannotWrite
    strides, dilations = attrs["strides"], attrs.get("dilations") or [1] * 4
    pads = attrs.get("explicit_paddings", ())
    return problem_for(
        x, filters, attr_windows(x, filters, strides, dilations, attrs["padding"], pads)
    )


@writes("Conv2D", "_Conv2DBias")
def _convolution(w: CallWriter, node: Node) -> None:
    only(node)
    (x, filters, *bias), out = node.inputs, node.results[0]
    problem = _problem(node, x.shape, filters.shape, x, filters, *bias, out)
    finish = PLAIN if not bias else RELU if node.attrs["relu"] else BIAS
    if problem.is_product:
        must(not bias)
        matrix = filters.reshape(problem.channels, problem.outputs)
        _product(w, x.reshape(-1, problem.channels), matrix, out.reshape(-1, problem.outputs))
        return
    _, height, width = problem.windows
    if bias and not direct_conv.can_end(problem.channels, problem.outputs, height, width):
        raise CannotWrite
    x, filters = x.reshape(problem.input_shape)[:, 0], filters.reshape(problem.filter_shape)[0]
    out = out.reshape(problem.output_shape)[:, 0]
    _tiles(
        w, x, filters, out, direct_conv.listed(x, filters, height, width, out, None, finish), *bias
    )


@writes("Conv2DBackpropInput")
def _input_gradient(w: CallWriter, node: Node) -> None:
    only(node)
    sizes, filters, grad = node.number(0), *node.inputs[1:]
    out = node.results[0]
    if len(sizes) != 4:
        raise CannotWrite
    problem = _problem(node, out.shape, filters.shape, filters, grad, out)
    if problem.is_product:
        matrix = filters.reshape(problem.channels, problem.outputs).T
        _product(w, grad.reshape(-1, problem.outputs), matrix, out.reshape(-1, problem.channels))
        return
    _, height, width = problem.windows
    filters, grad = (
        filters.reshape(problem.filter_shape)[0],
        grad.reshape(problem.output_shape)[:, 0],
    )
    to = out.reshape(problem.input_shape)[:, 0]
    parts = direct_conv.gradient_parts(filters, height, width, to)
    if parts is None:
        raise CannotWrite
    if leave_out(height) or leave_out(width):
        must(w.fill(out, 0))
    whole = grad.size * filters.size // filters.shape[3]
    for taps, high, wide, target in parts:
        _tiles(w, grad, taps, target, direct_conv.listed(grad, taps, high, wide, target, whole))


def _tiles(
    w: CallWriter, x: Array, filters: Array, out: Array, found: Any, bias: Array | None = None
) -> None:
    """The filters are packed, and the tiles made."""
    if found is None or found.empty:
        raise CannotWrite
    panels = _aligned(w, found.panels_bytes + (0 if bias is None else bias.nbytes))
    if bias is not None:  # they come after the panels
        must(w.copy(bias, panels[found.panels_bytes :].view(np.float32)))
    for steps in (found.packing, found.steps):
        _steps(w, steps, x, None, filters, panels, out)
    w.release(panels)


@writes("Conv2DBackpropFilter")
def _filter_gradient(w: CallWriter, node: Node) -> None:
    only(node)
    (x, _, grad), out = node.inputs, node.results[0]
    node.number(1)
    problem = _problem(node, x.shape, out.shape, x, grad, out)
    if problem.is_product:
        matrix = x.reshape(-1, problem.channels).T
        to = out.reshape(problem.channels, problem.outputs)
        _product(w, matrix, grad.reshape(-1, problem.outputs), to)
        return
    _, height, width = problem.windows
    to = out.reshape(problem.filter_shape)[0]
    few = direct_few_outputs.has_few(problem.channels, problem.outputs, height, width)
    if few or not is_worthwhile(grad.size // problem.outputs * out.size, problem.outputs):
        raise CannotWrite
    x, grad = x.reshape(problem.input_shape)[:, 0], grad.reshape(problem.output_shape)[:, 0]
    found = direct_filter_gradient.listed(x.shape, to.shape, height, width)
    if found is None or found.shares > 1:
        raise CannotWrite
    if found.adds_to_zeros:
        must(w.fill(out, 0))
    lines = found.lines
    padded = w.buffer((lines.batch * lines.image_bytes,), np.uint8) if lines.is_padded else None
    for steps in (found.padding, found.steps):
        _steps(w, steps, x, padded, None, grad, to)
    if padded is not None:
        w.release(padded)


def _steps(w: CallWriter, steps: Steps, *arrays: Array | None) -> None:
    call = steps.in_one_call()
    if call is None:
        raise CannotWrite
    walk, start, count, tables = call
    for x in tables:
        w.constant(x)
    if count:
        w.call(walk, start, count, *[0 if x is None else At(x) for x in arrays])


def _aligned(w: CallWriter, num_bytes: int) -> Array:
    """A buffer that begins at a multiple of any vector's bytes."""
    buffer = w.buffer((num_bytes + ALIGNMENT,), np.uint8)
    start = -address_of(buffer) % ALIGNMENT
    return buffer[start : start + num_bytes]


def _product(w: CallWriter, a: Array, b: Array, out: Array) -> None:
    if a.shape[0] * a.shape[1] * b.shape[1] >= _MOST_MULTIPLICATIONS:
        raise CannotWrite
    must(w.product(a, b, out))


@writes("SpaceToBatchND", "BatchToSpaceND")
def _blocks(w: CallWriter, node: Node) -> None:
    """The space with its padding or less its crops, as [batch, *(blocks, places in one), ...]."""
    only(node)
    x, out = node.inputs[0], node.results[0]
    blocks, edges = np.asarray(node.number(1)).tolist(), np.asarray(node.number(2)).tolist()
    to_batch = node.op_type == "SpaceToBatchND"
    space, batched = (x, out) if to_batch else (out, x)
    count, rest = len(blocks), space.shape[1 + len(blocks) :]
    if not x.size or not x.flags.c_contiguous:
        raise CannotWrite
    whole = tuple(n * b for n, b in zip(batched.shape[1:], blocks, strict=False))
    padded = w.buffer((len(space), *whole, *rest), x.dtype)
    inside = padded[
        (slice(None), *(slice(a, n - b) for (a, b), n in zip(edges, whole, strict=True)))
    ]
    apart = [s for n, b in zip(batched.shape[1 : count + 1], blocks, strict=True) for s in (n, b)]
    order = [
        *range(2, 2 * count + 1, 2),
        0,
        *range(1, 2 * count, 2),
        *range(2 * count + 1, len(rest) + 2 * count + 1),
    ]
    by_blocks = padded.reshape(len(space), *apart, *rest).transpose(order)
    stacked = batched.reshape(*blocks, len(space), *batched.shape[1:])
    if to_batch:
        must((math.prod(space.shape) == padded.size or w.fill(padded, 0)) and w.copy(x, inside))
        must(w.copy(by_blocks, stacked))
    else:
        must(w.copy(stacked, by_blocks) and w.copy(inside, out))
    w.release(padded)
