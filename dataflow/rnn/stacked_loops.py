"""Several layers of cells in both directions, each over the outputs of the one below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.variable_scope import variable_scope
from dataflow.rnn.loops import bidirectional_dynamic_rnn
from dataflow.rnn.static_loops import static_bidirectional_rnn

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope


def _check_stacks(cells_fw: Any, cells_bw: Any, *states: Any) -> None:
    if not isinstance(cells_fw, list) or not isinstance(cells_bw, list) or not cells_fw:
        raise ValueError("cells_fw and cells_bw must be lists of RNNCells, one for each layer.")
    if len(cells_fw) != len(cells_bw):
        raise ValueError("Forward and Backward cells must have the same depth.")
    for state in states:
        if state is not None and len(state) != len(cells_fw):
            raise ValueError("initial states must be lists with one state per layer.")


def stack_bidirectional_dynamic_rnn(
    cells_fw: Any,
    cells_bw: Any,
    inputs: Any,
    initial_states_fw: Any = None,
    initial_states_bw: Any = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    parallel_iterations: Any = None,
    time_major: bool = False,
    scope: str | VariableScope | None = None,
    swap_memory: bool = False,
) -> tuple[Any, Any, Any]:
    """Layers of `tf.nn.bidirectional_dynamic_rnn`, each of which reads both outputs of the one below.

    Returns (outputs [batch, time, forward + backward size], forward states, backward states), with a state
    for each layer. Raises `ValueError` unless the lists have one length.
    """
    _check_stacks(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    states_fw, states_bw = [], []
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (cell_fw, cell_bw) in enumerate(zip(cells_fw, cells_bw, strict=True)):
            with variable_scope(f"cell_{i}"):
                outputs, (fw, bw) = bidirectional_dynamic_rnn(
                    cell_fw,
                    cell_bw,
                    inputs,
                    sequence_length=sequence_length,
                    initial_state_fw=None if initial_states_fw is None else initial_states_fw[i],
                    initial_state_bw=None if initial_states_bw is None else initial_states_bw[i],
                    dtype=dtype,
                    parallel_iterations=parallel_iterations,
                    swap_memory=swap_memory,
                    time_major=time_major,
                )
                inputs = array.concat(outputs, 2)
            states_fw.append(fw)
            states_bw.append(bw)
    return inputs, tuple(states_fw), tuple(states_bw)


def stack_bidirectional_rnn(
    cells_fw: Any,
    cells_bw: Any,
    inputs: Any,
    initial_states_fw: Any = None,
    initial_states_bw: Any = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[Any, Any, Any]:
    """`stack_bidirectional_dynamic_rnn` of a list of inputs, one for each step."""
    _check_stacks(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    states_fw, states_bw = [], []
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (cell_fw, cell_bw) in enumerate(zip(cells_fw, cells_bw, strict=True)):
            with variable_scope(f"cell_{i}") as cell_scope:
                inputs, fw, bw = static_bidirectional_rnn(
                    cell_fw,
                    cell_bw,
                    inputs,
                    None if initial_states_fw is None else initial_states_fw[i],
                    None if initial_states_bw is None else initial_states_bw[i],
                    dtype,
                    sequence_length,
                    cell_scope,
                )
            states_fw.append(fw)
            states_bw.append(bw)
    return inputs, tuple(states_fw), tuple(states_bw)
