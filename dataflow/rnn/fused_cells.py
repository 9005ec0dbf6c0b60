"""Cells of `tf.contrib.rnn` that TensorFlow computes in one op, and wrappers for whole sequences.

Here an LSTM's or a GRU's step is fused whatever class it comes from, so that these are other names and
other arguments of the same formulas.
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any

from dataflow.graph import nest
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.initializers import constant_initializer, zeros_initializer
from dataflow.ops.seeds import count_left_out
from dataflow.ops.variable_scope import get_variable_scope
from dataflow.rnn.base_cell import LSTMStateTuple, RNNCell, depth_of
from dataflow.rnn.cell_wrappers import CellAround
from dataflow.rnn.cells import GRUCell, LSTMCell
from dataflow.rnn.loops import dynamic_rnn
from dataflow.rnn.static_loops import static_rnn

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope


class LSTMBlockCell(LSTMCell):
    """`tf.nn.rnn_cell.LSTMCell`, with its variables, under the arguments of the fused cell."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        dtype: DTypeLike | None = None,
        reuse: bool | None = None,
        name: str = "lstm_cell",
    ) -> None:
        super().__init__(
            num_units,
            use_peephole,
            cell_clip,
            forget_bias=forget_bias,
            reuse=reuse,
            name=name,
            dtype=dtype,
        )

    def call(self, inputs: Any, state: Any) -> Any:
        """As `LSTMCell`'s; one op does it in TensorFlow."""
        count_left_out(-23 if self._use_peepholes else -16)
        return super().call(inputs, state)

    def take_unique_scope(self) -> None:
        """Takes a scope that no other layer has here, as a layer and not as a cell in a loop does."""
        self._set_scope(None)


class GRUBlockCellV2(GRUCell):
    """`tf.nn.rnn_cell.GRUCell`, with its variables; ``cell_size`` is an older name of ``num_units``."""

    def __init__(
        self,
        num_units: int | None = None,
        cell_size: int | None = None,
        reuse: bool | None = None,
        name: str = "gru_cell",
    ) -> None:
        if (num_units is None) == (cell_size is None):
            raise ValueError("Exactly one of num_units or cell_size must be provided.")
        size = cell_size if num_units is None else num_units
        super().__init__(int(size or 0), reuse=reuse, name=name)

    def call(self, inputs: Any, state: Any) -> Any:
        """As `GRUCell`'s; one op does it in TensorFlow."""
        count_left_out(-18)
        return super().call(inputs, state)


class GRUBlockCell(GRUBlockCellV2):
    """`GRUBlockCellV2` with variables ``w_ru``, ``b_ru``, ``w_c`` and ``b_c``."""

    def build(self, input_shape: Any) -> None:
        rows, units = depth_of(input_shape) + self._num_units, self._num_units
        self._gate_kernel = self.add_variable("w_ru", [rows, 2 * units])
        self._gate_bias = self.add_variable(
            "b_ru", [2 * units], initializer=constant_initializer(1.0)
        )
        self._candidate_kernel = self.add_variable("w_c", [rows, units])
        self._candidate_bias = self.add_variable("b_c", [units], initializer=zeros_initializer())
        self.built = True


class CompiledWrapper(CellAround):
    """The cell inside: what TensorFlow compiled for it alone is compiled here for every cell."""

    def __init__(self, cell: RNNCell, compile_stateful: bool = False) -> None:
        super().__init__(cell)

    def __call__(
        self,
        inputs: Any,
        state: Any,
        scope: str | VariableScope | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        return self._cell(inputs, state, scope)


class FusedRNNCell(abc.ABC):
    """A recurrent network as one call for whole sequences: ``(outputs, last state)``.

    Inputs and outputs are [time, batch, size], or a list of one tensor for each step.
    """

    @abc.abstractmethod
    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: DTypeLike | None = None,
        sequence_length: TensorLike | None = None,
        scope: str | VariableScope | None = None,
    ) -> Any:
        """Runs the sequences; ``dtype`` is needed without ``initial_state``."""


class FusedRNNCellAdaptor(FusedRNNCell):
    """A cell as a fused one; ``use_dynamic_rnn`` runs it in a loop, not step by step in the graph."""

    def __init__(self, cell: RNNCell, use_dynamic_rnn: bool = False) -> None:
        self._cell = cell
        self._use_dynamic_rnn = use_dynamic_rnn

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: DTypeLike | None = None,
        sequence_length: TensorLike | None = None,
        scope: str | VariableScope | None = None,
    ) -> Any:
        is_list = isinstance(inputs, (list, tuple))
        if self._use_dynamic_rnn:
            inputs = array.stack(inputs) if is_list else convert_to_tensor(inputs)
            outputs, state = dynamic_rnn(
                self._cell,
                inputs,
                sequence_length=sequence_length,
                initial_state=initial_state,
                dtype=dtype,
                time_major=True,
                scope=scope,
            )
            return (array.unstack(outputs) if is_list else outputs), state
        steps = list(inputs) if is_list else array.unstack(convert_to_tensor(inputs))
        outputs, state = static_rnn(
            self._cell,
            steps,
            initial_state=initial_state,
            dtype=dtype,
            sequence_length=sequence_length,
            scope=scope,
        )
        return (outputs if is_list else array.stack(outputs)), state


def reversed_steps(x: TensorLike, lengths: TensorLike | None) -> Any:
    """``x`` [time, batch, ...] from its end, each sequence of ``lengths`` [batch] from its own."""
    if lengths is None:
        return array.reverse(x, [0])
    return array.reverse_sequence(x, lengths, seq_axis=0, batch_axis=1)


class TimeReversedFusedRNN(FusedRNNCell):
    """A fused cell that reads its sequences from the end, each from its own."""

    def __init__(self, cell: Any) -> None:
        self._cell = cell

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> Any:
        inputs = reversed_steps(inputs, sequence_length)
        outputs, state = self._cell(
            inputs,
            initial_state=initial_state,
            dtype=dtype,
            sequence_length=sequence_length,
            scope=scope,
        )
        outputs = nest.map_structure(lambda x: reversed_steps(x, sequence_length), outputs)
        return outputs, state


class LSTMBlockWrapper(FusedRNNCell):
    """The base of fused LSTMs, which say their `num_units`."""

    @property
    @abc.abstractmethod
    def num_units(self) -> int:
        """The number of units."""


class LSTMBlockFusedCell(LSTMBlockWrapper):
    """`LSTMBlockCell` over whole sequences; ``dtype`` is by default that of the inputs."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        reuse: bool | None = None,
        dtype: DTypeLike | None = None,
        name: str = "lstm_fused_cell",
    ) -> None:
        self._cell = LSTMBlockCell(
            num_units, forget_bias, cell_clip, use_peephole, dtype, reuse, name
        )

    @property
    def num_units(self) -> int:
        return int(self._cell.output_size)

    @property
    def trainable_variables(self) -> Any:
        """The kernel, the bias and the peepholes, once it was called."""
        return self._cell.trainable_variables

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: DTypeLike | None = None,
        sequence_length: TensorLike | None = None,
        scope: str | VariableScope | None = None,
    ) -> Any:
        is_list = isinstance(inputs, (list, tuple))
        inputs = array.stack(inputs) if is_list else convert_to_tensor(inputs)
        if isinstance(initial_state, tuple):
            initial_state = LSTMStateTuple(*initial_state)
        self._cell.take_unique_scope()
        outputs, state = dynamic_rnn(
            self._cell,
            inputs,
            sequence_length=sequence_length,
            initial_state=initial_state,
            dtype=dtype or inputs.dtype,
            time_major=True,
            scope=scope or get_variable_scope(),
        )
        return (array.unstack(outputs) if is_list else outputs), state
