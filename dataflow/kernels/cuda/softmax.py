"""Softmax and its cross entropies on a GPU: one kernel each, every row read from fast memory.

A row is worked on by a few threads side by side (`_width`), several rows by a block. Sums are added
up in a fixed order, in single precision for halves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda.compiler import compile_kernel
from dataflow.kernels.cuda.source import C_TYPES, THREADS, header, kept, sum_type

_MAX_BLOCKS = 1 << 16
#: Numbers of a row that each of its threads takes, where the row is not too long.
_ITEMS = 4

#: The beginning of each kernel: the row's maximum, and the sum of ``exp(x - maximum)``.
_SUM_OF_EXPONENTIALS = """  __shared__ A part[THREADS];
  int width = blockDim.x, at = threadIdx.y * width + threadIdx.x;
  for (I first = (I)blockIdx.x * blockDim.y; first < rows; first += (I)gridDim.x * blockDim.y) {
    I row = first + threadIdx.y;
    bool there = row < rows;
    const T* in = x + (there ? row : rows - 1) * classes;
    A most = (A)in[0];
    for (I c = threadIdx.x; c < classes; c += width) {
      A v = (A)in[c];
      most = v != v || v > most ? v : most;
    }
    part[at] = most;
    __syncthreads();
    for (int half = width / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) {
        A v = part[at + half];
        part[at] = v != v || v > part[at] ? v : part[at];
      }
      __syncthreads();
    }
    most = part[threadIdx.y * width];
    __syncthreads();
    A total = 0;
    for (I c = threadIdx.x; c < classes; c += width) total += exp((A)in[c] - most);
    part[at] = total;
    __syncthreads();
    for (int half = width / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) part[at] += part[at + half];
      __syncthreads();
    }
    total = part[threadIdx.y * width];
    __syncthreads();
"""

#: What follows for a row that is there; names: parameters after ``x``, and code.
_ENDS = {
    "softmax": (
        "T* out",
        """    for (I c = threadIdx.x; there && c < classes; c += width)
      out[row * classes + c] = (T)(exp((A)in[c] - most) / total);
""",
    ),
    "log_softmax": (
        "T* out",
        """    total = log(total);
    for (I c = threadIdx.x; there && c < classes; c += width)
      out[row * classes + c] = (T)((A)in[c] - most - total);
""",
    ),
    "cross_entropy": (
        "const T* labels, T* loss, T* out",
        """    A log_total = log(total), sum = 0;
    for (I c = threadIdx.x; there && c < classes; c += width) {
      A label = (A)labels[row * classes + c], v = (A)in[c] - most;
      sum += label * (log_total - v);
      out[row * classes + c] = (T)(exp(v) / total - label);
    }
    part[at] = sum;
    __syncthreads();
    for (int half = width / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) part[at] += part[at + half];
      __syncthreads();
    }
    if (there && threadIdx.x == 0) loss[row] = (T)part[at];
    __syncthreads();
""",
    ),
    "sparse_cross_entropy": (
        "const L* labels, T* loss, T* out, A nan",
        """    if (there) {
      I label = (I)labels[row];
      bool valid = label >= 0 && label < classes;
      for (I c = threadIdx.x; c < classes; c += width) {
        A v = exp((A)in[c] - most) / total - (A)(c == label);
        out[row * classes + c] = (T)(valid ? v : nan);
      }
      if (threadIdx.x == 0) loss[row] = (T)(valid ? log(total) + most - (A)in[label] : nan);
    }
""",
    ),
}


@kept
def rows_source(kernel: str, dtype: Any, labels: Any = np.int64) -> str:
    """The CUDA C of one of the kernels; ``labels``: the dtype of sparse labels."""
    parameters, end = _ENDS[kernel]
    return f"""{header(dtype, "long long", {"THREADS": THREADS})}
typedef {C_TYPES[np.dtype(labels).name]} L;
extern "C" __global__ void {kernel}(const T* x, {parameters}, I rows, I classes) {{
{_SUM_OF_EXPONENTIALS}{end}  }}
}}
"""


def _width(classes: int) -> int:
    """Threads of a row: a power of two."""
    return min(THREADS, 1 << max(0, (classes - 1) // _ITEMS).bit_length())


def _launch(
    xp: Module, kernel: str, x: Array, arguments: tuple[Any, ...], labels: Any = np.int64
) -> None:
    rows, classes = x.size // max(1, x.shape[-1]), x.shape[-1]
    if x.size:
        width = _width(classes)
        height = THREADS // width
        grid = (min(_MAX_BLOCKS, -(-rows // height)),)
        launch = compile_kernel(xp, rows_source(kernel, x.dtype, labels), kernel)
        launch(grid, (width, height), (x, *arguments, np.int64(rows), np.int64(classes)))


def softmax(xp: Module, x: Array, logarithm: bool = False) -> Any:
    """The softmax, or its logarithm, over the last axis."""
    x = xp.ascontiguousarray(x)
    out = xp.empty(x.shape, x.dtype)
    _launch(xp, "log_softmax" if logarithm else "softmax", x, (out,))
    return out


def cross_entropy(xp: Module, x: Array, labels: Any) -> tuple[Any, Any]:
    """Loss [rows] and gradient [rows, classes] of the logits ``x``; labels are distributions."""
    x, labels = xp.ascontiguousarray(x), xp.ascontiguousarray(labels)
    loss, out = _results(xp, x)
    _launch(xp, "cross_entropy", x, (labels, loss, out))
    return loss, out


def sparse_cross_entropy(xp: Module, x: Array, labels: Any) -> tuple[Any, Any]:
    """The same for labels [rows] that are numbers of classes; NaN for one that is no class.

    The host does not wait to look at the labels; TensorFlow's kernel gives NaN as well.
    """
    x, labels = xp.ascontiguousarray(x), xp.ascontiguousarray(labels)
    loss, out = _results(xp, x)
    nan = sum_type(x.dtype).type(np.nan)
    _launch(xp, "sparse_cross_entropy", x, (labels, loss, out, nan), labels.dtype)
    return loss, out


def _results(xp: Module, x: Array) -> tuple[Any, Any]:
    make = xp.empty if x.size else xp.zeros  # of no classes at all, the loss is 0
    return make(x.shape[:1], x.dtype), xp.empty(x.shape, x.dtype)
