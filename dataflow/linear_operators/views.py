"""The adjoint and the inverse of another operator, computed by that operator."""

from __future__ import annotations

from typing import Any

from dataflow.graph.type_aliases import TensorLike
from dataflow.linear_operators.linear_operator import LinearOperator
from dataflow.ops import array
from dataflow.ops.arithmetic import conj_if_complex
from dataflow.shapes import TensorShape


class _View(LinearOperator):
    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None,
        is_self_adjoint: bool | None,
        is_positive_definite: bool | None,
        is_square: bool | None,
        name: str,
    ) -> None:
        self._operator = operator
        hints: dict[str, Any] = {}
        for hint, given in (
            ("is_non_singular", is_non_singular),
            ("is_self_adjoint", is_self_adjoint),
            ("is_positive_definite", is_positive_definite),
            ("is_square", is_square),
        ):
            known = getattr(operator, hint)
            if given is not None and known is not None and given != known:
                what = hint.removeprefix("is_").replace("_", "-")
                raise ValueError(
                    f"{hint}={given} contradicts the operator, where it is {known}: both are {what}, or none is."
                )
            hints[hint] = known if given is None else given
        super().__init__(operator.dtype, operator.graph_parents, name=name, **hints)

    @property
    def operator(self) -> LinearOperator:
        """The operator that this one stands for."""
        return self._operator

    def _shape(self) -> TensorShape:
        shape = self._operator.shape
        if shape.ndims is None:
            return shape
        return TensorShape([*shape[:-2], shape[-1], shape[-2]])

    def _shape_tensor(self) -> Any:
        shape = self._operator.shape_tensor()
        return array.concat([shape[:-2], [shape[-1], shape[-2]]], 0)


class LinearOperatorAdjoint(_View):
    """The conjugate transpose of an operator."""

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(
            operator,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name or f"{operator.name}_adjoint",
        )

    def _matmul(self, x: TensorLike, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _to_dense(self) -> Any:
        from dataflow.ops.matrix_diag import adjoint

        return adjoint(self._operator.to_dense())

    def _diag_part(self) -> Any:
        return conj_if_complex(self._operator.diag_part())

    def _determinant(self) -> Any:
        return conj_if_complex(self._operator.determinant())

    def _log_abs_determinant(self) -> Any:
        return self._operator.log_abs_determinant()

    def _cond(self) -> Any:
        return self._operator.cond()

    def _adjoint(self) -> LinearOperator:
        return self._operator


class LinearOperatorInversion(_View):
    """The inverse of an operator: its products are the other's solutions."""

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        if operator.is_square is False or is_square is False:
            raise ValueError(
                "operator and supplied hints must have `is_square` equal to `True` or `None`: an inverse is square. "
                f"Found {operator.is_square}, {is_square}."
            )
        if operator.is_non_singular is False or is_non_singular is False:
            raise ValueError(
                "operator and supplied hints must have `is_non_singular` equal to `True` or `None`: a singular "
                f"operator has no inverse. Found {operator.is_non_singular}, {is_non_singular}."
            )
        super().__init__(
            operator,
            True,
            is_self_adjoint,
            is_positive_definite,
            True,
            name or f"{operator.name}_inv",
        )

    def _matmul(self, x: TensorLike, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _determinant(self) -> Any:
        return 1 / self._operator.determinant()

    def _log_abs_determinant(self) -> Any:
        return -self._operator.log_abs_determinant()

    def _cond(self) -> Any:
        return self._operator.cond()

    def _inverse(self) -> LinearOperator:
        return self._operator
