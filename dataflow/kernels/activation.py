"""Kernels of the ops in `dataflow.ops.activation`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda import softmax as cuda_rows
from dataflow.kernels.cuda.source import can_run
from dataflow.kernels.jit import op_table
from dataflow.kernels.jit.native_ufunc import SMALL_ELEMENTS, NativeUfunc
from dataflow.kernels.jit.row_mapping import softmax
from dataflow.kernels.reduce import row_maxima, row_sums
from dataflow.kernels.registry import kernel

#: Klambauer, Unterthiner, Mayr, Hochreiter: Self-Normalizing Neural Networks (2017), equation 2.
SELU_SCALE = 1.0507009873554805
SELU_ALPHA = 1.6732632423543772


_relu = NativeUfunc(op_table.relu)
_relu_gradient = NativeUfunc(op_table.relu_gradient)


@kernel("Relu", factory=True)
def relu_kernel(xp: Module) -> Any:
    maximum = xp.maximum
    if xp is not np:
        return lambda x: maximum(x, 0)
    return lambda x: maximum(x, 0) if x.size < SMALL_ELEMENTS else _relu(np, x)


@kernel("ReluGrad", factory=True)
def relu_grad_kernel(xp: Module) -> Any:
    if xp is not np:
        return functools.partial(_relu_gradient, xp)
    return lambda dy, x, reused=None: _relu_gradient(np, dy, x, reused=reused)


def _element_wise_kernel(op_type: str) -> Callable[[Callable[..., Any]], NativeUfunc]:
    """The kernel of an op is the function itself, on arrays of any library."""

    def register(function: Callable[..., Any]) -> NativeUfunc:
        ufunc = NativeUfunc(function)
        kernel(op_type, factory=True)(lambda xp: functools.partial(ufunc, xp))
        return ufunc

    return register


_element_wise_kernel("Relu6")(op_table.relu6)


@_element_wise_kernel("Relu6Grad")
def _relu6_gradient(xp: Module, dy: Array, x: Array) -> Any:
    return dy * ((x > 0) & (x < 6))


@NativeUfunc
def _leaky_relu(xp: Module, x: Array, alpha: Any) -> Any:
    return xp.where(x > 0, x, x * alpha)[()]


@NativeUfunc
def _leaky_relu_gradient(xp: Module, dy: Array, x: Array, alpha: Any) -> Any:
    return xp.where(x > 0, dy, dy * alpha)[()]


@kernel("LeakyRelu")
def leaky_relu_kernel(xp: Module, x: Array, *, alpha: float) -> Any:
    return _leaky_relu(xp, x, x.dtype.type(alpha))


@kernel("LeakyReluGrad")
def leaky_relu_grad_kernel(xp: Module, dy: Array, x: Array, *, alpha: float) -> Any:
    return _leaky_relu_gradient(xp, dy, x, dy.dtype.type(alpha))


@_element_wise_kernel("Elu")
def _elu(xp: Module, x: Array) -> Any:
    return xp.where(x < 0, xp.expm1(x), x)[()]


@_element_wise_kernel("EluGrad")
def _elu_gradient(xp: Module, dy: Array, y: Array) -> Any:
    return xp.where(y < 0, (y + 1) * dy, dy)[()]


@_element_wise_kernel("Selu")
def _selu(xp: Module, x: Array) -> Any:
    return xp.where(x < 0, SELU_SCALE * SELU_ALPHA * xp.expm1(x), SELU_SCALE * x)[()]


@_element_wise_kernel("SeluGrad")
def _selu_gradient(xp: Module, dy: Array, y: Array) -> Any:
    return xp.where(y < 0, dy * (y + SELU_SCALE * SELU_ALPHA), dy * SELU_SCALE)[()]


@NativeUfunc
def softplus(xp: Module, x: Array) -> Any:
    """``log(1 + exp(x))``."""
    t = xp.abs(x)  # max(x, 0) + log1p(exp(-abs(x))): exact where exp(x) would overflow
    xp.negative(t, out=t)
    t = op_table.log1p(xp, xp.exp(t, out=t))
    t += xp.maximum(x, 0)
    return t


@kernel("Softplus")
def softplus_kernel(xp: Module, x: Array) -> Any:
    return softplus(xp, x) if x.shape else xp.logaddexp(x, x.dtype.type(0))


@_element_wise_kernel("SoftplusGrad")
def _softplus_gradient(xp: Module, dy: Array, x: Array) -> Any:
    return dy / (xp.exp(-x) + 1)


@_element_wise_kernel("Softsign")
def _softsign(xp: Module, x: Array) -> Any:
    return x / (xp.abs(x) + 1)


@_element_wise_kernel("SoftsignGrad")
def _softsign_gradient(xp: Module, dy: Array, x: Array) -> Any:
    return dy / xp.square(xp.abs(x) + 1)


@NativeUfunc
def powers(xp: Module, x: Array, largest: Any) -> Any:
    """``exp(x - largest)``: with the largest of each row, no exponential overflows."""
    shifted = x - largest
    return xp.exp(shifted, out=shifted)


@NativeUfunc
def _quotients(xp: Module, powers: Any, totals: Any) -> Any:
    powers /= totals
    return powers


def divide_rows(xp: Module, powers: Any, totals: Any) -> Any:
    """``powers / totals``, in place."""
    return _quotients(xp, powers, totals, reused=0)


@kernel("Softmax")
def softmax_kernel(xp: Module, logits: Array) -> Any:
    if not logits.size:
        return logits.copy()
    if can_run(xp, logits):
        return cuda_rows.softmax(xp, logits)
    if xp is np and logits.size < SMALL_ELEMENTS:  # a third of the time is what surrounds the calls
        result = logits - row_maxima(np, logits)
        np.exp(result, out=result)
        result /= row_sums(np, result)
        return result
    found = softmax(logits) if xp is np else None
    if found is not None:
        return found
    result = powers(xp, logits, row_maxima(xp, logits))
    return divide_rows(xp, result, row_sums(xp, result))


@kernel("LogSoftmax")
def log_softmax_kernel(xp: Module, logits: Array) -> Any:
    if not logits.size:
        return logits.copy()
    if can_run(xp, logits):
        return cuda_rows.softmax(xp, logits, logarithm=True)

    largest = row_maxima(xp, logits)
    logarithms = xp.log(row_sums(xp, powers(xp, logits, largest)))
    return _logarithms(xp, logits, largest, logarithms)


@NativeUfunc
def _logarithms(xp: Module, logits: Any, largest: Any, logarithms: Any) -> Any:
    """``largest`` and ``logarithms``, of the sum of its powers, are those of each row."""
    shifted = logits - largest
    shifted -= logarithms
    return shifted


@kernel("L2Loss")
def l2_loss_kernel(xp: Module, t: Array) -> Any:
    flat = t.reshape(-1)
    if xp is not np:  # not by cuBLAS, which CuPy keeps out of CUDA graphs
        return xp.square(flat).sum() * t.dtype.type(0.5)
    return np.dot(flat, flat) * t.dtype.type(0.5)
