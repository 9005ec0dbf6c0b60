"""The LU decomposition, and what is computed from one: solutions, inverses, the matrix itself."""

from __future__ import annotations

from typing import Any, NamedTuple

from dataflow import dtypes
from dataflow.dtypes import DType
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.op_signature import INDEX
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.assertions import assert_equal, assert_less
from dataflow.ops.costs import cubic
from dataflow.ops.decompositions import INEXACT, square_dims, stack_shape
from dataflow.ops.graph_functions import control_dependencies
from dataflow.ops.matmul import matmul
from dataflow.ops.matrix_diag import adjoint, eye, matrix_band_part, matrix_set_diag
from dataflow.ops.sequences import invert_permutation
from dataflow.ops.shape_assertions import assert_rank_at_least
from dataflow.ops.solvers import matrix_triangular_solve
from dataflow.shapes import Dims


class Lu(NamedTuple):
    """Both triangles in one matrix, and which row of the input stands in each row of their product."""

    lu: Tensor
    p: Tensor


@define_op(
    "Lu",
    "input: T -> lu: T, p: output_idx_type",
    T=INEXACT,
    output_idx_type=INDEX,
    cost=cubic(0.7),
)
def lu_op(input: Tensor, *, output_idx_type: DType = dtypes.int32) -> list[Dims]:
    """``input[p] = L @ U`` with partial pivoting, of square matrices.

    Shape: [..., n, n] gives lu [..., n, n] (U in the upper triangle; L below, its diagonal of ones
    left out) and p [..., n]. A singular matrix is an `InvalidArgumentError`.
    Gradient: de Hoog, Anderssen and Lukas, "Differentiation of matrix functionals using triangular
    factorization" (2011).
    """
    dims = square_dims(input)
    return [dims, None if dims is None else dims[:-1]]


@lu_op.gradient
def lu_gradient(op: Operation, grad: Tensor, grad_p: Any) -> list[Any]:
    lower_upper, perm = op.outputs
    lower, upper = _triangles(lower_upper)
    below = matrix_band_part(matmul(lower, grad, adjoint_a=True), -1, 0)
    below = matrix_set_diag(below, array_ops.zeros_like(perm, dtype=grad.dtype.base_dtype))
    above = matrix_band_part(matmul(grad, upper, adjoint_b=True), 0, -1)
    # inverse(L^H) @ (below + above) @ inverse(U^H)
    left = matrix_triangular_solve(upper, adjoint(below + above), lower=False)
    inner = matrix_triangular_solve(lower, adjoint(left), adjoint=True)
    return [_rows(inner, _inverse_order(perm))]


def _triangles(lower_upper: Any) -> tuple[Any, Any]:
    """L, with ones on its diagonal, and U."""
    ones = array_ops.ones_like(lower_upper[..., 0])
    lower = matrix_set_diag(matrix_band_part(lower_upper, -1, 0), ones)
    return lower, matrix_band_part(lower_upper, 0, -1)


def _inverse_order(perm: Any) -> Any:
    """The inverse of each permutation of a stack."""
    if perm.dims is not None and len(perm.dims) == 1:
        return invert_permutation(perm)
    from dataflow.ops.sequences import argsort

    return argsort(perm, axis=-1)


def _rows(matrix: Any, order: Any) -> Any:
    """``matrix[..., order, :]`` for each of a stack."""
    if order.dims is not None and len(order.dims) == 1:
        axis = -2 if matrix.dims is not None else array_ops.rank(matrix) - 2
        return array_ops.gather(matrix, order, axis=axis)
    if order.dims is None or matrix.dims is None:
        raise ValueError(
            "the rank of a stack of permutations must be known when the graph is built"
        )
    count = len(order.dims) - 1
    if len(matrix.dims) - 2 > count:
        target = array_ops.concat([array_ops.shape(matrix)[:-2], array_ops.shape(order)[-1:]], 0)
        order, count = array_ops.broadcast_to(order, target), len(matrix.dims) - 2
    return array_ops.gather(matrix, order, axis=count, batch_dims=count)


def lu(input: TensorLike, output_idx_type: Any = dtypes.int32, name: str | None = None) -> Lu:
    """``input[p] = L @ U`` of square matrices [..., n, n]: a tuple (lu, p)."""
    return Lu(*lu_op(input, output_idx_type=dtypes.as_dtype(output_idx_type), name=name))


def _checked(
    lower_upper: Any, perm: Any, rhs: TensorLike | None = None, *, validate_args: bool
) -> tuple[Any, Any, Any]:
    """The arguments as tensors; with ``validate_args`` they are checked when they are used."""
    lower_upper = convert_to_tensor(lower_upper, dtype_hint=dtypes.float32, name="lower_upper")
    perm = convert_to_tensor(perm, dtype_hint=dtypes.int32, name="perm")
    if rhs is not None:
        rhs = convert_to_tensor(rhs, lower_upper.dtype.base_dtype, name="rhs")
    square_dims(lower_upper, "lower_upper")
    if not validate_args:
        return lower_upper, perm, rhs
    sizes = array_ops.shape(lower_upper)
    checks = [
        assert_rank_at_least(lower_upper, 2, message="lower_upper must be a matrix (or a stack)."),
        assert_equal(sizes[-1], sizes[-2], message="lower_upper must be square."),
        assert_less(perm, sizes[-1], message="perm must hold numbers of rows."),
    ]
    if rhs is not None:
        text = "rhs must have as many rows as lower_upper."
        checks.append(assert_equal(array_ops.shape(rhs)[-2], sizes[-1], message=text))
    with control_dependencies(checks):
        return (
            array_ops.identity(lower_upper),
            array_ops.identity(perm),
            rhs if rhs is None else array_ops.identity(rhs),
        )


def lu_reconstruct(
    lower_upper: Any, perm: Any, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The matrices [..., n, n] that `lu` has made ``lower_upper`` and ``perm`` of."""
    with default_graph().name_scope(name or "lu_reconstruct"):
        lower_upper, perm, _ = _checked(lower_upper, perm, validate_args=validate_args)
        return _rows(matmul(*_triangles(lower_upper)), _inverse_order(perm))  # type: ignore[no-any-return]


def lu_solve(
    lower_upper: Any, perm: Any, rhs: Any, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """x [..., n, k] with ``a @ x = rhs``, where `lu` has made ``lower_upper`` and ``perm`` of a.

    Stacks broadcast. ``validate_args`` checks shapes and numbers of rows in each run.
    """
    with default_graph().name_scope(name or "lu_solve"):
        lower_upper, perm, rhs = _checked(lower_upper, perm, rhs, validate_args=validate_args)
        lower, upper = _triangles(lower_upper)
        known = perm.dims is not None and rhs.dims is not None
        if known and len(rhs.dims) < len(perm.dims) + 1:  # one right-hand side for a whole stack
            stack = array_ops.shape(perm)[:-1]
            rhs = array_ops.broadcast_to(
                rhs, array_ops.concat([stack, array_ops.shape(rhs)[-2:]], 0)
            )
        first = matrix_triangular_solve(lower, _rows(rhs, perm))
        return matrix_triangular_solve(upper, first, lower=False)


def lu_matrix_inverse(
    lower_upper: Any, perm: Any, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The inverses of the matrices that `lu` has made ``lower_upper`` and ``perm`` of."""
    with default_graph().name_scope(name or "lu_matrix_inverse"):
        lower_upper, perm, _ = _checked(lower_upper, perm, validate_args=validate_args)
        size = None if lower_upper.dims is None else lower_upper.dims[-1]
        identity = eye(
            array_ops.shape(lower_upper)[-1] if size is None else size,
            batch_shape=stack_shape(lower_upper),
            dtype=lower_upper.dtype,
        )
        return lu_solve(lower_upper, perm, identity)
