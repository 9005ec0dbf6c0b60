"""Kernels of depthwise convolution: one pass over the image for each tap.

With few taps and one output for a channel all taps are one loop in machine code (`jit.native_ufunc`).
Measured, a training step of three separable convolutions: 32 x 28 x 28 x 32 148 ms by NumPy and 84 ms
here, 16 x 14 x 14 x 128 113 ms and 68 ms.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.conv_geometry import Layout, attr_windows, check_gradient
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
_FEW_CHANNELS = 32


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
    taps = windows[0].taps * windows[1].taps
    mapping = _sum_of_taps(image.dtype, taps) if taps <= _MAX_NATIVE_TAPS else None
    if mapping is None or out.size < SMALL_ELEMENTS:
        return False
    views = _padded_taps(np.ascontiguousarray(image), windows)
    vectors = list(weights.reshape(taps, -1))
    if weights.shape[2] < _FEW_CHANNELS and windows[1].stride == 1:
        places = windows[1].count
        views = [_lines_of(v) for v in views]
        vectors = [np.tile(v, places) for v in vectors]
        out = out.reshape(*out.shape[:2], -1)
    return mapping.run(out.shape, [*views, *vectors], [out])


def _lines_of(view: Any) -> Any:
    """[n, rows, places, channels] with places side by side as [n, rows, places * channels]."""
    n, rows, places, channels = view.shape
    return np.lib.stride_tricks.as_strided(
        view, (n, rows, places * channels), (*view.strides[:2], view.itemsize), writeable=False
    )


def _turned(w: Window) -> Window:
    """The window of the gradient: with stride 1 a convolution of what comes back."""
    return Window(w.count, w.taps, 1, w.dilation, w.extent - 1 - w.before, 0, w.size)


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
    if (
        xp is np
        and multiplier == 1
        and input.dtype == filter.dtype
        and _native_forward(image, filter[..., 0], windows, out)
    ):
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
    turned = [_turned(w) for w in windows]
    is_turned = multiplier == 1 and all(
        w.stride == 1 and t.before >= 0 for w, t in zip(windows, turned, strict=True)
    )
    out = xp.zeros(sizes, out_backprop.dtype)
    if (
        xp is np
        and is_turned
        and _native_forward(grad[..., 0], filter[::-1, ::-1, :, 0], turned, out)
    ):
        return layout.from_last(xp, out)

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
    taps = sizes[0] * sizes[1]
    if xp is np and sizes[3] == 1 and taps <= _MAX_NATIVE_TAPS and grad.size >= SMALL_ELEMENTS:
        mapping = _products_of_taps(grad.dtype, taps)
        result = np.zeros(sizes, input.dtype)
        operands = [*_padded_taps(np.ascontiguousarray(image), windows), grad[..., 0]]
        if mapping is not None and mapping.run(
            grad.shape[:4], operands, list(result.reshape(taps, -1))
        ):
            return result

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
