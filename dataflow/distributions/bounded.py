"""Continuous distributions of a number between two bounds: uniform, beta, Kumaraswamy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dataflow.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    Distribution,
    Parameter,
    after,
    positive,
)
from dataflow.distributions.kullback_leibler import RegisterKL
from dataflow.distributions.noise import shape_of_draws, uniform_noise
from dataflow.distributions.normal_functions import (
    softplus,
)
from dataflow.distributions.statistics import new_seed
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import ShapeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.assertions import (
    assert_less,
    assert_less_equal,
    assert_non_negative,
    assert_positive,
)
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import (
    exp,
    is_nan,
    log,
    logical_and,
    logical_or,
    square,
)
from dataflow.ops.random import random_gamma, random_uniform
from dataflow.ops.special import betainc, digamma, lgamma, xlog1py, xlogy


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

    def _sample_n(self, n: ShapeLike | Tensor, seed: int | None = None) -> Any:
        noise = random_uniform(shape_of_draws(self, n), dtype=self.dtype, seed=seed)
        return self.low + noise * self.range()

    def _prob(self, x: TensorLike) -> Any:
        outside = logical_or(x < self.low, x >= self.high)
        inside = array.where_v2(
            outside, array.zeros_like(x), 1.0 / (self.range() + array.zeros_like(x))
        )
        return array.where_v2(is_nan(x), x, inside)

    def _cdf(self, x: TensorLike) -> Any:
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


class Beta(Distribution):
    """Shares in (0, 1): density ``x^(concentration1 - 1) (1 - x)^(concentration0 - 1)`` / B.

    Parameters and samples are floats of the same dtype that broadcast; samples have gradients.
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

    def _sample_n(self, n: ShapeLike | Tensor, seed: int | None = None) -> Any:
        first, second = (
            random_gamma([n], self._everywhere(c), dtype=self.dtype, seed=s)
            for c, s in (
                (self.concentration1, seed),
                (self.concentration0, new_seed(seed, "beta")),
            )
        )
        return first / (first + second)

    def _log_prob(self, x: TensorLike) -> Any:
        x = after(self._checked((_in_unit_interval, x)), x)
        a, b = self.concentration1, self.concentration0
        return xlogy(a - 1.0, x) + xlog1py(b - 1.0, -x) - self._log_beta()

    def _log_beta(self) -> Any:
        a, b = self.concentration1, self.concentration0
        return lgamma(a) + lgamma(b) - lgamma(a + b)

    def _cdf(self, x: TensorLike) -> Any:
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
        self._from_transformed(Beta, locals(), concentration1=softplus, concentration0=softplus)


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
        return self._quantile(uniform_noise(self, n, seed))

    def _quantile(self, p: Any) -> Any:
        a, b = self.concentration1, self.concentration0
        return (1.0 - (1.0 - p) ** (1.0 / b)) ** (1.0 / a)

    def _proper(self, x: Any) -> Any:
        return after(self._checked((_in_closed_unit_interval, x)), x)

    def _log_prob(self, x: TensorLike) -> Any:
        x = self._proper(x)
        a, b = self.concentration1, self.concentration0
        return log(a) + log(b) + xlogy(a - 1.0, x) + xlog1py(b - 1.0, -(x**a))

    def _cdf(self, x: TensorLike) -> Any:
        x = self._proper(x)
        return 1.0 - (1.0 - x**self.concentration1) ** self.concentration0

    def _entropy(self) -> Any:
        a, b = self.concentration1, self.concentration0
        return (
            1.0 - 1.0 / b + (1.0 - 1.0 / a) * (digamma(b + 1.0) + np.euler_gamma) - log(a) - log(b)
        )

    def _mean(self) -> Any:
        return self._moment(1.0)

    def _variance(self) -> Any:
        return self._moment(2.0) - square(self._moment(1.0))

    def _mode(self) -> Any:
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1.0) / (a * b - 1.0)) ** (1.0 / a)
        where = logical_and(a > 1.0, b > 1.0)
        return self._where_defined(where, mode, "mode undefined when any concentration <= 1")


def _in_unit_interval(x: TensorLike) -> Any:
    from dataflow.ops.control_flow import group

    return group(
        assert_positive(x, message="sample must be positive"),
        assert_less(x, array.ones_like(x), message="sample must be less than `1`."),
    )


def _in_closed_unit_interval(x: TensorLike) -> Any:
    from dataflow.ops.control_flow import group

    one = array.ones_like(x)
    return group(
        assert_non_negative(x, message="sample must be non-negative"),
        assert_less_equal(x, one, message="sample must be no larger than `1`."),
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
