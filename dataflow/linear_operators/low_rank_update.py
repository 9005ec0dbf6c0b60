"""An operator and a correction of low rank."""

from __future__ import annotations

from typing import Any

from dataflow.graph.type_aliases import TensorLike
from dataflow.linear_operators import broadcasting
from dataflow.linear_operators.linear_operator import LinearOperator, log_of, matrix_parameter
from dataflow.ops import array
from dataflow.ops.broadcast_shapes import common_shape, common_shape_tensor
from dataflow.ops.decompositions import cholesky
from dataflow.ops.math import abs_, log, reduce_prod, reduce_sum
from dataflow.ops.matrix_diag import matrix_diag, matrix_diag_part
from dataflow.ops.solvers import matrix_determinant
from dataflow.shapes import TensorShape


class LinearOperatorLowRankUpdate(LinearOperator):
    """``L + U D V^H`` for an operator L [..., m, n], U [..., m, k], a diagonal D and V [..., n, k].

    ``v`` is ``u`` where it is not given, and ``diag_update`` [..., k] ones. Systems of equations take
    Woodbury's identity, and determinants the matrix determinant lemma: a solution with L and one of
    a k x k matrix.
    """

    def __init__(
        self,
        base_operator: LinearOperator,
        u: Any,
        diag_update: Any = None,
        v: Any = None,
        is_diag_update_positive: bool | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowRankUpdate",
    ) -> None:
        if is_diag_update_positive and diag_update is None:
            is_diag_update_positive = True
        self._base = base_operator
        self._u = matrix_parameter(u, "u")
        self._v = self._u if v is None else matrix_parameter(v, "v")
        self._diag = None if diag_update is None else matrix_parameter(diag_update, "diag_update")
        self._is_diag_update_positive = True if diag_update is None else is_diag_update_positive
        parts = [t for t in (self._u, self._v, self._diag) if t is not None]
        for part in parts:
            if part.dtype.base_dtype != base_operator.dtype:
                raise TypeError(
                    f"u, v and diag_update must have the operator's dtype "
                    f"{base_operator.dtype.name}, got {part.dtype.name}"
                )
        self._symmetric = v is None
        if (
            self._symmetric
            and base_operator.is_self_adjoint
            and (self._diag is None or not self._diag.dtype.is_complex)
            and self._is_diag_update_positive
        ):
            if is_self_adjoint is False:
                raise ValueError("is_self_adjoint=False contradicts the operator, u and v.")
            is_self_adjoint = True
            if base_operator.is_positive_definite:
                if is_positive_definite is False:
                    raise ValueError(
                        "is_positive_definite=False contradicts the operator, u and v."
                    )
                is_positive_definite = True
        super().__init__(
            base_operator.dtype,
            [*base_operator.graph_parents, *parts],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )
        self._shape()  # what does not fit together is an error of this line

    @property
    def base_operator(self) -> LinearOperator:
        """L."""
        return self._base

    @property
    def u(self) -> Any:
        """U."""
        return self._u

    @property
    def v(self) -> Any:
        """V."""
        return self._v

    @property
    def diag_update(self) -> Any:
        """The diagonal of D, or None for ones."""
        return self._diag

    @property
    def is_diag_update_positive(self) -> bool | None:
        """Whether the diagonal of D is positive."""
        return self._is_diag_update_positive

    @property
    def diag_operator(self) -> LinearOperator:
        """D."""
        from dataflow.linear_operators.diagonal import LinearOperatorDiag, LinearOperatorIdentity

        if self._diag is None:
            return LinearOperatorIdentity(broadcasting.size_of(self._u, -1), dtype=self.dtype)
        return LinearOperatorDiag(self._diag, is_positive_definite=self._is_diag_update_positive)

    def _shape(self) -> TensorShape:
        shapes = [self._base.shape[:-2], self._u.get_shape()[:-2], self._v.get_shape()[:-2]]
        if self._diag is not None:
            shapes.append(self._diag.get_shape()[:-1])
        batch = common_shape(shapes)
        if batch.ndims is None:
            return batch
        rows = self._base.range_dimension.merge_with(self._u.get_shape()[-2])
        return batch.concatenate(
            [rows, self._base.domain_dimension.merge_with(self._v.get_shape()[-2])]
        )

    def _shape_tensor(self) -> Any:
        shapes = [
            self._base.batch_shape_tensor(),
            array.shape(self._u)[:-2],
            array.shape(self._v)[:-2],
        ]
        if self._diag is not None:
            shapes.append(array.shape(self._diag)[:-1])
        return array.concat([common_shape_tensor(shapes), self._base.shape_tensor()[-2:]], 0)

    def _matmul(self, x: TensorLike, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = broadcasting.flipped_if(x, adjoint_arg)
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        middle = self.diag_operator.matmul(broadcasting.product(right, x, True), adjoint)
        return self._base.matmul(x, adjoint) + broadcasting.product(left, middle)

    def _capacitance(self) -> Any:
        """``D^-1 + V^H L^-1 U``."""
        inner = broadcasting.product(self._v, self._base.solve(self._u), True)
        return self.diag_operator.inverse().add_to_tensor(inner)

    def _is_capacitance_positive(self) -> bool:
        return bool(
            self._symmetric
            and self._base.is_self_adjoint
            and self._base.is_positive_definite
            and self._is_diag_update_positive
        )

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = broadcasting.flipped_if(rhs, adjoint_arg)
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        first = self._base.solve(rhs, adjoint)
        inner = broadcasting.product(right, first, True)
        small = broadcasting.solve_matrix(self._capacitance(), inner, adjoint)
        return first - self._base.solve(broadcasting.product(left, small), adjoint)

    def _determinant(self) -> Any:
        found = matrix_determinant(self._capacitance()) * self._base.determinant()
        return found if self._diag is None else found * reduce_prod(self._diag, -1)

    def _log_abs_determinant(self) -> Any:
        capacitance = self._capacitance()
        if self._is_capacitance_positive():
            diagonal = matrix_diag_part(cholesky(capacitance))
            found = 2 * reduce_sum(log_of(diagonal), -1)
        else:
            found = log(abs_(matrix_determinant(capacitance)))
        found = found + self._base.log_abs_determinant()
        return found if self._diag is None else found + reduce_sum(log_of(self._diag), -1)

    def _diag_part(self) -> Any:
        from dataflow.ops.arithmetic import conj_if_complex

        scaled = self._u
        if self._diag is not None:
            scaled = scaled * array.expand_dims(self._diag, -2)
        return self._base.diag_part() + reduce_sum(scaled * conj_if_complex(self._v), -1)

    def _to_dense(self) -> Any:
        scaled = self._u
        if self._diag is not None:
            scaled = broadcasting.product(scaled, matrix_diag(self._diag))
        return self._base.add_to_tensor(broadcasting.product(scaled, self._v, adjoint_b=True))
