"""Bijectors of numbers and vectors, by formulas of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.distributions.bijector import Bijector, checked, positive
from dataflow.distributions.normal_functions import softplus, softplus_inverse
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.assertions import (
    assert_non_negative,
    assert_none_equal,
    assert_positive,
)
from dataflow.ops.math import (
    abs_,
    asinh,
    cosh,
    exp,
    expm1,
    log,
    log1p,
    sigmoid,
    sinh,
    sqrt,
    square,
)
from dataflow.ops.tensor_values import constant_value


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


class Elementwise(Bijector):
    """A function of each element by itself."""

    def __init__(self, validate_args: bool = False, name: str | None = None) -> None:
        super().__init__(
            forward_min_event_ndims=0,
            validate_args=validate_args,
            name=name or type(self).__name__.lower(),
        )


class Exp(Elementwise):
    """``y = exp(x)``."""

    def _forward(self, x: TensorLike) -> Any:
        return exp(x)

    def _inverse(self, y: TensorLike) -> Any:
        return log(y)

    def _forward_log_det_jacobian(self, x: TensorLike) -> Any:
        return x


class PowerTransform(Elementwise):
    """``y = (1 + power x)^(1 / power)``; `Exp` at power 0."""

    def __init__(
        self, power: float = 0.0, validate_args: bool = False, name: str = "power_transform"
    ) -> None:
        known = constant_value(convert_to_tensor(power, name="power"))
        if known is None or known < 0:
            raise ValueError("`power` must be a non-negative TF constant.")
        super().__init__(validate_args, name)
        self._power = float(known)

    @property
    def power(self) -> float:
        """The exponent of the inverse."""
        return self._power

    def _proper_x(self, x: Any) -> Any:
        if self._power == 0:
            return x
        text = f"Forward transformation input must be at least {-1.0 / self._power}."
        check = lambda: assert_non_negative(1.0 + self._power * x, message=text)
        return checked(x, self._validate_args, check)

    def _proper_y(self, y: Any) -> Any:
        text = "Inverse transformation input must be greater than 0."
        return checked(y, self._validate_args, lambda: assert_positive(y, message=text))

    def _forward(self, x: Any) -> Any:
        x = self._proper_x(x)
        return exp(x) if self._power == 0 else exp(log1p(x * self._power) / self._power)

    def _inverse(self, y: TensorLike) -> Any:
        y = self._proper_y(y)
        return log(y) if self._power == 0 else expm1(log(y) * self._power) / self._power

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return (self._power - 1.0) * log(self._proper_y(y))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        x = self._proper_x(x)
        return x if self._power == 0 else (1.0 / self._power - 1.0) * log1p(x * self._power)


class Sigmoid(Elementwise):
    """``y = 1 / (1 + exp(-x))``."""

    def _forward(self, x: TensorLike) -> Any:
        return sigmoid(x)

    def _inverse(self, y: Any) -> Any:
        return log(y) - log1p(-y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -softplus(-x) - softplus(x)


class Tanh(Elementwise):
    """``y = tanh(x)``."""

    def _forward(self, x: TensorLike) -> Any:
        from dataflow.ops.math import tanh

        return tanh(x)

    def _inverse(self, y: TensorLike) -> Any:
        from dataflow.ops.math import atanh

        return atanh(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return 2.0 * (np.log(2.0) - x - softplus(-2.0 * x))


class Softplus(Elementwise):
    """``y = h log(1 + exp(x / h))`` for ``hinge_softness`` h (1)."""

    def __init__(
        self, hinge_softness: Any = None, validate_args: bool = False, name: str = "softplus"
    ) -> None:
        super().__init__(validate_args, name)
        softness = None if hinge_softness is None else convert_to_tensor(hinge_softness)
        if softness is not None:
            text, zero = "hinge_softness must be non-zero", array.zeros([], softness.dtype)
            softness = checked(
                softness,
                validate_args,
                lambda: assert_none_equal(softness, zero, message=text),
            )
        self._softness = softness

    @property
    def hinge_softness(self) -> Any:
        """How wide the bend is, or None."""
        return self._softness

    def _forward(self, x: TensorLike) -> Any:
        h = self._softness
        return softplus(x) if h is None else h * softplus(x / h)

    def _inverse(self, y: TensorLike) -> Any:
        h = self._softness
        return softplus_inverse(y) if h is None else h * softplus_inverse(y / h)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -softplus(-x if self._softness is None else -x / self._softness)


class Softsign(Elementwise):
    """``y = x / (1 + |x|)``."""

    def _forward(self, x: TensorLike) -> Any:
        return x / (1.0 + abs_(x))

    def _inverse(self, y: TensorLike) -> Any:
        return y / (1.0 - abs_(y))

    def _forward_log_det_jacobian(self, x: TensorLike) -> Any:
        return -2.0 * log1p(abs_(x))


class Square(Elementwise):
    """``y = x^2`` for x >= 0."""

    def _proper(self, value: Any) -> Any:
        text = "All elements must be non-negative."
        return checked(value, self._validate_args, lambda: assert_non_negative(value, message=text))

    def _forward(self, x: TensorLike) -> Any:
        return square(self._proper(x))

    def _inverse(self, y: TensorLike) -> Any:
        return sqrt(self._proper(y))

    def _forward_log_det_jacobian(self, x: TensorLike) -> Any:
        return np.log(2.0) + log(self._proper(x))


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
        self._tailweight = positive(
            convert_to_tensor(tailweight, self._skewness.dtype), "tailweight", validate_args
        )
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


class AbsoluteValue(Bijector):
    """``y = |x|``: two numbers go to one, and `inverse` gives both, (-y, y)."""

    def __init__(self, validate_args: bool = False, name: str = "absolute_value") -> None:
        super().__init__(
            forward_min_event_ndims=0,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name,
        )

    @property
    def _is_injective(self) -> bool:
        return False

    def _proper(self, value: Any, y: Any) -> Any:
        text = "Argument y was negative"
        return checked(value, self._validate_args, lambda: assert_non_negative(y, message=text))

    def _forward(self, x: TensorLike) -> Any:
        return abs_(x)

    def _inverse(self, y: Any) -> Any:
        y = self._proper(y, y)
        return -y, y

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        zero = self._proper(convert_to_tensor(0.0, y.dtype), y)
        return zero, zero
