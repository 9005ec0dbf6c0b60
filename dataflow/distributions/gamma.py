"""The gamma distribution and its relatives: exponential, chi squared, inverse gamma."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    Distribution,
    after,
    positive,
)
from dataflow.distributions.kullback_leibler import RegisterKL
from dataflow.distributions.noise import require_positive, uniform_noise
from dataflow.distributions.normal_functions import (
    softplus,
)
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import ShapeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import (
    abs_,
    floor,
    log,
    log1p,
    sqrt,
    square,
)
from dataflow.ops.random import random_gamma
from dataflow.ops.special import digamma, igamma, lgamma, xlogy


class Gamma(Distribution):
    """Sums of waiting times: density ``x^(concentration - 1) exp(-rate x)`` over its integral.

    Samples have gradients, with respect to the concentration by implicit reparameterization
    (Figurnov, Mohamed, Mnih 2018).
    """

    concentration = positive("The shape parameter.")
    rate = positive("The inverse of the scale.")

    def __init__(
        self,
        concentration: TensorLike,
        rate: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Gamma",
    ) -> None:
        self._from_parameters(locals(), FULLY_REPARAMETERIZED)

    def _sample_n(self, n: ShapeLike | Tensor, seed: int | None = None) -> Any:
        return random_gamma([n], self.concentration, self.rate, dtype=self.dtype, seed=seed)

    def _log_prob(self, x: TensorLike) -> Any:
        x = after(self._checked((require_positive, x)), x)
        normalization = lgamma(self.concentration) - self.concentration * log(self.rate)
        return xlogy(self.concentration - 1.0, x) - self.rate * x - normalization

    def _cdf(self, x: TensorLike) -> Any:
        x = after(self._checked((require_positive, x)), x)
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
        concentration: TensorLike,
        rate: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "GammaWithSoftplusConcentrationRate",
    ) -> None:
        self._from_transformed(Gamma, locals(), concentration=softplus, rate=softplus)


class Exponential(Gamma):
    """Waiting times: density ``rate exp(-rate x)``, for x >= 0; samples have gradients."""

    def __init__(
        self,
        rate: TensorLike,
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
        return -log(uniform_noise(self, n, seed)) / self.rate

    def _log_survival_function(self, x: TensorLike) -> Any:
        return self._log_prob(x) - log(self.rate)

    def _quantile(self, p: Any) -> Any:
        return -log1p(-p) / self.rate


class ExponentialWithSoftplusRate(Exponential):
    """`Exponential` of ``softplus(rate)``."""

    def __init__(
        self,
        rate: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "ExponentialWithSoftplusRate",
    ) -> None:
        self._from_transformed(Exponential, locals(), rate=softplus)


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

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, Any]:
        return {"df": convert_to_tensor(sample_shape, dtypes.int32)}

    @property
    def df(self) -> Any:
        """The degrees of freedom."""
        return self._df


class Chi2WithAbsDf(Chi2):
    """`Chi2` of ``floor(|df|)``."""

    def __init__(
        self,
        df: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Chi2WithAbsDf",
    ) -> None:
        self._from_transformed(Chi2, locals(), df=lambda df: floor(abs_(df, name="abs_df")))


class InverseGamma(Distribution):
    """``1 / X`` for X of ``Gamma(concentration, rate)``; ``rate`` is then this one's scale."""

    concentration = positive("The shape parameter.")
    rate = positive("The scale.")

    def __init__(
        self,
        concentration: TensorLike,
        rate: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "InverseGamma",
    ) -> None:
        self._from_parameters(locals(), FULLY_REPARAMETERIZED)

    def _sample_n(self, n: ShapeLike | Tensor, seed: int | None = None) -> Any:
        return 1.0 / random_gamma([n], self.concentration, self.rate, dtype=self.dtype, seed=seed)

    def _log_prob(self, x: TensorLike) -> Any:
        a, b = self.concentration, self.rate
        return a * log(b) - lgamma(a) - (1.0 + a) * log(x) - b / x

    def _cdf(self, x: TensorLike) -> Any:
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


class InverseGammaWithSoftplusConcentrationRate(InverseGamma):
    """`InverseGamma` of ``softplus(concentration)`` and ``softplus(rate)``."""

    def __init__(
        self,
        concentration: TensorLike,
        rate: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "InverseGammaWithSoftplusConcentrationRate",
    ) -> None:
        self._from_transformed(InverseGamma, locals(), concentration=softplus, rate=softplus)


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
