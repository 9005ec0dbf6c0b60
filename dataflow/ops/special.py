"""Special functions: error, gamma, beta, zeta and Bessel functions and their relatives."""

from __future__ import annotations

import math
from typing import Any

from dataflow import dtypes
from dataflow.dtypes import FLOATING
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.op_def import OpDef
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, refuse_gradient
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.arithmetic import INEXACT, conj_if_complex, div_no_nan_op
from dataflow.ops.broadcasting import broadcast_dims, broadcast_gradients
from dataflow.ops.casts import cast
from dataflow.ops.comparison import equal_op, not_equal_op
from dataflow.ops.elementary import exp, log, log1p, sign, square, unary_op
from dataflow.ops.reduce import reduce_sum
from dataflow.shapes import Dims, broadcast, list_dims

_WIDE = frozenset({dtypes.float32, dtypes.float64})

erf_op = unary_op(
    "Erf",
    "The error function 2 / sqrt(pi) * integral of exp(-t**2) from 0 to x",
    "dy * 2 / sqrt(pi) * exp(-x**2).",
    FLOATING,
    cost=0.01,
)
erfc_op = unary_op(
    "Erfc", "1 - erf(x), exact where erf is nearly 1", "minus that of erf.", FLOATING
)
erfinv_op = unary_op("Erfinv", "The inverse of erf", "dy * sqrt(pi) / 2 * exp(y**2).", FLOATING)
ndtri_op = unary_op(
    "Ndtri",
    "The inverse of the normal distribution function",
    "dy * sqrt(2 * pi) * exp(y**2 / 2).",
    FLOATING,
)
lgamma_op = unary_op(
    "Lgamma",
    "The logarithm of the absolute value of the gamma function",
    "dy * digamma(x).",
    FLOATING,
    cost=0.02,
)
digamma_op = unary_op(
    "Digamma", "The derivative of lgamma", "dy * polygamma(1, x).", FLOATING, cost=0.02
)
bessel_i0_op = unary_op("BesselI0", "The modified Bessel function I0", "dy * I1(x).", FLOATING)
bessel_i1_op = unary_op(
    "BesselI1", "The modified Bessel function I1", "dy * (I0(x) - I1(x) / x).", FLOATING
)
bessel_i0e_op = unary_op(
    "BesselI0e", "exp(-abs(x)) * I0(x)", "dy * (I1e(x) - sign(x) * I0e(x)).", FLOATING
)
bessel_i1e_op = unary_op(
    "BesselI1e", "exp(-abs(x)) * I1(x)", "dy * (I0e - I1e * (sign(x) + 1 / x)).", FLOATING
)


@erf_op.gradient
def erf_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad * (2 / math.sqrt(math.pi)) * exp(-square(op.inputs[0]))]


@erfc_op.gradient
def erfc_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad * (-2 / math.sqrt(math.pi)) * exp(-square(op.inputs[0]))]


@erfinv_op.gradient
def erfinv_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad * (math.sqrt(math.pi) / 2) * exp(square(op.outputs[0]))]


@ndtri_op.gradient
def ndtri_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad * math.sqrt(2 * math.pi) * exp(0.5 * square(op.outputs[0]))]


@lgamma_op.gradient
def lgamma_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad * digamma_op(op.inputs[0])]


@digamma_op.gradient
def digamma_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x = op.inputs[0]
    return [grad * polygamma_op(array_ops.ones_like(x), x)]


@bessel_i0_op.gradient
def bessel_i0_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad * bessel_i1_op(op.inputs[0])]


def _inverse_or_zero(x: TensorLike) -> Any:
    return div_no_nan_op(array_ops.ones_like(x), x)


@bessel_i1_op.gradient
def bessel_i1_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op.inputs[0], op.outputs[0]
    away = bessel_i0_op(x) - y * _inverse_or_zero(x)
    at_zero = equal_op(x, array_ops.zeros_like(x))
    return [grad * array_ops.where(at_zero, 0.5 * array_ops.ones_like(x), away)]


@bessel_i0e_op.gradient
def bessel_i0e_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op.inputs[0], op.outputs[0]
    return [grad * (bessel_i1e_op(x) - sign(x) * y)]


@bessel_i1e_op.gradient
def bessel_i1e_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op.inputs[0], op.outputs[0]
    away = bessel_i0e_op(x) - y * (sign(x) + _inverse_or_zero(x))
    at_zero = equal_op(x, array_ops.zeros_like(x))
    return [grad * array_ops.where(at_zero, 0.5 * array_ops.ones_like(x), away)]


# ---- two and three arguments ---------------------------------------------------------------------


def _two_arguments(op_type: str, first: str, second: str, what: str, gradient: str) -> OpDef:
    doc = (
        f"{what}\n\nShape: both broadcast. Dtype: float32 or float64 for both; kept.\n"
        f"Gradient: {gradient}\n"
    )
    signature = f"{first}: T, {second}: T -> z: T"
    if (first, second) == ("a", "x"):

        def rule(a: Tensor, x: Tensor) -> Dims:
            return broadcast_dims(a, x)

    elif (first, second) == ("x", "q"):

        def rule(x: Tensor, q: Tensor) -> Dims:  # type: ignore[misc]
            return broadcast_dims(x, q)

    else:

        def rule(x: Tensor, y: Tensor) -> Dims:  # type: ignore[misc]
            return broadcast_dims(x, y)

    rule.__name__ = op_type
    rule.__doc__ = doc
    allowed = INEXACT if second == "y" else _WIDE
    return define_op(op_type, signature, T=allowed, elementwise=True)(rule)


igamma_op = _two_arguments(
    "Igamma",
    "a",
    "x",
    "The regularized lower incomplete gamma function P(a, x).",
    "to x the gamma density; to a as IgammaGradA.",
)
igammac_op = _two_arguments(
    "Igammac",
    "a",
    "x",
    "The regularized upper incomplete gamma function, 1 - P(a, x).",
    "minus that of Igamma.",
)
igamma_grad_a_op = _two_arguments(
    "IgammaGradA", "a", "x", "The derivative of P(a, x) by a.", "none."
)
polygamma_op = _two_arguments(
    "Polygamma",
    "a",
    "x",
    "The derivative of digamma of order a at x.",
    "to x: polygamma(a + 1, x).",
)
zeta_op = _two_arguments(
    "Zeta",
    "x",
    "q",
    "Hurwitz's zeta function: the sum of (q + k)**-x over k = 0, 1, ...",
    "to q: -x * zeta(x + 1, q).",
)
xlogy_op = _two_arguments(
    "Xlogy", "x", "y", "x * log(y), and 0 where x is 0.", "log(y) to x, x / y to y."
)
xlog1py_op = _two_arguments(
    "Xlog1py",
    "x",
    "y",
    "x * log(1 + y), and 0 where x is 0.",
    "log(1 + y) to x, x / (1 + y) to y.",
)
xdivy_op = _two_arguments(
    "Xdivy", "x", "y", "x / y, and 0 where x is 0.", "1 / y to x, -x / y**2 to y."
)
refuse_gradient(igamma_grad_a_op)


@define_op("NextAfter", "x1: T, x2: T -> output: T", T=_WIDE)
def next_after_op(x1: Tensor, x2: Tensor) -> Dims:
    """The next number after x1 towards x2 that the dtype can hold.

    Shape: both broadcast. Dtype: kept. Gradient: dy to x1, zero to x2.
    """
    return broadcast_dims(x1, x2)


@define_op("Betainc", "a: T, b: T, x: T -> z: T", T=_WIDE)
def betainc_op(a: Tensor, b: Tensor, x: Tensor) -> Dims:
    """The regularized incomplete beta function I_x(a, b).

    Shape: all three broadcast. Dtype: kept. Gradient: to x the beta density; not to a and b.
    """
    try:
        return broadcast(broadcast(a.dims, b.dims), x.dims)
    except ValueError:
        raise ValueError(
            "shapes do not broadcast: "
            f"{list_dims(a.dims)}, {list_dims(b.dims)} and {list_dims(x.dims)}"
        ) from None


def _gamma_density(a: Any, x: Any) -> Any:
    return exp(-x + (a - 1.0) * log(x) - lgamma_op(a))


@igamma_op.gradient
def igamma_gradient(op: Operation, grad: Tensor) -> list[Any]:
    a, x = op.inputs
    return broadcast_gradients(op, grad * igamma_grad_a_op(a, x), grad * _gamma_density(a, x))


@igammac_op.gradient
def igammac_gradient(op: Operation, grad: Tensor) -> list[Any]:
    a, x = op.inputs
    return broadcast_gradients(op, -grad * igamma_grad_a_op(a, x), -grad * _gamma_density(a, x))


@polygamma_op.gradient
def polygamma_gradient(op: Operation, grad: Tensor) -> list[Any]:
    a, x = op.inputs
    return broadcast_gradients(op, None, grad * polygamma_op(a + 1.0, x))


@zeta_op.gradient
def zeta_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, q = op.inputs
    return broadcast_gradients(op, None, grad * (-x * zeta_op(x + 1.0, q)))


@betainc_op.gradient
def betainc_gradient(op: Operation, grad: Tensor) -> list[Any]:
    a, b, x = op.inputs
    log_beta = lgamma_op(a) + lgamma_op(b) - lgamma_op(a + b)
    density = exp((b - 1.0) * log1p(-x) + (a - 1.0) * log(x) - log_beta)
    total = grad * density
    if x.dims is not None and x.dims == op.outputs[0].dims and None not in x.dims:
        return [None, None, total]
    shapes = [array_ops.shape(x), array_ops.shape(op.outputs[0])]
    axes, _ = array_ops.broadcast_gradient_args_op(*shapes)
    return [None, None, array_ops.reshape(reduce_sum(total, axes), shapes[0])]


def _nonzero(x: TensorLike, dtype: DTypeLike) -> Any:
    return cast(not_equal_op(x, array_ops.zeros_like(x)), dtype)


@xlogy_op.gradient
def xlogy_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op.inputs
    partial_x = conj_if_complex(xlogy_op(_nonzero(x, y.dtype), y))
    return broadcast_gradients(op, partial_x * grad, conj_if_complex(xdivy_op(x, y)) * grad)


@xlog1py_op.gradient
def xlog1py_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op.inputs
    partial_x = conj_if_complex(xlog1py_op(_nonzero(x, y.dtype), y))
    return broadcast_gradients(op, partial_x * grad, conj_if_complex(xdivy_op(x, y + 1.0)) * grad)


@xdivy_op.gradient
def xdivy_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op.inputs
    partial_x = conj_if_complex(xdivy_op(_nonzero(x, y.dtype), y))
    partial_y = conj_if_complex(xdivy_op(-x, square(y)))
    return broadcast_gradients(op, partial_x * grad, partial_y * grad)


@next_after_op.gradient
def next_after_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return broadcast_gradients(op, grad, array_ops.zeros_like(grad))


erf = erf_op
erfc = erfc_op
lgamma = lgamma_op
digamma = digamma_op
igamma = igamma_op
igammac = igammac_op
polygamma = polygamma_op
zeta = zeta_op
betainc = betainc_op
xlogy = xlogy_op
nextafter = next_after_op


def _scoped(op: OpDef, scope: str) -> Any:
    """The op in a name scope of its own, as TensorFlow builds these."""

    def function(*args: Any, name: str | None = None) -> Tensor:
        with default_graph().name_scope(name or scope):
            return op(*args)  # type: ignore[no-any-return]

    function.__name__ = scope
    function.__doc__ = op.__doc__
    return function


def _named_unary(op: OpDef, scope: str) -> Any:
    scoped = _scoped(op, scope)

    def function(x: TensorLike, name: str | None = None) -> Tensor:
        return scoped(x, name=name)  # type: ignore[no-any-return]

    function.__name__ = scope
    function.__doc__ = op.__doc__
    return function


def _named_binary(op: OpDef, scope: str) -> Any:
    scoped = _scoped(op, scope)

    def function(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
        return scoped(x, y, name=name)  # type: ignore[no-any-return]

    function.__name__ = scope
    function.__doc__ = op.__doc__
    return function


erfinv = _named_unary(erfinv_op, "erfinv")
ndtri = _named_unary(ndtri_op, "ndtri")
bessel_i0 = _named_unary(bessel_i0_op, "bessel_i0")
bessel_i0e = _named_unary(bessel_i0e_op, "bessel_i0e")
bessel_i1 = _named_unary(bessel_i1_op, "bessel_i1")
bessel_i1e = _named_unary(bessel_i1e_op, "bessel_i1e")
xlog1py = _named_binary(xlog1py_op, "xlog1py")
xdivy = _named_binary(xdivy_op, "xdivy")


def erfcinv(x: TensorLike, name: str | None = None) -> Tensor:
    """The inverse of erfc."""
    with default_graph().name_scope(name or "erfcinv"):
        x = convert_to_tensor(x, name="start")
        return -ndtri(0.5 * x) * math.sqrt(0.5)  # type: ignore[no-any-return]


def lbeta(x: TensorLike, name: str | None = None) -> Tensor:
    """The logarithm of the beta function along the last axis."""
    with default_graph().name_scope(name or "lbeta"):
        x = convert_to_tensor(x, name="x")
        return reduce_sum(lgamma_op(x), [-1]) - lgamma_op(reduce_sum(x, [-1]))  # type: ignore[no-any-return]
