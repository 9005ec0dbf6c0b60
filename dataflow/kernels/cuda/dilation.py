"""Grayscale dilation and its gradients on a GPU: one kernel each, and one for which tap was taken.

The dilation has a thread for every element of the result. A gradient of the image is gathered: each
element looks at the results that it may have given. The gradient of the filter has a block for every
tap and a few channels, whose threads share the places. No atomics: every run gives the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda.compiler import compile_kernel
from dataflow.kernels.cuda.source import (
    constants_of,
    element_kernel,
    header,
    index_type,
    kept,
    launch_elements,
    number_type,
    sum_type,
)
from dataflow.windows import Window

#: A block of the filter's gradient: channels side by side, and places below each other.
_SIDE, _BELOW = 32, 8

_PLACE = """    I rest = i;
    int c = rest % CHANNELS; rest /= CHANNELS;
    int at_w = rest % {of}_W; rest /= {of}_W;
    int at_h = rest % {of}_H;
    I n = rest / {of}_H;
"""

#: The largest sum under the window, and the tap that gave it: the first of equals, and the first of
#: all where none is larger than the least number. A NaN is never larger.
_LARGEST = (
    _PLACE.format(of="COUNT")
    + """    A best = lowest;
    int found = 0;
    for (int y = 0; y < TAPS_H; ++y) {
      int from_h = at_h * STRIDE_H - BEFORE_H + y * DILATION_H;
      if (from_h < 0 || from_h >= SIZE_H) continue;
      for (int x = 0; x < TAPS_W; ++x) {
        int from_w = at_w * STRIDE_W - BEFORE_W + x * DILATION_W;
        if (from_w < 0 || from_w >= SIZE_W) continue;
        int tap = y * TAPS_W + x;
        A value = (A)(T)((A)image[((n * SIZE_H + from_h) * SIZE_W + from_w) * CHANNELS + c] +
                         (A)filter[tap * CHANNELS + c]);
        if (value > best) {
          best = value;
          found = tap;
        }
      }
    }
"""
)

_IMAGE = (
    _PLACE.format(of="SIZE")
    + """    A sum = 0;
    for (int y = 0; y < TAPS_H; ++y) {
      int to_h = at_h + BEFORE_H - y * DILATION_H;
      if (to_h < 0 || to_h % STRIDE_H || to_h / STRIDE_H >= COUNT_H) continue;
      for (int x = 0; x < TAPS_W; ++x) {
        int to_w = at_w + BEFORE_W - x * DILATION_W;
        if (to_w < 0 || to_w % STRIDE_W || to_w / STRIDE_W >= COUNT_W) continue;
        I to = ((n * COUNT_H + to_h / STRIDE_H) * COUNT_W + to_w / STRIDE_W) * CHANNELS + c;
        if (taken[to] == y * TAPS_W + x) sum += (A)grad[to];
      }
    }
    out[i] = (T)sum;"""
)

#: ``places``: batch, rows and columns of the result, as one.
_FILTER = """extern "C" __global__ void dilation_filter(const int* taken, const T* grad, T* out, I places) {
  __shared__ D part[BELOW][SIDE];
  int tap = blockIdx.y, c = blockIdx.x * SIDE + threadIdx.x;
  int y = tap / TAPS_W, x = tap % TAPS_W;
  D sum = 0;
  for (I p = threadIdx.y; c < CHANNELS && p < places; p += BELOW) {
    if (taken[p * CHANNELS + c] != tap) continue;
    int from_w = (int)(p % COUNT_W) * STRIDE_W - BEFORE_W + x * DILATION_W;
    int from_h = (int)(p / COUNT_W % COUNT_H) * STRIDE_H - BEFORE_H + y * DILATION_H;
    if (from_h < 0 || from_h >= SIZE_H || from_w < 0 || from_w >= SIZE_W) continue;
    sum += (D)grad[p * CHANNELS + c];
  }
  part[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y == 0 && c < CHANNELS) {
    for (int k = 1; k < BELOW; ++k) sum += part[k][threadIdx.x];
    out[tap * CHANNELS + c] = (T)sum;
  }
}
"""

_ELEMENTS = {
    "dilation": (
        "const T* image, const T* filter, T* out, A lowest",
        _LARGEST,
        "out[i] = (T)best;",
    ),
    "dilation_taken": (
        "const T* image, const T* filter, int* taken, A lowest",
        _LARGEST,
        "taken[i] = found;",
    ),
    "dilation_image": ("const int* taken, const T* grad, T* out", _IMAGE, ""),
}


@kept
def dilation_source(
    kernel: str, dtype: Any, windows: tuple[Window, Window], channels: int, index: str
) -> str:
    """The CUDA C of one of the kernels."""
    constants = {**constants_of(dict(zip("HW", windows, strict=True))), "CHANNELS": channels}
    if kernel != "dilation_filter":
        parameters, body, last = _ELEMENTS[kernel]
        return header(dtype, index, constants) + element_kernel(
            kernel, parameters, f"{body}    {last}"
        )
    wide = "double" if np.dtype(dtype).kind == "f" else "long long"
    constants |= {"SIDE": _SIDE, "BELOW": _BELOW}
    return header(dtype, index, constants) + f"typedef {wide} D;\n" + _FILTER


def _lowest(dtype: Any) -> Any:
    if dtype.kind == "f":
        return sum_type(dtype).type(-np.inf)
    return dtype.type(np.iinfo(dtype).min)


def _run(
    xp: Any, kernel: str, windows: list[Window], arguments: tuple[Any, ...], out: Any, *numbers: Any
) -> Any:
    height, width = windows
    dtype = arguments[-1].dtype
    arrays = [xp.ascontiguousarray(a) for a in arguments]
    index = index_type(max(a.size for a in (*arrays, out)))
    source = dilation_source(kernel, dtype, (height, width), out.shape[-1], index)
    launch_elements(xp, source, kernel, (*arrays, out, *numbers), out.size, index)
    return out


def dilate(xp: Module, image: Array, filter: Array, windows: list[Window]) -> Any:
    """The dilation of an image [n, rows, columns, channels]."""
    shape = (image.shape[0], *(w.count for w in windows), image.shape[3])
    out, lowest = xp.empty(shape, image.dtype), _lowest(image.dtype)
    return _run(xp, "dilation", windows, (image, filter), out, lowest)


def _taken(xp: Module, image: Array, filter: Array, windows: list[Window]) -> Any:
    """For each element of the dilation the number of the tap that gave it, int32."""
    shape = (image.shape[0], *(w.count for w in windows), image.shape[3])
    out, lowest = xp.empty(shape, np.int32), _lowest(image.dtype)
    return _run(xp, "dilation_taken", windows, (image, filter), out, lowest)


def image_gradient(
    xp: Module, image: Array, filter: Array, grad: Array, windows: list[Window]
) -> Any:
    """The gradient of the image."""
    taken = _taken(xp, image, filter, windows)
    out = xp.empty(image.shape, image.dtype)
    return _run(xp, "dilation_image", windows, (taken, grad), out)


def filter_gradient(
    xp: Module, image: Array, filter: Array, grad: Array, windows: list[Window]
) -> Any:
    """The gradient of the filter [rows, columns, channels]."""
    if not grad.size or not filter.size:
        return xp.zeros(filter.shape, filter.dtype)
    height, width = windows
    taken, grad = _taken(xp, image, filter, windows), xp.ascontiguousarray(grad)
    out = xp.empty(filter.shape, filter.dtype)
    index = index_type(max(grad.size, filter.size))
    channels = filter.shape[2]
    source = dilation_source("dilation_filter", filter.dtype, (height, width), channels, index)
    grid = (-(-channels // _SIDE), height.taps * width.taps)
    arguments = (taken, grad, out, number_type(index)(grad.size // channels))
    compile_kernel(xp, source, "dilation_filter")(grid, (_SIDE, _BELOW), arguments)
    return out
