"""Distributions of counts."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.distributions.distribution import (
    NOT_REPARAMETERIZED,
    Distribution,
    after,
    whole_numbers,
)
from dataflow.distributions.kullback_leibler import RegisterKL
from dataflow.distributions.normal_functions import softplus
from dataflow.distributions.probabilities import VectorEvent, WithProbabilities, times_log
from dataflow.distributions.statistics import new_seed
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import ShapeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.activation import log_softmax
from dataflow.ops.assertions import assert_equal, assert_less_equal
from dataflow.ops.broadcast_shapes import common_shape, common_shape_tensor
from dataflow.ops.casts import cast
from dataflow.ops.graph_functions import control_dependencies, name_scope
from dataflow.ops.math import (
    equal,
    exp,
    expm1,
    floor,
    log,
    log1p,
    maximum,
    reduce_sum,
)
from dataflow.ops.random import multinomial, random_gamma, random_poisson, random_uniform
from dataflow.ops.special import betainc, igammac, lgamma
from dataflow.shapes import TensorShape


class _Counts(WithProbabilities):
    """Counts out of ``total_count`` trials."""

    def _more_parameters(self, arguments: dict[str, Any]) -> list[Any]:
        total = convert_to_tensor(
            arguments["total_count"], name="total_count", preferred_dtype=self._logits.dtype
        )
        total = cast(total, self._logits.dtype)
        checks = [whole_numbers(total)] if arguments["validate_args"] else []
        with control_dependencies(checks):
            self._total_count = array.identity(total, name="total_count")
        return [self._total_count]

    @property
    def total_count(self) -> Any:
        """The number of trials, in the dtype of the probabilities."""
        return self._total_count

    def _sums_to_total(self, counts: Any) -> Any:
        return counts_sum_to(self._total_count, counts)

    def _batch_shape(self) -> TensorShape:
        return common_shape([self._total_count.get_shape(), super()._batch_shape()])

    def _batch_shape_tensor(self) -> Any:
        return common_shape_tensor([array.shape(self._total_count), super()._batch_shape_tensor()])


class Binomial(_Counts):
    """How many of ``total_count`` trials succeed, each with probability ``probs``; floats."""

    _classes = False

    def __init__(
        self,
        total_count: Any,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Binomial",
    ) -> None:
        self._set_probabilities(locals())

    def _sample_n(self, n: ShapeLike | Tensor, seed: int | None = None) -> Any:
        raise NotImplementedError("sample is not implemented: Binomial. Multinomial has it.")

    def _log_prob(self, counts: Any) -> Any:
        n, p = self.total_count, self.probs
        from dataflow.ops.special import xlog1py, xlogy

        counts = self._valid(counts)
        choose = lgamma(1.0 + n) - lgamma(1.0 + counts) - lgamma(1.0 + n - counts)
        return xlogy(counts, p) + xlog1py(n - counts, -p) + choose

    def _valid(self, counts: Any) -> Any:
        """``counts``, once it is known that they are whole and at most the total, where that is to be checked."""

        def few_enough(value: Any) -> Any:
            text = "counts are not less than or equal to n."
            return assert_less_equal(value, self.total_count, message=text)

        return after(self._checked((whole_numbers, counts), (few_enough, counts)), counts)

    def _cdf(self, counts: Any) -> Any:
        counts = self._valid(counts)
        like = array.zeros_like(counts * self.probs * self.total_count)
        counts, total, probs = counts + like, self.total_count + like, self.probs + like
        end = equal(counts, total)
        inside = array.where_v2(end, array.zeros_like(counts), counts)
        below = betainc(total - inside, 1.0 + inside, 1.0 - probs)
        return array.where_v2(end, array.ones_like(counts), below)

    def _mean(self) -> Any:
        return self.total_count * self.probs

    def _variance(self) -> Any:
        return self._mean() * (1.0 - self.probs)

    def _mode(self) -> Any:
        return floor((1.0 + self.total_count) * self.probs)


class NegativeBinomial(_Counts):
    """How many trials succeed before ``total_count`` of them fail; floats."""

    _classes = False

    def __init__(
        self,
        total_count: Any,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NegativeBinomial",
    ) -> None:
        self._set_probabilities(locals())

    def _sample_n(self, n: ShapeLike | Tensor, seed: int | None = None) -> Any:
        total = array.broadcast_to(self.total_count, self.batch_shape_tensor())
        rate = random_gamma([n], total, exp(-self.logits), dtype=self.dtype, seed=seed)
        second = new_seed(seed, "negative_binom")
        return random_poisson(rate, [], dtype=self.dtype, seed=second)

    def _log_prob(self, counts: Any) -> Any:
        counts = after(self._checked((whole_numbers, counts)), counts)
        total = self.total_count
        choose = lgamma(total + counts) - lgamma(1.0 + counts) - lgamma(total)
        return choose - total * softplus(self.logits) - counts * softplus(-self.logits)

    def _cdf(self, counts: Any) -> Any:
        counts = after(self._checked((whole_numbers, counts)), counts)
        like = array.zeros_like(counts * self.probs * self.total_count)
        return betainc(self.total_count + like, 1.0 + counts + like, 1.0 - self.probs + like)

    def _mean(self) -> Any:
        return self.total_count * exp(self.logits)

    def _variance(self) -> Any:
        return self._mean() * (1.0 + exp(self.logits))

    def _mode(self) -> Any:
        adjusted = array.where_v2(
            self.total_count > 1.0,
            (self.total_count - 1.0) * exp(self.logits),
            array.zeros_like(self.logits),
        )
        return floor(adjusted)


class Geometric(WithProbabilities):
    """How many trials fail before the first one that succeeds, with probability ``probs``; floats."""

    _classes = False

    def __init__(
        self,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Geometric",
    ) -> None:
        self._set_probabilities(locals())

    def _sample_n(self, n: ShapeLike | Tensor, seed: int | None = None) -> Any:
        import numpy as np

        smallest = np.finfo(self.dtype.as_numpy_dtype).tiny
        shape = array.concat([[n], self.batch_shape_tensor()], 0)
        noise = random_uniform(shape, smallest, 1.0, self.dtype, seed=seed)
        return floor(log(noise) / log1p(-self.probs))

    def _log_prob(self, counts: Any) -> Any:
        from dataflow.ops.special import xlog1py

        counts = after(self._checked((whole_numbers, counts)), counts)
        return xlog1py(counts, -self.probs) + log(self.probs)

    def _cdf(self, counts: Any) -> Any:
        after_first = -expm1((1.0 + floor(counts)) * log1p(-self.probs))
        return array.where_v2(counts < 0.0, array.zeros_like(after_first), after_first)

    def _entropy(self) -> Any:
        return softplus(-self.logits) + exp(-self.logits) * softplus(self.logits)

    def _mean(self) -> Any:
        return exp(-self.logits)

    def _variance(self) -> Any:
        return exp(-self.logits) / self.probs

    def _mode(self) -> Any:
        return array.zeros_like(self.probs)


class Poisson(Distribution):
    """Counts of independent events at ``rate`` (or ``exp(log_rate)``); floats, no gradient.

    With ``interpolate_nondiscrete=False``, `log_prob` of what is not a whole number is -infinity, and
    `cdf` is a step function.
    """

    def __init__(
        self,
        rate: TensorLike | None = None,
        log_rate: Any = None,
        interpolate_nondiscrete: bool = True,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Poisson",
    ) -> None:
        arguments = dict(locals())
        if (rate is None) == (log_rate is None):
            raise ValueError("Must specify exactly one of `rate` and `log_rate`.")
        from dataflow.ops.assertions import assert_positive

        with name_scope(name) as scope:
            if log_rate is None:
                rate = convert_to_tensor(rate, name="rate")
                self._rate = after([assert_positive(rate)] if validate_args else [], rate)
                self._log_rate = log(self._rate, name="log_rate")
            else:
                self._log_rate = convert_to_tensor(log_rate, name="log_rate")
                self._rate = exp(self._log_rate, name="rate")
            if not self._rate.dtype.is_floating:
                raise TypeError(f"the rate must be floats, got {self._rate.dtype.name}.")
        self._interpolate_nondiscrete = interpolate_nondiscrete
        super().__init__(
            dtype=self._rate.dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=arguments,
            graph_parents=[self._rate],
            name=scope,
        )

    @property
    def rate(self) -> Any:
        """The mean number of events."""
        return self._rate

    @property
    def log_rate(self) -> Any:
        """Its logarithm."""
        return self._log_rate

    @property
    def interpolate_nondiscrete(self) -> bool:
        """Whether values between whole numbers get interpolated densities."""
        return self._interpolate_nondiscrete

    def _batch_parameters(self) -> list[Any]:
        return [self._rate]

    def _sample_n(self, n: ShapeLike | Tensor, seed: int | None = None) -> Any:
        return random_poisson(self.rate, [n], dtype=self.dtype, seed=seed)

    def _log_prob(self, x: Any) -> Any:
        import numpy as np

        from dataflow.ops.math import logical_and

        x = after(self._checked((whole_numbers, x)), x)
        if self.interpolate_nondiscrete:
            return x * self.log_rate - lgamma(1.0 + x) - self.rate
        whole = logical_and(x >= 0.0, equal(x, floor(x)))
        inside = array.where_v2(whole, x, array.zeros_like(x))
        found = inside * self.log_rate - lgamma(1.0 + inside) - self.rate
        return array.where_v2(whole, found, np.array(-np.inf, found.dtype.as_numpy_dtype))

    def _cdf(self, x: Any) -> Any:
        x = after(self._checked((whole_numbers, x)), x)
        x = x if self.interpolate_nondiscrete else floor(x)
        found = igammac(1.0 + maximum(x, 0.0), self.rate + array.zeros_like(x))
        return array.where_v2(x < 0.0, array.zeros_like(found), found)

    def _mean(self) -> Any:
        return array.identity(self.rate)

    def _variance(self) -> Any:
        return array.identity(self.rate)

    def _mode(self) -> Any:
        return floor(self.rate)


class Multinomial(_Counts, VectorEvent):
    """How often each class comes up in ``total_count`` draws with probabilities ``probs``.

    ``logits`` or ``probs`` are ``batch_shape + [k]`` floats, ``total_count`` broadcasts to
    ``batch_shape``. Samples are ``[..., k]`` floats without gradient. `log_prob` takes counts that sum to
    ``total_count``.
    """

    def __init__(
        self,
        total_count: Any,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Multinomial",
    ) -> None:
        self._set_probabilities(locals())

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        batch = self.batch_shape_tensor()
        classes = self._event_size
        logits = array.broadcast_to(self.logits, array.concat([batch, [classes]], 0))
        return draw_counts(self.total_count, logits, n, batch, classes, self.dtype, seed)

    def _log_prob(self, counts: Any) -> Any:
        counts = after(
            self._checked((whole_numbers, counts), (self._sums_to_total, counts)), counts
        )
        with_zeros = times_log(counts, log_softmax(self.logits))
        return reduce_sum(with_zeros, -1) + log_combinations(self.total_count, counts)

    def _mean(self) -> Any:
        return self.total_count[..., None] * self.probs

    def _covariance(self) -> Any:
        from dataflow.ops.matrix_diag import matrix_diag

        mean = self._mean()
        return matrix_diag(mean) - self.probs[..., None] * mean[..., None, :]

    def _variance(self) -> Any:
        return self._mean() * (1.0 - self.probs)


def draw_counts(
    total_count: Any, logits: Any, n: Any, batch: Any, classes: Any, dtype: Any, seed: Any
) -> Any:
    """How often each class comes up: ``[n] + batch + [classes]`` for logits ``batch + [classes]``.

    As many classes are drawn as the largest total needs; where the total is smaller, the rest is
    not counted.
    """
    from dataflow.ops.math import reduce_max

    totals = array.broadcast_to(total_count, batch)
    most = cast(reduce_max(totals), dtypes.int32)
    rows = array.reshape(logits, array.stack([-1, classes]))
    drawn = multinomial(rows, n * most, seed=seed)
    drawn = array.reshape(drawn, array.stack([-1, n, most]))
    wanted = cast(array.range_(most), totals.dtype) < array.reshape(totals, [-1, 1, 1])
    ones = array.one_hot(drawn, classes, dtype=dtype) * cast(wanted, dtype)[..., None]
    counts = array.transpose(reduce_sum(ones, -2), [1, 0, 2])
    return array.reshape(counts, array.concat([[n], batch, [classes]], 0))


def counts_sum_to(total: Any, counts: Any) -> Any:
    """Asserts that the counts [..., k] sum to ``total`` [...]."""
    text = "counts must sum to `self.total_count`"
    return assert_equal(total, reduce_sum(counts, -1), message=text)


def log_combinations(total: Any, counts: Any) -> Any:
    """The logarithm of ``total! / prod counts!``, over the last axis of the counts."""
    return lgamma(1.0 + total) - reduce_sum(lgamma(1.0 + counts), -1)


@RegisterKL(Poisson, Poisson)
def _kl_poisson_poisson(a: Any, b: Any, name: str | None = None) -> Any:
    with name_scope(name, "kl_poisson_poisson"):
        return a.rate * (a.log_rate - b.log_rate) + b.rate - a.rate
