"""The product of several operators, applied one after the other."""

from __future__ import annotations

import functools
import operator as python_operator
from collections.abc import Sequence
from typing import Any

from dataflow.graph.type_aliases import TensorLike
from dataflow.linear_operators import broadcasting
from dataflow.linear_operators.linear_operator import LinearOperator
from dataflow.linear_operators.operator_properties import all_true
from dataflow.ops import array
from dataflow.ops.broadcast_shapes import common_shape, common_shape_tensor
from dataflow.shapes import TensorShape


def checked_operators(operators: Sequence[LinearOperator], what: str) -> list[LinearOperator]:
    """At least one operator, all of one dtype (`ValueError`, `TypeError`)."""
    found = list(operators)
    if not found:
        raise ValueError(f"{what} needs a list of at least 1 operator, got {operators}")
    kinds = {operator.dtype.name for operator in found}
    if len(kinds) > 1:
        named = ", ".join(f"{o.name}: {o.dtype.name}" for o in found)
        raise TypeError(f"{what} needs operators of the same dtype, got {named}")
    return found


def parents_of(operators: Sequence[LinearOperator]) -> list[Any]:
    """The tensors that all of the operators were made of."""
    return [parent for operator in operators for parent in operator.graph_parents]


def product_of(values: Sequence[Any]) -> Any:
    """All of them multiplied."""
    return functools.reduce(python_operator.mul, values)


class ProductOfDeterminants(LinearOperator):
    """An operator made of others whose determinant, where all are square, is the product of theirs."""

    _operators: list[LinearOperator]

    def _each_square(self) -> bool:
        return all(operator.is_square for operator in self._operators)

    def _determinant(self) -> Any:
        if not self._each_square():
            return super()._determinant()
        return product_of([operator.determinant() for operator in self._operators])

    def _log_abs_determinant(self) -> Any:
        if not self._each_square():
            return super()._log_abs_determinant()
        found = [operator.log_abs_determinant() for operator in self._operators]
        return functools.reduce(python_operator.add, found)


class LinearOperatorComposition(ProductOfDeterminants):
    """``operators[0] @ operators[1] @ ...``, without the matrix that this product is."""

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self._operators = checked_operators(operators, "LinearOperatorComposition")
        for left, right in zip(self._operators, self._operators[1:], strict=False):
            if not left.domain_dimension.is_compatible_with(right.range_dimension):
                raise ValueError(
                    f"Operators are incompatible: {left.name} {left.shape} before {right.name} "
                    f"{right.shape}"
                )
        super().__init__(
            self._operators[0].dtype,
            parents_of(self._operators),
            all_true(self._operators, "is_non_singular", is_non_singular),
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name or "_o_".join(operator.name for operator in self._operators),
        )

    @property
    def operators(self) -> list[LinearOperator]:
        """The factors, the first on the left."""
        return self._operators

    def _shape(self) -> TensorShape:
        first, last = self._operators[0], self._operators[-1]
        batch = common_shape(o.batch_shape for o in self._operators)
        if batch.ndims is None:
            return batch
        return batch.concatenate([first.range_dimension, last.domain_dimension])

    def _shape_tensor(self) -> Any:
        batch = common_shape_tensor(o.batch_shape_tensor() for o in self._operators)
        rows = self._operators[0].range_dimension_tensor()
        return array.concat([batch, [rows, self._operators[-1].domain_dimension_tensor()]], 0)

    def _matmul(self, x: TensorLike, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = broadcasting.flipped_if(x, adjoint_arg)
        for operator in self._operators if adjoint else reversed(self._operators):
            x = operator.matmul(x, adjoint=adjoint)
        return x

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = broadcasting.flipped_if(rhs, adjoint_arg)
        for operator in reversed(self._operators) if adjoint else self._operators:
            rhs = operator.solve(rhs, adjoint=adjoint)
        return rhs

    def _to_dense(self) -> Any:
        dense = self._operators[-1].to_dense()
        for operator in reversed(self._operators[:-1]):
            dense = operator.matmul(dense)
        return dense


def _is_product_with_adjoint(left: LinearOperator, right: LinearOperator) -> bool:
    """Whether this is ``A @ A^H``."""
    if getattr(left, "operator", None) is right or getattr(right, "operator", None) is left:
        from dataflow.linear_operators.views import LinearOperatorAdjoint

        return isinstance(left, LinearOperatorAdjoint) or isinstance(right, LinearOperatorAdjoint)
    return False


def compose(left: LinearOperator, right: LinearOperator) -> LinearOperator:
    """The composition of two operators, with the hints that follow from theirs."""
    from dataflow.linear_operators.diagonal import LinearOperatorIdentity

    if isinstance(right, LinearOperatorIdentity) and right.batch_shape.ndims == 0:
        return left
    symmetric = True if _is_product_with_adjoint(left, right) else None
    positive = True if symmetric and left.is_non_singular else None
    return LinearOperatorComposition(
        [left, right], is_self_adjoint=symmetric, is_positive_definite=positive
    )
