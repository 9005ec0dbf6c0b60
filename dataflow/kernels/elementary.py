"""Kernels of the ops in `dataflow.ops.elementary`."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.jit import op_table
from dataflow.kernels.jit.native_ufunc import NativeUfunc
from dataflow.kernels.jit.step_codegen import can_write
from dataflow.kernels.registry import kernel, ufunc_kernel

#: From here on the team's threads are worth more than a ufunc's short call.
_LARGE_ELEMENTS = 1 << 16


def _shared_ufunc_kernel(op_type: str, ufunc: str) -> None:
    """As `ufunc_kernel`, with large arrays shared by the team's threads."""
    shared = NativeUfunc(lambda xp, x: getattr(xp, ufunc)(x), getattr(np, ufunc))

    @kernel(op_type, factory=True, takes_out=True)
    def bind(xp: Module) -> Any:
        function = getattr(xp, ufunc)
        if xp is not np:
            return function

        def call(x: Array, out: Any = None) -> Any:
            if not x.shape and out is None:  # a node of a chain of scalars: nothing but the call
                return function(x)
            if out is not None and (out.shape != x.shape or out.dtype != x.dtype):
                out = None
            if x.size < _LARGE_ELEMENTS or x.dtype.char not in "fd":
                return function(x, out=out)
            return shared(np, x, out=out)

        return call


_UFUNCS = {
    "Exp": "exp",
    "Expm1": "expm1",
    "Log": "log",
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
#: One instruction an element: NumPy's own loop is as quick as ours, and waking a thread for it costs
#: more than the thread saves. Measured for machine code and two threads beside NumPy, float32 from 2^16
#: to 2^20 elements in microseconds: Square 17 to 392 (NumPy 9 to 241), Neg 22 to 200 (10 to 147), Floor
#: 20 to 267 (10 to 163); while Exp takes 65 to 670 (87 to 1817), Sign 44 (64) at 2^17 and 201 (499) at 2^20.
_BY_NUMPY = frozenset({"Square", "Neg", "Abs", "Floor", "Ceil", "Rint"})
for _type, _ufunc in _UFUNCS.items():
    _shares = _type not in _BY_NUMPY and can_write(_type, "float32")
    (_shared_ufunc_kernel if _shares else ufunc_kernel)(_type, _ufunc)


@kernel("Round", factory=True)
def round_kernel(xp: Module, *, T: DType) -> Any:
    return xp.rint if T.kind in "fc" else xp.positive


@kernel("Rsqrt", factory=True)
def rsqrt_kernel(xp: Module) -> Any:
    reciprocal, sqrt = xp.reciprocal, xp.sqrt
    return lambda x: reciprocal(sqrt(x))


_sigmoid = NativeUfunc(op_table.sigmoid)
_log1p = NativeUfunc(op_table.log1p)


@kernel("Sigmoid")
def sigmoid_kernel(xp: Module, x: Array) -> Any:
    return _sigmoid(xp, x) if x.shape else 1 / (xp.exp(-x) + 1)


@kernel("Log1p")
def log1p_kernel(xp: Module, x: Array) -> Any:
    if x.dtype.kind == "c":
        return xp.log1p(x)
    return _log1p(xp, x) if x.shape else op_table.log1p(xp, x)[()]


def _conj(y: Array) -> Any:
    return y.conj() if y.dtype.kind == "c" else y


@kernel("SqrtGrad")
def sqrt_grad_kernel(xp: Module, y: Array, dy: Array) -> Any:
    return dy * 0.5 / _conj(y)


@kernel("RsqrtGrad")
def rsqrt_grad_kernel(xp: Module, y: Array, dy: Array) -> Any:
    return op_table.reciprocal_square_root_gradient(xp, _conj(y), dy)


@kernel("ReciprocalGrad", "InvGrad")
def reciprocal_grad_kernel(xp: Module, y: Array, dy: Array) -> Any:
    y = _conj(y)
    return -dy * (y * y)


_tanh_gradient = NativeUfunc(op_table.tanh_gradient)
_sigmoid_gradient = NativeUfunc(op_table.sigmoid_gradient)


@kernel("TanhGrad", factory=True)
def tanh_grad_kernel(xp: Module) -> Any:
    # Scalars by Python's operators: a twentieth of the time of the three functions, and the same bits.
    return lambda y, dy: _tanh_gradient(xp, y, dy) if y.shape else (1 - y * y) * dy


@kernel("SigmoidGrad", factory=True)
def sigmoid_grad_kernel(xp: Module) -> Any:
    return lambda y, dy: _sigmoid_gradient(xp, y, dy) if y.shape else (1 - y) * y * dy
