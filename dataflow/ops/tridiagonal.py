"""Products and systems of equations with tridiagonal matrices, of which only the band is stored."""

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
from dataflow.ops.decompositions import INEXACT
from dataflow.ops.matrix_diag import matrix_diag_part, matrix_transpose
from dataflow.ops.reduce import reduce_sum
from dataflow.shapes import Dims, list_dims, merge


def _product_dims(rhs: Tensor, *bands: Tensor, rows: int) -> Dims:
    dims = rhs.dims
    for band in bands:
        if band.dims is None or dims is None:
            continue
        if len(dims) < 2 or len(band.dims) != len(dims):
            raise ValueError(
                f"rhs {list_dims(dims)} must be a matrix (or a stack), and of the rank of the "
                f"diagonals, which is {len(band.dims)}"
            )
        if band.dims[-2] not in (None, rows):
            raise ValueError(f"the diagonals must be [..., {rows}, m], got {list_dims(band.dims)}")
        merge((*dims[:-2], dims[-2]), (*band.dims[:-2], band.dims[-1]))
    return dims


@define_op(
    "TridiagonalMatMul", "superdiag: T, maindiag: T, subdiag: T, rhs: T -> output: T", T=INEXACT
)
def tridiagonal_mat_mul_op(
    superdiag: Tensor, maindiag: Tensor, subdiag: Tensor, rhs: Tensor
) -> Dims:
    """The product of tridiagonal matrices with ``rhs``.

    Shape: diagonals [..., 1, m] and rhs [..., m, n] give [..., m, n]. The last element of superdiag
    and the first of subdiag are not read. Gradient: the product with the adjoint to rhs.
    """
    return _product_dims(rhs, superdiag, maindiag, subdiag, rows=1)


def _shifted(x: Any, by: int) -> Any:
    """Row i of the result is row i + by of x [..., m, n], or zeros where x has none."""
    edge = array_ops.zeros_like(x[..., :1, :])
    if by > 0:
        return array_ops.concat([x[..., 1:, :], edge], -2)
    return array_ops.concat([edge, x[..., :-1, :]], -2)


@tridiagonal_mat_mul_op.gradient
def tridiagonal_mat_mul_gradient(op: Operation, grad: Tensor) -> list[Any]:
    above, middle, below, rhs = (conj_if_complex(x) for x in op.inputs)

    def band(rows: Any) -> Any:
        return array_ops.expand_dims(reduce_sum(rows * grad, -1), -2)

    above, middle, below = (array_ops.expand_dims(x[..., 0, :], -1) for x in (above, middle, below))
    to_rhs = middle * grad + _shifted(above * grad, -1) + _shifted(below * grad, 1)
    return [band(_shifted(rhs, 1)), band(rhs), band(_shifted(rhs, -1)), to_rhs]


@define_op("TridiagonalSolve", "diagonals: T, rhs: T -> output: T", T=INEXACT)
def tridiagonal_solve_op(diagonals: Tensor, rhs: Tensor, *, partial_pivoting: bool = True) -> Dims:
    """x with ``matrix @ x = rhs`` for tridiagonal matrices.

    Shape: diagonals [..., 3, m] (above, main, below) and rhs [..., m, n] give [..., m, n]. The last
    element of the first diagonal and the first of the third are not read. A singular matrix gives NaN.
    Gradient: as MatrixSolve's, within the band.
    """
    return _product_dims(rhs, diagonals, rows=3)


def _of_transpose(diagonals: Any) -> Any:
    """The diagonals of the adjoint matrix."""
    above, middle, below = (conj_if_complex(diagonals[..., i : i + 1, :]) for i in range(3))
    edge = array_ops.zeros_like(above[..., :1])
    upper = array_ops.concat([below[..., 1:], edge], -1)
    lower = array_ops.concat([edge, above[..., :-1]], -1)
    return array_ops.concat([upper, middle, lower], -2)


@tridiagonal_solve_op.gradient
def tridiagonal_solve_gradient(op: Operation, grad: Tensor) -> list[Any]:
    pivoting = op.attrs["partial_pivoting"]
    to_rhs = tridiagonal_solve_op(_of_transpose(op.inputs[0]), grad, partial_pivoting=pivoting)
    x = conj_if_complex(op.outputs[0])
    bands = [reduce_sum(_shifted(x, 1) * to_rhs, -1), reduce_sum(x * to_rhs, -1)]
    bands.append(reduce_sum(_shifted(x, -1) * to_rhs, -1))
    return [-array_ops.stack(bands, -2), to_rhs]


def _bands(diagonals: Any, diagonals_format: str) -> list[Any]:
    """The diagonals above, on and below the main one, all of one length [..., m]."""
    if diagonals_format == "compact":
        whole = convert_to_tensor(diagonals, name="diagonals")
        return [whole[..., i, :] for i in range(3)]
    if diagonals_format == "matrix":
        whole = convert_to_tensor(diagonals, name="diagonals")
        if whole.dims is None or len(whole.dims) < 2 or whole.dims[-1] != whole.dims[-2]:
            raise ValueError(
                "diagonals of the format 'matrix' must be square matrices of a known size, got "
                f"shape {None if whole.dims is None else list_dims(whole.dims)}"
            )
        parts = [matrix_diag_part(whole, k=k) for k in (1, 0, -1)]
    elif diagonals_format == "sequence":
        if len(diagonals) != 3:
            raise ValueError(f"diagonals must be three tensors, got {len(diagonals)}")
        parts = [convert_to_tensor(x, name="diagonals") for x in diagonals]
    else:
        raise ValueError(
            f"diagonals_format must be 'matrix', 'sequence' or 'compact', got {diagonals_format!r}"
        )
    above, middle, below = parts
    same = [p.dims[-1] if p.dims is not None else None for p in parts]
    edge = array_ops.zeros_like(middle[..., :1])
    if same[0] is None or same[0] != same[1]:
        above = array_ops.concat([above, edge], -1)
    if same[2] is None or same[2] != same[1]:
        below = array_ops.concat([edge, below], -1)
    return [above, middle, below]


def tridiagonal_matmul(
    diagonals: Any, rhs: TensorLike, diagonals_format: str = "compact", name: str | None = None
) -> Tensor:
    """The product of tridiagonal matrices with ``rhs`` [..., m, n].

    ``diagonals_format`` says what ``diagonals`` is: "compact", one tensor [..., 3, m] of the diagonals
    above, on and below the main one; "sequence", three tensors; "matrix", a whole matrix.
    """
    with default_graph().name_scope(name or "tridiagonal_matmul"):
        bands = _bands(diagonals, diagonals_format)
        rhs = convert_to_tensor(rhs, bands[1].dtype.base_dtype, name="rhs")
        return tridiagonal_mat_mul_op(*(array_ops.expand_dims(b, -2) for b in bands), rhs)  # type: ignore[no-any-return]


def tridiagonal_solve(
    diagonals: Any,
    rhs: TensorLike,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
) -> Tensor:
    """x with ``matrix @ x = rhs`` for tridiagonal matrices; ``rhs`` is [..., m] or [..., m, n].

    ``diagonals_format``: see `tridiagonal_matmul`. ``transpose_rhs``: rhs is [..., n, m].
    ``partial_pivoting=False`` is for matrices whose main diagonal dominates.
    """
    with default_graph().name_scope(name or "tridiagonal_solve"):
        compact = array_ops.stack(_bands(diagonals, diagonals_format), -2)
        rhs = convert_to_tensor(rhs, compact.dtype.base_dtype, name="rhs")
        ranks = [None if x.dims is None else len(x.dims) for x in (rhs, compact)]
        is_vector = None not in ranks and ranks[0] == ranks[1] - 1  # type: ignore[operator]
        if is_vector:
            rhs = array_ops.expand_dims(rhs, -1)
        elif transpose_rhs:
            rhs = matrix_transpose(rhs)
        if conjugate_rhs:
            rhs = conj_if_complex(rhs)
        found = tridiagonal_solve_op(compact, rhs, partial_pivoting=partial_pivoting)
        return array_ops.squeeze(found, [-1]) if is_vector else found
