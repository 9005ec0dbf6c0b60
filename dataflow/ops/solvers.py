"""Inverses, determinants and systems of linear equations."""

from __future__ import annotations

from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.arithmetic import conj_if_complex
from dataflow.ops.casts import cast
from dataflow.ops.costs import cubic
from dataflow.ops.decompositions import INEXACT, cholesky, qr, square_dims, stack_shape
from dataflow.ops.matmul import matmul
from dataflow.ops.matrix_diag import adjoint as adjoint_of, eye, matrix_band_part, matrix_diag_part
from dataflow.ops.reduce import reduce_sum, sum_op
from dataflow.shapes import BroadcastError, Dims, broadcast, list_dims, merge


@define_op("MatrixInverse", "input: T -> output: T", T=INEXACT, cost=cubic(1.0))
def matrix_inverse(input: Tensor, *, adjoint: bool = False) -> Dims:
    """The inverses of square matrices, or of their adjoints.

    Shape: [..., n, n]; kept. A singular matrix is an `InvalidArgumentError`.
    Gradient: ``-y^H @ dy @ y^H``.
    """
    return square_dims(input)


@matrix_inverse.gradient
def matrix_inverse_gradient(op: Operation, grad: Tensor) -> list[Any]:
    inverse, flipped = op.outputs[0], op.attrs["adjoint"]
    inner = matmul(grad, inverse, adjoint_a=flipped, adjoint_b=not flipped)
    return [-matmul(inverse, inner, adjoint_a=not flipped)]


@define_op("MatrixDeterminant", "input: T -> output: T", T=INEXACT, cost=cubic(0.3))
def matrix_determinant_op(input: Tensor) -> Dims:
    """The determinants of square matrices.

    Shape: [..., n, n] gives [...]. Gradient: ``dy * y * inverse^H``.
    """
    dims = square_dims(input)
    return None if dims is None else dims[:-2]


def _times_inverse(scale: TensorLike, matrix: TensorLike) -> Any:
    inverse = matrix_inverse(matrix, adjoint=True)
    return array_ops.expand_dims(array_ops.expand_dims(scale, -1), -1) * inverse


@matrix_determinant_op.gradient
def matrix_determinant_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [_times_inverse(grad * conj_if_complex(op.outputs[0]), op.inputs[0])]


@define_op("LogMatrixDeterminant", "input: T -> sign: T, log_abs_determinant: T", T=INEXACT)
def log_matrix_determinant_op(input: Tensor) -> list[Dims]:
    """The sign and the logarithm of the absolute value of determinants.

    Shape: [..., n, n] gives [...] twice. Gradient: ``dy * inverse^H`` to the logarithm; the sign
    is constant.
    """
    dims = square_dims(input)
    batch = None if dims is None else dims[:-2]
    return [batch, batch]


@log_matrix_determinant_op.gradient
def log_matrix_determinant_gradient(op: Operation, grad_sign: Any, grad: Tensor) -> list[Any]:
    return [_times_inverse(grad, op.inputs[0])]


def _solve_dims(matrix: Tensor, rhs: Tensor, broadcasts: bool) -> Dims:
    dims = square_dims(matrix, "matrix")
    if rhs.dims is not None and len(rhs.dims) < 2:
        raise ValueError(
            f"rhs must have at least 2 axes, got shape {list_dims(rhs.dims)}\n"
            "tf.expand_dims(rhs, -1) makes a column of a vector."
        )
    if dims is None or rhs.dims is None:
        known = dims or rhs.dims
        if broadcasts or known is None:
            return None
        return (*known[:-1], None if rhs.dims is None else rhs.dims[-1])
    if dims[-1] is not None and rhs.dims[-2] is not None and dims[-1] != rhs.dims[-2]:
        raise ValueError(
            f"matrix {list_dims(dims)} and rhs {list_dims(rhs.dims)} have different numbers of rows"
        )
    try:
        combine = broadcast if broadcasts else merge
        batch = combine(dims[:-2], rhs.dims[:-2])
    except (BroadcastError, ValueError) as e:
        raise ValueError(
            f"the stacks do not fit: {list_dims(dims[:-2])} and {list_dims(rhs.dims[:-2])}"
        ) from e
    rows = rhs.dims[-2] if dims[-1] is None else dims[-1]
    return None if batch is None else (*batch, rows, rhs.dims[-1])


@define_op("MatrixSolve", "matrix: T, rhs: T -> output: T", T=INEXACT, cost=cubic(0.7))
def matrix_solve(matrix: Tensor, rhs: Tensor, *, adjoint: bool = False) -> Dims:
    """x with ``matrix @ x = rhs`` (or ``matrix^H @ x = rhs``).

    Shape: [..., n, n] and [..., n, k] give [..., n, k]. A singular matrix is an
    `InvalidArgumentError`. Gradient: a solve with the adjoint to rhs; ``-that @ x^H`` to matrix.
    """
    return _solve_dims(matrix, rhs, False)


def _solve_gradients(op: Operation, grad_rhs: Any) -> Any:
    x = op.outputs[0]
    if op.attrs["adjoint"]:
        return -matmul(x, grad_rhs, adjoint_b=True)
    return -matmul(grad_rhs, x, adjoint_b=True)


@matrix_solve.gradient
def matrix_solve_gradient(op: Operation, grad: Tensor) -> list[Any]:
    grad_rhs = matrix_solve(op.inputs[0], grad, adjoint=not op.attrs["adjoint"])
    return [_solve_gradients(op, grad_rhs), grad_rhs]


@define_op("MatrixTriangularSolve", "matrix: T, rhs: T -> output: T", T=INEXACT, cost=cubic(0.5))
def matrix_triangular_solve_op(
    matrix: Tensor, rhs: Tensor, *, lower: bool = True, adjoint: bool = False
) -> Dims:
    """x with ``matrix @ x = rhs``, of which only one triangle is read.

    Shape: [..., n, n] and [..., n, k] give [..., n, k]; stacks broadcast.
    Gradient: as MatrixSolve's, within the triangle.
    """
    return _solve_dims(matrix, rhs, True)


@matrix_triangular_solve_op.gradient
def matrix_triangular_solve_gradient(op: Any, grad: Any) -> list[Any]:
    matrix, rhs = op.inputs
    lower, flipped = op.attrs["lower"], op.attrs["adjoint"]
    grad_rhs = matrix_triangular_solve_op(matrix, grad, lower=lower, adjoint=not flipped)
    grad_matrix = _solve_gradients(op, grad_rhs)
    grad_matrix = matrix_band_part(grad_matrix, -1 if lower else 0, 0 if lower else -1)
    known = matrix.dims is not None and rhs.dims is not None
    if known and matrix.dims[:-2] == rhs.dims[:-2] and None not in matrix.dims[:-2]:
        return [grad_matrix, grad_rhs]
    shapes = [array_ops.shape(matrix), array_ops.shape(rhs)]
    axes = array_ops.broadcast_gradient_args_op(shapes[0][:-2], shapes[1][:-2])
    return [
        array_ops.reshape(sum_op(g, r), s)
        for g, r, s in zip((grad_matrix, grad_rhs), axes, shapes, strict=True)
    ]


matrix_determinant = matrix_determinant_op
slogdet = log_matrix_determinant_op


def matrix_triangular_solve(
    matrix: TensorLike,
    rhs: TensorLike,
    lower: bool = True,
    adjoint: bool = False,
    name: str | None = None,
) -> Tensor:
    """x with ``matrix @ x = rhs`` for a lower (or upper) triangle."""
    with default_graph().name_scope(name or "triangular_solve"):
        return matrix_triangular_solve_op(matrix, rhs, lower=lower, adjoint=adjoint)  # type: ignore[no-any-return]


def cholesky_solve(chol: Any, rhs: TensorLike, name: str | None = None) -> Tensor:
    """x with ``A @ x = rhs``, from the Cholesky factor of A."""
    with default_graph().name_scope(name or "cholesky_solve"):
        first = matrix_triangular_solve_op(chol, rhs)
        return matrix_triangular_solve_op(chol, first, adjoint=True)  # type: ignore[no-any-return]


def matrix_solve_ls(
    matrix: Any,
    rhs: Any,
    l2_regularizer: Any = 0.0,
    fast: bool = True,
    name: str | None = None,
) -> Tensor:
    """The x that makes ``matrix @ x - rhs`` smallest (least squares), or the smallest such x.

    ``fast`` solves the normal equations, with ``l2_regularizer`` times x's squared length added
    to what is made small; otherwise a QR decomposition is used, without a regularizer.
    """
    with default_graph().name_scope(name or "matrix_solve_ls"):
        matrix = convert_to_tensor(matrix, name="matrix")
        rhs = convert_to_tensor(rhs, matrix.dtype.base_dtype, name="rhs")
        if matrix.dims is not None and None not in matrix.dims[-2:]:
            rows, columns = matrix.dims[-2:]
            return _least_squares(matrix, rhs, l2_regularizer, fast, rows >= columns)
        from dataflow.ops.comparison import greater_equal
        from dataflow.ops.conditionals import cond

        sizes = array_ops.shape(matrix)
        return cond(  # type: ignore[no-any-return]
            greater_equal(sizes[-2], sizes[-1]),
            lambda: _least_squares(matrix, rhs, l2_regularizer, fast, True),
            lambda: _least_squares(matrix, rhs, l2_regularizer, fast, False),
        )


def _least_squares(
    matrix: Tensor, rhs: Tensor, l2_regularizer: Any, fast: bool, tall: bool
) -> Tensor:
    """`matrix_solve_ls` for a matrix with at least as many rows as columns, or at most as many."""
    if not fast:
        if tall:
            q, r = qr(matrix)
            return matrix_triangular_solve(r, matmul(q, rhs, adjoint_a=True), lower=False)
        q, r = qr(adjoint_of(matrix))
        return matmul(q, matrix_triangular_solve(r, rhs, lower=False, adjoint=True))
    gram = matmul(matrix, matrix, adjoint_a=tall, adjoint_b=not tall)
    if isinstance(l2_regularizer, Tensor) or l2_regularizer != 0:
        if not isinstance(l2_regularizer, Tensor):
            l2_regularizer = convert_to_tensor(l2_regularizer, matrix.dtype.real_dtype)
        dims = matrix.dims
        size: Any = None if dims is None else dims[-1 if tall else -2]
        if size is None:
            size = array_ops.shape(matrix)[-1 if tall else -2]
        identity = eye(size, batch_shape=stack_shape(matrix), dtype=matrix.dtype)
        gram = gram + cast(l2_regularizer, matrix.dtype.base_dtype) * identity
    factor = cholesky(gram)
    if tall:
        return cholesky_solve(factor, matmul(matrix, rhs, adjoint_a=True))
    return matmul(matrix, cholesky_solve(factor, rhs), adjoint_a=True)


def logdet(matrix: TensorLike, name: str | None = None) -> Tensor:
    """The logarithm of the determinant of a positive definite matrix, by Cholesky."""
    from dataflow.ops.complex_numbers import real
    from dataflow.ops.elementary import log

    with default_graph().name_scope(name or "logdet"):
        factor = cholesky(matrix)
        return 2.0 * reduce_sum(log(real(matrix_diag_part(factor))), axis=[-1])  # type: ignore[no-any-return]


def largest_side(matrix: Tensor) -> Any:
    """The larger of the last two sizes: a number, or a scalar of the real dtype where unknown."""
    known = [d for d in (matrix.dims or ())[-2:] if d is not None]
    if len(known) == 2:
        return max(known)
    from dataflow.ops.reduce import reduce_max

    return cast(reduce_max(array_ops.shape(matrix)[-2:]), matrix.dtype.real_dtype)


def pinv(
    a: TensorLike, rcond: Any = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The pseudo-inverse of Moore and Penrose, from the singular values above ``rcond * largest``."""
    import numpy as np

    from dataflow.ops.comparison import greater
    from dataflow.ops.decompositions import svd
    from dataflow.ops.reduce import reduce_max

    with default_graph().name_scope(name or "pinv"):
        a = convert_to_tensor(a, name="a")
        if rcond is None:
            rcond = 10.0 * largest_side(a) * float(np.finfo(a.dtype.as_numpy_dtype).eps)
        s, u, v = svd(a)
        kept = greater(s, rcond * reduce_max(s, axis=-1, keepdims=True))
        safe = array_ops.where(kept, s, array_ops.ones_like(s))
        inverse = array_ops.where(kept, 1.0 / safe, array_ops.zeros_like(s))
        return matmul(v * array_ops.expand_dims(inverse, -2), u, adjoint_b=True)
