"""The Kronecker product of operators."""

from __future__ import annotations

import functools
import operator as python_operator
from collections.abc import Callable, Sequence
from typing import Any

from dataflow.graph.type_aliases import TensorLike
from dataflow.linear_operators import broadcasting
from dataflow.linear_operators.composition import checked_operators, parents_of, product_of
from dataflow.linear_operators.linear_operator import LinearOperator
from dataflow.linear_operators.operator_properties import all_true, size_along
from dataflow.ops import array
from dataflow.ops.broadcast_shapes import common_shape, common_shape_tensor
from dataflow.ops.casts import cast
from dataflow.shapes import TensorShape


class LinearOperatorKronecker(LinearOperator):
    """The Kronecker product of ``operators``, each of which is applied along an axis of its own."""

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self._operators = checked_operators(operators, "LinearOperatorKronecker")
        super().__init__(
            self._operators[0].dtype,
            parents_of(self._operators),
            all_true(self._operators, "is_non_singular", is_non_singular),
            all_true(self._operators, "is_self_adjoint", is_self_adjoint),
            all_true(self._operators, "is_positive_definite", is_positive_definite),
            all_true(self._operators, "is_square", is_square),
            name or "_x_".join(operator.name for operator in self._operators),
        )

    @property
    def operators(self) -> list[LinearOperator]:
        """The factors; the last one's index runs fastest."""
        return self._operators

    def _shape(self) -> TensorShape:
        batch = common_shape(o.batch_shape for o in self._operators)
        if batch.ndims is None:
            return batch
        rows = product_of([o.range_dimension for o in self._operators])
        return batch.concatenate([rows, product_of([o.domain_dimension for o in self._operators])])

    def _shape_tensor(self) -> Any:
        batch = common_shape_tensor(o.batch_shape_tensor() for o in self._operators)
        rows = product_of([o.range_dimension_tensor() for o in self._operators])
        columns = product_of([o.domain_dimension_tensor() for o in self._operators])
        return array.concat([batch, [rows, columns]], 0)

    def _along_axes(
        self, x: Any, function: Callable[[LinearOperator, Any], Any], taken: int, made: int
    ) -> Any:
        """Each operator along its axis of x's rows; ``taken`` and ``made`` are axes of its shape."""
        batch = common_shape_tensor([array.shape(x)[:-2], self.batch_shape_tensor()])
        static = common_shape([x.get_shape()[:-2], self.batch_shape])
        x = broadcasting.with_batch(x, batch, static)
        rank: Any = array.size(batch) if static.ndims is None else static.ndims
        order = array.concat([array.range_(rank), [rank + 1, rank, rank + 2]], 0)
        columns = array.shape(x)[-1]
        sizes: list[Any] = [size_along(operator, taken) for operator in self._operators]
        for i, operator in enumerate(self._operators):
            # [before, own, after] becomes [own, before * after], and back.
            before, after = product_of([1, *sizes[:i]]), product_of([columns, *sizes[i + 1 :]])
            x = array.reshape(x, array.concat([batch, [before, sizes[i], after]], 0))
            x = array.transpose(x, order)
            x = array.reshape(x, array.concat([batch, [sizes[i], before * after]], 0))
            x = function(operator, x)
            sizes[i] = size_along(operator, made)
            x = array.reshape(x, array.concat([batch, [sizes[i], before, after]], 0))
            x = array.transpose(x, order)
        return array.reshape(x, array.concat([batch, [product_of(sizes), columns]], 0))

    def _shaped(self, found: Any, x: Any, size: Any) -> Any:
        batch = common_shape([x.get_shape()[:-2], self.batch_shape])
        found.set_shape(batch.concatenate([size, broadcasting.known_size(x, -1)]))
        return found

    def _matmul(self, x: TensorLike, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = broadcasting.flipped_if(x, adjoint_arg)
        taken, made = (-2, -1) if adjoint else (-1, -2)
        found = self._along_axes(x, lambda o, part: o.matmul(part, adjoint), taken, made)
        return self._shaped(found, x, self._sizes()[made])

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = broadcasting.flipped_if(rhs, adjoint_arg)
        taken, made = (-1, -2) if adjoint else (-2, -1)
        found = self._along_axes(rhs, lambda o, part: o.solve(part, adjoint), taken, made)
        return self._shaped(found, rhs, self._sizes()[made])

    def _sizes(self) -> dict[int, Any]:
        return {-2: self.range_dimension, -1: self.domain_dimension}

    def _each_square(self) -> bool:
        return all(operator.is_square for operator in self._operators)

    def _power(self, operator: LinearOperator) -> Any:
        """How often the eigenvalues of one factor come in the product."""
        return cast(size_along(self, -1) // size_along(operator, -1), self.dtype)

    def _determinant(self) -> Any:
        if not self._each_square():
            return super()._determinant()
        return product_of([o.determinant() ** self._power(o) for o in self._operators])

    def _log_abs_determinant(self) -> Any:
        if not self._each_square():
            return super()._log_abs_determinant()
        found = [self._power(o) * o.log_abs_determinant() for o in self._operators]
        return functools.reduce(python_operator.add, found)

    def _trace(self) -> Any:
        if not self._each_square():
            return super()._trace()
        return product_of([operator.trace() for operator in self._operators])

    def _outer(self, vectors: Sequence[Any]) -> Any:
        """The Kronecker product of vectors."""
        found = vectors[0]
        for vector in vectors[1:]:
            table = array.expand_dims(found, -1) * array.expand_dims(vector, -2)
            shape = array.concat([array.shape(table)[:-2], [-1]], 0)
            found = array.reshape(table, shape)
        return found

    def _diag_part(self) -> Any:
        if not self._each_square():
            return super()._diag_part()
        found = self._outer([operator.diag_part() for operator in self._operators])
        found.set_shape(self.batch_shape.concatenate([self.range_dimension]))
        return found

    def _eigvals(self) -> Any:
        # As TensorFlow: sorted within factors alone.
        found = self._outer([operator.eigvals() for operator in self._operators])
        found.set_shape(self.batch_shape.concatenate([self.range_dimension]))
        return found

    def _adjoint(self) -> LinearOperator:
        return LinearOperatorKronecker([operator.adjoint() for operator in self._operators])

    def _inverse(self) -> LinearOperator:
        return LinearOperatorKronecker(
            [operator.inverse() for operator in self._operators], is_non_singular=True
        )

    def _cholesky(self) -> LinearOperator:
        if not all(o.is_positive_definite and o.is_self_adjoint for o in self._operators):
            return super()._cholesky()
        return LinearOperatorKronecker([operator.cholesky() for operator in self._operators])
