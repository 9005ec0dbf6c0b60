"""Kernels of the ops in `dataflow.ops.elementary`."""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import DType
from dataflow.kernels.registry import kernel, ufunc_kernel

for _type, _ufunc in {
    "Exp": "exp",
    "Expm1": "expm1",
    "Log": "log",
    "Log1p": "log1p",
    "Square": "square",
    "Sqrt": "sqrt",
    "Reciprocal": "reciprocal",
    "Inv": "reciprocal",
    "Neg": "negative",
    "Abs": "absolute",
    "ComplexAbs": "absolute",
    "Sign": "sign",
    "Sin": "sin",
    "Cos": "cos",
    "Tan": "tan",
    "Asin": "arcsin",
    "Acos": "arccos",
    "Atan": "arctan",
    "Sinh": "sinh",
    "Cosh": "cosh",
    "Tanh": "tanh",
    "Asinh": "arcsinh",
    "Acosh": "arccosh",
    "Atanh": "arctanh",
    "Floor": "floor",
    "Ceil": "ceil",
    "Rint": "rint",
}.items():
    ufunc_kernel(_type, _ufunc)


@kernel("Round", factory=True)
def round_kernel(xp: Any, *, T: DType) -> Any:
    return xp.rint if T.kind in "fc" else xp.positive


@kernel("Rsqrt", factory=True)
def rsqrt_kernel(xp: Any) -> Any:
    reciprocal, sqrt = xp.reciprocal, xp.sqrt
    return lambda x: reciprocal(sqrt(x))


@kernel("Sigmoid", factory=True)
def sigmoid_kernel(xp: Any) -> Any:
    negative, exp, divide = xp.negative, xp.exp, xp.divide

    def sigmoid(x: Any) -> Any:
        if not x.shape:
            return xp.reciprocal(exp(negative(x)) + 1)
        t = negative(x)
        exp(t, out=t)  # infinite for very negative x, which gives the right 0 below
        t += 1
        return divide(1, t, out=t)  # quicker than `reciprocal`, and the same number

    return sigmoid


def _conj(y: Any) -> Any:
    return y.conj() if y.dtype.kind == "c" else y


@kernel("SqrtGrad")
def sqrt_grad_kernel(xp: Any, y: Any, dy: Any) -> Any:
    return dy * 0.5 / _conj(y)


@kernel("RsqrtGrad")
def rsqrt_grad_kernel(xp: Any, y: Any, dy: Any) -> Any:
    y = _conj(y)
    return dy * -0.5 * (y * y * y)


@kernel("ReciprocalGrad", "InvGrad")
def reciprocal_grad_kernel(xp: Any, y: Any, dy: Any) -> Any:
    y = _conj(y)
    return -dy * (y * y)


@kernel("TanhGrad")
def tanh_grad_kernel(xp: Any, y: Any, dy: Any) -> Any:
    return dy * (1 - y * y)


@kernel("SigmoidGrad")
def sigmoid_grad_kernel(xp: Any, y: Any, dy: Any) -> Any:
    return dy * y * (1 - y)
