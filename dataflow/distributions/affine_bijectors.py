"""Bijectors that scale and shift: by numbers, or by a matrix."""

from __future__ import annotations

from typing import Any

from dataflow.distributions.bijector import Bijector
from dataflow.distributions.vector_scales import DiagonalScale, TriangularScale
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import abs_, log, reduce_sum


class ScaleAndShift(Bijector):
    """``y = scale x + shift``, each None if left out: what multiplies and divides by the scale is a subclass's."""

    _shift: Any
    _scale: Any

    @property
    def shift(self) -> Any:
        """What is added, or None."""
        return self._shift

    @property
    def scale(self) -> Any:
        """What is multiplied with, a tensor, matrix or operator, or None for the identity."""
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

    def _times_scale(self, x: TensorLike) -> Any:
        return self._scale.matvec(x)

    def _by_scale(self, x: TensorLike) -> Any:
        return self._scale.solvevec(x)


class Affine(MatrixAndShift):
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
            dtype=dtype or next((p.dtype for p in (self._shift, extra) if p is not None), None),
            name=name,
        )

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        if self._scale is None:
            return convert_to_tensor(0.0, x.dtype)
        logs = log(abs_(self._scale.diag_part()))
        # One multiplier for all elements counts once for each.
        return reduce_sum(logs + array.zeros(array.shape(x)[-1:], x.dtype), -1)
