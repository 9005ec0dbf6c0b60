"""Kernels of batch and local response normalization.

Batch normalization on a GPU has kernels of its own, in `cuda.channels`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.kernels.cuda import channels as cuda_channels
from dataflow.kernels.cuda.source import can_run, sum_type
from dataflow.kernels.fused.mapping import ColumnSums, MappedOp, rows_joined
from dataflow.kernels.registry import kernel


def _to_rows(xp: Any, x: Any, data_format: str) -> Any:
    """x as a matrix [places, channels]."""
    if data_format.startswith("NC"):
        x = xp.moveaxis(x, 1, -1)
    return xp.ascontiguousarray(x).reshape(-1, x.shape[-1])


def _from_rows(xp: Any, rows: Any, like: Any, data_format: str) -> Any:
    if not data_format.startswith("NC"):
        return rows.reshape(like.shape)
    moved = rows.reshape(like.shape[0], *like.shape[2:], like.shape[1])
    return xp.ascontiguousarray(xp.moveaxis(moved, -1, 1))


def _channel_axis(data_format: str) -> int:
    return 1 if data_format.startswith("NC") else -1


def _can_run(xp: Any, x: Any, scale: Any) -> bool:
    """Whether a GPU's kernels apply: statistics in the precision that they add up in."""
    return can_run(xp, x) and scale.dtype == sum_type(x.dtype)


_SUMS = ColumnSums((), (0,))
#: x, mean
_SQUARES = ColumnSums((("Sub", (0, 1)), ("Mul", (2, 2))), (3,))
#: x, mean, factor, offset
_NORMALIZE = MappedOp(4, ("Sub", (0, 1)), ("Mul", (4, 2)), ("Add", (5, 3)))
#: gradient, x, mean
_GRADIENT_SUMS = ColumnSums((("Sub", (1, 2)), ("Mul", (0, 3))), (0, 4))
#: gradient, x, mean, factor of the centred x, mean of the gradient, scale
_GRADIENT = MappedOp(
    6, ("Sub", (1, 2)), ("Mul", (6, 3)), ("Add", (7, 0)), ("Sub", (8, 4)), ("Mul", (9, 5))
)


def _by_rows(op: MappedOp, dtype: Any, operands: list[Any], otherwise: Any) -> Any:
    """``op`` of matrices [rows, columns], the first operand among them, and vectors [columns]."""
    rows, columns = operands[0].shape
    joined = rows_joined(rows, columns)
    if joined == 1:
        return op(dtype, operands, otherwise)
    wide = [
        x.reshape(-1, joined * columns) if x.ndim == 2 else np.tile(x, joined) for x in operands
    ]
    return op(dtype, wide, otherwise).reshape(rows, columns)


def _normalized(operands: list[Any]) -> Any:
    x, mean, factor, offset = operands
    result = x - mean
    result *= factor
    result += offset
    return result


def _gradient(operands: list[Any]) -> Any:
    grad, x, mean, centred_factor, grad_mean, factor = operands
    result = x - mean
    result *= centred_factor
    result += grad
    result -= grad_mean
    result *= factor
    return result


def _column_means(xp: Any, rows: Any) -> Any:
    """Means over the rows."""
    sums = _SUMS([rows]) if xp is np else None
    if sums is not None:
        return sums[0] / rows.dtype.type(rows.shape[0])
    # BLAS adds rows several times faster than a reduction over the first axis.
    weights = xp.full(rows.shape[0], 1 / max(1, rows.shape[0]), rows.dtype)
    return weights @ rows


@kernel("FusedBatchNormV3")
def fused_batch_norm_kernel(
    xp: Any,
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any,
    variance: Any,
    *,
    epsilon: float,
    exponential_avg_factor: float,
    data_format: str,
    is_training: bool,
) -> tuple[Any, ...]:
    kind = scale.dtype
    axis = _channel_axis(data_format)
    for name, vector in (("scale", scale), ("offset", offset)):
        if vector.shape != (x.shape[axis],):
            raise InvalidArgumentError(
                None,
                None,
                f"{name} must have the same number of elements as the channels of x, "
                f"got {vector.shape[0]} and {x.shape[axis]}",
            )
    empty = xp.empty(0, kind)
    if x.size and _can_run(xp, x, scale):
        x = xp.ascontiguousarray(x)
        if is_training:
            used_mean, used_variance, new_mean, new_variance = cuda_channels.moments(
                xp, x, axis, mean, variance, exponential_avg_factor
            )
        else:
            used_mean, used_variance = mean.copy(), variance.copy()
            new_mean, new_variance = mean.copy(), variance.copy()
        y = cuda_channels.normalize(xp, x, axis, used_mean, used_variance, scale, offset, epsilon)
        return y, new_mean, new_variance, used_mean, used_variance, empty
    rows = _to_rows(xp, x, data_format).astype(kind, copy=False)
    if is_training:
        used_mean = _column_means(xp, rows)
        squares = _SQUARES([rows], [used_mean]) if xp is np else None
        if squares is None:
            used_variance = _column_means(xp, xp.square(rows - used_mean))
        else:
            used_variance = squares[0] / kind.type(rows.shape[0])
        count = rows.shape[0]
        unbiased = used_variance * kind.type(count / max(1, count - 1))
        if exponential_avg_factor == 1.0:
            new_mean, new_variance = used_mean.copy(), unbiased
        else:
            share = kind.type(exponential_avg_factor)
            new_mean = (1 - share) * mean + share * used_mean
            new_variance = (1 - share) * variance + share * unbiased
    else:
        used_mean, used_variance = mean, variance
        new_mean, new_variance = mean.copy(), variance.copy()
    factor = scale / xp.sqrt(used_variance + kind.type(epsilon))
    operands = [rows, used_mean, factor, offset]
    result = (
        _by_rows(_NORMALIZE, kind, operands, _normalized) if xp is np else _normalized(operands)
    )
    y = _from_rows(xp, result, x, data_format).astype(x.dtype, copy=False)
    if is_training:
        return y, new_mean, new_variance, used_mean, used_variance, empty
    return y, new_mean, new_variance, used_mean.copy(), used_variance.copy(), empty


@kernel("FusedBatchNormGradV3")
def fused_batch_norm_grad_kernel(
    xp: Any,
    y_backprop: Any,
    x: Any,
    scale: Any,
    reserve_space_1: Any,
    reserve_space_2: Any,
    reserve_space_3: Any,
    *,
    epsilon: float,
    data_format: str,
    is_training: bool,
) -> tuple[Any, ...]:
    kind = scale.dtype
    empty = xp.empty(0, kind)
    if x.size and _can_run(xp, x, scale):
        x, grad = xp.ascontiguousarray(x), xp.ascontiguousarray(y_backprop)
        statistics = reserve_space_1, reserve_space_2, scale, epsilon, is_training
        slopes = cuda_channels.normalize_gradient(
            xp, x, grad, _channel_axis(data_format), *statistics
        )
        return *slopes, empty, empty.copy()
    rows = _to_rows(xp, x, data_format).astype(kind, copy=False)
    grad = _to_rows(xp, y_backprop, data_format).astype(kind, copy=False)
    inverse = 1 / xp.sqrt(reserve_space_2 + kind.type(epsilon))
    sums = _GRADIENT_SUMS([grad, rows], [reserve_space_1]) if xp is np else None
    if sums is None:
        ones = xp.ones(rows.shape[0], kind)
        sums = [ones @ grad, ones @ (grad * (rows - reserve_space_1))]
    offset_grad, product = sums
    scale_grad = product * inverse
    if is_training:
        count = kind.type(max(1, rows.shape[0]))
        operands = [
            grad,
            rows,
            reserve_space_1,
            -(inverse * scale_grad) / count,
            offset_grad / count,
            scale * inverse,
        ]
        result = _by_rows(_GRADIENT, kind, operands, _gradient) if xp is np else _gradient(operands)
    else:
        result = grad * (scale * inverse)
    x_grad = _from_rows(xp, result, x, data_format).astype(x.dtype, copy=False)
    return x_grad, scale_grad, offset_grad, empty, empty.copy()


def _nearby(xp: Any, values: Any, radius: int) -> Any:
    """Sums over channels no further than ``radius`` away: a product with a banded matrix."""
    channels = values.shape[-1]
    place = np.arange(channels)
    band = (np.abs(place[:, None] - place) <= radius).astype(values.dtype)
    return (values.reshape(-1, channels) @ xp.asarray(band)).reshape(values.shape)


def _power(xp: Any, norm: Any, beta: float) -> Any:
    """``norm ** -beta``; square roots are quicker than powers where they serve."""
    if beta == 0.5:
        return 1 / xp.sqrt(norm)
    if beta == 0.75:
        root = xp.sqrt(norm)
        return 1 / (root * xp.sqrt(root))
    return norm ** norm.dtype.type(-beta)


@kernel("LRN")
def lrn_kernel(
    xp: Any, input: Any, *, depth_radius: int, bias: float, alpha: float, beta: float
) -> Any:
    work = input.astype(np.float32) if input.dtype.itemsize == 2 else input
    kind = work.dtype.type
    norm = _nearby(xp, xp.square(work), depth_radius)
    norm *= kind(alpha)
    norm += kind(bias)
    return (work * _power(xp, norm, beta)).astype(input.dtype, copy=False)


@kernel("LRNGrad")
def lrn_grad_kernel(
    xp: Any,
    input_grads: Any,
    input_image: Any,
    output_image: Any,
    *,
    depth_radius: int,
    bias: float,
    alpha: float,
    beta: float,
) -> Any:
    dtype = input_image.dtype
    grads, image, output = (
        a.astype(np.float32) if dtype.itemsize == 2 else a
        for a in (input_grads, input_image, output_image)
    )
    kind = image.dtype.type
    norm = _nearby(xp, xp.square(image), depth_radius)
    norm *= kind(alpha)
    norm += kind(bias)
    ratio = grads * output
    ratio /= norm
    result = _nearby(xp, ratio, depth_radius)
    result *= image
    result *= kind(-2 * alpha * beta)
    result += grads * _power(xp, norm, beta)
    return result.astype(dtype, copy=False)
