"""Operators that scale each coordinate: diagonals, the identity and its multiples, zeros."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.linear_operators import broadcasting
from dataflow.linear_operators.dense import assert_no_zeros
from dataflow.linear_operators.linear_operator import LinearOperator, log_of, matrix_parameter
from dataflow.linear_operators.of_size import OfSize, known_size, size_of
from dataflow.linear_operators.operator_properties import checked_hint
from dataflow.ops import array
from dataflow.ops.arithmetic import conj_if_complex
from dataflow.ops.assertions import (
    assert_equal,
    assert_positive,
)
from dataflow.ops.broadcast_shapes import common_shape
from dataflow.ops.casts import cast
from dataflow.ops.complex_numbers import imag, real
from dataflow.ops.control_flow import no_op
from dataflow.ops.math import abs_, reduce_max, reduce_min, reduce_prod, reduce_sum, sqrt
from dataflow.ops.matrix_diag import matrix_diag, matrix_diag_part, matrix_set_diag
from dataflow.shapes import TensorShape


class _Scaling(LinearOperator):
    """``_scales()`` [..., n] (or [..., 1], for all) times each coordinate."""

    _singular = "Singular operator:  Diagonal contained zero values."
    _not_positive = "Not positive definite:  diagonal has a real part that is zero or less."
    _not_self_adjoint = "Not self-adjoint:  diagonal has an imaginary part."

    def _scales(self) -> Any:
        raise NotImplementedError

    def _matmul(self, x: TensorLike, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        scales = conj_if_complex(self._scales()) if adjoint else self._scales()
        return array.expand_dims(scales, -1) * broadcasting.flipped_if(x, adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        scales = conj_if_complex(self._scales()) if adjoint else self._scales()
        return broadcasting.flipped_if(rhs, adjoint_arg) / array.expand_dims(scales, -1)

    def _diag_part(self) -> Any:
        return array.broadcast_to(self._scales(), self.shape_tensor()[:-1])

    def _to_dense(self) -> Any:
        return matrix_diag(self._diag_part())

    def _determinant(self) -> Any:
        return reduce_prod(self._diag_part(), -1)

    def _log_abs_determinant(self) -> Any:
        return reduce_sum(log_of(self._diag_part()), -1)

    def _eigvals(self) -> Any:
        return self._diag_part()

    def _add_to_tensor(self, x: TensorLike) -> Any:
        return matrix_set_diag(x, matrix_diag_part(x) + self._scales())

    def _cond(self) -> Any:
        sizes = abs_(self._diag_part())
        return reduce_max(sizes, -1) / reduce_min(sizes, -1)

    def _assert_non_singular(self) -> Any:
        return assert_no_zeros(self._scales(), self._singular)

    def _assert_positive_definite(self) -> Any:
        return assert_positive(real(self._scales()), message=self._not_positive)

    def _assert_self_adjoint(self) -> Any:
        scales = self._scales()
        if not scales.dtype.is_complex:
            return no_op("assert_self_adjoint")
        part = imag(scales)
        return assert_equal(part, array.zeros_like(part), message=self._not_self_adjoint)


class LinearOperatorDiag(_Scaling):
    """The operator of a diagonal [..., n], with zeros around it."""

    def __init__(
        self,
        diag: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ) -> None:
        if is_square is False:
            raise ValueError("Only square, diagonal operators currently supported.")
        self._diag = matrix_parameter(diag, "diag")
        if self._diag.get_shape().ndims == 0:
            raise ValueError("diag must have at least 1 axis, got a scalar")
        if not self._diag.dtype.is_complex:
            text = "A real diagonal operator is always self adjoint."
            is_self_adjoint = checked_hint(is_self_adjoint, True, text)
        super().__init__(
            self._diag.dtype,
            [self._diag],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
        )

    @property
    def diag(self) -> Any:
        """The diagonal."""
        return self._diag

    def _scales(self) -> Any:
        return self._diag

    def _shape(self) -> TensorShape:
        shape = self._diag.get_shape()
        return shape.concatenate(shape[-1:]) if shape.ndims is not None else shape

    def _shape_tensor(self) -> Any:
        shape = array.shape(self._diag)
        return array.concat([shape, shape[-1:]], 0)

    def _diag_part(self) -> Any:
        return self._diag

    def _with(self, diag: TensorLike, **hints: Any) -> LinearOperator:
        given = {
            "is_non_singular": self.is_non_singular,
            "is_self_adjoint": self.is_self_adjoint,
            "is_positive_definite": self.is_positive_definite,
        }
        return LinearOperatorDiag(diag, **{**given, **hints})

    def _adjoint(self) -> LinearOperator:
        return self._with(conj_if_complex(self._diag))

    def _inverse(self) -> LinearOperator:
        return self._with(1 / self._diag, is_non_singular=True)

    def _cholesky(self) -> LinearOperator:
        return self._with(sqrt(self._diag), is_self_adjoint=True)

    def _matmul_operator(self, right: LinearOperator) -> LinearOperator:
        if isinstance(right, LinearOperatorDiag):
            both = True if self.is_non_singular and right.is_non_singular else None
            return LinearOperatorDiag(self._diag * right.diag, is_non_singular=both)
        return super()._matmul_operator(right)


class LinearOperatorIdentity(OfSize, _Scaling):
    """The identity of ``num_rows`` rows (for each of ``batch_shape``); float32 unless ``dtype`` says."""

    def __init__(
        self,
        num_rows: Any,
        batch_shape: Any = None,
        dtype: DTypeLike | None = None,
        is_non_singular: bool | None = True,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = True,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        for given, text in (
            (is_self_adjoint, "An identity operator is always self adjoint."),
            (is_non_singular, "An identity operator is always non-singular."),
            (is_positive_definite, "An identity operator is always positive-definite."),
            (is_square, "An identity operator is always square."),
        ):
            if not given:
                raise ValueError(text)
        self._set_size(num_rows, batch_shape, assert_proper_shapes)
        super().__init__(dtype or dtypes.float32, [], True, True, True, True, name)

    def _scales(self) -> Any:
        return array.ones([1], self.dtype)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = broadcasting.flipped_if(x, adjoint_arg)
        if self.batch_shape.ndims == 0:
            return x
        both = array.broadcast_dynamic_shape(array.shape(x)[:-2], self.batch_shape_tensor())
        static = common_shape([x.get_shape()[:-2], self.batch_shape])
        return broadcasting.with_batch(x, both, static)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _to_dense(self) -> Any:
        return self._identity()

    def _inverse(self) -> LinearOperator:
        return self

    def _cholesky(self) -> LinearOperator:
        return self

    def _matmul_operator(self, right: LinearOperator) -> LinearOperator:
        return right if self.batch_shape.ndims == 0 else super()._matmul_operator(right)


class LinearOperatorScaledIdentity(OfSize, _Scaling):
    """``multiplier`` [...] times the identity of ``num_rows`` rows."""

    _singular = "LinearOperator was singular: the multiplier is zero."
    _not_positive = "LinearOperator was not positive definite: the multiplier is zero or less."
    _not_self_adjoint = "LinearOperator was not self-adjoint: the multiplier has an imaginary part."

    def __init__(
        self,
        num_rows: Any,
        multiplier: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:
        if not is_square:
            raise ValueError("A ScaledIdentity operator is always square.")
        self._multiplier = matrix_parameter(multiplier, "multiplier")
        if not self._multiplier.dtype.is_complex:
            text = "A real diagonal operator is always self adjoint."
            is_self_adjoint = checked_hint(is_self_adjoint, True, text)
        self._set_size(num_rows, checks=assert_proper_shapes)
        super().__init__(
            self._multiplier.dtype,
            [self._multiplier],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
        )

    @property
    def multiplier(self) -> Any:
        """The factor."""
        return self._multiplier

    def _batch_static(self) -> TensorShape:
        return self._multiplier.get_shape()

    def _shape_tensor(self) -> Any:
        sizes = [self._num_rows, self._num_rows]
        return array.concat([array.shape(self._multiplier), sizes], 0)

    def _scales(self) -> Any:
        return array.expand_dims(self._multiplier, -1)

    def _determinant(self) -> Any:
        return self._multiplier ** cast(self._num_rows, self.dtype)

    def _log_abs_determinant(self) -> Any:
        return cast(self._num_rows, self.dtype) * log_of(self._multiplier)

    def _trace(self) -> Any:
        return self._multiplier * cast(self._num_rows, self.dtype)

    def _with(self, multiplier: Any, **hints: Any) -> LinearOperator:
        given = {
            "is_non_singular": self.is_non_singular,
            "is_self_adjoint": self.is_self_adjoint,
            "is_positive_definite": self.is_positive_definite,
        }
        return LinearOperatorScaledIdentity(self._num_rows, multiplier, **{**given, **hints})

    def _adjoint(self) -> LinearOperator:
        return self._with(conj_if_complex(self._multiplier))

    def _inverse(self) -> LinearOperator:
        return self._with(1 / self._multiplier, is_non_singular=True)

    def _cholesky(self) -> LinearOperator:
        return self._with(sqrt(self._multiplier), is_self_adjoint=True)

    def _matmul_operator(self, right: LinearOperator) -> LinearOperator:
        if isinstance(right, LinearOperatorScaledIdentity):
            both = True if self.is_non_singular and right.is_non_singular else None
            scale = self._multiplier * right.multiplier
            return LinearOperatorScaledIdentity(self._num_rows, scale, is_non_singular=both)
        return super()._matmul_operator(right)


class LinearOperatorZeros(OfSize):
    """Zeros: ``num_rows`` times ``num_columns`` (by default as many as rows) for each of a batch."""

    def __init__(
        self,
        num_rows: Any,
        num_columns: Any = None,
        batch_shape: Any = None,
        dtype: DTypeLike | None = None,
        is_non_singular: bool | None = False,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = False,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ) -> None:
        if is_non_singular or is_positive_definite:
            raise ValueError("A zero operator is always singular, and not positive-definite.")
        if not is_self_adjoint and is_square:
            raise ValueError("A zero operator is always self-adjoint where it is square.")
        self._set_size(num_rows, batch_shape, assert_proper_shapes)
        self._num_columns = (
            self._num_rows
            if num_columns is None
            else size_of(num_columns, "num_columns", assert_proper_shapes)
        )
        self_adjoint = is_self_adjoint if is_square else None
        super().__init__(dtype or dtypes.float32, [], False, self_adjoint, False, is_square, name)

    def _shape(self) -> TensorShape:
        sizes = [known_size(self._num_rows), known_size(self._num_columns)]
        return self._batch_static().concatenate(sizes)

    def _shape_tensor(self) -> Any:
        return array.concat([self._batch_given, [self._num_rows, self._num_columns]], 0)

    def _matmul(self, x: TensorLike, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = broadcasting.flipped_if(x, adjoint_arg)
        return broadcasting.product(self._to_dense(), x, adjoint_a=adjoint)

    def _to_dense(self) -> Any:
        return array.zeros(self.shape_tensor(), self.dtype)

    def _determinant(self) -> Any:
        return array.zeros(self.batch_shape_tensor(), self.dtype)

    def _trace(self) -> Any:
        return self._determinant()

    def _add_to_tensor(self, x: TensorLike) -> Any:
        return x

    def _assert_non_singular(self) -> Any:
        from dataflow.errors import InvalidArgumentError

        raise InvalidArgumentError(None, None, "Zero operators are always non-invertible.")

    def _assert_self_adjoint(self) -> Any:
        return no_op("assert_self_adjoint")
