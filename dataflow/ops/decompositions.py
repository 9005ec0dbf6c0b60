"""Decompositions of matrices: Cholesky, QR, singular values, eigenvalues."""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import COMPLEX, FLOATING
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.arithmetic import div_no_nan_op
from dataflow.ops.costs import cubic
from dataflow.ops.matmul import matmul
from dataflow.ops.matrix_diag import (
    adjoint,
    eye,
    matrix_band_part,
    matrix_diag,
    matrix_diag_part,
    matrix_set_diag,
)
from dataflow.shapes import Dims, list_dims, smaller_size

INEXACT = FLOATING | COMPLEX


def square_dims(x: Tensor, name: str = "input") -> Dims:
    """Dims of a square matrix or a stack of them; raises `ValueError` for anything else."""
    if x.dims is None:
        return None
    if len(x.dims) < 2:
        raise ValueError(f"{name} must be a matrix (or a stack), got shape {list_dims(x.dims)}")
    rows, columns = x.dims[-2:]
    if rows is not None and columns is not None and rows != columns:
        raise ValueError(
            f"{name} must be square, got {list_dims(x.dims)}\n"
            "tf.matrix_solve_ls solves systems with other shapes."
        )
    size = columns if rows is None else rows
    return (*x.dims[:-2], size, size)


def _matrix_dims(x: Tensor) -> Dims:
    if x.dims is not None and len(x.dims) < 2:
        raise ValueError(f"input must be a matrix (or a stack), got shape {list_dims(x.dims)}")
    return x.dims


def stack_shape(x: Any) -> Any:
    """The shape of x without its last two axes: a list where known, else a tensor."""
    if x.dims is not None and None not in x.dims[:-2]:
        return list(x.dims[:-2])
    return array_ops.shape(x)[:-2]


@define_op("Cholesky", "input: T -> output: T", T=INEXACT, cost=cubic(0.3))
def cholesky_op(input: Tensor) -> Dims:
    """The lower triangle L with ``L @ L^H = input``, of symmetric positive definite matrices.

    Shape: [..., n, n]; kept. Only the lower triangle is read. An input that is not positive
    definite is an `InvalidArgumentError`. Gradient: Murray (2016), symmetric.
    """
    return square_dims(input)


@cholesky_op.gradient
def cholesky_gradient(op: Operation, grad: Tensor) -> list[Any]:
    from dataflow.ops.solvers import matrix_triangular_solve

    lower = op.outputs[0]
    size = lower.dims[-1] if lower.dims is not None else None
    identity = eye(
        array_ops.shape(lower)[-1] if size is None else size,
        batch_shape=stack_shape(lower),
        dtype=lower.dtype,
    )
    inverse = matrix_triangular_solve(lower, identity)
    middle = matmul(lower, grad, adjoint_a=True)
    middle = matrix_set_diag(middle, 0.5 * matrix_diag_part(middle))
    middle = matrix_band_part(middle, -1, 0)
    result = matmul(matmul(inverse, middle, adjoint_a=True), inverse)
    return [(result + adjoint(result)) * 0.5]


@define_op("Qr", "input: T -> q: T, r: T", T=INEXACT, cost=cubic(4.0))
def qr(input: Tensor, *, full_matrices: bool = False) -> list[Dims]:
    """``input = q @ r`` with orthonormal columns in q and an upper triangle r.

    Shape: [..., m, n] gives q [..., m, k] and r [..., k, n], k = min(m, n) (m, when full).
    Gradient: of tall, square, and wide inputs; of full ones only when square.
    """
    dims = _matrix_dims(input)
    if dims is None:
        return [None, None]
    rows, columns = dims[-2:]
    inner = rows if full_matrices else smaller_size(rows, columns)
    return [(*dims[:-2], rows, inner), (*dims[:-2], inner, columns)]


def _solve_right(x: TensorLike, r: Any) -> Any:
    """``x @ r^-H`` for an upper triangle r."""
    from dataflow.ops.solvers import matrix_triangular_solve

    return adjoint(matrix_triangular_solve(r, adjoint(x), lower=False))


def _qr_gradient_tall(q: Any, r: Any, dq: Any, dr: Any) -> Any:
    qdq = matmul(q, dq, adjoint_a=True)
    rdr = matmul(r, dr, adjoint_b=True)
    tril = matrix_band_part((qdq - adjoint(qdq)) + (rdr - adjoint(rdr)), -1, 0)
    return matmul(q, dr + _solve_right(tril, r)) + _solve_right(dq - matmul(q, qdq), r)


@qr.gradient
def qr_gradient(op: Any, dq: Any, dr: Any) -> list[Any]:
    (a,) = op.inputs
    q, r = op.outputs
    if q.dtype.is_complex:
        raise NotImplementedError("the gradient of QR is for real matrices")
    if q.dims is None or r.dims is None or None in (*q.dims[-2:], *r.dims[-2:]):
        raise NotImplementedError("the gradient of QR needs a matrix size known at build time")
    rows, columns = q.dims[-2], r.dims[-1]
    if op.attrs["full_matrices"] and rows > columns:
        raise NotImplementedError("the gradient of QR with full matrices is for square inputs")
    if rows >= columns:
        return [_qr_gradient_tall(q, r, dq, dr)]
    # Wide: a = [x, y], r = [u, v]; x = q u is the square case and y = q v.
    y, u = a[..., :, rows:], r[..., :, :rows]
    dv, du = dr[..., :, rows:], dr[..., :, :rows]
    dx = _qr_gradient_tall(q, u, dq + matmul(y, dv, adjoint_b=True), du)
    return [array_ops.concat([dx, matmul(q, dv)], -1)]


@define_op("Svd", "input: T -> s: T, u: T, v: T", T=INEXACT, cost=cubic(20.0))
def svd_op(input: Tensor, *, compute_uv: bool = True, full_matrices: bool = False) -> list[Dims]:
    """``input = u @ diag(s) @ v^H``, the singular values s from the largest down.

    Shape: [..., m, n] gives s [..., k], u [..., m, k] and v [..., n, k], k = min(m, n); full
    matrices are square. Without ``compute_uv`` u and v are empty. Dtype: that of the input.
    Gradient: of real inputs with different singular values; not of full ones unless square.
    """
    dims = _matrix_dims(input)
    if dims is None:
        return [None, None, None]
    rows, columns = dims[-2:]
    batch, inner = dims[:-2], smaller_size(rows, columns)
    if not compute_uv:
        return [(*batch, inner), (0,), (0,)]
    return [
        (*batch, inner),
        (*batch, rows, rows if full_matrices else inner),
        (*batch, columns, columns if full_matrices else inner),
    ]


@svd_op.gradient
def svd_gradient(op: Any, ds: Any, du: Any, dv: Any) -> list[Any]:
    """Giles (2008), with F[i, j] = 1 / (s[j]**2 - s[i]**2)."""
    (a,) = op.inputs
    if a.dtype.is_complex:
        raise NotImplementedError("the gradient of SVD is for real matrices")
    if not op.attrs["compute_uv"]:
        _, u, v = svd_op(a)
        return [matmul(u, matmul(matrix_diag(ds), v, adjoint_b=True))]
    s, u, v = op.outputs
    if a.dims is None or None in a.dims[-2:]:
        raise NotImplementedError("the gradient of SVD needs a matrix size known at build time")
    rows, columns = a.dims[-2:]
    if op.attrs["full_matrices"] and rows != columns:
        raise NotImplementedError("the gradient of SVD with full matrices is for square inputs")
    squares = s * s
    gaps = array_ops.expand_dims(squares, -2) - array_ops.expand_dims(squares, -1)
    f = div_no_nan_op(array_ops.ones_like(gaps), gaps)
    s_matrix = matrix_diag(s)
    u_part = f * matmul(u, du, adjoint_a=True)
    v_part = f * matmul(v, dv, adjoint_a=True)
    middle = matrix_diag(ds)
    middle = middle + matmul(u_part + adjoint(u_part), s_matrix)
    middle = middle + matmul(s_matrix, v_part + adjoint(v_part))
    result = matmul(u, matmul(middle, v, adjoint_b=True))
    inverse = div_no_nan_op(array_ops.ones_like(s), s)
    if rows > columns:
        rest = du - matmul(u, matmul(u, du, adjoint_a=True))
        scaled = rest * array_ops.expand_dims(inverse, -2)
        result = result + matmul(scaled, v, adjoint_b=True)
    elif columns > rows:
        rest = dv - matmul(v, matmul(v, dv, adjoint_a=True))
        scaled = rest * array_ops.expand_dims(inverse, -2)
        result = result + matmul(u, scaled, adjoint_b=True)
    return [result]


def svd(
    tensor: TensorLike,
    full_matrices: bool = False,
    compute_uv: bool = True,
    name: str | None = None,
) -> Any:
    """``tensor = u @ diag(s) @ v^H``: a tuple (s, u, v), or s alone without ``compute_uv``."""
    from dataflow.ops.complex_numbers import real

    s, u, v = svd_op(tensor, compute_uv=compute_uv, full_matrices=full_matrices, name=name)
    return (real(s), u, v) if compute_uv else real(s)


@define_op("SelfAdjointEigV2", "input: T -> e: T, v: T", T=INEXACT, cost=cubic(10.0))
def self_adjoint_eig_op(input: Tensor, *, compute_v: bool = True) -> list[Dims]:
    """Eigenvalues e (from the smallest up) and eigenvectors v (columns) of symmetric matrices.

    Shape: [..., n, n] gives e [..., n] and v [..., n, n] (empty without ``compute_v``). Only the
    lower triangle is read. Gradient: to the lower triangle, of different eigenvalues.
    """
    dims = square_dims(input)
    if dims is None:
        return [None, None]
    return [dims[:-1], dims if compute_v else (0,)]


@self_adjoint_eig_op.gradient
def self_adjoint_eig_gradient(op: Operation, de: Any, dv: Any) -> list[Any]:
    e, v = op.outputs
    if op.attrs["compute_v"]:
        gaps = array_ops.expand_dims(e, -2) - array_ops.expand_dims(e, -1)
        f = div_no_nan_op(array_ops.ones_like(gaps), gaps)
        middle = matrix_diag(de) + f * matmul(v, dv, adjoint_a=True)
    else:
        _, v = self_adjoint_eig_op(op.inputs[0])
        middle = matrix_diag(de)
    result = matmul(v, matmul(middle, v, adjoint_b=True))
    lower = matrix_band_part(result + adjoint(result), -1, 0)
    return [matrix_set_diag(lower, 0.5 * matrix_diag_part(lower))]


def self_adjoint_eig(tensor: TensorLike, name: str | None = None) -> Any:
    """Eigenvalues and eigenvectors of symmetric matrices: a tuple (e, v)."""
    e, v = self_adjoint_eig_op(tensor, compute_v=True, name=name)
    return e, v


def self_adjoint_eigvals(tensor: TensorLike, name: str | None = None) -> Tensor:
    """The eigenvalues of symmetric matrices, from the smallest up."""
    e, _ = self_adjoint_eig_op(tensor, compute_v=False, name=name)
    return e  # type: ignore[no-any-return]


cholesky = cholesky_op
