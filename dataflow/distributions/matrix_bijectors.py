"""Bijectors of triangular matrices, and functions that make such matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.distributions.affine_bijectors import AffineScalar
from dataflow.distributions.bijector import Bijector, checked
from dataflow.distributions.composed_bijectors import Chain
from dataflow.distributions.elementary_bijectors import Softplus
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.linear_operators import broadcasting
from dataflow.ops import array
from dataflow.ops.assertions import assert_equal, assert_none_equal, assert_positive
from dataflow.ops.casts import cast
from dataflow.ops.decompositions import cholesky
from dataflow.ops.math import abs_, log, matmul, reduce_sum, sqrt
from dataflow.ops.matrix_diag import (
    eye,
    matrix_band_part,
    matrix_diag,
    matrix_diag_part,
    matrix_set_diag,
)
from dataflow.ops.shape_assertions import assert_rank_at_least
from dataflow.ops.solvers import matrix_triangular_solve
from dataflow.shapes import TensorShape


def fill_triangular(x: TensorLike, upper: bool = False, name: str | None = None) -> Any:
    """The last axis of ``x``, of n (n + 1) / 2 numbers, as a lower (or upper) triangular matrix [n, n].

    The matrix is filled like a spiral: [4, 0, 0], [6, 5, 0], [3, 2, 1] for 1 to 6. Raises `ValueError`
    for another size.
    """
    x = convert_to_tensor(x, name="x")
    size = broadcasting.size_of(x, -1)
    if isinstance(size, int):
        n: Any = int(np.sqrt(0.25 + 2.0 * size) - 0.5)
        if n * (n + 1) // 2 != size:
            raise ValueError(
                f"Input right-most shape ({size}) does not correspond to a triangular matrix; "
                "it must be n (n + 1) / 2."
            )
    else:
        n = cast(sqrt(0.25 + cast(2 * size, dtypes.float32)), dtypes.int32)
    end = x[..., n:]
    parts = [x, array.reverse(end, [-1])] if upper else [end, array.reverse(x, [-1])]
    shape = array.concat([array.shape(x)[:-1], [n, n]], 0)
    square = array.reshape(array.concat(parts, -1), shape)
    square.set_shape(x.get_shape()[:-1].concatenate([n, n] if isinstance(n, int) else [None, None]))
    return matrix_band_part(square, 0 if upper else -1, -1 if upper else 0, name=name)


def fill_triangular_inverse(x: TensorLike, upper: bool = False, name: str | None = None) -> Any:
    """The numbers [..., n (n + 1) / 2] that `fill_triangular` makes the matrix [..., n, n] of."""
    x = convert_to_tensor(x, name="x")
    n = broadcasting.size_of(x, -1)
    first, rest = (x[..., 0, :], x[..., 1:, :]) if upper else (x[..., -1, :], x[..., :-1, :])
    if not upper:
        first = array.reverse(first, [-1])
    both = rest + array.reverse(rest, [-2, -1])
    tail = array.reshape(both, array.concat([array.shape(x)[:-2], [n * (n - 1)]], 0))
    found = array.concat(
        [first, tail[..., : n * (n - 1) // 2]], -1, name=name or "fill_triangular_inverse"
    )
    size = n * (n + 1) // 2 if isinstance(n, int) else None
    found.set_shape(x.get_shape()[:-2].concatenate([size]))
    return found


def tridiag(
    below: TensorLike | None = None,
    diag: TensorLike | None = None,
    above: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """The matrix [..., n, n] with these diagonals: [..., n], and [..., n - 1] beside it.

    Raises `ValueError` where none is given.
    """

    def padded(x: TensorLike) -> Any:
        x = convert_to_tensor(x)
        zeros = array.zeros_like(x[..., :1])
        return matrix_diag(array.concat([zeros, x, zeros], -1))

    parts = []
    if below is not None:
        parts.append(padded(below)[..., :-1, 1:])
    if diag is not None:
        parts.append(matrix_diag(convert_to_tensor(diag)))
    if above is not None:
        parts.append(padded(above)[..., 1:, :-1])
    if not parts:
        raise ValueError("tridiag: give at least one of `below`, `diag` and `above`.")
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return array.identity(total, name=name)


def matrix_diag_transform(
    matrix: TensorLike, transform: Callable[[Any], Any] | None = None, name: str | None = None
) -> Any:
    """The matrices with ``transform`` applied to their diagonals."""
    matrix = convert_to_tensor(matrix, name="matrix")
    if transform is None:
        return matrix
    return matrix_set_diag(
        matrix, transform(matrix_diag_part(matrix)), name=name or "matrix_diag_transform"
    )


def _last(shape: TensorShape) -> int:
    size = shape.as_list()[-1] if shape.ndims else None
    if size is None:
        raise ValueError(f"the last axis must be known when the graph is built, got {shape}.")
    return size


class FillTriangular(Bijector):
    """`fill_triangular`: vectors become lower (or upper) triangular matrices."""

    def __init__(
        self, upper: bool = False, validate_args: bool = False, name: str = "fill_triangular"
    ) -> None:
        super().__init__(
            forward_min_event_ndims=1,
            inverse_min_event_ndims=2,
            validate_args=validate_args,
            name=name,
        )
        self._upper = upper

    def _forward(self, x: TensorLike) -> Any:
        return fill_triangular(x, self._upper)

    def _inverse(self, y: TensorLike) -> Any:
        return fill_triangular_inverse(y, self._upper)

    def _log_det(self, x: Any, y: Any) -> Any:
        return array.zeros_like(x[..., 0] if y is None else y[..., 0, 0])

    def _forward_event_shape(self, shape: TensorShape) -> TensorShape:
        if shape.ndims is None:
            return shape
        last = shape.as_list()[-1]
        n = None if last is None else _side(last)
        return TensorShape([*shape.as_list()[:-1], n, n])

    def _inverse_event_shape(self, shape: TensorShape) -> TensorShape:
        if shape.ndims is None:
            return shape
        *batch, rows, columns = shape.as_list()
        if rows is None or columns is None:
            return TensorShape([*batch, None])
        if rows != columns:
            raise ValueError(f"Matrix must be square. (saw [{rows}, {columns}])")
        return TensorShape([*batch, rows * (rows + 1) // 2])

    def _forward_event_shape_tensor(self, shape: Tensor) -> Any:
        side = (sqrt(1.0 + 8.0 * cast(shape[-1:], dtypes.float32)) - 1.0) / 2.0
        whole = cast(cast(side, dtypes.int32), dtypes.float32)
        text = "Vector length is not a triangular number"
        side = checked(side, self._validate_args, lambda: assert_equal(whole, side, message=text))
        n = cast(side, shape.dtype)
        return array.concat([shape[:-1], n, n], 0)

    def _inverse_event_shape_tensor(self, shape: Tensor) -> Any:
        n = checked(
            shape[-1:],
            self._validate_args,
            lambda: assert_equal(shape[-1], shape[-2], message="Matrix must be square."),
        )
        return array.concat([shape[:-2], n * (n + 1) // 2], 0)


def _side(size: int) -> int:
    """The n for which n (n + 1) / 2 is the given number; raises `ValueError` if there is none."""
    n = int(np.sqrt(0.25 + 2.0 * size) - 0.5)
    if n * (n + 1) // 2 != size:
        raise ValueError(f"Vector length is not a triangular number: {size}.")
    return n


class _OfMatrices(Bijector):
    def __init__(self, validate_args: bool = False, name: str | None = None) -> None:
        super().__init__(forward_min_event_ndims=2, validate_args=validate_args, name=name)

    def _square(self, x: Any, *checks: Callable[[], Any]) -> Any:
        """``x``, checked to be square matrices and to pass ``checks``."""
        shape = array.shape(x)
        rank, square = (
            "Input must have rank at least 2.",
            "Input must be (batches of) square matrices.",
        )
        return checked(
            x,
            self._validate_args,
            lambda: assert_rank_at_least(x, 2, message=rank),
            lambda: assert_equal(shape[-2], shape[-1], message=square),
            *checks,
        )


class CholeskyOuterProduct(_OfMatrices):
    """``y = x x^T`` for lower triangular x with a positive diagonal."""

    def __init__(self, validate_args: bool = False, name: str = "cholesky_outer_product") -> None:
        super().__init__(validate_args, name)

    def _forward(self, x: TensorLike) -> Any:
        x = matrix_band_part(self._square(x), -1, 0)
        return matmul(x, x, adjoint_b=True)

    def _inverse(self, y: TensorLike) -> Any:
        return cholesky(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        diagonal = matrix_diag_part(x)
        positive = "Diagonal must be positive"
        return self._log_det_of(
            self._square(x, lambda: assert_positive(diagonal, message=positive))
        )

    def _log_det_of(self, x: Any) -> Any:
        diagonal = matrix_diag_part(x)
        size = broadcasting.size_of(diagonal, -1)
        counts = cast(array.range_(size, 0, -1), x.dtype.base_dtype)
        found = cast(size, x.dtype.base_dtype) * np.log(2.0) + reduce_sum(
            log(diagonal) * counts, -1
        )
        if x.get_shape().ndims is not None:
            found.set_shape(x.get_shape()[:-2])
        return found


class MatrixInverseTriL(_OfMatrices):
    """The inverse of a lower triangular matrix."""

    def __init__(self, validate_args: bool = False, name: str = "matrix_inverse_tril") -> None:
        super().__init__(validate_args, name)

    def _invertible(self, x: Any) -> Any:
        if not self._validate_args:
            return x
        diagonal = matrix_diag_part(x)
        zeros = array.zeros_like(diagonal)
        above = matrix_band_part(matrix_set_diag(x, zeros), 0, -1)
        lower = "Input must be lower triangular."
        nonzero = "Input must have all diagonal entries nonzero."
        return self._square(
            x,
            lambda: assert_equal(above, array.zeros_like(above), message=lower),
            lambda: assert_none_equal(diagonal, zeros, message=nonzero),
        )

    def _forward(self, x: Any) -> Any:
        x = self._invertible(x)
        shape = array.shape(x)
        identity = eye(shape[-1], batch_shape=shape[:-2], dtype=x.dtype)
        return matrix_triangular_solve(x, identity, lower=True)

    def _inverse(self, y: TensorLike) -> Any:
        return self._forward(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        x = self._invertible(x)
        size = cast(array.shape(x)[-1], x.dtype)
        return -2.0 * size * reduce_sum(log(abs_(matrix_diag_part(x))), -1)


class TransformDiagonal(_OfMatrices):
    """Another bijector, applied to the diagonals of matrices."""

    def __init__(
        self,
        diag_bijector: Bijector,
        validate_args: bool = False,
        name: str = "transform_diagonal",
    ) -> None:
        super().__init__(validate_args, name)
        self._diag_bijector = diag_bijector

    def _forward(self, x: TensorLike) -> Any:
        return matrix_set_diag(x, self._diag_bijector.forward(matrix_diag_part(x)))

    def _inverse(self, y: TensorLike) -> Any:
        return matrix_set_diag(y, self._diag_bijector.inverse(matrix_diag_part(y)))

    def _log_det(self, x: Any, y: Any) -> Any:
        if x is not None:
            return self._diag_bijector.forward_log_det_jacobian(matrix_diag_part(x), 1)
        return -self._diag_bijector.inverse_log_det_jacobian(matrix_diag_part(y), 1)


class ScaleTriL(Chain):
    """Vectors become lower triangular matrices with a positive diagonal.

    The diagonal goes through ``diag_bijector`` (`Softplus`), then ``diag_shift`` is added.
    """

    def __init__(
        self,
        diag_bijector: Bijector | None = None,
        diag_shift: float | None = 1e-5,
        validate_args: bool = False,
        name: str = "scale_tril",
    ) -> None:
        diagonal: Bijector = diag_bijector or Softplus(validate_args=validate_args)
        if diag_shift is not None:
            diagonal = Chain([AffineScalar(shift=diag_shift), diagonal])
        super().__init__(
            [TransformDiagonal(diagonal), FillTriangular()], validate_args=validate_args, name=name
        )
