"""Elementary functions of one argument: exponentials, roots, trigonometry, rounding, signs."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.dtypes import COMPLEX, FLOATING, INTEGERS, DType
from dataflow.graph.conversion import CompositeOperand, convert_to_tensor
from dataflow.graph.op_def import OpDef
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.arithmetic import (
    INEXACT,
    SIGNED,
    conj_if_complex,
    div_no_nan_op,
    mul_op,
    real_div_op,
)
from dataflow.ops.casts import cast
from dataflow.ops.indexed_slices import takes_slices
from dataflow.ops.ragged_dispatch import maps_ragged
from dataflow.ops.sources import constant
from dataflow.shapes import Dims, merge


def unary_op(
    op_type: str, what: str, gradient: str, allowed: Any = INEXACT, **traits: Any
) -> OpDef:
    """An op of x alone, element by element, which keeps shape and dtype."""

    def rule(x: Tensor) -> Dims:
        return x.dims

    rule.__name__ = op_type
    rule.__doc__ = (
        f"{what}, element by element.\n\n"
        f"Shape: any; the result has the shape of x. Dtype: kept.\nGradient: {gradient}\n"
    )
    return define_op(op_type, "x: T -> y: T", T=allowed, elementwise=True, **traits)(rule)


exp_op = unary_op("Exp", "The exponential e**x", "dy * y.", cost=0.002)
expm1_op = unary_op("Expm1", "exp(x) - 1, exact for small x", "dy * exp(x).")
log_op = unary_op("Log", "The natural logarithm", "dy / x.", cost=0.002)
log1p_op = unary_op("Log1p", "log(1 + x), exact for small x", "dy / (1 + x).")
square_op = unary_op("Square", "x * x", "2 * dy * x.", INEXACT | INTEGERS, inline_safe=True)
sqrt_op = unary_op("Sqrt", "The square root", "dy / (2 * y), as SqrtGrad.", inline_safe=True)
rsqrt_op = unary_op("Rsqrt", "1 / sqrt(x)", "-dy * y**3 / 2, as RsqrtGrad.")
reciprocal_op = unary_op("Reciprocal", "1 / x", "-dy * y**2, as ReciprocalGrad.", SIGNED)
inv_op = unary_op("Inv", "1 / x; the name that early graphs use", "as Reciprocal's.", SIGNED)
neg_op = unary_op("Neg", "-x", "-dy.", SIGNED, inline_safe=True)
sign_op = unary_op(
    "Sign",
    "-1, 0 or 1 (complex: x / abs(x))",
    "zero; of complex numbers dy across x, over abs(x).",
    SIGNED,
)
sin_op = unary_op("Sin", "The sine", "dy * cos(x).", cost=0.005)
cos_op = unary_op("Cos", "The cosine", "-dy * sin(x).", cost=0.005)
tan_op = unary_op("Tan", "The tangent", "dy / cos(x)**2.")
asin_op = unary_op("Asin", "The inverse sine", "dy / sqrt(1 - x**2).")
acos_op = unary_op("Acos", "The inverse cosine", "-dy / sqrt(1 - x**2).")
atan_op = unary_op("Atan", "The inverse tangent", "dy / (1 + x**2).")
sinh_op = unary_op("Sinh", "The hyperbolic sine", "dy * cosh(x).")
cosh_op = unary_op("Cosh", "The hyperbolic cosine", "dy * sinh(x).")
tanh_op = unary_op("Tanh", "The hyperbolic tangent", "dy * (1 - y**2), as TanhGrad.", cost=0.003)
asinh_op = unary_op("Asinh", "The inverse hyperbolic sine", "dy / cosh(y).")
acosh_op = unary_op("Acosh", "The inverse hyperbolic cosine", "dy / sinh(y).")
atanh_op = unary_op("Atanh", "The inverse hyperbolic tangent", "dy / (1 - x**2).")
sigmoid_op = unary_op(
    "Sigmoid", "1 / (1 + exp(-x))", "dy * y * (1 - y), as SigmoidGrad.", cost=0.004
)
floor_op = unary_op("Floor", "x rounded down", "none; it is constant between steps.", FLOATING)
ceil_op = unary_op("Ceil", "x rounded up", "none; it is constant between steps.", FLOATING)
rint_op = unary_op("Rint", "The nearest integer, halves to even", "none.", FLOATING)
round_op = unary_op("Round", "The nearest integer, halves to even", "none.", SIGNED)
abs_op = unary_op("Abs", "The absolute value", "dy * sign(x).", SIGNED - COMPLEX)


@define_op(
    "ComplexAbs",
    "x: T -> y: Tout",
    T=COMPLEX,
    Tout={dtypes.float32, dtypes.float64},
    elementwise=True,
)
def complex_abs_op(x: Tensor, *, Tout: DType = dtypes.float32) -> Dims:
    """The absolute value of complex numbers, element by element.

    Shape: that of x. Dtype: the real type of a part. Gradient: ``dy * x / abs(x)``.
    """
    return x.dims


not_differentiable(floor_op, ceil_op, rint_op, round_op)


def _gradient_op(op_type: str, formula: str) -> OpDef:
    def rule(y: Tensor, dy: Tensor) -> Dims:
        try:
            return merge(y.dims, dy.dims)
        except ValueError:
            return None  # the kernel broadcasts, as TensorFlow's does

    rule.__name__ = op_type
    rule.__doc__ = (
        f"The gradient of {op_type.removesuffix('Grad')} from its result y: ``{formula}``.\n\n"
        "Shape and dtype: those of y and dy. Gradient: both inputs have one.\n"
    )
    return define_op(op_type, "y: T, dy: T -> z: T", T=INEXACT, elementwise=True, shape_like=0)(
        rule
    )


sqrt_grad_op = _gradient_op("SqrtGrad", "dy / (2 * y)")
rsqrt_grad_op = _gradient_op("RsqrtGrad", "-dy * y**3 / 2")
reciprocal_grad_op = _gradient_op("ReciprocalGrad", "-dy * y**2")
inv_grad_op = _gradient_op("InvGrad", "-dy * y**2")
tanh_grad_op = _gradient_op("TanhGrad", "dy * (1 - y**2)")
sigmoid_grad_op = _gradient_op("SigmoidGrad", "dy * y * (1 - y)")


@exp_op.gradient
def exp_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad * conj_if_complex(op.outputs[0])]


@expm1_op.gradient
def expm1_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad * conj_if_complex(exp_op(op.inputs[0]))]


@log_op.gradient
def log_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad * reciprocal_op(conj_if_complex(op.inputs[0]))]


@log1p_op.gradient
def log1p_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad * reciprocal_op(1.0 + conj_if_complex(op.inputs[0]))]


@square_op.gradient
def square_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x = conj_if_complex(op.inputs[0])
    return [mul_op(grad, mul_op(x, constant(2, x.dtype.base_dtype)))]


@sqrt_op.gradient
def sqrt_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [sqrt_grad_op(op.outputs[0], grad)]


@sqrt_grad_op.gradient
def sqrt_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
    scaled = real_div_op(grad, op.inputs[0])  # the op divides by the conjugate of y
    return [-conj_if_complex(scaled) * op.outputs[0], 0.5 * scaled]


@rsqrt_op.gradient
def rsqrt_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [rsqrt_grad_op(op.outputs[0], grad)]


@rsqrt_grad_op.gradient
def rsqrt_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
    y, dy = conj_if_complex(op.inputs[0]), op.inputs[1]
    return [-1.5 * conj_if_complex(grad) * dy * square_op(y), rsqrt_grad_op(y, grad)]


@reciprocal_op.gradient
@inv_op.gradient
def reciprocal_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [reciprocal_grad_op(op.outputs[0], grad)]


@reciprocal_grad_op.gradient
@inv_grad_op.gradient
def reciprocal_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
    y, dy = conj_if_complex(op.inputs[0]), op.inputs[1]
    return [-2.0 * conj_if_complex(grad) * dy * y, reciprocal_grad_op(y, grad)]


@tanh_op.gradient
def tanh_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [tanh_grad_op(conj_if_complex(op.outputs[0]), grad)]


@tanh_grad_op.gradient
def tanh_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
    y, dy = (conj_if_complex(t) for t in op.inputs)
    return [-2.0 * grad * dy * y, tanh_grad_op(y, grad)]


@sigmoid_op.gradient
def sigmoid_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [sigmoid_grad_op(conj_if_complex(op.outputs[0]), grad)]


@sigmoid_grad_op.gradient
def sigmoid_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
    y, dy = (conj_if_complex(t) for t in op.inputs)
    both = grad * dy
    return [both - 2.0 * both * y, sigmoid_grad_op(y, grad)]


@neg_op.gradient
@takes_slices
def neg_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [-grad]


@abs_op.gradient
def abs_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad * sign_op(op.inputs[0])]


@complex_abs_op.gradient
def complex_abs_gradient(op: Operation, grad: Tensor) -> list[Any]:
    from dataflow.ops.complex_numbers import complex_

    return [complex_(grad, array_ops.zeros_like(grad)) * sign_op(op.inputs[0])]


@sign_op.gradient
def sign_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op.inputs[0], op.outputs[0]
    if not x.dtype.is_complex:
        return [array_ops.zeros_like(x)]
    from dataflow.ops.complex_numbers import complex_, conj, real

    along = real(conj(y) * grad)  # what stays when x turns without growing
    size = complex_abs_op(x, Tout=x.dtype.base_dtype.real_dtype)
    zeros = array_ops.zeros_like(along)
    return [(grad - y * complex_(along, zeros)) / complex_(size, zeros)]


@sin_op.gradient
def sin_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad * cos_op(conj_if_complex(op.inputs[0]))]


@cos_op.gradient
def cos_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [-grad * sin_op(conj_if_complex(op.inputs[0]))]


@tan_op.gradient
def tan_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad * square_op(reciprocal_op(cos_op(conj_if_complex(op.inputs[0]))))]


@asin_op.gradient
def asin_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad * rsqrt_op(1.0 - square_op(conj_if_complex(op.inputs[0])))]


@acos_op.gradient
def acos_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [-grad * rsqrt_op(1.0 - square_op(conj_if_complex(op.inputs[0])))]


@atan_op.gradient
def atan_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad * reciprocal_op(1.0 + square_op(conj_if_complex(op.inputs[0])))]


@sinh_op.gradient
def sinh_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad * cosh_op(conj_if_complex(op.inputs[0]))]


@cosh_op.gradient
def cosh_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad * sinh_op(conj_if_complex(op.inputs[0]))]


@asinh_op.gradient
def asinh_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [real_div_op(grad, cosh_op(conj_if_complex(op.outputs[0])))]


@acosh_op.gradient
def acosh_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [real_div_op(grad, sinh_op(conj_if_complex(op.outputs[0])))]


@atanh_op.gradient
def atanh_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad * reciprocal_op(1.0 - square_op(conj_if_complex(op.inputs[0])))]


exp = exp_op
expm1 = expm1_op
log = log_op
log1p = log1p_op
square = square_op
sqrt = sqrt_op
rsqrt = rsqrt_op
reciprocal = reciprocal_op
negative = neg_op
sin = sin_op
cos = cos_op
tan = tan_op
asin = asin_op
acos = acos_op
atan = atan_op
sinh = sinh_op
cosh = cosh_op
tanh = tanh_op
asinh = asinh_op
acosh = acosh_op
atanh = atanh_op
sigmoid = sigmoid_op
floor = floor_op
ceil = ceil_op
rint = rint_op


@maps_ragged
def sign(x: TensorLike, name: str | None = None) -> Tensor:
    """-1, 0 or 1, element by element; of complex numbers ``x / abs(x)``, and 0 for 0."""
    try:
        x = convert_to_tensor(x)
    except CompositeOperand:
        return sign_op(x, name=name)  # type: ignore[no-any-return]
    if x.dtype.is_complex:
        size = complex_abs_op(x, Tout=x.dtype.base_dtype.real_dtype)
        return div_no_nan_op(x, cast(size, x.dtype.base_dtype), name=name)  # type: ignore[no-any-return]
    return sign_op(x, name=name)  # type: ignore[no-any-return]


@maps_ragged
def abs_(x: TensorLike, name: str | None = None) -> Tensor:
    """The absolute value, element by element; of complex numbers too, which gives real ones."""
    try:
        x = convert_to_tensor(x, name="x")
    except CompositeOperand as refused:
        dtype = refused.composite.dtype
        if dtype.is_complex:
            return complex_abs_op(x, Tout=dtype.real_dtype, name=name or "Abs")  # type: ignore[no-any-return]
        return abs_op(x, name=name)  # type: ignore[no-any-return]
    if x.dtype.is_complex:
        return complex_abs_op(x, Tout=x.dtype.real_dtype, name=name or "Abs")  # type: ignore[no-any-return]
    return abs_op(x, name=name)  # type: ignore[no-any-return]


@maps_ragged
def round_(x: Any, name: str | None = None) -> Tensor:
    """The nearest integers, halves to even; integers are returned as they are."""
    x = convert_to_tensor(x, name="x")
    return x if x.dtype.is_integer else round_op(x, name=name)  # type: ignore[no-any-return]
