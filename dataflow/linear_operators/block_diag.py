"""Operators side by side along the diagonal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dataflow.graph.type_aliases import TensorLike
from dataflow.linear_operators import broadcasting
from dataflow.linear_operators.composition import (
    ProductOfDeterminants,
    checked_operators,
    parents_of,
)
from dataflow.linear_operators.linear_operator import LinearOperator
from dataflow.linear_operators.operator_properties import all_true, size_along
from dataflow.ops import array
from dataflow.ops.broadcast_shapes import common_shape, common_shape_tensor
from dataflow.shapes import TensorShape


class LinearOperatorBlockDiag(ProductOfDeterminants):
    """The matrix with ``operators`` along its diagonal and zeros elsewhere; stacks broadcast."""

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        self._operators = checked_operators(operators, "LinearOperatorBlockDiag")
        super().__init__(
            self._operators[0].dtype,
            parents_of(self._operators),
            all_true(self._operators, "is_non_singular", is_non_singular),
            all_true(self._operators, "is_self_adjoint", is_self_adjoint),
            all_true(self._operators, "is_positive_definite", is_positive_definite),
            is_square,
            name or "_ds_".join(operator.name for operator in self._operators),
        )

    @property
    def operators(self) -> list[LinearOperator]:
        """The blocks, from the upper left down."""
        return self._operators

    def _shape(self) -> TensorShape:
        batch = common_shape(o.batch_shape for o in self._operators)
        if batch.ndims is None:
            return batch
        rows = sum(
            (o.range_dimension for o in self._operators[1:]), self._operators[0].range_dimension
        )
        columns = sum(
            (o.domain_dimension for o in self._operators[1:]), self._operators[0].domain_dimension
        )
        return batch.concatenate([rows, columns])

    def _shape_tensor(self) -> Any:
        batch = common_shape_tensor(o.batch_shape_tensor() for o in self._operators)
        rows = sum(o.range_dimension_tensor() for o in self._operators)
        columns = sum(o.domain_dimension_tensor() for o in self._operators)
        return array.concat([batch, [rows, columns]], 0)

    def _by_block(
        self, x: TensorLike, function: Callable[[LinearOperator, Any], Any], axis: int
    ) -> Any:
        """``function`` of each block and its rows of x; ``axis`` says which of its sizes they have."""
        sizes = [size_along(operator, axis) for operator in self._operators]
        parts = array.split(x, sizes, axis=-2) if len(sizes) > 1 else [x]
        found = [function(o, part) for o, part in zip(self._operators, parts, strict=True)]
        return array.concat(self._with_one_batch(found), -2)

    def _with_one_batch(self, matrices: Sequence[Any]) -> list[Any]:
        static = common_shape(m.get_shape()[:-2] for m in matrices)
        if static.is_fully_defined():
            return [broadcasting.with_batch(m, static) for m in matrices]
        batch = common_shape_tensor(array.shape(m)[:-2] for m in matrices)
        return [broadcasting.with_batch(m, batch, static) for m in matrices]

    def _matmul(self, x: TensorLike, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = broadcasting.flipped_if(x, adjoint_arg)
        return self._by_block(x, lambda o, part: o.matmul(part, adjoint), -2 if adjoint else -1)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = broadcasting.flipped_if(rhs, adjoint_arg)
        return self._by_block(rhs, lambda o, part: o.solve(part, adjoint), -1 if adjoint else -2)

    def _to_dense(self) -> Any:
        rows, before, width = [], 0, size_along(self, -1)
        for block in self._with_one_batch([o.to_dense() for o in self._operators]):
            own = broadcasting.size_of(block, -1)
            upper = array.shape(block)[:-1]

            def zeros(columns: Any, upper: Any = upper) -> Any:
                return array.zeros(array.concat([upper, [columns]], 0), self.dtype)

            rows.append(array.concat([zeros(before), block, zeros(width - before - own)], -1))
            before = before + own
        dense = array.concat(rows, -2)
        dense.set_shape(self.shape)
        return dense

    def _diag_part(self) -> Any:
        if not self._each_square():
            return super()._diag_part()
        columns = [array.expand_dims(o.diag_part(), -1) for o in self._operators]
        return array.squeeze(array.concat(self._with_one_batch(columns), -2), [-1])

    def _eigvals(self) -> Any:
        columns = [array.expand_dims(o.eigvals(), -1) for o in self._operators]
        return array.squeeze(array.concat(self._with_one_batch(columns), -2), [-1])

    def _with(self, operators: Sequence[LinearOperator], **hints: Any) -> LinearOperator:
        return LinearOperatorBlockDiag(operators, is_square=True, **hints)

    def _adjoint(self) -> LinearOperator:
        return LinearOperatorBlockDiag(
            [operator.adjoint() for operator in self._operators], is_square=self.is_square
        )

    def _inverse(self) -> LinearOperator:
        return self._with([operator.inverse() for operator in self._operators])

    def _cholesky(self) -> LinearOperator:
        if not all(o.is_positive_definite and o.is_self_adjoint for o in self._operators):
            return super()._cholesky()
        return self._with([operator.cholesky() for operator in self._operators])
