"""What is known of a linear operator apart from its elements: dtype, name, static and run-time shape, hints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dataflow import dtypes
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike
from dataflow.linear_operators import broadcasting
from dataflow.ops import array
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.variable_lists import global_variables, local_variables
from dataflow.shapes import TensorShape, dimension_value


class OperatorProperties:
    """The properties of a linear operator. A subclass has `_shape` and `_shape_tensor`."""

    def __init__(
        self,
        dtype: DTypeLike,
        graph_parents: Sequence[Any] | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
        parameters: dict[str, Any] | None = None,
    ) -> None:
        if is_positive_definite:
            if is_non_singular is False:
                raise ValueError("A positive definite matrix is always non-singular.")
            is_non_singular = True
        if is_non_singular:
            if is_square is False:
                raise ValueError("A non-singular matrix is always square.")
            is_square = True
        if is_self_adjoint:
            if is_square is False:
                raise ValueError("A self-adjoint matrix is always square.")
            is_square = True
        self._is_square_hint = is_square
        self._dtype = dtypes.as_dtype(dtype).base_dtype
        self._graph_parents = list(graph_parents or ())
        self._is_non_singular = is_non_singular
        self._is_self_adjoint = is_self_adjoint
        self._is_positive_definite = is_positive_definite
        self._name = name or type(self).__name__
        self._parameters = dict(parameters or {})

    def _shape(self) -> TensorShape:
        raise NotImplementedError("_shape is not implemented.")

    def _shape_tensor(self) -> Any:
        raise NotImplementedError("_shape_tensor is not implemented.")

    @contextmanager
    def _scope(self, name: str) -> Iterator[None]:
        with name_scope(self.name), name_scope(name):
            yield

    # ---- what it is ------------------------------------------------------------------------------

    @property
    def variables(self) -> list[Any]:
        """The variables whose values the parameters are."""
        sources = {_source(parent) for parent in self._graph_parents}
        return [v for v in [*global_variables(), *local_variables()] if v.op in sources]

    @property
    def dtype(self) -> Any:
        """The dtype of the matrix's elements."""
        return self._dtype

    @property
    def name(self) -> str:
        """The name that the operator's nodes are in the scope of."""
        return self._name

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that the constructor was called with."""
        return dict(self._parameters)

    @property
    def graph_parents(self) -> list[Any]:
        """The tensors that the operator was made of."""
        return self._graph_parents

    @property
    def is_non_singular(self) -> bool | None:
        """Whether the matrix has an inverse; None where that is not known."""
        return self._is_non_singular

    @property
    def is_self_adjoint(self) -> bool | None:
        """Whether the matrix is its own conjugate transpose; None where that is not known."""
        return self._is_self_adjoint

    @property
    def is_positive_definite(self) -> bool | None:
        """Whether ``x^H A x`` has a positive real part for every x; None where that is not known."""
        return self._is_positive_definite

    @property
    def is_square(self) -> bool | None:
        """Whether m == n, by the static shape or the hint; a contradiction is a `ValueError`."""
        rows, columns = self.range_dimension.value, self.domain_dimension.value
        if rows is None or columns is None:
            return self._is_square_hint
        if self._is_square_hint is not None and self._is_square_hint != (rows == columns):
            raise ValueError(
                f"The static shape {self.shape} contradicts is_square={self._is_square_hint}."
            )
        return bool(rows == columns)

    # ---- shapes ----------------------------------------------------------------------------------

    @property
    def shape(self) -> TensorShape:
        """The static shape [..., m, n]."""
        return self._shape()

    @property
    def batch_shape(self) -> TensorShape:
        """The static shape without its last two sizes."""
        return TensorShape(self.shape[:-2])

    @property
    def tensor_rank(self) -> int | None:
        """The rank of the matrix as a tensor: 2 and the axes of the batch."""
        return self.shape.ndims

    @property
    def domain_dimension(self) -> Any:
        """n, as a `Dimension`."""
        return self.shape[-1] if self.shape.ndims is not None else TensorShape([None])[0]

    @property
    def range_dimension(self) -> Any:
        """m, as a `Dimension`."""
        return self.shape[-2] if self.shape.ndims is not None else TensorShape([None])[0]

    def shape_tensor(self, name: str = "shape_tensor") -> Any:
        """The shape as an int32 vector."""
        with self._scope(name):
            static = self.shape
            if static.is_fully_defined():
                return broadcasting.as_shape_tensor(static)
            return self._shape_tensor()

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Any:
        """The batch shape as an int32 vector."""
        with self._scope(name):
            return self.shape_tensor()[:-2]

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Any:
        """The rank as an int32 scalar."""
        with self._scope(name):
            return array.size(self.shape_tensor())

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Any:
        """n as an int32 scalar."""
        with self._scope(name):
            return self.shape_tensor()[-1]

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Any:
        """m as an int32 scalar."""
        with self._scope(name):
            return self.shape_tensor()[-2]


def _source(tensor: Tensor) -> Any:
    """The op that a tensor is a copy of the value of."""
    op = tensor.op
    while op.type in ("Identity", "ReadVariableOp"):
        op = op.inputs[0].op
    return op


def size_along(operator: OperatorProperties, axis: int) -> Any:
    """A size of the operator's shape: a number where it is known, else an int32 scalar."""
    known = dimension_value(operator.shape[axis]) if operator.shape.ndims is not None else None
    return operator.shape_tensor()[axis] if known is None else known


def checked_hint(hint: bool | None, value: bool | None, message: str) -> bool | None:
    """``value`` where it is known, else the hint; `ValueError` where the hint contradicts it."""
    if value is None or hint == value:
        return hint
    if hint is not None:
        raise ValueError(message)
    return value


def all_true(operators: Sequence[OperatorProperties], hint: str, given: bool | None) -> bool | None:
    """True where all operators have the hint; ``given`` elsewhere, which must not contradict it."""
    known = True if all(getattr(operator, hint) for operator in operators) else None
    text = f"{hint}=False contradicts the operators, for which it is True."
    return checked_hint(given, known, text)
