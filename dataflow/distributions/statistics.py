"""Functions of `tf.contrib.distributions`: moving moments, sums of logarithms, conjugate posteriors."""

from __future__ import annotations

import hashlib
from typing import Any

from dataflow import dtypes
from dataflow.distributions.location_scale import Normal
from dataflow.dtypes import DType
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.complex_numbers import conj, real
from dataflow.ops.graph_functions import control_dependencies, name_scope
from dataflow.ops.initializers import zeros_initializer
from dataflow.ops.math import abs_, exp, is_inf, log, log1p, minimum, sign, sqrt, square
from dataflow.ops.reduce import reduce_logsumexp, reduce_max, reduce_mean, reduce_sum
from dataflow.ops.spectral import fft, ifft
from dataflow.ops.state import assign_add, assign_sub
from dataflow.ops.tensor_values import constant_value
from dataflow.ops.variable_scope import get_variable, variable_scope


class SeedStream:
    """Seeds for the parts of one computation: each call gives another number, the same in every run.

    ``seed`` is a number, None (every call gives None) or another stream; ``salt`` tells users of one seed
    apart.
    """

    def __init__(self, seed: Any, salt: str) -> None:
        self.original_seed: Any = seed.original_seed if isinstance(seed, SeedStream) else seed
        self.salt = salt
        self._counter = 0

    def __call__(self) -> int | None:
        """The next seed."""
        self._counter += 1
        if self.original_seed is None:
            return None
        text = str((self.original_seed, self._counter, self.salt)).encode()
        return int(hashlib.sha512(text).hexdigest(), 16)


def new_seed(seed: int | None, salt: str) -> int | None:
    """The seed of a second part of a sample, as TensorFlow 1.15 makes it of the first one's; ``None`` of None."""
    if seed is None:
        return None
    digest = hashlib.md5(f"{seed}{salt}".encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[:4], "big") & 0x7FFFFFFF


def assign_moving_mean_variance(
    mean_var: Any, variance_var: Any, value: TensorLike, decay: TensorLike, name: str | None = None
) -> tuple[Any, Any]:
    """Moves the variables towards ``value``: (the new mean, the new variance).

    ``mean += (1 - decay) d``, ``variance -= (1 - decay) (variance - decay d^2)`` for d the distance
    from the mean before (Finch 2009). Raises `TypeError` for variables of different or no float dtypes.
    """
    dtype = mean_var.dtype.base_dtype
    if not dtype.is_floating or variance_var.dtype.base_dtype is not dtype:
        raise TypeError(
            "mean_var and variance_var must have the same float dtype, got "
            f"{dtype.name} and {variance_var.dtype.base_dtype.name}."
        )
    with name_scope(name, "assign_moving_mean_variance", [mean_var, variance_var, value]):
        value, decay = convert_to_tensor(value, dtype), convert_to_tensor(decay, dtype)
        delta = value - mean_var
        with control_dependencies([delta]):
            mean = assign_add(mean_var, (1.0 - decay) * delta)
            change = (1.0 - decay) * (variance_var - decay * square(delta))
            return mean, assign_sub(variance_var, change)


def assign_log_moving_mean_exp(
    log_mean_exp_var: Any, log_value: TensorLike, decay: TensorLike, name: str | None = None
) -> Any:
    """Moves a variable towards ``log(decay exp(v) + (1 - decay) exp(log_value))``."""
    dtype = log_mean_exp_var.dtype.base_dtype
    if not dtype.is_floating:
        raise TypeError(f"log_mean_exp_var must have a float dtype, got {dtype.name}.")
    with name_scope(name, "assign_log_moving_mean_exp", [log_mean_exp_var, log_value]):
        log_value, decay = convert_to_tensor(log_value, dtype), convert_to_tensor(decay, dtype)
        delta = log_value - log_mean_exp_var
        both = array.stack([log(decay) * array.ones_like(delta), delta + log1p(-decay)])
        return assign_add(log_mean_exp_var, reduce_logsumexp(both, axis=0))


def moving_mean_variance(
    value: TensorLike, decay: TensorLike, collections: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """The moving mean and variance of ``value``, in the variables ``moving_mean`` and ``moving_variance``."""
    with variable_scope(name, "moving_mean_variance", [value, decay]):
        value = convert_to_tensor(value, name="value")
        if not value.dtype.is_floating:
            raise TypeError(f"value must have a float dtype, got {value.dtype.name}.")
        variance, mean = (
            get_variable(
                key,
                shape=value.shape,
                dtype=value.dtype,
                initializer=zeros_initializer(),
                trainable=False,
                collections=collections or [GraphKeys.GLOBAL_VARIABLES],
            )
            for key in ("moving_variance", "moving_mean")
        )
        return assign_moving_mean_variance(mean, variance, value, decay)


def reduce_weighted_logsumexp(
    logx: TensorLike,
    w: TensorLike | None = None,
    axis: Any = None,
    keep_dims: bool = False,
    return_sign: bool = False,
    name: str | None = None,
) -> Any:
    """``log |sum(w exp(logx))|``, and with ``return_sign`` the sum's sign, too."""
    with name_scope(name, "reduce_weighted_logsumexp", [logx]):
        logx = convert_to_tensor(logx, name="logx")
        if w is None:
            plain = reduce_logsumexp(logx, axis=axis, keepdims=keep_dims)
            return (plain, array.ones_like(plain)) if return_sign else plain
        w = convert_to_tensor(w, logx.dtype, name="w")
        logs = logx + log(abs_(w))
        highest = reduce_max(logs, axis=axis, keepdims=True)
        highest = array.where_v2(is_inf(highest), array.zeros_like(highest), highest)
        total = reduce_sum(sign(w) * exp(logs - highest), axis=axis, keepdims=keep_dims)
        if not keep_dims:
            highest = array.squeeze(highest, axis)
        found = highest + log(sign(total) * total)
        return (found, sign(total)) if return_sign else found


def _known_scale(prior: Any, scale: TensorLike, s: Any, n: TensorLike) -> tuple[Any, Any]:
    """Location and variance of the posterior."""
    if not isinstance(prior, Normal):
        raise TypeError("Expected prior to be an instance of type Normal")
    s = convert_to_tensor(s)
    if s.dtype.base_dtype is not prior.dtype:
        raise TypeError(
            f"Observation sum s.dtype does not match prior dtype: {s.dtype} vs. {prior.dtype}"
        )
    n = cast(n, prior.dtype)
    before, each = square(prior.scale), square(convert_to_tensor(scale, prior.dtype))
    variance = 1.0 / (1.0 / before + n / each)
    return (prior.loc / before + s / each) * variance, variance


def normal_conjugates_known_scale_posterior(
    prior: Any, scale: TensorLike, s: Any, n: TensorLike
) -> Normal:
    """What is known of the mean after ``n`` normal observations of deviation ``scale`` that sum to ``s``.

    ``prior`` is a `Normal` of the mean. Raises `TypeError` for another one, or ``s`` of another dtype.
    """
    loc, variance = _known_scale(prior, scale, s, n)
    return Normal(loc, sqrt(variance))


def normal_conjugates_known_scale_predictive(
    prior: Any, scale: TensorLike, s: Any, n: TensorLike
) -> Normal:
    """What the next observation will be; see `normal_conjugates_known_scale_posterior`."""
    loc, variance = _known_scale(prior, scale, s, n)
    return Normal(loc, sqrt(variance + square(convert_to_tensor(scale, variance.dtype))))


def auto_correlation(
    x: TensorLike,
    axis: int = -1,
    max_lags: Any = None,
    center: bool = True,
    normalize: bool = True,
    name: str = "auto_correlation",
) -> Any:
    """The autocorrelation of ``x`` along ``axis`` at the lags 0, 1, ... ``max_lags``.

    For each lag the mean of ``x[i] conj(x[i + lag])``, by a Fourier transform; ``center`` first subtracts the mean
    of x, and ``normalize`` divides by the value at lag 0. Without ``max_lags`` there are
    as many lags as values. The axis is as long as there are lags; dtype and the other axes are those of ``x``.
    """
    with name_scope(name):
        x = convert_to_tensor(x, name="x")
        rank = array.rank(x)
        order = array.range_(rank)
        place = convert_to_tensor(axis) % rank
        last = array.concat([order[:place], order[place + 1 :], [place]], 0)
        back = array.concat([order[:place], [rank - 1], order[place : rank - 1]], 0)
        rows = array.transpose(x, last)
        if center:
            rows = rows - reduce_mean(rows, -1, keepdims=True)
        length = array.shape(rows)[-1]
        lags = length - 1 if max_lags is None else minimum(convert_to_tensor(max_lags), length - 1)
        # Zeros behind, as many as values: no lag goes round to the other end.
        wide = rows if rows.dtype.is_complex else cast(rows, _complex_of(rows.dtype))
        padded = array.concat([wide, array.zeros_like(wide)], -1)
        spectrum = fft(padded)
        total = ifft(spectrum * conj(spectrum))[..., : lags + 1]
        sums = total if x.dtype.is_complex else cast(real(total), x.dtype)
        counts = cast(length - array.range_(lags + 1), x.dtype)
        found = sums / counts
        if normalize:
            found = found / found[..., :1]
        found = array.transpose(found, back)
        if x.dims is not None:
            dims = list(x.dims)
            known = constant_value(lags)
            dims[axis] = None if known is None else int(known) + 1
            found.set_shape(dims)
        return found


def _complex_of(dtype: DType) -> DType:
    return dtypes.complex128 if dtype.base_dtype == dtypes.float64 else dtypes.complex64
