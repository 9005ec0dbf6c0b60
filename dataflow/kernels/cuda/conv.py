"""Convolution on a GPU: the windows written out by kernels of our own, and products by cuBLAS.

CuPy has had no cuDNN since version 14. ``im2col`` writes a row for every place of the window, with
what lies under all its taps, padding included; then a convolution is one matrix product, and so is
the filter's gradient. The input's gradient is a product into such rows, and ``col2im`` lets every
element of the input add up what the rows hold for it: no atomics, and always in the same order.

Images are channels last for these functions, and read and written through their strides: those of
the other data format are transposed views. The geometry is compiled in, as divisions by numbers
that are not known would take longer than the memory.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.conv_geometry import Problem, problem_of
from dataflow.kernels.cuda.matmul import product
from dataflow.kernels.cuda.source import (
    constants_of,
    element_kernel,
    header,
    index_type,
    kept,
    launch_elements,
    number_type,
    strides_of,
    sum_type,
)
from dataflow.kernels.xp import address_of
from dataflow.windows import Window

#: Bytes of rows that are written out at a time.
PIECE_BYTES = 256 << 20
#: Bytes that a thread copies at a time where channels lie side by side.
_CHUNK_BYTES = 16

_STRIDES = "I stride_n, I stride_d, I stride_h, I stride_w, I stride_c"

_IM2COL = """    I rest = i;
    int c = (int)(rest % (CHANNELS / V)) * V; rest /= CHANNELS / V;
    int tap_w = rest % TAPS_W; rest /= TAPS_W;
    int tap_h = rest % TAPS_H; rest /= TAPS_H;
    int tap_d = rest % TAPS_D; rest /= TAPS_D;
    int w = (int)(rest % COUNT_W) * STRIDE_W - BEFORE_W + tap_w * DILATION_W; rest /= COUNT_W;
    int h = (int)(rest % COUNT_H) * STRIDE_H - BEFORE_H + tap_h * DILATION_H; rest /= COUNT_H;
    int d = (int)(rest % COUNT_D) * STRIDE_D - BEFORE_D + tap_d * DILATION_D; rest /= COUNT_D;
    Chunk value = {};
    if (w >= 0 && w < SIZE_W && h >= 0 && h < SIZE_H && d >= 0 && d < SIZE_D)
      value = *(const Chunk*)(x + rest * stride_n + d * stride_d + h * stride_h + w * stride_w
                              + c * stride_c);
    ((Chunk*)columns)[i] = value;"""

_COL2IM = """    I rest = i;
    int c = (int)(rest % (CHANNELS / V)) * V; rest /= CHANNELS / V;
    int w = rest % SIZE_W; rest /= SIZE_W;
    int h = rest % SIZE_H; rest /= SIZE_H;
    int d = rest % SIZE_D; rest /= SIZE_D;
    A sum[V] = {};
    for (int tap_d = 0; tap_d < TAPS_D; ++tap_d) {
      int at_d = d + BEFORE_D - tap_d * DILATION_D;
      if (at_d < 0 || at_d % STRIDE_D || at_d / STRIDE_D >= COUNT_D) continue;
      for (int tap_h = 0; tap_h < TAPS_H; ++tap_h) {
        int at_h = h + BEFORE_H - tap_h * DILATION_H;
        if (at_h < 0 || at_h % STRIDE_H || at_h / STRIDE_H >= COUNT_H) continue;
        for (int tap_w = 0; tap_w < TAPS_W; ++tap_w) {
          int at_w = w + BEFORE_W - tap_w * DILATION_W;
          if (at_w < 0 || at_w % STRIDE_W || at_w / STRIDE_W >= COUNT_W) continue;
          I row = ((rest * COUNT_D + at_d / STRIDE_D) * COUNT_H + at_h / STRIDE_H) * COUNT_W
                  + at_w / STRIDE_W;
          int tap = (tap_d * TAPS_H + tap_h) * TAPS_W + tap_w;
          Chunk value = *(const Chunk*)(columns + (row * (TAPS_D * TAPS_H * TAPS_W) + tap)
                                        * CHANNELS + c);
          for (int k = 0; k < V; ++k) sum[k] += (A)value.v[k];
        }
      }
    }
    Chunk result;
    for (int k = 0; k < V; ++k) result.v[k] = (T)sum[k];
    *(Chunk*)(x + rest * stride_n + d * stride_d + h * stride_h + w * stride_w + c * stride_c)
        = result;"""


@kept
def conv_source(kernel: str, dtype: Any, problem: Problem, vector: int, index: str) -> str:
    """The CUDA C of ``im2col`` or ``col2im``; a thread moves ``vector`` channels at a time."""
    constants = constants_of(dict(zip("DHW", problem.windows, strict=True)))
    constants |= {"CHANNELS": problem.channels, "V": vector}
    chunk = f"struct alignas({np.dtype(dtype).itemsize * vector}) Chunk {{ T v[V]; }};\n"
    image, columns = ("const T* x", "T* columns")
    body = _IM2COL
    if kernel == "col2im":
        image, columns, body = "T* x", "const T* columns", _COL2IM
    return (
        header(dtype, index, constants)
        + chunk
        + element_kernel(kernel, f"{image}, {columns}, {_STRIDES}", body)
    )


def _vector(x: Array) -> int:
    """How many channels of an image can be moved together: all its runs of them are aligned."""
    vector: int = _CHUNK_BYTES // x.itemsize
    steps = [*x.strides[:-1], address_of(x)]
    if x.strides[-1] != x.itemsize or x.shape[-1] % vector or any(s % _CHUNK_BYTES for s in steps):
        return 1
    return vector


def _move(xp: Module, kernel: str, x: Array, columns: Any, problem: Problem) -> None:
    """Between images [n, depth, height, width, channels] and rows."""
    vector = _vector(x)
    size = (columns if kernel == "im2col" else x).size // vector
    strides = strides_of(x)
    reach = max(abs(s) * n for s, n in zip(strides, x.shape, strict=True))
    index = index_type(max(columns.size, reach))
    number = number_type(index)
    source = conv_source(kernel, x.dtype, problem, vector, index)
    arguments = (x, columns, *(number(s) for s in strides))
    launch_elements(xp, source, kernel, arguments, size, index)


def _images(x: Array) -> Any:
    """Channels-last images as views with three spatial axes."""
    while x.ndim < 5:
        x = x[:, None]
    return x


def _pieces(problem: Problem, itemsize: int) -> list[slice]:
    """Parts of the batch whose rows keep within bounds."""
    places = math.prod(w.count for w in problem.windows)
    image_bytes = places * problem.taps * problem.channels * itemsize
    count = max(1, min(problem.batch, PIECE_BYTES // max(1, image_bytes)))
    return [slice(i, min(i + count, problem.batch)) for i in range(0, problem.batch, count)]


def _columns(xp: Module, images: Array, problem: Problem) -> Any:
    """Images as rows: a matrix [places, taps * channels]."""
    places = images.shape[0] * math.prod(w.count for w in problem.windows)
    columns = xp.empty((places, problem.taps * problem.channels), images.dtype)
    _move(xp, "im2col", images, columns, problem)
    return columns


def forward(xp: Module, x: Array, filters: Array, windows: list[Window]) -> Any:
    """The convolution of channels-last images, which may be a view; the result is contiguous."""
    problem = problem_of(x.shape, filters.shape, windows)
    out = xp.empty((x.shape[0], *(w.count for w in windows), problem.outputs), x.dtype)
    if not out.size or not filters.size:
        out.fill(0)
        return out
    rows = out.reshape(problem.batch, -1, problem.outputs)
    matrix = xp.ascontiguousarray(filters).reshape(-1, problem.outputs)
    if problem.is_product:
        left = xp.ascontiguousarray(x).reshape(-1, problem.channels)
        product(xp, left, matrix, rows.reshape(-1, problem.outputs))
        return out
    images = _images(x)
    for piece in _pieces(problem, x.itemsize):
        left = _columns(xp, images[piece], problem)
        product(xp, left, matrix, rows[piece].reshape(-1, problem.outputs))
    return out


def filter_gradient(
    xp: Module, x: Array, grad: Array, filter_shape: tuple[int, ...], windows: list[Window]
) -> Any:
    """The gradient of the filters, from channels-last images and the gradient of the result."""
    problem = problem_of(x.shape, filter_shape, windows)
    if not x.size or not grad.size or not math.prod(filter_shape):
        return xp.zeros(filter_shape, x.dtype)
    right = xp.ascontiguousarray(grad).reshape(problem.batch, -1, problem.outputs)
    images = _images(x)
    total: Any = None
    pieces = _pieces(problem, x.itemsize)
    for piece in [slice(None)] if problem.is_product else pieces:
        if problem.is_product:
            left = xp.ascontiguousarray(x).reshape(-1, problem.channels)
        else:
            left = _columns(xp, images[piece], problem)
        part = product(xp, left.T, right[piece].reshape(-1, problem.outputs))
        if len(pieces) > 1:  # halves are added up in single precision
            part = part.astype(sum_type(x.dtype), copy=False)
        total = part if total is None else xp.add(total, part, out=total)
    return total.astype(x.dtype, copy=False).reshape(filter_shape)


def input_gradient(
    xp: Module, filters: Array, grad: Array, out: Any, windows: list[Window]
) -> None:
    """Fills ``out``, channels-last images, with their gradient."""
    problem = problem_of(out.shape, filters.shape, windows)
    if not grad.size or not filters.size:
        out.fill(0)
        return
    left = xp.ascontiguousarray(grad).reshape(problem.batch, -1, problem.outputs)
    matrix = xp.ascontiguousarray(filters).reshape(-1, problem.outputs).T
    if problem.is_product and out.flags.c_contiguous:
        rows = out.reshape(-1, problem.channels)
        product(xp, left.reshape(-1, problem.outputs), matrix, rows)
        return
    images = _images(out)
    for piece in _pieces(problem, out.itemsize):
        columns = product(xp, left[piece].reshape(-1, problem.outputs), matrix)
        _move(xp, "col2im", images[piece], columns, problem)
