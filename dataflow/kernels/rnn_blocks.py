"""Kernels of GRU and LSTM steps that are one op. Sources: Cho et al., 2014; Zaremba et al., 2014."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel


def _sigmoid(xp: Module, x: Array) -> Any:
    half = x.dtype.type(0.5)
    return xp.tanh(x * half) * half + half  # never overflows


def _check(x: Array, h_prev: Array, **matrices: tuple[Array, int]) -> None:
    """Raises where a matrix has not the rows of x and h_prev, or so many times units columns."""
    rows, units = x.shape[-1] + h_prev.shape[-1], h_prev.shape[-1]
    for name, (matrix, times) in matrices.items():
        if matrix.shape != (rows, times * units):
            raise InvalidArgumentError(
                None,
                None,
                f"{name} must have the shape {[rows, times * units]} for x {list(x.shape)} and h_prev "
                f"{list(h_prev.shape)}, got {list(matrix.shape)}",
            )
    if x.shape[-2] != h_prev.shape[0]:
        raise InvalidArgumentError(
            None,
            None,
            f"x and h_prev must have the same batch size, got {x.shape[-2]} and {h_prev.shape[0]}",
        )


# ---- GRU ----------------------------------------------------------------------------------------


@kernel("GRUBlockCell")
def gru_block_cell_kernel(
    xp: Module, x: Array, h_prev: Array, w_ru: Array, w_c: Array, b_ru: Array, b_c: Array
) -> Any:
    _check(x, h_prev, w_ru=(w_ru, 2), w_c=(w_c, 1))
    units = h_prev.shape[1]
    gates = _sigmoid(xp, xp.concatenate([x, h_prev], 1) @ w_ru + b_ru)
    r, u = gates[:, :units].copy(), gates[:, units:].copy()
    c = xp.tanh(xp.concatenate([x, h_prev * r], 1) @ w_c + b_c)
    return r, u, c, (1 - u) * c + u * h_prev


@kernel("GRUBlockCellGrad")
def gru_block_cell_grad_kernel(
    xp: Any,
    x: Array,
    h_prev: Array,
    w_ru: Array,
    w_c: Array,
    b_ru: Array,
    b_c: Array,
    r: Array,
    u: Array,
    c: Array,
    d_h: Array,
) -> Any:
    _check(x, h_prev, w_ru=(w_ru, 2), w_c=(w_c, 1))
    inputs = x.shape[1]
    d_u_bar = d_h * (h_prev - c) * u * (1 - u)
    d_c_bar = d_h * (1 - u) * (1 - c * c)
    by_candidate = d_c_bar @ w_c.T
    d_reset = by_candidate[:, inputs:]
    d_gates = xp.concatenate([d_reset * h_prev * r * (1 - r), d_u_bar], 1)
    by_gates = d_gates @ w_ru.T
    d_x = by_candidate[:, :inputs] + by_gates[:, :inputs]
    return d_x, by_gates[:, inputs:] + d_reset * r + d_h * u, d_c_bar, d_gates


# ---- LSTM ---------------------------------------------------------------------------------------


def _lstm_step(
    xp: Any,
    x: Array,
    cs_prev: Array,
    h_prev: Array,
    w: Array,
    peepholes: Any,
    b: Array,
    forget_bias: float,
    cell_clip: float,
) -> tuple[Any, ...]:
    """i, cs, f, o, ci, co and h; ``peepholes``: those of i, f and o, or None."""
    units = cs_prev.shape[1]
    gates = xp.concatenate([x, h_prev], 1) @ w + b
    i, ci, f, o = (gates[:, k * units : (k + 1) * units] for k in range(4))
    if peepholes is not None:
        i, f = i + cs_prev * peepholes[0], f + cs_prev * peepholes[1]
    i, ci, f = _sigmoid(xp, i), xp.tanh(ci), _sigmoid(xp, f + b.dtype.type(forget_bias))
    cs = ci * i + f * cs_prev
    if cell_clip > 0:
        cs = xp.clip(cs, -b.dtype.type(cell_clip), b.dtype.type(cell_clip))
    if peepholes is not None:
        o = o + cs * peepholes[2]
    o, co = _sigmoid(xp, o), xp.tanh(cs)
    return i, cs, f, o, ci, co, o * co


@kernel("LSTMBlockCell")
def lstm_block_cell_kernel(
    xp: Module,
    x: Array,
    cs_prev: Array,
    h_prev: Array,
    w: Array,
    wci: Array,
    wcf: Array,
    wco: Array,
    b: Array,
    *,
    forget_bias: float,
    cell_clip: float,
    use_peephole: bool,
) -> Any:
    _check(x, h_prev, w=(w, 4))
    peepholes = (wci, wcf, wco) if use_peephole else None
    return _lstm_step(xp, x, cs_prev, h_prev, w, peepholes, b, forget_bias, cell_clip)


def _lstm_step_gradient(
    xp: Any, cs_prev: Array, values: Any, peepholes: Any, cs_grad: Array, h_grad: Array
) -> tuple[Any, ...]:
    """The gradient by cs_prev and by what goes into i, ci, f and o, and those by the peepholes."""
    i, cs, f, o, ci, co = values
    d_o = o * (1 - o) * h_grad * co
    d_cs = (1 - co * co) * h_grad * o + cs_grad
    if peepholes is not None:
        d_cs = d_cs + d_o * peepholes[2]
    d_ci = (1 - ci * ci) * d_cs * i
    d_f = f * (1 - f) * d_cs * cs_prev
    d_i = i * (1 - i) * d_cs * ci
    d_cs_prev = d_cs * f
    by_peepholes: Any = [xp.zeros(cs.shape[1], cs.dtype) for _ in range(3)]
    if peepholes is not None:
        d_cs_prev = d_cs_prev + d_i * peepholes[0] + d_f * peepholes[1]
        by_peepholes = [(d_i * cs_prev).sum(0), (d_f * cs_prev).sum(0), (d_o * cs).sum(0)]
    return d_cs_prev, xp.concatenate([d_i, d_ci, d_f, d_o], 1), by_peepholes


@kernel("LSTMBlockCellGrad")
def lstm_block_cell_grad_kernel(
    xp: Module,
    x: Array,
    cs_prev: Array,
    h_prev: Array,
    w: Array,
    wci: Array,
    wcf: Array,
    wco: Array,
    b: Array,
    i: Array,
    cs: Array,
    f: Array,
    o: Array,
    ci: Array,
    co: Array,
    cs_grad: Array,
    h_grad: Array,
    *,
    use_peephole: bool,
) -> Any:
    peepholes = (wci, wcf, wco) if use_peephole else None
    d_cs_prev, d_gates, by_peepholes = _lstm_step_gradient(
        xp, cs_prev, (i, cs, f, o, ci, co), peepholes, cs_grad, h_grad
    )
    return d_cs_prev, d_gates, *by_peepholes


def _num_steps(seq_len_max: Array, x: Array) -> int:
    steps = int(seq_len_max)
    if not 0 <= steps <= x.shape[0]:
        raise InvalidArgumentError(
            None, None, f"seq_len_max must be from 0 to the {x.shape[0]} steps of x, got {steps}"
        )
    return steps


@kernel("BlockLSTM")
def block_lstm_kernel(
    xp: Any,
    seq_len_max: Array,
    x: Array,
    cs_prev: Array,
    h_prev: Array,
    w: Array,
    wci: Array,
    wcf: Array,
    wco: Array,
    b: Array,
    *,
    forget_bias: float,
    cell_clip: float,
    use_peephole: bool,
) -> Any:
    _check(x, h_prev, w=(w, 4))
    peepholes = (wci, wcf, wco) if use_peephole else None
    outputs = tuple(xp.zeros((x.shape[0], *cs_prev.shape), x.dtype) for _ in range(7))
    for t in range(_num_steps(seq_len_max, x)):
        step = _lstm_step(xp, x[t], cs_prev, h_prev, w, peepholes, b, forget_bias, cell_clip)
        for output, value in zip(outputs, step, strict=True):
            output[t] = value
        cs_prev, h_prev = step[1], step[6]
    return outputs


@kernel("BlockLSTMGrad")
def block_lstm_grad_kernel(
    xp: Any,
    seq_len_max: Array,
    x: Array,
    cs_prev: Array,
    h_prev: Array,
    w: Array,
    wci: Array,
    wcf: Array,
    wco: Array,
    b: Array,
    *outputs_and_grads: Array,
    use_peephole: bool,
) -> Any:
    _check(x, h_prev, w=(w, 4))
    *values, h, cs_grad, h_grad = outputs_and_grads
    peepholes = (wci, wcf, wco) if use_peephole else None
    x_grad, w_grad, b_grad = xp.zeros_like(x), xp.zeros_like(w), xp.zeros_like(b)
    by_peepholes = [xp.zeros_like(p) for p in (wci, wcf, wco)]
    d_cs, d_h = xp.zeros_like(cs_prev), xp.zeros_like(h_prev)
    inputs = x.shape[2]
    for t in reversed(range(_num_steps(seq_len_max, x))):
        before_cs, before_h = (values[1][t - 1], h[t - 1]) if t else (cs_prev, h_prev)
        now = tuple(value[t] for value in values)
        d_cs, d_gates, slopes = _lstm_step_gradient(
            xp, before_cs, now, peepholes, cs_grad[t] + d_cs, h_grad[t] + d_h
        )
        both = d_gates @ w.T
        x_grad[t], d_h = both[:, :inputs], both[:, inputs:]
        w_grad += xp.concatenate([x[t], before_h], 1).T @ d_gates
        b_grad += d_gates.sum(0)
        for total, slope in zip(by_peepholes, slopes, strict=True):
            total += slope
    return (
        x_grad,
        d_cs,
        np.ascontiguousarray(d_h) if xp is np else d_h.copy(),
        w_grad,
        *by_peepholes,
        b_grad,
    )
