"""Recurrent cells of `tf.contrib.rnn`: normalized, convolutional and simpler gated ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import InitializerLike, TensorLike
from dataflow.ops import array
from dataflow.ops.bias import bias_add
from dataflow.ops.dilated_convolutions import convolution
from dataflow.ops.dropout import dropout
from dataflow.ops.initializers import constant_initializer, zeros_initializer
from dataflow.ops.math import matmul, reduce_mean, rsqrt, sigmoid, square, tanh
from dataflow.ops.seeds import count_left_out
from dataflow.ops.variable_scope import get_variable
from dataflow.rnn.base_cell import LSTMSizes, LSTMStateTuple, RNNCell, SameSizes, depth_of
from dataflow.rnn.cell_wrappers import CellAround
from dataflow.shapes import TensorShape

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope


def gain_and_shift(
    cell: RNNCell, part: str, units: int, gain: float, shift: float
) -> tuple[Any, Any]:
    """The variables ``part/gamma`` and ``part/beta`` of `normalized_units`."""
    gamma, beta = (
        cell.add_variable(f"{part}/{name}", [units], initializer=constant_initializer(value))
        for name, value in (("gamma", gain), ("beta", shift))
    )
    return gamma, beta


def normalized_units(x: TensorLike, gamma: Any, beta: TensorLike) -> Any:
    """[batch, units] with mean 0 and deviation 1 in each row, times gamma plus beta (Ba et al. 2016)."""
    centered = x - reduce_mean(x, 1, keepdims=True)
    scale = rsqrt(reduce_mean(square(centered), 1, keepdims=True) + 1e-12)
    return centered * scale * gamma + beta


class LayerNormBasicLSTMCell(LSTMSizes):
    """`BasicLSTMCell` with each gate and the state normalized over its units (Ba, Kiros, Hinton 2016).

    ``dropout_keep_prob`` drops units of the candidate, without loss of memory (Semeniuta et al. 2016). States
    are `LSTMStateTuple`.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        input_size: Any = None,
        activation: Callable[..., Any] = tanh,
        layer_norm: bool = True,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        dropout_keep_prob: Any = 1.0,
        dropout_prob_seed: Any = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._activation = activation
        self._layer_norm = layer_norm
        self._gain, self._shift = norm_gain, norm_shift
        self._keep_prob, self._seed = dropout_keep_prob, dropout_prob_seed
        self._was_called = False

    def build(self, input_shape: Any) -> None:
        units = self._num_units
        count_left_out(2)  # inputs and state are joined first there
        self._kernel = self.add_variable("kernel", [depth_of(input_shape) + units, 4 * units])
        count_left_out(-2)
        self._norms = {}
        if not self._layer_norm:
            self._bias = self.add_variable("bias", [4 * units], initializer=zeros_initializer())
        for part in ("input", "transform", "forget", "output", "state") if self._layer_norm else ():
            self._norms[part] = gain_and_shift(self, part, units, self._gain, self._shift)
        self.built = True

    def _normalized(self, x: TensorLike, part: str) -> Any:
        if not self._layer_norm:
            return x
        return normalized_units(x, *self._norms[part])

    def call(self, inputs: Any, state: Any) -> Any:
        c, h = state
        gates = matmul(array.concat([inputs, h], 1), self._kernel)
        if not self._layer_norm:
            gates = bias_add(gates, self._bias)
        i, j, f, o = (
            self._normalized(gate, part)
            for gate, part in zip(
                array.split(gates, 4, 1), ("input", "transform", "forget", "output"), strict=True
            )
        )
        candidate = self._activation(j)
        # The norm of the state is made in the first call there, after what is dropped.
        num_before = 8 * (self._layer_norm and self._was_called)
        count_left_out(num_before)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            candidate = dropout(candidate, self._keep_prob, seed=self._seed)
        count_left_out(10 - num_before if self._layer_norm else 0)
        self._was_called = True
        new_c = c * sigmoid(f + self._forget_bias) + sigmoid(i) * candidate
        new_c = self._normalized(new_c, "state")
        new_h = self._activation(new_c) * sigmoid(o)
        return new_h, LSTMStateTuple(new_c, new_h)


class UGRNNCell(SameSizes):
    """Update gate alone: ``g * state + (1 - g) * candidate`` (Collins, Sohl-Dickstein, Sussillo 2016)."""

    def __init__(
        self,
        num_units: int,
        initializer: InitializerLike | None = None,
        forget_bias: float = 1.0,
        activation: Callable[..., Any] = tanh,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._initializer = initializer
        self._forget_bias = forget_bias
        self._activation = activation

    def build(self, input_shape: Any) -> None:
        units = self._num_units
        shape = [depth_of(input_shape) + units, 2 * units]
        count_left_out(2)  # inputs and state are joined first there
        self._kernel = self.add_variable("kernel", shape, initializer=self._initializer)
        self._bias = self.add_variable("bias", [2 * units], initializer=zeros_initializer())
        count_left_out(-2)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        both = bias_add(matmul(array.concat([inputs, state], 1), self._kernel), self._bias)
        gate, candidate = array.split(both, 2, 1)
        gate = sigmoid(gate + self._forget_bias)
        new = gate * state + (1.0 - gate) * self._activation(candidate)
        return new, new


class SRUCell(SameSizes):
    """Simple recurrent unit, whose gates do not see the state (Lei and Zhang 2017)."""

    def __init__(
        self,
        num_units: int,
        activation: Callable[..., Any] | None = None,
        reuse: bool | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, **kwargs)
        self._num_units = num_units
        self._activation = activation or tanh

    def build(self, input_shape: Any) -> None:
        units = self._num_units
        self._kernel = self.add_variable("kernel", [depth_of(input_shape), 4 * units])
        self._bias = self.add_variable("bias", [2 * units], initializer=zeros_initializer())
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        candidate, f, r, skipped = array.split(matmul(inputs, self._kernel), 4, 1)
        gates = sigmoid(bias_add(array.concat([f, r], 1), self._bias))
        f, r = array.split(gates, 2, 1)
        c = f * state + (1.0 - f) * candidate
        return r * self._activation(c) + (1.0 - r) * skipped, c


class ConvLSTMCell(RNNCell):
    """LSTM of images, with convolutions for matrix products (Shi et al. 2015).

    Inputs are [batch, *input_shape], with ``conv_ndims`` spatial axes and the channels last. With
    ``skip_connection`` the inputs are joined to the output's channels.
    """

    def __init__(
        self,
        conv_ndims: int,
        input_shape: Any,
        output_channels: int,
        kernel_shape: Any,
        use_bias: bool = True,
        skip_connection: bool = False,
        forget_bias: float = 1.0,
        initializers: Any = None,
        name: str = "conv_lstm_cell",
    ) -> None:
        super().__init__(name=name)
        input_shape = TensorShape(input_shape).as_list()
        if conv_ndims != len(input_shape) - 1:
            raise ValueError(f"Invalid input_shape {input_shape} for conv_ndims={conv_ndims}.")
        self._conv_ndims = conv_ndims
        self._kernel_shape = list(kernel_shape)
        self._channels = output_channels
        self._use_bias, self._skip = use_bias, skip_connection
        self._forget_bias = forget_bias
        self._initializer = initializers
        extra = input_shape[-1] if skip_connection else 0
        self._output = TensorShape([*input_shape[:-1], output_channels + extra])
        self._cell = TensorShape([*input_shape[:-1], output_channels])

    @property
    def output_size(self) -> Any:
        return self._output

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._cell, self._output)

    def build(self, input_shape: Any) -> None:
        joined = depth_of(input_shape) + depth_of(self._output)
        shape = [*self._kernel_shape, joined, 4 * self._channels]
        self._kernel = self.add_variable("kernel", shape, initializer=self._initializer)
        if self._use_bias:
            self._bias = self.add_variable(
                "biases", [4 * self._channels], initializer=zeros_initializer()
            )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        c, h = state
        gates = convolution(array.concat([inputs, h], -1), self._kernel, "SAME")
        if self._use_bias:
            gates = gates + self._bias
        i, j, f, o = array.split(gates, 4, self._conv_ndims + 1)
        new_c = sigmoid(f + self._forget_bias) * c + sigmoid(i) * tanh(j)
        output = tanh(new_c) * sigmoid(o)
        if self._skip:
            output = array.concat([output, inputs], -1)
        return output, LSTMStateTuple(new_c, output)


class Conv1DLSTMCell(ConvLSTMCell):
    """`ConvLSTMCell` of sequences."""

    def __init__(self, name: str = "conv_1d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=1, name=name, **kwargs)


class Conv2DLSTMCell(ConvLSTMCell):
    """`ConvLSTMCell` of images."""

    def __init__(self, name: str = "conv_2d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=2, name=name, **kwargs)


class Conv3DLSTMCell(ConvLSTMCell):
    """`ConvLSTMCell` of volumes."""

    def __init__(self, name: str = "conv_3d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=3, name=name, **kwargs)


class HighwayWrapper(CellAround):
    """``inputs * carry + outputs * transform`` with learned gates (Srivastava et al. 2015).

    Inputs and outputs have one size. By default ``transform = 1 - carry``.
    """

    def __init__(
        self,
        cell: RNNCell,
        couple_carry_transform_gates: bool = True,
        carry_bias_init: float = 1.0,
    ) -> None:
        super().__init__(cell)
        self._coupled = couple_carry_transform_gates
        self._carry_bias_init = carry_bias_init

    def _gate(self, inputs: Any, name: str, bias: float) -> Any:
        size = depth_of(inputs.get_shape())
        kernel = get_variable(f"{name}_w", [size, size], dtype=inputs.dtype)
        start = constant_initializer(bias)
        return sigmoid(
            bias_add(
                matmul(inputs, kernel),
                get_variable(f"{name}_b", [size], dtype=inputs.dtype, initializer=start),
            )
        )

    def __call__(
        self,
        inputs: Any,
        state: Any,
        scope: str | VariableScope | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        inputs = convert_to_tensor(inputs)
        outputs, new_state = self._cell(inputs, state, scope=scope)
        inputs.get_shape().assert_is_compatible_with(outputs.get_shape())
        carry = self._gate(inputs, "carry", self._carry_bias_init)
        transform = (
            1.0 - carry
            if self._coupled
            else self._gate(inputs, "transform", -self._carry_bias_init)
        )
        return inputs * carry + outputs * transform, new_state
