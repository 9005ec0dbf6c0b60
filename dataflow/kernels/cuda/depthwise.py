"""Depthwise convolution on a GPU: one kernel each for the result and the input's gradient.

A thread computes one element; the filter's gradient is added up by every block over a part of the
places, and then over the blocks. Images are channels last for these functions, and read and written
through their strides.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda.source import (
    constants_of,
    element_kernel,
    header,
    kept,
    launch_elements,
    strides_of,
    sum_type,
)
from dataflow.windows import Window

#: Places that one thread adds up for the filter's gradient.
_PLACES = 64
_MAX_CHUNKS = 1024

_FORWARD = """    I rest = i;
    int k = rest % (CHANNELS * MULTIPLIER); rest /= CHANNELS * MULTIPLIER;
    int ow = rest % COUNT_W; rest /= COUNT_W;
    int oh = rest % COUNT_H; rest /= COUNT_H;
    A sum = 0;
    for (int tap_h = 0; tap_h < TAPS_H; ++tap_h) {
      int h = oh * STRIDE_H - BEFORE_H + tap_h * DILATION_H;
      if (h < 0 || h >= SIZE_H) continue;
      for (int tap_w = 0; tap_w < TAPS_W; ++tap_w) {
        int w = ow * STRIDE_W - BEFORE_W + tap_w * DILATION_W;
        if (w < 0 || w >= SIZE_W) continue;
        sum += (A)x[rest * xn + h * xh + w * xw + k / MULTIPLIER * xc]
               * (A)filter[(tap_h * TAPS_W + tap_w) * (CHANNELS * MULTIPLIER) + k];
      }
    }
    y[rest * yn + oh * yh + ow * yw + k * yc] = (T)sum;"""

_INPUT_GRADIENT = """    I rest = i;
    int c = rest % CHANNELS; rest /= CHANNELS;
    int w = rest % SIZE_W; rest /= SIZE_W;
    int h = rest % SIZE_H; rest /= SIZE_H;
    A sum = 0;
    for (int tap_h = 0; tap_h < TAPS_H; ++tap_h) {
      int oh = h + BEFORE_H - tap_h * DILATION_H;
      if (oh < 0 || oh % STRIDE_H || oh / STRIDE_H >= COUNT_H) continue;
      for (int tap_w = 0; tap_w < TAPS_W; ++tap_w) {
        int ow = w + BEFORE_W - tap_w * DILATION_W;
        if (ow < 0 || ow % STRIDE_W || ow / STRIDE_W >= COUNT_W) continue;
        for (int m = 0; m < MULTIPLIER; ++m)
          sum += (A)y[rest * yn + oh / STRIDE_H * yh + ow / STRIDE_W * yw
                      + (c * MULTIPLIER + m) * yc]
                 * (A)filter[((tap_h * TAPS_W + tap_w) * CHANNELS + c) * MULTIPLIER + m];
      }
    }
    x[rest * xn + h * xh + w * xw + c * xc] = (T)sum;"""

#: One thread for each number of the filter in each part of the places.
_FILTER_GRADIENT = """    I rest = i;
    int k = rest % (CHANNELS * MULTIPLIER); rest /= CHANNELS * MULTIPLIER;
    int tap_w = rest % TAPS_W; rest /= TAPS_W;
    int tap_h = rest % TAPS_H; rest /= TAPS_H;
    I last = rest * length + length < places ? rest * length + length : places;
    A sum = 0;
    for (I place = rest * length; place < last; ++place) {
      I n = place;
      int ow = n % COUNT_W; n /= COUNT_W;
      int oh = n % COUNT_H; n /= COUNT_H;
      int h = oh * STRIDE_H - BEFORE_H + tap_h * DILATION_H;
      int w = ow * STRIDE_W - BEFORE_W + tap_w * DILATION_W;
      if (h < 0 || h >= SIZE_H || w < 0 || w >= SIZE_W) continue;
      sum += (A)x[n * xn + h * xh + w * xw + k / MULTIPLIER * xc]
             * (A)y[n * yn + oh * yh + ow * yw + k * yc];
    }
    sums[i] = sum;"""

_BODIES = {
    "depthwise": ("const T* x, const T* filter, T* y", _FORWARD),
    "depthwise_input": ("T* x, const T* filter, const T* y", _INPUT_GRADIENT),
    "depthwise_filter": ("const T* x, A* sums, const T* y", _FILTER_GRADIENT),
}


@kept
def depthwise_source(
    kernel: str, dtype: Any, windows: tuple[Window, ...], channels: int, multiplier: int
) -> str:
    """The CUDA C of one of the three kernels."""
    arrays, body = _BODIES[kernel]
    constants = constants_of(dict(zip("HW", windows, strict=True)))
    strides = ", ".join(f"I {name}{axis}" for name in "xy" for axis in "nhwc")
    parameters = f"{arrays}, {strides}"
    if kernel == "depthwise_filter":
        parameters += ", I places, I length"
    constants |= {"CHANNELS": channels, "MULTIPLIER": multiplier}
    return header(dtype, "long long", constants) + element_kernel(kernel, parameters, body)


def _launch(
    xp: Module, kernel: str, x: Array, middle: Any, y: Array, windows: list[Window], *numbers: int
) -> None:
    channels = x.shape[3]
    source = depthwise_source(
        kernel, y.dtype, tuple(windows), channels, y.shape[3] // max(1, channels)
    )
    size = {"depthwise": y, "depthwise_input": x, "depthwise_filter": middle}[kernel].size
    values = [np.int64(v) for v in (*strides_of(x), *strides_of(y), *numbers)]
    launch_elements(xp, source, kernel, (x, middle, y, *values), size, "long long")


def forward(xp: Module, x: Array, filters: Array, out: Any, windows: list[Window]) -> None:
    """Fills ``out``, channels-last images, with the convolution of ``x``."""
    _launch(xp, "depthwise", x, xp.ascontiguousarray(filters), out, windows)


def input_gradient(
    xp: Module, filters: Array, grad: Array, out: Any, windows: list[Window]
) -> None:
    """Fills ``out``, channels-last images, with their gradient."""
    _launch(xp, "depthwise_input", out, xp.ascontiguousarray(filters), grad, windows)


def filter_gradient(
    xp: Module, x: Array, grad: Array, filter_shape: tuple[int, ...], windows: list[Window]
) -> Any:
    """The gradient of the filters [taps, taps, channels, multiplier]."""
    places = math.prod(grad.shape[:3])
    if not places or not math.prod(filter_shape):
        return xp.zeros(filter_shape, x.dtype)
    chunks = max(1, min(_MAX_CHUNKS, places // _PLACES))
    length = -(-places // chunks)
    sums = xp.empty((chunks, *filter_shape), sum_type(x.dtype))
    _launch(xp, "depthwise_filter", x, sums, grad, windows, places, length)
    return sums.sum(0).astype(x.dtype, copy=False)
