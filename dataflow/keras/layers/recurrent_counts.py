"""How many nodes TensorFlow 1.15 makes for a call of a recurrent layer, where ours are others.

What is made afterwards takes its seed from that number, in programs that run as TensorFlow's (`seeds.counted_as`).
TensorFlow traces a cell once for each step of an unrolled layer; else twice: for the type of its output, and in the
loop, which takes what it reads from outside through nodes of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dataflow.graph.tensor import Tensor

#: Nodes of an activation, where they are not 1.
_ACTIVATIONS = {"hard_sigmoid": 8, "selu": 8, "linear": 0}
#: (nodes of a step but for activations of gates, those of its biases among them, times that the state h is used), by kind and `implementation`;
#: "GRU after" resets after the product.
_STEPS = {
    ("SimpleRNN", 1): (8, 2, 1),
    ("LSTM", 1): (50, 8, 4),
    ("LSTM", 2): (16, 2, 1),
    ("GRU", 1): (64, 18, 4),
    ("GRU", 2): (46, 2, 3),
    ("GRU after", 1): (78, 32, 4),
    ("GRU after", 2): (42, 4, 2),
}
#: How often a step uses the layer's activation, and that of its gates.
_USES = {"SimpleRNN": (1, 0), "LSTM": (2, 3), "GRU": (1, 2), "GRU after": (1, 2)}


@dataclass(frozen=True)
class Call:
    """What decides how many nodes a call takes."""

    training: bool | int | Tensor | None
    num_unrolled: int | None
    has_mask: bool
    has_states: bool
    is_stateful: bool
    goes_backwards: bool
    is_time_major: bool


def call_of(layer: Any, inputs: Any, mask: Any, training: Any, has_states: bool) -> Call:
    """A call of a layer that runs over steps."""
    steps = inputs.shape.as_list()[0 if layer.time_major else 1]
    return Call(
        training,
        num_unrolled=steps if layer.unroll else None,
        has_mask=mask is not None,
        has_states=has_states,
        is_stateful=layer.stateful,
        goes_backwards=layer.go_backwards,
        is_time_major=layer.time_major,
    )


def _num_activation_nodes(activation: Any) -> int:
    return _ACTIVATIONS.get(getattr(activation, "__name__", "linear"), 1)


def _step_kind(cell: Any) -> tuple[str, int]:
    """The kind of a layer or cell, and its implementation."""
    kind = {1: "SimpleRNN", 3: "GRU", 4: "LSTM"}[cell.num_gates]
    kind += " after" * getattr(cell, "reset_after", False)
    return kind, 1 if kind == "SimpleRNN" or cell.implementation == 1 else 2


def _num_noise_nodes(cell: Any, call: Call, num_traces: int) -> int:
    """Those that draw what is dropped, and multiply by it."""
    count = cell.num_gates
    used = count if cell.implementation == 1 else 1
    if call.training is None or isinstance(call.training, Tensor):
        num_drawn = 23
    else:
        num_drawn = 16 if call.training else 0
    read = (used if num_drawn else 1) if call.num_unrolled is None else 0
    each: int = 3 + num_drawn * count + used * num_traces + read
    return each * (bool(cell.dropout) + bool(cell.recurrent_dropout))


def _num_state_reads(cell: Any, call: Call) -> int:
    """Reads and changes of the variables with the states that last."""
    _kind, implementation = key = _step_kind(cell)
    uses = _STEPS[key][2]
    if cell.recurrent_dropout:
        uses = 2 if implementation == 2 else uses + 1
    num_others = cell.num_states - 1  # the state c is used once
    more = call.has_mask if call.num_unrolled is not None else 1
    count: int = uses + num_others + cell.num_states * (2 + more)
    return count


def _num_cell_nodes(cell: Any, call: Call) -> int:
    """All that a cell takes: its steps, and what the loop reads for it."""
    kind, _ = key = _step_kind(cell)
    step: int
    step, biases, _uses = _STEPS[key]
    num_own, num_gates = _USES[kind]
    step -= 0 if cell.use_bias else biases
    step += num_own * (_num_activation_nodes(cell.activation) - 1)
    if num_gates:
        step += num_gates * _num_activation_nodes(cell.recurrent_activation)
    is_loop = call.num_unrolled is None
    num_traces = 2 if call.num_unrolled is None else call.num_unrolled
    noise = _num_noise_nodes(cell, call, num_traces)
    count: int = step * num_traces + noise + (2 + cell.use_bias) * is_loop
    return count


def num_convolutional_call_nodes(layer: Any, call: Call, are_sizes_known: bool) -> int | None:
    """Those of a call of `ConvLSTM2D`; ``None`` where they are not counted."""
    if call.has_states or layer.dilation_rate != (1, 1):
        return None
    step = 42 - 8 * (not layer.use_bias)
    step += 2 * (_num_activation_nodes(layer.activation) - 1)
    step += 3 * _num_activation_nodes(layer.recurrent_activation)
    count: int = 72 + 2 * step + layer.use_bias + _num_noise_nodes(layer, call, 2)
    count += 45 * call.has_mask + 2 * call.goes_backwards * (1 + call.has_mask)
    count += 84 * layer._is_channels_first() - 13 * (not are_sizes_known)
    return count + (_num_state_reads(layer, call) - 5) * call.is_stateful


def num_cudnn_call_nodes(layer: Any, call: Call) -> int:
    """Those of a call of `CuDNNLSTM` or `CuDNNGRU`."""
    num_states = layer.num_states
    count: int = (130 if num_states == 2 else 97) + 2 * call.goes_backwards
    count += 4 * num_states * layer.return_state - 2 * layer.return_sequences
    if call.has_states:
        count -= 5 + 8 * num_states
    elif call.is_stateful:
        count -= 7 if num_states == 2 else 6
    return count


def num_call_nodes(cells: list[Any], call: Call) -> int:
    """The nodes of a call of a layer whose step is done by ``cells``, one on the other."""
    num_states = sum(cell.num_states for cell in cells)
    count: int = sum(_num_cell_nodes(cell, call) for cell in cells)
    if call.num_unrolled is None:
        count += 61 + 14 * num_states + 2 * call.goes_backwards
        count += call.has_mask * (27 + 3 * num_states + 2 * call.goes_backwards)
    else:
        count += 16 + 8 * num_states
        count += call.has_mask * (6 + (3 + 3 * num_states) * call.num_unrolled)
    if call.is_time_major:
        count -= 4 + 2 * call.has_mask
    if call.has_states or call.is_stateful:
        count -= 5 + 8 * num_states
    if call.is_stateful and not call.has_states:
        count += sum(_num_state_reads(cell, call) for cell in cells)
    return count
