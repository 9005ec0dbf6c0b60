"""`tf.nn.rnn_cell`: one step of a recurrent network.

``cell(inputs, state) -> (output, new state)``; inputs [batch, size], states [batch, state size] or
a nesting of those. Variables are made at the first call and found again by every later one.
"""

from __future__ import annotations

from typing import Any

from dataflow.graph.type_aliases import DTypeLike, InitializerLike
from dataflow.ops import array
from dataflow.ops.activation import relu
from dataflow.ops.arithmetic import add, multiply
from dataflow.ops.bias import bias_add
from dataflow.ops.clip import clip_by_value
from dataflow.ops.initializers import constant_initializer, zeros_initializer
from dataflow.ops.math import matmul, sigmoid, tanh
from dataflow.ops.sources import constant
from dataflow.rnn.base_cell import (
    LSTMStateTuple as LSTMStateTuple,
    ProjectedSizes,
    RNNCell as RNNCell,
    SameSizes,
    depth_of,
    zeros_of_size as zeros_of_size,
)
from dataflow.rnn.cell_wrappers import (
    DeviceWrapper as DeviceWrapper,
    DropoutWrapper as DropoutWrapper,
    MultiRNNCell as MultiRNNCell,
    ResidualWrapper as ResidualWrapper,
)

_ACTIVATIONS = {"tanh": tanh, "sigmoid": sigmoid, "relu": relu}


def _activation(activation: Any) -> Any:
    if activation is None:
        return tanh
    if isinstance(activation, str):
        try:
            return _ACTIVATIONS[activation]
        except KeyError:
            raise ValueError(
                f"Unknown activation {activation!r}; use one of {sorted(_ACTIVATIONS)}."
            ) from None
    return activation


_zero_state_tensors = zeros_of_size  # TensorFlow's private name, by which Sonnet calls it


class BasicRNNCell(SameSizes):
    """``output = new state = activation(W inputs + U state + b)``."""

    _only_floating = True

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units = num_units
        self._activation = _activation(activation)

    def build(self, input_shape: Any) -> None:
        depth = depth_of(input_shape)
        self._kernel = self.add_variable("kernel", [depth + self._num_units, self._num_units])
        self._bias = self.add_variable("bias", [self._num_units], initializer=zeros_initializer())
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        gate = bias_add(matmul(array.concat([inputs, state], 1), self._kernel), self._bias)
        output = self._activation(gate)
        return output, output


class GRUCell(SameSizes):
    """Gated recurrent unit (Cho et al. 2014)."""

    _only_floating = True

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: bool | None = None,
        kernel_initializer: InitializerLike | None = None,
        bias_initializer: InitializerLike | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units = num_units
        self._activation = _activation(activation)
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer

    def build(self, input_shape: Any) -> None:
        depth, units = depth_of(input_shape), self._num_units
        self._gate_kernel = self.add_variable(
            "gates/kernel", [depth + units, 2 * units], initializer=self._kernel_initializer
        )
        self._gate_bias = self.add_variable(
            "gates/bias",
            [2 * units],
            initializer=self._bias_initializer or constant_initializer(1.0),
        )
        self._candidate_kernel = self.add_variable(
            "candidate/kernel", [depth + units, units], initializer=self._kernel_initializer
        )
        self._candidate_bias = self.add_variable(
            "candidate/bias", [units], initializer=self._bias_initializer or zeros_initializer()
        )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        gates = bias_add(
            matmul(array.concat([inputs, state], 1), self._gate_kernel), self._gate_bias
        )
        r, u = array.split(sigmoid(gates), 2, 1)
        candidate = bias_add(
            matmul(array.concat([inputs, r * state], 1), self._candidate_kernel),
            self._candidate_bias,
        )
        c = self._activation(candidate)
        new = u * state + (1 - u) * c
        return new, new


class BasicLSTMCell(SameSizes):
    """LSTM without peepholes or projection (Zaremba et al. 2014); ``forget_bias`` is added to f."""

    _only_floating = True

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = _activation(activation)

    @property
    def state_size(self) -> Any:
        if self._state_is_tuple:
            return LSTMStateTuple(self._num_units, self._num_units)
        return 2 * self._num_units

    def build(self, input_shape: Any) -> None:
        units = self._num_units
        self._kernel = self.add_variable("kernel", [depth_of(input_shape) + units, 4 * units])
        self._bias = self.add_variable("bias", [4 * units], initializer=zeros_initializer())
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        c, h = state if self._state_is_tuple else array.split(state, 2, 1)
        gates = bias_add(matmul(array.concat([inputs, h], 1), self._kernel), self._bias)
        i, j, f, o = array.split(gates, 4, 1)
        # Functions, not operators: TensorFlow's nodes are called Add and Mul.
        remembered = multiply(c, sigmoid(add(f, constant(self._forget_bias, f.dtype))))
        new_c = add(remembered, multiply(sigmoid(i), self._activation(j)))
        new_h = multiply(self._activation(new_c), sigmoid(o))
        if self._state_is_tuple:
            return new_h, LSTMStateTuple(new_c, new_h)
        return new_h, array.concat([new_c, new_h], 1)


class ProjectedLSTM(ProjectedSizes):
    """An LSTM whose output has ``num_proj`` elements, of a projection, where that is not ``None``."""

    _proj_clip: float | None
    _projection: Any
    _state_is_tuple: bool

    @property
    def state_size(self) -> Any:
        if self._state_is_tuple:
            return LSTMStateTuple(self._num_units, self.output_size)
        return self._num_units + self.output_size

    def _parts(self, state: Any) -> tuple[Any, Any]:
        """The memory and the last output."""
        if self._state_is_tuple:
            c, m = state
            return c, m
        return state[:, : self._num_units], state[:, self._num_units :]

    def _result(self, c: Any, m: Any) -> tuple[Any, Any]:
        """What a step returns, of the new memory and the output before its projection."""
        if self._num_proj is not None:
            m = matmul(m, self._projection)
            if self._proj_clip is not None:
                m = clip_by_value(m, -self._proj_clip, self._proj_clip)
        return m, (LSTMStateTuple(c, m) if self._state_is_tuple else array.concat([c, m], 1))


class LSTMCell(ProjectedLSTM):
    """LSTM with peepholes (Gers and Schmidhuber 2000), clipping and projection (Sak et al. 2014)."""

    _only_floating = True

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: InitializerLike | None = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: Any = None,
        num_proj_shards: Any = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = initializer
        self._num_proj = num_proj
        self._proj_clip = proj_clip
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = _activation(activation)

    def build(self, input_shape: Any) -> None:
        units = self._num_units
        self._kernel = self.add_variable(
            "kernel",
            [depth_of(input_shape) + self.output_size, 4 * units],
            initializer=self._initializer,
        )
        self._bias = self.add_variable("bias", [4 * units], initializer=zeros_initializer())
        if self._use_peepholes:
            self._w_f, self._w_i, self._w_o = (
                self.add_variable(f"w_{gate}_diag", [units], initializer=self._initializer)
                for gate in "fio"
            )
        if self._num_proj is not None:
            self._projection = self.add_variable(
                "projection/kernel", [units, self._num_proj], initializer=self._initializer
            )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        c, h = self._parts(state)
        gates = bias_add(matmul(array.concat([inputs, h], 1), self._kernel), self._bias)
        i, j, f, o = array.split(gates, 4, 1)
        f = f + self._forget_bias
        if self._use_peepholes:
            f, i = f + self._w_f * c, i + self._w_i * c
        c = sigmoid(f) * c + sigmoid(i) * self._activation(j)
        if self._cell_clip is not None:
            c = clip_by_value(c, -self._cell_clip, self._cell_clip)
        if self._use_peepholes:
            o = o + self._w_o * c
        return self._result(c, sigmoid(o) * self._activation(c))
