"""Distributions made of others: rounded to whole numbers, with other batches, skewed."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.distributions.affine_bijectors import AffineScalar
from dataflow.distributions.composed_bijectors import Chain
from dataflow.distributions.distribution import NOT_REPARAMETERIZED, Distribution, after
from dataflow.distributions.elementary_bijectors import SinhArcsinh as _SinhArcsinh
from dataflow.distributions.location_scale import Normal
from dataflow.distributions.transformed import TransformedDistribution
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import ShapeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.assertions import assert_equal, assert_less
from dataflow.ops.broadcast_shapes import common_shape
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import ceil, exp, floor, log
from dataflow.ops.tensor_values import constant_value
from dataflow.shapes import TensorShape


class QuantizedDistribution(Distribution):
    """``ceil(X)`` for X of ``distribution``, held within ``[low, high]``, which are whole numbers.

    What lies beyond the limits counts to them, so that a discretized logistic over ``[0, 255]`` sums to 1.
    """

    def __init__(
        self,
        distribution: Distribution,
        low: TensorLike | None = None,
        high: TensorLike | None = None,
        validate_args: bool = False,
        name: str = "QuantizedDistribution",
    ) -> None:
        arguments = dict(locals())
        with name_scope(name) as scope:
            self._low = None if low is None else convert_to_tensor(low, distribution.dtype)
            self._high = None if high is None else convert_to_tensor(high, distribution.dtype)
            if validate_args:
                self._check_limits()
        self._base = distribution
        super().__init__(
            dtype=distribution.dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=distribution.allow_nan_stats,
            parameters=arguments,
            graph_parents=distribution._graph_parents,
            name=scope,
        )

    def _check_limits(self) -> None:
        """Limits that are, when they are used, whole numbers in the right order."""
        low, high = self._low, self._high
        for name, end in (("low", low), ("high", high)):
            if end is not None:
                text = f"`{name}` has non-integer components"
                end = after([assert_equal(end, floor(end), message=text)], end)
                setattr(self, f"_{name}", end)
        if low is not None and high is not None:
            ordered = assert_less(low, high, message="`low` must be less than `high`")
            self._low = after([ordered], self._low)

    @property
    def distribution(self) -> Distribution:
        """The distribution that is rounded."""
        return self._base

    @property
    def low(self) -> Any:
        """The least value, or None."""
        return self._low

    @property
    def high(self) -> Any:
        """The greatest value, or None."""
        return self._high

    def _batch_shape(self) -> TensorShape:
        return self._base.batch_shape

    def _batch_shape_tensor(self) -> Any:
        return self._base.batch_shape_tensor()

    def _event_shape(self) -> TensorShape:
        return self._base.event_shape

    def _event_shape_tensor(self) -> Any:
        return self._base.event_shape_tensor()

    def _sample_n(self, n: ShapeLike | Tensor, seed: int | None = None) -> Any:
        x = ceil(self._base.sample(n, seed=seed))
        x = x if self._low is None else array.where_v2(x < self._low, self._low, x)
        return x if self._high is None else array.where_v2(x > self._high, self._high, x)

    def _limited(self, value: Any, j: Any, below: float, above: float) -> Any:
        """``value`` at j, ``below`` where j is less than low and ``above`` from high on."""
        if self._low is not None:
            value = array.where_v2(j < self._low, convert_to_tensor(below, self.dtype), value)
        if self._high is not None:
            value = array.where_v2(j >= self._high, convert_to_tensor(above, self.dtype), value)
        return value

    def _cdf(self, y: Any) -> Any:
        j = floor(y)
        return self._limited(self._base.cdf(j), j, 0.0, 1.0)

    def _log_cdf(self, y: Any) -> Any:
        j = floor(y)
        return self._limited(self._base.log_cdf(j), j, -np.inf, 0.0)

    def _survival_function(self, y: Any) -> Any:
        j = ceil(y)
        return self._limited(self._base.survival_function(j), j, 1.0, 0.0)

    def _log_survival_function(self, y: Any) -> Any:
        j = ceil(y)
        return self._limited(self._base.log_survival_function(j), j, 0.0, -np.inf)

    def _log_prob(self, y: Any) -> Any:
        # In the tail where the survival function is small, a difference of it is exact; else one of the cdf.
        above, above_before = self.log_survival_function(y), self.log_survival_function(y - 1.0)
        below, below_before = self.log_cdf(y), self.log_cdf(y - 1.0)
        right = above < below
        big = array.where_v2(right, above_before, below)
        small = array.where_v2(right, above, below_before)
        return log(1.0 - exp(small - big)) + big

    def _prob(self, y: Any) -> Any:
        above, above_before = self.survival_function(y), self.survival_function(y - 1.0)
        below, below_before = self.cdf(y), self.cdf(y - 1.0)
        return array.where_v2(above < below, above_before - above, below - below_before)


class BatchReshape(Distribution):
    """``distribution`` with its batch in another shape, of as many distributions.

    ``batch_shape`` may have one -1. Raises `ValueError` where the numbers differ, or are not known when
    the graph is built.
    """

    def __init__(
        self,
        distribution: Distribution,
        batch_shape: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str | None = None,
    ) -> None:
        arguments = dict(locals())
        wanted = constant_value(convert_to_tensor(batch_shape, dtypes.int32))
        count = distribution.batch_shape.num_elements()
        if wanted is None or count is None:
            raise ValueError("BatchReshape: batch shapes must be known when the graph is built.")
        try:
            self._shape = list(np.empty(count, np.int8).reshape(wanted).shape)
        except ValueError:
            raise ValueError(
                f"batch_shape {wanted.tolist()} does not have as many distributions as "
                f"{distribution.batch_shape}, {count}."
            ) from None
        self._base = distribution
        with name_scope(name or f"BatchReshape{distribution.name.rstrip('/')}") as scope:
            pass
        super().__init__(
            dtype=distribution.dtype,
            reparameterization_type=distribution.reparameterization_type,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=arguments,
            graph_parents=distribution._graph_parents,
            name=scope,
        )

    @property
    def distribution(self) -> Distribution:
        """The distribution with its own batch."""
        return self._base

    def _batch_shape(self) -> TensorShape:
        return TensorShape(self._shape)

    def _batch_shape_tensor(self) -> Any:
        return convert_to_tensor(self._shape, dtypes.int32)

    def _event_shape(self) -> TensorShape:
        return self._base.event_shape

    def _event_shape_tensor(self) -> Any:
        return self._base.event_shape_tensor()

    def _sample_n(self, n: ShapeLike | Tensor, seed: int | None = None) -> Any:
        x = self._base.sample(n, seed=seed)
        return array.reshape(x, array.concat([[n], self._shape, self.event_shape_tensor()], 0))

    def _of_values(self, function: Any, x: Any) -> Any:
        """A function of values [sample..., batch..., event...], read and given back in this batch."""
        event = self.event_shape.ndims or 0
        x = x + array.zeros(array.concat([self._shape, self.event_shape_tensor()], 0), x.dtype)
        first = array.shape(x)[: x.shape.ndims - event - len(self._shape)]
        own = [first, self._base.batch_shape_tensor(), self.event_shape_tensor()]
        made = function(array.reshape(x, array.concat(own, 0)))
        return array.reshape(made, array.concat([first, self._shape], 0))

    def _log_prob(self, x: TensorLike) -> Any:
        return self._of_values(self._base.log_prob, x)

    def _prob(self, x: TensorLike) -> Any:
        return self._of_values(self._base.prob, x)

    def _cdf(self, x: TensorLike) -> Any:
        return self._of_values(self._base.cdf, x)

    def _log_cdf(self, x: TensorLike) -> Any:
        return self._of_values(self._base.log_cdf, x)

    def _survival_function(self, x: TensorLike) -> Any:
        return self._of_values(self._base.survival_function, x)

    def _log_survival_function(self, x: TensorLike) -> Any:
        return self._of_values(self._base.log_survival_function, x)

    def _moment(self, value: Any, num_events: int = 1) -> Any:
        tail = [self.event_shape_tensor()] * num_events
        return array.reshape(value, array.concat([self._shape, *tail], 0))

    def _entropy(self) -> Any:
        return self._moment(self._base.entropy(), 0)

    def _mean(self) -> Any:
        return self._moment(self._base.mean())

    def _mode(self) -> Any:
        return self._moment(self._base.mode())

    def _stddev(self) -> Any:
        return self._moment(self._base.stddev())

    def _variance(self) -> Any:
        return self._moment(self._base.variance())

    def _covariance(self) -> Any:
        return self._moment(self._base.covariance(), 2)


class SinhArcsinh(TransformedDistribution):
    """A normal distribution made skew and given other tails (Jones and Pewsey 2009).

    ``Y = loc + scale F(Z) 2 / F_0(2)``, ``F(Z) = sinh((arcsinh(Z) + skewness) tailweight)``, F_0 without
    skewness; Z is of ``distribution``, a scalar one (the standard normal).
    """

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        skewness: TensorLike | None = None,
        tailweight: TensorLike | None = None,
        distribution: Distribution | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "SinhArcsinh",
    ) -> None:
        with name_scope(name) as scope:
            self._loc = convert_to_tensor(loc, name="loc")
            dtype = self._loc.dtype
            self._scale = convert_to_tensor(scale, dtype, name="scale")
            self._skewness = convert_to_tensor(0.0 if skewness is None else skewness, dtype)
            self._tailweight = convert_to_tensor(1.0 if tailweight is None else tailweight, dtype)
            parts = [self._loc, self._scale, self._skewness, self._tailweight]
            zero, one = convert_to_tensor(0.0, dtype), convert_to_tensor(1.0, dtype)
            straight = _SinhArcsinh(zero, self._tailweight)
            unit = straight.forward(convert_to_tensor(2.0, dtype))
            super().__init__(
                distribution or Normal(zero, one, allow_nan_stats=allow_nan_stats),
                Chain(
                    [
                        AffineScalar(self._loc, 2.0 * self._scale / unit),
                        _SinhArcsinh(self._skewness, self._tailweight),
                    ]
                ),
                batch_shape=common_shape(part.shape for part in parts).as_list(),
                validate_args=validate_args,
                name=scope,
            )

    @property
    def loc(self) -> Any:
        """What is added."""
        return self._loc

    @property
    def scale(self) -> Any:
        """The deviation, about."""
        return self._scale

    @property
    def skewness(self) -> Any:
        """Above 0: a longer right tail."""
        return self._skewness

    @property
    def tailweight(self) -> Any:
        """Above 1: heavier tails than the distribution's."""
        return self._tailweight
