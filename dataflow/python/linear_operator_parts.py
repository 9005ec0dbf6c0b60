"""Checks and stacks of matrices: functions of ``tensorflow.python.ops.linalg.linear_operator_util``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.linear_operators.broadcasting import same_batch
from dataflow.linear_operators.linear_operator import LinearOperator
from dataflow.linear_operators.operator_properties import checked_hint
from dataflow.ops.array import shape
from dataflow.ops.assertions import assert_equal, assert_less
from dataflow.ops.complex_numbers import imag
from dataflow.ops.control_flow import no_op
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import abs_
from dataflow.ops.solvers import cholesky_solve, matrix_solve, matrix_triangular_solve
from dataflow.ops.variables import Variable

__all__ = [
    "assert_compatible_matrix_dimensions",
    "assert_is_batch_matrix",
    "assert_no_entries_with_modulus_zero",
    "assert_not_ref_type",
    "assert_zero_imag_part",
    "base_dtype",
    "broadcast_matrix_batch_dims",
    "cholesky_solve_with_broadcast",
    "convert_nonref_to_tensor",
    "dtype_name",
    "is_ref",
    "matrix_solve_with_broadcast",
    "matrix_triangular_solve_with_broadcast",
    "shape_tensor",
    "use_operator_or_provided_hint_unless_contradicting",
]


def is_ref(x: Any) -> bool:
    """Whether ``x`` is a variable, whose value may change between reads."""
    return isinstance(x, Variable)


def assert_not_ref_type(x: Any, arg_name: str) -> None:
    """Raises `TypeError` for a variable."""
    if is_ref(x):
        raise TypeError(f"Argument {arg_name} cannot be reference type. Found: {type(x)}")


def convert_nonref_to_tensor(
    value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None
) -> Any:
    """``value`` as a tensor; a variable, or None, as it is. Raises `TypeError` for another dtype."""
    if value is None:
        return None
    if not is_ref(value):
        return convert_to_tensor(value, dtype=dtype, preferred_dtype=dtype_hint, name=name)
    own = dtypes.as_dtype(value.dtype).base_dtype
    if dtype is not None and own != dtypes.as_dtype(dtype).base_dtype:
        raise TypeError(f"Mutable type must be of dtype {dtype_name(dtype)} but is {own.name}.")
    return value


def base_dtype(dtype: Any) -> Any:
    """The dtype, not as a reference."""
    return dtypes.as_dtype(dtype).base_dtype


def dtype_name(dtype: Any) -> str:
    """``"float32"``."""
    return dtypes.as_dtype(dtype).name


def assert_no_entries_with_modulus_zero(
    x: TensorLike,
    message: str | None = None,
    name: str = "assert_no_entries_with_modulus_zero",
) -> Any:
    """An op that fails where an element of ``x``, a number of any kind, is 0."""
    with name_scope(name):
        modulus = abs_(convert_to_tensor(x, name="x"))
        return assert_less(convert_to_tensor(0, dtype=modulus.dtype), modulus, message=message)


def assert_zero_imag_part(
    x: TensorLike, message: str | None = None, name: str = "assert_zero_imag_part"
) -> Any:
    """An op that fails where an element of ``x`` is not real."""
    with name_scope(name):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_complex:
            return no_op()
        found = imag(x)
        return assert_equal(convert_to_tensor(0, dtype=found.dtype), found, message=message)


def assert_compatible_matrix_dimensions(operator: LinearOperator, x: Tensor) -> Any:
    """An op that fails where ``x`` has not as many rows as the operator has columns."""
    text = "Dimensions are not compatible.  shape[-2] of argument to be the same as this operator"
    return assert_equal(
        shape(x)[-2], operator.domain_dimension_tensor(), message=f"Incompatible: {text}"
    )


def assert_is_batch_matrix(tensor: Tensor) -> None:
    """Raises `ValueError` where ``tensor`` is known to have fewer than two dimensions."""
    if tensor.dims is not None and len(tensor.dims) < 2:
        raise ValueError(
            f"Expected [batch] matrix to have at least two dimensions.  Found: {tensor}"
        )


def shape_tensor(shape: Any, name: str | None = None) -> Tensor:
    """A shape as an int32 vector, an empty list too."""
    dtype = dtypes.int32 if isinstance(shape, (tuple, list)) and not shape else None
    return convert_to_tensor(shape, dtype=dtype, name=name)


def broadcast_matrix_batch_dims(batch_matrices: Sequence[Any], name: str | None = None) -> Any:
    """The matrices [..., m, n] with one batch, that which all of theirs broadcast to.

    Raises `ValueError` for one that is known to have fewer than two dimensions.
    """
    with name_scope(name or "broadcast_matrix_batch_dims"):
        matrices = [convert_to_tensor(matrix) for matrix in batch_matrices]
        for matrix in matrices:
            assert_is_batch_matrix(matrix)
        return same_batch(*matrices) if len(matrices) > 1 else matrices


def cholesky_solve_with_broadcast(chol: Any, rhs: Any, name: str | None = None) -> Any:
    """x with ``A @ x = rhs`` from A's lower Cholesky factor; stacks broadcast."""
    with name_scope(name or "CholeskySolveWithBroadcast"):
        return cholesky_solve(*broadcast_matrix_batch_dims([chol, rhs]))


def matrix_solve_with_broadcast(
    matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None
) -> Any:
    """x with ``matrix @ x = rhs``, or its adjoint's; stacks broadcast."""
    with name_scope(name or "MatrixSolveWithBroadcast"):
        return matrix_solve(*broadcast_matrix_batch_dims([matrix, rhs]), adjoint=adjoint)


def matrix_triangular_solve_with_broadcast(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Any:
    """x with ``matrix @ x = rhs`` for the lower or upper triangle of ``matrix``; stacks broadcast."""
    with name_scope(name or "MatrixTriangularSolveWithBroadcast"):
        matrix, rhs = broadcast_matrix_batch_dims([matrix, rhs])
        return matrix_triangular_solve(matrix, rhs, lower=lower, adjoint=adjoint)


def use_operator_or_provided_hint_unless_contradicting(
    operator: LinearOperator, hint_attr_name: str, provided_hint_value: bool | None, message: str
) -> bool | None:
    """The hint of an operator joined with one that is given; raises `ValueError` where they contradict."""
    return checked_hint(getattr(operator, hint_attr_name), provided_hint_value, message)
