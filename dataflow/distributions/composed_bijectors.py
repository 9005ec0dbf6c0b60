"""Bijectors made of functions, of other bijectors and of layers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dataflow.distributions.bijector import Bijector
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.math import exp, reduce_sum
from dataflow.shapes import TensorShape


class Inline(Bijector):
    """A bijector of functions given as arguments."""

    def __init__(
        self,
        forward_fn: Callable[..., Any] | None = None,
        inverse_fn: Callable[..., Any] | None = None,
        inverse_log_det_jacobian_fn: Callable[..., Any] | None = None,
        forward_log_det_jacobian_fn: Callable[..., Any] | None = None,
        forward_event_shape_fn: Callable[..., Any] | None = None,
        forward_event_shape_tensor_fn: Callable[..., Any] | None = None,
        inverse_event_shape_fn: Callable[..., Any] | None = None,
        inverse_event_shape_tensor_fn: Callable[..., Any] | None = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        name: str = "inline",
    ) -> None:
        super().__init__(
            forward_min_event_ndims=forward_min_event_ndims,
            inverse_min_event_ndims=inverse_min_event_ndims,
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            name=name,
        )
        self._functions = {
            "forward": forward_fn,
            "inverse": inverse_fn,
            "forward_log_det_jacobian": forward_log_det_jacobian_fn,
            "inverse_log_det_jacobian": inverse_log_det_jacobian_fn,
        }
        self._shapes = (forward_event_shape_fn, inverse_event_shape_fn)
        self._shape_tensors = (forward_event_shape_tensor_fn, inverse_event_shape_tensor_fn)

    def _call(self, what: str, value: TensorLike) -> Any:
        function = self._functions[what]
        if function is None:
            raise NotImplementedError(f"Cannot {what}: `{what}_fn` was not given.")
        return function(value)

    def _forward(self, x: TensorLike) -> Any:
        return self._call("forward", x)

    def _inverse(self, y: TensorLike) -> Any:
        return self._call("inverse", y)

    def _log_det(self, x: Any, y: Any) -> Any:
        forward, inverse = "forward_log_det_jacobian", "inverse_log_det_jacobian"
        for what in (forward, inverse) if y is None else (inverse, forward):
            if self._functions[what] is None:
                continue
            if what == forward:
                return self._call(what, self.inverse(y) if x is None else x)
            return -self._call(what, self.forward(x) if y is None else y)
        return self._call(forward if y is None else inverse, x if y is None else y)

    def _forward_event_shape(self, shape: TensorShape) -> TensorShape:
        return shape if self._shapes[0] is None else TensorShape(self._shapes[0](shape))

    def _inverse_event_shape(self, shape: TensorShape) -> TensorShape:
        return shape if self._shapes[1] is None else TensorShape(self._shapes[1](shape))

    def _forward_event_shape_tensor(self, shape: Tensor) -> Any:
        return shape if self._shape_tensors[0] is None else self._shape_tensors[0](shape)

    def _inverse_event_shape_tensor(self, shape: Tensor) -> Any:
        return shape if self._shape_tensors[1] is None else self._shape_tensors[1](shape)


class Invert(Bijector):
    """Another bijector with forward and inverse exchanged."""

    def __init__(
        self, bijector: Bijector, validate_args: bool = False, name: str | None = None
    ) -> None:
        super().__init__(
            forward_min_event_ndims=bijector.inverse_min_event_ndims,
            inverse_min_event_ndims=bijector.forward_min_event_ndims,
            is_constant_jacobian=bijector.is_constant_jacobian,
            validate_args=validate_args,
            name=name or f"invert_{bijector.name}",
        )
        self._bijector = bijector

    @property
    def bijector(self) -> Bijector:
        """The bijector that is inverted."""
        return self._bijector

    def _forward(self, x: TensorLike) -> Any:
        return self._bijector.inverse(x)

    def _inverse(self, y: TensorLike) -> Any:
        return self._bijector.forward(y)

    def _log_det(self, x: Any, y: Any) -> Any:
        return -self._bijector._log_det(y, x)

    def _forward_event_shape(self, shape: TensorShape) -> TensorShape:
        return self._bijector.inverse_event_shape(shape)

    def _inverse_event_shape(self, shape: TensorShape) -> TensorShape:
        return self._bijector.forward_event_shape(shape)

    def _forward_event_shape_tensor(self, shape: Tensor) -> Any:
        return self._bijector.inverse_event_shape_tensor(shape)

    def _inverse_event_shape_tensor(self, shape: Tensor) -> Any:
        return self._bijector.forward_event_shape_tensor(shape)


class Chain(Bijector):
    """``Chain([f, g]).forward(x) = f.forward(g.forward(x))``; without bijectors the identity."""

    def __init__(
        self,
        bijectors: Sequence[Bijector] | None = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        self._bijectors = list(bijectors or [])
        for bijector in self._bijectors:
            if not bijector._is_injective:
                raise NotImplementedError(
                    f"Invalid bijector: {bijector.name} is not injective, and Chain takes injective ones only."
                )
        names = "_of_".join(b.name for b in self._bijectors)
        ends = [(b.forward_min_event_ndims, b.inverse_min_event_ndims) for b in self._bijectors]
        super().__init__(
            forward_min_event_ndims=_needed_ndims(reversed(ends)),
            inverse_min_event_ndims=_needed_ndims((made, taken) for taken, made in ends),
            is_constant_jacobian=all(b.is_constant_jacobian for b in self._bijectors),
            validate_args=validate_args,
            name=name or (f"chain_of_{names}" if names else "identity"),
        )

    @property
    def bijectors(self) -> list[Bijector]:
        """The bijectors, the outermost first."""
        return self._bijectors

    def _forward(self, x: TensorLike) -> Any:
        for bijector in reversed(self._bijectors):
            x = bijector.forward(x)
        return array.identity(x)

    def _inverse(self, y: TensorLike) -> Any:
        for bijector in self._bijectors:
            y = bijector.inverse(y)
        return array.identity(y)

    def _log_det(self, x: Any, y: Any) -> Any:
        total: Any = convert_to_tensor(0.0, (y if x is None else x).dtype)
        if x is not None:
            ndims = self.forward_min_event_ndims
            for bijector in reversed(self._bijectors):
                total = total + bijector.forward_log_det_jacobian(x, ndims)
                ndims = _ndims_after(bijector.forward_event_shape, x, ndims)
                x = bijector.forward(x)
        else:
            ndims = self.inverse_min_event_ndims
            for bijector in self._bijectors:
                total = total - bijector.inverse_log_det_jacobian(y, ndims)
                ndims = _ndims_after(bijector.inverse_event_shape, y, ndims)
                y = bijector.inverse(y)
        return total

    def _forward_event_shape(self, shape: TensorShape) -> TensorShape:
        for bijector in reversed(self._bijectors):
            shape = bijector.forward_event_shape(shape)
        return shape

    def _inverse_event_shape(self, shape: TensorShape) -> TensorShape:
        for bijector in self._bijectors:
            shape = bijector.inverse_event_shape(shape)
        return shape

    def _forward_event_shape_tensor(self, shape: Tensor) -> Any:
        for bijector in reversed(self._bijectors):
            shape = bijector.forward_event_shape_tensor(shape)
        return shape

    def _inverse_event_shape_tensor(self, shape: Tensor) -> Any:
        for bijector in self._bijectors:
            shape = bijector.inverse_event_shape_tensor(shape)
        return shape


def _needed_ndims(steps: Iterable[tuple[int, int]]) -> int:
    """The number of event axes that the first of several steps takes; each step is (axes taken, axes made)."""
    needed = spare = 0  # spare: axes that the steps so far leave for the next one
    for taken, made in steps:
        if spare < taken:
            needed += taken - spare
        spare = max(taken, spare) + made - taken
    return needed


def _ndims_after(event_shape: Callable[[Any], TensorShape], value: Any, ndims: int) -> int:
    """The number of event axes after a bijector was applied to the last ``ndims`` axes of ``value``."""
    shape = value.get_shape()
    event = TensorShape([None] * ndims if shape.ndims is None else shape[shape.ndims - ndims :])
    after = event_shape(event).ndims
    return ndims if after is None else after


class RealNVP(Bijector):
    """A flow that keeps the first ``num_masked`` elements of a vector and moves the others by them.

    ``y[d:] = x[d:] * exp(log_scale) + shift`` for ``shift, log_scale = shift_and_log_scale_fn(x[:d],
    size)`` (Dinh, Sohl-Dickstein, Bengio, "Density Estimation using Real NVP", 2016). ``log_scale`` may be
    None. The size of the vectors must be known when the graph is built.
    """

    def __init__(
        self,
        num_masked: int,
        shift_and_log_scale_fn: Callable[..., Any],
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        if num_masked < 0:
            raise ValueError("num_masked must be a non-negative integer.")
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            name=name or "real_nvp",
        )
        self._num_masked = num_masked
        self._function = shift_and_log_scale_fn

    def _parts(self, value: Any) -> tuple[Any, Any, Any, Any]:
        size = value.get_shape().as_list()[-1] if value.get_shape().ndims else None
        if size is None:
            raise ValueError("RealNVP needs vectors of known size.")
        if self._num_masked >= size:
            raise ValueError("num_masked must be smaller than the number of event dimensions.")
        kept = value[..., : self._num_masked]
        shift, log_scale = self._function(kept, size - self._num_masked)
        return kept, value[..., self._num_masked :], shift, log_scale

    def _forward(self, x: TensorLike) -> Any:
        kept, moved, shift, log_scale = self._parts(x)
        moved = moved if log_scale is None else moved * exp(log_scale)
        return array.concat([kept, moved if shift is None else moved + shift], -1)

    def _inverse(self, y: TensorLike) -> Any:
        kept, moved, shift, log_scale = self._parts(y)
        moved = moved if shift is None else moved - shift
        return array.concat([kept, moved if log_scale is None else moved * exp(-log_scale)], -1)

    def _log_det(self, x: Any, y: Any) -> Any:
        value = y if x is None else x  # The part that decides is the same at both ends.
        log_scale = self._parts(value)[3]
        if log_scale is None:
            return convert_to_tensor(0.0, value.dtype)
        return reduce_sum(log_scale, -1)


def real_nvp_default_template(
    hidden_layers: Sequence[int],
    shift_only: bool = False,
    activation: Any = None,
    name: str | None = None,
    **kwargs: Any,
) -> Any:
    """A ``shift_and_log_scale_fn`` for `RealNVP`: dense layers of these sizes (relu by default)."""
    from dataflow.layers.core import dense
    from dataflow.ops.activation import relu_op
    from dataflow.ops.template import make_template

    def layer(x: Any, units: int, function: Any) -> Any:
        return dense(x, units, activation=function, **kwargs)

    def shift_and_log_scale(x: Any, output_units: int) -> tuple[Any, Any]:
        for units in hidden_layers:
            x = layer(x, units, activation or relu_op)
        x = layer(x, output_units * (1 if shift_only else 2), None)
        if shift_only:
            return x, None
        shift, log_scale = array.split(x, 2, axis=-1)
        return shift, log_scale

    return make_template(name or "real_nvp_default_template", shift_and_log_scale)
