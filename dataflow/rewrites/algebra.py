"""Algebraic identities, one equation each. All are exact to the bit, NaN, infinity and -0 included."""

from __future__ import annotations

from dataflow.graph.registry import get_op
from dataflow.graph.tensor import Tensor
from dataflow.rewrites.constants import is_all
from dataflow.rewrites.rules import rewrite


def _same_shape(result: Tensor, kept: Tensor) -> bool:
    """True when putting ``kept`` in place of ``result`` changes neither shape nor broadcasting."""
    return (
        result.dims is not None
        and kept.dims is not None
        and None not in result.dims
        and result.dims == kept.dims
    )


def _either_neutral(t: Tensor, number: float) -> Tensor | None:
    """The other operand when one of the two is the neutral constant."""
    a, b = t.op.inputs
    kept = _neutral(t, b, a, number)
    return _neutral(t, a, b, number) if kept is None else kept


def _neutral(t: Tensor, other: Tensor, kept: Tensor, number: float) -> Tensor | None:
    """``kept`` when ``other`` is the neutral constant and its shape does not widen the result.

    Not for complex numbers: each part of a product mixes both parts of the factors, so an infinite part
    gives NaN.
    """
    if not is_all(other, number) or t.dtype.base_dtype.kind == "c":
        return None
    if _same_shape(t, kept) or (other.dims == () and kept.dims is not None):
        return kept
    return None


@rewrite("Mul")
def times_one(t: Tensor) -> Tensor | None:
    """x * 1 -> x"""
    return _either_neutral(t, 1)


@rewrite("RealDiv", "Div")
def divided_by_one(t: Tensor) -> Tensor | None:
    """x / 1 -> x"""
    a, b = t.op.inputs
    return _neutral(t, b, a, 1)


@rewrite("FloorDiv", "TruncateDiv")
def divided_by_one_integer(t: Tensor) -> Tensor | None:
    """x // 1 -> x  (whole numbers; the gradient of a mean divides its counts so)"""
    a, b = t.op.inputs
    return _neutral(t, b, a, 1) if t.dtype.base_dtype.kind in "iu" else None


@rewrite("Sub")
def minus_zero(t: Tensor) -> Tensor | None:
    """x - 0 -> x  (not for -0.0, as -0.0 - -0.0 is 0.0)"""
    a, b = t.op.inputs
    kept = _neutral(t, b, a, 0)
    return None if kept is None or any(b.op.attrs["value"].tobytes()) else kept


@rewrite("Add", "AddV2")
def plus_zero_integer(t: Tensor) -> Tensor | None:
    """x + 0 -> x  (whole numbers: with floats, -0.0 + 0.0 is 0.0)"""
    if t.dtype.base_dtype.kind not in "iu":
        return None
    return _either_neutral(t, 0)


@rewrite("Neg")
def double_negation(t: Tensor) -> Tensor | None:
    """-(-x) -> x"""
    (x,) = t.op.inputs
    return x.op.inputs[0] if x.op.type == "Neg" else None


@rewrite("Pow")
def power_two(t: Tensor) -> Tensor | None:
    """x ** 2 -> square(x)"""
    x, y = t.op.inputs
    if is_all(y, 2) and t.dtype.base_dtype.kind == "f" and y.dims == ():
        return get_op("Square")(x)  # type: ignore[no-any-return]
    return None


@rewrite("Pow")
def power_three_or_four(t: Tensor) -> Tensor | None:
    """x ** 3 -> x x x and x ** 4 -> square(square(x)), which can be fused"""
    x, y = t.op.inputs
    if t.dtype.base_dtype.kind != "f" or y.dims != ():
        return None
    square = get_op("Square")
    if is_all(y, 3):
        return get_op("Mul")(square(x), x)  # type: ignore[no-any-return]
    return square(square(x)) if is_all(y, 4) else None


@rewrite("Pow")
def power_one(t: Tensor) -> Tensor | None:
    """x ** 1 -> x"""
    x, y = t.op.inputs
    return _neutral(t, y, x, 1) if y.dims == () else None


@rewrite("Cast")
def cast_to_same(t: Tensor) -> Tensor | None:
    """cast(x, dtype of x) -> x"""
    (x,) = t.op.inputs
    return x if x.dtype is t.dtype else None


@rewrite("AddN")
def sum_of_one(t: Tensor) -> Tensor | None:
    """add_n([x]) -> x"""
    inputs = t.op.inputs
    return inputs[0] if len(inputs) == 1 else None
