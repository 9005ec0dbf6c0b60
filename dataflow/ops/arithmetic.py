"""Arithmetic, element by element: what takes two tensors that broadcast.

Functions of one argument that are not arithmetic (exponentials, trigonometry, rounding) are in
`dataflow.ops.elementary`.
"""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.dtypes import COMPLEX, FLOATING, NUMBERS, REAL_NUMBERS, DType
from dataflow.graph.conversion import convert_to_tensor, internal_convert
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.op_def import OpDef
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, get_op, not_differentiable, refuse_gradient
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.broadcasting import broadcast_dims, broadcast_gradients
from dataflow.ops.casts import cast
from dataflow.ops.comparison import greater_equal_op, greater_op, less_equal_op, not_equal_op
from dataflow.ops.indexed_slices import IndexedSlices, takes_slices
from dataflow.ops.ragged_dispatch import maps_ragged
from dataflow.ops.seeds import count_left_out
from dataflow.ops.static_value import static_value
from dataflow.shapes import Dims

INEXACT = FLOATING | COMPLEX
SIGNED = INEXACT | {dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64}

_BROADCAST = "Shape: x and y broadcast, as in NumPy."


def binary_op(op_type: str, signature: str, doc: str, allowed: Any, **traits: Any) -> OpDef:
    """An element-wise op of x and y that broadcasts; ``doc`` is its docstring."""

    def rule(x: Tensor, y: Tensor) -> Dims:
        return broadcast_dims(x, y)

    rule.__doc__ = doc
    rule.__name__ = op_type
    kinds = {} if allowed is None else {"T": allowed}
    return define_op(op_type, signature, elementwise=True, inline_safe=True, **kinds, **traits)(
        rule
    )


def _arithmetic(op_type: str, what: str, gradient: str, allowed: Any, **traits: Any) -> OpDef:
    return binary_op(
        op_type,
        "x: T, y: T -> z: T",
        f"{what}\n\n{_BROADCAST}\nDtype: the same for both; the result keeps it.\n"
        f"Gradient: {gradient}\n",
        allowed,
        **traits,
    )


add_v2_op = _arithmetic(
    "AddV2",
    "The sum x + y, element by element.",
    "dz to both, summed to their shapes.",
    NUMBERS,
    operator=("+", "iufc"),
)
add_v1_op = _arithmetic(
    "Add",
    "The sum x + y; strings are joined.",
    "dz to both, summed to their shapes.",
    NUMBERS | {dtypes.string},
    operator=("+", "iufc"),
)
sub_op = _arithmetic(
    "Sub",
    "The difference x - y, element by element.",
    "dz to x, -dz to y.",
    NUMBERS,
    operator=("-", "iufc"),
)
mul_op = _arithmetic(
    "Mul",
    "The product x * y, element by element.",
    "dz * y to x, dz * x to y.",
    NUMBERS,
    operator=("*", "iufc"),
)
real_div_op = _arithmetic(
    "RealDiv",
    "The quotient x / y.",
    "dz / y to x, -dz * x / y**2 to y.",
    NUMBERS,
    operator=("/", "fc"),
)
div_op = _arithmetic(
    "Div",
    "The quotient x / y; integers are cut towards zero.",
    "as RealDiv's.",
    NUMBERS,
)
floor_div_op = _arithmetic(
    "FloorDiv", "The quotient rounded down, as Python's //.", "none; it is constant.", NUMBERS
)
truncate_div_op = _arithmetic(
    "TruncateDiv", "The quotient of integers, cut towards zero as in C.", "none.", NUMBERS
)
floor_mod_op = _arithmetic(
    "FloorMod",
    "The remainder of x // y, as Python's %: it has the sign of y.",
    "dz to x, -dz * (x // y) to y.",
    REAL_NUMBERS,
)
truncate_mod_op = _arithmetic(
    "TruncateMod", "The remainder of TruncateDiv; it has the sign of x.", "none.", REAL_NUMBERS
)
mod_op = _arithmetic(
    "Mod", "The same as TruncateMod; the name that early graphs use.", "none.", REAL_NUMBERS
)
div_no_nan_op = _arithmetic(
    "DivNoNan", "x / y, and 0 where y is 0.", "as RealDiv's, and 0 where y is 0.", INEXACT
)
mul_no_nan_op = _arithmetic(
    "MulNoNan", "x * y, and 0 where y is 0 even if x is not finite.", "as Mul's.", INEXACT
)
pow_op = _arithmetic(
    "Pow",
    "x to the power of y.",
    "dz * y * x**(y-1) to x; dz * z * log(x) to y, 0 where x <= 0.",
    SIGNED,
    cost=0.02,
)
maximum_op = _arithmetic(
    "Maximum", "The larger of x and y.", "to x where x >= y, else to y.", REAL_NUMBERS
)
minimum_op = _arithmetic(
    "Minimum", "The smaller of x and y.", "to x where x <= y, else to y.", REAL_NUMBERS
)
squared_difference_op = _arithmetic(
    "SquaredDifference",
    "(x - y)**2; for complex numbers the squared distance.",
    "2 * dz * (x - y) to x, its negative to y.",
    INEXACT | {dtypes.int32, dtypes.int64},
)


@define_op("Atan2", "y: T, x: T -> z: T", T=FLOATING, elementwise=True)
def atan2_op(y: Tensor, x: Tensor) -> Dims:
    """The angle of the point (x, y), from -pi to pi.

    Shape: x and y broadcast.
    Gradient: ``dz * x / (x**2 + y**2)`` to y, ``-dz * y / (x**2 + y**2)`` to x.
    """
    return broadcast_dims(y, x)


not_differentiable(truncate_div_op, floor_div_op)
refuse_gradient(truncate_mod_op, mod_op)


def conj_if_complex(x: Any) -> Any:
    """The complex conjugate; real tensors are returned as they are."""
    if x.dtype.is_complex:
        from dataflow.ops.complex_numbers import conj

        return conj(x)
    return x


@add_v2_op.gradient
@add_v1_op.gradient
@takes_slices
def add_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return broadcast_gradients(op, grad, grad)


@sub_op.gradient
@takes_slices
def sub_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return broadcast_gradients(op, grad, -grad)


@mul_op.gradient
def mul_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, y = (conj_if_complex(t) for t in op.inputs)
    return broadcast_gradients(op, mul_op(grad, y), mul_op(x, grad))


@mul_no_nan_op.gradient
def mul_no_nan_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op.inputs
    return broadcast_gradients(op, mul_no_nan_op(grad, y), mul_no_nan_op(x, grad))


@real_div_op.gradient
@div_op.gradient
def real_div_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, y = (conj_if_complex(t) for t in op.inputs)
    return broadcast_gradients(op, real_div_op(grad, y), grad * real_div_op(real_div_op(-x, y), y))


@div_no_nan_op.gradient
def div_no_nan_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, y = (conj_if_complex(t) for t in op.inputs)
    return broadcast_gradients(
        op, div_no_nan_op(grad, y), grad * div_no_nan_op(div_no_nan_op(-x, y), y)
    )


@floor_mod_op.gradient
def floor_mod_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op.inputs
    return broadcast_gradients(op, grad, grad * -floor_div_op(x, y))


@pow_op.gradient
def pow_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op.inputs
    exponent = static_value(y)
    x, y, z = conj_if_complex(x), conj_if_complex(y), conj_if_complex(op.outputs[0])
    less = y - 1 if exponent is None else exponent - exponent.dtype.type(1)
    count_left_out(exponent is not None)
    grad_x = grad * (y * pow_op(x, less))
    if x.dtype.is_complex:
        positive = not_equal_op(x, 0)
    else:
        positive = greater_op(x, 0)
    safe = array_ops.where(positive, x, array_ops.ones_like(x))
    log_x = array_ops.where(positive, get_op("Log")(safe), array_ops.zeros_like(x))
    return broadcast_gradients(op, grad_x, grad * z * log_x)


def _choice_gradient(op: Operation, grad: Tensor, chosen: Any) -> list[Any]:
    zeros = array_ops.zeros([], dtype=grad.dtype.base_dtype)
    count_left_out(2)  # zeros of the gradient's shape
    return broadcast_gradients(
        op, array_ops.where_v2(chosen, grad, zeros), array_ops.where_v2(chosen, zeros, grad)
    )


@maximum_op.gradient
def maximum_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return _choice_gradient(op, grad, greater_equal_op(*op.inputs))


@minimum_op.gradient
def minimum_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return _choice_gradient(op, grad, less_equal_op(*op.inputs))


@squared_difference_op.gradient
def squared_difference_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, y = (conj_if_complex(t) for t in op.inputs)
    grad_x = 2.0 * grad * (x - y) if grad.dtype.kind in "fc" else 2 * grad * (x - y)
    return broadcast_gradients(op, grad_x, -grad_x)


@atan2_op.gradient
def atan2_gradient(op: Operation, grad: Tensor) -> list[Any]:
    y, x = op.inputs
    scaled = real_div_op(grad, x * x + y * y)
    return broadcast_gradients(op, x * scaled, -y * scaled)


# ---- public functions --------------------------------------------------------------------------


def binary_operands(x: Any, y: Any, name: str) -> tuple[Tensor, Tensor]:
    """x and y as tensors of the same dtype, constants named ``<name>/x`` and ``<name>/y``.

    Where only y is a tensor, x takes its dtype.
    """
    graph = (x if isinstance(x, Tensor) else y).graph if _any_tensor(x, y) else default_graph()
    saved = graph.name_stack
    graph.name_stack = name
    try:
        if not isinstance(x, Tensor) and isinstance(y, Tensor):
            return internal_convert(x, y.dtype.base_dtype, "x"), y
        x = internal_convert(x, None, "x")
        return x, internal_convert(y, x.dtype.base_dtype, "y")
    finally:
        graph.name_stack = saved


def _any_tensor(x: TensorLike, y: TensorLike) -> bool:
    return isinstance(x, Tensor) or isinstance(y, Tensor)


def add(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """``x + y`` with broadcasting; strings are joined, element by element."""
    return add_v1_op(x, y, name=name)  # type: ignore[no-any-return]


subtract = sub_op
multiply = mul_op
realdiv = real_div_op
floor_div = floor_div_op
floormod = floor_mod_op
mod = floor_mod_op
truncatediv = truncate_div_op
truncatemod = truncate_mod_op
maximum = maximum_op
minimum = minimum_op
squared_difference = squared_difference_op
atan2 = atan2_op
pow_ = pow_op

#: dtype of an integer -> the floating dtype that its true quotient has.
QUOTIENT_DTYPES = {
    dtypes.uint8: dtypes.float32,
    dtypes.int8: dtypes.float32,
    dtypes.uint16: dtypes.float32,
    dtypes.int16: dtypes.float32,
    dtypes.int32: dtypes.float64,
    dtypes.int64: dtypes.float64,
    dtypes.uint32: dtypes.float64,
    dtypes.uint64: dtypes.float64,
}


@maps_ragged
def truediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """``x / y`` as Python 3 divides: small integers give float32, int32 and int64 float64."""
    graph = _graph_of(x, y)
    op_name = graph.unique_name(name or "truediv")
    x, y = binary_operands(x, y, op_name)
    base = x.dtype.base_dtype
    if y.dtype.base_dtype is not base:
        raise TypeError(
            f"x and y must have the same dtype, got {x.dtype.name} != {y.dtype.name}: "
            "convert one with tf.cast."
        )
    wider = QUOTIENT_DTYPES.get(base)
    if wider is not None:
        with graph.name_scope(op_name + "/"):
            x, y = cast(x, wider), cast(y, wider)
    return real_div_op(x, y, name=op_name + "/")  # type: ignore[no-any-return]


@maps_ragged
def divide(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The same as ``x / y``: see `truediv`."""
    return truediv(x, y, name)


@maps_ragged
def div(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """``x / y`` as Python 2 divides: integers give the quotient rounded down."""
    graph = _graph_of(x, y)
    with graph.name_scope(name or "div") as scope:
        x, y = binary_operands(x, y, scope[:-1])
        op = real_div_op if x.dtype.base_dtype.kind in "fc" else floor_div_op
        return op(x, y, name=scope)  # type: ignore[no-any-return]


def floordiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """``x // y``: the quotient rounded down."""
    return floor_div_op(x, y, name=name or "floordiv")  # type: ignore[no-any-return]


@maps_ragged
def div_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """``x / y``, and 0 where y is 0; integers give what `truediv` gives."""
    with _graph_of(x, y).name_scope(name or "div_no_nan") as scope:
        x, y = binary_operands(x, y, scope[:-1])
        wider = QUOTIENT_DTYPES.get(x.dtype.base_dtype)
        if wider is not None and y.dtype.base_dtype is x.dtype.base_dtype:
            x, y = cast(x, wider), cast(y, wider)
        return div_no_nan_op(x, y, name=scope)  # type: ignore[no-any-return]


def multiply_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """``x * y``, and 0 where y is 0 even if x is infinite or not a number."""
    return mul_no_nan_op(x, y, name=name or "multiply_no_nan")  # type: ignore[no-any-return]


def reciprocal_no_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """``1 / x``, and 0 where x is 0."""
    with default_graph().name_scope(name or "reciprocal_no_nan") as scope:
        x = convert_to_tensor(x, name="x")
        one = internal_convert(1, x.dtype.base_dtype, "one")
        return div_no_nan_op(one, x, name=scope)  # type: ignore[no-any-return]


def scalar_mul(scalar: Any, x: TensorLike, name: str | None = None) -> Any:
    """A scalar times a tensor, or times the rows of an `IndexedSlices`."""
    base = x.dtype.base_dtype if hasattr(x, "dtype") and isinstance(x.dtype, DType) else None
    scalar = convert_to_tensor(scalar, base, name="scalar")
    if scalar.dims not in (None, ()):
        raise ValueError(f"Only scalar multiply works, got shape {scalar.shape}")
    if isinstance(x, IndexedSlices):
        return IndexedSlices(mul_op(scalar, x.values, name=name), x.indices, x.dense_shape)
    return mul_op(scalar, x, name=name)


def polyval(coeffs: Any, x: TensorLike, name: str | None = None) -> Tensor:
    """The polynomial with ``coeffs`` (highest power first) at x, by Horner's rule."""
    if not isinstance(coeffs, list):
        raise ValueError(f"Argument coeffs must be list type. Received type {type(coeffs)}.")
    with default_graph().name_scope(name or "polyval"):
        x = convert_to_tensor(x, name="x")
        if not coeffs:
            return array_ops.zeros_like(x)
        parts = [convert_to_tensor(c, x.dtype.base_dtype) for c in coeffs]
        total = parts[0]
        for part in parts[1:]:
            total = part + total * x
        return total


def _graph_of(*values: Any) -> Any:
    for value in values:
        if isinstance(value, Tensor):
            return value.graph
    return default_graph()
