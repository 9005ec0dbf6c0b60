"""Recurrent loops that are unrolled: a part of the graph for each step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataflow import dtypes
from dataflow.graph import nest
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.math import cast, less
from dataflow.ops.variable_scope import variable_scope
from dataflow.rnn.loop_steps import check_cell, copy_through, initial_state_of, lengths_of, one_step
from dataflow.shapes import dimension_value

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope
    from dataflow.rnn.base_cell import RNNCell


def static_rnn(
    cell: Any,
    inputs: Any,
    initial_state: Any = None,
    dtype: Any = None,
    sequence_length: TensorLike | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[list[Any], Any]:
    """Runs a cell over a list of inputs, one copy of its nodes for each step.

    Returns (list of outputs, last state).
    """
    check_cell(cell)
    if not isinstance(inputs, (list, tuple)):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    outputs = []
    with variable_scope(scope or "rnn") as var_scope:
        first = convert_to_tensor(nest.flatten(inputs[0])[0])
        static_batch = dimension_value(first.shape[0])
        batch = static_batch if static_batch is not None else array.shape(first)[0]
        state = initial_state_of(cell, initial_state, dtype, batch)
        if sequence_length is not None:
            sequence_length = lengths_of(sequence_length)
        for time, step in enumerate(inputs):
            if time > 0:
                var_scope.reuse_variables()
            output, new_state = one_step(cell, step, state)
            if sequence_length is not None:
                active = less(time, sequence_length)
                output = nest.map_structure(
                    lambda o: copy_through(active, o, array.zeros_like(o)),  # noqa: B023
                    output,
                )
                flat = [
                    copy_through(active, n, o)
                    for n, o in zip(nest.flatten(new_state), nest.flatten(state), strict=True)
                ]
                new_state = nest.pack_like(state, flat)
            state = new_state
            outputs.append(output)
    return outputs, state


def static_state_saving_rnn(
    cell: RNNCell,
    inputs: Any,
    state_saver: Any,
    state_name: Any,
    sequence_length: TensorLike | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[list[Any], Any]:
    """`static_rnn` that begins with the states that ``state_saver`` keeps, and gives it the last ones.

    ``state_saver``: an object with ``state(name)``, a tensor, and ``save_state(name, value)``, an op.
    ``state_name``: a name, or as many names as the cell's state has parts. The last output and the state wait
    until the states are saved.
    Raises `ValueError` where the names do not fit the cell's state.
    """
    names, sizes = nest.flatten(state_name), nest.flatten(cell.state_size)
    if nest.is_nested(state_name) != nest.is_nested(cell.state_size) or len(names) != len(sizes):
        raise ValueError(
            "state_name should be the same type as cell.state_size, with a name for each part of the state. "
            f"state_name: {state_name}, cell.state_size: {cell.state_size}"
        )
    initial_state = nest.pack_like(cell.state_size, [state_saver.state(name) for name in names])
    outputs, state = static_rnn(
        cell, inputs, initial_state=initial_state, sequence_length=sequence_length, scope=scope
    )
    saves = [
        state_saver.save_state(name, part)
        for name, part in zip(names, nest.flatten(state), strict=True)
    ]
    with default_graph().control_dependencies(saves):
        outputs[-1] = nest.map_structure(array.identity, outputs[-1])
        state = nest.map_structure(array.identity, state)
    return outputs, state


def static_bidirectional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: DTypeLike | None = None,
    sequence_length: Any = None,
    scope: str | VariableScope | None = None,
) -> tuple[list[Any], Any, Any]:
    """Two cells over a list of inputs; returns (outputs side by side, state, state)."""
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw_scope:
            output_fw, state_fw = static_rnn(
                cell_fw, inputs, initial_state_fw, dtype, sequence_length, fw_scope
            )
        with variable_scope("bw") as bw_scope:
            backwards, state_bw = static_rnn(
                cell_bw,
                _reverse_list(inputs, sequence_length),
                initial_state_bw,
                dtype,
                sequence_length,
                bw_scope,
            )
    output_bw = _reverse_list(backwards, sequence_length)
    outputs = [array.concat([f, b], 1) for f, b in zip(output_fw, output_bw, strict=True)]
    return outputs, state_fw, state_bw


def _reverse_list(steps: Any, lengths: TensorLike | None) -> list[Any]:
    if lengths is None:
        return list(reversed(steps))
    stacked = array.stack(list(steps))
    result = array.reverse_sequence(stacked, cast(lengths, dtypes.int64), seq_axis=0, batch_axis=1)
    return array.unstack(result)
