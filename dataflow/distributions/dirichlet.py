"""Distributions of probabilities, and of counts drawn with such."""

from __future__ import annotations

from typing import Any

from dataflow.distributions.counts import counts_sum_to, draw_counts, log_combinations
from dataflow.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    after,
    as_float,
    positive,
    whole_numbers,
)
from dataflow.distributions.kullback_leibler import RegisterKL
from dataflow.distributions.statistics import new_seed
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import ShapeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.broadcast_shapes import common_shape, common_shape_tensor
from dataflow.ops.casts import cast
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import (
    log,
    reduce_sum,
    sqrt,
)
from dataflow.ops.random import random_gamma
from dataflow.ops.special import digamma, lgamma
from dataflow.shapes import TensorShape


class Dirichlet(Distribution):
    """Vectors of shares that sum to 1: density ``prod x_i^(concentration_i - 1) / B``.

    ``concentration`` is ``batch_shape + [k]`` of positive floats, k >= 2. Samples have gradients.
    """

    concentration = positive("The powers, plus 1: [..., k].")
    _event_parameters = ("concentration",)

    def __init__(
        self,
        concentration: TensorLike,
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

    def _sample_n(self, n: ShapeLike | Tensor, seed: int | None = None) -> Any:
        drawn = random_gamma([n], self.concentration, dtype=self.dtype, seed=seed)
        return drawn / reduce_sum(drawn, -1, keepdims=True)

    def _log_prob(self, x: TensorLike) -> Any:
        from dataflow.ops.special import xlogy

        x = after(self._checked((_shares, x)), x)
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


def _shares(x: Tensor) -> Any:
    """Asserts that ``x`` is positive, and that its last axis sums to 1."""
    from dataflow.ops.assertions import assert_near, assert_positive
    from dataflow.ops.control_flow import group

    total = reduce_sum(x, -1)
    return group(
        assert_positive(x, message="samples must be positive"),
        assert_near(array.ones_like(total), total, message="sample last-dimension must sum to `1`"),
    )


class DirichletMultinomial(Dirichlet):
    """`Multinomial` counts whose probabilities are drawn from `Dirichlet`; floats, no gradient."""

    def __init__(
        self,
        total_count: Any,
        concentration: TensorLike,
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
            total = after([whole_numbers(total)] if validate_args else [], total)
            self._total_count = self._draws = total
            ours, classes = total.get_shape(), concentration.get_shape()
            if ours.ndims and ours.ndims == classes.ndims and ours[-1] == 1:
                self._draws = array.squeeze(
                    total, [-1]
                )  # TensorFlow takes one for all classes, too
        super().__init__(concentration, validate_args, allow_nan_stats, scope)
        self._reparameterization_type = NOT_REPARAMETERIZED
        self._set_arguments(arguments)

    @property
    def total_count(self) -> Any:
        """The number of draws."""
        return self._total_count

    def _batch_shape(self) -> TensorShape:
        return common_shape([self._draws.get_shape(), super()._batch_shape()])

    def _batch_shape_tensor(self) -> Any:
        return common_shape_tensor([array.shape(self._draws), super()._batch_shape_tensor()])

    def _sample_n(self, n: ShapeLike | Tensor, seed: int | None = None) -> Any:
        batch, classes = self.batch_shape_tensor(), self.event_shape_tensor()[0]
        concentration = array.broadcast_to(self.concentration, array.concat([batch, [classes]], 0))
        gammas = random_gamma([n], concentration, dtype=self.dtype, seed=seed)
        second = new_seed(seed, "dirichlet_multinomial")
        whole = array.concat([[n], batch], 0)
        counts = draw_counts(self._draws, log(gammas), 1, whole, classes, self.dtype, second)
        return counts[0]

    def _log_prob(self, counts: Any) -> Any:
        checks = self._checked((whole_numbers, counts), (self._sums_to_total, counts))
        counts = after(checks, counts)
        both = self.concentration + counts
        beta = reduce_sum(lgamma(both), -1) - lgamma(reduce_sum(both, -1))
        return beta - self._log_beta() + log_combinations(self._draws, counts)

    def _sums_to_total(self, counts: Any) -> Any:
        return counts_sum_to(self._draws, counts)

    def _entropy(self) -> Any:
        raise NotImplementedError("entropy is not implemented: DirichletMultinomial")

    _mode = _entropy

    def _mean(self) -> Any:
        return self._draws[..., None] * super()._mean()

    def _scale(self) -> Any:
        total = self.total_concentration
        return (self._draws * (self._draws + total) / (1.0 + total))[..., None]

    def _variance(self) -> Any:
        share = self.concentration / self.total_concentration[..., None]
        return self._scale() * share * (1.0 - share)

    def _covariance(self) -> Any:
        from dataflow.ops.matrix_diag import matrix_set_diag

        share = self.concentration / self.total_concentration[..., None]
        outer = -self._scale()[..., None] * share[..., None] * share[..., None, :]
        return matrix_set_diag(outer, self._variance())


@RegisterKL(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(a: Any, b: Any, name: str | None = None) -> Any:
    with name_scope(name, "kl_dirichlet_dirichlet"):
        digammas = digamma(a.concentration) - digamma(a.total_concentration)[..., None]
        weighted = (a.concentration - b.concentration) * digammas
        return reduce_sum(weighted, -1) - a._log_beta() + b._log_beta()
