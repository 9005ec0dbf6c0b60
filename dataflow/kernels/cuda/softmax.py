"""Softmax and its cross entropies on a GPU: one kernel each, every row read from memory once.

Threads share rows as `row_threads` says. Sums are added up in a fixed order, in single precision for
halves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda.compiler import compile_kernel
from dataflow.kernels.cuda.row_threads import RowForm, fold, fold_sums, row_form
from dataflow.kernels.cuda.source import C_TYPES, header, kept, sum_type


def _each(work: str, there: str = "") -> str:
    """``work`` for every number of the row: ``v`` is the number, or what was kept of it (`KEEP`)."""
    return f"""#if ITEMS
    #pragma unroll
    for (int k = 0; k < ITEMS; ++k) {{
      int c = threadIdx.x + k * WIDTH;
      if ({there}c < classes) {{ A& v = held[k]; {work} }}
    }}
#else
    for (int c = threadIdx.x; {there}c < classes; c += WIDTH) {{ A v = (A)in[c]; {work} }}
#endif
"""


#: The beginning of each kernel: the row's maximum, and the sum of ``exp(x - maximum)``.
_SUM_OF_EXPONENTIALS = (
    """  __shared__ A part[1][THREADS];
  int at = threadIdx.y * WIDTH + threadIdx.x;
  for (I first = (I)blockIdx.x * blockDim.y; first < rows; first += (I)gridDim.x * blockDim.y) {
    I row = first + threadIdx.y;
    bool there = row < rows;
    I start = (there ? row : rows - 1) * classes;
    const T* in = x + start;
    T* to = out + start;
#if ITEMS
    A held[ITEMS];
    #pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      int c = threadIdx.x + k * WIDTH;
      held[k] = (A)in[c < classes ? c : 0];
    }
#endif
    A most = (A)in[0];
"""
    + _each("most = v != v || v > most ? v : most;")
    + fold(["most"], ["{{ A v = {}; most = v != v || v > most ? v : most; }}"])
    + """    A total = 0;
"""
    + _each("KEEP total += EXP;")
    + fold_sums(["total"])
)

#: Of each kernel: what it keeps of a number, the exponential of ``x - maximum`` then and later; the
#: parameters after ``x``; and what follows the sum.
_KERNELS = {
    "softmax": (
        ("v = exp(v - most);", "v", "exp(v - most)"),
        "T* out",
        "    A inverse = 1 / total;\n" + _each("to[c] = (T)(E * inverse);", "there && "),
    ),
    "log_softmax": (
        ("v -= most;", "exp(v)", "v - most"),
        "T* out",
        "    total = log(total);\n" + _each("to[c] = (T)(E - total);", "there && "),
    ),
    "cross_entropy": (
        ("v -= most;", "exp(v)", "v - most"),
        "const T* labels, T* loss, T* out",
        "    const T* given = labels + start;\n    A log_total = log(total), inverse = 1 / total;\n    total = 0;\n"
        + _each(
            "A label = (A)given[c], u = E; total += label * (log_total - u);"
            " to[c] = (T)(exp(u) * inverse - label);",
            "there && ",
        )
        + fold_sums(["total"])
        + "    if (there && threadIdx.x == 0) loss[row] = (T)total;\n",
    ),
    "sparse_cross_entropy": (
        ("v = exp(v - most);", "v", "exp(v - most)"),
        "const L* labels, T* loss, T* out, A nan",
        """    I label = there ? (I)labels[row] : 0;
    bool valid = label >= 0 && label < classes;
    A inverse = valid ? 1 / total : nan;
"""
        + _each("to[c] = (T)(E * inverse - (A)(c == label));", "there && ")
        + """    if (there && threadIdx.x == 0)
      loss[row] = (T)(valid ? log(total) + most - (A)in[label] : nan);
""",
    ),
}


@kept
def rows_source(kernel: str, dtype: Any, classes: int, labels: Any = np.int64) -> str:
    """The CUDA C of one of the kernels for rows of about so many classes (`row_form`).

    ``labels``: the dtype of sparse labels.
    """
    return _source(kernel, np.dtype(dtype), row_form(classes, dtype), np.dtype(labels))


@kept
def _source(kernel: str, dtype: np.dtype[Any], form: RowForm, labels: np.dtype[Any]) -> str:
    (keep, exponential, later), parameters, end = _KERNELS[kernel]
    return f"""{header(dtype, "long long", form.constants)}
typedef {C_TYPES[labels.name]} L;
#if ITEMS
#define KEEP {keep}
#define EXP {exponential}
#define E v
#else
#define KEEP
#define EXP exp(v - most)
#define E {later}
#endif
extern "C" __global__ void {form.bounds} {kernel}(const T* x, {parameters}, I rows, int classes) {{
{_SUM_OF_EXPONENTIALS}{end}  }}
}}
"""


def _launch(
    xp: Module, kernel: str, x: Array, arguments: tuple[Any, ...], labels: Any = np.int64
) -> None:
    rows, classes = x.size // max(1, x.shape[-1]), x.shape[-1]
    if x.size:
        grid, block = row_form(classes, x.dtype).launch_shape(rows)
        launch = compile_kernel(xp, rows_source(kernel, x.dtype, classes, labels), kernel)
        launch(grid, block, (x, *arguments, np.int64(rows), np.int32(classes)))


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
