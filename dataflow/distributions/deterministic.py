"""Constants as distributions."""

from __future__ import annotations

from typing import Any

from dataflow.distributions.distribution import FULLY_REPARAMETERIZED, Distribution, after
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import ShapeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.assertions import assert_equal
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import abs_, cast, reduce_prod
from dataflow.ops.shape_assertions import assert_rank_at_least
from dataflow.shapes import TensorShape


class Deterministic(Distribution):
    """The number ``loc``, always; `prob` is 1 within ``atol + rtol * |loc|`` of it, else 0."""

    _event_ndims = 0

    def __init__(
        self,
        loc: TensorLike,
        atol: Any = None,
        rtol: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Deterministic",
    ) -> None:
        arguments = dict(locals())
        with name_scope(name) as scope:
            self._loc = convert_to_tensor(loc, name="loc")
            kind = self._loc.dtype
            self._slack = convert_to_tensor(0 if atol is None else atol, kind) + abs_(
                self._loc
            ) * convert_to_tensor(0 if rtol is None else rtol, kind)
        super().__init__(
            dtype=self._loc.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=arguments,
            graph_parents=[self._loc],
            name=scope,
        )

    @property
    def loc(self) -> Any:
        """The value."""
        return self._loc

    def _batch_shape(self) -> TensorShape:
        shape = self._loc.get_shape()
        return (
            shape
            if shape.ndims is None
            else TensorShape(shape.as_list()[: shape.ndims - self._event_ndims])
        )

    def _batch_shape_tensor(self) -> Any:
        shape = array.shape(self._loc)
        return shape[: array.size(shape) - self._event_ndims]

    def _sample_n(self, n: ShapeLike | Tensor, seed: int | None = None) -> Any:
        return array.broadcast_to(self._loc, array.concat([[n], array.shape(self._loc)], 0))

    def _prob(self, x: TensorLike) -> Any:
        return cast(abs_(x - self._loc) <= self._slack, self.dtype)

    def _cdf(self, x: TensorLike) -> Any:
        return cast(x >= self._loc - self._slack, self.dtype)

    def _entropy(self) -> Any:
        return array.zeros(self.batch_shape_tensor(), self.dtype)

    def _mean(self) -> Any:
        return array.identity(self._loc)

    def _variance(self) -> Any:
        return array.zeros_like(self._loc)

    _mode = _mean


class VectorDeterministic(Deterministic):
    """`Deterministic` with vectors ``[..., k]`` as events."""

    _event_ndims = 1

    def __init__(
        self,
        loc: TensorLike,
        atol: Any = None,
        rtol: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "VectorDeterministic",
    ) -> None:
        super().__init__(loc, atol, rtol, validate_args, allow_nan_stats, name)

    def _event_shape(self) -> TensorShape:
        shape = self._loc.get_shape()
        return TensorShape([None]) if shape.ndims is None else shape[-1:]

    def _event_shape_tensor(self) -> Any:
        return array.shape(self._loc)[-1:]

    def _prob(self, x: TensorLike) -> Any:
        if self.validate_args:
            text = "Argument 'x' not defined in the same space R^k as this distribution"
            own, given = self.event_shape_tensor(), array.shape(x)[-1:]
            checks = [
                assert_rank_at_least(x, 1),
                assert_equal(own, given, message=text),
            ]
            x = after(checks, x)
        return reduce_prod(super()._prob(x), -1)

    def _cdf(self, x: TensorLike) -> Any:
        raise NotImplementedError("cdf is not implemented: VectorDeterministic")
