"""Invertible, differentiable functions with their log-determinants, for `TransformedDistribution`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from dataflow.distributions.multivariate import DiagonalScale, TriangularScale
from dataflow.distributions.normal_functions import softplus, softplus_inverse
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.ops import array
from dataflow.ops.activation import softmax
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import abs_, exp, log, log1p, reduce_sum, sigmoid, square
from dataflow.shapes import TensorShape


class Bijector:
    """An invertible function ``y = forward(x)``.

    A subclass gives ``_forward``, ``_inverse``, and ``_forward_log_det_jacobian`` or
    ``_inverse_log_det_jacobian``; the other one follows. Each log-determinant is that of one event of
    ``forward_min_event_ndims`` axes; further event axes are summed. ``inverse(forward(x))`` gives x back
    without computing.
    """

    def __init__(
        self,
        graph_parents: Any = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        dtype: Any = None,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        name: str | None = None,
    ) -> None:
        if forward_min_event_ndims is None and inverse_min_event_ndims is None:
            raise ValueError(
                "Must specify at least one of `forward_min_event_ndims` and "
                "`inverse_min_event_ndims`."
            )
        first, second = forward_min_event_ndims, inverse_min_event_ndims
        self._forward_min_event_ndims = first if first is not None else second
        self._inverse_min_event_ndims = second if second is not None else first
        self._graph_parents = list(graph_parents or [])
        self._is_constant_jacobian = is_constant_jacobian
        self._validate_args = validate_args
        self._dtype = dtype
        self._name = name or type(self).__name__
        #: What `forward` was given, by its result.
        self._arguments: dict[Tensor, Any] = {}

    @property
    def name(self) -> str:
        """The name scope of the bijector's nodes."""
        return self._name

    @property
    def dtype(self) -> Any:
        """The dtype of x and y, or None for any."""
        return self._dtype

    @property
    def forward_min_event_ndims(self) -> Any:
        """The axes of x that the function mixes."""
        return self._forward_min_event_ndims

    @property
    def inverse_min_event_ndims(self) -> Any:
        """The axes of y that the inverse mixes."""
        return self._inverse_min_event_ndims

    @property
    def is_constant_jacobian(self) -> bool:
        """Whether the log-determinant does not depend on x."""
        return self._is_constant_jacobian

    @property
    def validate_args(self) -> bool:
        """Whether arguments are checked at run time."""
        return self._validate_args

    @contextmanager
    def _scope(self, name: str) -> Iterator[str]:
        with name_scope(self._name), name_scope(name) as scope:
            yield scope

    def _forward(self, x: Any) -> Any:
        raise NotImplementedError(f"forward is not implemented: {type(self).__name__}")

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError(f"inverse is not implemented: {type(self).__name__}")

    def _forward_event_shape(self, shape: TensorShape) -> TensorShape:
        return shape

    def _inverse_event_shape(self, shape: TensorShape) -> TensorShape:
        return shape

    def forward_event_shape(self, input_shape: Any) -> TensorShape:
        """The static shape of ``forward(x)`` for an event x of ``input_shape``."""
        return self._forward_event_shape(TensorShape(input_shape))

    def inverse_event_shape(self, output_shape: Any) -> TensorShape:
        """The static shape of ``inverse(y)`` for an event y of ``output_shape``."""
        return self._inverse_event_shape(TensorShape(output_shape))

    def forward(self, x: Any, name: str = "forward") -> Any:
        """``y`` for ``x``."""
        with self._scope(name):
            x = convert_to_tensor(x, name="x", preferred_dtype=self._dtype)
            y = self._forward(x)
            self._arguments[y] = x
            return y

    def inverse(self, y: Any, name: str = "inverse") -> Any:
        """``x`` for ``y``."""
        with self._scope(name):
            y = convert_to_tensor(y, name="y", preferred_dtype=self._dtype)
            known = self._arguments.get(y)
            return self._inverse(y) if known is None else known

    def forward_log_det_jacobian(
        self, x: Any, event_ndims: int, name: str = "forward_log_det_jacobian"
    ) -> Any:
        """``log |det dy/dx|`` at x, whose last ``event_ndims`` axes are one event."""
        with self._scope(name):
            x = convert_to_tensor(x, name="x", preferred_dtype=self._dtype)
            return self._reduced(
                self._log_det(x, None), x, event_ndims, self._forward_min_event_ndims
            )

    def inverse_log_det_jacobian(
        self, y: Any, event_ndims: int, name: str = "inverse_log_det_jacobian"
    ) -> Any:
        """``log |det dx/dy|`` at y, whose last ``event_ndims`` axes are one event."""
        with self._scope(name):
            y = convert_to_tensor(y, name="y", preferred_dtype=self._dtype)
            return self._reduced(
                -self._log_det(None, y), y, event_ndims, self._inverse_min_event_ndims
            )

    def _log_det(self, x: Any, y: Any) -> Any:
        """The log-determinant of the forward function, from either end."""
        if _overridden(self, "_forward_log_det_jacobian"):
            return self._forward_log_det_jacobian(self.inverse(y) if x is None else x)
        if _overridden(self, "_inverse_log_det_jacobian"):
            return -self._inverse_log_det_jacobian(self.forward(x) if y is None else y)
        raise NotImplementedError(f"log_det_jacobian is not implemented: {type(self).__name__}")

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        raise NotImplementedError

    def _reduced(self, log_det: Any, value: Any, event_ndims: Any, needed: Any) -> Any:
        """Sums a log-determinant over the event axes that the function does not mix."""
        from dataflow.ops.static_value import constant_value

        ndims = constant_value(event_ndims) if isinstance(event_ndims, Tensor) else event_ndims
        if ndims is None:
            raise ValueError("event_ndims must be known when the graph is built.")
        extra = int(ndims) - needed
        if extra < 0:
            raise ValueError(f"event_ndims ({ndims}) must be at least {needed} for {self._name}.")
        if extra == 0:
            return log_det
        shape = array.shape(value)
        if needed:
            shape = shape[: array.size(shape) - needed]
        # A constant determinant counts once for each part of the event.
        whole = array.broadcast_to(convert_to_tensor(log_det, value.dtype), shape)
        return reduce_sum(whole, list(range(-extra, 0)))


def _overridden(bijector: Bijector, method: str) -> bool:
    return getattr(type(bijector), method) is not getattr(Bijector, method)


class Identity(Bijector):
    """``y = x``."""

    def __init__(self, validate_args: bool = False, name: str = "identity") -> None:
        super().__init__(
            forward_min_event_ndims=0,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name,
        )

    def _forward(self, x: Any) -> Any:
        return array.identity(x)

    def _inverse(self, y: Any) -> Any:
        return array.identity(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return convert_to_tensor(0.0, x.dtype)


class _Elementwise(Bijector):
    """A function of each element by itself."""

    def __init__(self, validate_args: bool = False, name: str | None = None) -> None:
        super().__init__(
            forward_min_event_ndims=0,
            validate_args=validate_args,
            name=name or type(self).__name__.lower(),
        )


class Exp(_Elementwise):
    """``y = exp(x)``."""

    def _forward(self, x: Any) -> Any:
        return exp(x)

    def _inverse(self, y: Any) -> Any:
        return log(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return x


class PowerTransform(_Elementwise):
    """``y = (1 + power x)^(1 / power)``; `Exp` at power 0."""

    def __init__(
        self, power: float = 0.0, validate_args: bool = False, name: str = "power_transform"
    ) -> None:
        if power < 0:
            raise ValueError("`power` must be a non-negative TF constant.")
        super().__init__(validate_args, name)
        self._power = float(power)

    @property
    def power(self) -> float:
        """The exponent of the inverse."""
        return self._power

    def _forward(self, x: Any) -> Any:
        return exp(x) if self._power == 0 else exp(log1p(x * self._power) / self._power)

    def _inverse(self, y: Any) -> Any:
        from dataflow.ops.math import expm1

        return log(y) if self._power == 0 else expm1(log(y) * self._power) / self._power

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return x if self._power == 0 else (1.0 / self._power - 1.0) * log1p(x * self._power)


class Sigmoid(_Elementwise):
    """``y = 1 / (1 + exp(-x))``."""

    def _forward(self, x: Any) -> Any:
        return sigmoid(x)

    def _inverse(self, y: Any) -> Any:
        return log(y) - log1p(-y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -softplus(-x) - softplus(x)


class Tanh(_Elementwise):
    """``y = tanh(x)``."""

    def _forward(self, x: Any) -> Any:
        from dataflow.ops.math import tanh

        return tanh(x)

    def _inverse(self, y: Any) -> Any:
        from dataflow.ops.math import atanh

        return atanh(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return 2.0 * (np.log(2.0) - x - softplus(-2.0 * x))


class Softplus(_Elementwise):
    """``y = h log(1 + exp(x / h))`` for ``hinge_softness`` h (1)."""

    def __init__(
        self, hinge_softness: Any = None, validate_args: bool = False, name: str = "softplus"
    ) -> None:
        super().__init__(validate_args, name)
        self._softness = hinge_softness

    def _forward(self, x: Any) -> Any:
        h = self._softness
        return softplus(x) if h is None else h * softplus(x / h)

    def _inverse(self, y: Any) -> Any:
        h = self._softness
        return softplus_inverse(y) if h is None else h * softplus_inverse(y / h)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -softplus(-x if self._softness is None else -x / self._softness)


class Softsign(_Elementwise):
    """``y = x / (1 + |x|)``."""

    def _forward(self, x: Any) -> Any:
        return x / (1.0 + abs_(x))

    def _inverse(self, y: Any) -> Any:
        return y / (1.0 - abs_(y))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -2.0 * log1p(abs_(x))


class Square(_Elementwise):
    """``y = x^2`` for x >= 0."""

    def _forward(self, x: Any) -> Any:
        return square(x)

    def _inverse(self, y: Any) -> Any:
        from dataflow.ops.math import sqrt

        return sqrt(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return np.log(2.0) + log(x)


class AffineScalar(Bijector):
    """``y = scale x + shift``, element by element; parameters broadcast."""

    def __init__(
        self,
        shift: Any = None,
        scale: Any = None,
        validate_args: bool = False,
        name: str = "affine_scalar",
    ) -> None:
        with name_scope(name):
            self._shift = None if shift is None else convert_to_tensor(shift, name="shift")
            self._scale = None if scale is None else convert_to_tensor(scale, name="scale")
        super().__init__(
            forward_min_event_ndims=0,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name,
        )

    @property
    def shift(self) -> Any:
        """What is added, or None."""
        return self._shift

    @property
    def scale(self) -> Any:
        """What is multiplied with, or None."""
        return self._scale

    def _forward(self, x: Any) -> Any:
        y = array.identity(x) if self._scale is None else x * self._scale
        return y if self._shift is None else y + self._shift

    def _inverse(self, y: Any) -> Any:
        x = array.identity(y) if self._shift is None else y - self._shift
        return x if self._scale is None else x / self._scale

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return convert_to_tensor(0.0, x.dtype) if self._scale is None else log(abs_(self._scale))


class Affine(Bijector):
    """``y = scale @ x + shift`` for vectors x.

    The scale is lower triangular: ``scale_identity_multiplier * I + diag(scale_diag) + scale_tril``; the
    identity where none is given.
    """

    def __init__(
        self,
        shift: Any = None,
        scale_identity_multiplier: Any = None,
        scale_diag: Any = None,
        scale_tril: Any = None,
        validate_args: bool = False,
        name: str = "affine",
        dtype: Any = None,
    ) -> None:
        from dataflow.ops.matrix_diag import matrix_diag_part, matrix_set_diag

        with name_scope(name):
            self._shift = None if shift is None else convert_to_tensor(shift, dtype, name="shift")
            diagonal = None if scale_diag is None else convert_to_tensor(scale_diag, dtype)
            multiplier = (
                None
                if scale_identity_multiplier is None
                else convert_to_tensor(scale_identity_multiplier, dtype)[..., None]
            )
            parts = [p for p in (diagonal, multiplier) if p is not None]
            extra = parts[0] + parts[1] if len(parts) == 2 else parts[0] if parts else None
            self._scale: DiagonalScale | None = None
            if scale_tril is not None:
                matrix = convert_to_tensor(scale_tril, dtype, name="scale_tril")
                if extra is not None:
                    matrix = matrix_set_diag(matrix, matrix_diag_part(matrix) + extra)
                self._scale = TriangularScale(matrix)
            elif extra is not None:
                self._scale = DiagonalScale(extra)
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=True,
            validate_args=validate_args,
            dtype=dtype,
            name=name,
        )

    @property
    def shift(self) -> Any:
        """What is added, or None."""
        return self._shift

    @property
    def scale(self) -> Any:
        """The matrix (`to_dense`, `matvec`), or None for the identity."""
        return self._scale

    def _forward(self, x: Any) -> Any:
        y = array.identity(x) if self._scale is None else self._scale.matvec(x)
        return y if self._shift is None else y + self._shift

    def _inverse(self, y: Any) -> Any:
        x = array.identity(y) if self._shift is None else y - self._shift
        return x if self._scale is None else self._scale.solvevec(x)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        if self._scale is None:
            return convert_to_tensor(0.0, x.dtype)
        logs = log(abs_(self._scale.diag_part()))
        # One multiplier for all elements counts once for each.
        return reduce_sum(logs + array.zeros_like(x[..., :]), -1)


class Permute(Bijector):
    """``y[..., i] = x[..., permutation[i]]``."""

    def __init__(
        self, permutation: Any, validate_args: bool = False, name: str = "permute"
    ) -> None:
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name,
        )
        self._permutation = convert_to_tensor(permutation, name="permutation")

    @property
    def permutation(self) -> Any:
        """The integers."""
        return self._permutation

    def _forward(self, x: Any) -> Any:
        return array.gather(x, self._permutation, axis=-1)

    def _inverse(self, y: Any) -> Any:
        return array.gather(y, array.invert_permutation(self._permutation), axis=-1)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return convert_to_tensor(0.0, x.dtype)


class SoftmaxCentered(Bijector):
    """``y = softmax([x, 0])``: k numbers become k + 1 shares that sum to 1."""

    def __init__(self, validate_args: bool = False, name: str = "softmax_centered") -> None:
        super().__init__(forward_min_event_ndims=1, validate_args=validate_args, name=name)

    def _forward_event_shape(self, shape: TensorShape) -> TensorShape:
        return _with_last(shape, 1)

    def _inverse_event_shape(self, shape: TensorShape) -> TensorShape:
        return _with_last(shape, -1)

    def _forward(self, x: Any) -> Any:
        return softmax(array.concat([x, array.zeros_like(x[..., :1])], -1))

    def _inverse(self, y: Any) -> Any:
        logs = log(y)
        return logs[..., :-1] - logs[..., -1:]

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        from dataflow.ops.casts import cast

        # The determinant of diag(y) - y y^T, by the matrix determinant lemma; sqrt(k + 1) measures y's
        # volume within the simplex that it lies in.
        size = cast(array.shape(y)[-1], y.dtype)
        return -(0.5 * log(size) + reduce_sum(log(y), -1))


def _with_last(shape: TensorShape, change: int) -> TensorShape:
    """The shape with its last axis longer by ``change``."""
    if shape.ndims is None:
        return shape
    last = shape.as_list()[-1]
    return TensorShape([*shape.as_list()[:-1], None if last is None else last + change])


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

    def _call(self, what: str, value: Any) -> Any:
        function = self._functions[what]
        if function is None:
            raise NotImplementedError(f"Cannot {what}: `{what}_fn` was not given.")
        return function(value)

    def _forward(self, x: Any) -> Any:
        return self._call("forward", x)

    def _inverse(self, y: Any) -> Any:
        return self._call("inverse", y)

    def _log_det(self, x: Any, y: Any) -> Any:
        if self._functions["forward_log_det_jacobian"] is not None:
            return self._call("forward_log_det_jacobian", self.inverse(y) if x is None else x)
        value = self.forward(x) if y is None else y
        return -self._call("inverse_log_det_jacobian", value)

    def _forward_event_shape(self, shape: TensorShape) -> TensorShape:
        return shape if self._shapes[0] is None else TensorShape(self._shapes[0](shape))

    def _inverse_event_shape(self, shape: TensorShape) -> TensorShape:
        return shape if self._shapes[1] is None else TensorShape(self._shapes[1](shape))


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

    def _forward(self, x: Any) -> Any:
        return self._bijector.inverse(x)

    def _inverse(self, y: Any) -> Any:
        return self._bijector.forward(y)

    def _log_det(self, x: Any, y: Any) -> Any:
        return -self._bijector._log_det(y, x)

    def _forward_event_shape(self, shape: TensorShape) -> TensorShape:
        return self._bijector.inverse_event_shape(shape)

    def _inverse_event_shape(self, shape: TensorShape) -> TensorShape:
        return self._bijector.forward_event_shape(shape)


class Chain(Bijector):
    """``Chain([f, g]).forward(x) = f.forward(g.forward(x))``; without bijectors the identity."""

    def __init__(
        self,
        bijectors: Sequence[Bijector] | None = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        self._bijectors = list(bijectors or [])
        names = "_of_".join(b.name for b in self._bijectors)
        super().__init__(
            forward_min_event_ndims=max(
                (b.forward_min_event_ndims for b in self._bijectors), default=0
            ),
            inverse_min_event_ndims=max(
                (b.inverse_min_event_ndims for b in self._bijectors), default=0
            ),
            is_constant_jacobian=all(b.is_constant_jacobian for b in self._bijectors),
            validate_args=validate_args,
            name=name or (f"chain_of_{names}" if names else "identity"),
        )

    @property
    def bijectors(self) -> list[Bijector]:
        """The bijectors, the outermost first."""
        return self._bijectors

    def _forward(self, x: Any) -> Any:
        for bijector in reversed(self._bijectors):
            x = bijector.forward(x)
        return array.identity(x)

    def _inverse(self, y: Any) -> Any:
        for bijector in self._bijectors:
            y = bijector.inverse(y)
        return array.identity(y)

    def _log_det(self, x: Any, y: Any) -> Any:
        total: Any = convert_to_tensor(0.0, (y if x is None else x).dtype)
        forward, inverse = self.forward_min_event_ndims, self.inverse_min_event_ndims
        if x is not None:
            for bijector in reversed(self._bijectors):
                total = total + bijector.forward_log_det_jacobian(x, forward)
                x = bijector.forward(x)
        else:
            for bijector in self._bijectors:
                total = total - bijector.inverse_log_det_jacobian(y, inverse)
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

    def _forward(self, x: Any) -> Any:
        kept, moved, shift, log_scale = self._parts(x)
        moved = moved if log_scale is None else moved * exp(log_scale)
        return array.concat([kept, moved if shift is None else moved + shift], -1)

    def _inverse(self, y: Any) -> Any:
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
