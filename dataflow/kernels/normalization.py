"""Kernels of batch and local response normalization.

On a GPU they have kernels of their own, in `cuda.channels` and `cuda.local_response`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.kernels.cuda import batch_norm as cuda_channels, local_response
from dataflow.kernels.cuda.source import can_run, sum_type
from dataflow.kernels.jit.native_ufunc import ColumnSums, MappedOp, Steps, rows_joined
from dataflow.kernels.parallel import matrix_product
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
#: gradient, x, mean, factor of the centered x, mean of the gradient, scale
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
    grad, x, mean, centered_factor, grad_mean, factor = operands
    result = x - mean
    result *= centered_factor
    result += grad
    result -= grad_mean
    result *= factor
    return result


def _column_means(xp: Any, rows: Any) -> Any:
    """Means over the rows."""
    sums = _SUMS([rows]) if xp is np else None
    if sums is not None:
        return sums[0] / rows.dtype.type(rows.shape[0])
    if xp is not np:  # CuPy keeps cuBLAS out of CUDA graphs
        return rows.mean(0)
    # BLAS adds rows several times faster than a reduction over the first axis.
    weights = np.full(rows.shape[0], 1 / max(1, rows.shape[0]), rows.dtype)
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
    rows = values.reshape(-1, channels)
    product = matrix_product(rows, band) if xp is np else rows @ xp.asarray(band)
    return product.reshape(values.shape)


def _power(xp: Any, norm: Any, beta: float) -> Any:
    """``norm ** -beta``; square roots are quicker than powers where they serve."""
    if beta == 0.5:
        return 1 / xp.sqrt(norm)
    if beta == 0.75:
        root = xp.sqrt(norm)
        return 1 / (root * xp.sqrt(root))
    return norm ** norm.dtype.type(-beta)


#: For square roots: how ``norm ** beta`` is made of value number n, in steps that begin with k.
_ROOTS: dict[float, Callable[[int, int], Steps]] = {
    0.5: lambda n, k: (("Sqrt", (n,)),),
    0.75: lambda n, k: (("Sqrt", (n,)), ("Sqrt", (k,)), ("Mul", (k, k + 1))),
}


@functools.cache
def _lrn_op(beta: float) -> MappedOp | None:
    """x, the sum of squares nearby, alpha, bias -> the result."""
    if beta not in _ROOTS:
        return None
    roots = _ROOTS[beta](5, 6)
    divided = ("RealDiv", (0, 5 + len(roots)))
    return MappedOp(4, ("Mul", (1, 2)), ("Add", (4, 3)), *roots, divided)


@kernel("LRN")
def lrn_kernel(
    xp: Any, input: Any, *, depth_radius: int, bias: float, alpha: float, beta: float
) -> Any:
    if can_run(xp, input):
        return local_response.lrn(xp, input, depth_radius, bias, alpha, beta)
    work = input.astype(np.float32) if input.dtype.itemsize == 2 else input
    kind = work.dtype.type
    squares = _nearby(xp, xp.square(work), depth_radius)

    def by_ufuncs(operands: list[Any]) -> Any:
        work, norm, alpha, bias = operands
        norm *= alpha
        norm += bias
        return work * _power(xp, norm, beta)

    operands = [work, squares, kind(alpha), kind(bias)]
    op = _lrn_op(beta) if xp is np else None
    result = by_ufuncs(operands) if op is None else op(work.dtype, operands, by_ufuncs)
    return result.astype(input.dtype, copy=False)


#: gradient, result, the sum of squares nearby, alpha, bias
_LRN_RATIO = MappedOp(5, ("Mul", (2, 3)), ("Add", (5, 4)), ("Mul", (0, 1)), ("RealDiv", (7, 6)))


@functools.cache
def _lrn_gradient_op(beta: float) -> MappedOp | None:
    """gradient, x, the sum of squares nearby, that of the ratios, alpha, bias, factor -> its own."""
    if beta not in _ROOTS:
        return None
    roots = _ROOTS[beta](8, 9)
    last = 8 + len(roots)
    return MappedOp(
        7,
        *(("Mul", (2, 4)), ("Add", (7, 5)), *roots, ("RealDiv", (0, last))),
        *(("Mul", (3, 1)), ("Mul", (last + 2, 6)), ("Add", (last + 3, last + 1))),
    )


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
    arrays = input_grads, input_image, output_image
    if can_run(xp, *arrays) and all(a.dtype == dtype for a in arrays):
        return local_response.lrn_gradient(xp, *arrays, depth_radius, bias, alpha, beta)
    grads, image, output = (a.astype(np.float32) if dtype.itemsize == 2 else a for a in arrays)
    kind = image.dtype.type
    squares = _nearby(xp, xp.square(image), depth_radius)
    numbers = [kind(alpha), kind(bias)]

    def ratio(operands: list[Any]) -> Any:
        grads, output, squares, alpha, bias = operands
        return grads * output / (squares * alpha + bias)

    def gradient(operands: list[Any]) -> Any:
        grads, image, squares, nearby, alpha, bias, factor = operands
        return nearby * image * factor + grads * _power(xp, squares * alpha + bias, beta)

    first = [grads, output, squares, *numbers]
    ratios = _LRN_RATIO(image.dtype, first, ratio) if xp is np else ratio(first)
    nearby = _nearby(xp, ratios, depth_radius)
    last = [grads, image, squares, nearby, *numbers, kind(-2 * alpha * beta)]
    op = _lrn_gradient_op(beta) if xp is np else None
    result = gradient(last) if op is None else op(image.dtype, last, gradient)
    return result.astype(dtype, copy=False)
