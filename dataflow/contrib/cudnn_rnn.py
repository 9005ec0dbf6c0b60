"""``tf.contrib.cudnn_rnn``: whole recurrent layers as one call, on any device.

cuDNN keeps all weights of a layer in one vector. Here they are the variables that TensorFlow writes of it into
checkpoints, under the same names, so that these travel both ways.
"""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, InitializerLike
from dataflow.layers.base import Layer, smart_cond
from dataflow.namespaces import explain_absent
from dataflow.ops import array
from dataflow.ops.activation import relu
from dataflow.ops.dropout import dropout as drop
from dataflow.ops.initializers import zeros_initializer
from dataflow.ops.math import tanh
from dataflow.ops.variable_scope import variable_scope
from dataflow.rnn.base_cell import LSTMStateTuple
from dataflow.rnn.cells import BasicRNNCell
from dataflow.rnn.fused_cells import LSTMBlockCell, reversed_steps
from dataflow.rnn.loops import dynamic_rnn
from dataflow.rnn.published_cells import CudnnCompatibleGRUCell

__all__ = [
    "CudnnCompatibleGRUCell",
    "CudnnCompatibleLSTMCell",
    "CudnnGRU",
    "CudnnLSTM",
    "CudnnRNNRelu",
    "CudnnRNNTanh",
]

CUDNN_RNN_UNIDIRECTION = "unidirectional"
CUDNN_RNN_BIDIRECTION = "bidirectional"


class CudnnCompatibleLSTMCell(LSTMBlockCell):
    """`LSTMBlockCell` as cuDNN has it: nothing is added to the forget gate."""

    def __init__(self, num_units: int, reuse: bool | None = None) -> None:
        super().__init__(num_units, forget_bias=0.0, reuse=reuse, name="cudnn_compatible_lstm_cell")


class _CudnnRNN(Layer):
    """``num_layers`` recurrent layers over sequences [time, batch, size].

    ``call(inputs, initial_state=None, sequence_lengths=None, time_major=True, training=True)`` returns
    (outputs [time, batch, units], last states), twice the units where ``direction`` is "bidirectional". A
    state is a tuple of tensors [layers * directions, batch, units]: (h, c) for `CudnnLSTM`, (h,) for the
    others. ``dropout`` drops elements between layers while ``training``.
    """

    _scope = ""
    _has_cell_state = False

    def __init__(
        self,
        num_layers: int,
        num_units: int,
        input_mode: str = "linear_input",
        direction: str = CUDNN_RNN_UNIDIRECTION,
        dropout: float = 0.0,
        seed: int | None = None,
        dtype: DTypeLike = dtypes.float32,
        kernel_initializer: InitializerLike | None = None,
        bias_initializer: InitializerLike | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(dtype=dtype, name=name or self._scope)
        if direction not in (CUDNN_RNN_UNIDIRECTION, CUDNN_RNN_BIDIRECTION):
            raise ValueError(
                f"direction must be {CUDNN_RNN_UNIDIRECTION!r} or {CUDNN_RNN_BIDIRECTION!r}, "
                f"got {direction!r}."
            )
        if input_mode not in ("linear_input", "auto_select"):
            raise ValueError(f"input_mode must be 'linear_input' here, got {input_mode!r}.")
        self._num_layers, self._num_units = num_layers, num_units
        self._input_mode = input_mode
        self._direction = direction
        self._dropout, self._seed = dropout, seed
        self._initializers = kernel_initializer, bias_initializer
        self._cells: list[list[Any]] = []

    @property
    def num_layers(self) -> int:
        """The number of layers."""
        return self._num_layers

    @property
    def num_units(self) -> int:
        """The number of units of each layer and direction."""
        return self._num_units

    @property
    def num_dirs(self) -> int:
        """1, or 2 where the layers read both ways."""
        return 1 if self._direction == CUDNN_RNN_UNIDIRECTION else 2

    @property
    def direction(self) -> str:
        """Which way the sequences are read."""
        return self._direction

    @property
    def input_mode(self) -> str:
        """How inputs meet the first layer."""
        return self._input_mode

    @property
    def weights(self) -> list[Any]:
        """The variables of all cells, once the layer was called."""
        return [v for cells in self._cells for cell in cells for v in cell.weights]

    @property
    def trainable_weights(self) -> list[Any]:
        """The trainable ones of them."""
        return [v for cells in self._cells for cell in cells for v in cell.trainable_weights]

    variables = weights
    trainable_variables = trainable_weights

    def _cell(self) -> Any:
        raise NotImplementedError

    def state_shape(self, batch_size: int | Tensor) -> Any:
        """The shape of each tensor of the state, as a tuple of lists."""
        shape = [self._num_layers * self.num_dirs, batch_size, self._num_units]
        return (shape,) * (2 if self._has_cell_state else 1)

    def build(self, input_shape: Any) -> None:
        self._cells = [
            [self._cell() for _ in range(self.num_dirs)] for _ in range(self._num_layers)
        ]
        self.built = True

    def _places(self, layer: int) -> list[str]:
        """The scopes of a layer's cells in TensorFlow's checkpoints."""
        if self.num_dirs == 1:
            return [f"rnn/multi_rnn_cell/cell_{layer}"]
        stem = f"stack_bidirectional_rnn/cell_{layer}/bidirectional_rnn"
        return [f"{stem}/fw", f"{stem}/bw"]

    def call(
        self,
        inputs: Any,
        initial_state: Any = None,
        sequence_lengths: Any = None,
        time_major: bool = True,
        training: Any = True,
    ) -> Any:
        x = convert_to_tensor(inputs)
        if not time_major:
            x = array.transpose(x, [1, 0, 2])
        states = None
        if initial_state is not None:
            parts = initial_state if isinstance(initial_state, (list, tuple)) else (initial_state,)
            states = [convert_to_tensor(part) for part in parts]
        kernel_initializer, bias_initializer = self._initializers
        bias_initializer = bias_initializer or zeros_initializer()
        finals: list[Any] = []
        for layer, cells in enumerate(self._cells):
            if layer and self._dropout:
                x = self._dropped(x, training)
            outputs = []
            for place, cell, scope in zip(
                range(len(cells)), cells, self._places(layer), strict=True
            ):
                number = layer * self.num_dirs + place
                start = None if states is None else [state[number] for state in states]
                step = x if place == 0 else reversed_steps(x, sequence_lengths)
                with variable_scope(scope, initializer=kernel_initializer) as inside:
                    _set_biases(inside, bias_initializer)
                    y, final = dynamic_rnn(
                        cell,
                        step,
                        sequence_length=sequence_lengths,
                        initial_state=self._as_state(start),
                        dtype=self.dtype or x.dtype.base_dtype,
                        time_major=True,
                        scope=inside,
                    )
                outputs.append(y if place == 0 else reversed_steps(y, sequence_lengths))
                finals.append((final.h, final.c) if self._has_cell_state else (final,))
            x = outputs[0] if len(outputs) == 1 else array.concat(outputs, 2)
        last = tuple(array.stack(list(part)) for part in zip(*finals, strict=True))
        return (x if time_major else array.transpose(x, [1, 0, 2])), last

    def _as_state(self, parts: Any) -> Any:
        if parts is None or not self._has_cell_state:
            return parts and parts[0]
        h, c = parts
        return LSTMStateTuple(c, h)

    def _dropped(self, x: Any, training: Any) -> Any:
        return smart_cond(
            training,
            lambda: drop(x, 1.0 - self._dropout, seed=self._seed),
            lambda: array.identity(x),
        )


def _set_biases(scope: Any, initializer: Any) -> None:
    """Lets variables named bias begin with ``initializer``, whatever their cell asks for."""

    def getter(get: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        if name.endswith("/bias"):
            kwargs["initializer"] = initializer
        return get(name, *args, **kwargs)

    scope.set_custom_getter(getter)


class CudnnLSTM(_CudnnRNN):
    __doc__ = (_CudnnRNN.__doc__ or "").replace("recurrent layers", "layers of LSTM", 1)
    _scope = "cudnn_lstm"
    _has_cell_state = True

    def _cell(self) -> Any:
        return CudnnCompatibleLSTMCell(self._num_units)


class CudnnGRU(_CudnnRNN):
    __doc__ = (_CudnnRNN.__doc__ or "").replace("recurrent layers", "layers of GRU", 1)
    _scope = "cudnn_gru"

    def _cell(self) -> Any:
        return CudnnCompatibleGRUCell(self._num_units)


class CudnnRNNTanh(_CudnnRNN):
    __doc__ = (_CudnnRNN.__doc__ or "").replace("recurrent layers", "layers of tanh units", 1)
    _scope = "cudnn_rnn_tanh"

    def _cell(self) -> Any:
        return BasicRNNCell(self._num_units, activation=tanh)


class CudnnRNNRelu(_CudnnRNN):
    __doc__ = (_CudnnRNN.__doc__ or "").replace("recurrent layers", "layers of ReLU units", 1)
    _scope = "cudnn_rnn_relu"

    def _cell(self) -> Any:
        return BasicRNNCell(self._num_units, activation=relu)


__getattr__ = explain_absent(__name__)
