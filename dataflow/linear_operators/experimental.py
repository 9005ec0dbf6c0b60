"""`tf.linalg.experimental`: systems of linear equations of operators, solved step by step."""

from __future__ import annotations

import collections
from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.comparison import greater, less, logical_and
from dataflow.ops.complex_numbers import conj
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.norms import norm
from dataflow.ops.reduce import reduce_any, reduce_sum
from dataflow.ops.sources import constant
from dataflow.ops.while_loop import while_loop

__all__ = ["conjugate_gradient"]

CGState = collections.namedtuple("CGState", ["i", "x", "r", "p", "gamma"])


def conjugate_gradient(
    operator: Any,
    rhs: TensorLike,
    preconditioner: Any = None,
    x: TensorLike | None = None,
    tol: float = 1e-5,
    max_iter: int = 20,
    name: str = "conjugate_gradient",
) -> CGState:
    """Solves ``A x = rhs`` for an operator A that is self-adjoint and positive definite.

    ``rhs`` and ``x``, where to begin (by default at zero), are [..., n]; ``preconditioner`` is an operator that
    is about the inverse of A. Ends after ``max_iter`` steps, or when no residual is longer than ``tol`` times the
    first one.

    Returns a named tuple: ``i`` steps, the solution ``x``, the residual ``r``, the direction ``p`` [..., n]
    and ``gamma`` [...], the square of r by the preconditioner. Raises `ValueError` where A is known not to be
    self-adjoint or positive definite. Source: Hestenes and Stiefel, 1952.
    """
    if operator.is_self_adjoint is False or operator.is_positive_definite is False:
        raise ValueError(
            "conjugate_gradient needs an operator that is self-adjoint and positive definite."
        )

    def dot(a: Tensor, b: Tensor) -> Tensor:
        return reduce_sum(conj(a) * b, -1, keepdims=True)

    def preconditioned(r: Tensor) -> Tensor:
        return r if preconditioner is None else preconditioner.matvec(r)

    def goes_on(state: CGState) -> Tensor:
        longer = reduce_any(greater(norm(state.r, axis=-1), limit))
        return logical_and(less(state.i, max_iter), longer)  # type: ignore[no-any-return]

    def step(state: CGState) -> tuple[CGState]:
        image = operator.matvec(state.p)
        alpha = state.gamma / dot(state.p, image)
        r = state.r - alpha * image
        q = preconditioned(r)
        gamma = dot(r, q)
        p = q + gamma / state.gamma * state.p
        return (CGState(state.i + 1, state.x + alpha * state.p, r, p, gamma),)

    with name_scope(name):
        rhs = convert_to_tensor(rhs, name="rhs")
        if x is None:
            r = rhs
            x = array.zeros_like(rhs)
        else:
            x = convert_to_tensor(x, rhs.dtype, "x")
            r = rhs - operator.matvec(x)
        limit = tol * norm(r, axis=-1)
        p = preconditioned(r)
        first = CGState(constant(0), x, r, p, dot(r, p))
        (last,) = while_loop(goes_on, step, [first])
        return last._replace(gamma=array.squeeze(last.gamma, [-1]))  # type: ignore[no-any-return]
