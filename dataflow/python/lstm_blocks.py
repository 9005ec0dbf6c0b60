"""``contrib.rnn.python.ops.lstm_ops``: the function under its fused cells."""

from __future__ import annotations

from typing import Any

from dataflow.ops.array import stack, unstack, zeros
from dataflow.ops.rnn_blocks import block_lstm_op


def _block_lstm(
    seq_len_max: Any,
    x: list[Any],
    w: Any,
    b: Any,
    cs_prev: Any = None,
    h_prev: Any = None,
    wci: Any = None,
    wcf: Any = None,
    wco: Any = None,
    forget_bias: float | None = None,
    cell_clip: float | None = None,
    use_peephole: bool | None = None,
    name: str | None = None,
) -> tuple[list[Any], ...]:
    """(i, cs, f, o, ci, co, h) of an LSTM, each a list over time, from a list of inputs [batch, inputs].

    States and peepholes that are not given are zero. Raises `ValueError` for a ``b`` of unknown size.
    """
    dtype, batch = x[0].dtype.base_dtype, x[0].get_shape().with_rank(2).as_list()[0]
    size = b.get_shape().with_rank(1).as_list()[0]
    if size is None:
        raise ValueError("`b` shape must not be None.")
    no_state = zeros([batch, size // 4], dtype) if cs_prev is None or h_prev is None else None
    cs_prev = no_state if cs_prev is None else cs_prev
    h_prev = no_state if h_prev is None else h_prev
    if wci is None:
        wci = wcf = wco = zeros([size // 4], dtype)
    parts = block_lstm_op(
        *(seq_len_max, stack(x), cs_prev, h_prev, w, wci, wcf, wco, b),
        forget_bias=1.0 if forget_bias is None else forget_bias,
        cell_clip=-1.0 if cell_clip is None else cell_clip,
        use_peephole=bool(use_peephole),
        name=name,
    )
    return tuple(unstack(part) for part in parts)
