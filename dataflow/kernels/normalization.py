"""Kernels of batch and local response normalization.

On a GPU they have kernels of their own, in `cuda.channels` and `cuda.local_response`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda import batch_norm as cuda_channels, local_response
from dataflow.kernels.cuda.source import can_run, sum_type
from dataflow.kernels.jit import channel_norm
from dataflow.kernels.jit.native_ufunc import ColumnSums, NativeUfunc, rows_joined
from dataflow.kernels.parallel import matrix_product
from dataflow.kernels.reduce import sums_of_rows
from dataflow.kernels.registry import kernel


def _to_rows(xp: Module, x: Array, data_format: str) -> Any:
    """x as a matrix [places, channels]."""
    if data_format.startswith("NC"):
        x = xp.moveaxis(x, 1, -1)
    return xp.ascontiguousarray(x).reshape(-1, x.shape[-1])


def _from_rows(xp: Module, rows: Any, like: Any, data_format: str) -> Any:
    if not data_format.startswith("NC"):
        return rows.reshape(like.shape)
    moved = rows.reshape(like.shape[0], *like.shape[2:], like.shape[1])
    return xp.ascontiguousarray(xp.moveaxis(moved, -1, 1))


def _channel_axis(data_format: str) -> int:
    return 1 if data_format.startswith("NC") else -1


def _can_run(xp: Module, x: Array, scale: Any) -> bool:
    """Whether a GPU's kernels apply: statistics in the precision that they add up in."""
    return can_run(xp, x) and scale.dtype == sum_type(x.dtype)


@ColumnSums
def _sums_of_squares(xp: Module, x: Array, mean: Any) -> Any:
    centered = x - mean
    return centered * centered


@ColumnSums
def _gradient_sums(xp: Module, grad: Array, x: Array, mean: Any) -> Any:
    return grad, grad * (x - mean)


@NativeUfunc
def _normalized(xp: Module, x: Array, mean: Any, factor: Any, offset: Any) -> Any:
    result = x - mean
    result *= factor
    result += offset
    return result


@NativeUfunc
def _gradient(
    xp: Module, grad: Array, x: Array, mean: Any, centered_factor: Any, grad_mean: Any, factor: Any
) -> Any:
    result = x - mean
    result *= centered_factor
    result += grad
    result -= grad_mean
    result *= factor
    return result


def _by_rows(function: NativeUfunc, xp: Module, kind: Any, operands: list[Any]) -> Any:
    """Of matrices [rows, columns], the first operand among them, and vectors [columns]."""
    rows, columns = operands[0].shape
    joined = rows_joined(rows, columns) if xp is np else 1
    if joined == 1:
        return function(xp, *operands, dtype=kind)
    wide = [
        x.reshape(-1, joined * columns) if x.ndim == 2 else np.tile(x, joined) for x in operands
    ]
    return function(np, *wide, dtype=kind).reshape(rows, columns)


def _column_means(xp: Module, rows: Any) -> Any:
    """Means over the rows."""
    sums = sums_of_rows([rows]) if xp is np else None
    if sums is not None:
        return sums[0] / rows.dtype.type(rows.shape[0])
    if xp is not np:  # CuPy keeps cuBLAS out of CUDA graphs
        return rows.mean(0)
    # BLAS adds rows several times faster than a reduction over the first axis.
    weights = np.full(rows.shape[0], 1 / max(1, rows.shape[0]), rows.dtype)
    return weights @ rows


@kernel("FusedBatchNormV3")
def fused_batch_norm_kernel(
    xp: Module,
    x: Array,
    scale: Array,
    offset: Array,
    mean: Array,
    variance: Array,
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
    statistics = mean, variance
    result, new, used = (
        _trained(xp, rows, scale, offset, statistics, exponential_avg_factor, epsilon)
        if is_training
        else _inferred(xp, rows, scale, offset, statistics, epsilon)
    )
    y = _from_rows(xp, result, x, data_format).astype(x.dtype, copy=False)
    return y, *new, *used, empty


_Pair = tuple[Any, Any]


def _trained(
    xp: Module, rows: Any, scale: Any, offset: Any, old: _Pair, average: float, epsilon: float
) -> tuple[Any, _Pair, _Pair]:
    """Rows normalized by their statistics, the new averages of those, and the statistics."""
    if xp is np:
        found = channel_norm.train(rows, scale, offset, old, average, epsilon)
        if found is not None:
            return found
    kind = scale.dtype
    used_mean = _column_means(xp, rows)
    squares = _sums_of_squares([rows], [used_mean]) if xp is np else None
    if squares is None:
        used_variance = _column_means(xp, xp.square(rows - used_mean))
    else:
        used_variance = squares[0] / kind.type(rows.shape[0])
    count = rows.shape[0]
    unbiased = used_variance * kind.type(count / max(1, count - 1))
    new: _Pair = used_mean.copy(), unbiased
    if average != 1.0:
        share = kind.type(average)
        new = (
            (1 - share) * old[0] + share * used_mean,
            (1 - share) * old[1] + share * unbiased,
        )
    factor = scale / xp.sqrt(used_variance + kind.type(epsilon))
    result = _by_rows(_normalized, xp, kind, [rows, used_mean, factor, offset])
    return result, new, (used_mean, used_variance)


def _inferred(
    xp: Module, rows: Any, scale: Any, offset: Any, statistics: _Pair, epsilon: float
) -> tuple[Any, _Pair, _Pair]:
    """As `_trained`, by given statistics."""
    mean, variance = statistics
    copies = [(mean.copy(), variance.copy()) for _ in range(2)]
    if xp is np:
        result = channel_norm.infer(rows, scale, offset, mean, variance, epsilon)
        if result is not None:
            return result, *copies
    factor = scale / xp.sqrt(variance + scale.dtype.type(epsilon))
    result = _by_rows(_normalized, xp, scale.dtype, [rows, mean, factor, offset])
    return result, *copies


_OLDER = ("epsilon", "data_format", "is_training")


@kernel("FusedBatchNorm", "FusedBatchNormV2", attrs=_OLDER)
def older_fused_batch_norm_kernel(xp: Module, *inputs: Any, **attrs: Any) -> Any:
    return fused_batch_norm_kernel(xp, *inputs, exponential_avg_factor=1.0, **attrs)[:5]


@kernel("FusedBatchNormGrad", "FusedBatchNormGradV2", attrs=_OLDER)
def older_fused_batch_norm_grad_kernel(xp: Module, *inputs: Any, **attrs: Any) -> Any:
    return fused_batch_norm_grad_kernel(xp, *inputs, inputs[-1], **attrs)


@kernel("BatchNormWithGlobalNormalization")
def batch_norm_with_global_normalization_kernel(
    xp: Module,
    t: Array,
    m: Array,
    v: Array,
    beta: Array,
    gamma: Array,
    *,
    variance_epsilon: float,
    scale_after_normalization: bool,
) -> Any:
    factor = _inverse_root(xp, v, variance_epsilon)
    if scale_after_normalization:
        factor *= gamma
    return (t - m) * factor + beta


@kernel("BatchNormWithGlobalNormalizationGrad")
def batch_norm_with_global_normalization_grad_kernel(
    xp: Module,
    t: Array,
    m: Array,
    v: Array,
    gamma: Array,
    backprop: Array,
    *,
    variance_epsilon: float,
    scale_after_normalization: bool,
) -> tuple[Any, ...]:
    inverse = _inverse_root(xp, v, variance_epsilon)
    factor = inverse * gamma if scale_after_normalization else inverse
    rows = _to_rows(xp, backprop, "NHWC")
    centered = _to_rows(xp, t - m, "NHWC")
    offset_grad, product = rows.sum(0), (rows * centered).sum(0)
    variance_grad = product * factor * inverse * inverse * t.dtype.type(-0.5)
    scale_grad = product * inverse if scale_after_normalization else xp.zeros_like(gamma)
    return backprop * factor, -offset_grad * factor, variance_grad, offset_grad, scale_grad


def _inverse_root(xp: Module, variance: Array, epsilon: float) -> Any:
    return 1 / xp.sqrt(variance + variance.dtype.type(epsilon))


@kernel("FusedBatchNormGradV3")
def fused_batch_norm_grad_kernel(
    xp: Module,
    y_backprop: Array,
    x: Array,
    scale: Array,
    reserve_space_1: Array,
    reserve_space_2: Array,
    reserve_space_3: Array,
    *,
    epsilon: float,
    data_format: str,
    is_training: bool,
) -> tuple[Any, ...]:
    kind = scale.dtype
    unused = xp.zeros(0 if is_training else scale.size, kind)
    if x.size and _can_run(xp, x, scale):
        x, grad = xp.ascontiguousarray(x), xp.ascontiguousarray(y_backprop)
        statistics = reserve_space_1, reserve_space_2, scale, epsilon, is_training
        slopes = cuda_channels.normalize_gradient(
            xp, x, grad, _channel_axis(data_format), *statistics
        )
        return *slopes, unused, unused.copy()
    rows = _to_rows(xp, x, data_format).astype(kind, copy=False)
    grad = _to_rows(xp, y_backprop, data_format).astype(kind, copy=False)
    used = reserve_space_1, reserve_space_2
    result, scale_grad, offset_grad = _gradients(xp, grad, rows, scale, used, epsilon, is_training)
    x_grad = _from_rows(xp, result, x, data_format).astype(x.dtype, copy=False)
    return x_grad, scale_grad, offset_grad, unused, unused.copy()


def _gradients(
    xp: Module,
    grad: Any,
    rows: Any,
    scale: Any,
    statistics: _Pair,
    epsilon: float,
    is_training: bool,
) -> tuple[Any, Any, Any]:
    """The gradients to rows, scale and offset."""
    mean, variance = statistics
    if xp is np and is_training:
        found = channel_norm.gradient(grad, rows, scale, mean, variance, epsilon)
        if found is not None:
            return found
    kind = scale.dtype
    inverse = _inverse_root(xp, variance, epsilon)
    sums = _gradient_sums([grad, rows], [mean]) if xp is np else None
    if sums is None:
        ones = xp.ones(rows.shape[0], kind)
        sums = [ones @ grad, ones @ (grad * (rows - mean))]
    offset_grad, product = sums
    scale_grad = product * inverse
    if not is_training:
        return grad * (scale * inverse), scale_grad, offset_grad
    count = kind.type(max(1, rows.shape[0]))
    slope = -(inverse * scale_grad) / count
    operands = [grad, rows, mean, slope, offset_grad / count, scale * inverse]
    return _by_rows(_gradient, xp, kind, operands), scale_grad, offset_grad


def _nearby(xp: Module, values: Any, radius: int) -> Any:
    """Sums over channels no further than ``radius`` away: a product with a banded matrix."""
    channels = values.shape[-1]
    place = np.arange(channels)
    band = (np.abs(place[:, None] - place) <= radius).astype(values.dtype)
    rows = values.reshape(-1, channels)
    product = matrix_product(rows, band) if xp is np else rows @ xp.asarray(band)
    return product.reshape(values.shape)


#: Powers that square roots make, which are quicker.
_ROOTS = (0.5, 0.75)


def _root(xp: Module, norm: Any, beta: float) -> Any:
    """``norm ** beta``."""
    if beta not in _ROOTS:
        return norm ** norm.dtype.type(beta)
    root = xp.sqrt(norm)
    return root if beta == 0.5 else root * xp.sqrt(root)


@functools.cache
def _lrn(beta: float) -> Callable[..., Any]:
    """x, the sum of squares nearby, alpha, bias -> the result."""

    def by_ufuncs(xp: Module, x: Array, norm: Any, alpha: Any, bias: Any) -> Any:
        norm *= alpha
        norm += bias
        return x / _root(xp, norm, beta)

    return NativeUfunc(by_ufuncs) if beta in _ROOTS else by_ufuncs


@kernel("LRN")
def lrn_kernel(
    xp: Module, input: Array, *, depth_radius: int, bias: float, alpha: float, beta: float
) -> Any:
    if can_run(xp, input):
        return local_response.lrn(xp, input, depth_radius, bias, alpha, beta)
    work = input.astype(np.float32) if input.dtype.itemsize == 2 else input
    kind = work.dtype.type
    squares = _nearby(xp, xp.square(work), depth_radius)

    result = _lrn(beta)(xp, work, squares, kind(alpha), kind(bias))
    return result.astype(input.dtype, copy=False)


@NativeUfunc
def _lrn_ratio(xp: Module, grads: Any, output: Any, squares: Any, alpha: Any, bias: Any) -> Any:
    return grads * output / (squares * alpha + bias)


@functools.cache
def _lrn_gradient(beta: float) -> Callable[..., Any]:
    def by_ufuncs(
        xp: Any, grads: Any, x: Any, squares: Any, nearby: Any, alpha: Any, bias: Any, factor: Any
    ) -> Any:
        """``nearby``: the sum of the ratios nearby."""
        return nearby * x * factor + grads / _root(xp, squares * alpha + bias, beta)

    return NativeUfunc(by_ufuncs) if beta in _ROOTS else by_ufuncs


@kernel("LRNGrad")
def lrn_grad_kernel(
    xp: Module,
    input_grads: Array,
    input_image: Array,
    output_image: Array,
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

    ratios = _lrn_ratio(xp, grads, output, squares, *numbers)
    nearby = _nearby(xp, ratios, depth_radius)
    last = [grads, image, squares, nearby, *numbers, kind(-2 * alpha * beta)]
    result = _lrn_gradient(beta)(xp, *last)
    return result.astype(dtype, copy=False)
