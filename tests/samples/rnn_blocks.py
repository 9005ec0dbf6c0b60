"""Samples of GRU and LSTM steps as one op, against their formulas in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.raw_op import raw
from tests.samples.base import Sample

_rng = np.random.default_rng(23)
BATCH, INPUTS, UNITS, STEPS = 3, 2, 4, 5


def _array(*shape: int) -> Any:
    return (_rng.standard_normal(shape) / 2).astype(np.float32)


GRU_NAMES = ("x", "h_prev", "w_ru", "w_c", "b_ru", "b_c")
GRU = (
    _array(BATCH, INPUTS),
    _array(BATCH, UNITS),
    _array(INPUTS + UNITS, 2 * UNITS),
    _array(INPUTS + UNITS, UNITS),
    _array(2 * UNITS),
    _array(UNITS),
)
LSTM_NAMES = ("x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")
LSTM = (
    _array(BATCH, INPUTS),
    _array(BATCH, UNITS),
    _array(BATCH, UNITS),
    _array(INPUTS + UNITS, 4 * UNITS),
    _array(UNITS),
    _array(UNITS),
    _array(UNITS),
    _array(4 * UNITS),
)
SEQUENCE = (_array(STEPS, BATCH, INPUTS), *LSTM[1:])


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def gru(x: Any, h: Any, w_ru: Any, w_c: Any, b_ru: Any, b_c: Any) -> list[Any]:
    gates = sigmoid(np.concatenate([x, h], 1) @ w_ru + b_ru)
    r, u = gates[:, :UNITS], gates[:, UNITS:]
    c = np.tanh(np.concatenate([x, h * r], 1) @ w_c + b_c)
    return [r, u, c, (1 - u) * c + u * h]


def lstm(*inputs: Any, bias: float = 1.0, clip: float = 0.0, peephole: bool = True) -> list[Any]:
    x, cs, h, w, wci, wcf, wco, b = inputs
    i, ci, f, o = np.split(np.concatenate([x, h], 1) @ w + b, 4, 1)
    if peephole:
        i, f = i + cs * wci, f + cs * wcf
    i, ci, f = sigmoid(i), np.tanh(ci), sigmoid(f + bias)
    cs = ci * i + f * cs
    if clip:
        cs = np.clip(cs, -clip, clip)
    o = sigmoid(o + cs * wco if peephole else o)
    return [i, cs, f, o, ci, np.tanh(cs), o * np.tanh(cs)]


def whole(steps: int, *inputs: Any) -> list[Any]:
    """All outputs of `lstm` for the first steps, zeros for the others."""
    x, cs, h, *rest = inputs
    outputs = [np.zeros((STEPS, BATCH, UNITS), np.float32) for _ in range(7)]
    for t in range(steps):
        values = lstm(x[t], cs, h, *rest)
        for output, value in zip(outputs, values, strict=True):
            output[t] = value
        cs, h = values[1], values[6]
    return outputs


def block(op: str, names: Any, **attrs: Any) -> Any:
    def build(tf: Any, *inputs: Any) -> list[Any]:
        return list(raw(tf, op, **dict(zip(names, inputs, strict=True)), **attrs))

    return build


def chosen(build: Any, *numbers: int) -> Any:
    """These outputs alone: those that have gradients."""
    return lambda tf, *inputs: [build(tf, *inputs)[i] for i in numbers]


def slopes(op: str, names: Any, outputs: Any, grads: Any, **attrs: Any) -> Any:
    """The op ``op``Grad, of the op's own outputs and of ones."""

    def build(tf: Any, *inputs: Any) -> list[Any]:
        made = block(op, names, **attrs)(tf, *inputs)
        given = dict(zip(names, inputs, strict=True))
        given |= {name: made[i] for name, i in outputs.items()}
        given |= {name: tf.ones_like(made[0]) * scale for name, scale in grads.items()}
        more = {n: attrs[n] for n in ("use_peephole", "seq_len_max") if n in attrs}
        return list(raw(tf, f"{op}Grad", **given, **more))

    return build


def gru_slopes(*inputs: Any) -> list[Any]:
    """By differences: of the sum of h by x and h_prev. The parts inside follow from the formula."""
    x, h_prev, _, w_c = (v.astype(np.float64) for v in inputs[:4])
    r, u, c, _ = gru(*inputs)
    d_c_bar = (1 - u) * (1 - c * c)
    d_reset = (d_c_bar @ w_c.T)[:, INPUTS:]
    d_gates = np.concatenate([d_reset * h_prev * r * (1 - r), (h_prev - c) * u * (1 - u)], 1)
    return [
        differences(lambda v: gru(v, *inputs[1:])[3], x),
        differences(lambda v: gru(x, v, *inputs[2:])[3], h_prev),
        d_c_bar,
        d_gates,
    ]


def differences(f: Any, x: Any) -> Any:
    """The gradient of the sum of ``f(x)``."""
    x, result = x.astype(np.float64), np.zeros(x.shape)
    for where in np.ndindex(*x.shape):
        step = np.zeros(x.shape)
        step[where] = 1e-5
        result[where] = (f(x + step).sum() - f(x - step).sum()) / 2e-5
    return result


LSTM_OUTPUTS = {"i": 0, "cs": 1, "f": 2, "o": 3, "ci": 4, "co": 5}
LSTM_GRADS = {"cs_grad": 0.5, "h_grad": 1.0}
PEEPHOLES = {"cell_clip": -1.0, "use_peephole": True}


def lstm_slopes(*inputs: Any) -> list[Any]:
    """By differences, of the sum of h and of half of cs."""

    def total(number: int) -> Any:
        def of(v: Any) -> Any:
            values = lstm(*inputs[:number], v, *inputs[number + 1 :])
            return values[6] + 0.5 * values[1]

        return differences(of, inputs[number])

    # What goes into the gates: the bias of each example.
    rows = [lstm_row_slopes(inputs, row) for row in range(BATCH)]
    return [total(1), np.stack(rows), total(4), total(5), total(6)]


def lstm_row_slopes(inputs: Any, row: int) -> Any:
    x, cs, h, *rest = inputs
    part = [v[row : row + 1] for v in (x, cs, h)]

    def of(b: Any) -> Any:
        values = lstm(*part, *rest[:-1], b)
        return values[6] + 0.5 * values[1]

    return differences(of, rest[-1])


def sequence_slopes(*inputs: Any) -> list[Any]:
    """By differences, of the sum of h and of half of cs over four steps."""

    def by(number: int) -> Any:
        def of(v: Any) -> Any:
            doubles = [np.asarray(i, np.float64) for i in inputs]
            doubles[number] = v
            x, cs, h, *rest = doubles
            total = np.zeros(())
            for t in range(4):
                values = lstm(x[t], cs, h, *rest)
                cs, h = values[1], values[6]
                total = total + (h + 0.5 * cs).sum()
            return total

        return differences(of, inputs[number])

    return [by(i) for i in range(8)]


SAMPLES = [
    Sample("GRUBlockCell", block("GRUBlockCell", GRU_NAMES), GRU, gru, gradient=()),
    Sample(
        "GRUBlockCell",
        chosen(block("GRUBlockCell", GRU_NAMES), 3),
        GRU,
        lambda *v: [gru(*v)[3]],
        second=False,
        note="gradient",
        oracle=False,  # 2.15 has lost the gradient
    ),
    Sample(
        "GRUBlockCellGrad",
        slopes("GRUBlockCell", GRU_NAMES, {"r": 0, "u": 1, "c": 2}, {"d_h": 1.0}),
        GRU,
        gru_slopes,
        gradient=(),
        rtol=1e-4,
    ),
    Sample(
        "LSTMBlockCell",
        block("LSTMBlockCell", LSTM_NAMES, cell_clip=0.2, forget_bias=0.5),
        LSTM,
        lambda *v: lstm(*v, bias=0.5, clip=0.2, peephole=False),
        gradient=(),
    ),
    Sample(
        "LSTMBlockCell",
        chosen(block("LSTMBlockCell", LSTM_NAMES, **PEEPHOLES), 1, 6),
        LSTM,
        lambda *v: [lstm(*v)[i] for i in (1, 6)],
        second=False,
        note="gradient",
        oracle=False,  # 2.15 has lost the gradient
    ),
    Sample(
        "LSTMBlockCellGrad",
        slopes("LSTMBlockCell", LSTM_NAMES, LSTM_OUTPUTS, LSTM_GRADS, **PEEPHOLES),
        LSTM,
        lstm_slopes,
        gradient=(),
        rtol=1e-4,
    ),
    Sample(
        "BlockLSTM",
        chosen(block("BlockLSTM", LSTM_NAMES, seq_len_max=np.int64(4), **PEEPHOLES), 1, 6),
        SEQUENCE,
        lambda *v: [whole(4, *v)[i] for i in (1, 6)],
        second=False,
    ),
    Sample(
        "BlockLSTMGrad",
        slopes(
            "BlockLSTM",
            LSTM_NAMES,
            {**LSTM_OUTPUTS, "h": 6},
            LSTM_GRADS,
            seq_len_max=np.int64(4),
            **PEEPHOLES,
        ),
        SEQUENCE,
        sequence_slopes,
        gradient=(),
        rtol=1e-4,
        atol=1e-5,
    ),
]
