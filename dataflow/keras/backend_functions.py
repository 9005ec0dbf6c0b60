"""Functions of `tf.keras.backend` on single tensors, with the names of its parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import AxisLike, DTypeLike, ShapeLike, TensorLike
from dataflow.ops import activation, array, functional, math
from dataflow.ops.comparison import greater
from dataflow.ops.conditionals import cond
from dataflow.ops.selection import where_v2

__all__ = [
    "elu",
    "expand_dims",
    "foldl",
    "foldr",
    "gather",
    "identity",
    "map_fn",
    "ones_like",
    "pow",
    "reshape",
    "reverse",
    "shape",
    "softmax",
    "softplus",
    "softsign",
    "squeeze",
    "stack",
    "stop_gradient",
    "switch",
    "tile",
    "transpose",
    "zeros_like",
]


def softmax(x: Any, axis: int = -1) -> Any:
    """Exponentials along ``axis``, divided by their sum."""
    return activation.softmax(x, axis=axis)


def elu(x: Any, alpha: float = 1.0) -> Any:
    """x where positive, else ``alpha (exp(x) - 1)``."""
    result = activation.elu(x)
    return result if alpha == 1 else array.where(greater(x, 0), result, alpha * result)


def softplus(x: Any) -> Any:
    """log(1 + exp(x))."""
    return activation.softplus(x)


def softsign(x: Any) -> Any:
    """x / (1 + |x|)."""
    return activation.softsign(x)


def pow(x: Any, a: TensorLike) -> Any:
    """x to the power ``a``."""
    return math.pow_(x, a)


def expand_dims(x: Any, axis: int = -1) -> Any:
    """``x`` with an axis of size 1 at ``axis``."""
    return array.expand_dims(x, axis)


def squeeze(x: Any, axis: int) -> Any:
    """``x`` without ``axis``, whose size is 1."""
    return array.squeeze(x, [axis])


def reshape(x: Any, shape: ShapeLike) -> Any:
    """``x`` in another shape; -1 for one size that follows from the others."""
    return array.reshape(x, shape)


def reverse(x: Any, axes: AxisLike) -> Any:
    """``x`` backwards along an axis, or a list of them."""
    return array.reverse(x, [axes] if isinstance(axes, int) else axes)


def shape(x: Any) -> Any:
    """The shape, as a tensor."""
    return array.shape(x)


def stack(x: Any, axis: int = 0) -> Any:
    """Tensors of the same shape, one after the other along a new ``axis``."""
    return array.stack(x, axis=axis)


def tile(x: Any, n: Any) -> Any:
    """``x`` repeated ``n`` times: a number for each axis; in the package keras fewer are those of the last axes."""
    if isinstance(n, int):
        n = [n]
    from dataflow.keras import backend

    if backend.is_package_keras() and isinstance(n, (list, tuple)):
        n = [*[1] * (x.shape.ndims - len(n)), *n]
    return array.tile(x, n)


def transpose(x: Any) -> Any:
    """``x`` with its axes in the opposite order."""
    return array.transpose(x)


def gather(reference: Any, indices: Any) -> Any:
    """The rows of ``reference`` that ``indices`` name."""
    return array.gather(reference, indices)


def stop_gradient(variables: Any) -> Any:
    """A tensor, or a list of them, through which no gradient flows."""
    if isinstance(variables, (list, tuple)):
        return [array.stop_gradient(one) for one in variables]
    return array.stop_gradient(variables)


def zeros_like(x: Any, dtype: DTypeLike | None = None, name: str | None = None) -> Any:
    """Zeros in the shape of ``x``."""
    return array.zeros_like(x, dtype=dtype, name=name)


def ones_like(x: Any, dtype: DTypeLike | None = None, name: str | None = None) -> Any:
    """Ones in the shape of ``x``."""
    return array.ones_like(x, dtype=dtype, name=name)


def identity(x: Any, name: str | None = None) -> Any:
    """A tensor of the same value."""
    return array.identity(x, name=name)


def map_fn(fn: Callable[..., Any], elems: Any, name: str | None = None, dtype: Any = None) -> Any:
    """``fn`` of each of ``elems``, stacked."""
    return functional.map_fn(fn, elems, dtype=dtype, name=name)


def foldl(
    fn: Callable[..., Any], elems: Any, initializer: Any = None, name: str | None = None
) -> Any:
    """``fn(fn(fn(initializer, e0), e1), ...)``."""
    return functional.foldl(fn, elems, initializer=initializer, name=name)


def foldr(
    fn: Callable[..., Any], elems: Any, initializer: Any = None, name: str | None = None
) -> Any:
    """As `foldl`, from the last element to the first."""
    return functional.foldr(fn, elems, initializer=initializer, name=name)


def _rank(x: Any) -> int:
    return convert_to_tensor(x).shape.ndims or 0


def switch(condition: TensorLike, then_expression: Any, else_expression: Any) -> Any:
    """``then_expression()`` or ``else_expression()`` by a scalar; tensors are accepted too.

    A ``condition`` with axes chooses element by element; axes that the expressions have beyond its own
    take the same choice. Raises `ValueError` where it has more axes than they.
    """

    def as_function(value: Any) -> Any:
        return value if callable(value) else lambda: array.identity(value)

    chosen = math.cast(condition, "bool")
    if chosen.shape.ndims in (None, 0):
        return cond(chosen, as_function(then_expression), as_function(else_expression))
    then = then_expression() if callable(then_expression) else then_expression
    other = else_expression() if callable(else_expression) else else_expression
    more = _rank(then) - chosen.shape.ndims
    if more < 0:
        raise ValueError(
            "Rank of `condition` should be less than or equal to rank of `then_expression` and "
            f"`else_expression`. ndim(condition)={chosen.shape.ndims}, ndim(then_expression)={_rank(then)}"
        )
    for _ in range(more):
        chosen = array.expand_dims(chosen, -1)
    return where_v2(chosen, then, other)
