"""Sums of operators: `add_operators`."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from dataflow.linear_operators.dense import LinearOperatorFullMatrix, LinearOperatorLowerTriangular
from dataflow.linear_operators.diagonal import (
    LinearOperatorDiag,
    LinearOperatorIdentity,
    LinearOperatorScaledIdentity,
)
from dataflow.linear_operators.linear_operator import LinearOperator
from dataflow.ops import array
from dataflow.ops.graph_functions import name_scope
from dataflow.shapes import broadcast_static_shape


class _Hints(NamedTuple):
    """What is known of a sum; None: not known."""

    is_non_singular: bool | None = None
    is_positive_definite: bool | None = None
    is_self_adjoint: bool | None = None


def _hints_of_sum(a: Any, b: Any, given: _Hints) -> _Hints:
    """What follows for ``a + b`` from what is known of both, where ``given`` says nothing else."""
    self_adjoint, positive = given.is_self_adjoint, given.is_positive_definite
    non_singular = given.is_non_singular
    if self_adjoint is None:
        self_adjoint = a.is_self_adjoint and b.is_self_adjoint
    if positive is None:
        positive = a.is_positive_definite and b.is_positive_definite
        non_singular = True if positive else non_singular
    return _Hints(non_singular, positive, self_adjoint)


class _Adder:
    """One way to add two operators, for those whose classes are all in ``kinds``."""

    kinds: tuple[type, ...] = ()

    def can_add(self, op1: Any, op2: Any) -> bool:
        """Whether it can add these two."""
        return type(op1) in self.kinds and type(op2) in self.kinds

    def add(self, op1: Any, op2: Any, operator_name: str | None, hints: Any = None) -> Any:
        """The operator ``op1 + op2``."""
        known = _hints_of_sum(op1, op2, hints or _Hints())
        name = operator_name or f"Add/{op1.name}__{op2.name}/"
        with name_scope(type(self).__name__.removeprefix("_")):
            return self._add(op1, op2, name, known)

    def _add(self, op1: Any, op2: Any, operator_name: str, hints: Any) -> Any:
        raise NotImplementedError


class _AddAndReturnScaledIdentity(_Adder):
    """Identities and multiples of them."""

    kinds = (LinearOperatorIdentity, LinearOperatorScaledIdentity)

    def _add(self, op1: Any, op2: Any, operator_name: str, hints: Any) -> Any:
        factors = [
            op.multiplier
            if isinstance(op, LinearOperatorScaledIdentity)
            else array.ones(op.batch_shape_tensor(), op.dtype)
            for op in (op1, op2)
        ]
        return LinearOperatorScaledIdentity(
            op1.range_dimension_tensor(),
            factors[0] + factors[1],
            **hints._asdict(),
            name=operator_name,
        )


class _AddAndReturnDiag(_Adder):
    """Operators that scale each coordinate."""

    kinds = (*_AddAndReturnScaledIdentity.kinds, LinearOperatorDiag)

    def _add(self, op1: Any, op2: Any, operator_name: str, hints: Any) -> Any:
        diagonal = op1.diag_part() + op2.diag_part()
        return LinearOperatorDiag(diagonal, **hints._asdict(), name=operator_name)


def _dense_sum(op1: Any, op2: Any) -> Any:
    """The matrix of the sum; a diagonal is added to the other's matrix."""
    first, second = (op1, op2) if type(op1) in _AddAndReturnDiag.kinds else (op2, op1)
    return first.add_to_tensor(second.to_dense())


class _AddAndReturnTriL(_Adder):
    """Lower triangular operators, and those that scale each coordinate."""

    kinds = (*_AddAndReturnDiag.kinds, LinearOperatorLowerTriangular)

    def _add(self, op1: Any, op2: Any, operator_name: str, hints: Any) -> Any:
        return LinearOperatorLowerTriangular(
            _dense_sum(op1, op2), **hints._asdict(), name=operator_name
        )


class _AddAndReturnMatrix(_Adder):
    """Any two operators: their sum is a matrix."""

    def can_add(self, op1: Any, op2: Any) -> bool:
        return isinstance(op1, LinearOperator) and isinstance(op2, LinearOperator)

    def _add(self, op1: Any, op2: Any, operator_name: str, hints: Any) -> Any:
        return LinearOperatorFullMatrix(_dense_sum(op1, op2), **hints._asdict(), name=operator_name)


#: Tried one after the other, from the sums that cost least.
_TIERS = (
    (_AddAndReturnScaledIdentity(),),
    (_AddAndReturnDiag(),),
    (_AddAndReturnTriL(),),
    (_AddAndReturnMatrix(),),
)


def add_operators(
    operators: Iterable[LinearOperator],
    operator_name: str | None = None,
    addition_tiers: Sequence[Sequence[Any]] | None = None,
    name: str | None = None,
) -> list[LinearOperator]:
    """The sum of operators as one operator, of the class that stores it with the fewest numbers.

    A list of one; of more, where the adders of ``addition_tiers`` cannot add all. Raises `ValueError`
    for no operators or shapes that do not fit, `TypeError` for anything that is no operator.
    """
    waiting = list(operators)[::-1]  # the last tier that adds begins with the last one
    if not waiting:
        raise ValueError("operators must contain at least one operator, got none.")
    for operator in waiting:
        if not isinstance(operator, LinearOperator):
            raise TypeError(f"operators must contain only LinearOperators, got {operator!r}.")
    _check_shapes(waiting)
    with name_scope(name, "add_operators"):
        for tier in _TIERS if addition_tiers is None else addition_tiers:
            waiting, left = [], waiting
            while left:
                operator = left.pop()
                found = _partner(operator, left, tier)
                if found is None:
                    waiting.append(operator)
                else:
                    partner, adder = found
                    left.append(adder.add(operator, partner, operator_name))
    return waiting


def _partner(operator: Any, others: list[Any], tier: Sequence[Any]) -> tuple[Any, Any] | None:
    """Takes the last of ``others`` that an adder of the tier can add to ``operator`` out."""
    for i in reversed(range(len(others))):
        for adder in tier:
            if adder.can_add(operator, others[i]):
                return others.pop(i), adder
    return None


def _check_shapes(operators: Sequence[Any]) -> None:
    for what in ("domain", "range"):
        sizes = {getattr(op, f"{what}_dimension").value for op in operators} - {None}
        if len(sizes) > 1:
            raise ValueError(f"operators must have the same {what} dimension, got {sorted(sizes)}.")
    functools.reduce(broadcast_static_shape, [operator.batch_shape for operator in operators])
