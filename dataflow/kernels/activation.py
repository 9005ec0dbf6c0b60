"""Kernels of the ops in `dataflow.ops.activation`."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.cuda import softmax as cuda_rows
from dataflow.kernels.cuda.source import can_run
from dataflow.kernels.jit.native_ufunc import SMALL_ELEMENTS, MappedOp
from dataflow.kernels.reduce import row_maxima, row_sums
from dataflow.kernels.registry import kernel

#: Klambauer, Unterthiner, Mayr, Hochreiter: Self-Normalizing Neural Networks (2017), equation 2.
SELU_SCALE = 1.0507009873554805
SELU_ALPHA = 1.6732632423543772


_RELU = MappedOp(1, ("Relu", (0,)))
_RELU6 = MappedOp(1, ("Relu6", (0,)))


@kernel("Relu", factory=True)
def relu_kernel(xp: Any) -> Any:
    maximum = xp.maximum
    if xp is not np:
        return lambda x: maximum(x, 0)

    def by_ufunc(operands: list[Any]) -> Any:
        return maximum(operands[0], 0)

    return lambda x: maximum(x, 0) if x.size < SMALL_ELEMENTS else _RELU(x.dtype, [x], by_ufunc)


@kernel("ReluGrad", factory=True)
def relu_grad_kernel(xp: Any) -> Any:
    multiply, greater = xp.multiply, xp.greater
    if xp is not np:
        return lambda dy, x: multiply(dy, greater(x, 0))

    def by_ufuncs(operands: list[Any]) -> Any:
        dy, x = operands
        return multiply(dy, greater(x, 0))

    return lambda dy, x, reused=None: _RELU_GRADIENT(dy.dtype, [dy, x], by_ufuncs, reused)


_RELU_GRADIENT = MappedOp(
    2,
    ("Const", (0.0,)),
    ("Greater", (1, 2)),
    ("Const", (1.0,)),
    ("Select", (3, 4, 2)),
    ("Mul", (0, 5)),
)


@kernel("Relu6")
def relu6_kernel(xp: Any, x: Any) -> Any:
    if xp is np:
        return _RELU6(x.dtype, [x], lambda operands: np.minimum(np.maximum(operands[0], 0), 6))
    return xp.minimum(xp.maximum(x, 0), 6)


@kernel("Relu6Grad")
def relu6_grad_kernel(xp: Any, dy: Any, x: Any) -> Any:
    def by_ufuncs(operands: list[Any]) -> Any:
        dy, x = operands
        return dy * ((x > 0) & (x < 6))

    return _RELU6_GRADIENT(dy.dtype, [dy, x], by_ufuncs) if xp is np else by_ufuncs([dy, x])


_RELU6_GRADIENT = MappedOp(
    2,
    *(("Const", (number,)) for number in (0.0, 6.0, 1.0)),
    ("Greater", (1, 2)),
    ("Less", (1, 3)),
    ("LogicalAnd", (5, 6)),
    ("Select", (7, 4, 2)),
    ("Mul", (0, 8)),
)


def _or_mapped(xp: Any, op: MappedOp, inputs: list[Any], by_ufuncs: Any) -> Any:
    """Machine code where there is some, on the host; else ``by_ufuncs(*inputs)``."""
    if xp is np:
        return op(inputs[0].dtype, inputs, lambda operands: by_ufuncs(*operands))
    return by_ufuncs(*inputs)


#: x, alpha
_LEAKY = MappedOp(2, ("Const", (0.0,)), ("Greater", (0, 2)), ("Mul", (0, 1)), ("Select", (3, 0, 4)))
#: gradient, x, alpha
_LEAKY_GRADIENT = MappedOp(
    3, ("Const", (0.0,)), ("Greater", (1, 3)), ("Mul", (0, 2)), ("Select", (4, 0, 5))
)


@kernel("LeakyRelu")
def leaky_relu_kernel(xp: Any, x: Any, *, alpha: float) -> Any:
    def by_ufuncs(x: Any, alpha: Any) -> Any:
        return xp.where(x > 0, x, x * alpha)[()]

    return _or_mapped(xp, _LEAKY, [x, x.dtype.type(alpha)], by_ufuncs)


@kernel("LeakyReluGrad")
def leaky_relu_grad_kernel(xp: Any, dy: Any, x: Any, *, alpha: float) -> Any:
    def by_ufuncs(dy: Any, x: Any, alpha: Any) -> Any:
        return xp.where(x > 0, dy, dy * alpha)[()]

    return _or_mapped(xp, _LEAKY_GRADIENT, [dy, x, dy.dtype.type(alpha)], by_ufuncs)


_ELU = MappedOp(1, ("Const", (0.0,)), ("Less", (0, 1)), ("Expm1", (0,)), ("Select", (2, 3, 0)))
#: gradient, result
_ELU_GRADIENT = MappedOp(
    2,
    *(("Const", (0.0,)), ("Const", (1.0,)), ("Less", (1, 2)), ("Add", (1, 3))),
    *(("Mul", (5, 0)), ("Select", (4, 6, 0))),
)
_SELU = MappedOp(
    1,
    *(("Const", (number,)) for number in (0.0, SELU_SCALE * SELU_ALPHA, SELU_SCALE)),
    *(("Less", (0, 1)), ("Expm1", (0,)), ("Mul", (2, 5)), ("Mul", (3, 0)), ("Select", (4, 6, 7))),
)
_SELU_GRADIENT = MappedOp(
    2,
    *(("Const", (number,)) for number in (0.0, SELU_SCALE * SELU_ALPHA, SELU_SCALE)),
    *(("Less", (1, 2)), ("Add", (1, 3)), ("Mul", (0, 6)), ("Mul", (0, 4)), ("Select", (5, 7, 8))),
)


@kernel("Elu")
def elu_kernel(xp: Any, x: Any) -> Any:
    def by_ufuncs(x: Any) -> Any:
        return xp.where(x < 0, xp.expm1(x), x)[()]

    return _or_mapped(xp, _ELU, [x], by_ufuncs)


@kernel("EluGrad")
def elu_grad_kernel(xp: Any, dy: Any, y: Any) -> Any:
    def by_ufuncs(dy: Any, y: Any) -> Any:
        return xp.where(y < 0, (y + 1) * dy, dy)[()]

    return _or_mapped(xp, _ELU_GRADIENT, [dy, y], by_ufuncs)


@kernel("Selu")
def selu_kernel(xp: Any, x: Any) -> Any:
    def by_ufuncs(x: Any) -> Any:
        return xp.where(x < 0, SELU_SCALE * SELU_ALPHA * xp.expm1(x), SELU_SCALE * x)[()]

    return _or_mapped(xp, _SELU, [x], by_ufuncs)


@kernel("SeluGrad")
def selu_grad_kernel(xp: Any, dy: Any, y: Any) -> Any:
    def by_ufuncs(dy: Any, y: Any) -> Any:
        return xp.where(y < 0, dy * (y + SELU_SCALE * SELU_ALPHA), dy * SELU_SCALE)[()]

    return _or_mapped(xp, _SELU_GRADIENT, [dy, y], by_ufuncs)


_SOFTPLUS = MappedOp(
    1, ("Abs", (0,)), ("Neg", (1,)), ("Exp", (2,)), ("Log1p", (3,)), ("Relu", (0,)), ("Add", (4, 5))
)
#: gradient, x
_SOFTPLUS_GRADIENT = MappedOp(
    2, ("Neg", (1,)), ("Exp", (2,)), ("Const", (1.0,)), ("Add", (3, 4)), ("RealDiv", (0, 5))
)


@kernel("Softplus")
def softplus_kernel(xp: Any, x: Any) -> Any:
    if not x.shape:
        return xp.logaddexp(x, x.dtype.type(0))

    def by_ufuncs(x: Any) -> Any:
        t = xp.abs(x)  # max(x, 0) + log1p(exp(-abs(x))): exact where exp(x) would overflow
        xp.negative(t, out=t)
        xp.exp(t, out=t)
        xp.log1p(t, out=t)
        t += xp.maximum(x, 0)
        return t

    return _or_mapped(xp, _SOFTPLUS, [x], by_ufuncs)


@kernel("SoftplusGrad")
def softplus_grad_kernel(xp: Any, dy: Any, x: Any) -> Any:
    def by_ufuncs(dy: Any, x: Any) -> Any:
        return dy / (xp.exp(-x) + 1)

    return _or_mapped(xp, _SOFTPLUS_GRADIENT, [dy, x], by_ufuncs)


_SOFTSIGN = MappedOp(1, ("Abs", (0,)), ("Const", (1.0,)), ("Add", (1, 2)), ("RealDiv", (0, 3)))
#: gradient, x
_SOFTSIGN_GRADIENT = MappedOp(
    2, ("Abs", (1,)), ("Const", (1.0,)), ("Add", (2, 3)), ("Square", (4,)), ("RealDiv", (0, 5))
)


@kernel("Softsign")
def softsign_kernel(xp: Any, x: Any) -> Any:
    def by_ufuncs(x: Any) -> Any:
        return x / (xp.abs(x) + 1)

    return _or_mapped(xp, _SOFTSIGN, [x], by_ufuncs)


@kernel("SoftsignGrad")
def softsign_grad_kernel(xp: Any, dy: Any, x: Any) -> Any:
    def by_ufuncs(dy: Any, x: Any) -> Any:
        return dy / xp.square(xp.abs(x) + 1)

    return _or_mapped(xp, _SOFTSIGN_GRADIENT, [dy, x], by_ufuncs)


#: x, its largest
_POWERS = MappedOp(2, ("Sub", (0, 1)), ("Exp", (2,)))
_QUOTIENTS = MappedOp(2, ("RealDiv", (0, 1)))
#: x, its largest, the logarithm of the sum of its powers
_LOGARITHMS = MappedOp(3, ("Sub", (0, 1)), ("Sub", (3, 2)))


def _powers_by_ufuncs(operands: list[Any]) -> Any:
    x, largest = operands
    shifted = x - largest
    return np.exp(shifted, out=shifted)


def powers(xp: Any, x: Any, largest: Any) -> Any:
    """``exp(x - largest)``: with the largest of each row, no exponential overflows."""
    if xp is not np:
        shifted = x - largest
        return xp.exp(shifted, out=shifted)
    if x.size < SMALL_ELEMENTS:
        return _powers_by_ufuncs([x, largest])
    return _POWERS(x.dtype, [x, largest], _powers_by_ufuncs)


def _divide_by_ufunc(operands: list[Any]) -> Any:
    powers, totals = operands
    powers /= totals
    return powers


def divide_rows(xp: Any, powers: Any, totals: Any) -> Any:
    """``powers / totals``, in place."""
    if xp is not np or powers.size < SMALL_ELEMENTS:
        return _divide_by_ufunc([powers, totals])
    return _QUOTIENTS(powers.dtype, [powers, totals], _divide_by_ufunc, reused=0)


@kernel("Softmax")
def softmax_kernel(xp: Any, logits: Any) -> Any:
    if not logits.size:
        return logits.copy()
    if can_run(xp, logits):
        return cuda_rows.softmax(xp, logits)
    result = powers(xp, logits, row_maxima(xp, logits))
    return divide_rows(xp, result, row_sums(xp, result))


@kernel("LogSoftmax")
def log_softmax_kernel(xp: Any, logits: Any) -> Any:
    if not logits.size:
        return logits.copy()
    if can_run(xp, logits):
        return cuda_rows.softmax(xp, logits, logarithm=True)

    largest = row_maxima(xp, logits)
    logarithms = xp.log(row_sums(xp, powers(xp, logits, largest)))
    operands = [logits, largest, logarithms]
    if xp is not np or logits.size < SMALL_ELEMENTS:
        return _logarithms_by_ufuncs(operands)
    return _LOGARITHMS(logits.dtype, operands, _logarithms_by_ufuncs)


def _logarithms_by_ufuncs(operands: list[Any]) -> Any:
    logits, largest, logarithms = operands
    shifted = logits - largest
    shifted -= logarithms
    return shifted


@kernel("L2Loss")
def l2_loss_kernel(xp: Any, t: Any) -> Any:
    flat = t.reshape(-1)
    if xp is not np:  # not by cuBLAS, which CuPy keeps out of CUDA graphs
        return xp.square(flat).sum() * t.dtype.type(0.5)
    return np.dot(flat, flat) * t.dtype.type(0.5)
