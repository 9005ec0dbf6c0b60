"""``tfp.distributions``: those of `tf.contrib.distributions`, and a few that came later.

Formulas of LogNormal, TruncatedNormal, HalfCauchy and Pareto: Johnson, Kotz, Balakrishnan, Continuous Univariate
Distributions, volume 1 (2nd edition).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dataflow.contrib import distributions as _contrib
from dataflow.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    Distribution,
    Parameter,
    positive,
)
from dataflow.distributions.elementary_bijectors import Exp
from dataflow.distributions.kullback_leibler import RegisterKL, kl_divergence as kl_divergence
from dataflow.distributions.location_scale import LocationScale, Normal as Normal
from dataflow.distributions.noise import uniform_noise
from dataflow.distributions.normal_functions import ndtr, ndtri
from dataflow.distributions.transformed import TransformedDistribution
from dataflow.distributions.wishart import WishartCholesky, WishartFull
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import (
    atan,
    exp,
    expm1,
    log,
    log1p,
    square,
    tan,
)
from dataflow.shim.probability.names import name_of

_LOG_2PI = math.log(2.0 * math.pi)


class LogNormal(TransformedDistribution):
    """``exp(X)`` for a normal X with mean ``loc`` and standard deviation ``scale``."""

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "LogNormal",
    ) -> None:
        arguments = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        with name_scope(name) as scope:
            normal = Normal(loc, scale, validate_args, allow_nan_stats)
            super().__init__(normal, Exp(), validate_args=validate_args, name=scope)
        self._parameters = arguments

    @property
    def loc(self) -> Any:
        """The mean of the logarithm."""
        return self.distribution.loc  # type: ignore[attr-defined]

    @property
    def scale(self) -> Any:
        """The standard deviation of the logarithm."""
        return self.distribution.scale  # type: ignore[attr-defined]

    def _mean(self) -> Any:
        return exp(self.loc + 0.5 * square(self.scale))

    def _variance(self) -> Any:
        variance = square(self.scale)
        return expm1(variance) * exp(2.0 * self.loc + variance)

    def _mode(self) -> Any:
        return exp(self.loc - square(self.scale))

    def _entropy(self) -> Any:
        return self.loc + 0.5 + log(self.scale) + 0.5 * _LOG_2PI


@RegisterKL(LogNormal, LogNormal)
def _kl_log_normals(a: LogNormal, b: LogNormal, name: str | None = None) -> Any:
    return kl_divergence(a.distribution, b.distribution, name=name)


class TruncatedNormal(Distribution):
    """A normal X with ``loc`` and ``scale``, given that ``low <= X <= high``. Samples have gradients."""

    loc = Parameter("The mean of X before it is truncated.")
    scale = positive("The standard deviation of X before it is truncated; positive.")
    low = Parameter("The least value.")
    high = Parameter("The greatest value.")

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        low: TensorLike,
        high: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "TruncatedNormal",
    ) -> None:
        self._from_parameters(locals(), FULLY_REPARAMETERIZED)

    def _z(self, x: Any) -> Any:
        return (x - self.loc) / self.scale

    def _ends(self) -> tuple[Any, Any, Any]:
        """Both ends in units of the scale, and the probability between them."""
        low, high = self._z(self.low), self._z(self.high)
        return low, high, ndtr(high) - ndtr(low)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        low, _, mass = self._ends()
        uniform = uniform_noise(self, n, seed)
        z = ndtri(ndtr(low) + uniform * mass)
        return _clip(z * self.scale + self.loc, self.low, self.high)

    def _log_prob(self, x: Any) -> Any:
        from dataflow.ops.comparison import less, logical_or

        _, _, mass = self._ends()
        inside = -0.5 * square(self._z(x)) - 0.5 * _LOG_2PI - log(self.scale) - log(mass)
        outside = logical_or(less(x, self.low), less(self.high, x))
        return array.where_v2(outside, convert_to_tensor(-np.inf, self.dtype), inside)

    def _cdf(self, x: Any) -> Any:
        low, _, mass = self._ends()
        return (ndtr(self._z(_clip(x, self.low, self.high))) - ndtr(low)) / mass

    def _moments(self) -> tuple[Any, Any, Any, Any, Any]:
        low, high, mass = self._ends()
        density_low, density_high = (
            exp(-0.5 * square(end)) / math.sqrt(2.0 * math.pi) for end in (low, high)
        )
        return low, high, mass, density_low, density_high

    def _mean(self) -> Any:
        _, _, mass, at_low, at_high = self._moments()
        return self.loc + self.scale * (at_low - at_high) / mass

    def _variance(self) -> Any:
        low, high, mass, at_low, at_high = self._moments()
        shift = (at_low - at_high) / mass
        return square(self.scale) * (1.0 + (low * at_low - high * at_high) / mass - square(shift))

    def _mode(self) -> Any:
        return _clip(self.loc, self.low, self.high)

    def _entropy(self) -> Any:
        low, high, mass, at_low, at_high = self._moments()
        spread = 0.5 * (1.0 + _LOG_2PI) + log(self.scale) + log(mass)
        return spread + 0.5 * (low * at_low - high * at_high) / mass


def _clip(x: Any, low: Any, high: Any) -> Any:
    """``x`` held between ``low`` and ``high``, which broadcast."""
    from dataflow.ops.math import maximum, minimum

    return minimum(maximum(x, low), high)


class HalfCauchy(LocationScale):
    """``loc + |X|`` for a Cauchy X with scale ``scale``. It has no mean and no variance."""

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        return self._quantile(uniform_noise(self, n, seed))

    def _log_prob(self, x: Any) -> Any:
        density = math.log(2.0 / math.pi) - log(self.scale) - log1p(square(self._z(x)))
        return array.where_v2(x < self.loc, convert_to_tensor(-np.inf, self.dtype), density)

    def _cdf(self, x: Any) -> Any:
        from dataflow.ops.math import maximum

        return 2.0 / math.pi * atan(maximum(self._z(x), 0.0))

    def _quantile(self, p: Any) -> Any:
        return self.loc + self.scale * tan(math.pi / 2.0 * p)

    def _entropy(self) -> Any:
        return log(2.0 * math.pi * self.scale) + array.zeros_like(self.loc)

    def _mode(self) -> Any:
        return self.loc + array.zeros_like(self.scale)

    def _mean(self) -> Any:
        return self._undefined("mean")

    def _variance(self) -> Any:
        return self._undefined("variance")


class Pareto(Distribution):
    """Numbers above ``scale`` with density ``c scale^c / x^(c + 1)`` for ``c = concentration``."""

    concentration = positive("How fast the tail falls; positive.")
    scale = positive("The least value; positive.")

    def __init__(
        self,
        concentration: TensorLike,
        scale: TensorLike = 1.0,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Pareto",
    ) -> None:
        self._from_parameters(locals(), FULLY_REPARAMETERIZED)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        uniform = uniform_noise(self, n, seed)
        return self.scale * exp(-log1p(-uniform) / self.concentration)

    def _log_prob(self, x: Any) -> Any:
        rate = self.concentration
        density = log(rate) + rate * log(self.scale) - (rate + 1.0) * log(x)
        return array.where_v2(x < self.scale, convert_to_tensor(-np.inf, self.dtype), density)

    def _cdf(self, x: Any) -> Any:
        from dataflow.ops.math import minimum

        return 0.0 - expm1(self.concentration * log(minimum(self.scale / x, 1.0)))

    def _mean(self) -> Any:
        mean = self.concentration * self.scale / (self.concentration - 1.0)
        return array.where_v2(self.concentration > 1.0, mean, convert_to_tensor(np.inf, self.dtype))

    def _variance(self) -> Any:
        rate = self.concentration
        variance = square(self.scale / (rate - 1.0)) * rate / (rate - 2.0)
        return array.where_v2(rate > 2.0, variance, convert_to_tensor(np.inf, self.dtype))

    def _mode(self) -> Any:
        return self.scale + array.zeros_like(self.concentration)

    def _entropy(self) -> Any:
        return log(self.scale / self.concentration) + 1.0 + 1.0 / self.concentration


def Wishart(  # a class in TensorFlow Probability
    df: TensorLike,
    scale: TensorLike | None = None,
    scale_tril: TensorLike | None = None,
    input_output_cholesky: bool = False,
    validate_args: bool = False,
    allow_nan_stats: bool = True,
    name: str | None = None,
) -> Distribution:
    """A Wishart distribution by its scale matrix, or by the lower triangle of the scale's factorization.

    Raises `ValueError` unless one of both is given.
    """
    if (scale is None) == (scale_tril is None):
        raise ValueError("Must pass scale or scale_tril, but not both.")
    further: dict[str, Any] = {
        "cholesky_input_output_matrices": input_output_cholesky,
        "validate_args": validate_args,
        "allow_nan_stats": allow_nan_stats,
        "name": name or "Wishart",
    }
    if scale is not None:
        return WishartFull(df, scale, **further)
    assert scale_tril is not None
    return WishartCholesky(df, scale_tril, **further)


def __getattr__(name: str) -> Any:
    return name_of(_contrib, "distributions", name, _LATER)


_LATER = ("HalfCauchy", "LogNormal", "Pareto", "TruncatedNormal", "Wishart")


def __dir__() -> list[str]:
    return sorted({*_LATER, *(name for name in dir(_contrib) if name != "bijectors")})
