"""Means and variances of tensors, and what is made of them alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import AxisLike, TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.arithmetic import add_v2_op, mul_op, squared_difference_op, sub_op
from dataflow.ops.elementary import rsqrt_op, square_op
from dataflow.ops.math import (
    cast,
    div_no_nan,
    maximum,
    reciprocal,
    reduce_mean,
    reduce_prod,
    reduce_sum,
)
from dataflow.ops.renamed_arguments import renamed
from dataflow.ops.seeds import count_left_out
from dataflow.ops.sources import constant
from dataflow.ops.static_value import static_value


def _keep(keepdims: Any, keep_dims: Any) -> bool:
    chosen = renamed("keepdims", keepdims, "keep_dims", keep_dims)
    return bool(chosen)


def _axes_list(axes: AxisLike) -> list[int]:
    value = static_value(axes) if isinstance(axes, Tensor) else axes
    if value is None:
        raise ValueError("the axes of moments must be known when the graph is built")
    return [int(a) for a in np.asarray(value).reshape(-1)]


def _half(tensor: Tensor) -> bool:
    return tensor.dtype.base_dtype in (dtypes.float16, dtypes.bfloat16)


def moments(
    x: TensorLike,
    axes: AxisLike,
    shift: Any = None,
    name: str | None = None,
    keep_dims: Any = None,
    keepdims: Any = None,
) -> tuple[Tensor, Tensor]:
    """The mean and the (biased) variance of x over ``axes``.

    ``keep_dims`` leaves the axes with size 1. ``shift`` is ignored, as in TensorFlow. Half
    precision is computed in float32.
    """
    keep = _keep(keepdims, keep_dims)
    with op_scope(name, "moments", [x, axes]):
        x = convert_to_tensor(x, name="x")
        y = cast(x, dtypes.float32) if _half(x) else x
        axes = _axes_list(axes)
        mean = reduce_mean(y, axes, keepdims=True, name="mean")
        spread = squared_difference_op(y, array_ops.stop_gradient(mean))
        variance = reduce_mean(spread, axes, keepdims=True, name="variance")
        if not keep:
            mean = array_ops.squeeze(mean, axes)
            variance = array_ops.squeeze(variance, axes)
        if _half(x):
            return cast(mean, x.dtype.base_dtype), cast(variance, x.dtype.base_dtype)
        return mean, variance


def weighted_moments(
    x: Any,
    axes: AxisLike,
    frequency_weights: Any,
    name: str | None = None,
    keep_dims: Any = None,
    keepdims: Any = None,
) -> tuple[Tensor, Tensor]:
    """The mean and variance of x over ``axes``, each element counted ``frequency_weights`` times.

    The weights broadcast against x.
    """
    keep = _keep(keepdims, keep_dims)
    with op_scope(name, "weighted_moments", [x, frequency_weights, axes]):
        x = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(frequency_weights, name="frequency_weights")
        half = _half(x)
        original = x.dtype.base_dtype
        if half:
            x = cast(x, dtypes.float32)
        if weights.dtype.base_dtype is not x.dtype.base_dtype:
            weights = cast(weights, x.dtype.base_dtype)
        axes = _axes_list(axes)
        total = reduce_sum(weights * x, axes, keepdims=True, name="weighted_input_sum")
        spread_weights = weights + array_ops.zeros_like(x)
        count = reduce_sum(spread_weights, axes, keepdims=True, name="sum_of_weights")
        mean = div_no_nan(total, count)
        distance = reduce_sum(
            weights * squared_difference_op(x, mean), axes, keepdims=True, name="weighted_distsq"
        )
        variance = div_no_nan(distance, count)
        count_left_out(1)
        if not keep:
            mean = array_ops.squeeze(mean, axes)
            variance = array_ops.squeeze(variance, axes)
        if half:
            return cast(mean, original), cast(variance, original)
        return mean, variance


def sufficient_statistics(
    x: TensorLike,
    axes: Any,
    shift: Any = None,
    keep_dims: Any = None,
    name: str | None = None,
    keepdims: Any = None,
) -> tuple[Tensor, Tensor, Tensor, Any]:
    """``(count, sum, sum of squares, shift)`` over ``axes``; sums are of x - shift when given."""
    keep = _keep(keepdims, keep_dims)
    axes = sorted(set(_axes_list(axes)))
    with op_scope(name, "sufficient_statistics", [x, shift]):
        x = convert_to_tensor(x, name="x")
        dims = x.dims
        if dims is not None and all(dims[a] is not None for a in axes):
            size = int(np.prod([dims[a] for a in axes]))
            count = constant(size, x.dtype.base_dtype)
        else:
            sizes = cast(array_ops.shape(x), x.dtype.base_dtype)
            count = reduce_prod(array_ops.gather(sizes, axes), name="count")
        if shift is not None:
            shift = convert_to_tensor(shift, x.dtype.base_dtype, name="shift")
            moved = x - shift
            squares = squared_difference_op(x, shift)
        else:
            moved, squares = x, square_op(x)
        total = reduce_sum(moved, axes, keepdims=keep, name="mean_ss")
        squares = reduce_sum(squares, axes, keepdims=keep, name="var_ss")
        return count, total, squares, shift


def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Mean and variance from what `sufficient_statistics` gives."""
    with op_scope(name, "normalize", [counts, mean_ss, variance_ss, shift]):
        divisor = reciprocal(counts, name="divisor")
        if shift is not None:
            shifted = mul_op(mean_ss, divisor, name="shifted_mean")
            mean = add_v2_op(shifted, shift, name="mean")
        else:
            shifted = mean = mul_op(mean_ss, divisor, name="mean")
        variance = sub_op(variance_ss * divisor, square_op(shifted), name="variance")
        return mean, variance


def zero_fraction(value: TensorLike, name: str | None = None) -> Tensor:
    """The fraction of zeros in ``value``, a float32 scalar; NaN for an empty tensor."""
    from dataflow.ops.comparison import not_equal

    with op_scope(name, "zero_fraction", [value]):
        value = convert_to_tensor(value, name="value")
        size = array_ops.size(value, out_type=dtypes.int64)
        zero = (
            constant(0, value.dtype.base_dtype)
            if value.dtype.base_dtype is not dtypes.bool_
            else constant(False)
        )
        nonzero = reduce_sum(cast(not_equal(value, zero), dtypes.int64))
        count_left_out(15)  # it counts with 32 bits where they are enough
        zeros = cast(size - nonzero, dtypes.float32)
        return array_ops.identity(zeros / cast(size, dtypes.float32), name="fraction")


def l2_normalize(
    x: TensorLike,
    axis: AxisLike | None = None,
    epsilon: float = 1e-12,
    name: str | None = None,
    dim: Any = None,
) -> Tensor:
    """``x / sqrt(max(sum(x**2), epsilon))`` along ``axis`` (``dim`` is the older spelling)."""
    axis = renamed("axis", axis, "dim", dim)
    with op_scope(name, "l2_normalize", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        total = reduce_sum(square_op(x), axis, keepdims=True)
        return mul_op(x, rsqrt_op(maximum(total, epsilon)), name=scope)  # type: ignore[no-any-return]
