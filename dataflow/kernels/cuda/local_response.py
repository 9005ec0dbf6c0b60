"""Local response normalization on a GPU: a thread for every element, which adds up its neighbors.

Halves are computed in single precision.
"""

from __future__ import annotations

from typing import Any

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda.source import (
    element_kernel,
    header,
    index_type,
    kept,
    launch_elements,
    sum_type,
)

#: The channels no further than the radius from channel c of the row that begins at ``row``.
_NEIGHBORS = """    I c = i % CHANNELS, row = i - c;
    I first = c > RADIUS ? c - RADIUS : 0, last = c + RADIUS < CHANNELS ? c + RADIUS : CHANNELS - 1;
    A sum = 0;
"""
_NORM = (
    _NEIGHBORS
    + """    for (I k = first; k <= last; ++k) sum += (A)x[row + k] * (A)x[row + k];
    A norm = bias + alpha * sum;
"""
)

_KERNELS = {
    "lrn": ("const T* x, T* out", _NORM + "    out[i] = (T)((A)x[i] * (POWER));"),
    "lrn_norm": ("const T* x, A* norms", _NORM + "    norms[i] = norm;"),
    "lrn_gradient": (
        "const T* x, const T* y, const T* grad, const A* norms, T* out",
        _NEIGHBORS
        + """    for (I k = first; k <= last; ++k)
      sum += (A)grad[row + k] * (A)y[row + k] / norms[row + k];
    A norm = norms[i];
    out[i] = (T)((A)grad[i] * (POWER) - 2 * alpha * beta * (A)x[i] * sum);""",
    ),
}
#: ``norm ** -beta``; square roots are quicker than powers where they serve.
_POWERS = {0.5: "1 / sqrt(norm)", 0.75: "1 / (sqrt(norm) * sqrt(sqrt(norm)))"}


@kept
def lrn_source(kernel: str, dtype: Any, channels: int, radius: int, beta: float, index: str) -> str:
    """The CUDA C of one of the kernels."""
    parameters, body = _KERNELS[kernel]
    constants = {"CHANNELS": channels, "RADIUS": min(radius, channels)}
    power = f"#define POWER {_POWERS.get(beta, 'pow(norm, -beta)')}\n"
    numbers = ", A alpha, A bias, A beta"
    return (
        header(dtype, index, constants) + power + element_kernel(kernel, parameters + numbers, body)
    )


def _run(
    xp: Module, kernel: str, arrays: list[Any], out: Any, radius: int, numbers: tuple[float, ...]
) -> Any:
    x = arrays[0]
    index, number = index_type(x.size), sum_type(x.dtype).type
    source = lrn_source(kernel, x.dtype, x.shape[-1], radius, numbers[2], index)
    arguments = (*[xp.ascontiguousarray(a) for a in arrays], out, *map(number, numbers))
    launch_elements(xp, source, kernel, arguments, x.size, index)
    return out


def lrn(xp: Module, x: Array, radius: int, bias: float, alpha: float, beta: float) -> Any:
    """``x / (bias + alpha * squares nearby) ** beta``, along the last axis."""
    return _run(xp, "lrn", [x], xp.empty(x.shape, x.dtype), radius, (alpha, bias, beta))


def lrn_gradient(
    xp: Module, grad: Array, x: Array, y: Array, radius: int, bias: float, alpha: float, beta: float
) -> Any:
    """The gradient of ``x``, from that of the result ``y``."""
    numbers = (alpha, bias, beta)
    norms = _run(xp, "lrn_norm", [x], xp.empty(x.shape, sum_type(x.dtype)), radius, numbers)
    out = xp.empty(x.shape, x.dtype)
    return _run(xp, "lrn_gradient", [x, y, grad, norms], out, radius, numbers)
