"""Recurrent cells of `tf.contrib.rnn` that each follow one paper."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow import dtypes
from dataflow.dtypes import as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import DTypeLike, DynamicShapeLike, InitializerLike, TensorLike
from dataflow.ops import array
from dataflow.ops.activation import relu
from dataflow.ops.bias import bias_add
from dataflow.ops.initializers import constant_initializer, zeros_initializer
from dataflow.ops.math import exp, floormod, log, matmul, sigmoid, tanh
from dataflow.ops.random import random_uniform
from dataflow.ops.seeds import count_left_out
from dataflow.rnn.base_cell import (
    LSTMSizes,
    LSTMStateTuple,
    ProjectedSizes,
    SameSizes,
    depth_of,
)
from dataflow.rnn.cells import GRUCell, ProjectedLSTM
from dataflow.rnn.gated_cells import gain_and_shift, normalized_units
from dataflow.rnn.linear import joined_product, sharded_kernel


class NASCell(ProjectedSizes):
    """The cell that architecture search found (Zoph and Le 2016); states are `LSTMStateTuple`."""

    def __init__(
        self,
        num_units: int,
        num_proj: int | None = None,
        use_bias: bool = False,
        reuse: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units = num_units
        self._num_proj = num_proj
        self._use_bias = use_bias

    def build(self, input_shape: Any) -> None:
        gates = 8 * self._num_units
        self._recurrent = self.add_variable("recurrent_kernel", [self.output_size, gates])
        self._kernel = self.add_variable("kernel", [depth_of(input_shape), gates])
        if self._use_bias:
            self._bias = self.add_variable("bias", [gates], initializer=zeros_initializer())
        if self._num_proj is not None:
            self._projection = self.add_variable(
                "projection_weights", [self._num_units, self._num_proj]
            )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        c, m = state
        by_state = matmul(m, self._recurrent)
        if self._use_bias:
            by_state = bias_add(by_state, self._bias)
        hs = array.split(by_state, 8, 1)
        xs = array.split(matmul(inputs, self._kernel), 8, 1)
        a = sigmoid(xs[0] + hs[0]) * relu(xs[1] + hs[1])
        b = sigmoid(xs[2] + hs[2]) + relu(xs[3] * hs[3])
        d = tanh(xs[4] + hs[4]) * sigmoid(xs[5] + hs[5])
        e = tanh(xs[6] + hs[6]) + sigmoid(xs[7] + hs[7])
        new_c = tanh(tanh(a) + c) * tanh(b)
        new_m = tanh(new_c * tanh(tanh(d) + sigmoid(e)))
        if self._num_proj is not None:
            new_m = matmul(new_m, self._projection)
        return new_m, LSTMStateTuple(new_c, new_m)


class CoupledInputForgetGateLSTMCell(ProjectedLSTM):
    """LSTM that forgets as much as it takes in: the input gate is ``1 - f`` (Greff et al. 2015).

    ``layer_norm``: the candidate, the gates and the memory are normalized over their units (Ba, Kiros, Hinton
    2016), and the bias is not added.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        initializer: InitializerLike | None = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int = 1,
        num_proj_shards: int = 1,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Callable[..., Any] = tanh,
        reuse: bool | None = None,
        layer_norm: bool = False,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._initializer = initializer
        self._num_proj, self._proj_clip = num_proj, proj_clip
        self._num_unit_shards, self._num_proj_shards = num_unit_shards, num_proj_shards
        self._forget_bias = forget_bias
        self._layer_norm = layer_norm
        self._gain, self._shift = norm_gain, norm_shift
        self._state_is_tuple = state_is_tuple
        self._activation = activation

    def build(self, input_shape: Any) -> None:
        units, initializer = self._num_units, self._initializer
        shape = [depth_of(input_shape) + self.output_size, 3 * units]
        self._kernel = sharded_kernel(
            self.add_variable, "W", shape, self._num_unit_shards, initializer
        )
        self._bias = self.add_variable("B", [3 * units], initializer=zeros_initializer())
        self._norms = {
            part: gain_and_shift(self, part, units, self._gain, self._shift)
            for part in (("transform", "forget", "output", "state") if self._layer_norm else ())
        }
        if self._use_peepholes:
            self._w_f, self._w_o = (
                self.add_variable(f"W_{gate}_diag", [units], initializer=initializer)
                for gate in "FO"
            )
        if self._num_proj is not None:
            self._projection = sharded_kernel(
                self.add_variable,
                "W_P",
                [units, self._num_proj],
                self._num_proj_shards,
                initializer,
            )
        self.built = True

    def _normalized(self, x: TensorLike, part: str) -> Any:
        return normalized_units(x, *self._norms[part]) if self._layer_norm else x

    def call(self, inputs: Any, state: Any) -> Any:
        c, m = self._parts(state)
        gates = matmul(array.concat([inputs, m], 1), self._kernel)
        if not self._layer_norm:
            gates = bias_add(gates, self._bias)
        j, f, o = (
            self._normalized(gate, part)
            for gate, part in zip(
                array.split(gates, 3, 1), ("transform", "forget", "output"), strict=True
            )
        )
        f = f + self._forget_bias
        if self._use_peepholes:
            f = f + self._w_f * c
        f = sigmoid(f)
        c = self._normalized(f * c + (1.0 - f) * self._activation(j), "state")
        if self._use_peepholes:
            o = o + self._w_o * c
        return self._result(c, sigmoid(o) * self._activation(c))


class IntersectionRNNCell(SameSizes):
    """+RNN: one gate for the state, one for the way through the layers (Collins et al. 2016).

    Inputs have ``num_units`` elements, or are projected to as many: ``num_in_proj=num_units``.
    """

    def __init__(
        self,
        num_units: int,
        num_in_proj: int | None = None,
        initializer: InitializerLike | None = None,
        forget_bias: float = 1.0,
        y_activation: Any = relu,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._initializer = initializer
        self._forget_bias = forget_bias
        self._num_input_proj = num_in_proj
        self._y_activation = y_activation

    def build(self, input_shape: Any) -> None:
        depth, units = depth_of(input_shape), self._num_units
        self._projects = depth != units
        if self._projects:
            if not self._num_input_proj:
                raise ValueError(
                    f"IntersectionRNNCell: inputs have {depth} elements, the state has {units}; they "
                    "must be as many. Project them with num_in_proj=num_units."
                )
            self._in_kernel = self.add_variable(
                "in_projection/kernel", [depth, units], initializer=self._initializer
            )
            self._in_bias = self.add_variable(
                "in_projection/bias", [units], initializer=zeros_initializer()
            )
        count_left_out(2)  # inputs and state are joined first there
        self._kernel = self.add_variable(
            "kernel", [2 * units, 4 * units], initializer=self._initializer
        )
        self._bias = self.add_variable("bias", [4 * units], initializer=zeros_initializer())
        count_left_out(-2)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        if self._projects:
            inputs = bias_add(matmul(inputs, self._in_kernel), self._in_bias)
        count_left_out(13)  # four slices, where we split
        both = bias_add(matmul(array.concat([inputs, state], 1), self._kernel), self._bias)
        state_gate, new_state, depth_gate, output = array.split(both, 4, 1)
        state_gate = sigmoid(state_gate + self._forget_bias)
        depth_gate = sigmoid(depth_gate + self._forget_bias)
        new_state = state_gate * state + (1.0 - state_gate) * tanh(new_state)
        output = depth_gate * inputs + (1.0 - depth_gate) * self._y_activation(output)
        return output, new_state


class PhasedLSTMCell(LSTMSizes):
    """LSTM whose units open at times of their own (Neil, Pfeiffer, Liu 2016).

    Inputs are a pair: the time of each sequence [batch, 1], and features [batch, size].
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        leak: float = 0.001,
        ratio_on: float = 0.1,
        trainable_ratio_on: bool = True,
        period_init_min: float = 1.0,
        period_init_max: float = 1000.0,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._leak, self._ratio_on = leak, ratio_on
        self._trainable_ratio_on = trainable_ratio_on
        self._periods = period_init_min, period_init_max

    def build(self, input_shape: Any) -> None:
        units = self._num_units
        depth = depth_of(input_shape[1]) + units
        seen = depth + (units if self._use_peepholes else 0)
        self._linear = {}
        for name, rows, columns in (
            ("mask_gates", seen, 2 * units),
            ("new_input", depth, units),
            ("output_gate", seen, units),
        ):
            self._linear[name] = (
                self.add_variable(f"{name}/kernel", [rows, columns]),
                self.add_variable(f"{name}/bias", [columns], initializer=zeros_initializer()),
            )
        shortest, longest = self._periods

        def period(
            shape: DynamicShapeLike, dtype: DTypeLike | None = None, partition_info: Any = None
        ) -> Any:
            wanted = as_dtype(dtype or dtypes.float32)
            low, high = (log(convert_to_tensor(end, wanted)) for end in (shortest, longest))
            return exp(random_uniform(shape, low, high, wanted))

        self._period = self.add_variable("period", [units], initializer=period)

        def phase(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
            return random_uniform(shape, 0.0, 1.0, dtype) * self._period.initialized_value()

        self._phase = self.add_variable("phase", [units], initializer=phase)
        self._ratio = self.add_variable(
            "ratio_on",
            [units],
            initializer=constant_initializer(self._ratio_on),
            trainable=self._trainable_ratio_on,
        )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        c, h = state
        time, x = inputs
        peephole = (c,) if self._use_peepholes else ()
        i, f = array.split(
            sigmoid(joined_product(self._linear["mask_gates"], x, h, *peephole)), 2, 1
        )
        new_c = c * f + i * tanh(joined_product(self._linear["new_input"], x, h))
        peephole = (new_c,) if self._use_peepholes else ()
        new_h = tanh(new_c) * sigmoid(joined_product(self._linear["output_gate"], x, h, *peephole))
        # The remainder passes gradients on as if it were the number itself.
        passed = time - self._phase
        rest = array.stop_gradient(floormod(passed, self._period) - passed) + passed
        ratio = rest / self._period
        rising = 2.0 * ratio / self._ratio
        ratio_on = array.zeros_like(ratio) + self._ratio
        openness = array.where(ratio < ratio_on, 2.0 - rising, self._leak * ratio)
        openness = array.where(ratio < 0.5 * ratio_on, rising, openness)
        new_c = openness * new_c + (1.0 - openness) * c
        new_h = openness * new_h + (1.0 - openness) * h
        return new_h, LSTMStateTuple(new_c, new_h)


class CudnnCompatibleGRUCell(GRUCell):
    """GRU as cuDNN computes it: the reset gate acts on the state after its product with the kernel."""

    def __init__(
        self,
        num_units: int,
        reuse: bool | None = None,
        kernel_initializer: InitializerLike | None = None,
    ) -> None:
        super().__init__(num_units, reuse=reuse, kernel_initializer=kernel_initializer)

    def build(self, input_shape: Any) -> None:
        depth, units, initializer = depth_of(input_shape), self._num_units, self._kernel_initializer

        def dense(name: str, rows: int, columns: int, start: Any) -> tuple[Any, Any]:
            return (
                self.add_variable(f"{name}/kernel", [rows, columns], initializer=initializer),
                self.add_variable(f"{name}/bias", [columns], initializer=start),
            )

        gates = dense("gates", depth + units, 2 * units, constant_initializer(1.0))
        self._gate_kernel, self._gate_bias = gates
        zeros = zeros_initializer()
        self._by_inputs = dense("candidate/input_projection", depth, units, zeros)
        self._by_state = dense("candidate/hidden_projection", units, units, zeros)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        both = matmul(array.concat([inputs, state], 1), self._gate_kernel)
        r, u = array.split(sigmoid(bias_add(both, self._gate_bias)), 2, 1)
        candidate = bias_add(matmul(inputs, self._by_inputs[0]), self._by_inputs[1])
        candidate += r * bias_add(matmul(state, self._by_state[0]), self._by_state[1])
        new = (1.0 - u) * self._activation(candidate) + u * state
        return new, new
