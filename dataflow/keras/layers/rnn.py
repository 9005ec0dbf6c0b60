"""`RNN`: any cell, run over the steps of sequences."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from dataflow.graph import nest
from dataflow.graph.tensor import Tensor
from dataflow.keras.base_layer import InputSpec
from dataflow.keras.layers.containers import LayerOfLayers
from dataflow.keras.layers.recurrent_cells import (
    build_cell,
    call_cell,
    made_cell,
    output_size_of,
    training_of,
    zeros_of,
)
from dataflow.keras.layers.recurrent_counts import call_of, num_call_nodes
from dataflow.keras.layers.recurrent_states import LastingStates, are_aside, as_booleans
from dataflow.keras.layers.recurrent_steps import CELLS
from dataflow.ops import array
from dataflow.ops.seeds import counted_as
from dataflow.rnn.loops import dynamic_rnn
from dataflow.shapes import TensorShape

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope


class _Step:
    """The cell that the loop calls. Where masked, states and the output before stay."""

    def __init__(
        self, layer: RNN, has_mask: bool, constants: list[Any], training: bool | Tensor
    ) -> None:
        self._layer = layer
        self._has_mask = has_mask
        self._kwargs = training_of(layer.cell, training)
        if constants:
            self._kwargs["constants"] = constants
        self.output_size = TensorShape(output_size_of(layer.cell))
        sizes = [TensorShape(size) for size in nest.flatten(layer.cell.state_size)]
        self.state_size = (*sizes, self.output_size) if has_mask else tuple(sizes)

    def __call__(self, inputs: Any, states: Any, scope: str | VariableScope | None = None) -> Any:
        cell = self._layer.cell
        if not self._has_mask:
            output, new = call_cell(cell, inputs, self._packed(states), **self._kwargs)
            if not self.output_size.is_compatible_with(output.shape[1:]):
                self.output_size = output.shape[1:]  # a cell may give more than it says
            return output, tuple(new)
        inputs, mask = inputs
        *old, before = states
        output, new = call_cell(cell, inputs, self._packed(old), **self._kwargs)
        kept = [array.where(mask, n, o) for n, o in zip(new, old, strict=True)]
        output = array.where(mask, output, before)
        return output, (*kept, output)

    def _packed(self, flat: Any) -> Any:
        return nest.pack_like(self._layer.cell.state_size, list(flat))


class RNN(LastingStates, LayerOfLayers):
    """A cell over [batch, steps, features]: its last output, or one per step.

    ``cell`` has ``call(inputs, states)`` that returns (output, new states), and ``state_size``:
    a cell of `tf.keras.layers`, of `tf.nn.rnn_cell`, one of your own, or a list of cells, which
    are stacked. ``return_state`` adds the last states. Call it with ``initial_state=`` (flat) and
    ``constants=`` (handed to every step) as needed.
    """

    def __init__(
        self,
        cell: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        time_major: bool = False,
        num_constants: int | None = None,
        **kwargs: Any,
    ) -> None:
        self.cell = made_cell(cell)
        if kwargs.get("input_dim") is not None and "input_shape" not in kwargs:
            kwargs["input_shape"] = (kwargs.pop("input_length", None), kwargs.pop("input_dim"))
        super().__init__(stateful=stateful, **kwargs)
        self.return_sequences = return_sequences
        self.return_state = return_state
        self.go_backwards = go_backwards
        self.time_major = time_major
        self.unroll = unroll
        self.num_states = len(nest.flatten(self.cell.state_size))
        self._num_constants = num_constants or 0
        self.input_spec = InputSpec(min_ndim=3)

    def _inner(self) -> list[Any]:
        return [self.cell] if hasattr(self.cell, "trainable_weights") else []

    def build(self, input_shape: Any) -> None:
        constants: list[Any] = []
        if isinstance(input_shape, list):
            constants = input_shape[len(input_shape) - self._num_constants :]
            input_shape = input_shape[0]
        shape = TensorShape(input_shape)
        batch, depth = (shape[1], shape[2:]) if self.time_major else (shape[0], shape[2:])
        step = TensorShape([batch]).concatenate(depth)
        if not self.as_package_keras:  # only the package tells a cell of its constants
            constants = []
        build_cell(self.cell, [step, *constants] if constants else step)
        sizes = nest.flatten(self.cell.state_size)
        self._make_states(batch.value, [TensorShape(size).as_list() for size in sizes])
        self.built = True

    def __call__(
        self,
        inputs: Any,
        *args: Any,
        initial_state: Any = None,
        constants: Any = None,
        **kwargs: Any,
    ) -> Any:
        """``initial_state``, ``constants``: one tensor, or a list."""
        states = [] if initial_state is None else nest.flatten(initial_state)
        given = [] if constants is None else nest.flatten(constants)
        if given:
            self._num_constants = len(given)
        if are_aside(inputs, [*states, *given]):
            aside = {"initial_state": states or None, "constants": given or None}
            kwargs.update({name: value for name, value in aside.items() if value is not None})
        elif states or given:
            inputs = [inputs, *states, *given]
        return super().__call__(inputs, *args, **kwargs)

    def own_config(self) -> dict[str, Any]:
        own = super().own_config()
        del own["num_constants"]
        return {**own, "num_constants": self._num_constants} if self._num_constants else own

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        mask = mask[0] if isinstance(mask, list) else mask
        if not self.return_sequences:
            mask = None
        return [mask] + [None] * self.num_states if self.return_state else mask

    def get_initial_state(self, inputs: Any) -> list[Any]:
        """The flat states that a sequence starts from."""
        rows = inputs[0] if self.time_major else inputs[:, 0]
        return list(nest.flatten(zeros_of(self.cell, rows, array.shape(rows)[0], rows.dtype)))

    def _apart(
        self, inputs: Any, initial_state: Any, constants: Any
    ) -> tuple[Any, list[Any], list[Any]]:
        """The sequence, the initial states and the constants, which may all come with the sequence."""
        if initial_state is not None or constants is not None:
            inputs = [inputs, *([] if initial_state is None else nest.flatten(initial_state))]
            given = [] if constants is None else nest.flatten(constants)
            self._num_constants = len(given)
            inputs += given
        if not isinstance(inputs, (list, tuple)):
            return inputs, [], []
        sequence, *rest = inputs
        num_states = len(rest) - self._num_constants
        states = rest[:num_states]
        if states and num_states != self.num_states:
            raise ValueError(
                f"Layer {self.name} has {self.num_states} states, got {num_states} initial states."
            )
        sizes = [TensorShape(size) for size in nest.flatten(self.cell.state_size)]
        for state, size in zip(states, sizes, strict=False):
            if not TensorShape([None]).concatenate(size).is_compatible_with(state.shape):
                raise ValueError(
                    "An `initial_state` was passed that is not compatible with `cell.state_size`. "
                    f"Received states of shapes {[str(s.shape) for s in states]}; however "
                    f"`cell.state_size` is {self.cell.state_size}"
                )
        return sequence, states, rest[num_states:]

    def call(
        self,
        inputs: Any,
        mask: Any = None,
        training: Any = None,
        initial_state: Any = None,
        constants: Any = None,
    ) -> Any:
        """The sequence; a subclass may hand states and constants over apart from ``inputs``."""
        inputs, states, constants = self._apart(inputs, initial_state, constants)
        mask = as_booleans(mask[0] if isinstance(mask, (list, tuple)) else mask)
        num_nodes = self._num_nodes(inputs, mask, training, bool(states), constants)
        with contextlib.nullcontext() if num_nodes is None else counted_as(num_nodes):
            return self._run(inputs, mask, training, states, constants)

    def _num_nodes(
        self, inputs: Any, mask: Any, training: Any, has_states: bool, constants: list[Any]
    ) -> int | None:
        """The nodes of a call in TensorFlow; ``None`` where they are not counted: with cells of one's own."""
        cells = getattr(self.cell, "cells", [self.cell])
        if constants or not all(type(cell) in CELLS.values() for cell in cells):
            return None
        call = call_of(self, inputs, mask, training, has_states)
        return num_call_nodes(cells, call)

    def _needs_phase(self) -> bool:
        cells = getattr(self.cell, "cells", [self.cell])
        return any(getattr(c, "dropout", 1) or getattr(c, "recurrent_dropout", 1) for c in cells)

    def _run(
        self, inputs: Any, mask: Any, training: Any, states: list[Any], constants: list[Any]
    ) -> Any:
        time = 0 if self.time_major else 1
        if self.go_backwards:
            inputs = array.reverse(inputs, [time])
            mask = mask if mask is None else array.reverse(mask, [time])
        if not states:
            kept = [state.read_value() for state in self._kept_states]
            states = kept or self.get_initial_state(inputs)
        step = _Step(self, mask is not None, constants, training)
        sequence: Any = inputs
        if mask is not None:
            sequence = (inputs, mask)
            batch = array.shape(inputs)[1 - time]
            sizes = step.output_size.as_list()
            before = array.zeros(array.concat([[batch], sizes], 0), inputs.dtype.base_dtype)
            before.set_shape([None, *sizes])
            states = [*states, before]
        cells = [c for c in getattr(self.cell, "cells", [self.cell]) if hasattr(c, "draw_dropout")]
        for cell in cells:
            # Before the loop, so that every step of a sequence drops the same entries.
            cell.draw_dropout(array.shape(inputs)[1 - time], inputs.dtype.base_dtype, training)
        outputs, last = dynamic_rnn(
            step,
            sequence,
            initial_state=tuple(states),
            dtype=inputs.dtype.base_dtype,
            time_major=self.time_major,
            scope=self.name,  # cells of tf.nn.rnn_cell name their variables after it
        )
        for cell in cells:
            cell.forget_dropout()
        final = list(last)[: self.num_states]
        self._keep(final)
        if self.return_sequences:
            result = outputs
        elif mask is not None:
            result = array.identity(last[-1])
        else:
            result = outputs[-1] if self.time_major else outputs[:, -1]
        return [result, *final] if self.return_state else result
