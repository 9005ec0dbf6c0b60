"""Shapes of stacks of matrices that broadcast with each other."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.matmul import matmul
from dataflow.ops.matrix_diag import adjoint
from dataflow.ops.solvers import cholesky_solve, matrix_solve, matrix_triangular_solve
from dataflow.shapes import TensorShape, broadcast_static_shape


def as_shape_tensor(static: TensorShape) -> Tensor:
    """A shape that is known when the graph is built, as an int32 vector."""
    return convert_to_tensor(np.array(static.as_list(), np.int32))


def size_of(tensor: Any, axis: int) -> Any:
    """The size of an axis: a number where it is known, else an int32 scalar."""
    known = None if tensor.dims is None else tensor.dims[axis]
    return array.shape(tensor)[axis] if known is None else known


def known_size(tensor: Any, axis: int) -> int | None:
    """The size of an axis, or None where the graph does not tell it."""
    return None if tensor.dims is None else tensor.dims[axis]


def with_batch(matrix: Any, batch: Any, static: TensorShape | None = None) -> Any:
    """``matrix`` [..., m, n] broadcast to ``batch + [m, n]``; ``batch`` is a shape or an int32 vector."""
    if isinstance(batch, TensorShape) and batch.is_fully_defined():
        static = batch
    if static is not None and static.is_fully_defined():
        if matrix.get_shape().ndims is not None and matrix.get_shape()[:-2] == static:
            return matrix
        batch = as_shape_tensor(static)
    target = array.concat([batch, array.shape(matrix)[-2:]], 0)
    found = array.broadcast_to(matrix, target)
    if static is not None:
        found.set_shape(static.concatenate(matrix.get_shape()[-2:]))
    return found


def same_batch(*matrices: Any) -> list[Any]:
    """The matrices with the batch that theirs broadcast to."""
    static = functools.reduce(
        broadcast_static_shape, [matrix.get_shape()[:-2] for matrix in matrices]
    )
    if static.is_fully_defined():
        return [with_batch(matrix, static) for matrix in matrices]
    batch = functools.reduce(
        array.broadcast_dynamic_shape, [array.shape(matrix)[:-2] for matrix in matrices]
    )
    return [with_batch(matrix, batch, static) for matrix in matrices]


def solve_matrix(matrix: TensorLike, rhs: TensorLike, flipped: bool) -> Any:
    """x with ``matrix @ x = rhs``, or with its adjoint where ``flipped``."""
    return matrix_solve(*same_batch(matrix, rhs), adjoint=flipped)


def solve_triangle(matrix: TensorLike, rhs: TensorLike, flipped: bool) -> Any:
    """`solve_matrix` of a lower triangle."""
    return matrix_triangular_solve(matrix, rhs, lower=True, adjoint=flipped)


def solve_factored(factor: Any, rhs: TensorLike) -> Any:
    """`solve_matrix` from the Cholesky factor."""
    return cholesky_solve(factor, rhs)


def product(a: TensorLike, b: TensorLike, adjoint_a: bool = False, adjoint_b: bool = False) -> Any:
    """``a @ b`` of stacks that broadcast."""
    return matmul(a, b, adjoint_a=adjoint_a, adjoint_b=adjoint_b)


def flipped_if(x: TensorLike, flipped: bool) -> Any:
    """``x``, or its adjoint."""
    return adjoint(x) if flipped else x
