"""Classes made smooth: samples with gradients, nearer to one class as the temperature falls.

Jang, Gu, Poole, "Categorical Reparameterization with Gumbel-Softmax" (2016); Maddison, Mnih, Teh, "The
Concrete Distribution" (2016).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.distributions.distribution import FULLY_REPARAMETERIZED, as_float
from dataflow.distributions.normal_functions import softplus
from dataflow.distributions.probabilities import VectorEvent, WithProbabilities
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, ShapeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.activation import log_softmax
from dataflow.ops.math import exp, log, log1p, reduce_sum, sigmoid
from dataflow.ops.random import random_uniform
from dataflow.ops.special import lgamma


class _Relaxed(WithProbabilities):
    def _more_parameters(self, arguments: dict[str, Any]) -> list[Any]:
        from dataflow.distributions.distribution import after
        from dataflow.ops.assertions import assert_positive

        temperature = convert_to_tensor(
            arguments["temperature"], self._logits.dtype, name="temperature"
        )
        checks = [assert_positive(temperature)] if arguments["validate_args"] else []
        self._temperature = after(checks, temperature)
        return [self._temperature]

    @property
    def temperature(self) -> Any:
        """How smooth samples are: near 0 they are classes, far above 1 they are all alike."""
        return self._temperature

    def _noise(self, n: ShapeLike | Tensor, seed: int) -> Any:
        shape = array.concat([[n], array.shape(self.logits)], 0)
        smallest = np.finfo(self.dtype.as_numpy_dtype).tiny
        return random_uniform(shape, smallest, 1.0, self.dtype, seed=seed)


class ExpRelaxedOneHotCategorical(_Relaxed, VectorEvent):
    """The logarithm of `RelaxedOneHotCategorical`, for numbers that do not underflow."""

    def __init__(
        self,
        temperature: Any,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        dtype: DTypeLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "ExpRelaxedOneHotCategorical",
    ) -> None:
        self._set_probabilities(locals(), dtype, FULLY_REPARAMETERIZED)

    def _temperatures(self) -> Any:
        """The temperature against the axis of the classes: ``[..., 1]`` whether given so or as ``[...]``."""
        mine, classes = self.temperature.dims, self.logits.dims
        if mine is not None and classes is not None and len(mine) == len(classes) and mine[-1] == 1:
            return self.temperature
        return self.temperature[..., None]

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        gumbel = -log(-log(self._noise(n, seed)))
        return log_softmax((self.logits + gumbel) / self._temperatures())

    def _log_prob(self, x: TensorLike) -> Any:
        k = as_float(self._event_size, self.dtype)
        temperatures = self._temperatures()
        normalization = lgamma(k) + (k - 1.0) * log(temperatures[..., 0])
        scores = log_softmax(self.logits - x * temperatures)
        return reduce_sum(scores, -1) + normalization


class RelaxedOneHotCategorical(ExpRelaxedOneHotCategorical):
    """``softmax((logits + Gumbel noise) / temperature)``: vectors of shares that sum to 1.

    ``logits`` or ``probs`` are ``[..., k]`` floats, ``temperature``, ``[...]`` or ``[..., 1]``, broadcasts to
    their batch. Samples are floats with gradients.
    """

    def __init__(
        self,
        temperature: Any,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        dtype: DTypeLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedOneHotCategorical",
    ) -> None:
        self._set_probabilities(locals(), dtype, FULLY_REPARAMETERIZED)

    def _sample_n(self, n: ShapeLike | Tensor, seed: int | None = None) -> Any:
        return exp(super()._sample_n(n, seed))

    def _log_prob(self, x: TensorLike) -> Any:
        log_x = log(x)
        return super()._log_prob(log_x) - reduce_sum(log_x, -1)


class RelaxedBernoulli(_Relaxed):
    """``sigmoid((logits + logistic noise) / temperature)``: numbers in (0, 1), with gradients."""

    _classes = False

    def __init__(
        self,
        temperature: Any,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedBernoulli",
    ) -> None:
        self._set_probabilities(locals(), None, FULLY_REPARAMETERIZED)

    def _sample_n(self, n: Any, seed: Any = None) -> Any:
        u = self._noise(n, seed)
        return sigmoid((self.logits + log(u) - log1p(-u)) / self.temperature)

    def _log_prob(self, x: Any) -> Any:
        y = log(x) - log1p(-x)
        z = y * self.temperature - self.logits
        density = log(self.temperature) - z - 2.0 * softplus(-z)
        return density - log(x) - log1p(-x)

    def _cdf(self, x: Any) -> Any:
        return sigmoid((log(x) - log1p(-x)) * self.temperature - self.logits)
