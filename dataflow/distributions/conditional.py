"""Distributions whose methods take further arguments."""

from __future__ import annotations

import copy
from typing import Any

from dataflow.distributions.distribution import Distribution
from dataflow.graph.type_aliases import TensorLike


class ConditionalDistribution(Distribution):
    """A conditional distribution: ``d.prob(x, arg1=1)`` calls the subclass's ``_prob(x, arg1=1)``."""

    def _under(self, condition: dict[str, Any]) -> Any:
        """This distribution with the arguments bound for all of its methods."""
        given = copy.copy(self)
        given._condition = condition
        return given

    def sample(
        self,
        sample_shape: Any = (),
        seed: int | None = None,
        name: str = "sample",
        **condition_kwargs: Any,
    ) -> Any:
        return Distribution.sample(self._under(condition_kwargs), sample_shape, seed, name)

    def log_prob(self, value: TensorLike, name: str = "log_prob", **condition_kwargs: Any) -> Any:
        return Distribution.log_prob(self._under(condition_kwargs), value, name)

    def prob(self, value: TensorLike, name: str = "prob", **condition_kwargs: Any) -> Any:
        return Distribution.prob(self._under(condition_kwargs), value, name)

    def log_cdf(self, value: TensorLike, name: str = "log_cdf", **condition_kwargs: Any) -> Any:
        return Distribution.log_cdf(self._under(condition_kwargs), value, name)

    def cdf(self, value: TensorLike, name: str = "cdf", **condition_kwargs: Any) -> Any:
        return Distribution.cdf(self._under(condition_kwargs), value, name)

    def log_survival_function(
        self, value: TensorLike, name: str = "log_survival_function", **condition_kwargs: Any
    ) -> Any:
        return Distribution.log_survival_function(self._under(condition_kwargs), value, name)

    def survival_function(
        self, value: TensorLike, name: str = "survival_function", **condition_kwargs: Any
    ) -> Any:
        return Distribution.survival_function(self._under(condition_kwargs), value, name)
