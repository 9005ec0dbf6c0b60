"""Operators that hold their matrix, or a triangle or the first row and column of it."""

from __future__ import annotations

from typing import Any

from dataflow.graph.type_aliases import TensorLike
from dataflow.linear_operators import broadcasting
from dataflow.linear_operators.linear_operator import LinearOperator, log_of, matrix_parameter
from dataflow.linear_operators.operator_properties import size_along
from dataflow.ops import array
from dataflow.ops.arithmetic import conj_if_complex
from dataflow.ops.assertions import assert_none_equal
from dataflow.ops.broadcast_shapes import common_shape, common_shape_tensor
from dataflow.ops.math import abs_, reduce_prod, reduce_sum
from dataflow.ops.matrix_diag import matrix_band_part, matrix_diag_part
from dataflow.shapes import TensorShape


def _need_matrix(tensor: Any, name: str) -> None:
    ndims = tensor.get_shape().ndims
    if ndims is not None and ndims < 2:
        raise ValueError(
            f"{name} must have at least 2 axes, got shape {tensor.get_shape()}\n"
            "tf.linalg.LinearOperatorDiag takes a vector as a diagonal."
        )


class LinearOperatorFullMatrix(LinearOperator):
    """The operator of a matrix [..., m, n] as it stands."""

    def __init__(
        self,
        matrix: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:
        self._matrix = matrix_parameter(matrix, "matrix")
        _need_matrix(self._matrix, "matrix")
        super().__init__(
            self._matrix.dtype,
            [self._matrix],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )

    @property
    def matrix(self) -> Any:
        """The matrix."""
        return self._matrix

    def _shape(self) -> TensorShape:
        return self._matrix.get_shape()

    def _shape_tensor(self) -> Any:
        return array.shape(self._matrix)

    def _matmul(self, x: TensorLike, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return broadcasting.product(self._matrix, x, adjoint, adjoint_arg)

    def _to_dense(self) -> Any:
        return self._matrix


class LinearOperatorLowerTriangular(LinearOperator):
    """The operator of the lower triangle of ``tril`` [..., n, n]; what is above is not read."""

    def __init__(
        self,
        tril: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:
        if is_square is False:
            raise ValueError("Only square lower triangular operators supported at this time.")
        given = matrix_parameter(tril, "tril")
        _need_matrix(given, "tril")
        self._tril = matrix_band_part(given, -1, 0)
        super().__init__(
            given.dtype,
            [given],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
        )

    @property
    def tril(self) -> Any:
        """The triangle, with zeros above."""
        return self._tril

    def _shape(self) -> TensorShape:
        return self._tril.get_shape()

    def _shape_tensor(self) -> Any:
        return array.shape(self._tril)

    def _to_dense(self) -> Any:
        return self._tril

    def _diag_part(self) -> Any:
        return matrix_diag_part(self._tril)

    def _matmul(self, x: TensorLike, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return broadcasting.product(self._tril, x, adjoint, adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = broadcasting.flipped_if(rhs, adjoint_arg)
        return broadcasting.solve_triangle(self._tril, rhs, adjoint)

    def _determinant(self) -> Any:
        return reduce_prod(self._diag_part(), -1)

    def _log_abs_determinant(self) -> Any:
        return reduce_sum(log_of(self._diag_part()), -1)

    def _eigvals(self) -> Any:
        return self._diag_part()

    def _assert_non_singular(self) -> Any:
        return assert_no_zeros(
            self._diag_part(), "Singular operator:  Diagonal contained zero values."
        )


def assert_no_zeros(x: TensorLike, message: str) -> Any:
    """An op that fails where x holds a zero."""
    size = abs_(x)
    return assert_none_equal(size, array.zeros_like(size), message=message)


class LinearOperatorToeplitz(LinearOperator):
    """The operator whose diagonals are constant: of its first column and its first row, [..., n].

    The first element of ``col`` stands on the main diagonal; that of ``row`` is not read.
    """

    def __init__(
        self,
        col: Any,
        row: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorToeplitz",
    ) -> None:
        if is_square is False:
            raise ValueError("Only square Toeplitz operators currently supported.")
        self._col = matrix_parameter(col, "col")
        self._row = matrix_parameter(row, "row")
        for which, given in (("row", self._row), ("col", self._col)):
            if given.get_shape().ndims == 0:
                raise ValueError(
                    f"LinearOperatorToeplitz: {which} must have at least 1 dimension, [..., n]; got a scalar."
                )
        super().__init__(
            self._col.dtype,
            [self._col, self._row],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
        )

    @property
    def col(self) -> Any:
        """The first column."""
        return self._col

    @property
    def row(self) -> Any:
        """The first row."""
        return self._row

    def _shape(self) -> TensorShape:
        both = common_shape([self._col.get_shape(), self._row.get_shape()])
        return both.concatenate(both[-1:]) if both.ndims is not None else both

    def _shape_tensor(self) -> Any:
        shapes = (array.shape(self._col), array.shape(self._row))
        both = common_shape_tensor(shapes)
        return array.concat([both, both[-1:]], 0)

    def _to_dense(self) -> Any:
        from dataflow.ops.sequences import range_

        size = broadcasting.size_of(self._col, -1)
        shape = self.shape_tensor()[:-1]
        col = array.broadcast_to(self._col, shape)
        row = array.broadcast_to(self._row, shape)
        # Diagonal k, counted upward from the lowest, is element k of this vector.
        diagonals = array.concat([array.reverse(col, [-1]), row[..., 1:]], -1)
        rows, columns = range_(size), range_(size)
        which = columns[None, :] - rows[:, None] + (size - 1)
        dense = array.gather(diagonals, which, axis=-1)
        dense.set_shape(self.shape)
        return dense

    def _matmul(self, x: TensorLike, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return broadcasting.product(self._to_dense(), x, adjoint, adjoint_arg)

    def _diag_part(self) -> Any:
        return array.broadcast_to(self._col[..., :1], self.shape_tensor()[:-1])


class LinearOperatorHouseholder(LinearOperator):
    """The reflection ``I - 2 v v^H`` of the unit vector v of ``reflection_axis`` [..., n]."""

    def __init__(
        self,
        reflection_axis: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorHouseholder",
    ) -> None:
        if is_square is False:
            raise ValueError("A Householder operator is always square.")
        if is_self_adjoint is False:
            raise ValueError("A Householder operator is always self adjoint.")
        if is_positive_definite is True:
            raise ValueError("A Householder operator is always non-positive definite.")
        if is_non_singular is False:
            raise ValueError("A Householder operator is always non-singular.")
        self._axis = matrix_parameter(reflection_axis, "reflection_axis")
        super().__init__(self._axis.dtype, [self._axis], is_non_singular, True, None, True, name)
        self._is_positive_definite = False

    @property
    def reflection_axis(self) -> Any:
        """The vector, of any length, that is turned to its opposite."""
        return self._axis

    def _shape(self) -> TensorShape:
        shape = self._axis.get_shape()
        return shape.concatenate(shape[-1:]) if shape.ndims is not None else shape

    def _shape_tensor(self) -> Any:
        shape = array.shape(self._axis)
        return array.concat([shape, shape[-1:]], 0)

    def _matmul(self, x: TensorLike, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        from dataflow.ops.moments import l2_normalize

        x = broadcasting.flipped_if(x, adjoint_arg)
        unit = array.expand_dims(l2_normalize(self._axis, axis=-1), -1)
        return x - 2 * unit * reduce_sum(conj_if_complex(unit) * x, -2, keepdims=True)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _inverse(self) -> LinearOperator:
        return self

    def _determinant(self) -> Any:
        return -array.ones(self.batch_shape_tensor(), self.dtype)

    def _log_abs_determinant(self) -> Any:
        return array.zeros(self.batch_shape_tensor(), self.dtype)

    def _trace(self) -> Any:
        from dataflow.ops.casts import cast

        return array.fill(self.batch_shape_tensor(), cast(size_along(self, -1), self.dtype) - 2)

    def _assert_non_singular(self) -> Any:
        from dataflow.ops.control_flow import no_op

        return no_op("assert_non_singular")

    def _assert_self_adjoint(self) -> Any:
        from dataflow.ops.control_flow import no_op

        return no_op("assert_self_adjoint")
