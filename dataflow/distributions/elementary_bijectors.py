"""Bijectors of numbers and vectors, by formulas of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.distributions.bijector import Bijector
from dataflow.distributions.normal_functions import softplus, softplus_inverse
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.activation import softmax
from dataflow.ops.math import (
    abs_,
    asinh,
    cosh,
    cumsum,
    exp,
    log,
    log1p,
    reduce_sum,
    sigmoid,
    sinh,
    sqrt,
    square,
)
from dataflow.shapes import TensorShape


class Identity(Bijector):
    """``y = x``."""

    def __init__(self, validate_args: bool = False, name: str = "identity") -> None:
        super().__init__(
            forward_min_event_ndims=0,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name,
        )

    def _forward(self, x: TensorLike) -> Any:
        return array.identity(x)

    def _inverse(self, y: TensorLike) -> Any:
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

    def _forward(self, x: TensorLike) -> Any:
        return exp(x)

    def _inverse(self, y: TensorLike) -> Any:
        return log(y)

    def _forward_log_det_jacobian(self, x: TensorLike) -> Any:
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

    def _inverse(self, y: TensorLike) -> Any:
        from dataflow.ops.math import expm1

        return log(y) if self._power == 0 else expm1(log(y) * self._power) / self._power

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return x if self._power == 0 else (1.0 / self._power - 1.0) * log1p(x * self._power)


class Sigmoid(_Elementwise):
    """``y = 1 / (1 + exp(-x))``."""

    def _forward(self, x: TensorLike) -> Any:
        return sigmoid(x)

    def _inverse(self, y: Any) -> Any:
        return log(y) - log1p(-y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -softplus(-x) - softplus(x)


class Tanh(_Elementwise):
    """``y = tanh(x)``."""

    def _forward(self, x: TensorLike) -> Any:
        from dataflow.ops.math import tanh

        return tanh(x)

    def _inverse(self, y: TensorLike) -> Any:
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

    def _forward(self, x: TensorLike) -> Any:
        h = self._softness
        return softplus(x) if h is None else h * softplus(x / h)

    def _inverse(self, y: TensorLike) -> Any:
        h = self._softness
        return softplus_inverse(y) if h is None else h * softplus_inverse(y / h)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -softplus(-x if self._softness is None else -x / self._softness)


class Softsign(_Elementwise):
    """``y = x / (1 + |x|)``."""

    def _forward(self, x: TensorLike) -> Any:
        return x / (1.0 + abs_(x))

    def _inverse(self, y: TensorLike) -> Any:
        return y / (1.0 - abs_(y))

    def _forward_log_det_jacobian(self, x: TensorLike) -> Any:
        return -2.0 * log1p(abs_(x))


class Square(_Elementwise):
    """``y = x^2`` for x >= 0."""

    def _forward(self, x: TensorLike) -> Any:
        return square(x)

    def _inverse(self, y: TensorLike) -> Any:
        return sqrt(y)

    def _forward_log_det_jacobian(self, x: TensorLike) -> Any:
        return np.log(2.0) + log(x)


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

    def _forward(self, x: TensorLike) -> Any:
        return array.gather(x, self._permutation, axis=-1)

    def _inverse(self, y: TensorLike) -> Any:
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

    def _inverse(self, y: TensorLike) -> Any:
        logs = log(y)
        return logs[..., :-1] - logs[..., -1:]

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        # The determinant of diag(y) - y y^T for all but the last share: that of y's density in those.
        return -reduce_sum(log(y), -1)


class Gumbel(Bijector):
    """``y = exp(-exp(-(x - loc) / scale))``: the distribution function of Gumbel's distribution."""

    def __init__(
        self,
        loc: TensorLike = 0.0,
        scale: TensorLike = 1.0,
        validate_args: bool = False,
        name: str = "gumbel",
    ) -> None:
        self._loc = convert_to_tensor(loc, name="loc")
        self._scale = convert_to_tensor(scale, name="scale")
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    @property
    def loc(self) -> Any:
        """Where x's distribution has its mode."""
        return self._loc

    @property
    def scale(self) -> Any:
        """How wide x's distribution is."""
        return self._scale

    def _forward(self, x: Any) -> Any:
        return exp(-exp(-(x - self._loc) / self._scale))

    def _inverse(self, y: TensorLike) -> Any:
        return self._loc - self._scale * log(-log(y))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        z = (x - self._loc) / self._scale
        return -z - exp(-z) - log(self._scale)


class Kumaraswamy(Bijector):
    """``y = (1 - (1 - x)^(1/b))^(1/a)`` of numbers in [0, 1], a and b the concentrations 1 and 0."""

    def __init__(
        self,
        concentration1: TensorLike | None = None,
        concentration0: TensorLike | None = None,
        validate_args: bool = False,
        name: str = "kumaraswamy",
    ) -> None:
        self._a = convert_to_tensor(concentration1, name="concentration1")
        self._b = convert_to_tensor(concentration0, name="concentration0")
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    @property
    def concentration1(self) -> Any:
        """The exponent a."""
        return self._a

    @property
    def concentration0(self) -> Any:
        """The exponent b."""
        return self._b

    def _forward(self, x: Any) -> Any:
        return exp(log1p(-exp(log1p(-x) / self._b)) / self._a)

    def _inverse(self, y: Any) -> Any:
        return exp(log1p(-((1.0 - y**self._a) ** self._b)))

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        inner = (self._b - 1.0) * log1p(-(y**self._a))
        return log(self._a) + log(self._b) + (self._a - 1.0) * log(y) + inner


class SinhArcsinh(Bijector):
    """``y = sinh((arcsinh(x) + skewness) tailweight)``, element by element."""

    def __init__(
        self,
        skewness: TensorLike | None = None,
        tailweight: TensorLike | None = None,
        validate_args: bool = False,
        name: str = "SinhArcsinh",
    ) -> None:
        self._skewness = convert_to_tensor(0.0 if skewness is None else skewness)
        tailweight = 1.0 if tailweight is None else tailweight
        self._tailweight = convert_to_tensor(tailweight, self._skewness.dtype)
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    @property
    def skewness(self) -> Any:
        """Above 0: positive numbers become larger."""
        return self._skewness

    @property
    def tailweight(self) -> Any:
        """Above 1: large numbers become larger."""
        return self._tailweight

    def _forward(self, x: TensorLike) -> Any:
        return sinh((asinh(x) + self._skewness) * self._tailweight)

    def _inverse(self, y: TensorLike) -> Any:
        return sinh(asinh(y) / self._tailweight - self._skewness)

    def _forward_log_det_jacobian(self, x: TensorLike) -> Any:
        stretched = cosh((asinh(x) + self._skewness) * self._tailweight)
        return log(stretched / sqrt(square(x) + 1.0)) + log(self._tailweight)


class Ordered(Bijector):
    """Increasing numbers become any: the first one, and the logarithms of the steps between them."""

    def __init__(self, validate_args: bool = False, name: str = "ordered") -> None:
        super().__init__(forward_min_event_ndims=1, validate_args=validate_args, name=name)

    def _forward(self, x: Any) -> Any:
        return array.concat([x[..., :1], log(x[..., 1:] - x[..., :-1])], -1)

    def _inverse(self, y: Any) -> Any:
        return cumsum(array.concat([y[..., :1], exp(y[..., 1:])], -1), axis=-1)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return reduce_sum(y[..., 1:], -1)


class Reshape(Bijector):
    """The last axes, of ``event_shape_in``, become ``event_shape_out``.

    Each may have one -1. Raises `ValueError` for shapes of other numbers of elements.
    """

    def __init__(
        self,
        event_shape_out: Any,
        event_shape_in: Any = (-1,),
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        self._out, self._in = ([int(n) for n in s] for s in (event_shape_out, event_shape_in))
        sizes = [int(np.prod(s)) for s in (self._out, self._in) if -1 not in s]
        if len(set(sizes)) > 1:
            raise ValueError(
                f"Input/output size mismatch: {self._in} and {self._out} do not have as many elements."
            )
        super().__init__(
            forward_min_event_ndims=0,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name or "reshape",
        )

    @staticmethod
    def _reshaped(value: Any, before: list[int], after: list[int]) -> Any:
        shape = array.shape(value)
        batch = shape[: array.size(shape) - len(before)]
        return array.reshape(value, array.concat([batch, after], 0))

    def _forward(self, x: TensorLike) -> Any:
        return self._reshaped(x, self._in, self._out)

    def _inverse(self, y: TensorLike) -> Any:
        return self._reshaped(y, self._out, self._in)

    def _log_det(self, x: Any, y: Any) -> Any:
        return convert_to_tensor(0.0, (y if x is None else x).dtype)

    def _reduced(self, log_det: Any, value: Any, event_ndims: Any, needed: Any) -> Any:
        return log_det

    def _event(self, shape: TensorShape, before: list[int], after: list[int]) -> TensorShape:
        known: list[Any] = (
            shape.as_list()[len(shape.as_list()) - len(before) :] if shape.ndims else before
        )
        total = None if None in known or -1 in known else int(np.prod(known))
        if -1 in after:
            rest = int(np.prod([n for n in after if n != -1]))
            filled = [(None if total is None else total // rest) if n == -1 else n for n in after]
        else:
            filled = list(after)
        batch = shape.as_list()[: len(shape.as_list()) - len(before)] if shape.ndims else []
        return TensorShape([*batch, *filled])

    def _forward_event_shape(self, shape: TensorShape) -> TensorShape:
        return self._event(shape, self._in, self._out)

    def _inverse_event_shape(self, shape: TensorShape) -> TensorShape:
        return self._event(shape, self._out, self._in)


def _with_last(shape: TensorShape, change: int) -> TensorShape:
    """The shape with its last axis longer by ``change``."""
    if shape.ndims is None:
        return shape
    last = shape.as_list()[-1]
    return TensorShape([*shape.as_list()[:-1], None if last is None else last + change])
