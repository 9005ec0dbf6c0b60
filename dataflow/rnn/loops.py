"""Recurrent loops: a cell run over the steps of sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataflow.dtypes import DType
from dataflow.graph import nest
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.math import less, logical_not, logical_or, reduce_all
from dataflow.ops.seeds import count_left_out, counted_as
from dataflow.ops.sequences import range_
from dataflow.ops.tensor_array import TensorArray
from dataflow.ops.variable_scope import variable_scope
from dataflow.ops.while_loop import while_loop
from dataflow.rnn.base_cell import zeros_of_size
from dataflow.rnn.loop_steps import (
    build_keras_cell,
    check_cell,
    copy_through,
    frozen,
    initial_state_of,
    lengths_of,
    one_step,
)
from dataflow.shapes import dimension_value

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope
    from dataflow.rnn.base_cell import RNNCell


def _swap(x: TensorLike) -> Any:
    """[batch, time, ...] as [time, batch, ...]."""
    x = convert_to_tensor(x)
    rank = x.shape.ndims
    if rank is None:
        raise ValueError("dynamic_rnn needs inputs of known rank.")
    return array.transpose(x, [1, 0, *range(2, rank)])


def dynamic_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: Any = None,
    parallel_iterations: Any = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:
    """Runs a cell over sequences in a `tf.while_loop`.

    ``inputs`` [batch, time, ...] (or [time, batch, ...] with ``time_major``), or a nesting. Returns
    (outputs [batch, time, output size], last state). Past a sequence's length, outputs are 0 and
    the state stays. A cell may be one of `tf.keras`.
    """
    check_cell(cell)
    with variable_scope(scope or "rnn"):
        flat = [convert_to_tensor(t) for t in nest.flatten(inputs)]
        if not time_major:
            flat = [_swap(t) for t in flat]
        first = flat[0]
        static_batch = dimension_value(first.shape[1])
        batch = static_batch if static_batch is not None else array.shape(first)[1]
        if sequence_length is not None:
            sequence_length = array.identity(lengths_of(sequence_length), name="sequence_length")
        state = initial_state_of(cell, initial_state, dtype, batch)
        build_keras_cell(cell, first.shape[1:])
        _count_left_out_before(len(flat), time_major, static_batch, sequence_length)
        outputs, last = _loop(
            cell, inputs, flat, state, sequence_length, parallel_iterations, swap_memory, dtype
        )
        count_left_out((2 if time_major else 8) - (2 if sequence_length is not None else 0))
        count_left_out(int(first.shape[:2].is_fully_defined()))
        if not time_major:
            outputs = nest.map_structure(_swap, outputs)
        return outputs, last


def _count_left_out_before(
    num_inputs: int, time_major: bool, static_batch: int | None, sequence_length: Any
) -> None:
    """What TensorFlow makes more before a cell's first step: orders of axes, and checks of sizes."""
    count_left_out(10 if static_batch is not None else 16)
    if not time_major:
        count_left_out(6 * num_inputs)
    if sequence_length is not None:
        count_left_out(17)


def _stacked(outputs: TensorArray, leading: list[int | None], size: Any) -> Tensor:
    """The outputs of all steps: [steps, batch, *size], the first two as far as they are known."""
    stacked = outputs.stack()
    inner = [size] if isinstance(size, int) else size.as_list()
    stacked.set_shape([*leading, *inner])
    return stacked


def _loop(
    cell: RNNCell,
    structure: Any,
    flat_inputs: list[Tensor],
    initial: Any,
    sequence_length: TensorLike | None,
    parallel_iterations: Any,
    swap_memory: bool,
    dtype: DTypeLike,
) -> tuple[Any, Any]:
    static_steps = dimension_value(flat_inputs[0].shape[0])
    steps = array.shape(flat_inputs[0])[0]
    out_dtype = dtype or nest.flatten(initial)[0].dtype.base_dtype
    input_arrays = [
        TensorArray(
            t.dtype.base_dtype, size=steps, tensor_array_name=f"dynamic_rnn/input_{i}"
        ).unstack(t)
        for i, t in enumerate(flat_inputs)
    ]
    out_sizes = cell.output_size
    flat_sizes = nest.flatten(out_sizes)
    output_arrays = tuple(
        TensorArray(out_dtype, size=steps, tensor_array_name=f"dynamic_rnn/output_{i}")
        for i in range(len(flat_sizes))
    )
    shapes = [t.shape for t in flat_inputs]

    def body(time: Any, arrays: Any, state: Any) -> Any:
        pieces = []
        for source, shape in zip(input_arrays, shapes, strict=True):
            piece = source.read(time)
            piece.set_shape(shape[1:])
            pieces.append(piece)
        output, new_state = one_step(cell, nest.pack_like(structure, pieces), state)
        nest.assert_same_structure(state, new_state, check_types=False)
        flat_output, flat_new = nest.flatten(output), nest.flatten(new_state)
        if sequence_length is not None:
            active = less(time, sequence_length)
            flat_output = [copy_through(active, o, array.zeros_like(o)) for o in flat_output]
            flat_new = [
                copy_through(active, n, o)
                for n, o in zip(flat_new, nest.flatten(state), strict=True)
            ]
        new_state = nest.pack_like(state, flat_new)
        arrays = tuple(a.write(time, o) for a, o in zip(arrays, flat_output, strict=True))
        return time + 1, arrays, new_state

    time = convert_to_tensor(0, name="time")
    _, final_arrays, final_state = while_loop(
        lambda time, *_: less(time, steps),
        body,
        (time, output_arrays, initial),
        parallel_iterations=parallel_iterations or 32,
        maximum_iterations=steps,
        swap_memory=swap_memory,
    )
    leading = [static_steps, dimension_value(flat_inputs[0].shape[1])]
    flat_sizes = nest.flatten(cell.output_size)  # a cell of Keras knows more once it was called
    results = [_stacked(a, leading, n) for a, n in zip(final_arrays, flat_sizes, strict=True)]
    outputs = nest.pack_like(out_sizes, results) if nest.is_nested(out_sizes) else results[0]
    return outputs, final_state


def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    sequence_length: TensorLike | None = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: Any = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: str | VariableScope | None = None,
) -> tuple[Any, Any]:
    """One cell forwards and one backwards; returns ((outputs, outputs), (state, state))."""
    check_cell(cell_fw)
    check_cell(cell_bw)
    batch_axis, time_axis = (1, 0) if time_major else (0, 1)

    def reverse(x: TensorLike) -> Any:
        if sequence_length is not None:
            return array.reverse_sequence(
                x, sequence_length, seq_axis=time_axis, batch_axis=batch_axis
            )
        return array.reverse(x, [time_axis])

    loop = (dtype, parallel_iterations, swap_memory, time_major)
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw_scope:
            output_fw, state_fw = dynamic_rnn(
                cell_fw, inputs, sequence_length, initial_state_fw, *loop, fw_scope
            )
        with variable_scope("bw") as bw_scope:
            backwards = nest.map_structure(lambda t: reverse(convert_to_tensor(t)), inputs)
            reversed_output, state_bw = dynamic_rnn(
                cell_bw, backwards, sequence_length, initial_state_bw, *loop, bw_scope
            )
    output_bw = nest.map_structure(reverse, reversed_output)
    return (output_fw, output_bw), (state_fw, state_bw)


def transpose_batch_time(x: TensorLike) -> Tensor:
    """[batch, time, ...] as [time, batch, ...], or the other way round, for whatever rank.

    Raises `ValueError` for a rank below 2.
    """
    x = convert_to_tensor(x)
    rank = x.shape.ndims
    if rank is not None and rank < 2:
        raise ValueError(
            f"Expected input tensor {x.name} to have rank at least 2, but saw {x.shape}"
        )
    if rank is not None:
        return array.transpose(x, [1, 0, *range(2, rank)])
    return array.transpose(x, array.concat([[1, 0], range_(2, array.rank(x))], 0))


def best_effort_input_batch_size(flat_input: Any) -> Any:
    """The batch size of tensors [time, batch, ...]: a number where one of them has it, else a tensor."""
    for x in flat_input:
        if (
            x.shape.ndims is not None
            and x.shape.ndims >= 2
            and dimension_value(x.shape[1]) is not None
        ):
            return dimension_value(x.shape[1])
    return array.shape(flat_input[0])[1]


def _zero_emits(sizes: list[Any], inputs: Tensor, dtype: DType) -> list[Tensor]:
    """What `raw_rnn` emits of finished sequences, [batch, size] for each size of a cell's output."""
    batch = dimension_value(inputs.shape[0])
    num_left_out = 6 * len(sizes) if batch is not None else 5 + 7 * len(sizes)
    with counted_as(num_left_out):
        return zeros_of_size(list(sizes), array.shape(inputs)[0] if batch is None else batch, dtype)  # type: ignore[no-any-return]


def raw_rnn(
    cell: RNNCell,
    loop_fn: Any,
    parallel_iterations: Any = None,
    swap_memory: bool = False,
    scope: str | VariableScope | None = None,
) -> tuple[Any, Any, Any]:
    """A loop whose inputs are decided step by step by ``loop_fn(time, output, state, loop_state)``.

    It returns (finished, next input, next state, output to emit, loop state); called first with
    ``output`` and ``state`` None. Returns (TensorArray of outputs, last state, loop state).
    """
    check_cell(cell)
    with variable_scope(scope or "rnn"):
        zero = convert_to_tensor(0, name="time")
        finished, following, state, emit_structure, loop_state = loop_fn(zero, None, None, None)
        has_loop_state = loop_state is not None
        kept: Any = loop_state if has_loop_state else convert_to_tensor(0)
        first_state = nest.flatten(state)[0]
        zero_emits: list[Tensor] = []
        if emit_structure is None:
            sizes = nest.flatten(cell.output_size)
            zero_emits = _zero_emits(sizes, nest.flatten(following)[0], first_state.dtype)
            emit_dtypes = [first_state.dtype.base_dtype] * len(sizes)
            emit_like: Any = cell.output_size
        else:
            emit_like = emit_structure
            emit_dtypes = [t.dtype.base_dtype for t in nest.flatten(emit_structure)]
        arrays = tuple(
            TensorArray(d, size=0, dynamic_size=True, tensor_array_name=f"rnn_output_{i}")
            for i, d in enumerate(emit_dtypes)
        )

        def body(time: Any, done: Any, current: Any, arrays: Any, state: Any, kept: Any) -> Any:
            output, cell_state = cell(current, state)
            following_time = time + 1
            next_done, next_input, next_state, emit, next_kept = loop_fn(
                following_time, output, cell_state, kept if has_loop_state else None
            )
            emit = output if emit is None else emit
            flat_emit = nest.flatten(emit)
            zeros = zero_emits or [array.zeros_like(o) for o in flat_emit]
            flat_emit = [frozen(done, z, o) for z, o in zip(zeros, flat_emit, strict=True)]
            flat_state = [
                frozen(done, o, n)
                for o, n in zip(nest.flatten(state), nest.flatten(next_state), strict=True)
            ]
            arrays = tuple(a.write(time, o) for a, o in zip(arrays, flat_emit, strict=True))
            return (
                following_time,
                logical_or(next_done, done),
                next_input,
                arrays,
                nest.pack_like(state, flat_state),
                next_kept if has_loop_state else kept,
            )

        _, _, _, arrays, state, kept = while_loop(
            lambda time, done, *_: logical_not(reduce_all(done)),
            body,
            (zero, finished, following, arrays, state, kept),
            parallel_iterations=parallel_iterations or 32,
            swap_memory=swap_memory,
        )
        emitted = (
            nest.pack_like(emit_like, list(arrays)) if nest.is_nested(emit_like) else arrays[0]
        )
        return emitted, state, kept if has_loop_state else None
