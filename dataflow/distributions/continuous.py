"""Continuous distributions of one number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    Distribution,
    Parameter,
    after,
    positive,
)
from dataflow.distributions.kullback_leibler import RegisterKL
from dataflow.distributions.normal_functions import (
    log_cdf_laplace,
    log_ndtr,
    ndtr,
    ndtri,
    softplus,
)
from dataflow.graph.conversion import convert_to_tensor
from dataflow.ops import array
from dataflow.ops.assertions import (
    assert_less,
    assert_positive,
)
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import (
    abs_,
    exp,
    is_nan,
    log,
    log1p,
    logical_and,
    logical_or,
    sigmoid,
    sign,
    sqrt,
    square,
)
from dataflow.ops.random import random_gamma, random_normal, random_uniform
from dataflow.ops.special import betainc, digamma, igamma, lgamma, xlog1py, xlogy

_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
_EULER_GAMMA = 0.5772156649015329


def _shape_of_draws(distribution: Distribution, n: Any) -> Any:
    return array.concat([[n], distribution.batch_shape_tensor()], 0)


def _uniform(distribution: Distribution, n: Any, seed: Any, low: float = 0.0) -> Any:
    """Uniform noise in (low, 1) for each draw; the smallest positive number stands for zero."""
    numpy_dtype = distribution.dtype.as_numpy_dtype
    smallest = (
        np.finfo(numpy_dtype).tiny if low == 0.0 else np.nextafter(numpy_dtype(low), numpy_dtype(0))
    )
    return random_uniform(
        _shape_of_draws(distribution, n), smallest, 1.0, distribution.dtype, seed=seed
    )


class _LocationScale(Distribution):
    """``loc + scale * Z`` for a standard Z: a subclass describes Z alone."""

    loc = Parameter("Where Z = 0 goes.")
    scale = positive("What one unit of Z becomes; positive.")

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str | None = None,
    ) -> None:
        arguments = {**locals(), "name": name or type(self).__name__}
        self._from_parameters(arguments, FULLY_REPARAMETERIZED)

    def _z(self, x: Any) -> Any:
        return (x - self.loc) / self.scale

    def _unstandardize(self, z: Any) -> Any:
        return z * self.scale + self.loc

    def _constant(self, value: Any, times_scale: float) -> Any:
        """``value + times_scale * scale`` over the whole batch."""
        return self._everywhere(value) + times_scale * self.scale


class Normal(_LocationScale):
    """Normal (Gaussian) numbers with mean ``loc`` and standard deviation ``scale``.

    Density ``exp(-0.5 ((x - loc) / scale)^2) / (scale sqrt(2 pi))``. Parameters and samples are
    floats of one dtype that broadcast. Samples are ``loc + scale * noise`` and have gradients.
    """

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Normal",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        noise = random_normal(_shape_of_draws(self, n), dtype=self.dtype, seed=seed)
        return self._unstandardize(noise)

    def _log_prob(self, x: Any) -> Any:
        return -0.5 * square(self._z(x)) - (_HALF_LOG_2PI + log(self.scale))

    def _log_cdf(self, x: Any) -> Any:
        return log_ndtr(self._z(x))

    def _cdf(self, x: Any) -> Any:
        return ndtr(self._z(x))

    def _log_survival_function(self, x: Any) -> Any:
        return log_ndtr(-self._z(x))

    def _survival_function(self, x: Any) -> Any:
        return ndtr(-self._z(x))

    def _entropy(self) -> Any:
        return self._everywhere(0.5 + _HALF_LOG_2PI) + log(self.scale)

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
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NormalWithSoftplusScale",
    ) -> None:
        arguments = dict(locals())
        with name_scope(name) as scope:
            scale = softplus(convert_to_tensor(scale))
        super().__init__(loc, scale, validate_args, allow_nan_stats, scope)
        self._set_arguments(arguments)


class Laplace(_LocationScale):
    """Double exponential numbers: density ``exp(-|x - loc| / scale) / (2 scale)``.

    Parameters and samples are floats of one dtype that broadcast; samples have gradients.
    """

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Laplace",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        u = _uniform(self, n, seed, low=-1.0)
        return self.loc - self.scale * sign(u) * log1p(-abs_(u))

    def _log_prob(self, x: Any) -> Any:
        return -abs_(self._z(x)) - math.log(2.0) - log(self.scale)

    def _log_cdf(self, x: Any) -> Any:
        return log_cdf_laplace(self._z(x))

    def _cdf(self, x: Any) -> Any:
        z = self._z(x)
        return 0.5 + 0.5 * sign(z) * (1.0 - exp(-abs_(z)))

    def _log_survival_function(self, x: Any) -> Any:
        return log_cdf_laplace(-self._z(x))

    def _entropy(self) -> Any:
        return self._everywhere(math.log(2.0) + 1.0) + log(self.scale)

    def _mean(self) -> Any:
        return self._everywhere(self.loc)

    def _stddev(self) -> Any:
        return self._everywhere(math.sqrt(2.0) * self.scale)

    _mode = _mean


class Logistic(_LocationScale):
    """Logistic numbers: ``P(X <= x) = sigmoid((x - loc) / scale)``; samples have gradients."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Logistic",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        u = _uniform(self, n, seed)
        return self._unstandardize(log(u) - log1p(-u))

    def _log_prob(self, x: Any) -> Any:
        z = self._z(x)
        return -z - 2.0 * softplus(-z) - log(self.scale)

    def _log_cdf(self, x: Any) -> Any:
        return log_sigmoid_of(self._z(x))

    def _cdf(self, x: Any) -> Any:
        return sigmoid(self._z(x))

    def _log_survival_function(self, x: Any) -> Any:
        return log_sigmoid_of(-self._z(x))

    def _survival_function(self, x: Any) -> Any:
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


class Gumbel(_LocationScale):
    """Gumbel numbers, the largest of many: ``P(X <= x) = exp(-exp(-(x - loc) / scale))``."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Gumbel",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        return self._unstandardize(-log(-log(_uniform(self, n, seed))))

    def _log_prob(self, x: Any) -> Any:
        z = self._z(x)
        return -(z + exp(-z)) - log(self.scale)

    def _log_cdf(self, x: Any) -> Any:
        return -exp(-self._z(x))

    def _entropy(self) -> Any:
        return self._everywhere(1.0 + _EULER_GAMMA) + log(self.scale)

    def _mean(self) -> Any:
        return self.loc + self._constant(0.0, _EULER_GAMMA)

    def _stddev(self) -> Any:
        return self._everywhere(self.scale * (math.pi / math.sqrt(6.0)))

    def _mode(self) -> Any:
        return self._everywhere(self.loc)


class Cauchy(_LocationScale):
    """Cauchy numbers: density ``1 / (pi scale (1 + z^2))``; mean and variance are not defined."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Cauchy",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        return self._quantile(random_uniform(_shape_of_draws(self, n), dtype=self.dtype, seed=seed))

    def _log_prob(self, x: Any) -> Any:
        return -math.log(math.pi) - log(self.scale) - log1p(square(self._z(x)))

    def _cdf(self, x: Any) -> Any:
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
        if not self.allow_nan_stats:
            raise ValueError("`mean` is undefined for Cauchy distribution.")
        return self._everywhere(math.nan)

    def _stddev(self) -> Any:
        if not self.allow_nan_stats:
            raise ValueError("`stddev` is undefined for Cauchy distribution.")
        return self._everywhere(math.nan)


class HalfNormal(Distribution):
    """``|X|`` for a normal X with mean 0 and standard deviation ``scale``."""

    scale = positive("The standard deviation of X.")

    def __init__(
        self,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "HalfNormal",
    ) -> None:
        self._from_parameters(locals(), FULLY_REPARAMETERIZED)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        noise = random_normal(_shape_of_draws(self, n), dtype=self.dtype, seed=seed)
        return abs_(noise * self.scale)

    def _prob(self, x: Any) -> Any:
        density = math.sqrt(2.0 / math.pi) / self.scale * exp(-0.5 * square(x / self.scale))
        return density * _as(x >= 0.0, self.dtype)

    def _cdf(self, x: Any) -> Any:
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


class Uniform(Distribution):
    """Numbers drawn evenly from ``[low, high)``; parameters broadcast, samples have gradients."""

    low = Parameter("The smallest value, inclusive.")
    high = Parameter("The bound above, exclusive.")

    def __init__(
        self,
        low: Any = 0.0,
        high: Any = 1.0,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Uniform",
    ) -> None:
        self._from_parameters(locals(), FULLY_REPARAMETERIZED)
        if validate_args:
            self.low = after(
                [assert_less(self.low, self.high, message="uniform not defined when low >= high")],
                self.low,
            )

    def range(self, name: str = "range") -> Any:
        """``high - low``."""
        with self._scope(name):
            return self.high - self.low

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        noise = random_uniform(_shape_of_draws(self, n), dtype=self.dtype, seed=seed)
        return self.low + noise * self.range()

    def _prob(self, x: Any) -> Any:
        outside = logical_or(x < self.low, x >= self.high)
        inside = array.where_v2(
            outside, array.zeros_like(x), 1.0 / (self.range() + array.zeros_like(x))
        )
        return array.where_v2(is_nan(x), x, inside)

    def _cdf(self, x: Any) -> Any:
        share = (x - self.low) / self.range()
        below = array.where_v2(x < self.low, array.zeros_like(share), share)
        return array.where_v2(x >= self.high, array.ones_like(share), below)

    def _quantile(self, p: Any) -> Any:
        return self.low + p * self.range()

    def _entropy(self) -> Any:
        return log(self.range())

    def _mean(self) -> Any:
        return (self.low + self.high) / 2.0

    def _variance(self) -> Any:
        return square(self.range()) / 12.0

    def _stddev(self) -> Any:
        return self.range() / math.sqrt(12.0)


class Gamma(Distribution):
    """Sums of waiting times: density ``x^(concentration - 1) exp(-rate x)`` over its integral.

    Samples have gradients, with respect to the concentration by implicit reparameterization
    (Figurnov, Mohamed, Mnih 2018).
    """

    concentration = positive("The shape parameter.")
    rate = positive("The inverse of the scale.")

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Gamma",
    ) -> None:
        self._from_parameters(locals(), FULLY_REPARAMETERIZED)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        return random_gamma([n], self.concentration, self.rate, dtype=self.dtype, seed=seed)

    def _log_prob(self, x: Any) -> Any:
        x = after(self._checked((_positive_value, x)), x)
        normalization = lgamma(self.concentration) - self.concentration * log(self.rate)
        return xlogy(self.concentration - 1.0, x) - self.rate * x - normalization

    def _cdf(self, x: Any) -> Any:
        x = after(self._checked((_positive_value, x)), x)
        return igamma(self.concentration, self.rate * x)

    def _entropy(self) -> Any:
        a = self.concentration
        return a - log(self.rate) + lgamma(a) + (1.0 - a) * digamma(a)

    def _mean(self) -> Any:
        return self.concentration / self.rate

    def _variance(self) -> Any:
        return self.concentration / square(self.rate)

    def _stddev(self) -> Any:
        return sqrt(self.concentration) / self.rate

    def _mode(self) -> Any:
        mode = (self.concentration - 1.0) / self.rate
        where = self._everywhere(self.concentration) > 1.0
        return self._where_defined(where, mode, "mode not defined when any concentration <= 1")


class GammaWithSoftplusConcentrationRate(Gamma):
    """`Gamma` of ``softplus(concentration)`` and ``softplus(rate)``."""

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "GammaWithSoftplusConcentrationRate",
    ) -> None:
        arguments = dict(locals())
        with name_scope(name) as scope:
            concentration = softplus(convert_to_tensor(concentration))
            rate = softplus(convert_to_tensor(rate))
        super().__init__(concentration, rate, validate_args, allow_nan_stats, scope)
        self._set_arguments(arguments)


class Exponential(Gamma):
    """Waiting times: density ``rate exp(-rate x)``, for x >= 0; samples have gradients."""

    def __init__(
        self,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Exponential",
    ) -> None:
        arguments = dict(locals())
        with name_scope(name) as scope:
            rate = convert_to_tensor(rate, name="rate")
            super().__init__(array.ones_like(rate), rate, validate_args, allow_nan_stats, scope)
        self._set_arguments(arguments)

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, Any]:
        return {"rate": convert_to_tensor(sample_shape, dtypes.int32)}

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        return -log(_uniform(self, n, seed)) / self.rate

    def _quantile(self, p: Any) -> Any:
        return -log1p(-p) / self.rate


class ExponentialWithSoftplusRate(Exponential):
    """`Exponential` of ``softplus(rate)``."""

    def __init__(
        self,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "ExponentialWithSoftplusRate",
    ) -> None:
        arguments = dict(locals())
        with name_scope(name) as scope:
            rate = softplus(convert_to_tensor(rate))
        super().__init__(rate, validate_args, allow_nan_stats, scope)
        self._set_arguments(arguments)


class Chi2(Gamma):
    """Sums of ``df`` squared standard normal numbers: ``Gamma(df / 2, 1 / 2)``."""

    def __init__(
        self,
        df: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Chi2",
    ) -> None:
        arguments = dict(locals())
        with name_scope(name) as scope:
            self._df = convert_to_tensor(df, name="df")
            half = array.ones_like(self._df) * 0.5
            super().__init__(0.5 * self._df, half, validate_args, allow_nan_stats, scope)
        self._set_arguments(arguments)

    @property
    def df(self) -> Any:
        """The degrees of freedom."""
        return self._df


class InverseGamma(Distribution):
    """``1 / X`` for X of ``Gamma(concentration, rate)``; ``rate`` is then this one's scale."""

    concentration = positive("The shape parameter.")
    rate = positive("The scale.")

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "InverseGamma",
    ) -> None:
        self._from_parameters(locals(), FULLY_REPARAMETERIZED)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        return 1.0 / random_gamma([n], self.concentration, self.rate, dtype=self.dtype, seed=seed)

    def _log_prob(self, x: Any) -> Any:
        a, b = self.concentration, self.rate
        return a * log(b) - lgamma(a) - (1.0 + a) * log(x) - b / x

    def _cdf(self, x: Any) -> Any:
        from dataflow.ops.special import igammac

        return igammac(self.concentration, self.rate / x)

    def _entropy(self) -> Any:
        a = self.concentration
        return a + log(self.rate) + lgamma(a) - (1.0 + a) * digamma(a)

    def _mean(self) -> Any:
        where = self._everywhere(self.concentration) > 1.0
        mean = self.rate / (self.concentration - 1.0)
        return self._where_defined(where, mean, "mean undefined when any concentration <= 1")

    def _variance(self) -> Any:
        a = self.concentration
        variance = square(self.rate) / square(a - 1.0) / (a - 2.0)
        where = self._everywhere(a) > 2.0
        return self._where_defined(
            where, variance, "variance undefined when any concentration <= 2"
        )

    def _mode(self) -> Any:
        return self.rate / (1.0 + self.concentration)


class Beta(Distribution):
    """Shares in (0, 1): density ``x^(concentration1 - 1) (1 - x)^(concentration0 - 1)`` / B.

    Parameters and samples are floats of one dtype that broadcast; samples have gradients.
    """

    concentration1 = positive("The power of x, plus 1 (alpha).")
    concentration0 = positive("The power of 1 - x, plus 1 (beta).")

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Beta",
    ) -> None:
        self._from_parameters(locals(), FULLY_REPARAMETERIZED)

    @property
    def total_concentration(self) -> Any:
        """``concentration1 + concentration0``."""
        return self.concentration1 + self.concentration0

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        first, second = (
            random_gamma([n], self._everywhere(c), dtype=self.dtype, seed=s)
            for c, s in (
                (self.concentration1, seed),
                (self.concentration0, None if seed is None else seed + 1),
            )
        )
        return first / (first + second)

    def _log_prob(self, x: Any) -> Any:
        x = after(self._checked((_in_unit_interval, x)), x)
        a, b = self.concentration1, self.concentration0
        return xlogy(a - 1.0, x) + xlog1py(b - 1.0, -x) - self._log_beta()

    def _log_beta(self) -> Any:
        a, b = self.concentration1, self.concentration0
        return lgamma(a) + lgamma(b) - lgamma(a + b)

    def _cdf(self, x: Any) -> Any:
        like = array.zeros_like(x * self.total_concentration)
        return betainc(self.concentration1 + like, self.concentration0 + like, x + like)

    def _entropy(self) -> Any:
        a, b = self.concentration1, self.concentration0
        spread = (a - 1.0) * digamma(a) + (b - 1.0) * digamma(b)
        return self._log_beta() - spread + (a + b - 2.0) * digamma(a + b)

    def _mean(self) -> Any:
        return self.concentration1 / self.total_concentration

    def _variance(self) -> Any:
        mean = self._mean()
        return mean * (1.0 - mean) / (1.0 + self.total_concentration)

    def _mode(self) -> Any:
        mode = (self.concentration1 - 1.0) / (self.total_concentration - 2.0)
        where = logical_and(self.concentration1 > 1.0, self.concentration0 > 1.0)
        return self._where_defined(where, mode, "mode undefined when any concentration <= 1")


class BetaWithSoftplusConcentration(Beta):
    """`Beta` of the softplus of both concentrations."""

    def __init__(
        self,
        concentration1: Any,
        concentration0: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "BetaWithSoftplusConcentration",
    ) -> None:
        arguments = dict(locals())
        with name_scope(name) as scope:
            one, zero = (softplus(convert_to_tensor(c)) for c in (concentration1, concentration0))
        super().__init__(one, zero, validate_args, allow_nan_stats, scope)
        self._set_arguments(arguments)


class Kumaraswamy(Beta):
    """Like `Beta`, with a closed distribution function: ``P(X <= x) = 1 - (1 - x^a)^b``."""

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Kumaraswamy",
    ) -> None:
        arguments = dict(locals())
        super().__init__(concentration1, concentration0, validate_args, allow_nan_stats, name)
        self._set_arguments(arguments)

    def _moment(self, n: float) -> Any:
        a, b = self.concentration1, self.concentration0
        return exp(log(b) + lgamma(1.0 + n / a) + lgamma(b) - lgamma(1.0 + n / a + b))

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        return self._quantile(_uniform(self, n, seed))

    def _quantile(self, p: Any) -> Any:
        a, b = self.concentration1, self.concentration0
        return (1.0 - (1.0 - p) ** (1.0 / b)) ** (1.0 / a)

    def _log_prob(self, x: Any) -> Any:
        a, b = self.concentration1, self.concentration0
        return log(a) + log(b) + xlogy(a - 1.0, x) + xlog1py(b - 1.0, -(x**a))

    def _cdf(self, x: Any) -> Any:
        return 1.0 - (1.0 - x**self.concentration1) ** self.concentration0

    def _entropy(self) -> Any:
        a, b = self.concentration1, self.concentration0
        return 1.0 - 1.0 / b + (1.0 - 1.0 / a) * (digamma(b + 1.0) + _EULER_GAMMA) - log(a) - log(b)

    def _mean(self) -> Any:
        return self._moment(1.0)

    def _variance(self) -> Any:
        return self._moment(2.0) - square(self._moment(1.0))

    def _mode(self) -> Any:
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1.0) / (a * b - 1.0)) ** (1.0 / a)
        where = logical_and(a > 1.0, b > 1.0)
        return self._where_defined(where, mode, "mode undefined when any concentration <= 1")


class StudentT(Distribution):
    """Student's t: ``loc + scale * T`` with ``df`` degrees of freedom, heavier tails than a normal.

    Parameters and samples are floats of one dtype that broadcast; samples have gradients.
    """

    df = positive("The degrees of freedom.")
    loc = Parameter("The center.")
    scale = positive("The width; not the standard deviation.")

    def __init__(
        self,
        df: Any,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentT",
    ) -> None:
        self._from_parameters(locals(), FULLY_REPARAMETERIZED)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        normal = random_normal(_shape_of_draws(self, n), dtype=self.dtype, seed=seed)
        df = self._everywhere(self.df)
        second = None if seed is None else seed + 1
        chi2 = random_gamma([n], 0.5 * df, 0.5, dtype=self.dtype, seed=second)
        return self.loc + self.scale * (normal / sqrt(chi2 / df))

    def _log_prob(self, x: Any) -> Any:
        y = (x - self.loc) / self.scale
        half = 0.5 * (self.df + 1.0)
        normalization = (
            log(abs_(self.scale))
            + 0.5 * log(self.df)
            + 0.5 * math.log(math.pi)
            + lgamma(0.5 * self.df)
            - lgamma(half)
        )
        return -half * log1p(square(y) / self.df) - normalization

    def _cdf(self, x: Any) -> Any:
        y = (x - self.loc) / abs_(self.scale)
        share = self.df / (square(y) + self.df)
        tail = 0.5 * betainc(
            0.5 * (self.df + array.zeros_like(share)), array.ones_like(share) * 0.5, share
        )
        return array.where_v2(y < 0.0, tail, 1.0 - tail)

    def _entropy(self) -> Any:
        half = 0.5 * self._everywhere(self.df)
        log_beta = lgamma(half) + math.lgamma(0.5) - lgamma(half + 0.5)
        return (
            log(abs_(self.scale))
            + 0.5 * log(self.df)
            + log_beta
            + 0.5 * (self.df + 1.0) * (digamma(0.5 * (self.df + 1.0)) - digamma(half))
        )

    def _mean(self) -> Any:
        mean = self._everywhere(self.loc)
        where = self._everywhere(self.df) > 1.0
        return self._where_defined(where, mean, "mean not defined for components of df <= 1")

    def _variance(self) -> Any:
        df = self._everywhere(self.df)
        above = array.where_v2(df > 2.0, df - 2.0, array.ones_like(df))
        variance = square(self._everywhere(self.scale)) * df / above
        infinite = array.where_v2(df > 2.0, variance, array.ones_like(df) * math.inf)
        message = "variance not defined for components of df <= 1"
        return self._where_defined(df > 1.0, infinite, message)

    def _mode(self) -> Any:
        return self._everywhere(self.loc)


class StudentTWithAbsDfSoftplusScale(StudentT):
    """`StudentT` with ``floor(abs(df))`` degrees of freedom and scale ``softplus(scale)``."""

    def __init__(
        self,
        df: Any,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentTWithAbsDfSoftplusScale",
    ) -> None:
        from dataflow.ops.math import floor

        arguments = dict(locals())
        arguments.pop("floor")
        with name_scope(name) as scope:
            df = floor(abs_(convert_to_tensor(df)))
            scale = softplus(convert_to_tensor(scale))
        super().__init__(df, loc, scale, validate_args, allow_nan_stats, scope)
        self._set_arguments(arguments)


def log_sigmoid_of(x: Any) -> Any:
    """``log(sigmoid(x))`` without underflow."""
    return -softplus(-x)


def _as(condition: Any, dtype: Any) -> Any:
    from dataflow.ops.casts import cast

    return cast(condition, dtype)


def _positive_value(x: Any) -> Any:
    return assert_positive(x, message="sample must be positive")


def _in_unit_interval(x: Any) -> Any:
    from dataflow.ops.control_flow import group

    return group(
        assert_positive(x, message="sample must be positive"),
        assert_less(x, array.ones_like(x), message="sample must be less than `1`."),
    )


# ---- divergences -------------------------------------------------------------------------------


@RegisterKL(Normal, Normal)
def _kl_normal_normal(a: Any, b: Any, name: str | None = None) -> Any:
    with name_scope(name, "kl_normal_normal"):
        ratio = square(a.scale / b.scale)
        return square(a.loc - b.loc) / (2.0 * square(b.scale)) + 0.5 * (ratio - 1.0 - log(ratio))


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


@RegisterKL(Gamma, Gamma)
def _kl_gamma_gamma(a: Any, b: Any, name: str | None = None) -> Any:
    with name_scope(name, "kl_gamma_gamma"):
        return (
            (a.concentration - b.concentration) * digamma(a.concentration)
            + lgamma(b.concentration)
            - lgamma(a.concentration)
            + b.concentration * log(a.rate)
            - b.concentration * log(b.rate)
            + a.concentration * (b.rate / a.rate - 1.0)
        )


@RegisterKL(Beta, Beta)
def _kl_beta_beta(a: Any, b: Any, name: str | None = None) -> Any:
    with name_scope(name, "kl_beta_beta"):
        total = digamma(a.total_concentration) * (a.total_concentration - b.total_concentration)
        return (
            b._log_beta()
            - a._log_beta()
            - (digamma(a.concentration1) * (b.concentration1 - a.concentration1))
            - (digamma(a.concentration0) * (b.concentration0 - a.concentration0))
            - total
        )
