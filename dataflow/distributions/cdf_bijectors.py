"""Bijectors that are distribution functions: Gumbel's, Kumaraswamy's and Weibull's."""

from __future__ import annotations

from typing import Any

from dataflow.distributions.bijector import Bijector, checked, positive
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.assertions import (
    assert_less_equal,
    assert_non_negative,
    assert_positive,
    assert_same_float_dtype,
)
from dataflow.ops.math import exp, expm1, log, log1p


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
        self._scale = positive(scale, "scale", validate_args)
        assert_same_float_dtype([self._loc, self._scale])
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
        return self._loc - self._scale * log(-log(_share(y, self._validate_args)))

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        y = _share(y, self._validate_args)
        return log(self._scale / (-log(y) * y))

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
        self._a, self._b = (
            self._concentration(convert_to_tensor(x, name=label), validate_args)
            for x, label in ((concentration1, "concentration1"), (concentration0, "concentration0"))
        )
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    @property
    def concentration1(self) -> Any:
        """The exponent a."""
        return self._a

    @property
    def concentration0(self) -> Any:
        """The exponent b."""
        return self._b

    @staticmethod
    def _concentration(x: Any, validate_args: bool) -> Any:
        text = "Concentration parameter must be positive."
        return checked(x, validate_args, lambda: assert_positive(x, message=text))

    def _proper(self, value: Any) -> Any:
        low, high = "sample must be non-negative", "sample must be no larger than `1`."
        return checked(
            value,
            self._validate_args,
            lambda: assert_non_negative(value, message=low),
            lambda: assert_less_equal(value, array.ones([], value.dtype), message=high),
        )

    def _forward(self, x: Any) -> Any:
        return exp(log1p(-exp(log1p(-self._proper(x)) / self._b)) / self._a)

    def _inverse(self, y: Any) -> Any:
        return exp(log1p(-((1.0 - self._proper(y) ** self._a) ** self._b)))

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        y = self._proper(y)
        inner = (self._b - 1.0) * log1p(-(y**self._a))
        return log(self._a) + log(self._b) + (self._a - 1.0) * log(y) + inner


class Weibull(Bijector):
    """``y = 1 - exp(-(x / scale)^concentration)`` for x >= 0: Weibull's distribution function."""

    def __init__(
        self,
        scale: TensorLike = 1.0,
        concentration: TensorLike = 1.0,
        validate_args: bool = False,
        name: str = "weibull",
    ) -> None:
        self._scale = positive(scale, "scale", validate_args)
        self._concentration = positive(concentration, "concentration", validate_args)
        assert_same_float_dtype([self._scale, self._concentration])
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    @property
    def scale(self) -> Any:
        """How wide x's distribution is."""
        return self._scale

    @property
    def concentration(self) -> Any:
        """The exponent."""
        return self._concentration

    def _proper(self, x: Any) -> Any:
        text = "Forward transformation input must be at least 0."
        return checked(x, self._validate_args, lambda: assert_non_negative(x, message=text))

    def _forward(self, x: Any) -> Any:
        return -expm1(-((self._proper(x) / self._scale) ** self._concentration))

    def _inverse(self, y: Any) -> Any:
        y = _share(y, self._validate_args)
        return self._scale * (-log1p(-y)) ** (1 / self._concentration)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        rest = log1p(-_share(y, self._validate_args))
        return (
            -rest
            + (1 / self._concentration - 1) * log(-rest)
            + log(self._scale / self._concentration)
        )

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        x, power = self._proper(x), self._concentration
        return (
            -((x / self._scale) ** power)
            + (power - 1) * log(x)
            + log(power)
            - power * log(self._scale)
        )


def _share(y: Any, validate_args: bool) -> Any:
    """A value of a distribution function, from 0 to 1."""
    text = "Inverse transformation input must be"
    return checked(
        y,
        validate_args,
        lambda: assert_non_negative(y, message=f"{text} greater than 0."),
        lambda: assert_less_equal(
            y, array.ones([], y.dtype), message=f"{text} less than or equal to 1."
        ),
    )
