"""Kernels of convolution: forward, input gradient and filter gradient, in one to three dimensions.

All three share one arrangement, made of matrix products alone. The input is *expanded* along its
last spatial axis only: a row of the expanded array holds the ``taps * channels`` numbers under the
window at one place of that axis. The other spatial axes go to the front, the batch after them, so
that for each tap of those axes the rows that it needs are one contiguous block, and a convolution
is one product for each tap, added up inside BLAS. Compared with the usual im2col this copies
``height of the filter`` times less. With few numbers in a row (an image of one channel) products
would be thin; there the window is unrolled over all axes (`Patches`).

The batch is worked on in pieces whose expanded form stays in the cache. A GPU has kernels of its
own, in `cuda.conv`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow.kernels import direct_conv, direct_filter_gradient, large_arrays, volumes
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.blas import add_product
from dataflow.kernels.conv_geometry import (
    Layout,
    Problem,
    attr_windows,
    check_gradient,
    num_groups,
    problem_of,
)
from dataflow.kernels.cuda import conv as cuda_conv
from dataflow.kernels.cuda.concat import concatenate
from dataflow.kernels.cuda.matmul import product
from dataflow.kernels.cuda.source import can_run
from dataflow.kernels.direct_conv import Ending
from dataflow.kernels.im2col import ExpandedRows, Patches, collect
from dataflow.kernels.parallel import SHARES, add_up_pieces, matrix_product, run_pieces_of
from dataflow.kernels.registry import kernel
from dataflow.windows import Window

#: Bytes of scratch for one piece of the batch: about what the cache of one core holds.
_CPU_PIECE_BYTES = 2 << 20
#: Less scratch than this in all is not worth a second thread.
_SMALL_BYTES = 1 << 18
#: Rows with fewer numbers than this are unrolled over all axes instead.
_THIN_ROW = 32


def problem_for(
    input_shape: tuple[int, ...], filter_shape: tuple[int, ...], windows: list[Window]
) -> Problem:
    """The problem with an axis whose windows tile it joined to the channels."""
    return _problem_for(tuple(input_shape), tuple(filter_shape), tuple(windows))


@functools.lru_cache(maxsize=4096)
def _problem_for(
    input_shape: tuple[int, ...], filter_shape: tuple[int, ...], windows: tuple[Window, ...]
) -> Problem:
    problem = problem_of(input_shape, filter_shape, list(windows))
    depth, height, last = problem.windows
    tiles = last.stride == last.taps or last.count == 1
    if (
        tiles
        and last.dilation == 1
        and last.before == last.after == 0
        and last.size == last.count * last.taps
        and last.taps > 1
    ):
        joined = Window(last.count, 1, 1, 1, 0, 0, last.count)
        channels = problem.channels * last.taps
        return problem._replace(windows=(depth, height, joined), channels=channels)
    return problem


class _Scratch:
    """Arrays that one thread uses again for piece after piece."""

    def __init__(self, xp: Module, dtype: Any) -> None:
        self.xp, self.dtype = xp, dtype
        self.arrays: dict[int, Any] = {}

    def get(self, number: int, shape: tuple[int, ...]) -> Any:
        """An array of this shape; what it holds is not defined."""
        found = self.arrays.get(number)
        if found is None or found.shape != shape:
            found = self.arrays[number] = self.xp.empty(shape, self.dtype)
        return found


def _pieces(xp: Module, batch: int, item_bytes: int) -> list[slice]:
    """Equal parts of the batch, such that the scratch of each keeps within bounds."""
    budget = _CPU_PIECE_BYTES if xp is np else cuda_conv.PIECE_BYTES
    count = max(1, -(-batch * item_bytes // budget))
    if xp is np and batch * item_bytes > _SMALL_BYTES:
        # Not as many as there are threads: pieces decide how sums round.
        count = min(batch, -(-count // SHARES) * SHARES)
    size = max(1, -(-batch // count))
    return [slice(i, min(i + size, batch)) for i in range(0, batch, size)]


def _product_into(xp: Module, a: Array, b: Array, out: Any) -> None:
    if xp is np:
        np.matmul(a, b, out=out)
    else:
        product(xp, a, b, out)


def _product(xp: Module, a: Array, b: Array) -> Any:
    return matrix_product(a, b) if xp is np else product(xp, a, b)


def _is_thin(problem: Problem) -> bool:
    depth, height, width = problem.windows
    return width.taps * problem.channels < _THIN_ROW and depth.taps * height.taps > 1


def _may_be_direct(xp: Module, x: Array) -> bool:
    return xp is np and x.dtype.char == "f"


def _is_flat(problem: Problem) -> bool:
    """True without a third axis."""
    depth = problem.windows[0]
    return depth.size == depth.taps == depth.count == 1


def _direct_forward(
    x: Array, filters: Array, problem: Problem, out: Any, ending: Ending | None = None
) -> bool:
    if not _is_flat(problem):
        return volumes.forward(x, filters, problem, out, ending)
    return direct_conv.forward(x[:, 0], filters[0], *problem.windows[1:], out[:, 0], ending=ending)


def _direct_filter_gradient(x: Array, grad: Array, problem: Problem, out: Any) -> bool:
    if not _is_flat(problem):
        return volumes.filter_gradient(x, grad, problem, out)
    return direct_filter_gradient.filter_gradient(x[:, 0], grad[:, 0], *problem.windows[1:], out[0])


def _direct_input_gradient(filters: Array, grad: Array, problem: Problem, out: Any) -> bool:
    if not _is_flat(problem):
        return volumes.input_gradient(filters, grad, problem, out)
    return direct_conv.input_gradient(filters[0], grad[:, 0], *problem.windows[1:], out[:, 0])


def forward_and_end(xp: Module, x: Array, filters: Array, problem: Problem, ending: Ending) -> Any:
    """The convolution with its ending, of arrays that have the problem's shapes."""
    by_tiles = not problem.is_product and x.size > 0 and filters.size > 0 and _may_be_direct(xp, x)
    depth, *windows = problem.windows
    if by_tiles and direct_conv.can_end(depth.taps * problem.channels, problem.outputs, *windows):
        out = large_arrays.empty(problem.output_shape, x.dtype)
        if out.size and _direct_forward(x, filters, problem, out, ending):
            return out
    return ending.apply(_forward(xp, x, filters, problem))


def _forward(xp: Module, x: Array, filters: Array, problem: Problem) -> Any:
    out = (large_arrays if xp is np else xp).empty(problem.output_shape, x.dtype)
    if out.size == 0:
        return out
    if filters.size == 0:
        out.fill(0)
        return out
    if problem.is_product:
        matrix = filters.reshape(problem.channels, problem.outputs)
        product = _product(xp, x.reshape(-1, problem.channels), matrix)
        return product.reshape(problem.output_shape)
    if _may_be_direct(xp, x) and _direct_forward(x, filters, problem, out):
        return out
    if _is_thin(problem):
        patches = Patches(xp, problem, x.dtype)
        matrix = filters.reshape(-1, problem.outputs)

        def unroll(piece: slice) -> None:
            target = out[piece].reshape(-1, problem.outputs)
            _product_into(xp, patches.expand(x[piece]), matrix, target)

        run_pieces_of(xp, _pieces(xp, problem.batch, patches.item_bytes), lambda: unroll)
        return out
    rows = ExpandedRows(xp, problem, x.dtype)
    depth, height, width = problem.windows
    taps = filters.reshape(depth.taps, height.taps, rows.row, problem.outputs)
    in_order = depth.count * height.count == 1  # results are in the order of the output already

    def make_worker() -> Any:
        scratch = _Scratch(xp, x.dtype)

        def work(piece: slice) -> None:
            n = piece.stop - piece.start
            buffer = scratch.get(0, rows.shape(n))
            rows.expand(x[piece], buffer)
            shape = (depth.count, height.count, n, width.count, problem.outputs)
            result = out[piece].reshape(shape) if in_order else scratch.get(1, shape)
            for place in range(depth.count):
                target = result[place].reshape(-1, problem.outputs)
                for z in range(depth.taps):
                    for y in range(height.taps):
                        block = rows.block(buffer, z, y, place)
                        if z == y == 0:
                            _product_into(xp, block, taps[0, 0], target)
                        else:
                            add_product(xp, block, taps[z, y], target)
            if not in_order:
                out[piece] = result.transpose(2, 0, 1, 3, 4)

        return work

    run_pieces_of(xp, _pieces(xp, problem.batch, rows.item_bytes), make_worker)
    return out


def _filter_gradient(xp: Module, x: Array, grad: Array, problem: Problem) -> Any:
    out = xp.zeros(problem.filter_shape, x.dtype)
    if x.size == 0 or grad.size == 0 or out.size == 0:
        return out
    if problem.is_product:
        matrix = grad.reshape(-1, problem.outputs)
        product = _product(xp, x.reshape(-1, problem.channels).T, matrix)
        return product.reshape(problem.filter_shape)
    if _may_be_direct(xp, x) and _direct_filter_gradient(x, grad, problem, out):
        return out
    if _is_thin(problem):
        patches = Patches(xp, problem, x.dtype)

        def make_unroller(total: Any) -> Any:
            target = total.reshape(-1, problem.outputs)

            def unroll(piece: slice) -> None:
                matrix = grad[piece].reshape(-1, problem.outputs)
                add_product(xp, patches.expand(x[piece]).T, matrix, target)

            return unroll

        add_up_pieces(xp, _pieces(xp, problem.batch, patches.item_bytes), out, make_unroller)
    else:
        rows = ExpandedRows(xp, problem, x.dtype)
        depth, height, _ = problem.windows

        def make_worker(total: Any) -> Any:
            scratch = _Scratch(xp, x.dtype)
            taps = total.reshape(depth.taps, height.taps, rows.row, problem.outputs)

            def work(piece: slice) -> None:
                buffer = scratch.get(0, rows.shape(piece.stop - piece.start))
                rows.expand(x[piece], buffer)
                part = xp.ascontiguousarray(grad[piece].transpose(1, 2, 0, 3, 4))
                for place in range(depth.count):
                    right = part[place].reshape(-1, problem.outputs)
                    for z in range(depth.taps):
                        for y in range(height.taps):
                            block = rows.block(buffer, z, y, place)
                            add_product(xp, block.T, right, taps[z, y])

            return work

        add_up_pieces(xp, _pieces(xp, problem.batch, rows.item_bytes), out, make_worker)
    return out


def _input_gradient(xp: Module, filters: Array, grad: Array, problem: Problem) -> Any:
    if problem.is_product and grad.size:
        matrix = filters.reshape(problem.channels, problem.outputs)
        product = _product(xp, grad.reshape(-1, problem.outputs), matrix.T)
        return product.reshape(problem.input_shape)
    out = (large_arrays if xp is np else xp).empty(problem.input_shape, grad.dtype)
    if out.size == 0:
        return out
    if grad.size and _may_be_direct(xp, grad):
        if _direct_input_gradient(filters, grad, problem, out):
            return out
    out.fill(0)
    if grad.size == 0:
        return out
    rows = ExpandedRows(xp, problem, grad.dtype)
    depth, height, _ = problem.windows
    taps = filters.reshape(depth.taps, height.taps, rows.row, problem.outputs)

    def make_worker() -> Any:
        scratch = _Scratch(xp, grad.dtype)

        def work(piece: slice) -> None:
            buffer = scratch.get(0, rows.shape(piece.stop - piece.start))
            buffer.fill(0)
            part = xp.ascontiguousarray(grad[piece].transpose(1, 2, 0, 3, 4))
            for place in range(depth.count):
                left = part[place].reshape(-1, problem.outputs)
                for z in range(depth.taps):
                    for y in range(height.taps):
                        add_product(xp, left, taps[z, y].T, rows.block(buffer, z, y, place))
            collect(buffer, out[piece], problem, rows)

        return work

    run_pieces_of(xp, _pieces(xp, problem.batch, rows.item_bytes), make_worker)
    return out


# ---- from the attributes of the ops ------------------------------------------------------------


def _working(xp: Module, *arrays: Any) -> tuple[Any, ...]:
    """Contiguous arrays in a dtype that BLAS has: half precision is computed in single."""
    dtype = arrays[0].dtype
    if dtype.itemsize == 2 and dtype.kind == "f":
        return tuple(xp.ascontiguousarray(a, dtype=np.float32) for a in arrays)
    return tuple(xp.ascontiguousarray(a) for a in arrays)


def _by_group(xp: Module, x: Array, filters: Array, run: Any) -> Any:
    """``run(x, filters)`` for each group of channels; one group where the channels agree."""
    channels, own, outputs = x.shape[-1], filters.shape[-2], filters.shape[-1]
    if channels == own:
        return run(x, filters)
    groups = num_groups(channels, own, outputs)
    return concatenate(xp, [run(a, b) for a, b in _split(xp, groups, x, filters)], -1)


def _split(xp: Module, groups: int, *arrays: Any) -> Any:
    """The parts of each group of channels; contiguous where they are for BLAS."""
    parts = [xp.split(a, groups, axis=-1) for a in arrays]
    if xp is np:
        parts = [[np.ascontiguousarray(p) for p in group] for group in parts]
    return zip(*parts, strict=True)


def convolve(
    xp: Any,
    x: Any,
    filters: Any,
    layout: Layout,
    strides: Any,
    dilations: Any,
    *padding: Any,
    by: Callable[[Module, Array, Array, Problem], Any] = _forward,
) -> Any:
    if x.ndim != filters.ndim:
        raise ValueError(
            f"the input must have rank {filters.ndim}, as the filter has, got shape {list(x.shape)}"
        )
    dtype, rank = x.dtype, x.ndim - 2
    x = layout.to_last(x)
    windows = attr_windows(
        x.shape,
        filters.shape,
        layout.attr(strides, rank),
        layout.attr(dilations, rank),
        padding[0],
        layout.pads(padding[1]),
    )
    if can_run(xp, x, filters):
        by_cuda = functools.partial(cuda_conv.forward, xp, windows=windows)
        return layout.from_last(xp, _by_group(xp, x, filters, by_cuda))
    x, filters = _working(xp, x, filters)
    shape = (x.shape[0], *(w.count for w in windows), filters.shape[-1])

    def run(x: Array, filters: Array) -> Any:
        problem = problem_for(x.shape, filters.shape, windows)
        x, filters = x.reshape(problem.input_shape), filters.reshape(problem.filter_shape)
        out = by(xp, x, filters, problem)
        return out.reshape(*shape[:-1], filters.shape[-1])

    out = _by_group(xp, x, filters, run).astype(dtype, copy=False)
    return layout.from_last(xp, out)


def _convolve_filter_gradient(
    xp: Module,
    x: Array,
    filter_sizes: Array,
    grad: Array,
    layout: Layout,
    strides: Any,
    dilations: Any,
    *padding: Any,
) -> Any:
    dtype, rank = x.dtype, x.ndim - 2
    sizes = tuple(int(s) for s in filter_sizes)
    x, grad = layout.to_last(x), layout.to_last(grad)
    windows = attr_windows(
        x.shape,
        sizes,
        layout.attr(strides, rank),
        layout.attr(dilations, rank),
        padding[0],
        layout.pads(padding[1]),
    )
    check_gradient(grad, (x.shape[0], *(w.count for w in windows), sizes[-1]))
    by_cuda = can_run(xp, x, grad)
    if not by_cuda:
        x, grad = _working(xp, x, grad)

    def run(x: Array, grad: Array) -> Any:
        shape = (*sizes[:-1], grad.shape[-1])
        if by_cuda:
            return cuda_conv.filter_gradient(xp, x, grad, shape, windows)
        problem = problem_for(x.shape, shape, windows)
        out = _filter_gradient(
            xp, x.reshape(problem.input_shape), grad.reshape(problem.output_shape), problem
        )
        return out.reshape(shape)

    if x.shape[-1] == sizes[-2]:
        return run(x, grad).astype(dtype, copy=False)
    groups = num_groups(x.shape[-1], sizes[-2], sizes[-1])
    parts = [run(a, b) for a, b in _split(xp, groups, x, grad)]
    return concatenate(xp, parts, -1).astype(dtype, copy=False)


def _convolve_input_gradient(
    xp: Module,
    input_sizes: Array,
    filters: Array,
    grad: Array,
    layout: Layout,
    strides: Any,
    dilations: Any,
    *padding: Any,
) -> Any:
    dtype, rank = grad.dtype, grad.ndim - 2
    sizes = tuple(int(s) for s in input_sizes)
    if len(sizes) == rank:  # without batch and channels
        sizes = (grad.shape[0], *sizes, filters.shape[-2])
    else:
        sizes = layout.sizes(sizes)
    grad = layout.to_last(grad)
    windows = attr_windows(
        sizes,
        filters.shape,
        layout.attr(strides, rank),
        layout.attr(dilations, rank),
        padding[0],
        layout.pads(padding[1]),
    )
    check_gradient(grad, (sizes[0], *(w.count for w in windows), filters.shape[-1]))
    one_group = sizes[-1] == filters.shape[-2]
    groups = 1 if one_group else num_groups(sizes[-1], filters.shape[-2], filters.shape[-1])
    if can_run(xp, grad, filters):
        result = xp.empty(layout.from_sizes(sizes), dtype)
        for part, g, f in _split(xp, groups, layout.to_last(result), grad, filters):
            cuda_conv.input_gradient(xp, f, g, part, windows)
        return result
    filters, grad = _working(xp, filters, grad)

    def run(grad: Array, filters: Array) -> Any:
        shape = (*sizes[:-1], filters.shape[-2])
        problem = problem_for(shape, filters.shape, windows)
        out = _input_gradient(
            xp, filters.reshape(problem.filter_shape), grad.reshape(problem.output_shape), problem
        )
        return out.reshape(shape)

    if one_group:
        out = run(grad, filters)
    else:
        parts = [run(g, f) for g, f in _split(xp, groups, grad, filters)]
        out = concatenate(xp, parts, -1)
    return layout.from_last(xp, out.astype(dtype, copy=False))


def _convolution_kernels(op_types: tuple[str, str, str], first: str, explicit: bool) -> None:
    """A convolution, and its gradients by the input and by the filter; ``first``: channels first.

    With ``explicit`` the ops have an attribute of explicit paddings.
    """
    attrs = ("strides", "padding", "data_format", "dilations")
    functions: tuple[Callable[..., Any], ...] = (
        convolve,
        _convolve_input_gradient,
        _convolve_filter_gradient,
    )
    for op_type, function in zip(op_types, functions, strict=True):
        # As if it were the function itself: `dataflow_widgets.op_reference` shows its source.
        register = kernel(op_type, attrs=(*attrs, "explicit_paddings") if explicit else attrs)
        register(functools.wraps(function)(_with_layout(function, first)))


def _with_layout(function: Callable[..., Any], first: str) -> Callable[..., Any]:
    def run(
        xp: Module,
        *inputs: Any,
        strides: list[int],
        padding: str,
        data_format: str,
        dilations: list[int],
        explicit_paddings: Sequence[int] = (),
    ) -> Any:
        layout = Layout(data_format == first)
        return function(xp, *inputs, layout, strides, dilations, padding, explicit_paddings)

    return run


_convolution_kernels(
    ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"), "NCHW", explicit=True
)
_convolution_kernels(
    ("Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"), "NCDHW", explicit=False
)
