"""Recurrent layers: one product for the inputs of all steps, then a loop over the steps.

Weights as Keras has them: ``kernel`` [inputs, gates * units], ``recurrent_kernel``
[units, gates * units], ``bias``; gates in the order i, f, c, o (LSTM) and z, r, h (GRU).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.keras import activations, backend as K
from dataflow.keras.base_layer import InputSpec, Layer
from dataflow.keras.layers.core import weight_settings
from dataflow.layers.base import smart_cond
from dataflow.ops import array
from dataflow.ops.bias import bias_add
from dataflow.ops.initializers import Ones, Zeros
from dataflow.ops.math import matmul
from dataflow.ops.normalization import dropout as drop
from dataflow.ops.state import assign
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
        self.stateful = stateful
        self.states: list[Any] = []
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
        self._state_updates: list[Any] = []

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
        if isinstance(input_shape, list):  # the states that it starts from come after the inputs
            input_shape = input_shape[0]
        depth = TensorShape(input_shape)[-1].value
        if depth is None:
            raise ValueError(f"Layer {self.name}: the last axis of the inputs must be known.")
        columns = self.num_gates * self.units
        self.kernel = self._weight("kernel", "kernel", [depth, columns])
        self.recurrent_kernel = self._weight("recurrent_kernel", "recurrent", [self.units, columns])
        self.bias: Any = None
        if self.use_bias:
            self.bias = self._weight("bias", "bias", self._bias_shape(), self._bias_initializer())
        self._make_states(TensorShape(input_shape)[0].value, [self.units])
        self.built = True

    def _bias_shape(self) -> list[int]:
        return [self.num_gates * self.units]

    def _input_bias(self) -> Any:
        """What is added to the projected inputs."""
        return self.bias

    # ---- states that last from batch to batch ----------------------------------------------

    def _make_states(self, batch_size: int | None, inner: list[Any]) -> None:
        if not self.stateful:
            return
        if batch_size is None or None in inner:
            raise ValueError(
                f"Layer {self.name}: a stateful layer needs to know its batch size, as example i "
                "of a batch goes on where example i of the batch before stopped. Give the first "
                "layer batch_input_shape=(batch, steps, features), or Input(batch_shape=...)."
            )
        self.states = [
            K.variable(np.zeros([batch_size, *inner]), name=f"state_{i}")
            for i in range(self.num_states)
        ]

    def reset_states(self, states: Any = None) -> None:
        """Sets the states of a stateful layer to 0, or to arrays.

        Raises `AttributeError` for a layer that is not stateful, `ValueError` for other shapes.
        """
        if not self.stateful:
            raise AttributeError("Layer must be stateful.")
        if not self.states:
            raise ValueError(f"Layer {self.name} has no states before it is called.")
        if states is None:
            values = [np.zeros(state.shape.as_list()) for state in self.states]
        else:
            values = list(states) if isinstance(states, (list, tuple)) else [states]
        if len(values) != len(self.states):
            raise ValueError(
                f"Layer {self.name} expects {len(self.states)} states, but it received "
                f"{len(values)} state values."
            )
        K.batch_set_value(list(zip(self.states, values, strict=True)))

    @property
    def state_updates(self) -> list[Any]:
        """Ops that keep the states; they run with training, evaluation and prediction."""
        return list(self._state_updates)

    def _keep(self, last: Any) -> None:
        """Notes the ops that keep the last states, where the layer is stateful."""
        pairs = zip(self.states, last, strict=True) if self.states else []
        self._state_updates += [assign(state, value).op for state, value in pairs]

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
            projected = bias_add(projected, self._input_bias())
        if self.go_backwards:
            projected = array.reverse(projected, [1])
            mask = mask if mask is None else array.reverse(mask, [1])
        if states is None and self.states:
            states = tuple(state.read_value() for state in self.states)
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
    """Gated recurrent unit (Cho et al. 2014).

    The reset gate acts before the product with the recurrent kernel, or ``reset_after`` it, as
    cuDNN has it; then ``bias`` is [2, 3 * units].
    """

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
        super().__init__(units, activation, use_bias, **kwargs)
        self.recurrent_activation = activations.get(recurrent_activation)
        self.reset_after = reset_after

    def _bias_shape(self) -> list[int]:
        # Reset after the product, the recurrent side needs a bias of its own.
        columns = self.num_gates * self.units
        return [2, columns] if self.reset_after else [columns]

    def _input_bias(self) -> Any:
        return self.bias[0] if self.reset_after else self.bias

    def _recurrent_bias(self) -> Any:
        return self.bias[1]

    def step(self, inputs: Any, states: Any) -> tuple[Any, ...]:
        (h,) = states
        n = self.units
        if self.reset_after:
            recurrent = self._recurrent(h, self.recurrent_kernel)
            if self.bias is not None:
                recurrent = bias_add(recurrent, self._recurrent_bias())
            gates = self.recurrent_activation(inputs[:, : 2 * n] + recurrent[:, : 2 * n])
            z, r = array.split(gates, 2, 1)
            candidate = self.activation(inputs[:, 2 * n :] + r * recurrent[:, 2 * n :])
            return (z * h + (1 - z) * candidate,)
        recurrent = self._recurrent(h, self.recurrent_kernel[:, : 2 * n])
        z, r = array.split(self.recurrent_activation(inputs[:, : 2 * n] + recurrent), 2, 1)
        candidate = self._recurrent(r * h, self.recurrent_kernel[:, 2 * n :])
        candidate = self.activation(inputs[:, 2 * n :] + candidate)
        return (z * h + (1 - z) * candidate,)
