"""Comparison, logic and bits, element by element."""

from __future__ import annotations

from dataflow import dtypes
from dataflow.dtypes import FLOATING, INTEGERS, NUMBERS, REAL_NUMBERS
from dataflow.graph.op_def import OpDef
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.broadcasting import broadcast_dims
from dataflow.shapes import Dims, broadcast, list_dims, same_dims

_ANY_VALUE = NUMBERS | {dtypes.bool_, dtypes.string}


def _comparison(op_type: str, what: str, operator: str) -> OpDef:
    def rule(x: Tensor, y: Tensor) -> Dims:
        return broadcast_dims(x, y)

    rule.__name__ = op_type
    rule.__doc__ = (
        f"{what}, element by element.\n\nShape: x and y broadcast. "
        "Dtype: real numbers of one type; the result is bool. Gradient: none.\n"
    )
    op = define_op(
        op_type,
        "x: T, y: T -> z: bool",
        T=REAL_NUMBERS,
        elementwise=True,
        operator=(operator, "iuf"),
    )(rule)
    not_differentiable(op)
    return op


less_op = _comparison("Less", "Whether x < y", "<")
less_equal_op = _comparison("LessEqual", "Whether x <= y", "<=")
greater_op = _comparison("Greater", "Whether x > y", ">")
greater_equal_op = _comparison("GreaterEqual", "Whether x >= y", ">=")


def _equality_dims(x: Tensor, y: Tensor, incompatible_shape_error: bool) -> Dims:
    if incompatible_shape_error:
        return broadcast_dims(x, y)
    try:
        dims = broadcast(x.dims, y.dims)
    except ValueError:
        return ()
    if x.dims is None or y.dims is None:
        return None
    facing = zip(reversed(x.dims), reversed(y.dims), strict=False)
    may_differ = any((a is None or b is None) and 1 not in (a, b) for a, b in facing)
    return None if may_differ else dims


@define_op("Equal", "x: T, y: T -> z: bool", T=_ANY_VALUE, elementwise=True)
def equal_op(x: Tensor, y: Tensor, *, incompatible_shape_error: bool = True) -> Dims:
    """Whether x equals y, element by element.

    Shape: x and y broadcast; where they do not, an error, or with
    ``incompatible_shape_error=False`` one ``False``. Dtype: numbers, bool or strings of one type;
    the result is bool. Gradient: none.
    """
    return _equality_dims(x, y, incompatible_shape_error)


@define_op("NotEqual", "x: T, y: T -> z: bool", T=_ANY_VALUE, elementwise=True)
def not_equal_op(x: Tensor, y: Tensor, *, incompatible_shape_error: bool = True) -> Dims:
    """Whether x differs from y, element by element; otherwise as Equal. Gradient: none."""
    return _equality_dims(x, y, incompatible_shape_error)


@define_op("ApproximateEqual", "x: T, y: T -> z: bool", T=NUMBERS)
def approximate_equal_op(x: Tensor, y: Tensor, *, tolerance: float = 1e-5) -> Dims:
    """Whether ``abs(x - y) < tolerance``. Shape: the same for both. Gradient: none."""
    return same_dims(x.dims, y.dims)


@define_op(
    "CompareAndBitpack",
    "input: T, threshold: T -> output: uint8",
    T=FLOATING - {dtypes.bfloat16}
    | {dtypes.bool_, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64},
)
def compare_and_bitpack_op(input: Tensor, threshold: Tensor) -> Dims:
    """Whether ``input`` is above ``threshold``, a scalar: eight answers in a byte, the first one in its highest bit.

    Shape: the last size, which 8 divides, is an eighth. Gradient: none.
    """
    if threshold.dims not in (None, ()):
        raise ValueError(f"threshold must be a scalar, got shape {list_dims(threshold.dims)}")
    if input.dims is None:
        return None
    if not input.dims or (input.dims[-1] or 0) % 8:
        raise ValueError(f"the last size must be a multiple of 8, got {list_dims(input.dims)}")
    last = input.dims[-1]
    return (*input.dims[:-1], None if last is None else last // 8)


@define_op("LogicalAnd", "x: bool, y: bool -> z: bool", elementwise=True)
def logical_and_op(x: Tensor, y: Tensor) -> Dims:
    """Whether both are true. Shape: x and y broadcast. Dtype: bool. Gradient: none."""
    return broadcast_dims(x, y)


@define_op("LogicalOr", "x: bool, y: bool -> z: bool", elementwise=True)
def logical_or_op(x: Tensor, y: Tensor) -> Dims:
    """Whether one or both are true. Shape: x and y broadcast. Dtype: bool. Gradient: none."""
    return broadcast_dims(x, y)


@define_op("LogicalNot", "x: bool -> y: bool", elementwise=True)
def logical_not_op(x: Tensor) -> Dims:
    """Whether x is false. Shape: that of x. Dtype: bool. Gradient: none."""
    return x.dims


def _test(op_type: str, what: str) -> OpDef:
    def rule(x: Tensor) -> Dims:
        return x.dims

    rule.__name__ = op_type
    rule.__doc__ = (
        f"Whether each element is {what}.\n\n"
        "Shape: that of x. Dtype: floating; the result is bool. Gradient: none.\n"
    )
    op = define_op(op_type, "x: T -> y: bool", T=FLOATING, elementwise=True)(rule)
    not_differentiable(op)
    return op


is_nan_op = _test("IsNan", "not a number")
is_inf_op = _test("IsInf", "infinite")
is_finite_op = _test("IsFinite", "finite")


def _bitwise(op_type: str, what: str) -> OpDef:
    def rule(x: Tensor, y: Tensor) -> Dims:
        return broadcast_dims(x, y)

    rule.__name__ = op_type
    rule.__doc__ = (
        f"{what}\n\nShape: x and y broadcast. Dtype: integers of one type. Gradient: none.\n"
    )
    op = define_op(op_type, "x: T, y: T -> z: T", T=INTEGERS, elementwise=True)(rule)
    not_differentiable(op)
    return op


bitwise_and_op = _bitwise("BitwiseAnd", "Bits set in both.")
bitwise_or_op = _bitwise("BitwiseOr", "Bits set in one or both.")
bitwise_xor_op = _bitwise("BitwiseXor", "Bits set in exactly one.")
left_shift_op = _bitwise("LeftShift", "x with its bits moved up by y; y is cut to the word.")
right_shift_op = _bitwise("RightShift", "x with its bits moved down by y; the sign is kept.")


@define_op("Invert", "x: T -> y: T", T=INTEGERS, elementwise=True)
def invert_op(x: Tensor) -> Dims:
    """Every bit of x flipped. Shape: that of x. Dtype: integers. Gradient: none."""
    return x.dims


@define_op("PopulationCount", "x: T -> y: uint8", T=INTEGERS, elementwise=True)
def population_count_op(x: Tensor) -> Dims:
    """The number of bits that are set. Shape: that of x. Dtype: uint8. Gradient: none."""
    return x.dims


not_differentiable(
    equal_op,
    not_equal_op,
    approximate_equal_op,
    compare_and_bitpack_op,
    logical_and_op,
    logical_or_op,
    logical_not_op,
    invert_op,
    population_count_op,
)

less = less_op
less_equal = less_equal_op
greater = greater_op
greater_equal = greater_equal_op
logical_and = logical_and_op
logical_or = logical_or_op
logical_not = logical_not_op
is_nan = is_nan_op
is_inf = is_inf_op
is_finite = is_finite_op
approximate_equal = approximate_equal_op
bitwise_and = bitwise_and_op
bitwise_or = bitwise_or_op
bitwise_xor = bitwise_xor_op
left_shift = left_shift_op
right_shift = right_shift_op
invert = invert_op


def equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Whether x equals y, element by element, with broadcasting."""
    return equal_op(x, y, name=name)  # type: ignore[no-any-return]


def not_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Whether x differs from y, element by element, with broadcasting."""
    return not_equal_op(x, y, name=name)  # type: ignore[no-any-return]


def logical_xor(x: TensorLike, y: TensorLike, name: str = "LogicalXor") -> Tensor:
    """Whether exactly one of x and y is true."""
    either = logical_or_op(x, y)
    not_both = logical_not_op(logical_and_op(x, y))
    return logical_and_op(either, not_both, name=name)  # type: ignore[no-any-return]
