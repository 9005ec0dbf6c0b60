"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any

from dataflow.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    Distribution,
    Parameter,
    positive,
)
from dataflow.distributions.noise import shape_of_draws
from dataflow.distributions.normal_functions import softplus
from dataflow.distributions.statistics import new_seed
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import ShapeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.math import abs_, floor, log, log1p, sqrt, square
from dataflow.ops.random import random_gamma, random_normal
from dataflow.ops.special import betainc, digamma, lgamma


class StudentT(Distribution):
    """Student's t: ``loc + scale * T`` with ``df`` degrees of freedom, heavier tails than a normal.

    Parameters and samples are floats of the same dtype that broadcast; samples have gradients.
    """

    df = positive("The degrees of freedom.")
    loc = Parameter("The center.")
    scale = positive("The width; not the standard deviation.")

    def __init__(
        self,
        df: Any,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentT",
    ) -> None:
        self._from_parameters(locals(), FULLY_REPARAMETERIZED)

    def _sample_n(self, n: ShapeLike | Tensor, seed: int | None = None) -> Any:
        normal = random_normal(shape_of_draws(self, n), dtype=self.dtype, seed=seed)
        df = self._everywhere(self.df)
        second = new_seed(seed, "student_t")
        chi2 = random_gamma([n], 0.5 * df, 0.5, dtype=self.dtype, seed=second)
        return self.loc + self.scale * (normal / sqrt(chi2 / df))

    def _log_prob(self, x: TensorLike) -> Any:
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

    def _cdf(self, x: TensorLike) -> Any:
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
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentTWithAbsDfSoftplusScale",
    ) -> None:
        self._from_transformed(StudentT, locals(), df=lambda df: floor(abs_(df)), scale=softplus)
