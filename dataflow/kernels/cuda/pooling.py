"""Pooling on a GPU: one kernel each, a thread for every few neighbors that are written.

A gradient is gathered: every element of the input looks at the windows that it lies in, so that
there are no atomics, and sums have one order. The geometry is compiled in, all but the size of the
first axis where that is not pooled. Of equal maxima the first in row-major order counts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda.source import (
    C_TYPES,
    element_kernel,
    index_type,
    kept,
    launch_elements,
    vector_header,
    vector_length,
)
from dataflow.windows import Window

#: Axes in order: a window, or the size of an axis that is not pooled.
Axes = tuple[Window | int, ...]

#: What pooled elements may be.
DTYPES = tuple(C_TYPES)


def axes_of(shape: tuple[int, ...], windows: dict[int, Window]) -> Axes:
    """The axes of an array; neighbors that are not pooled become one."""
    axes: list[Window | int] = []
    for axis, size in enumerate(shape):
        if axis in windows:
            axes.append(windows[axis])
        elif axes and isinstance(axes[-1], int):
            axes[-1] *= size
        else:
            axes.append(size)
    return tuple(axes)


def _strides(axes: Axes, of_output: bool) -> list[int]:
    sizes = [a if isinstance(a, int) else a.count if of_output else a.size for a in axes]
    return [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]


def _place(axes: Axes, of_output: bool) -> list[str]:
    """Code that takes a position apart: ``p0, p1, ...`` from ``i``."""
    lines = ["I rest = i;"]
    for k in range(len(axes) - 1, 0, -1):
        axis = axes[k]
        size = axis if isinstance(axis, int) else axis.count if of_output else axis.size
        lines.append(f"int p{k} = rest % {size}; rest /= {size};")
    return [*lines, "I p0 = rest;"]


def _sum(terms: list[tuple[str, int]]) -> str:
    return " + ".join(f"(I){name} * {stride}" for name, stride in terms)


def _taps(axes: Axes, inner: list[str], place: str = "p") -> list[str]:
    """Loops over the elements under the window at ``p0, p1, ...``, in row-major order.

    ``inner`` sees the taps ``t0, ...``, and the elements' places ``a0, ...`` on their axes.
    """
    lines, depth = [], 0
    for k, axis in enumerate(axes):
        if isinstance(axis, int):
            continue
        lines += [
            f"for (int t{k} = 0; t{k} < {axis.taps}; ++t{k}) {{",
            f"int a{k} = {place}{k} * {axis.stride} - {axis.before} + t{k};",
            f"if (a{k} < 0 || a{k} >= {axis.size}) continue;",
        ]
        depth += 1
    return [*lines, *inner, "}" * depth]


def _windows_around(axes: Axes, inner: list[str]) -> list[str]:
    """Loops over the windows ``o0, ...`` that the element at ``p0, p1, ...`` lies in."""
    lines, depth = [], 0
    for k, axis in enumerate(axes):
        if isinstance(axis, int):
            continue
        lines += [
            f"int last{k} = ((int)p{k} + {axis.before}) / {axis.stride};",
            f"int first{k} = (int)p{k} + {axis.before} - {axis.taps - 1};",
            f"first{k} = first{k} > 0 ? (first{k} + {axis.stride - 1}) / {axis.stride} : 0;",
            f"if (last{k} > {axis.count - 1}) last{k} = {axis.count - 1};",
            f"for (int o{k} = first{k}; o{k} <= last{k}; ++o{k}) {{",
            f"int own{k} = (int)p{k} + {axis.before} - o{k} * {axis.stride};",
        ]
        depth += 1
    return [*lines, *inner, "}" * depth]


def _tap(axes: Axes, name: str) -> str:
    """The number of an element of a window: ``name`` and an axis is its place there."""
    text = "0"
    for k, axis in enumerate(axes):
        if not isinstance(axis, int):
            text = f"({text} * {axis.taps} + {name}{k})"
    return text


def _count(axes: Axes, place: str) -> list[str]:
    """Code for ``count``: how many elements the window at ``place`` sees."""
    lines = ["int count = 1;"]
    for k, axis in enumerate(axes):
        if not isinstance(axis, int):
            lines += [
                f"{{ int from = (int){place}{k} * {axis.stride} - {axis.before};",
                f"int to = from + {axis.taps} < {axis.size} ? from + {axis.taps} : {axis.size};",
                "from = from > 0 ? from : 0;",
                "count *= to > from ? to - from : 1; }",
            ]
    return lines


#: Which element of a window: a byte wherever that is enough. The last value is none of them.
_FEW_TAPS = 255


def _tap_type(axes: Axes) -> Any:
    """NumPy's type of the numbers of a window's elements, with one more for none."""
    taps = math.prod(axis.taps for axis in axes if not isinstance(axis, int))
    return np.dtype(np.uint8 if taps <= _FEW_TAPS else np.int32)


@kept
def pooling_source(kernel: str, dtype: Any, axes: Axes, vector: int, index: str) -> str:
    """The CUDA C of one of the kernels below; a thread takes ``vector`` numbers of the last axis."""
    if vector > 1:
        assert isinstance(axes[-1], int)
        axes = (*axes[:-1], axes[-1] // vector)
    of_output = not kernel.endswith("_gradient")
    inputs, outputs = _strides(axes, False), _strides(axes, True)
    pooled = [k for k, axis in enumerate(axes) if not isinstance(axis, int)]
    under = _sum([(f"{'a' if k in pooled else 'p'}{k}", s) for k, s in enumerate(inputs)])
    around = _sum([(f"{'o' if k in pooled else 'p'}{k}", s) for k, s in enumerate(outputs)])
    parameters = "const Row* x, Row* out"
    if kernel == "max_pool":
        larger = "!(best.v[n] != best.v[n]) && !(v.v[n] <= best.v[n])"
        body = [
            "Row best; EACH(n) best.v[n] = (T)lowest;",
            *_taps(axes, [f"Row v = x[{under}];", f"EACH(n) if ({larger}) best.v[n] = v.v[n];"]),
            "out[i] = best;",
        ]
        parameters += ", A lowest"
    elif kernel == "first_maximum":
        found = "if (found.v[n] < 0 && v.v[n] == best.v[n]) found.v[n] = at * N + n;"
        body = [
            "Row best = y[i];",
            "Places found; EACH(n) found.v[n] = -1;",
            *_taps(axes, [f"I at = {under}; Row v = x[at];", f"EACH(n) {found}"]),
            "out[i] = found;",
        ]
        parameters = "const Row* x, const Row* y, Places* out"
    elif kernel == "first_tap":
        found = f"found.v[n] == (Tap)-1 && v.v[n] == best.v[n]) found.v[n] = {_tap(axes, 't')};"
        body = [
            "Row best = y[i];",
            "Taps found; EACH(n) found.v[n] = (Tap)-1;",
            *_taps(axes, [f"Row v = x[{under}];", f"EACH(n) if ({found}"]),
            "out[i] = found;",
        ]
        parameters = "const Row* x, const Row* y, Taps* out"
    elif kernel == "max_pool_gradient":
        own = [
            f"I o = {around};",
            "Taps first = taps[o]; Row g = grad[o];",
            f"EACH(n) if (first.v[n] == {_tap(axes, 'own')}) sum.v[n] += (A)g.v[n];",
        ]
        body = ["Sums sum = {};", *_windows_around(axes, own), *_STORE]
        parameters = "const Taps* taps, const Row* grad, Row* out"
    elif kernel == "avg_pool":
        body = [
            "Sums sum = {};",
            *_taps(axes, [f"Row v = x[{under}];", "EACH(n) sum.v[n] += (A)v.v[n];"]),
            *_count(axes, "p"),
            "EACH(n) sum.v[n] /= (A)count;",
            *_STORE,
        ]
    else:
        assert kernel == "avg_pool_gradient"
        own = [
            *_count(axes, "o"),
            f"Row v = x[{around}];",
            "EACH(n) sum.v[n] += (A)v.v[n] / (A)count;",
        ]
        body = ["Sums sum = {};", *_windows_around(axes, own), *_STORE]
    lines = "\n".join(f"    {line}" for line in [*_place(axes, of_output), *body])
    types = (
        f"typedef {C_TYPES[_tap_type(axes).name]} Tap;\nstruct alignas(N * sizeof(Tap)) Taps {{ Tap v[N]; }};\n"
        "struct Places { long long v[N]; };\n"
    )
    head = vector_header(dtype, index, vector, {}) + types
    return head + element_kernel(kernel, parameters, lines)


#: The sums as what is stored.
_STORE = ["Row rounded; EACH(n) rounded.v[n] = (T)sum.v[n];", "out[i] = rounded;"]


def _run(
    xp: Module, kernel: str, dtype: Any, axes: Axes, arguments: list[Any], out: Any, *numbers: Any
) -> Any:
    index = index_type(max(a.size for a in (*arguments, out)))
    arrays = [*(xp.ascontiguousarray(a) for a in arguments), out]
    together = axes[-1] if isinstance(axes[-1], int) and len(axes) > 1 else 1
    vector = vector_length(dtype, together, *(a for a in arrays if a.dtype == dtype))
    source = pooling_source(kernel, dtype, _without_size(axes), vector, index)
    launch_elements(xp, source, kernel, (*arrays, *numbers), out.size // vector, index)
    return out


def _without_size(axes: Axes) -> Axes:
    """A first axis that is not pooled may have any size: one source serves every batch."""
    return (1, *axes[1:]) if isinstance(axes[0], int) else axes


def max_pool(xp: Module, x: Array, axes: Axes, shape: tuple[int, ...]) -> Any:
    """The maximum under every window; NaN where there is one."""
    kind = x.dtype
    sums = np.dtype(np.float32) if kind.char == "e" else kind
    lowest = sums.type(-np.inf) if kind.kind == "f" else kind.type(np.iinfo(kind).min)
    return _run(xp, "max_pool", kind, axes, [x], xp.empty(shape, kind), lowest)


def max_pool_gradient(xp: Module, x: Array, y: Array, grad: Array, axes: Axes) -> Any:
    """The gradient of the input, from input, result and the gradient of the result.

    Which element of each window was its first maximum is found once, not by each element again.
    """
    taps = _run(xp, "first_tap", x.dtype, axes, [x, y], xp.empty(y.shape, _tap_type(axes)))
    out = xp.empty(x.shape, grad.dtype)
    return _run(xp, "max_pool_gradient", x.dtype, axes, [taps, grad], out)


def first_maximum(xp: Module, x: Array, y: Array, axes: Axes) -> Any:
    """Where in ``x``, taken flat, the first maximum of every window is; -1 for none (NaN)."""
    return _run(xp, "first_maximum", x.dtype, axes, [x, y], xp.empty(y.shape, np.int64))


def avg_pool(xp: Module, x: Array, axes: Axes, shape: tuple[int, ...]) -> Any:
    """The mean under every window; padding does not count."""
    return _run(xp, "avg_pool", x.dtype, axes, [x], xp.empty(shape, x.dtype))


def avg_pool_gradient(xp: Module, grad: Array, axes: Axes, shape: tuple[int, ...]) -> Any:
    """The gradient of the input, which has ``shape``."""
    return _run(xp, "avg_pool_gradient", grad.dtype, axes, [grad], xp.empty(shape, grad.dtype))
