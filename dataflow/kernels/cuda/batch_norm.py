"""Sums over all places of each channel on a GPU, and batch normalization, which is made of them.

An array has channels a fixed number of elements apart (`Channels.stride`: 1 for channels last), so
that both data formats are read as they lie. A sum takes two launches: blocks add up parts of the
places, and then those parts are added up in double precision. No atomics: every run gives the same.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda.compiler import compile_kernel
from dataflow.kernels.cuda.source import (
    element_kernel,
    header,
    index_type,
    kept,
    launch_elements,
    number_type,
    sum_type,
    vector_header,
    vector_length,
)

#: A block: neighbors in memory side by side, and other places below each other.
_SIDE, _BELOW = 32, 8
#: Threads of a channel that add up what the blocks left; there is but one block for 32 channels.
_TOTAL_BELOW = 32
#: Places that one thread adds up, as long as there are not too many blocks.
_PLACES = 32
_MAX_CHUNKS = 1024


class Channels(NamedTuple):
    """How channels lie in a contiguous array."""

    channels: int
    stride: int

    @classmethod
    def of(cls, x: Array, axis: int) -> Channels:
        """The channels along an axis."""
        return cls(x.shape[axis], math.prod(x.shape[axis % x.ndim + 1 :]))


class _Sum(NamedTuple):
    """What is added up: parameters, code for each place, and for each channel before and after."""

    parameters: str
    before: str
    place: str
    outputs: str
    after: str
    sums: int


_SUMS = {
    "channel_sums": _Sum("const T* x", "", "s0 += (A)x[at];", "T* out", "out[c] = (T)s0;", 1),
    # Relative to the channel's first element: a large mean takes no bits from the variance.
    "moments": _Sum(
        "const T* x",
        "A pivot = (A)x[c * STRIDE];",
        "A v = (A)x[at] - pivot; s0 += v; s1 += v * v;",
        "const A* old_mean, const A* old_variance, A share, A* mean, A* variance, A* new_mean,"
        " A* new_variance",
        """A pivot = (A)x[c * STRIDE];
    double shift = s0 / rows, spread = s1 / rows - shift * shift;
    spread = spread < 0 ? 0 : spread;
    double found = pivot + shift, unbiased = spread * rows / (rows > 1 ? rows - 1 : 1);
    mean[c] = (A)found;
    variance[c] = (A)spread;
    new_mean[c] = share == 1 ? (A)found : (1 - share) * old_mean[c] + share * (A)found;
    new_variance[c] = share == 1 ? (A)unbiased
                                 : (1 - share) * old_variance[c] + share * (A)unbiased;""",
        2,
    ),
    "gradient_sums": _Sum(
        "const T* x, const T* grad, const A* mean",
        "A middle = mean[c];",
        "A g = (A)grad[at]; s0 += g; s1 += g * ((A)x[at] - middle);",
        "const A* variance, A epsilon, A* scale_grad, A* offset_grad",
        """offset_grad[c] = (A)s0;
    scale_grad[c] = (A)(s1 / sqrt((double)(variance[c] + epsilon)));""",
        2,
    ),
}

_EACH = {
    "normalize": (
        "const Row* x, const A* mean, const A* variance, const A* scale, const A* offset, A epsilon,"
        " Row* y",
        "Row value = x[i];",
        """A factor = scale[c] * rsqrt(variance[c] + epsilon);
      value.v[n] = (T)(((A)value.v[n] - mean[c]) * factor + offset[c]);""",
        "y[i] = value;",
    ),
    "normalize_gradient": (
        "const Row* x, const Row* grad, const A* mean, const A* variance, const A* scale,"
        " const A* scale_grad, const A* offset_grad, A epsilon, A per_row, Row* out",
        "Row value = x[i], passed = grad[i];",
        """A inverse = rsqrt(variance[c] + epsilon);
      A own = ((A)value.v[n] - mean[c]) * inverse * scale_grad[c] + offset_grad[c];
      value.v[n] = (T)(((A)passed.v[n] - own * per_row) * inverse * scale[c]);""",
        "out[i] = value;",
    ),
}


@kept
def sums_source(kernel: str, dtype: Any, layout: Channels, index: str) -> str:
    """The CUDA C of a sum: ``NAME`` for parts of the places, ``NAME_total`` for all."""
    one = _SUMS[kernel]
    names = [f"s{k}" for k in range(one.sums)]
    constants = {"CHANNELS": layout.channels, "STRIDE": layout.stride, "BELOW": _TOTAL_BELOW}
    # Channels side by side, or with channels first the places of one.
    along, across = ("x", "y") if layout.stride == 1 else ("y", "x")
    width, height = (_SIDE, _BELOW) if layout.stride == 1 else (_BELOW, _SIDE)
    stores = " ".join(f"part[{k}][row * {width} + column] = {s};" for k, s in enumerate(names))
    adds = " ".join(
        f"part[{k}][row * {width} + column] += part[{k}][(row + half) * {width} + column];"
        for k in range(one.sums)
    )
    writes = " ".join(
        f"parts[((I)blockIdx.y * {one.sums} + {k}) * CHANNELS + c] = part[{k}][column];"
        for k in range(one.sums)
    )
    loads = " ".join(
        f"{s} += parts[(k * {one.sums} + {n}) * CHANNELS + c];" for n, s in enumerate(names)
    )
    totals = " ".join(f"{s} = part[{k}][threadIdx.x];" for k, s in enumerate(names))
    lanes = " ".join(
        f"part[{k}][threadIdx.y * {_SIDE} + threadIdx.x] = {s};" for k, s in enumerate(names)
    )
    folds = " ".join(
        f"part[{k}][threadIdx.y * {_SIDE} + threadIdx.x]"
        f" += part[{k}][(threadIdx.y + half) * {_SIDE} + threadIdx.x];"
        for k in range(one.sums)
    )
    return f"""{header(dtype, index, constants)}
extern "C" __global__ void {kernel}({one.parameters}, double* parts, I rows, I length) {{
  __shared__ double part[{one.sums}][{_SIDE * _BELOW}];
  int column = threadIdx.{along}, row = threadIdx.{across};
  I c = (I)blockIdx.x * {width} + column, first = (I)blockIdx.y * length;
  I last = first + length < rows ? first + length : rows;
  A {" = 0, ".join(names)} = 0;
  if (c < CHANNELS) {{
    {one.before}
    #pragma unroll 8
    for (I r = first + row; r < last; r += {height}) {{
      I at = r / STRIDE * ((I)CHANNELS * STRIDE) + c * STRIDE + r % STRIDE;
      {one.place}
    }}
  }}
  {stores}
  __syncthreads();
  for (int half = {height // 2}; half > 0; half /= 2) {{
    if (row < half) {{ {adds} }}
    __syncthreads();
  }}
  if (row == 0 && c < CHANNELS) {{ {writes} }}
}}
extern "C" __global__ void {kernel}_total({one.parameters}, const double* parts, I rows, I chunks,
                                          {one.outputs}) {{
  __shared__ double part[{one.sums}][{_SIDE} * BELOW];
  I c = (I)blockIdx.x * {_SIDE} + threadIdx.x;
  double {" = 0, ".join(names)} = 0;
  if (c < CHANNELS)
    #pragma unroll 8
    for (I k = threadIdx.y; k < chunks; k += BELOW) {{ {loads} }}
  {lanes}
  __syncthreads();
  for (int half = BELOW / 2; half > 0; half /= 2) {{
    if (threadIdx.y < half) {{ {folds} }}
    __syncthreads();
  }}
  if (threadIdx.y == 0 && c < CHANNELS) {{
    {totals}
    {one.after}
  }}
}}
"""


@kept
def each_source(kernel: str, dtype: Any, layout: Channels, vector: int, index: str) -> str:
    """The CUDA C of what is done to every element, ``vector`` at a time, once the sums are known."""
    parameters, loads, body, stores = _EACH[kernel]
    constants = {"CHANNELS": layout.channels, "STRIDE": layout.stride}
    lines = f"""    {loads}
    I first = i * N / STRIDE % CHANNELS;
    EACH(n) {{
      I c = STRIDE == 1 ? first + n : first;
      {body}
    }}
    {stores}"""
    head = vector_header(dtype, index, vector, constants)
    return head + element_kernel(kernel, parameters, lines)


def _add_up(
    xp: Module, kernel: str, layout: Channels, inputs: tuple[Any, ...], outputs: tuple[Any, ...]
) -> None:
    """Both launches of a sum."""
    x = inputs[0]
    rows = x.size // layout.channels
    index = index_type(x.size)
    number = number_type(index)
    side, below = (_SIDE, _BELOW) if layout.stride == 1 else (_BELOW, _SIDE)
    chunks = max(1, min(_MAX_CHUNKS, rows // (below * _PLACES)))
    length = -(-rows // chunks)
    parts = xp.empty(chunks * _SUMS[kernel].sums * layout.channels, np.float64)
    source = sums_source(kernel, x.dtype, layout, index)
    block = (_SIDE, _BELOW)
    grid = (-(-layout.channels // side), chunks)
    compile_kernel(xp, source, kernel)(grid, block, (*inputs, parts, number(rows), number(length)))
    arguments = (*inputs, parts, number(rows), number(chunks), *outputs)
    blocks = -(-layout.channels // _SIDE)
    total = compile_kernel(xp, source, f"{kernel}_total")
    total((blocks,), (_SIDE, _TOTAL_BELOW), arguments)


def channel_sums(xp: Module, x: Array, axis: int) -> Any:
    """The sum over all axes but one, in the dtype of ``x``."""
    x = xp.ascontiguousarray(x)
    layout = Channels.of(x, axis)
    if not x.size:
        return xp.zeros(layout.channels, x.dtype)
    out = xp.empty(layout.channels, x.dtype)
    _add_up(xp, "channel_sums", layout, (x,), (out,))
    return out


def moments(
    xp: Module, x: Array, axis: int, old_mean: Any, old_variance: Any, share: float
) -> tuple[Any, Any, Any, Any]:
    """Mean and variance of each channel, and the running ones moved towards them by ``share``.

    The running variance is moved towards the unbiased one; with a share of 1 the old ones are not
    read, and may be empty.
    """
    kind = sum_type(x.dtype)
    results = tuple(xp.empty(x.shape[axis], kind) for _ in range(4))
    old = old_mean, old_variance, kind.type(share)
    _add_up(xp, "moments", Channels.of(x, axis), (x,), (*old, *results))
    return results


def normalize(
    xp: Any, x: Any, axis: int, mean: Any, variance: Any, scale: Any, offset: Any, epsilon: float
) -> Any:
    """``(x - mean) / sqrt(variance + epsilon) * scale + offset``."""
    y = xp.empty(x.shape, x.dtype)
    epsilon = sum_type(x.dtype).type(epsilon)
    _for_each(xp, "normalize", x, axis, (x, mean, variance, scale, offset, epsilon, y))
    return y


def normalize_gradient(
    xp: Module,
    x: Array,
    grad: Array,
    axis: int,
    mean: Any,
    variance: Any,
    scale: Any,
    epsilon: float,
    is_training: bool,
) -> tuple[Any, Any, Any]:
    """Gradients of x, scale and offset; when training, mean and variance came from ``x``."""
    kind = sum_type(x.dtype)
    layout, epsilon = Channels.of(x, axis), kind.type(epsilon)
    scale_grad, offset_grad = xp.empty(layout.channels, kind), xp.empty(layout.channels, kind)
    inputs, outputs = (x, grad, mean), (variance, epsilon, scale_grad, offset_grad)
    _add_up(xp, "gradient_sums", layout, inputs, outputs)
    per_row = kind.type(layout.channels / x.size if is_training else 0)
    out = xp.empty(x.shape, x.dtype)
    sums = variance, scale, scale_grad, offset_grad
    _for_each(xp, "normalize_gradient", x, axis, (*inputs, *sums, epsilon, per_row, out))
    return out, scale_grad, offset_grad


def _for_each(xp: Module, kernel: str, x: Array, axis: int, arguments: tuple[Any, ...]) -> None:
    index = index_type(x.size)
    layout = Channels.of(x, axis)
    # Neighbors are of one channel, or of as many as there are numbers at a time.
    together = layout.channels if layout.stride == 1 else layout.stride
    large = [a for a in arguments if getattr(a, "shape", ()) == x.shape]
    vector = vector_length(x.dtype, together, *large)
    source = each_source(kernel, x.dtype, layout, vector, index)
    launch_elements(xp, source, kernel, arguments, x.size // vector, index)
