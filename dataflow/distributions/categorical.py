"""Distributions of classes and of yes or no."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.distributions.distribution import (
    after,
    as_float,
    whole_numbers,
)
from dataflow.distributions.kullback_leibler import RegisterKL
from dataflow.distributions.normal_functions import softplus
from dataflow.distributions.probabilities import (
    VectorEvent,
    WithProbabilities,
    draw_classes,
    times_log,
)
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, ShapeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.activation import log_softmax, softmax
from dataflow.ops.assertions import assert_less_equal, assert_non_negative
from dataflow.ops.casts import cast
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.loss import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from dataflow.ops.math import (
    argmax,
    exp,
    reduce_sum,
    sigmoid,
)
from dataflow.ops.random import random_uniform
from dataflow.ops.seeds import count_left_out, count_left_out_of_gradient


class Bernoulli(WithProbabilities):
    """1 with probability ``probs = sigmoid(logits)``, else 0.

    Parameters are floats; samples have ``dtype`` (int32) and no gradient. `mode` is 1 where
    ``probs > 0.5``.
    """

    _classes = False

    def __init__(
        self,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        dtype: DTypeLike = dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Bernoulli",
    ) -> None:
        self._set_probabilities(locals(), dtype)
        count_left_out(-1 if logits is not None else 0)  # the logits as they are

    def _sample_n(self, n: ShapeLike | Tensor, seed: int | None = None) -> Any:
        shape = array.concat([[n], self.batch_shape_tensor()], 0)
        noise = random_uniform(shape, dtype=self.probs.dtype, seed=seed)
        return cast(noise < self.probs, self.dtype)

    def _log_prob(self, event: Any) -> Any:
        event = after(self._checked((_zero_or_one, event)), event)
        event = as_float(event, self.logits.dtype)
        logits = self.logits
        dims = event.dims, logits.dims
        if dims[0] is None or None in dims[0] or dims[0] != dims[1]:
            logits, event = array.ones_like(event) * logits, array.ones_like(logits) * event
        return -sigmoid_cross_entropy_with_logits(labels=event, logits=logits)

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
        logits: TensorLike | None = None,
        dtype: DTypeLike = dtypes.int32,
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
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        dtype: DTypeLike = dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Categorical",
    ) -> None:
        self._set_probabilities(locals(), dtype)
        count_left_out(-2 if self._logits.get_shape()[:-1].is_fully_defined() else 1)

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
        return _entropy_of(self.logits)

    def _mode(self) -> Any:
        return cast(argmax(self.logits, axis=-1), self.dtype)


class OneHotCategorical(VectorEvent):
    """One class, as a vector with a 1 at its place; else as `Categorical`."""

    def __init__(
        self,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        dtype: DTypeLike = dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "OneHotCategorical",
    ) -> None:
        self._set_probabilities(locals(), dtype)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        drawn = draw_classes(self.logits, n, seed)
        return array.one_hot(drawn, self._event_size, dtype=self.dtype)

    def _log_prob(self, x: TensorLike) -> Any:
        x = as_float(x, self.logits.dtype)
        ones = array.ones_like(x + self.logits)
        return -softmax_cross_entropy_with_logits_v2(labels=x * ones, logits=self.logits * ones)

    def _entropy(self) -> Any:
        return _entropy_of(self.logits)

    def _mean(self) -> Any:
        return array.identity(self.probs)

    def _mode(self) -> Any:
        return array.one_hot(argmax(self.logits, axis=-1), self._event_size, dtype=self.dtype)

    def _covariance(self) -> Any:
        from dataflow.ops.matrix_diag import matrix_diag

        return matrix_diag(self.probs) - self.probs[..., None] * self.probs[..., None, :]

    def _variance(self) -> Any:
        return self.probs * (1.0 - self.probs)


def _entropy_of(logits: Any) -> Any:
    logs = log_softmax(logits)
    count_left_out(-1)  # the probabilities are there already
    products = times_log(exp(logs), logs)
    count_left_out_of_gradient(products, (0, -3))
    return -reduce_sum(products, -1)


def _zero_or_one(event: Any) -> Any:
    from dataflow.ops.control_flow import group

    return group(
        assert_non_negative(event, message="An event must be non-negative."),
        assert_less_equal(event, array.ones_like(event), message="Elements cannot exceed 1."),
    )


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
        return reduce_sum(times_log(difference, softmax(a.logits)), -1)
