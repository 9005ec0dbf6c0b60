"""Continuous distributions of one number with a location and a scale."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dataflow.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    Distribution,
    Parameter,
    positive,
)
from dataflow.distributions.kullback_leibler import RegisterKL
from dataflow.distributions.noise import as_type, shape_of_draws, uniform_noise
from dataflow.distributions.normal_functions import log_cdf_laplace, log_ndtr, ndtr, ndtri, softplus
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import ShapeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import abs_, exp, log, log1p, sigmoid, sign, square, squared_difference
from dataflow.ops.random import random_normal, random_uniform

_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


class LocationScale(Distribution):
    """``loc + scale * Z`` for a standard Z: a subclass describes Z alone."""

    loc = Parameter("Where Z = 0 goes.")
    scale = positive("What one unit of Z becomes; positive.")

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str | None = None,
    ) -> None:
        arguments = {**locals(), "name": name or type(self).__name__}
        self._from_parameters(arguments, FULLY_REPARAMETERIZED)

    def _z(self, x: TensorLike) -> Any:
        return (x - self.loc) / self.scale

    def _unstandardize(self, z: Any) -> Any:
        return z * self.scale + self.loc

    def _undefined(self, statistic: str) -> Any:
        """NaN over the whole batch, or an error without `allow_nan_stats`."""
        if not self.allow_nan_stats:
            raise ValueError(f"`{statistic}` is undefined for {type(self).__name__} distribution.")
        return self._everywhere(math.nan)

    def _constant(self, value: TensorLike, times_scale: float) -> Any:
        """``value + times_scale * scale`` over the whole batch."""
        return self._everywhere(value) + times_scale * self.scale


class Normal(LocationScale):
    """Normal (Gaussian) numbers with mean ``loc`` and standard deviation ``scale``.

    Density ``exp(-0.5 ((x - loc) / scale)^2) / (scale sqrt(2 pi))``. Parameters and samples are
    floats of the same dtype that broadcast. Samples are ``loc + scale * noise`` and have gradients.
    """

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Normal",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: ShapeLike | Tensor, seed: int | None = None) -> Any:
        noise = random_normal(shape_of_draws(self, n), dtype=self.dtype, seed=seed)
        return self._unstandardize(noise)

    def _log_prob(self, x: TensorLike) -> Any:
        return -0.5 * square(self._z(x)) - (_HALF_LOG_2PI + log(self.scale))

    def _log_cdf(self, x: TensorLike) -> Any:
        return log_ndtr(self._z(x))

    def _cdf(self, x: TensorLike) -> Any:
        return ndtr(self._z(x))

    def _log_survival_function(self, x: TensorLike) -> Any:
        return log_ndtr(-self._z(x))

    def _survival_function(self, x: TensorLike) -> Any:
        return ndtr(-self._z(x))

    def _entropy(self) -> Any:
        return (0.5 + _HALF_LOG_2PI) + log(self.scale * array.ones_like(self.loc))

    def _mean(self) -> Any:
        return self._everywhere(self.loc)

    def _stddev(self) -> Any:
        return self._everywhere(self.scale)

    def _quantile(self, p: Any) -> Any:
        return self._unstandardize(ndtri(p))

    _mode = _mean


class NormalWithSoftplusScale(Normal):
    """`Normal` whose standard deviation is ``softplus(scale)``, so that ``scale`` is any number."""

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NormalWithSoftplusScale",
    ) -> None:
        self._from_transformed(Normal, locals(), scale=softplus)


class Laplace(LocationScale):
    """Double exponential numbers: density ``exp(-|x - loc| / scale) / (2 scale)``.

    Parameters and samples are floats of the same dtype that broadcast; samples have gradients.
    """

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Laplace",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        u = uniform_noise(self, n, seed, low=-1.0)
        return self.loc - self.scale * sign(u) * log1p(-abs_(u))

    def _log_prob(self, x: TensorLike) -> Any:
        return -abs_(self._z(x)) - math.log(2.0) - log(self.scale)

    def _log_cdf(self, x: TensorLike) -> Any:
        return log_cdf_laplace(self._z(x))

    def _cdf(self, x: TensorLike) -> Any:
        z = self._z(x)
        return 0.5 + 0.5 * sign(z) * (1.0 - exp(-abs_(z)))

    def _log_survival_function(self, x: TensorLike) -> Any:
        return log_cdf_laplace(-self._z(x))

    def _entropy(self) -> Any:
        return self._everywhere(math.log(2.0) + 1.0) + log(self.scale)

    def _mean(self) -> Any:
        return self._everywhere(self.loc)

    def _stddev(self) -> Any:
        return self._everywhere(math.sqrt(2.0) * self.scale)

    _mode = _mean


class LaplaceWithSoftplusScale(Laplace):
    """`Laplace` whose scale is ``softplus(scale)``, so that ``scale`` is any number."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "LaplaceWithSoftplusScale",
    ) -> None:
        self._from_transformed(Laplace, locals(), scale=softplus)


class Logistic(LocationScale):
    """Logistic numbers: ``P(X <= x) = sigmoid((x - loc) / scale)``; samples have gradients."""

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Logistic",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        u = uniform_noise(self, n, seed)
        return self._unstandardize(log(u) - log1p(-u))

    def _log_prob(self, x: TensorLike) -> Any:
        z = self._z(x)
        return -z - 2.0 * softplus(-z) - log(self.scale)

    def _log_cdf(self, x: TensorLike) -> Any:
        return log_sigmoid_of(self._z(x))

    def _cdf(self, x: TensorLike) -> Any:
        return sigmoid(self._z(x))

    def _log_survival_function(self, x: TensorLike) -> Any:
        return log_sigmoid_of(-self._z(x))

    def _survival_function(self, x: TensorLike) -> Any:
        return sigmoid(-self._z(x))

    def _entropy(self) -> Any:
        return self._everywhere(2.0) + log(self.scale)

    def _mean(self) -> Any:
        return self._everywhere(self.loc)

    def _stddev(self) -> Any:
        return self._everywhere(self.scale * (math.pi / math.sqrt(3.0)))

    def _quantile(self, p: Any) -> Any:
        return self._unstandardize(log(p) - log1p(-p))

    _mode = _mean


class Gumbel(LocationScale):
    """Gumbel numbers, the largest of many: ``P(X <= x) = exp(-exp(-(x - loc) / scale))``."""

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Gumbel",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        return self._unstandardize(-log(-log(uniform_noise(self, n, seed))))

    def _log_prob(self, x: TensorLike) -> Any:
        z = self._z(x)
        return -(z + exp(-z)) - log(self.scale)

    def _log_cdf(self, x: TensorLike) -> Any:
        return -exp(-self._z(x))

    def _entropy(self) -> Any:
        return self._everywhere(1.0 + np.euler_gamma) + log(self.scale)

    def _mean(self) -> Any:
        return self.loc + self._constant(0.0, np.euler_gamma)

    def _stddev(self) -> Any:
        return self._everywhere(self.scale * (math.pi / math.sqrt(6.0)))

    def _mode(self) -> Any:
        return self._everywhere(self.loc)


class Cauchy(LocationScale):
    """Cauchy numbers: density ``1 / (pi scale (1 + z^2))``; mean and variance are not defined."""

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Cauchy",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: ShapeLike | Tensor, seed: int | None = None) -> Any:
        return self._quantile(random_uniform(shape_of_draws(self, n), dtype=self.dtype, seed=seed))

    def _log_prob(self, x: TensorLike) -> Any:
        return -math.log(math.pi) - log(self.scale) - log1p(square(self._z(x)))

    def _cdf(self, x: TensorLike) -> Any:
        from dataflow.ops.math import atan

        return atan(self._z(x)) / math.pi + 0.5

    def _quantile(self, p: Any) -> Any:
        from dataflow.ops.math import tan

        return self._unstandardize(tan(math.pi * (p - 0.5)))

    def _entropy(self) -> Any:
        return self._everywhere(math.log(4.0 * math.pi)) + log(self.scale)

    def _mode(self) -> Any:
        return self._everywhere(self.loc)

    def _mean(self) -> Any:
        return self._undefined("mean")

    def _stddev(self) -> Any:
        return self._undefined("stddev")


class HalfNormal(Distribution):
    """``|X|`` for a normal X with mean 0 and standard deviation ``scale``."""

    scale = positive("The standard deviation of X.")

    def __init__(
        self,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "HalfNormal",
    ) -> None:
        self._from_parameters(locals(), FULLY_REPARAMETERIZED)

    def _sample_n(self, n: ShapeLike | Tensor, seed: int | None = None) -> Any:
        noise = random_normal(shape_of_draws(self, n), dtype=self.dtype, seed=seed)
        return abs_(noise * self.scale)

    def _prob(self, x: Any) -> Any:
        density = math.sqrt(2.0 / math.pi) / self.scale * exp(-0.5 * square(x / self.scale))
        return density * as_type(x >= 0.0, self.dtype)

    def _cdf(self, x: TensorLike) -> Any:
        from dataflow.ops.math import maximum
        from dataflow.ops.special import erf

        return erf(maximum(x, 0.0) / self.scale / math.sqrt(2.0))

    def _quantile(self, p: Any) -> Any:
        return self.scale * ndtri((p + 1.0) / 2.0)

    def _entropy(self) -> Any:
        return 0.5 * log(math.pi * square(self.scale) / 2.0) + 0.5

    def _mean(self) -> Any:
        return self.scale * math.sqrt(2.0 / math.pi)

    def _mode(self) -> Any:
        return array.zeros_like(self.scale)

    def _variance(self) -> Any:
        return square(self.scale) * (1.0 - 2.0 / math.pi)


def log_sigmoid_of(x: Any) -> Any:
    """``log(sigmoid(x))`` without underflow."""
    return -softplus(-x)


@RegisterKL(Normal, Normal)
def _kl_normal_normal(a: Any, b: Any, name: str | None = None) -> Any:
    with name_scope(name, "kl_normal_normal"):
        variance = square(b.scale)
        ratio = square(a.scale) / variance
        distance = squared_difference(a.loc, b.loc)
        return distance / (2.0 * variance) + 0.5 * (ratio - 1.0 - log(ratio))


@RegisterKL(Laplace, Laplace)
def _kl_laplace_laplace(a: Any, b: Any, name: str | None = None) -> Any:
    with name_scope(name, "kl_laplace_laplace"):
        distance = abs_(a.loc - b.loc)
        ratio = a.scale / b.scale
        return -log(ratio) - 1.0 + distance / b.scale + ratio * exp(-distance / a.scale)


@RegisterKL(HalfNormal, HalfNormal)
def _kl_half_normal(a: Any, b: Any, name: str | None = None) -> Any:
    with name_scope(name, "kl_half_normal_half_normal"):
        return log(b.scale) - log(a.scale) + (square(a.scale) / square(b.scale) - 1.0) / 2.0
