"""Kernels of the ops in `dataflow.ops.elementary`."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.kernels.jit.native_ufunc import MappedOp
from dataflow.kernels.jit.step_codegen import can_write
from dataflow.kernels.registry import kernel, ufunc_kernel

#: From here on the team's threads are worth more than a ufunc's short call.
_LARGE_ELEMENTS = 1 << 16


def _shared_ufunc_kernel(op_type: str, ufunc: str) -> None:
    """As `ufunc_kernel`, with large arrays shared by the team's threads."""
    op = MappedOp(1, (op_type, (0,)))

    @kernel(op_type, factory=True, takes_out=True)
    def bind(xp: Any) -> Any:
        function = getattr(xp, ufunc)
        if xp is not np:
            return function

        def call(x: Any, out: Any = None) -> Any:
            if out is not None and (out.shape != x.shape or out.dtype != x.dtype):
                out = None
            if x.size < _LARGE_ELEMENTS or x.dtype.char not in "fd":
                return function(x, out=out)
            return op(x.dtype, [x], lambda operands: function(operands[0], out=out), out=out)

        return call


_UFUNCS = {
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
}
for _type, _ufunc in _UFUNCS.items():
    (_shared_ufunc_kernel if can_write(_type, "float32") else ufunc_kernel)(_type, _ufunc)


_SIGMOID = MappedOp(1, ("Sigmoid", (0,)))
_TANH_GRADIENT = MappedOp(2, ("TanhGrad", (0, 1)))
_SIGMOID_GRADIENT = MappedOp(2, ("SigmoidGrad", (0, 1)))


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
        return _SIGMOID(x.dtype, [x], by_ufuncs) if xp is np else by_ufuncs([x])

    def by_ufuncs(inputs: list[Any]) -> Any:
        (x,) = inputs
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


def _tanh_grad(inputs: list[Any]) -> Any:
    y, dy = inputs
    return dy * (1 - y * y)


def _sigmoid_grad(inputs: list[Any]) -> Any:
    y, dy = inputs
    return (1 - y) * y * dy  # the factors in the order that a fused chain has


@kernel("TanhGrad")
def tanh_grad_kernel(xp: Any, y: Any, dy: Any) -> Any:
    return _TANH_GRADIENT(dy.dtype, [y, dy], _tanh_grad) if xp is np else _tanh_grad([y, dy])


@kernel("SigmoidGrad")
def sigmoid_grad_kernel(xp: Any, y: Any, dy: Any) -> Any:
    return (
        _SIGMOID_GRADIENT(dy.dtype, [y, dy], _sigmoid_grad) if xp is np else _sigmoid_grad([y, dy])
    )
