"""The base of all linear operators: what follows from a shape and a product."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.linear_operators import broadcasting
from dataflow.linear_operators.operator_properties import OperatorProperties, size_along
from dataflow.ops import array
from dataflow.ops.assertions import assert_equal, assert_less, assert_positive
from dataflow.ops.complex_numbers import real
from dataflow.ops.decompositions import cholesky, self_adjoint_eigvals, svd
from dataflow.ops.math import abs_, exp, reduce_sum
from dataflow.ops.matrix_diag import adjoint as adjoint_of, eye, matrix_diag_part
from dataflow.ops.solvers import matrix_determinant, slogdet


class LinearOperator(OperatorProperties):
    """A matrix [..., m, n], or a stack of them, known by its products rather than by its elements.

    A subclass has `_shape`, `_shape_tensor` and `_matmul`; everything else follows from them, and is
    overridden where there is a quicker way. The hints (``is_non_singular``, ``is_self_adjoint``,
    ``is_positive_definite``, ``is_square``) are promises: True, False, or None for "not known". They
    choose the algorithm and are not checked at run time, except by ``assert_*``. Hints that
    contradict each other are a `ValueError`.
    """

    # ---- for subclasses --------------------------------------------------------------------------

    def _matmul(self, x: TensorLike, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        raise NotImplementedError("_matmul is not implemented.")

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = broadcasting.flipped_if(rhs, adjoint_arg)
        if self._factors():
            return broadcasting.solve_factored(cholesky(self.to_dense()), rhs)
        return broadcasting.solve_matrix(self.to_dense(), rhs, adjoint)

    def _to_dense(self) -> Any:
        return self._matmul(self._identity())

    def _diag_part(self) -> Any:
        return matrix_diag_part(self.to_dense())

    def _determinant(self) -> Any:
        if self._factors():
            return exp(self.log_abs_determinant())
        return matrix_determinant(self.to_dense())

    def _log_abs_determinant(self) -> Any:
        if self._factors():
            diagonal = matrix_diag_part(cholesky(self.to_dense()))
            return 2 * reduce_sum(log_of(diagonal), -1)
        return slogdet(self.to_dense())[1]

    def _eigvals(self) -> Any:
        return self_adjoint_eigvals(self.to_dense())

    def _trace(self) -> Any:
        return reduce_sum(self.diag_part(), -1)

    def _add_to_tensor(self, x: TensorLike) -> Any:
        return self.to_dense() + x

    def _assert_non_singular(self) -> Any:
        # As far from singular as the dtype can tell.
        eps = float(np.finfo(self.dtype.as_numpy_dtype).eps)
        return assert_less(
            self._cond(),
            np.array(1 / eps, self.dtype.real_dtype.as_numpy_dtype),
            message="Singular matrix up to precision epsilon.",
        )

    def _cond(self) -> Any:
        values = abs_(svd(self.to_dense(), compute_uv=False))
        return values[..., 0] / values[..., -1]

    def _assert_self_adjoint(self) -> Any:
        dense = self.to_dense()
        return assert_equal(
            dense, adjoint_of(dense), message="Matrix was not equal to its adjoint."
        )

    def _assert_positive_definite(self) -> Any:
        diagonal = real(matrix_diag_part(cholesky(self.to_dense())))
        return assert_positive(diagonal, message="Matrix was not positive definite.")

    def _adjoint(self) -> LinearOperator:
        from dataflow.linear_operators.views import LinearOperatorAdjoint

        return LinearOperatorAdjoint(self)

    def _inverse(self) -> LinearOperator:
        from dataflow.linear_operators.views import LinearOperatorInversion

        return LinearOperatorInversion(self)

    def _cholesky(self) -> LinearOperator:
        from dataflow.linear_operators.dense import LinearOperatorLowerTriangular

        return LinearOperatorLowerTriangular(
            cholesky(self.to_dense()), is_non_singular=True, is_square=True
        )

    def _matmul_operator(self, right: LinearOperator) -> LinearOperator:
        from dataflow.linear_operators.composition import compose

        return compose(self, right)

    def _factors(self) -> bool:
        """Whether there is a Cholesky decomposition."""
        return bool(self.is_positive_definite and self.is_self_adjoint)

    def _identity(self) -> Any:
        return eye(size_along(self, -1), batch_shape=self._batch(), dtype=self.dtype)

    def _batch(self) -> Any:
        """The batch shape: a list where it is known, else an int32 vector."""
        static = self.batch_shape
        return static.as_list() if static.is_fully_defined() else self.batch_shape_tensor()

    # ---- checks at run time ----------------------------------------------------------------------

    def assert_non_singular(self, name: str = "assert_non_singular") -> Any:
        """An op that fails with `InvalidArgumentError` where the matrix has no inverse."""
        with self._scope(name):
            return self._assert_non_singular()

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> Any:
        """An op that fails with `InvalidArgumentError` where the matrix is not positive definite."""
        with self._scope(name):
            return self._assert_positive_definite()

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> Any:
        """An op that fails with `InvalidArgumentError` where the matrix is not its own adjoint."""
        with self._scope(name):
            return self._assert_self_adjoint()

    # ---- what it does ----------------------------------------------------------------------------

    def _argument(self, x: Any, what: str, size: Any, adjoint_arg: bool) -> Any:
        x = convert_to_tensor(x, preferred_dtype=self.dtype, name=what)
        if x.dtype.base_dtype != self.dtype:
            raise TypeError(
                f"{what} must have the operator's dtype {self.dtype.name}, got {x.dtype.name}"
            )
        if x.get_shape().ndims is not None:
            rows = x.get_shape()[-1 if adjoint_arg else -2]
            if not rows.is_compatible_with(size):
                raise ValueError(
                    f"Operators are incompatible: {what} {x.get_shape()} needs {size} rows for the "
                    f"operator of shape {self.shape}"
                )
        return x

    def _operand(
        self, right: LinearOperator, adjoint: bool, adjoint_arg: bool
    ) -> tuple[LinearOperator, LinearOperator]:
        left = self.adjoint() if adjoint else self
        right = right.adjoint() if adjoint_arg else right
        return left, right

    def matmul(
        self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Any:
        """``A @ x`` for x [..., n, k]; of an operator x the operator that does both.

        ``adjoint``: the adjoint of A; ``adjoint_arg``: the adjoint of x. Stacks broadcast.
        """
        if isinstance(x, LinearOperator):
            left, right = self._operand(x, adjoint, adjoint_arg)
            if not left.domain_dimension.is_compatible_with(right.range_dimension):
                raise ValueError(
                    f"Operators are incompatible. Expected `x` to have dimension "
                    f"{left.domain_dimension} but got {right.range_dimension}."
                )
            with self._scope(name):
                return left._matmul_operator(right)
        with self._scope(name):
            size = self.range_dimension if adjoint else self.domain_dimension
            x = self._argument(x, "x", size, adjoint_arg)
            return self._matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def __matmul__(self, other: Any) -> Any:
        return self.matmul(other)

    def matvec(self, x: TensorLike, adjoint: bool = False, name: str = "matvec") -> Any:
        """``A @ x`` for a vector x [..., n]."""
        with self._scope(name):
            x = convert_to_tensor(x, preferred_dtype=self.dtype, name="x")
            return array.squeeze(self.matmul(array.expand_dims(x, -1), adjoint=adjoint), [-1])

    def solve(
        self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Any:
        """x with ``A @ x = rhs``, for rhs [..., m, k]; of an operator the operator that does both.

        Raises `NotImplementedError` for an operator that is known to have no inverse.
        """
        if self.is_non_singular is False:
            raise NotImplementedError(
                "Exact solve not implemented for an operator that is expected to be singular."
            )
        if self.is_square is False:
            raise NotImplementedError(
                "Exact solve not implemented for an operator that is expected to not be square."
            )
        if isinstance(rhs, LinearOperator):
            left, right = self._operand(rhs, adjoint, adjoint_arg)
            with self._scope(name):
                return left.inverse().matmul(right)
        with self._scope(name):
            size = self.domain_dimension if adjoint else self.range_dimension
            rhs = self._argument(rhs, "rhs", size, adjoint_arg)
            return self._solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def solvevec(self, rhs: TensorLike, adjoint: bool = False, name: str = "solve") -> Any:
        """x [..., n] with ``A @ x = rhs``, for a vector rhs [..., m]."""
        with self._scope(name):
            rhs = convert_to_tensor(rhs, preferred_dtype=self.dtype, name="rhs")
            return array.squeeze(self.solve(array.expand_dims(rhs, -1), adjoint=adjoint), [-1])

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """The operator of the conjugate transpose; itself where it is self-adjoint."""
        if self.is_self_adjoint:
            return self
        with self._scope(name):
            return self._adjoint()

    @property
    def H(self) -> LinearOperator:
        """`adjoint`."""
        return self.adjoint()

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """The operator of the inverse; `ValueError` where there is none."""
        if self.is_square is False:
            raise ValueError(
                "Cannot take the Inverse: This operator represents a non square matrix."
            )
        if self.is_non_singular is False:
            raise ValueError("Cannot take the Inverse: This operator represents a singular matrix.")
        with self._scope(name):
            return self._inverse()

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """The operator of the lower triangle L with ``L @ L^H = A``.

        The operator must have been promised to be self-adjoint and positive definite (`ValueError`).
        """
        if not self._factors():
            raise ValueError(
                "Cannot take the Cholesky decomposition: Not a positive definite self adjoint matrix."
            )
        with self._scope(name):
            return self._cholesky()

    def _need_square(self, what: str) -> None:
        if self.is_square is False:
            raise NotImplementedError(f"{what} not implemented for an operator that is not square.")

    def to_dense(self, name: str = "to_dense") -> Any:
        """The matrix itself, [..., m, n]."""
        with self._scope(name):
            return self._to_dense()

    def diag_part(self, name: str = "diag_part") -> Any:
        """The diagonal, [..., min(m, n)]."""
        with self._scope(name):
            return self._diag_part()

    def trace(self, name: str = "trace") -> Any:
        """The sum of the diagonal, [...]."""
        with self._scope(name):
            return self._trace()

    def determinant(self, name: str = "det") -> Any:
        """The determinant, [...]."""
        self._need_square("Determinant")
        with self._scope(name):
            return self._determinant()

    def log_abs_determinant(self, name: str = "log_abs_det") -> Any:
        """The logarithm of the absolute value of the determinant, [...]."""
        self._need_square("Determinant")
        with self._scope(name):
            return self._log_abs_determinant()

    def eigvals(self, name: str = "eigvals") -> Any:
        """The eigenvalues of a self-adjoint operator, [..., n]."""
        if not self.is_self_adjoint:
            raise NotImplementedError("Only self-adjoint matrices are supported.")
        with self._scope(name):
            return self._eigvals()

    def cond(self, name: str = "cond") -> Any:
        """The largest singular value over the smallest, [...]."""
        with self._scope(name):
            return self._cond()

    def add_to_tensor(self, x: TensorLike, name: str = "add_to_tensor") -> Any:
        """``A + x`` for x [..., m, n]."""
        with self._scope(name):
            x = convert_to_tensor(x, preferred_dtype=self.dtype, name="x")
            return self._add_to_tensor(x)


def log_of(x: Any) -> Any:
    """The logarithm of absolute values, in the dtype of x as TensorFlow gives it."""
    from dataflow.ops.casts import cast
    from dataflow.ops.elementary import log

    found = log(abs_(x))
    return cast(found, x.dtype.base_dtype) if x.dtype.is_complex else found


def matrix_parameter(x: TensorLike, name: str) -> Tensor:
    """A parameter as a tensor."""
    return convert_to_tensor(x, name=name)
