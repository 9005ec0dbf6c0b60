"""Kernels of depthwise convolution: one pass over the image for each tap (`depthwise_lines`).

Where a channel has several outputs, machine code works on an image that repeats it as often.
There is machine code for single precision (`direct_depthwise`), and with few taps one
loop over all of them (`jit.native_ufunc`) for what that leaves: double precision, dilated windows, large strides.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from typing import Any

import numpy as np

from dataflow.kernels import depthwise_lines, direct_depthwise
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.conv_geometry import Layout, attr_windows, check_gradient, leave_out, phases
from dataflow.kernels.cuda import depthwise as cuda_depthwise
from dataflow.kernels.cuda.source import can_run
from dataflow.kernels.jit.native_ufunc import SMALL_ELEMENTS, Mapping
from dataflow.kernels.parallel import add_up_pieces, run_pieces_of
from dataflow.kernels.registry import kernel
from dataflow.windows import Window

#: Elements worked on at a time, so that all passes over them find them in the cache.
_PIECE_ELEMENTS = 1 << 17


def taps_of(windows: list[Window]) -> Any:
    """For each tap: its indices, the places where it meets the image, and what it meets there."""
    height, width = windows
    for y in range(height.taps):
        y_to, y_from = height.inside(y)
        for x in range(width.taps):
            x_to, x_from = width.inside(x)
            yield y, x, (slice(None), y_to, x_to), (slice(None), y_from, x_from)


def lines(view: Any) -> Any:
    """[n, rows, places, channels] as [n, rows, places * channels] where no copy is needed."""
    if view.size and view.strides[-2] == view.shape[-1] * view.itemsize:
        return view.reshape(*view.shape[:2], -1)
    return view


def _add_scaled(xp: Module, target: Any, source: Any, weights: Any) -> None:
    """``target += source * weights`` for one weight a channel, in long runs where rows allow it."""
    to, frm = lines(target), lines(source)
    if to.ndim == frm.ndim == 3:
        to += frm * xp.tile(weights, target.shape[2])
    else:
        target += source * weights


#: Filters with more taps are left to NumPy: a loop has two arrays for each.
_MAX_NATIVE_TAPS = 9
#: With fewer channels whole lines are worked on, and the filters repeated along them.
_FEW_CHANNELS = 128


@functools.cache
def _sum_of_taps(dtype: Any, taps: int) -> Mapping | None:
    """What the taps meet, and their weights -> the sum of the products."""

    def total(xp: Module, *x: Any) -> Any:
        products = [a * b for a, b in zip(x[:taps], x[taps:], strict=True)]
        return functools.reduce(operator.add, products)

    return Mapping.of_function(dtype, total, 2 * taps, at_once=True)


@functools.cache
def _products_of_taps(dtype: Any, taps: int) -> Mapping | None:
    """What the taps meet, and the gradient -> added up, the product for each tap."""

    def products(xp: Module, *x: Any) -> Any:
        return tuple(tap * x[-1] for tap in x[:-1])

    return Mapping.of_function(dtype, products, taps + 1, adds=True, at_once=True)


def _padded_taps(image: Array, windows: list[Window]) -> list[Any]:
    """For each tap what it meets at all places, padding included."""
    needed = [(w.count - 1) * w.stride + w.extent for w in windows]
    sizes = [max(n, w.before + w.size) for n, w in zip(needed, windows, strict=True)]
    if sizes != [w.size for w in windows]:
        padded = np.zeros((image.shape[0], *sizes, image.shape[3]), image.dtype)
        inside = [slice(w.before, w.before + w.size) for w in windows]
        padded[:, inside[0], inside[1]] = image
        image = padded
    along = [
        [
            slice(t * w.dilation, t * w.dilation + (w.count - 1) * w.stride + 1, w.stride)
            for t in range(w.taps)
        ]
        for w in windows
    ]
    return [image[:, y, x] for y in along[0] for x in along[1]]


def _native_forward(image: Array, weights: Any, windows: list[Window], out: Any) -> bool:
    """``out`` by one compiled loop, ``weights`` [taps, taps, channels]; ``False`` without one."""
    image = np.ascontiguousarray(image)
    if direct_depthwise.forward(image, weights, windows, out):
        return True
    taps = windows[0].taps * windows[1].taps
    mapping = _sum_of_taps(image.dtype, taps) if taps <= _MAX_NATIVE_TAPS else None
    if mapping is None:
        return False
    views = _padded_taps(image, windows)
    vectors = weights.reshape(taps, 1, -1)
    if _is_by_lines(windows, weights.shape[2]) and out.flags.c_contiguous:
        views = [_lines_of(v) for v in views]
        vectors = np.broadcast_to(vectors, (taps, windows[1].count, vectors.shape[2]))
        out = out.reshape(*out.shape[:2], -1)
    return mapping.run(out.shape, [*views, *vectors.reshape(taps, -1)], [out])


#: With as many taps, each of which meets every column, passes over the whole image take two thirds of the time of lines.
_FEW_TAPS = 9


def _is_quicker_by_lines(windows: list[Window]) -> bool:
    return math.prod(w.taps for w in windows) > _FEW_TAPS or any(w.stride > 1 for w in windows)


def _forward(image: Array, weights: Any, windows: list[Window], out: Any) -> None:
    """Fills ``out`` by machine code, or by NumPy; ``weights`` [taps, taps, channels]."""
    if not _native_forward(image, weights, windows, out):
        depthwise_lines.forward(image, weights, windows, out)


def _input_gradient(grad: Any, weights: Any, windows: list[Window], out: Any) -> bool:
    """Fills ``out``, as `_forward`, with a stride by a convolution for each phase; ``False`` where there are none."""
    along = [phases(w) for w in windows]
    if along[0] is None or along[1] is None:
        return False
    if any(leave_out(w) for w in windows):
        out.fill(0)
    for high, wide in itertools.product(along[0], along[1]):
        taps, target = weights[high.taps, wide.taps], out[:, high.at, wide.at]
        _forward(grad, taps, [high.window, wide.window], target)
    return True


def _native_filter_gradient(image: Array, grad: Any, windows: list[Window]) -> Any:
    """The sums for all taps and channels by machine code; ``None`` without any."""
    found = direct_depthwise.filter_gradient(image, grad, windows)
    if found is not None:
        return found
    taps, channels = windows[0].taps * windows[1].taps, grad.shape[3]
    mapping = _products_of_taps(grad.dtype, taps) if taps <= _MAX_NATIVE_TAPS else None
    if mapping is None:
        return None
    views = _padded_taps(image, windows)
    places = 1
    if _is_by_lines(windows, channels):
        places = windows[1].count
        views = [_lines_of(v) for v in views]
        grad = grad.reshape(*grad.shape[:2], -1)
    sums = np.zeros((taps, places * channels), grad.dtype)
    if not mapping.run(grad.shape, [*views, grad], list(sums)):
        return None
    return sums.reshape(taps, places, channels).sum(1)


def _is_worthwhile(result: Array, windows: list[Window]) -> bool:
    """Whether machine code is quicker; NumPy makes a pass for each tap."""
    return result.size * windows[0].taps * windows[1].taps >= SMALL_ELEMENTS


def _repeated(image: Array, multiplier: int) -> Any:
    """The image with a channel for each output, [..., channels * multiplier]."""
    return image if multiplier == 1 else image.repeat(multiplier, -1)


def _as_single(x: Array) -> Any:
    """[..., channels, multiplier] as [..., channels * multiplier]."""
    return x.reshape(*x.shape[:-2], -1)


def _added_up(x: Array, multiplier: int) -> Any:
    """The sums of the channels that `_repeated` makes of one."""
    if multiplier == 1:
        return x
    total = x[..., ::multiplier] + x[..., 1::multiplier]
    for i in range(2, multiplier):
        total += x[..., i::multiplier]
    return total


def _is_by_lines(windows: list[Window], channels: int) -> bool:
    """Whether places and channels of a line are worked on as one axis."""
    return channels < _FEW_CHANNELS and windows[1].stride == 1


def _lines_of(view: Any) -> Any:
    """[n, rows, places, channels] with places side by side as [n, rows, places * channels]."""
    n, rows, places, channels = view.shape
    return np.lib.stride_tricks.as_strided(
        view, (n, rows, places * channels), (*view.strides[:2], view.itemsize), writeable=False
    )


def _pieces(batch: int, item_elements: int) -> list[slice]:
    size = max(1, _PIECE_ELEMENTS // max(1, item_elements))
    return [slice(i, i + size) for i in range(0, batch, size)]


def _prepare(
    input_shape: tuple[int, ...], filter_shape: tuple[int, ...], layout: Layout, attrs: Any
) -> list[Window]:
    strides, dilations, padding, pairs = attrs
    return attr_windows(
        input_shape,
        filter_shape,
        layout.attr(strides, 2),
        layout.attr(dilations, 2),
        padding,
        layout.pads(pairs),
    )


def _output_shape(
    input_shape: tuple[int, ...], filter_shape: tuple[int, ...], windows: list[Window]
) -> tuple[int, ...]:
    return (input_shape[0], *(w.count for w in windows), filter_shape[2] * filter_shape[3])


@kernel("DepthwiseConv2dNative")
def depthwise_kernel(
    xp: Module,
    input: Array,
    filter: Array,
    *,
    strides: list[int],
    padding: str,
    explicit_paddings: list[int],
    data_format: str,
    dilations: list[int],
) -> Any:
    layout = Layout(data_format == "NCHW")
    image = layout.to_last(input)
    windows = _prepare(
        image.shape, filter.shape, layout, (strides, dilations, padding, explicit_paddings)
    )
    shape = _output_shape(image.shape, filter.shape, windows)
    channels, multiplier = filter.shape[2:]
    if can_run(xp, input, filter):
        result = xp.empty(layout.from_sizes(shape), input.dtype)
        cuda_depthwise.forward(xp, image, filter, layout.to_last(result), windows)
        return result
    out = xp.zeros(shape, input.dtype)
    if xp is np and _is_worthwhile(out, windows) and input.dtype == filter.dtype:
        repeated, weights = _repeated(image, multiplier), _as_single(filter)
        if _native_forward(repeated, weights, windows, out):
            return layout.from_last(xp, out)
        if multiplier > 1 or _is_quicker_by_lines(windows):
            depthwise_lines.forward(repeated, weights, windows, out)
            return layout.from_last(xp, out)
    wide = out.reshape(*shape[:3], channels, multiplier)

    def work(piece: slice) -> None:
        source = image[piece]
        for y, x, to, frm in taps_of(windows):
            if multiplier == 1:
                _add_scaled(xp, out[piece][to], source[frm], filter[y, x, :, 0])
            else:
                target = wide[piece][to]
                target += source[frm][..., None] * filter[y, x]

    run_pieces_of(xp, _pieces(shape[0], int(np.prod(shape[1:]))), lambda: work)
    return layout.from_last(xp, out.reshape(shape))


@kernel("DepthwiseConv2dNativeBackpropInput")
def depthwise_backprop_input_kernel(
    xp: Module,
    input_sizes: Array,
    filter: Array,
    out_backprop: Array,
    *,
    strides: list[int],
    padding: str,
    explicit_paddings: list[int],
    data_format: str,
    dilations: list[int],
) -> Any:
    layout = Layout(data_format == "NCHW")
    sizes = layout.sizes(tuple(int(s) for s in input_sizes))
    windows = _prepare(
        sizes, filter.shape, layout, (strides, dilations, padding, explicit_paddings)
    )
    grad = layout.to_last(out_backprop)
    check_gradient(grad, _output_shape(sizes, filter.shape, windows))
    channels, multiplier = filter.shape[2:]
    if can_run(xp, out_backprop, filter):
        result = xp.empty(layout.from_sizes(sizes), out_backprop.dtype)
        cuda_depthwise.input_gradient(xp, filter, grad, layout.to_last(result), windows)
        return result
    grad = xp.ascontiguousarray(grad).reshape(*grad.shape[:3], channels, multiplier)
    if xp is np:
        out = np.empty((*sizes[:3], channels * multiplier), out_backprop.dtype)
        if _is_worthwhile(grad, windows) and _input_gradient(
            _as_single(grad), _as_single(filter), windows, out
        ):
            return layout.from_last(xp, _added_up(out, multiplier))
    out = xp.zeros(sizes, out_backprop.dtype)

    def work(piece: slice) -> None:
        part, source = out[piece], grad[piece]
        for y, x, to, frm in taps_of(windows):
            if multiplier == 1:
                _add_scaled(xp, part[frm], source[..., 0][to], filter[y, x, :, 0])
            else:
                target = part[frm]
                target += (source[to] * filter[y, x]).sum(-1)

    run_pieces_of(xp, _pieces(sizes[0], int(np.prod(grad.shape[1:]))), lambda: work)
    return layout.from_last(xp, out)


@kernel("DepthwiseConv2dNativeBackpropFilter")
def depthwise_backprop_filter_kernel(
    xp: Module,
    input: Array,
    filter_sizes: Array,
    out_backprop: Array,
    *,
    strides: list[int],
    padding: str,
    explicit_paddings: list[int],
    data_format: str,
    dilations: list[int],
) -> Any:
    layout = Layout(data_format == "NCHW")
    sizes = tuple(int(s) for s in filter_sizes)
    image, grad = layout.to_last(input), layout.to_last(out_backprop)
    windows = _prepare(image.shape, sizes, layout, (strides, dilations, padding, explicit_paddings))
    check_gradient(grad, _output_shape(image.shape, sizes, windows))
    if can_run(xp, image, grad):
        return cuda_depthwise.filter_gradient(xp, image, grad, sizes, windows)
    grad = xp.ascontiguousarray(grad).reshape(*grad.shape[:3], *sizes[2:])
    if xp is np and _is_worthwhile(grad, windows):
        repeated = np.ascontiguousarray(_repeated(image, sizes[3]))
        result = _native_filter_gradient(repeated, _as_single(grad), windows)
        if result is None:
            result = depthwise_lines.filter_gradient(repeated, _as_single(grad), windows)
        return result.reshape(sizes)

    total_of_all = xp.zeros(sizes, input.dtype)

    def make_worker(total: Any) -> Any:
        def work(piece: slice) -> None:
            source, part = image[piece], grad[piece]
            for y, x, to, frm in taps_of(windows):
                product = part[to] * source[frm][..., None]
                rows = product.reshape(-1, sizes[2] * sizes[3])
                # BLAS adds rows several times faster than a reduction over the first axis.
                total[y, x] += (xp.ones(rows.shape[0], rows.dtype) @ rows).reshape(sizes[2:])

        return work

    pieces = _pieces(image.shape[0], int(np.prod(grad.shape[1:])))
    add_up_pieces(xp, pieces, total_of_all, make_worker)
    return total_of_all
