"""Kernels of pooling: slices of the whole array for each tap of the window, no loop over elements.

Windows that tile the array have loops in machine code (`jit.native_ufunc`). A GPU has kernels of its
own, in `cuda.pooling`.

A window may slide along any axis, so both data formats and pooling over channels are one case.
Of equal maxima the first in row-major order gets the gradient, as in TensorFlow.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.kernels import large_arrays
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda import pooling as cuda_pooling
from dataflow.kernels.cuda.source import can_run
from dataflow.kernels.index_arrays import as_intp
from dataflow.kernels.jit.native_ufunc import Mapping
from dataflow.kernels.parallel import run_pieces
from dataflow.kernels.registry import kernel
from dataflow.kernels.window_maxima import has_gradient_loops, maxima_gradient, window_maxima
from dataflow.kernels.window_sums import has_loops, spread, window_sums
from dataflow.windows import Window, window

Windows = dict[int, Window]

#: Elements worked on at a time, so that all passes over them find them in the cache.
_PIECE_ELEMENTS = 1 << 17
#: Averages of so many elements on are made by machine code: 32 x 10 x 10 x 8 of them in 18 us, 55 by NumPy.
_LEAST_AVERAGED = 1 << 10
#: Fewer pieces than this are done before another thread would have started.
_PARALLEL_PIECES = 4


def _windows(
    shape: tuple[int, ...],
    ksize: list[int],
    strides: list[int],
    padding: str,
    explicit_paddings: Sequence[int] | None = None,
) -> Windows:
    """Axis -> window, for the axes that are pooled at all."""
    pairs = list(zip((explicit_paddings or [])[::2], (explicit_paddings or [])[1::2], strict=True))
    result = {}
    for axis, (taps, stride) in enumerate(zip(ksize, strides, strict=True)):
        if taps != 1 or stride != 1:
            pair = pairs[axis] if pairs else (0, 0)
            try:
                result[axis] = window(shape[axis], taps, stride, 1, padding, pair)
            except ValueError as e:
                raise InvalidArgumentError(None, None, str(e)) from e
    return result


def _output_shape(shape: tuple[int, ...], windows: Windows) -> tuple[int, ...]:
    return tuple(windows[a].count if a in windows else size for a, size in enumerate(shape))


def _check_shape(what: str, array: Array, expected: tuple[int, ...]) -> None:
    if array.shape != expected:
        raise InvalidArgumentError(
            None, None, f"Expected {what} shape to be {list(expected)}, but got {list(array.shape)}"
        )


_Tap = tuple[tuple[int, ...], tuple[slice, ...], tuple[slice, ...]]


def _taps(windows: Windows, rank: int) -> Iterable[_Tap]:
    """For each tap: its indices, the places where it meets the array, and what it meets there."""
    if _num_taps(windows) <= _MAX_NATIVE_TAPS:
        return _few_taps(tuple(windows.items()), rank)
    return _each_tap(windows, rank)


@functools.lru_cache(maxsize=512)
def _few_taps(windows: tuple[tuple[int, Window], ...], rank: int) -> tuple[_Tap, ...]:
    return tuple(_each_tap(dict(windows), rank))


def _each_tap(windows: Windows, rank: int) -> Iterator[_Tap]:
    axes = sorted(windows)
    for tap in itertools.product(*(range(windows[a].taps) for a in axes)):
        to, frm = [slice(None)] * rank, [slice(None)] * rank
        for axis, t in zip(axes, tap, strict=True):
            to[axis], frm[axis] = windows[axis].inside(t)
        yield tap, tuple(to), tuple(frm)


def _run(xp: Module, shape: tuple[int, ...], windows: Windows, work: Any) -> None:
    """``work(piece)`` for pieces of the first axis, several at a time where there are many."""
    if 0 in windows or xp is not np:
        work(slice(None))
        return
    per_item = int(np.prod(shape[1:])) if len(shape) > 1 else 1
    size = max(1, _PIECE_ELEMENTS // max(1, per_item))
    pieces = [slice(i, i + size) for i in range(0, shape[0], size)]
    if len(pieces) >= _PARALLEL_PIECES:
        run_pieces(pieces, lambda: work)
    else:
        for piece in pieces:
            work(piece)


def _lowest(dtype: Any) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _accumulate(xp: Module, x: Array, windows: Windows, ufunc: Any, start: Any) -> Any:
    """``ufunc`` over every window, one axis after the other."""
    for axis in sorted(windows):
        w = windows[axis]
        if w.size == w.taps and w.count == 1 and w.before == w.after == 0:
            x = ufunc.reduce(x, axis=axis, keepdims=True)
            continue
        shape = list(x.shape)
        shape[axis] = w.count
        out = xp.full(tuple(shape), start, x.dtype)
        for tap in range(w.taps):
            to, frm = w.inside(tap)
            target = out[(slice(None),) * axis + (to,)]
            ufunc(target, x[(slice(None),) * axis + (frm,)], out=target)
        x = out
    return x


def _spread(xp: Module, grad: Array, windows: Windows) -> Any:
    """The transpose of a sum over windows: every place gives its value to all it saw."""
    for axis in sorted(windows):
        w = windows[axis]
        shape = list(grad.shape)
        shape[axis] = w.size
        if w.size == w.taps and w.count == 1 and w.before == w.after == 0:
            grad = xp.broadcast_to(grad, tuple(shape))
            continue
        out = xp.zeros(tuple(shape), grad.dtype)
        for tap in range(w.taps):
            to, frm = w.inside(tap)
            out[(slice(None),) * axis + (frm,)] += grad[(slice(None),) * axis + (to,)]
        grad = out
    return grad


def _counts(xp: Module, windows: Windows, rank: int, dtype: Any) -> Any:
    """How many elements of the array each place sees (padding does not count)."""
    known = tuple(windows.items())
    return _known_counts(known, rank, dtype) if xp is np else _counts_of(xp, known, rank, dtype)


@functools.lru_cache(maxsize=64)
def _known_counts(windows: tuple[tuple[int, Window], ...], rank: int, dtype: Any) -> Any:
    return _counts_of(np, windows, rank, dtype)


def _counts_of(xp: Module, windows: tuple[tuple[int, Window], ...], rank: int, dtype: Any) -> Any:
    total: Any = xp.ones((1,) * rank, dtype)
    for axis, w in windows:
        seen = np.zeros(w.count, np.int64)
        for tap in range(w.taps):
            seen[w.inside(tap)[0]] += 1
        shape = [1] * rank
        shape[axis] = w.count
        total = total * xp.asarray(np.maximum(seen, 1).astype(dtype)).reshape(shape)
    return total if total.size > 1 else total.reshape(())[()]


def _max_pool(xp: Module, x: Array, windows: Windows, bias: Any = None) -> Any:
    """The maxima of x, or of ``relu(x + bias)`` for windows that are tiled."""
    if not windows:
        return x.copy()
    out = (large_arrays if xp is np else xp).empty(_output_shape(x.shape, windows), x.dtype)
    if out.size == 0:
        return out
    if can_run(xp, x, of=cuda_pooling.DTYPES):
        return cuda_pooling.max_pool(xp, x, cuda_pooling.axes_of(x.shape, windows), out.shape)
    tiled = _is_tiled(windows)
    if tiled and xp is np:
        mapping = _max_pool_mapping(x.dtype, _num_taps(windows), bias is not None)
        inputs = _tap_views(x, windows) if bias is None else [*_tap_views(x, windows), bias]
        if mapping is not None and mapping.run(out.shape, inputs, [out]):
            return out
    elif has_loops(xp, x, x.size, windows) and window_maxima(x, windows, out):
        return out

    def work(piece: slice) -> None:
        part, target = _biased(x[piece], bias), out[piece]
        if not tiled:
            target[...] = _accumulate(xp, part, windows, xp.maximum, _lowest(x.dtype))
            return
        for axis in sorted(windows):  # a maximum of two slices starts each axis
            part = _tiled_maximum(xp, part, axis, windows[axis])
        target[...] = part

    _run(xp, x.shape, windows, work)
    return out


def _biased(x: Array, bias: Any) -> Any:
    if bias is None:
        return x
    x = x + bias
    return np.maximum(x, 0, out=x)


def _num_taps(windows: Windows) -> int:
    return math.prod([w.taps for w in windows.values()])


def _is_tiled(windows: Windows) -> bool:
    """True when the windows cover the array without overlap, gap or padding."""
    return all(
        w.taps > 1
        and w.stride == w.taps
        and w.dilation == 1
        and w.before == w.after == 0
        and w.size == w.count * w.taps
        for w in windows.values()
    )


def _tap_views(x: Array, windows: Windows) -> list[Any]:
    """For each tap the elements that it meets, in the shape of the output."""
    return [x[frm] for _, _, frm in _taps(windows, x.ndim)]


#: Windows with more taps than this are left to NumPy: a step of machine code for each would spill.
_MAX_NATIVE_TAPS = 9


@functools.cache
def _max_pool_mapping(dtype: Any, taps: int, biased: bool) -> Mapping | None:
    """The maximum over all taps; ``biased``: of ``relu(tap + bias)``, with the bias as last input."""
    if not 2 <= taps <= _MAX_NATIVE_TAPS:
        return None

    def largest(xp: Module, *x: Any) -> Any:
        return functools.reduce(xp.maximum, _rectified_taps(xp, x, taps, biased))

    return Mapping.of_function(dtype, largest, taps + biased)


def _rectified_taps(xp: Module, x: Sequence[Any], taps: int, biased: bool) -> list[Any]:
    """``relu(tap + bias)`` of each tap; the bias is the last input. Without one the taps themselves."""
    return [xp.maximum(tap + x[-1], 0.0) if biased else tap for tap in x[:taps]]


@functools.cache
def _max_pool_gradient_mapping(dtype: Any, taps: int, biased: bool) -> Mapping | None:
    """From all taps, the maximum and its gradient: the gradient where a tap is the first maximum.

    ``biased``: where ``relu(tap + bias)`` is, with the bias as last input.
    """
    if not 2 <= taps <= _MAX_NATIVE_TAPS:
        return None

    def gradients(xp: Module, *x: Any) -> Any:
        y, grad = x[taps], x[taps + 1]
        found, results = None, []
        for value in _rectified_taps(xp, x, taps, biased):
            equal = value == y
            first = equal if found is None else equal & ~found
            found = equal if found is None else equal | found
            results.append(grad * first)
        return tuple(results)

    return Mapping.of_function(dtype, gradients, taps + 2 + biased)


def _tiled_maximum(xp: Module, x: Array, axis: int, w: Window) -> Any:
    if w.count == 1:
        return x.max(axis=axis, keepdims=True)
    before = (slice(None),) * axis
    out = xp.maximum(x[(*before, w.inside(0)[1])], x[(*before, w.inside(1)[1])])
    for tap in range(2, w.taps):
        xp.maximum(out, x[(*before, w.inside(tap)[1])], out=out)
    return out


def _first_maxima(
    xp: Module, x: Array, y: Array, windows: Windows
) -> Iterator[tuple[Any, Any, Any]]:
    """(mask, places, elements) of each tap: where the tap is the first that equals the maximum."""
    open_places = None
    total = int(np.prod([w.taps for w in windows.values()]))
    for number, (_, to, frm) in enumerate(_taps(windows, x.ndim)):
        mask = x[frm] == y[to]
        if open_places is None:
            if total > 1:
                open_places = xp.ones(y.shape, bool)
                xp.logical_not(mask, out=open_places[to])
        else:
            place = open_places[to]
            mask &= place
            if number < total - 1:
                place ^= mask
        yield mask, to, frm


def _max_pool_gradient(
    xp: Module, x: Array, y: Array, grad: Array, windows: Windows, bias: Any = None
) -> Any:
    """``grad`` at the elements of x that gave the maxima y, or of ``relu(x + bias)`` if tiled."""
    shape = _output_shape(x.shape, windows)
    _check_shape("orig_output", y, shape)
    _check_shape("grad", grad, shape)
    if windows and x.dtype == grad.dtype and can_run(xp, x, of=cuda_pooling.DTYPES):
        axes = cuda_pooling.axes_of(x.shape, windows)
        return cuda_pooling.max_pool_gradient(xp, x, y, grad, axes)
    if xp is np and x.size and x.dtype == grad.dtype and windows and _is_tiled(windows):
        mapping = _max_pool_gradient_mapping(x.dtype, _num_taps(windows), bias is not None)
        inputs, out = [*_tap_views(x, windows), y, grad], large_arrays.empty(x.shape, x.dtype)
        if bias is not None:
            inputs.append(bias)
        if mapping is not None and mapping.run(shape, inputs, _tap_views(out, windows)):
            return out
    elif x.dtype == grad.dtype and windows and has_gradient_loops(xp, x, windows):
        out = large_arrays.empty(x.shape, x.dtype)
        if maxima_gradient(x, y, grad, windows, out):
            return out
    out = xp.zeros(x.shape, grad.dtype)
    if out.size == 0 or grad.size == 0:
        return out
    if len(windows) == 1:
        ((axis, w),) = windows.items()
        if w.size == w.taps and w.count == 1 and w.before == w.after == 0:
            place = xp.expand_dims(_biased(x, bias).argmax(axis), axis)
            xp.put_along_axis(out, place, grad, axis)
            return out
    disjoint = all(w.stride >= w.taps for w in windows.values())

    def work(piece: slice) -> None:
        x_part, y_part = _biased(x[piece], bias), y[piece]
        g_part, o_part = grad[piece], out[piece]
        for mask, to, frm in _first_maxima(xp, x_part, y_part, windows):
            if disjoint:
                xp.multiply(g_part[to], mask, out=o_part[frm])
            else:
                target = o_part[frm]
                target += xp.where(mask, g_part[to], 0)

    _run(xp, x.shape, windows, work)
    return out


def _max_pool_second_gradient(xp: Module, x: Array, y: Array, grad: Array, windows: Windows) -> Any:
    """The elements of ``grad`` (of the shape of x) at the first maxima."""
    _check_shape("orig_output", y, _output_shape(x.shape, windows))
    _check_shape("grad", grad, x.shape)
    if can_run(xp, x, of=cuda_pooling.DTYPES):
        at = cuda_pooling.first_maximum(xp, x, y, cuda_pooling.axes_of(x.shape, windows))
        return xp.where(at < 0, grad.dtype.type(0), grad.reshape(-1).take(xp.maximum(at, 0)))
    out = xp.zeros(y.shape, grad.dtype)
    for mask, to, frm in _first_maxima(xp, x, y, windows):
        target = out[to]
        target += grad[frm] * mask
    return out


def _avg_pool(xp: Module, x: Array, windows: Windows) -> Any:
    if not windows:
        return x.copy()
    if can_run(xp, x):
        axes = cuda_pooling.axes_of(x.shape, windows)
        return cuda_pooling.avg_pool(xp, x, axes, _output_shape(x.shape, windows))
    work = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    if has_loops(xp, work, work.size, windows, _LEAST_AVERAGED):
        out = large_arrays.empty(_output_shape(x.shape, windows), work.dtype)
        window_sums(work, windows, out, divides=True)
        return out.astype(x.dtype, copy=False)
    total = _accumulate(xp, work, windows, xp.add, 0)
    return (total / _counts(xp, windows, x.ndim, work.dtype)).astype(x.dtype, copy=False)


def _avg_pool_gradient(xp: Module, sizes: Any, grad: Array, windows: Windows) -> Any:
    shape = tuple(int(s) for s in sizes)
    _check_shape("grad", grad, _output_shape(shape, windows))
    if not windows:
        return grad.copy()
    if can_run(xp, grad):
        axes = cuda_pooling.axes_of(shape, windows)
        return cuda_pooling.avg_pool_gradient(xp, grad, axes, shape)
    work = grad.astype(np.float32) if grad.dtype.itemsize == 2 else grad
    work = work / _counts(xp, windows, grad.ndim, work.dtype)
    if has_loops(xp, work, math.prod(shape), windows):
        out = large_arrays.empty(shape, work.dtype)
        if spread(work, windows, out):
            return out.astype(grad.dtype, copy=False)
    out = _spread(xp, work, windows)
    return xp.ascontiguousarray(out).astype(grad.dtype, copy=False)


#: The attributes of what has no explicit paddings.
_STEPS = ("ksize", "strides", "padding")


@kernel("MaxPool")
@kernel("MaxPool3D", attrs=_STEPS)
def max_pool_kernel(
    xp: Module,
    input: Array,
    *,
    ksize: list[int],
    strides: list[int],
    padding: str,
    explicit_paddings: Sequence[int] = (),
) -> Any:
    return _max_pool(xp, input, _windows(input.shape, ksize, strides, padding, explicit_paddings))


_CPU_ONLY = "a GPU adds, rectifies and pools one after the other; no rewrite makes one for it"


@kernel("_BiasReluMaxPool", cpu_only=_CPU_ONLY)
def bias_relu_max_pool_kernel(
    xp: Module, input: Array, bias: Array, *, ksize: list[int], strides: list[int]
) -> Any:
    return _max_pool(xp, input, _windows(input.shape, ksize, strides, "VALID"), bias)


@kernel("_BiasReluMaxPoolGrad", cpu_only=_CPU_ONLY)
def bias_relu_max_pool_grad_kernel(
    xp: Module,
    orig_input: Array,
    bias: Array,
    orig_output: Array,
    grad: Array,
    *,
    ksize: list[int],
    strides: list[int],
) -> Any:
    windows = _windows(orig_input.shape, ksize, strides, "VALID")
    return _max_pool_gradient(xp, orig_input, orig_output, grad, windows, bias)


@kernel("MaxPoolGrad")
@kernel("MaxPool3DGrad", attrs=_STEPS)
def max_pool_grad_kernel(
    xp: Module,
    orig_input: Array,
    orig_output: Array,
    grad: Array,
    *,
    ksize: list[int],
    strides: list[int],
    padding: str,
    explicit_paddings: Sequence[int] = (),
) -> Any:
    windows = _windows(orig_input.shape, ksize, strides, padding, explicit_paddings)
    return _max_pool_gradient(xp, orig_input, orig_output, grad, windows)


@kernel("MaxPoolGradGrad", "MaxPool3DGradGrad")
def max_pool_grad_grad_kernel(
    xp: Module,
    orig_input: Array,
    orig_output: Array,
    grad: Array,
    *,
    ksize: list[int],
    strides: list[int],
    padding: str,
) -> Any:
    windows = _windows(orig_input.shape, ksize, strides, padding)
    return _max_pool_second_gradient(xp, orig_input, orig_output, grad, windows)


@kernel("AvgPool", "AvgPool3D")
def avg_pool_kernel(
    xp: Module, value: Array, *, ksize: list[int], strides: list[int], padding: str
) -> Any:
    return _avg_pool(xp, value, _windows(value.shape, ksize, strides, padding))


@kernel("AvgPoolGrad", "AvgPool3DGrad")
def avg_pool_grad_kernel(
    xp: Module,
    orig_input_shape: Array,
    grad: Array,
    *,
    ksize: list[int],
    strides: list[int],
    padding: str,
) -> Any:
    shape = tuple(int(s) for s in orig_input_shape)
    return _avg_pool_gradient(xp, shape, grad, _windows(shape, ksize, strides, padding))


# ---- with the places of the maxima --------------------------------------------------------------


def _batch_offsets(xp: Module, shape: tuple[int, ...], include_batch: bool) -> Any:
    """What to add to the stored indices to get positions in the flat array."""
    if include_batch:
        return 0
    per_item = int(np.prod(shape[1:]))
    return (xp.arange(shape[0]) * per_item).reshape(-1, *([1] * (len(shape) - 1)))


@kernel("MaxPoolWithArgmax")
def max_pool_with_argmax_kernel(
    xp: Module,
    input: Array,
    *,
    ksize: list[int],
    strides: list[int],
    Targmax: Any,
    padding: str,
    include_batch_in_index: bool,
) -> tuple[Any, Any]:
    windows = _windows(input.shape, ksize, strides, padding)
    out = _max_pool(xp, input, windows)
    where = _argmax(xp, input, out, windows)
    if not include_batch_in_index and where.size:
        where -= _batch_offsets(xp, input.shape, False)
    return out, where.astype(Targmax.numpy, copy=False)


def _argmax(xp: Module, x: Array, y: Array, windows: Windows) -> Any:
    """Where in the flat input each first maximum is; 0 where there is none."""
    if can_run(xp, x, of=cuda_pooling.DTYPES):
        axes = cuda_pooling.axes_of(x.shape, windows)
        return xp.maximum(cuda_pooling.first_maximum(xp, x, y, axes), 0)
    positions = xp.arange(x.size).reshape(x.shape)
    where = xp.zeros(y.shape, np.int64)
    for mask, to, frm in _first_maxima(xp, x, y, windows):
        where[to] += xp.where(mask, positions[frm], 0)
    return where


@kernel("MaxPoolGradWithArgmax")
def max_pool_grad_with_argmax_kernel(
    xp: Module, input: Array, grad: Array, argmax: Array, *, include_batch_in_index: bool
) -> Any:
    flat = (argmax + _batch_offsets(xp, input.shape, include_batch_in_index)).reshape(-1)
    if flat.size and (int(flat.min()) < 0 or int(flat.max()) >= input.size):
        raise InvalidArgumentError(None, None, "argmax points outside of the input")
    total = xp.bincount(as_intp(flat), weights=grad.reshape(-1), minlength=input.size)
    return total.reshape(input.shape).astype(grad.dtype)


@kernel("MaxPoolGradGradWithArgmax")
def max_pool_grad_grad_with_argmax_kernel(
    xp: Module, input: Array, grad: Array, argmax: Array, *, include_batch_in_index: bool
) -> Any:
    flat = argmax + _batch_offsets(xp, input.shape, include_batch_in_index)
    return grad.reshape(-1)[flat]
