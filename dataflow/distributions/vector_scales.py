"""Scales of vectors: diagonal and triangular matrices, and what distributions need of them."""

from __future__ import annotations

from typing import Any

from dataflow.distributions.distribution import Distribution
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.broadcast_shapes import common_shape_tensor
from dataflow.ops.math import abs_, log, reduce_sum
from dataflow.ops.matrix_diag import matrix_band_part, matrix_diag, matrix_diag_part
from dataflow.ops.solvers import matrix_triangular_solve


class DiagonalScale:
    """A diagonal matrix ``[..., k, k]`` kept as its diagonal ``[..., k]``."""

    def __init__(self, diagonal: Any) -> None:
        self._diagonal = diagonal
        self.vector_shape = diagonal.get_shape()

    def vector_shape_tensor(self) -> Any:
        """The shape of the diagonals, an int32 vector."""
        return array.shape(self._diagonal)

    def diag_part(self) -> Any:
        """The diagonal: ``[..., k]``."""
        return self._diagonal

    def matvec(self, x: Any) -> Any:
        """The matrix times vectors ``[..., k]``."""
        return self._diagonal * x

    def solvevec(self, x: Any) -> Any:
        """Its inverse times vectors ``[..., k]``."""
        return x / self._diagonal

    def log_abs_determinant(self) -> Any:
        """``log |det|``: ``[...]``."""
        return reduce_sum(log(abs_(self._diagonal)), -1)

    def to_dense(self) -> Any:
        """The whole matrix: ``[..., k, k]``."""
        return matrix_diag(self._diagonal)


class TriangularScale(DiagonalScale):
    """A lower triangular matrix ``[..., k, k]``; what is above its diagonal does not count."""

    def __init__(self, matrix: TensorLike) -> None:
        self._matrix = matrix_band_part(matrix, -1, 0)
        super().__init__(matrix_diag_part(self._matrix))

    def matvec(self, x: Any) -> Any:
        return reduce_sum(self._matrix * x[..., None, :], -1)

    def solvevec(self, x: Any) -> Any:
        rank, own = x.get_shape().ndims, self._matrix.get_shape().ndims
        if own == 2 and rank is not None:  # One matrix for all the vectors: one system.
            size = array.shape(self._matrix)[-1]
            columns = array.transpose(array.reshape(x, array.stack([-1, size])))
            solved = array.transpose(matrix_triangular_solve(self._matrix, columns))
            return array.reshape(solved, array.shape(x))
        batch = common_shape_tensor([array.shape(x)[:-1], array.shape(self._matrix)[:-2]])
        x = array.broadcast_to(x, array.concat([batch, array.shape(x)[-1:]], 0))
        whole = array.concat([batch, array.shape(self._matrix)[-2:]], 0)
        matrix = array.broadcast_to(self._matrix, whole)
        return array.squeeze(matrix_triangular_solve(matrix, x[..., None]), [-1])

    def to_dense(self) -> Any:
        return self._matrix


def vector_size(distribution: Distribution) -> Any:
    """The number of elements of an event, as a float."""
    from dataflow.ops.casts import cast

    return cast(distribution.event_shape_tensor()[0], distribution.dtype)


def diagonal_scale(loc: TensorLike | None, scale_diag: Any, multiplier: Any) -> DiagonalScale:
    """The scale of `MultivariateNormalDiag`: a diagonal, a multiple of the identity, or both."""
    if scale_diag is not None:
        diagonal = convert_to_tensor(scale_diag, name="scale_diag")
        if diagonal.get_shape().ndims == 0:
            raise ValueError(
                "scale_diag needs at least 1 dimension, that of the vectors' elements; got a number. For "
                "one number instead of vectors use the distribution of numbers: Normal, Laplace, ..."
            )
        if multiplier is not None:
            diagonal = diagonal + convert_to_tensor(multiplier, diagonal.dtype)[..., None]
        return DiagonalScale(diagonal)
    if loc is None:
        raise ValueError(
            "Cannot tell the size of a vector: give loc ([..., k]) or scale_diag ([..., k])."
        )
    loc = convert_to_tensor(loc, name="loc")
    ones = array.ones(array.shape(loc)[-1:], loc.dtype.base_dtype)
    if multiplier is None:
        return DiagonalScale(ones)
    return DiagonalScale(ones * convert_to_tensor(multiplier, loc.dtype)[..., None])
