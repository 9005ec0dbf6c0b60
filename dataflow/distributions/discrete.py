"""Distributions of counts, classes and yes or no."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    after,
    as_float,
    dynamic_broadcast,
    positive,
    static_broadcast,
    whole_numbers,
)
from dataflow.distributions.kullback_leibler import RegisterKL
from dataflow.distributions.normal_functions import softplus
from dataflow.dtypes import as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.ops import array
from dataflow.ops.activation import log_softmax, softmax
from dataflow.ops.assertions import assert_less_equal, assert_near, assert_non_negative
from dataflow.ops.casts import cast
from dataflow.ops.graph_functions import control_dependencies, name_scope
from dataflow.ops.loss import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from dataflow.ops.math import (
    argmax,
    equal,
    exp,
    expm1,
    floor,
    log,
    log1p,
    maximum,
    reduce_sum,
    sigmoid,
    sqrt,
)
from dataflow.ops.random import multinomial, random_gamma, random_poisson, random_uniform
from dataflow.ops.special import betainc, digamma, igammac, lgamma
from dataflow.shapes import TensorShape


def logits_and_probs(
    logits: Any, probs: Any, multidimensional: bool, validate_args: bool, dtype: Any = None
) -> tuple[Any, Any]:
    """Both from the one that is given: log-odds and probabilities, or with ``multidimensional``
    unnormalized log-probabilities and probabilities along the last axis.

    Raises `ValueError` when both or none are given, `TypeError` for what is not a float.
    """
    if (probs is None) == (logits is None):
        raise ValueError("Must pass probs or logits, but not both.")
    given = "probs" if logits is None else "logits"
    tensor = convert_to_tensor(probs if logits is None else logits, dtype, name=given)
    if not tensor.dtype.is_floating:
        raise TypeError(f"{given} must be floats, got {tensor.dtype.name}.")
    if logits is not None:
        tensor = array.identity(tensor, name="logits")
        return tensor, (softmax if multidimensional else sigmoid)(tensor, name="probs")
    checks = []
    if validate_args:
        one = convert_to_tensor(1.0, tensor.dtype)
        checks = [assert_non_negative(tensor, message="probs must not be negative")]
        if multidimensional:
            total = reduce_sum(tensor, -1)
            checks.append(assert_near(total, array.ones_like(total), message="probs must sum to 1"))
        else:
            checks.append(assert_less_equal(tensor, one, message="probs must not be above 1"))
    with control_dependencies(checks):
        tensor = array.identity(tensor, name="probs")
    return log(tensor) if multidimensional else log(tensor) - log1p(-tensor), tensor


class WithProbabilities(Distribution):
    """A distribution given by ``logits`` or ``probs``: of one event, or one for each class."""

    #: Whether the last axis of the parameters holds the classes.
    _classes = True

    def _set_probabilities(
        self, arguments: dict[str, Any], dtype: Any = None, reparameterization: Any = None
    ) -> None:
        with name_scope(arguments["name"]) as scope:
            self._logits, self._probs = logits_and_probs(
                arguments["logits"], arguments["probs"], self._classes, arguments["validate_args"]
            )
            if self._classes:
                shape = self._logits.get_shape()
                if shape.ndims == 0:
                    raise ValueError("logits and probs need an axis for the classes, got a scalar.")
                self._event_size = array.shape(self._logits)[-1]
            extra = self._more_parameters(arguments)
        Distribution.__init__(
            self,
            dtype=self._logits.dtype if dtype is None else as_dtype(dtype),
            reparameterization_type=reparameterization or NOT_REPARAMETERIZED,
            validate_args=arguments["validate_args"],
            allow_nan_stats=arguments["allow_nan_stats"],
            parameters=arguments,
            graph_parents=[self._logits, self._probs, *extra],
            name=scope,
        )

    def _more_parameters(self, arguments: dict[str, Any]) -> list[Any]:
        return []

    @property
    def logits(self) -> Any:
        """Log-odds, or unnormalized log-probabilities along the last axis."""
        return self._logits

    @property
    def probs(self) -> Any:
        """Probabilities."""
        return self._probs

    def _without_classes(self) -> tuple[TensorShape, Any]:
        """The shape of the parameters without the axis of the classes: static, and a function."""
        if not self._classes:
            return self._logits.get_shape(), lambda: array.shape(self._logits)
        shape = self._logits.get_shape()
        static = TensorShape(None) if shape.ndims is None else shape[:-1]
        return static, lambda: array.shape(self._logits)[:-1]

    def _batch_shape(self) -> TensorShape:
        return self._without_classes()[0]

    def _batch_shape_tensor(self) -> Any:
        return self._without_classes()[1]()

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, Any]:
        if cls._classes:
            raise NotImplementedError("_param_shapes not implemented")
        return {"logits": convert_to_tensor(sample_shape, dtypes.int32)}


class VectorEvent(WithProbabilities):
    """An event is a vector with one element for each class."""

    @property
    def event_size(self) -> Any:
        """The number of classes, an int32 scalar."""
        return self._event_size

    def _event_shape(self) -> TensorShape:
        shape = self._logits.get_shape()
        return TensorShape([None]) if shape.ndims is None else shape[-1:]

    def _event_shape_tensor(self) -> Any:
        return array.shape(self._logits)[-1:]


def draw_classes(logits: Any, n: Any, seed: Any, dtype: Any = dtypes.int32) -> Any:
    """``n`` class numbers for each row of ``[..., classes]``: ``[n, ...]``."""
    shape = array.shape(logits)
    rows = array.reshape(logits, array.stack([-1, shape[-1]]))
    drawn = multinomial(rows, n, seed=seed, output_dtype=dtypes.int64)
    drawn = array.reshape(array.transpose(drawn), array.concat([[n], shape[:-1]], 0))
    return cast(drawn, dtype)


class Bernoulli(WithProbabilities):
    """1 with probability ``probs = sigmoid(logits)``, else 0.

    Parameters are floats; samples have ``dtype`` (int32) and no gradient. `mode` is 1 where
    ``probs > 0.5``.
    """

    _classes = False

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Bernoulli",
    ) -> None:
        self._set_probabilities(locals(), dtype)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        shape = array.concat([[n], self.batch_shape_tensor()], 0)
        noise = random_uniform(shape, dtype=self.probs.dtype, seed=seed)
        return cast(noise < self.probs, self.dtype)

    def _log_prob(self, event: Any) -> Any:
        event = after(self._checked((_zero_or_one, event)), event)
        event = as_float(event, self.logits.dtype)
        ones = array.ones_like(event + self.logits)
        return -sigmoid_cross_entropy_with_logits(labels=event * ones, logits=self.logits * ones)

    def _entropy(self) -> Any:
        return -self.logits * (sigmoid(self.logits) - 1.0) + softplus(-self.logits)

    def _mean(self) -> Any:
        return array.identity(self.probs)

    def _variance(self) -> Any:
        return self.probs * (1.0 - self.probs)

    def _mode(self) -> Any:
        return cast(self.probs > 0.5, self.dtype)


class BernoulliWithSigmoidProbs(Bernoulli):
    """`Bernoulli` with ``probs = sigmoid(logits)`` (the only argument)."""

    def __init__(
        self,
        logits: Any = None,
        dtype: Any = dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "BernoulliWithSigmoidProbs",
    ) -> None:
        arguments = dict(locals())
        super().__init__(logits, None, dtype, validate_args, allow_nan_stats, name)
        self._set_arguments(arguments)


class Categorical(WithProbabilities):
    """One class number in 0, ..., k - 1, with probabilities ``softmax(logits)`` along the last axis.

    ``logits`` or ``probs`` are ``batch_shape + [k]`` floats; samples are integers of ``dtype`` and have no
    gradient (use ``log_prob(action) * advantage``). As in TensorFlow 1, ``cdf(k)`` is ``P(X < k)``.
    """

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Categorical",
    ) -> None:
        self._set_probabilities(locals(), dtype)

    @property
    def event_size(self) -> Any:
        """The number of classes, an int32 scalar."""
        return self._event_size

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        return draw_classes(self.logits, n, seed, self.dtype)

    def _with_event(self, event: Any, parameter: Any) -> tuple[Any, Any]:
        """Class numbers as integers, and a parameter, broadcast against each other."""
        event = after(self._checked((whole_numbers, event)), event)
        event = cast(event, dtypes.int32 if self.dtype.is_floating else self.dtype)
        if event.get_shape().is_fully_defined() and parameter.get_shape()[:-1] == event.get_shape():
            return event, parameter
        event = event * array.ones_like(parameter[..., 0], dtype=event.dtype)
        return event, parameter * array.ones_like(event[..., None], dtype=parameter.dtype)

    def _log_prob(self, event: Any) -> Any:
        event, logits = self._with_event(event, self.logits)
        return -sparse_softmax_cross_entropy_with_logits(labels=event, logits=logits)

    def _cdf(self, event: Any) -> Any:
        event, probs = self._with_event(event, self.probs)
        classes = cast(array.range_(self._event_size), event.dtype)
        below = classes < event[..., None]
        return reduce_sum(probs * cast(below, probs.dtype), -1)

    def _entropy(self) -> Any:
        logs = log_softmax(self.logits)
        return -reduce_sum(_times_log(exp(logs), logs), -1)

    def _mode(self) -> Any:
        return cast(argmax(self.logits, axis=-1), self.dtype)


class OneHotCategorical(VectorEvent):
    """One class, as a vector with a 1 at its place; else as `Categorical`."""

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "OneHotCategorical",
    ) -> None:
        self._set_probabilities(locals(), dtype)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        drawn = draw_classes(self.logits, n, seed)
        return array.one_hot(drawn, self._event_size, dtype=self.dtype)

    def _log_prob(self, x: Any) -> Any:
        x = as_float(x, self.logits.dtype)
        ones = array.ones_like(x + self.logits)
        return -softmax_cross_entropy_with_logits_v2(labels=x * ones, logits=self.logits * ones)

    def _entropy(self) -> Any:
        logs = log_softmax(self.logits)
        return -reduce_sum(_times_log(exp(logs), logs), -1)

    def _mean(self) -> Any:
        return array.identity(self.probs)

    def _mode(self) -> Any:
        return array.one_hot(argmax(self.logits, axis=-1), self._event_size, dtype=self.dtype)

    def _covariance(self) -> Any:
        from dataflow.ops.matrix_diag import matrix_diag

        return matrix_diag(self.probs) - self.probs[..., None] * self.probs[..., None, :]

    def _variance(self) -> Any:
        return self.probs * (1.0 - self.probs)


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

    def _batch_shape(self) -> TensorShape:
        return static_broadcast([self._total_count.get_shape(), super()._batch_shape()])

    def _batch_shape_tensor(self) -> Any:
        return dynamic_broadcast([array.shape(self._total_count), super()._batch_shape_tensor()])


class Binomial(_Counts):
    """How many of ``total_count`` trials succeed, each with probability ``probs``; floats."""

    _classes = False

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Binomial",
    ) -> None:
        self._set_probabilities(locals())

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        raise NotImplementedError("sample is not implemented: Binomial. Multinomial has it.")

    def _log_prob(self, counts: Any) -> Any:
        n, p = self.total_count, self.probs
        from dataflow.ops.special import xlog1py, xlogy

        choose = lgamma(1.0 + n) - lgamma(1.0 + counts) - lgamma(1.0 + n - counts)
        return xlogy(counts, p) + xlog1py(n - counts, -p) + choose

    def _cdf(self, counts: Any) -> Any:
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
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NegativeBinomial",
    ) -> None:
        self._set_probabilities(locals())

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        total = array.broadcast_to(self.total_count, self.batch_shape_tensor())
        rate = random_gamma([n], total, exp(-self.logits), dtype=self.dtype, seed=seed)
        second = None if seed is None else seed + 1
        return random_poisson(rate, [], dtype=self.dtype, seed=second)

    def _log_prob(self, counts: Any) -> Any:
        total = self.total_count
        choose = lgamma(total + counts) - lgamma(1.0 + counts) - lgamma(total)
        return choose - total * softplus(self.logits) - counts * softplus(-self.logits)

    def _cdf(self, counts: Any) -> Any:
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
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Geometric",
    ) -> None:
        self._set_probabilities(locals())

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
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
        rate: Any = None,
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

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        return random_poisson(self.rate, [n], dtype=self.dtype, seed=seed)

    def _log_prob(self, x: Any) -> Any:
        import numpy as np

        from dataflow.ops.math import logical_and

        if self.interpolate_nondiscrete:
            return x * self.log_rate - lgamma(1.0 + x) - self.rate
        whole = logical_and(x >= 0.0, equal(x, floor(x)))
        inside = array.where_v2(whole, x, array.zeros_like(x))
        found = inside * self.log_rate - lgamma(1.0 + inside) - self.rate
        return array.where_v2(whole, found, np.array(-np.inf, found.dtype.as_numpy_dtype))

    def _cdf(self, x: Any) -> Any:
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
        logits: Any = None,
        probs: Any = None,
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
        counts = after(self._checked((whole_numbers, counts)), counts)
        with_zeros = _times_log(counts, log_softmax(self.logits))
        return reduce_sum(with_zeros, -1) + log_combinations(self.total_count, counts)

    def _mean(self) -> Any:
        return self.total_count[..., None] * self.probs

    def _covariance(self) -> Any:
        from dataflow.ops.matrix_diag import matrix_diag

        mean = self._mean()
        return matrix_diag(mean) - self.probs[..., None] * mean[..., None, :]

    def _variance(self) -> Any:
        return self._mean() * (1.0 - self.probs)


class Dirichlet(Distribution):
    """Vectors of shares that sum to 1: density ``prod x_i^(concentration_i - 1) / B``.

    ``concentration`` is ``batch_shape + [k]`` of positive floats, k >= 2. Samples have gradients.
    """

    concentration = positive("The powers, plus 1: [..., k].")
    _event_parameters = ("concentration",)

    def __init__(
        self,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Dirichlet",
    ) -> None:
        self._from_parameters(locals(), FULLY_REPARAMETERIZED)
        self._total_concentration = reduce_sum(self.concentration, -1)

    @property
    def total_concentration(self) -> Any:
        """The sum of the concentration along its last axis."""
        return self._total_concentration

    def _batch_shape(self) -> TensorShape:
        shape = self.concentration.get_shape()
        if shape.ndims == 0:
            raise ValueError("concentration needs an axis for the classes, got a scalar.")
        return TensorShape(None) if shape.ndims is None else shape[:-1]

    def _batch_shape_tensor(self) -> Any:
        return array.shape(self.concentration)[:-1]

    def _event_shape(self) -> TensorShape:
        shape = self.concentration.get_shape()
        return TensorShape([None]) if shape.ndims is None else shape[-1:]

    def _event_shape_tensor(self) -> Any:
        return array.shape(self.concentration)[-1:]

    def _log_beta(self) -> Any:
        return reduce_sum(lgamma(self.concentration), -1) - lgamma(self.total_concentration)

    def _classes(self) -> Any:
        return as_float(self._event_shape_tensor()[0], self.concentration.dtype)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        drawn = random_gamma([n], self.concentration, dtype=self.dtype, seed=seed)
        return drawn / reduce_sum(drawn, -1, keepdims=True)

    def _log_prob(self, x: Any) -> Any:
        from dataflow.ops.special import xlogy

        return reduce_sum(xlogy(self.concentration - 1.0, x), -1) - self._log_beta()

    def _entropy(self) -> Any:
        total, k = self.total_concentration, self._classes()
        return (
            self._log_beta()
            + (total - k) * digamma(total)
            - reduce_sum((self.concentration - 1.0) * digamma(self.concentration), -1)
        )

    def _mean(self) -> Any:
        return self.concentration / self.total_concentration[..., None]

    def _covariance(self) -> Any:
        from dataflow.ops.matrix_diag import matrix_set_diag

        mean = self._mean()
        scale = 1.0 / sqrt(1.0 + self.total_concentration[..., None])
        outer = -(mean * scale)[..., None] * (mean * scale)[..., None, :]
        return matrix_set_diag(outer, self._variance())

    def _variance(self) -> Any:
        mean = self._mean()
        return mean * (1.0 - mean) / (1.0 + self.total_concentration[..., None])

    def _mode(self) -> Any:
        mode = (self.concentration - 1.0) / (self.total_concentration[..., None] - self._classes())
        message = "mode undefined when any concentration <= 1"
        from dataflow.ops.math import reduce_all

        where = reduce_all(self.concentration > 1.0, -1, keepdims=True)
        return self._where_defined(where & (mode <= mode), mode, message)


class DirichletMultinomial(Dirichlet):
    """`Multinomial` counts whose probabilities are drawn from `Dirichlet`; floats, no gradient."""

    def __init__(
        self,
        total_count: Any,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "DirichletMultinomial",
    ) -> None:
        arguments = dict(locals())
        with name_scope(name) as scope:
            concentration = convert_to_tensor(concentration, name="concentration")
            total = convert_to_tensor(
                total_count, name="total_count", preferred_dtype=concentration.dtype
            )
            total = cast(total, concentration.dtype)
            self._total_count = after([whole_numbers(total)] if validate_args else [], total)
        super().__init__(concentration, validate_args, allow_nan_stats, scope)
        self._reparameterization_type = NOT_REPARAMETERIZED
        self._set_arguments(arguments)

    @property
    def total_count(self) -> Any:
        """The number of draws."""
        return self._total_count

    def _batch_shape(self) -> TensorShape:
        return static_broadcast([self._total_count.get_shape(), super()._batch_shape()])

    def _batch_shape_tensor(self) -> Any:
        return dynamic_broadcast([array.shape(self._total_count), super()._batch_shape_tensor()])

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        batch, classes = self.batch_shape_tensor(), self.event_shape_tensor()[0]
        concentration = array.broadcast_to(self.concentration, array.concat([batch, [classes]], 0))
        gammas = random_gamma([n], concentration, dtype=self.dtype, seed=seed)
        second = None if seed is None else seed + 1
        whole = array.concat([[n], batch], 0)
        counts = draw_counts(self.total_count, log(gammas), 1, whole, classes, self.dtype, second)
        return counts[0]

    def _log_prob(self, counts: Any) -> Any:
        counts = after(self._checked((whole_numbers, counts)), counts)
        both = self.concentration + counts
        beta = reduce_sum(lgamma(both), -1) - lgamma(reduce_sum(both, -1))
        return beta - self._log_beta() + log_combinations(self.total_count, counts)

    def _entropy(self) -> Any:
        raise NotImplementedError("entropy is not implemented: DirichletMultinomial")

    _mode = _entropy

    def _mean(self) -> Any:
        return self.total_count[..., None] * super()._mean()

    def _scale(self) -> Any:
        total = self.total_concentration
        return (self.total_count * (self.total_count + total) / (1.0 + total))[..., None]

    def _variance(self) -> Any:
        share = self.concentration / self.total_concentration[..., None]
        return self._scale() * share * (1.0 - share)

    def _covariance(self) -> Any:
        from dataflow.ops.matrix_diag import matrix_set_diag

        share = self.concentration / self.total_concentration[..., None]
        outer = -self._scale()[..., None] * share[..., None] * share[..., None, :]
        return matrix_set_diag(outer, self._variance())


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


def log_combinations(total: Any, counts: Any) -> Any:
    """The logarithm of ``total! / prod counts!``, over the last axis of the counts."""
    return lgamma(1.0 + total) - reduce_sum(lgamma(1.0 + counts), -1)


def _times_log(x: Any, logarithm: Any) -> Any:
    """``x * logarithm``, 0 where x is 0."""
    from dataflow.ops.arithmetic import multiply_no_nan

    return multiply_no_nan(logarithm, x)


def _zero_or_one(event: Any) -> Any:
    from dataflow.ops.control_flow import group

    return group(
        assert_non_negative(event, message="an event must be 0 or 1"),
        assert_less_equal(event, array.ones_like(event), message="an event must be 0 or 1"),
    )


# ---- divergences -------------------------------------------------------------------------------


@RegisterKL(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(a: Any, b: Any, name: str | None = None) -> Any:
    with name_scope(name, "kl_bernoulli_bernoulli"):
        delta_one = softplus(-b.logits) - softplus(-a.logits)
        delta_zero = softplus(b.logits) - softplus(a.logits)
        return sigmoid(a.logits) * delta_one + sigmoid(-a.logits) * delta_zero


@RegisterKL(OneHotCategorical, OneHotCategorical)
@RegisterKL(Categorical, Categorical)
def _kl_categorical_categorical(a: Any, b: Any, name: str | None = None) -> Any:
    with name_scope(name, "kl_categorical_categorical"):
        difference = log_softmax(a.logits) - log_softmax(b.logits)
        return reduce_sum(_times_log(difference, softmax(a.logits)), -1)


@RegisterKL(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(a: Any, b: Any, name: str | None = None) -> Any:
    with name_scope(name, "kl_dirichlet_dirichlet"):
        digammas = digamma(a.concentration) - digamma(a.total_concentration)[..., None]
        weighted = (a.concentration - b.concentration) * digammas
        return reduce_sum(weighted, -1) - a._log_beta() + b._log_beta()


@RegisterKL(Poisson, Poisson)
def _kl_poisson_poisson(a: Any, b: Any, name: str | None = None) -> Any:
    with name_scope(name, "kl_poisson_poisson"):
        return a.rate * (a.log_rate - b.log_rate) + b.rate - a.rate
