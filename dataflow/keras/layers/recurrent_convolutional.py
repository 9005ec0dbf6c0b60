"""`ConvLSTM2D`: an LSTM whose products are convolutions (Shi et al. 2015)."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dataflow.graph import nest
from dataflow.keras import activations, backend as K
from dataflow.keras.base_layer import InputSpec
from dataflow.keras.layers.recurrent import LSTM
from dataflow.keras.layers.recurrent_counts import call_of, num_convolutional_call_nodes
from dataflow.layers.layer_arguments import pair
from dataflow.ops import array
from dataflow.ops.bias import bias_add
from dataflow.ops.conv_functions import conv2d
from dataflow.ops.seeds import counted_as
from dataflow.rnn.loops import dynamic_rnn
from dataflow.shapes import TensorShape

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope


class _ConvStep:
    """The cell of the loop: states are images."""

    def __init__(self, layer: ConvLSTM2D, sizes: list[Any], has_mask: bool) -> None:
        self._layer = layer
        self._has_mask = has_mask
        self.output_size = TensorShape(sizes)
        self.state_size = (TensorShape(sizes),) * 2

    def __call__(self, inputs: Any, states: Any, scope: str | VariableScope | None = None) -> Any:
        inputs, mask = inputs if self._has_mask else (inputs, None)
        new = self._layer.step(inputs, states)
        if mask is not None:
            mask = array.reshape(mask, [-1, 1, 1, 1])
            kept = K.cast(mask, new[0].dtype.base_dtype)
            new = tuple(kept * n + (1 - kept) * o for n, o in zip(new, states, strict=True))
        return new[0], tuple(new)


class ConvLSTM2D(LSTM):
    """Images in time, [batch, steps, rows, columns, channels], to images (or one per step).

    ``kernel`` [rows, columns, channels, 4 * filters] moves over each input with ``strides``,
    ``padding`` and ``dilation_rate``; ``recurrent_kernel`` over the state, which keeps its size.
    With ``data_format="channels_first"`` channels come after the steps.
    """

    _cell_kind = ""

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = (1, 1),
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = (1, 1),
        activation: str | Callable[..., Any] = "tanh",
        recurrent_activation: Any = "hard_sigmoid",
        use_bias: bool = True,
        unit_forget_bias: bool = True,
        **kwargs: Any,
    ) -> None:
        if padding.lower() not in ("valid", "same"):
            raise ValueError(f"ConvLSTM2D: padding is 'valid' or 'same', got {padding!r}.")
        super().__init__(
            filters, activation, recurrent_activation, use_bias, unit_forget_bias, **kwargs
        )
        self.filters = int(filters)
        self.kernel_size = pair(kernel_size, 2, "kernel_size")
        self.strides = pair(strides, 2, "strides")
        self.padding = padding.lower()
        self.data_format = data_format or K.image_data_format()
        self.dilation_rate = pair(dilation_rate, 2, "dilation_rate")
        self.recurrent_activation = activations.get(recurrent_activation)
        self.input_spec = InputSpec(ndim=5)

    def _is_channels_first(self) -> bool:
        return self.data_format == "channels_first"

    def build(self, input_shape: Any) -> None:
        if isinstance(input_shape, list):
            input_shape = input_shape[0]
        sizes = TensorShape(input_shape).as_list()
        channels = sizes[2 if self._is_channels_first() else 4]
        if channels is None:
            raise ValueError(f"Layer {self.name}: the number of channels must be known.")
        columns = 4 * self.filters
        self.kernel = self._weight("kernel", "kernel", [*self.kernel_size, channels, columns])
        self.recurrent_kernel = self._weight(
            "recurrent_kernel", "recurrent", [*self.kernel_size, self.filters, columns]
        )
        self.bias = None
        if self.use_bias:
            self.bias = self._weight("bias", "bias", [columns], self._bias_initializer())
        rows = sizes[3:5] if self._is_channels_first() else sizes[2:4]
        inner = [*map(self._size_after, rows, range(2)), self.filters]
        self._make_states(sizes[0], [inner] * self.num_states)
        self.built = True

    def _size_after(self, size: Any, axis: int) -> Any:
        if size is None:
            return None
        if self.padding == "valid":
            size -= (self.kernel_size[axis] - 1) * self.dilation_rate[axis]
        return -(-size // self.strides[axis])

    def get_initial_state(self, inputs: Any) -> list[Any]:
        """The states of 0 that a sequence starts from: [batch, rows, columns, filters] each.

        With ``data_format="channels_first"`` the filters come after the batch.
        """
        is_first = self._is_channels_first()
        sizes, static = array.shape(inputs), inputs.shape.as_list()
        rows = 3 if is_first else 2
        inner = [
            self._size_after(sizes[axis] if static[axis] is None else static[axis], axis - rows)
            for axis in (rows, rows + 1)
        ]
        shape = [sizes[0], self.filters, *inner] if is_first else [sizes[0], *inner, self.filters]
        zeros = array.zeros(shape, inputs.dtype.base_dtype)
        return [zeros] * self.num_states

    def step(self, inputs: Any, states: Any) -> tuple[Any, ...]:
        h, c = states
        product = functools.partial(conv2d, strides=[1, 1, 1, 1], padding="SAME")
        noises = self._recurrent_noises
        gates = inputs + self._product(h, noises, self.recurrent_kernel, 0, product)
        i, f, candidate, o = array.split(gates, 4, 3)
        gate = self.recurrent_activation
        c = gate(f) * c + gate(i) * self.activation(candidate)
        return gate(o) * self.activation(c), c

    def call(
        self, inputs: Any, mask: Any = None, training: Any = None, initial_state: Any = None
    ) -> Any:
        states: Any = None if initial_state is None else tuple(nest.flatten(initial_state))
        if isinstance(inputs, (list, tuple)):
            inputs, states = inputs[0], tuple(inputs[1:])
        mask = mask[0] if isinstance(mask, (list, tuple)) else mask
        described = call_of(self, inputs, mask, training, states is not None)
        is_known = None not in inputs.shape.as_list()[2:]
        num_nodes = num_convolutional_call_nodes(self, described, is_known)
        with contextlib.nullcontext() if num_nodes is None else counted_as(num_nodes):
            result, last = self._run(inputs, mask, training, states)
        return [result, *last] if self.return_state else result

    def _run(self, inputs: Any, mask: Any, training: Any, states: Any) -> tuple[Any, Any]:
        if self._is_channels_first():
            inputs = array.transpose(inputs, [0, 1, 3, 4, 2])
        static = inputs.shape.as_list()
        sizes = array.shape(inputs)
        noise_shape = array.concat([sizes[:1], [1], sizes[2:]], 0)
        noises = self._noises(noise_shape, inputs.dtype.base_dtype, self.dropout, training)

        def product(sequence: Any, kernel: Any) -> Any:
            images = array.reshape(sequence, array.concat([[-1], sizes[2:]], 0))
            images.set_shape([None, *static[2:]])
            return conv2d(
                images,
                kernel,
                strides=[1, *self.strides, 1],
                padding=self.padding.upper(),
                dilations=[1, *self.dilation_rate, 1],
            )

        projected = self._product(inputs, noises, self.kernel, 0, product)
        if self.bias is not None:
            projected = bias_add(projected, self.bias)
        after = projected.shape.as_list()[1:3]
        shape = array.shape(projected)
        projected = array.reshape(projected, array.concat([sizes[:2], shape[1:]], 0))
        projected.set_shape([*static[:2], *after, 4 * self.filters])
        if self.go_backwards:
            projected = array.reverse(projected, [1])
            mask = mask if mask is None else array.reverse(mask, [1])
        given = states is not None
        if not given and self._kept_states:
            states = tuple(state.read_value() for state in self._kept_states)
        zeros = array.zeros(
            array.concat([sizes[:1], shape[1:3], [self.filters]], 0), inputs.dtype.base_dtype
        )
        zeros.set_shape([static[0], *after, self.filters])
        if states is None:
            states = (zeros, zeros)
        elif given and self._is_channels_first():
            states = tuple(array.transpose(state, [0, 2, 3, 1]) for state in states)
        self._recurrent_noises = self._noises(
            array.shape(zeros), zeros.dtype.base_dtype, self.recurrent_dropout, training
        )
        outputs, last = dynamic_rnn(
            _ConvStep(self, [*after, self.filters], mask is not None),
            projected if mask is None else (projected, mask),
            initial_state=states,
            dtype=projected.dtype.base_dtype,
        )
        self._keep(last)
        result = outputs if self.return_sequences else array.identity(last[0])
        if self._is_channels_first():
            order = [0, 1, 4, 2, 3] if self.return_sequences else [0, 3, 1, 2]
            result = array.transpose(result, order)
            last = tuple(array.transpose(state, [0, 3, 1, 2]) for state in last)
        return result, last
