"""Invertible, differentiable functions with their log-determinants, for `TransformedDistribution`."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.distributions.bijector import Bijector as Bijector
from dataflow.distributions.composed_bijectors import (
    Chain as Chain,
    Inline as Inline,
    Invert as Invert,
    RealNVP as RealNVP,
    real_nvp_default_template as real_nvp_default_template,
)
from dataflow.distributions.multivariate import DiagonalScale, TriangularScale
from dataflow.distributions.normal_functions import softplus, softplus_inverse
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.activation import softmax
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import abs_, exp, log, log1p, reduce_sum, sigmoid, square
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
        from dataflow.ops.math import sqrt

        return sqrt(y)

    def _forward_log_det_jacobian(self, x: TensorLike) -> Any:
        return np.log(2.0) + log(x)


class AffineScalar(Bijector):
    """``y = scale x + shift``, element by element; parameters broadcast."""

    def __init__(
        self,
        shift: Any = None,
        scale: TensorLike | None = None,
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

    def _forward(self, x: TensorLike) -> Any:
        y = array.identity(x) if self._scale is None else x * self._scale
        return y if self._shift is None else y + self._shift

    def _inverse(self, y: TensorLike) -> Any:
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
        dtype: DTypeLike | None = None,
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

    def _forward(self, x: TensorLike) -> Any:
        y = array.identity(x) if self._scale is None else self._scale.matvec(x)
        return y if self._shift is None else y + self._shift

    def _inverse(self, y: TensorLike) -> Any:
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
