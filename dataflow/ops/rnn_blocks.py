"""Steps of GRUs and LSTMs as one op each, as `tf.contrib.rnn`'s block cells of TensorFlow 1 write them.

Cells here are made of other ops, which rewrites fuse: these are for graphs that TensorFlow wrote.
"""

from __future__ import annotations

from typing import Any

from dataflow import shapes
from dataflow.dtypes import FLOATING
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, refuse_gradient
from dataflow.graph.tensor import Tensor
from dataflow.ops import array as array_ops
from dataflow.ops.bias import bias_add_grad_op
from dataflow.ops.matmul import mat_mul_op
from dataflow.shapes import Dims

_WORK: dict[str, Any] = {"T": FLOATING, "calls_blas": True, "own_memory": True}
_GRU = "x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T"
_LSTM = "x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T"
_LSTM_OUTPUTS = "i: T, cs: T, f: T, o: T, ci: T, co: T, h: T"


def _state(*states: Tensor, rank: int = 2) -> Dims:
    """The shape [..., batch, units] that all of ``states`` have."""
    dims: Dims = (None,) * rank
    for state in states:
        dims = shapes.merge(dims, state.dims)
    return dims


def _last(tensor: Tensor, name: str) -> Any:
    if tensor.dims is None:
        return None
    if len(tensor.dims) != 2:
        raise ValueError(f"{name} must be a matrix, got {shapes.list_dims(tensor.dims)}")
    return tensor.dims[1]


# ---- GRU ----------------------------------------------------------------------------------------


@define_op("GRUBlockCell", f"{_GRU} -> r: T, u: T, c: T, h: T", **_WORK)
def gru_block_cell_op(
    x: Tensor, h_prev: Tensor, w_ru: Tensor, w_c: Tensor, b_ru: Tensor, b_c: Tensor
) -> list[Dims]:
    """One step of a GRU: gates r and u, candidate c, and ``h = (1 - u) * c + u * h_prev``.

    Shape: x [batch, inputs], h_prev and the results [batch, units]; w_ru has the rows of x and h_prev
    and 2 * units columns, w_c units. Dtype: kept. Gradient: of h, by `GRUBlockCellGrad`.
    """
    dims = shapes.merge(_state(h_prev), (None, _last(w_c, "w_c")))
    return [dims] * 4


@define_op(
    "GRUBlockCellGrad",
    f"{_GRU}, r: T, u: T, c: T, d_h: T -> d_x: T, d_h_prev: T, d_c_bar: T, d_r_bar_u_bar: T",
    **_WORK,
)
def gru_block_cell_grad_op(*inputs: Tensor) -> list[Dims]:
    """The gradient of `GRUBlockCell` by x, h_prev and what goes into c, and into r and u.

    Shape: those of x and h_prev; [batch, units]; [batch, 2 * units]. Gradient: none, as in TensorFlow.
    """
    x, h_prev, w_ru = inputs[:3]
    batch, _ = dims = _state(h_prev, *inputs[6:])  # type: ignore[misc]
    return [x.dims, dims, dims, (batch, _last(w_ru, "w_ru"))]


refuse_gradient(gru_block_cell_grad_op)


def _product_by_rows(rows: list[Tensor], grad: Tensor) -> Tensor:
    """The gradient by a matrix that ``rows``, side by side, were multiplied by."""
    return mat_mul_op(array_ops.concat(rows, 1), grad, transpose_a=True)  # type: ignore[no-any-return]


@gru_block_cell_op.gradient
def gru_block_cell_gradient(op: Operation, *grads: Tensor) -> list[Tensor]:
    x, h_prev = op.inputs[:2]
    r, u, c, _ = op.outputs
    d_x, d_h_prev, d_c_bar, d_gates = gru_block_cell_grad_op(*op.inputs, r, u, c, grads[3])
    return [
        d_x,
        d_h_prev,
        _product_by_rows([x, h_prev], d_gates),
        _product_by_rows([x, h_prev * r], d_c_bar),
        bias_add_grad_op(d_gates),
        bias_add_grad_op(d_c_bar),
    ]


# ---- LSTM ---------------------------------------------------------------------------------------


@define_op("LSTMBlockCell", f"{_LSTM} -> {_LSTM_OUTPUTS}", **_WORK)
def lstm_block_cell_op(
    x: Tensor,
    cs_prev: Tensor,
    h_prev: Tensor,
    w: Tensor,
    wci: Tensor,
    wcf: Tensor,
    wco: Tensor,
    b: Tensor,
    *,
    forget_bias: float = 1.0,
    cell_clip: float = 3.0,
    use_peephole: bool = False,
) -> list[Dims]:
    """One step of an LSTM: gates i, f and o, candidate ci, ``cs = ci * i + f * cs_prev``, ``h = o * co``.

    Shape: x [batch, inputs], the states and results [batch, units]; w has the rows of x and h_prev and
    4 * units columns, for i, ci, f and o; the peepholes are vectors. A ``cell_clip`` above 0 bounds cs.
    Dtype: kept. Gradient: of cs and h, by `LSTMBlockCellGrad`, which looks through the clipping.
    """
    _last(w, "w")
    return [_state(cs_prev, h_prev)] * 7


@define_op(
    "LSTMBlockCellGrad",
    f"{_LSTM}, i: T, cs: T, f: T, o: T, ci: T, co: T, cs_grad: T, h_grad: T "
    "-> cs_prev_grad: T, dicfo: T, wci_grad: T, wcf_grad: T, wco_grad: T",
    **_WORK,
)
def lstm_block_cell_grad_op(*inputs: Tensor, use_peephole: bool) -> list[Dims]:
    """The gradient of `LSTMBlockCell` by cs_prev, what goes into the gates, and the peepholes.

    Shape: [batch, units]; [batch, 4 * units]; vectors. Gradient: none, as in TensorFlow.
    """
    dims = _state(inputs[1], inputs[2], *inputs[8:])
    assert dims is not None
    return [dims, (dims[0], _last(inputs[3], "w")), *[t.dims for t in inputs[4:7]]]


@lstm_block_cell_op.gradient
def lstm_block_cell_gradient(op: Operation, *grads: Tensor) -> list[Any]:
    x, _, h_prev, w = op.inputs[:4]
    cs_prev_grad, d_gates, *peepholes = lstm_block_cell_grad_op(
        *op.inputs, *op.outputs[:6], grads[1], grads[6], use_peephole=op.attrs["use_peephole"]
    )
    both = mat_mul_op(d_gates, w, transpose_b=True)
    inputs = array_ops.shape(x)[1]
    w_grad = _product_by_rows([x, h_prev], d_gates)
    b_grad = bias_add_grad_op(d_gates)
    return [both[:, :inputs], cs_prev_grad, both[:, inputs:], w_grad, *peepholes, b_grad]


@define_op(
    "BlockLSTM",
    f"seq_len_max: int64, {_LSTM} -> {_LSTM_OUTPUTS}",
    host_inputs=("seq_len_max",),
    **_WORK,
)
def block_lstm_op(
    seq_len_max: Tensor,
    x: Tensor,
    cs_prev: Tensor,
    h_prev: Tensor,
    w: Tensor,
    wci: Tensor,
    wcf: Tensor,
    wco: Tensor,
    b: Tensor,
    *,
    forget_bias: float = 1.0,
    cell_clip: float = 3.0,
    use_peephole: bool = False,
) -> list[Dims]:
    """`LSTMBlockCell` over the first ``seq_len_max`` steps; the results of later ones are zero.

    Shape: x [time, batch, inputs], the results [time, batch, units]. Gradient: by `BlockLSTMGrad`.
    """
    _last(w, "w")
    time, batch, _ = x.dims if x.dims is not None else (None, None, None)
    state = shapes.merge(_state(cs_prev, h_prev), (batch, None))
    assert state is not None
    return [(time, *state)] * 7


@define_op(
    "BlockLSTMGrad",
    f"seq_len_max: int64, {_LSTM}, {_LSTM_OUTPUTS}, cs_grad: T, h_grad: T -> x_grad: T, "
    "cs_prev_grad: T, h_prev_grad: T, w_grad: T, wci_grad: T, wcf_grad: T, wco_grad: T, b_grad: T",
    host_inputs=("seq_len_max",),
    **_WORK,
)
def block_lstm_grad_op(*inputs: Tensor, use_peephole: bool) -> list[Dims]:
    """The gradient of `BlockLSTM` by all of its inputs but ``seq_len_max``.

    Shape: those of the inputs. Gradient: none, as in TensorFlow.
    """
    return [t.dims for t in inputs[1:9]]


refuse_gradient(lstm_block_cell_grad_op, block_lstm_grad_op)


@block_lstm_op.gradient
def block_lstm_gradient(op: Operation, *grads: Tensor) -> list[Any]:
    slopes = block_lstm_grad_op(
        *op.inputs, *op.outputs, grads[1], grads[6], use_peephole=op.attrs["use_peephole"]
    )
    return [None, *slopes]
