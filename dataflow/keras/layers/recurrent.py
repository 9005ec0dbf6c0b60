"""Recurrent layers: one product for the inputs of all steps, then a loop over the steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from dataflow.graph import nest
from dataflow.graph.type_aliases import InitializerLike
from dataflow.keras.base_layer import InputSpec
from dataflow.keras.layer_tree import inner_part
from dataflow.keras.layers.core import weight_settings
from dataflow.keras.layers.recurrent_counts import Call, call_of, num_call_nodes
from dataflow.keras.layers.recurrent_states import LastingStates, are_aside, as_booleans
from dataflow.keras.layers.recurrent_steps import (
    GRUStep,
    LSTMStep,
    RecurrentWeights,
    SimpleStep,
    cell_of,
)
from dataflow.namespaces import also_from
from dataflow.ops import array
from dataflow.ops.bias import bias_add
from dataflow.ops.seeds import counted_as
from dataflow.ops.tensor_products import tensordot
from dataflow.rnn.loops import dynamic_rnn
from dataflow.shapes import TensorShape, dimension_value

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope


class _Step:
    """The cell that the loop calls: the layer's step, which leaves the state where masked."""

    def __init__(self, layer: _Recurrent, has_mask: bool) -> None:
        self._layer = layer
        self._has_mask = has_mask
        self.output_size = layer.units
        self.state_size = (layer.units,) * layer.num_states

    def __call__(self, inputs: Any, states: Any, scope: str | VariableScope | None = None) -> Any:
        inputs, mask = inputs if self._has_mask else (inputs, None)
        new = self._layer.step(inputs, states)
        if mask is not None:
            new = tuple(array.where(mask, n, o) for n, o in zip(new, states, strict=True))
        return new[0], tuple(new)


def _projected(inputs: Any, kernel: Any) -> Any:
    return tensordot(inputs, kernel, [[2], [0]])


class _Recurrent(LastingStates, RecurrentWeights):
    def __init__(
        self,
        units: int,
        activation: str | Callable[..., Any] = "tanh",
        use_bias: bool = True,
        kernel_initializer: str | InitializerLike = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: str | InitializerLike = "zeros",
        kernel_regularizer: str | Callable[[Any], Any] | None = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: str | Callable[[Any], Any] | None = None,
        activity_regularizer: str | Callable[[Any], Any] | None = None,
        kernel_constraint: str | Callable[[Any], Any] | None = None,
        recurrent_constraint: Any = None,
        bias_constraint: str | Callable[[Any], Any] | None = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        **kwargs: Any,
    ) -> None:
        if kwargs.get("input_dim") is not None and "input_shape" not in kwargs:
            kwargs["input_shape"] = (kwargs.pop("input_length", None), kwargs.pop("input_dim"))
        self.time_major = bool(kwargs.pop("time_major", False))
        self.unroll = unroll
        settings = weight_settings({"activity_regularizer": activity_regularizer})
        super().__init__(
            units,
            activation,
            use_bias,
            kernel_initializer=kernel_initializer,
            recurrent_initializer=recurrent_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            recurrent_regularizer=recurrent_regularizer,
            bias_regularizer=bias_regularizer,
            kernel_constraint=kernel_constraint,
            recurrent_constraint=recurrent_constraint,
            bias_constraint=bias_constraint,
            dropout=dropout,
            recurrent_dropout=recurrent_dropout,
            stateful=stateful,
            **settings,
            **kwargs,
        )
        self.return_sequences = return_sequences
        self.return_state = return_state
        self.go_backwards = go_backwards
        self.input_spec = InputSpec(ndim=3)

    #: The layer whose cell does this one's step; "" where no cell does.
    _cell_kind = ""

    @property
    def cell(self) -> Any:
        """The cell that does one step, on this layer's weights."""
        if not self._cell_kind:
            raise AttributeError(f"{type(self).__name__} has no cell.")
        return cell_of(self, self._cell_kind)

    def checkpoint_parts(self) -> Iterable[tuple[str, Any]]:
        """(name, part) for checkpoints of objects: TensorFlow's layer has a cell with the weights."""
        weights = {
            name: getattr(self, name, None) for name in ("kernel", "recurrent_kernel", "bias")
        }
        return [("cell", inner_part(self, **weights))]

    def build(self, input_shape: Any) -> None:
        if isinstance(input_shape, list):  # the states that it starts from come after the inputs
            input_shape = input_shape[0]
        shape = TensorShape(input_shape)
        self._make_weights(dimension_value(shape[-1]))
        batch = dimension_value(shape[1 if self.time_major else 0])
        self._make_states(batch, [[self.units]] * self.num_states)
        self.built = True

    def __call__(self, inputs: Any, *args: Any, initial_state: Any = None, **kwargs: Any) -> Any:
        """``initial_state``: one tensor, or a list of as many as the layer has states."""
        if initial_state is None:
            return super().__call__(inputs, *args, **kwargs)
        states = initial_state if isinstance(initial_state, (list, tuple)) else [initial_state]
        if are_aside(inputs, states):
            return super().__call__(inputs, *args, initial_state=list(states), **kwargs)
        return super().__call__([inputs, *states], *args, **kwargs)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        mask = mask[0] if isinstance(mask, list) else mask
        return mask if self.return_sequences else None

    def get_initial_state(self, inputs: Any) -> list[Any]:
        """The states of 0 that a sequence starts from, [batch, units] each."""
        batch = array.shape(inputs)[1 if self.time_major else 0]
        return self.initial_states(batch, inputs.dtype.base_dtype)

    def call(
        self, inputs: Any, mask: Any = None, training: Any = None, initial_state: Any = None
    ) -> Any:
        states: Any = None if initial_state is None else tuple(nest.flatten(initial_state))
        if isinstance(inputs, (list, tuple)):
            inputs, states = inputs[0], tuple(inputs[1:])
            if len(states) != self.num_states:
                raise ValueError(
                    f"Layer {self.name} has {self.num_states} states, got {len(states)} in "
                    "initial_state."
                )
        mask = as_booleans(mask[0] if isinstance(mask, (list, tuple)) else mask)
        with counted_as(self._num_nodes(call_of(self, inputs, mask, training, states is not None))):
            result, last = self._run(inputs, mask, training, states)
        return [result, *last] if self.return_state else result

    def _needs_phase(self) -> bool:
        return bool(self.dropout or self.recurrent_dropout)

    def _num_nodes(self, call: Call) -> int:
        return num_call_nodes([self], call)

    def _run(self, inputs: Any, mask: Any, training: Any, states: Any) -> tuple[Any, Any]:
        """The outputs and the last states."""
        if self.time_major:
            inputs = array.transpose(inputs, [1, 0, 2])
            mask = mask if mask is None else array.transpose(mask, [1, 0])
        batch = array.shape(inputs)[0]
        dtype = inputs.dtype.base_dtype
        steps, depth = inputs.shape.as_list()[1:]
        noises = self._noises([batch, 1, depth], dtype, self.dropout, training)
        self._recurrent_noises = self._noises(
            [batch, self.units], dtype, self.recurrent_dropout, training
        )
        projected = self._product(inputs, noises, self.kernel, 0, _projected)
        projected.set_shape([inputs.shape[0], steps, self.num_gates * self.units])
        if self.bias is not None:
            projected = bias_add(projected, self._input_bias())
        if self.go_backwards:
            projected = array.reverse(projected, [1])
            mask = mask if mask is None else array.reverse(mask, [1])
        if states is None and self._kept_states:
            states = tuple(state.read_value() for state in self._kept_states)
        if states is None:
            zeros = array.zeros([batch, self.units], projected.dtype.base_dtype)
            zeros.set_shape([inputs.shape[0], self.units])
            states = (zeros,) * self.num_states
        sequence = projected if mask is None else (projected, mask)
        outputs, last = dynamic_rnn(
            _Step(self, mask is not None),
            sequence,
            initial_state=states,
            dtype=projected.dtype.base_dtype,
        )
        self._keep(last)
        result = array.identity(last[0])
        if self.return_sequences:
            result = array.transpose(outputs, [1, 0, 2]) if self.time_major else outputs
        return result, last


class SimpleRNN(SimpleStep, _Recurrent):
    """``h = activation(x kernel + h recurrent_kernel + bias)``."""

    _cell_kind = "SimpleRNN"


class LSTM(LSTMStep, _Recurrent):
    """Long short-term memory (Hochreiter and Schmidhuber 1997)."""

    _cell_kind = "LSTM"


class GRU(GRUStep, _Recurrent):
    """Gated recurrent unit (Cho et al. 2014).

    The reset gate acts before the product with the recurrent kernel, or ``reset_after`` it, as
    cuDNN has it; then ``bias`` is [2, 3 * units].
    """

    _cell_kind = "GRU"


__getattr__ = also_from(__name__, "dataflow.keras.layers")
