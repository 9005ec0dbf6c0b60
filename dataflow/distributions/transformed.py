"""What becomes of a distribution when a bijector is applied to its samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.distributions.bijectors import Bijector, Identity
from dataflow.distributions.distribution import Distribution
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DynamicShapeLike, ShapeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.math import reduce_sum
from dataflow.ops.reduce import reduce_logsumexp
from dataflow.ops.tensor_values import constant_value
from dataflow.shapes import TensorShape


def _static(shape: DynamicShapeLike | None) -> list[int] | None:
    """A shape given as an argument, as a list; None where none is given."""
    if shape is None:
        return None
    value = constant_value(convert_to_tensor(shape, dtypes.int32))
    if value is None:
        raise ValueError("batch_shape and event_shape must be known when the graph is built.")
    return [int(size) for size in np.atleast_1d(value)]


class TransformedDistribution(Distribution):
    """``bijector.forward(X)`` for X of ``distribution``: density ``p(x) |det dx/dy|``.

    ``batch_shape`` and ``event_shape`` make a distribution of scalars into one of independent parts with
    these shapes first. Samples have gradients where those of ``distribution`` do.
    """

    def __init__(
        self,
        distribution: Distribution,
        bijector: Bijector | None = None,
        batch_shape: Any = None,
        event_shape: Any = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        arguments = dict(locals())
        self._distribution = distribution
        self._bijector = Identity() if bijector is None else bijector
        self._batch_override, self._event_override = _static(batch_shape), _static(event_shape)
        if self._batch_override is not None and distribution.batch_shape.ndims != 0:
            raise ValueError("Base distribution is not scalar: batch_shape cannot be given.")
        if self._event_override is not None and distribution.event_shape.ndims != 0:
            raise ValueError("Base distribution is not scalar: event_shape cannot be given.")
        if (
            self._event_override is not None
            and self._batch_override is None
            and distribution.batch_shape.ndims != 0
        ):
            raise ValueError(
                "event_shape needs a distribution whose batch is scalar; give batch_shape, or use "
                "Independent."
            )
        super().__init__(
            dtype=distribution.dtype,
            reparameterization_type=distribution.reparameterization_type,
            validate_args=validate_args,
            allow_nan_stats=distribution.allow_nan_stats,
            parameters=arguments,
            graph_parents=distribution._graph_parents,
            name=name or self._bijector.name + distribution.name.rstrip("/").rsplit("/", 1)[-1],
        )

    @property
    def distribution(self) -> Distribution:
        """The distribution of x."""
        return self._distribution

    @property
    def bijector(self) -> Bijector:
        """The function from x to y."""
        return self._bijector

    def _event_of_x(self) -> TensorShape:
        own = self._distribution.event_shape
        return own if self._event_override is None else TensorShape(self._event_override)

    def _batch_shape(self) -> TensorShape:
        own = self._distribution.batch_shape
        return own if self._batch_override is None else TensorShape(self._batch_override)

    def _batch_shape_tensor(self) -> Any:
        return self._distribution.batch_shape_tensor()

    def _event_shape(self) -> TensorShape:
        return self._bijector.forward_event_shape(self._event_of_x())

    def _event_shape_tensor(self) -> Any:
        shape = self._event_shape()
        if not shape.is_fully_defined():
            raise ValueError("the event shape of a TransformedDistribution must be known.")
        return convert_to_tensor(shape.as_list(), dtypes.int32)

    def _event_ndims(self) -> int:
        ndims = self._event_shape().ndims
        if ndims is None:
            raise ValueError("the rank of an event must be known when the graph is built.")
        return int(max(ndims, self._bijector.inverse_min_event_ndims))

    def _sample_n(self, n: ShapeLike | Tensor, seed: int | None = None) -> Any:
        added = (self._batch_override or []) + (self._event_override or [])
        shape = array.concat([[n], np.array(added, np.int32)], 0)
        return self._bijector.forward(self._distribution.sample(shape, seed=seed))

    def _log_prob(self, y: TensorLike) -> Any:
        x = self._bijector.inverse(y)
        log_det = self._bijector.inverse_log_det_jacobian(y, self._event_ndims())
        if self._bijector._is_injective:
            return self._log_prob_at(x) + log_det
        # Several x become y: their densities are added.
        parts = [self._log_prob_at(branch) + part for branch, part in zip(x, log_det, strict=True)]
        return reduce_logsumexp(array.stack(parts), 0)

    def _log_prob_at(self, x: Any) -> Any:
        """The base distribution's log density of the event at ``x``, without the Jacobian."""
        log_prob = self._distribution.log_prob(x)
        if self._event_override:
            log_prob = reduce_sum(log_prob, list(range(-len(self._event_override), 0)))
        # A bijector of vectors over a batch of scalars: its event is made of the batch's last axes.
        taken = self._bijector.inverse_min_event_ndims - (self._event_shape().ndims or 0)
        if taken > 0:
            log_prob = reduce_sum(log_prob, list(range(-taken, 0)))
        return log_prob

    def _need_one_inverse(self, what: str) -> None:
        if not self._bijector._is_injective:
            raise NotImplementedError(
                f"{what} is not implemented when `bijector` is not injective: {self._bijector.name}."
            )

    def _cdf(self, y: TensorLike) -> Any:
        self._need_one_inverse("cdf")
        return self._distribution.cdf(self._bijector.inverse(y))

    def _quantile(self, p: Any) -> Any:
        self._need_one_inverse("quantile")
        return self._bijector.forward(self._distribution.quantile(p))

    def _mean(self) -> Any:
        self._need_one_inverse("mean")
        if not self._bijector.is_constant_jacobian:
            raise NotImplementedError(
                "mean is not implemented for non-affine bijectors: "
                f"{self._bijector.name}. Estimate it from samples."
            )
        mean = self._distribution.mean()
        added = (self._batch_override or []) + (self._event_override or [])
        if added:
            mean = array.broadcast_to(mean, added)
        return self._bijector.forward(mean)

    def _entropy(self) -> Any:
        self._need_one_inverse("entropy")
        if not self._bijector.is_constant_jacobian:
            raise NotImplementedError(
                "entropy is not implemented for non-affine bijectors: "
                f"{self._bijector.name}. Estimate it from samples."
            )
        entropy = self._distribution.entropy()
        if self._event_override:
            entropy = entropy * float(np.prod(self._event_override))
        dummy = array.zeros(self._event_of_x().as_list(), self.dtype)
        return entropy + self._bijector.forward_log_det_jacobian(
            dummy, self._event_of_x().ndims or 0
        )


ConditionalTransformedDistribution = TransformedDistribution
