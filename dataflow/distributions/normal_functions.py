"""Functions of the standard normal distribution, and others that densities need."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.activation import softplus_op
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import (
    abs_,
    equal,
    exp,
    expm1,
    log,
    log1p,
    logical_or,
    maximum,
    minimum,
    square,
)
from dataflow.ops.special import erfc, ndtri as _ndtri
from dataflow.shapes import normalize_axis

#: Below the first, log_ndtr takes its asymptotic series; above the second, ``-ndtr(-x)``.
_LIMITS = {np.dtype(np.float32): (-10.0, 5.0), np.dtype(np.float64): (-20.0, 8.0)}
LOGNDTR_FLOAT32_LOWER, LOGNDTR_FLOAT32_UPPER = _LIMITS[np.dtype(np.float32)]
LOGNDTR_FLOAT64_LOWER, LOGNDTR_FLOAT64_UPPER = _LIMITS[np.dtype(np.float64)]


def _float(x: TensorLike) -> Any:
    tensor = convert_to_tensor(x, name="x")
    if tensor.dtype.as_numpy_dtype not in (np.float32, np.float64):
        raise TypeError(f"x must be float32 or float64, got {tensor.dtype.name}.")
    return tensor


def ndtr(x: TensorLike, name: str = "ndtr") -> Any:
    """``P(X <= x)`` for a standard normal X, element by element; float32 or float64."""
    with name_scope(name):
        return 0.5 * erfc(-_float(x) * math.sqrt(0.5))


def ndtri(p: Any, name: str = "ndtri") -> Any:
    """The inverse of `ndtr`: infinite at 0 and 1, with gradient 0 there."""
    with name_scope(name):
        p = _float(p)
        at_end = logical_or(equal(p, 0.0), equal(p, 1.0))
        half, infinite = (np.array(x, p.dtype.numpy) for x in (0.5, np.inf))
        inside = _ndtri(array.where_v2(at_end, half, p))
        return array.where_v2(at_end, array.where_v2(p < half, -infinite, infinite), inside)


def erfinv(x: TensorLike, name: str = "erfinv") -> Any:
    """The inverse of `tf.math.erf`, element by element; float32 or float64."""
    with name_scope(name):
        return ndtri((_float(x) + 1.0) / 2.0) / math.sqrt(2.0)


def log_ndtr(x: Any, series_order: int = 3, name: str = "log_ndtr") -> Any:
    """``log(ndtr(x))`` without underflow, element by element; float32 or float64.

    Far below zero it is the asymptotic series ``-x^2/2 - log(-x) - log(2 pi)/2 +
    log(1 - 1/x^2 + 3/x^4 - ...)`` with ``series_order`` terms (0 to 30, else `ValueError`).
    """
    if not isinstance(series_order, int):
        raise TypeError("series_order must be a Python integer.")
    if not 0 <= series_order <= 30:
        raise ValueError(f"series_order must be between 0 and 30, got {series_order}.")
    with name_scope(name):
        x = _float(x)
        low, high = _LIMITS[np.dtype(x.dtype.as_numpy_dtype)]
        # Each branch sees arguments of its own range only, so that no gradient is 0 * infinity.
        below = minimum(x, low)
        terms: Any = array.ones_like(x)
        factor = 1.0
        for n in range(1, series_order + 1):
            factor *= -(2 * n - 1)
            terms = terms + factor / below ** (2.0 * n)
        series = -0.5 * square(below) - log(-below) - 0.5 * math.log(2 * math.pi) + log(terms)
        return array.where_v2(
            x > high,
            -ndtr(-x),
            array.where_v2(x > low, log(ndtr(maximum(x, low))), series),
        )


def log_cdf_laplace(x: Any, name: str = "log_cdf_laplace") -> Any:
    """``log P(X <= x)`` for a Laplace distribution with mean 0 and scale 1."""
    with name_scope(name):
        x = _float(x)
        half = exp(-abs_(x))
        return array.where_v2(x < 0.0, x - math.log(2.0), log1p(-0.5 * half))


def softplus_inverse(x: Any, name: str | None = None) -> Any:
    """The y with ``softplus(y) = x``: ``log(exp(x) - 1)`` without overflow, for x > 0."""
    with name_scope(name, "softplus_inverse"):
        x = convert_to_tensor(x, name="x")
        threshold = math.log(np.finfo(x.dtype.as_numpy_dtype).eps) + 2.0
        small, large = x < math.exp(threshold), x > -threshold
        between = array.where_v2(small | large, array.ones_like(x), x)
        return array.where_v2(
            small, log(x), array.where_v2(large, x, between + log(-expm1(-between)))
        )


def softplus(x: TensorLike) -> Any:
    """``log(1 + exp(x))``."""
    return softplus_op(x)


def percentile(
    x: Any,
    q: Any,
    axis: Any = None,
    interpolation: str | None = None,
    keep_dims: bool = False,
    validate_args: bool = False,
    name: str | None = None,
) -> Any:
    """The ``q``-th percentile of ``x`` (q in [0, 100]) over ``axis``, by default over all of it.

    ``interpolation`` is "nearest" (also None), "lower" or "higher": which element to take where q
    falls between two. Raises `ValueError` for another one.
    """
    from dataflow import dtypes
    from dataflow.ops.casts import cast
    from dataflow.ops.math import ceil, floor, round_
    from dataflow.ops.sequences import top_k

    # Elements are counted from the largest: the roles of floor and ceil change places, and halves are
    # rounded to an even place from there.
    choices: dict[Any, Any] = {None: round_, "nearest": round_, "lower": ceil, "higher": floor}
    if interpolation not in choices:
        raise ValueError(
            f"interpolation must be 'nearest', 'lower' or 'higher', got {interpolation!r}."
        )
    with name_scope(name, "percentile"):
        x = convert_to_tensor(x, name="x")
        rank = x.get_shape().ndims
        if axis is None:
            axes = list(range(rank)) if rank is not None else None
            flat = array.reshape(x, [-1])
            kept_shape = array.ones_like(array.shape(x))
        else:
            if rank is None:
                raise ValueError("percentile along an axis needs an x of known rank.")
            axes = sorted({normalize_axis(int(a), rank) for a in np.atleast_1d(axis)})
            others = [i for i in range(rank) if i not in axes]
            moved = array.transpose(x, others + axes)
            outer = array.shape(moved)[: len(others)]
            flat = array.reshape(moved, array.concat([outer, [-1]], 0))
            sizes = array.unstack(array.shape(x), num=rank)
            kept_shape = array.stack([1 if i in axes else s for i, s in enumerate(sizes)])
        count = array.shape(flat)[-1]
        ordered, _ = top_k(flat, count)  # From the largest to the smallest.
        fraction = 1.0 - cast(q, dtypes.float64) / 100.0
        last = cast(count - 1, dtypes.float64)
        index = choices[interpolation](last * fraction)
        index = cast(maximum(minimum(index, last), np.float64(0)), dtypes.int32)
        found = array.gather(ordered, index, axis=-1)
        return array.reshape(found, kept_shape) if keep_dims else found
