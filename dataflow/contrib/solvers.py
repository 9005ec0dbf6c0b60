"""``tf.contrib.solvers``: iterative methods of linear algebra, for operators that are only applied.

An operator has ``shape``, ``dtype``, ``apply(x)`` and ``apply_adjoint(x)`` for columns ``x``. Sources: Golub and
Van Loan, "Matrix Computations", 10.3 (conjugate gradients) and 10.4 (bidiagonalization).
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

from dataflow import dtypes
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.namespaces import explain_absent
from dataflow.ops import array
from dataflow.ops.comparison import logical_and
from dataflow.ops.complex_numbers import conj
from dataflow.ops.conditionals import cond
from dataflow.ops.elementary import sqrt
from dataflow.ops.math import reduce_sum
from dataflow.ops.matmul import matmul
from dataflow.ops.matrix_diag import matrix_transpose
from dataflow.ops.norms import norm
from dataflow.ops.pad import pad
from dataflow.ops.random import random_uniform
from dataflow.ops.tensor_array import TensorArray
from dataflow.ops.while_loop import while_loop

__all__ = [
    "bidiag_matmul",
    "cgls",
    "conjugate_gradient",
    "create_operator",
    "dot",
    "identity_operator",
    "l2norm",
    "l2norm_squared",
    "l2normalize",
    "lanczos_bidiag",
]


class _Operator(NamedTuple):
    """A matrix, given by its products with columns."""

    shape: Any
    dtype: Any
    apply: Callable[[Any], Tensor]
    apply_adjoint: Callable[[Any], Tensor]


def _shape_of(matrix: Any) -> Any:
    shape = matrix.get_shape()
    return shape.as_list() if shape.is_fully_defined() else array.shape(matrix)


def create_operator(matrix: Any) -> _Operator:
    """The operator of a matrix [m, n]."""
    return _Operator(
        _shape_of(matrix),
        matrix.dtype,
        lambda v: matmul(matrix, v),
        lambda v: matmul(matrix, v, adjoint_a=True),
    )


def identity_operator(matrix: Any) -> _Operator:
    """The identity operator, with the shape and dtype of ``matrix``."""
    return _Operator(_shape_of(matrix), matrix.dtype, lambda v: v, lambda v: v)


def dot(x: Any, y: Any) -> Tensor:
    """The inner product of two columns, ``x`` conjugated."""
    return reduce_sum(conj(x) * y)


def l2norm_squared(v: Any) -> Tensor:
    """The sum of squares."""
    return reduce_sum(v * v)


def l2norm(v: Any) -> Tensor:
    """The root of the sum of squares."""
    return sqrt(l2norm_squared(v))  # type: ignore[no-any-return]


def l2normalize(v: Any) -> tuple[Tensor, Tensor]:
    """(``v`` divided by its norm, the norm)."""
    length = l2norm(v)
    return v / length, length


_State = namedtuple("_State", ["i", "x", "r", "p", "gamma"])


def _solution(state: Any) -> Any:
    """The state with vectors for columns."""
    return state._replace(
        x=array.squeeze(state.x), r=array.squeeze(state.r), p=array.squeeze(state.p)
    )


def _start(operator: Any, rhs: Any, x: Any) -> Any:
    """The initial column: ``x``, or zeros."""
    if x is not None:
        return array.expand_dims(x, -1)
    return array.expand_dims(array.zeros(operator.shape[1:], dtype=rhs.dtype.base_dtype), -1)


def conjugate_gradient(
    operator: Any,
    rhs: Any,
    preconditioner: Any = None,
    x: Any = None,
    tol: float = 1e-4,
    max_iter: int = 20,
    name: str = "conjugate_gradient",
) -> Any:
    """The solution of ``A x = rhs`` for a positive definite operator: a tuple (i, x, r, p, gamma).

    ``rhs`` [n]; ``x``: the initial guess, zeros by default. Stops after ``max_iter`` steps, or when the residual
    ``r`` has ``tol`` times the length of the first one. ``preconditioner``: an operator close to the inverse.
    """

    def conditioned(r: Any) -> Any:
        return r if preconditioner is None else preconditioner.apply(r)

    def step(i: Any, state: Any) -> Any:
        z = operator.apply(state.p)
        alpha = state.gamma / dot(state.p, z)
        r = state.r - alpha * z
        q = conditioned(r)
        gamma = dot(r, q)
        p = q + gamma / state.gamma * state.p
        return i + 1, _State(i + 1, state.x + alpha * state.p, r, p, gamma)

    with default_graph().name_scope(name):
        rhs = array.expand_dims(rhs, -1)
        first = _start(operator, rhs, x)
        r = rhs if x is None else rhs - operator.apply(first)
        p = conditioned(r)
        limit = tol * norm(r)
        zero = array.zeros([], dtypes.int32)
        state = _State(zero, first, r, p, dot(r, p))
        _, state = while_loop(
            lambda i, s: logical_and(i < max_iter, norm(s.r) > limit), step, [zero, state]
        )
        return _solution(state)


def cgls(operator: Any, rhs: Any, tol: float = 1e-6, max_iter: int = 20, name: str = "cgls") -> Any:
    """The x with the least ``|A x - rhs|``: a tuple (i, x, r, p, gamma).

    ``rhs`` [m] for an operator [m, n]. Stops after ``max_iter`` steps, or when the gradient has ``tol`` times the
    length of the first one.
    """

    def step(i: Any, state: Any) -> Any:
        q = operator.apply(state.p)
        alpha = state.gamma / l2norm_squared(q)
        r = state.r - alpha * q
        s = operator.apply_adjoint(r)
        gamma = l2norm_squared(s)
        p = s + gamma / state.gamma * state.p
        return i + 1, _State(i + 1, state.x + alpha * state.p, r, p, gamma)

    with default_graph().name_scope(name):
        rhs = array.expand_dims(rhs, -1)
        s = operator.apply_adjoint(rhs)
        gamma = l2norm_squared(s)
        limit = tol * tol * gamma
        zero = array.zeros([], dtypes.int32)
        state = _State(zero, _start(operator, rhs, None), rhs, s, gamma)
        _, state = while_loop(
            lambda i, s: logical_and(i < max_iter, s.gamma > limit), step, [zero, state]
        )
        return _solution(state)


_Bidiagonal = namedtuple("_Bidiagonal", ["u", "v", "alpha", "beta"])


def _orthogonal(columns: Any, number: Any, vector: Any) -> tuple[Any, Any]:
    """``vector`` normalized, without its parts along the first ``number`` of ``columns``."""

    def once() -> tuple[Any, Any]:
        def without(j: Any, rest: Any) -> Any:
            basis = array.expand_dims(columns.read(j), -1)
            left = rest - matmul(basis, rest, adjoint_a=True) * basis
            left.set_shape(rest.get_shape())
            return j + 1, left

        zero = array.zeros([], dtypes.int32)
        return l2normalize(while_loop(lambda j, _: j < number, without, [zero, vector])[1])

    found, length = once()
    # "Twice is enough": what is short was mostly cancelled, and keeps an error (Kahan; Parlett 1980, 6.9).
    return cond(length < 0.7071 * l2norm(vector), once, lambda: (found, length))  # type: ignore[no-any-return]


def lanczos_bidiag(
    operator: Any,
    k: int,
    orthogonalize: bool = True,
    starting_vector: Any = None,
    name: str = "lanczos_bidiag",
) -> Any:
    """A tuple (u, v, alpha, beta) with ``A v = u B`` after ``k`` steps.

    For an operator [m, n]: u [m, k + 1] and v [n, k] have orthonormal columns, B is lower bidiagonal with
    ``alpha`` [k] on its diagonal and ``beta`` [k] below. ``orthogonalize``: against all columns, not the last
    ones alone. ``starting_vector`` [m, 1]: random by default.
    """

    def written(numbers: Any, column: Any, at: Any) -> Any:
        return numbers.write(at, array.squeeze(column))

    def normalized(columns: Any, number: Any, vector: Any) -> Any:
        return _orthogonal(columns, number, vector) if orthogonalize else l2normalize(vector)

    def step(i: Any, state: Any) -> Any:
        u = array.expand_dims(state.u.read(i), -1)
        r = operator.apply_adjoint(u)
        shape = r.get_shape()
        r = cond(
            i > 0,
            lambda: r - state.beta.read(i - 1) * array.expand_dims(state.v.read(i - 1), -1),
            lambda: r,
        )
        r.set_shape(shape)
        v, alpha = normalized(state.v, i - 1, r)
        following, beta = normalized(state.u, i, operator.apply(v) - alpha * u)
        return i + 1, _Bidiagonal(
            written(state.u, following, i + 1),
            written(state.v, v, i),
            state.alpha.write(i, alpha),
            state.beta.write(i, beta),
        )

    with default_graph().name_scope(name):
        dtype = operator.dtype
        if starting_vector is None:
            starting_vector = random_uniform(operator.shape[:1], -1, 1, dtype)
        first, _ = l2normalize(starting_vector)
        u, v, alpha, beta = (
            TensorArray(dtype, size=size, clear_after_read=False) for size in (k + 1, k, k, k)
        )
        state = _Bidiagonal(written(u, first, 0), v, alpha, beta)
        zero = array.zeros([], dtypes.int32)
        _, state = while_loop(lambda i, _: i < k, step, [zero, state])
        return _Bidiagonal(
            matrix_transpose(state.u.stack()),
            matrix_transpose(state.v.stack()),
            state.alpha.stack(),
            state.beta.stack(),
        )


def bidiag_matmul(
    matrix: Any, alpha: Any, beta: Any, adjoint_b: bool = False, name: str = "bidiag_matmul"
) -> Tensor:
    """``matrix`` times the lower bidiagonal matrix [k + 1, k] of ``alpha`` and ``beta``, or its adjoint."""
    with default_graph().name_scope(name):
        alpha, beta = array.expand_dims(alpha, 0), array.expand_dims(beta, 0)
        if not adjoint_b:
            return matrix[:, :-1] * alpha + matrix[:, 1:] * beta  # type: ignore[no-any-return]
        shifted = pad(matrix[:, :-1] * beta[:, :-1], [[0, 0], [1, 0]])
        return matrix * alpha + shifted  # type: ignore[no-any-return]


__getattr__ = explain_absent(__name__)
