"""Cells of `tf.contrib.rnn` whose recurrent matrices are diagonal, or have blocks on the diagonal alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.graph.type_aliases import DTypeLike, InitializerLike
from dataflow.ops import array
from dataflow.ops.bias import bias_add
from dataflow.ops.initializers import (
    constant_initializer,
    random_uniform_initializer,
    zeros_initializer,
)
from dataflow.ops.math import matmul, sigmoid, tanh
from dataflow.rnn.base_cell import (
    LSTMSizes,
    LSTMStateTuple,
    ProjectedSizes,
    SameSizes,
    depth_of,
)


class IndRNNCell(SameSizes):
    """Each unit sees of the state only itself: ``activation(W x + u * state + b)`` (Li et al. 2018)."""

    def __init__(
        self,
        num_units: int,
        activation: Callable[..., Any] | None = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units = num_units
        self._activation = activation or tanh

    def build(self, input_shape: Any) -> None:
        units = self._num_units
        self._kernel_w = self.add_variable("kernel_w", [depth_of(input_shape), units])
        self._kernel_u = self.add_variable(
            "kernel_u", [1, units], initializer=random_uniform_initializer(-1.0, 1.0)
        )
        self._bias = self.add_variable("bias", [units], initializer=zeros_initializer())
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        both = matmul(inputs, self._kernel_w) + state * self._kernel_u
        output = self._activation(bias_add(both, self._bias))
        return output, output


class IndyGRUCell(SameSizes):
    """`tf.nn.rnn_cell.GRUCell` whose units see of the state only themselves, as `IndRNNCell`'s."""

    def __init__(
        self,
        num_units: int,
        activation: Callable[..., Any] | None = None,
        reuse: bool | None = None,
        kernel_initializer: InitializerLike | None = None,
        bias_initializer: InitializerLike | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units = num_units
        self._activation = activation or tanh
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer

    def build(self, input_shape: Any) -> None:
        depth, units = depth_of(input_shape), self._num_units

        def part(name: str, kernel: str, columns: int, bias: float) -> tuple[Any, Any, Any]:
            return (
                self.add_variable(
                    f"{name}/{kernel}", [depth, columns], initializer=self._kernel_initializer
                ),
                self.add_variable(
                    f"{name}/kernel_u",
                    [1, columns],
                    initializer=random_uniform_initializer(-1.0, 1.0),
                ),
                self.add_variable(
                    f"{name}/bias",
                    [columns],
                    initializer=self._bias_initializer or constant_initializer(bias),
                ),
            )

        self._gates = part("gates", "kernel_w", 2 * units, 1.0)
        # TensorFlow's name; a checkpoint holds it.
        self._candidate = part("candidate", "kernel", units, 0.0)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        w, u, bias = self._gates
        gates = bias_add(matmul(inputs, w) + array.tile(state, [1, 2]) * u, bias)
        reset, update = array.split(sigmoid(gates), 2, 1)
        w, u, bias = self._candidate
        candidate = self._activation(bias_add(matmul(inputs, w) + reset * state * u, bias))
        new = update * state + (1 - update) * candidate
        return new, new


class IndyLSTMCell(LSTMSizes):
    """`tf.nn.rnn_cell.BasicLSTMCell` whose units see of the state only themselves.

    Source: Gonnet and Deselaers, "IndyLSTMs: independently recurrent LSTMs", 2019.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        activation: Callable[..., Any] | None = None,
        reuse: bool | None = None,
        kernel_initializer: InitializerLike | None = None,
        bias_initializer: InitializerLike | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._activation = activation or tanh
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer

    def build(self, input_shape: Any) -> None:
        gates = 4 * self._num_units
        self._kernel_w = self.add_variable(
            "kernel_w", [depth_of(input_shape), gates], initializer=self._kernel_initializer
        )
        self._kernel_u = self.add_variable(
            "kernel_u", [1, gates], initializer=random_uniform_initializer(-1.0, 1.0)
        )
        self._bias = self.add_variable(
            "bias", [gates], initializer=self._bias_initializer or zeros_initializer()
        )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        c, h = state
        gates = matmul(inputs, self._kernel_w) + array.tile(h, [1, 4]) * self._kernel_u
        i, j, f, o = array.split(bias_add(gates, self._bias), 4, 1)
        new_c = c * sigmoid(f + self._forget_bias) + sigmoid(i) * self._activation(j)
        new_h = self._activation(new_c) * sigmoid(o)
        return new_h, LSTMStateTuple(new_c, new_h)


class GLSTMCell(ProjectedSizes):
    """LSTM in groups: each computes its share of the gates from its share of inputs and outputs.

    ``num_units`` and ``num_proj`` are multiples of ``number_of_groups``. Source: Kuchaiev and Ginsburg,
    "Factorization tricks for LSTM networks", 2017.
    """

    def __init__(
        self,
        num_units: int,
        initializer: InitializerLike | None = None,
        num_proj: int | None = None,
        number_of_groups: int = 1,
        forget_bias: float = 1.0,
        activation: Callable[..., Any] = tanh,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        for name, size in (("num_units", num_units), ("num_proj", num_proj or 0)):
            if size % number_of_groups:
                raise ValueError(
                    f"{name} must be divisible by number_of_groups, got {size} and {number_of_groups}."
                )
        self._num_units, self._num_proj = num_units, num_proj
        self._initializer = initializer
        self._num_groups = number_of_groups
        self._forget_bias = forget_bias
        self._activation = activation

    def build(self, input_shape: Any) -> None:
        rows = depth_of(input_shape) // self._num_groups + self.output_size // self._num_groups
        columns = 4 * self._num_units // self._num_groups
        self._kernels = [
            self.add_variable(f"group{n}/kernel", [rows, columns], initializer=self._initializer)
            for n in range(self._num_groups)
        ]
        self._biases = [
            self.add_variable(f"bias_{gate}", [self._num_units], initializer=zeros_initializer())
            for gate in "ijfo"
        ]
        if self._num_proj is not None:
            self._projection = self.add_variable(
                "projection/kernel", [self._num_units, self._num_proj]
            )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        c, m = state
        x_size = depth_of(inputs.shape) // self._num_groups
        m_size = self.output_size // self._num_groups
        groups = []
        for n, kernel in enumerate(self._kernels):
            x_part = inputs[:, n * x_size : (n + 1) * x_size]
            m_part = m[:, n * m_size : (n + 1) * m_size]
            groups.append(array.split(matmul(array.concat([x_part, m_part], 1), kernel), 4, 1))
        i, j, f, o = (
            bias_add(array.concat(list(parts), 1), bias)
            for parts, bias in zip(zip(*groups, strict=True), self._biases, strict=True)
        )
        c = sigmoid(f + self._forget_bias) * c + sigmoid(i) * tanh(j)
        m = sigmoid(o) * self._activation(c)
        if self._num_proj is not None:
            m = matmul(m, self._projection)
        return m, LSTMStateTuple(c, m)
