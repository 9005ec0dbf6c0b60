"""Recurrent layers: one product for the inputs of all steps, then a loop over the steps.

Weights as Keras has them: ``kernel`` [inputs, gates * units], ``recurrent_kernel``
[units, gates * units], ``bias``; gates in the order i, f, c, o (LSTM) and z, r, h (GRU).
"""

from __future__ import annotations

from typing import Any

from dataflow.keras import activations
from dataflow.keras.base_layer import InputSpec, Layer
from dataflow.keras.layers.core import weight_settings
from dataflow.layers.base import smart_cond
from dataflow.ops import array
from dataflow.ops.bias import bias_add
from dataflow.ops.initializers import Ones, Zeros
from dataflow.ops.math import matmul
from dataflow.ops.normalization import dropout as drop
from dataflow.ops.tensor_products import tensordot
from dataflow.rnn.loops import dynamic_rnn
from dataflow.shapes import TensorShape


class _Step:
    """The cell that the loop calls: the layer's step, which leaves the state where masked."""

    def __init__(self, layer: _Recurrent, has_mask: bool) -> None:
        self._layer = layer
        self._has_mask = has_mask
        self.output_size = layer.units
        self.state_size = (layer.units,) * layer.num_states

    def __call__(self, inputs: Any, states: Any, scope: Any = None) -> Any:
        inputs, mask = inputs if self._has_mask else (inputs, None)
        new = self._layer.step(inputs, states)
        if mask is not None:
            new = tuple(array.where(mask, n, o) for n, o in zip(new, states, strict=True))
        return new[0], tuple(new)


class _Recurrent(Layer):
    num_gates = 1
    num_states = 1

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        **kwargs: Any,
    ) -> None:
        if stateful:
            raise NotImplementedError(
                f"{type(self).__name__}(stateful=True) is not supported; return_state=True gives "
                "the state, and initial_state= takes it."
            )
        if kwargs.get("input_dim") is not None and "input_shape" not in kwargs:
            kwargs["input_shape"] = (kwargs.pop("input_length", None), kwargs.pop("input_dim"))
        kwargs.pop("implementation", None)
        kwargs.pop("time_major", None)
        settings = weight_settings({"activity_regularizer": activity_regularizer})
        super().__init__(**settings, **kwargs)
        self.units = int(units)
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.dropout = dropout
        self.recurrent_dropout = recurrent_dropout
        self.return_sequences = return_sequences
        self.return_state = return_state
        self.go_backwards = go_backwards
        self.input_spec = InputSpec(ndim=3)
        self._weight_settings = weight_settings(
            {
                "kernel_initializer": kernel_initializer,
                "kernel_regularizer": kernel_regularizer,
                "kernel_constraint": kernel_constraint,
                "recurrent_initializer": recurrent_initializer,
                "recurrent_regularizer": recurrent_regularizer,
                "recurrent_constraint": recurrent_constraint,
                "bias_initializer": bias_initializer,
                "bias_regularizer": bias_regularizer,
                "bias_constraint": bias_constraint,
            }
        )
        self._recurrent_noise: Any = None

    def _weight(self, name: str, kind: str, shape: list[int], initializer: Any = None) -> Any:
        get = self._weight_settings.get
        return self.add_weight(
            name,
            shape,
            initializer=initializer or get(kind + "_initializer"),
            regularizer=get(kind + "_regularizer"),
            constraint=get(kind + "_constraint"),
        )

    def build(self, input_shape: Any) -> None:
        depth = TensorShape(input_shape)[-1].value
        if depth is None:
            raise ValueError(f"Layer {self.name}: the last axis of the inputs must be known.")
        columns = self.num_gates * self.units
        self.kernel = self._weight("kernel", "kernel", [depth, columns])
        self.recurrent_kernel = self._weight("recurrent_kernel", "recurrent", [self.units, columns])
        self.bias = None
        if self.use_bias:
            self.bias = self._weight("bias", "bias", [columns], self._bias_initializer())
        self.built = True

    def _bias_initializer(self) -> Any:
        return None

    def step(self, inputs: Any, states: Any) -> tuple[Any, ...]:
        """New states (the first is the output) from projected inputs and old states."""
        raise NotImplementedError

    def __call__(self, inputs: Any, *args: Any, initial_state: Any = None, **kwargs: Any) -> Any:
        """``initial_state``: one tensor, or a list of as many as the layer has states."""
        if initial_state is None:
            return super().__call__(inputs, *args, **kwargs)
        states = initial_state if isinstance(initial_state, (list, tuple)) else [initial_state]
        return super().__call__([inputs, *states], *args, **kwargs)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        mask = mask[0] if isinstance(mask, list) else mask
        return mask if self.return_sequences else None

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> Any:
        states: Any = None
        if isinstance(inputs, (list, tuple)):
            inputs, states = inputs[0], tuple(inputs[1:])
            if len(states) != self.num_states:
                raise ValueError(
                    f"Layer {self.name} has {self.num_states} states, got {len(states)} in "
                    "initial_state."
                )
        mask = mask[0] if isinstance(mask, (list, tuple)) else mask
        batch = array.shape(inputs)[0]
        if self.dropout:
            inputs = self._dropped(
                inputs, self.dropout, [batch, 1, inputs.shape[-1].value], training
            )
        self._recurrent_noise = None
        if self.recurrent_dropout:
            ones = array.ones([batch, self.units], inputs.dtype.base_dtype)
            self._recurrent_noise = self._dropped(ones, self.recurrent_dropout, None, training)
        projected = tensordot(inputs, self.kernel, [[2], [0]])
        projected.set_shape([*inputs.shape.as_list()[:2], self.num_gates * self.units])
        if self.bias is not None:
            projected = bias_add(projected, self.bias)
        if self.go_backwards:
            projected = array.reverse(projected, [1])
            mask = mask if mask is None else array.reverse(mask, [1])
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
        result = outputs if self.return_sequences else array.identity(last[0])
        return [result, *last] if self.return_state else result

    def _dropped(self, x: Any, rate: float, noise_shape: Any, training: Any) -> Any:
        return smart_cond(
            training,
            lambda: drop(x, rate=rate, noise_shape=noise_shape),
            lambda: array.identity(x),
        )

    def _recurrent(self, h: Any, kernel: Any) -> Any:
        return matmul(h if self._recurrent_noise is None else h * self._recurrent_noise, kernel)


class SimpleRNN(_Recurrent):
    """``h = activation(x kernel + h recurrent_kernel + bias)``."""

    def step(self, inputs: Any, states: Any) -> tuple[Any, ...]:
        return (self.activation(inputs + self._recurrent(states[0], self.recurrent_kernel)),)


class _UnitForgetBias(Zeros):
    """Zeros, and ones for the forget gate (Jozefowicz et al. 2015)."""

    def __init__(self, inner: Any, units: int) -> None:
        super().__init__()
        self._inner = inner
        self._units = units

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        n = self._units
        parts = [
            self._inner([n], dtype=dtype),
            Ones()([n], dtype=dtype),
            self._inner([2 * n], dtype=dtype),
        ]
        return array.concat(parts, 0)


class LSTM(_Recurrent):
    """Long short-term memory (Hochreiter and Schmidhuber 1997)."""

    num_gates = 4
    num_states = 2

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid",
        use_bias: bool = True,
        unit_forget_bias: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, activation, use_bias, **kwargs)
        self.recurrent_activation = activations.get(recurrent_activation)
        self.unit_forget_bias = unit_forget_bias

    def _bias_initializer(self) -> Any:
        if not self.unit_forget_bias:
            return None
        return _UnitForgetBias(self._weight_settings["bias_initializer"], self.units)

    def step(self, inputs: Any, states: Any) -> tuple[Any, ...]:
        h, c = states
        gates = inputs + self._recurrent(h, self.recurrent_kernel)
        i, f, candidate, o = array.split(gates, 4, 1)
        gate = self.recurrent_activation
        c = gate(f) * c + gate(i) * self.activation(candidate)
        return gate(o) * self.activation(c), c


class GRU(_Recurrent):
    """Gated recurrent unit (Cho et al. 2014); the reset gate acts before the product."""

    num_gates = 3

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid",
        use_bias: bool = True,
        reset_after: bool = False,
        **kwargs: Any,
    ) -> None:
        if reset_after:
            raise NotImplementedError("GRU(reset_after=True) is not supported.")
        super().__init__(units, activation, use_bias, **kwargs)
        self.recurrent_activation = activations.get(recurrent_activation)

    def step(self, inputs: Any, states: Any) -> tuple[Any, ...]:
        (h,) = states
        n = self.units
        recurrent = self._recurrent(h, self.recurrent_kernel[:, : 2 * n])
        z, r = array.split(self.recurrent_activation(inputs[:, : 2 * n] + recurrent), 2, 1)
        candidate = self._recurrent(r * h, self.recurrent_kernel[:, 2 * n :])
        candidate = self.activation(inputs[:, 2 * n :] + candidate)
        return (z * h + (1 - z) * candidate,)
