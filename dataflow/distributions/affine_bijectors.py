"""Bijectors that scale and shift: by numbers, or by a matrix."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.distributions.bijector import Bijector, checked
from dataflow.distributions.operator_scales import make_tril_scale
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.linear_operators.broadcasting import size_of
from dataflow.linear_operators.linear_operator import LinearOperator
from dataflow.linear_operators.low_rank_update import LinearOperatorLowRankUpdate
from dataflow.ops import array
from dataflow.ops.assertions import assert_none_equal
from dataflow.ops.casts import cast
from dataflow.ops.graph_functions import control_dependencies, name_scope
from dataflow.ops.math import abs_, log


class ScaleAndShift(Bijector):
    """``y = scale x + shift``, each None if left out: what multiplies and divides by the scale is a subclass's."""

    _shift: Any
    _scale: Any

    @property
    def shift(self) -> Any:
        """The shift that is added, or None."""
        return self._shift

    @property
    def scale(self) -> Any:
        """The scale that x is multiplied by: a tensor, matrix or operator, or None for the identity."""
        return self._scale

    def _times_scale(self, x: TensorLike) -> Any:
        return x * self._scale

    def _by_scale(self, x: TensorLike) -> Any:
        return x / self._scale

    def _forward(self, x: TensorLike) -> Any:
        y = array.identity(x) if self._scale is None else self._times_scale(x)
        return y if self._shift is None else y + self._shift

    def _inverse(self, y: TensorLike) -> Any:
        x = array.identity(y) if self._shift is None else y - self._shift
        return x if self._scale is None else self._by_scale(x)


class AffineScalar(ScaleAndShift):
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
            if self._scale is not None:
                own, zero = self._scale, array.zeros([], self._scale.dtype)
                self._scale = checked(own, validate_args, lambda: assert_none_equal(own, zero))
        super().__init__(
            forward_min_event_ndims=0,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name,
        )

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return convert_to_tensor(0.0, x.dtype) if self._scale is None else log(abs_(self._scale))


class MatrixAndShift(ScaleAndShift):
    """``y = A x + b`` on the last axis, for a ``_scale`` with `matvec` and `solvevec`, each None if left out."""

    def _checked_scale(self) -> list[Any]:
        """The run-time checks of the scale; empty without ``validate_args``."""
        if not self.validate_args or self._scale is None:
            return []
        try:
            return [self._scale.assert_non_singular()]
        except NotImplementedError:
            return []

    def _times_scale(self, x: TensorLike) -> Any:
        with control_dependencies(self._checked_scale()):
            return self._scale.matvec(x)

    def _by_scale(self, x: TensorLike) -> Any:
        return self._scale.solvevec(x)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        if self._scale is None:
            return convert_to_tensor(0.0, x.dtype)
        with control_dependencies(self._checked_scale()):
            return self._scale.log_abs_determinant()


def _same_dtype(shift: Any, scale: LinearOperator) -> None:
    if shift is not None and shift.dtype.base_dtype != scale.dtype:
        raise TypeError(
            f"shift.dtype({shift.dtype}) is incompatible with scale.dtype({scale.dtype})."
        )


class Affine(MatrixAndShift):
    """``y = scale @ x + shift`` for vectors x.

    The scale is lower triangular: ``scale_identity_multiplier * I + diag(scale_diag) + scale_tril``; the
    identity where none is given. ``scale_perturb_factor`` U [..., k, r] adds ``U D U^T``, with D the diagonal
    ``scale_perturb_diag`` [..., r], or ones. ``bijector.scale`` is a `tf.linalg.LinearOperator`, or the
    multiplier where nothing else is given.
    """

    def __init__(
        self,
        shift: Any = None,
        scale_identity_multiplier: Any = None,
        scale_diag: Any = None,
        scale_tril: Any = None,
        scale_perturb_factor: Any = None,
        scale_perturb_diag: Any = None,
        validate_args: bool = False,
        name: str = "affine",
        dtype: DTypeLike | None = None,
    ) -> None:
        if scale_perturb_diag is not None and scale_perturb_factor is None:
            raise ValueError(
                "When scale_perturb_diag is specified, scale_perturb_factor must be specified."
            )
        with name_scope(name), name_scope("init"):
            self._shift = None if shift is None else convert_to_tensor(shift, dtype, name="shift")
            parts = [
                None if part is None else convert_to_tensor(part, dtype, name=label)
                for part, label in (
                    (scale_tril, "tril"),
                    (scale_diag, "diag"),
                    (scale_identity_multiplier, "identity_multiplier"),
                    (scale_perturb_factor, "perturb_factor"),
                    (scale_perturb_diag, "perturb_diag"),
                )
            ]
            self._is_multiple = parts[0] is parts[1] is parts[3] is None
            self._scale = self._multiple(parts[2], validate_args) if self._is_multiple else None
            if self._scale is None:
                self._scale = self._operator(parts, validate_args)
                _same_dtype(self._shift, self._scale)
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=True,
            validate_args=validate_args,
            dtype=self._scale.dtype.base_dtype,
            name=name,
        )

    def _multiple(self, multiplier: Any, validate_args: bool) -> Any:
        if multiplier is None:
            return convert_to_tensor(
                1.0, dtypes.float32 if self._shift is None else self._shift.dtype
            )
        text = "identity_multiplier should be non-zero."
        zero = array.zeros([], multiplier.dtype)
        return checked(
            multiplier, validate_args, lambda: assert_none_equal(multiplier, zero, message=text)
        )

    def _operator(self, parts: list[Any], validate_args: bool) -> LinearOperator:
        tril, diag, multiplier, factor, update = parts
        rows = None if factor is None else size_of(factor, -2)
        base = make_tril_scale(self._shift, tril, diag, multiplier, rows, validate_args)
        if factor is None:
            return base
        return LinearOperatorLowRankUpdate(
            base,
            factor,
            update,
            is_diag_update_positive=update is None,
            is_non_singular=True,
            is_self_adjoint=True,
            is_positive_definite=True,
            is_square=True,
        )

    def _times_scale(self, x: TensorLike) -> Any:
        return x * self._scale if self._is_multiple else super()._times_scale(x)

    def _by_scale(self, x: TensorLike) -> Any:
        return x / self._scale if self._is_multiple else super()._by_scale(x)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        if not self._is_multiple:
            return super()._forward_log_det_jacobian(x)
        # One multiplier for all elements counts once for each.
        return log(abs_(self._scale)) * cast(array.shape(x)[-1], self._scale.dtype)


class AffineLinearOperator(MatrixAndShift):
    """``y = scale @ x + shift`` for vectors x, with ``scale`` a `tf.linalg.LinearOperator`.

    Raises `TypeError` for any other scale or dtype, and, with ``validate_args``, `ValueError` for a scale that
    is not known to have an inverse.
    """

    def __init__(
        self,
        shift: Any = None,
        scale: Any = None,
        validate_args: bool = False,
        name: str = "affine_linear_operator",
    ) -> None:
        with name_scope(name):
            self._shift = None if shift is None else convert_to_tensor(shift, name="shift")
        dtype = dtypes.float32 if self._shift is None else self._shift.dtype.base_dtype
        if scale is not None:
            if not isinstance(scale, LinearOperator):
                raise TypeError("scale is not an instance of tf.LinearOperator")
            _same_dtype(self._shift, scale)
            if validate_args and not scale.is_non_singular:
                raise ValueError("Scale matrix must be non-singular.")
            dtype = scale.dtype
        self._scale = scale
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=True,
            validate_args=validate_args,
            dtype=dtype,
            name=name,
        )
