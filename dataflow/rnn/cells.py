"""`tf.nn.rnn_cell`: one step of a recurrent network.

``cell(inputs, state) -> (output, new state)``; inputs [batch, size], states [batch, state size] or
a nesting of those. Variables are made at the first call and found again by every later one.
"""

from __future__ import annotations

import collections
import hashlib
from typing import TYPE_CHECKING, Any

from dataflow.dtypes import as_dtype
from dataflow.graph import nest
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, InitializerLike, TensorLike
from dataflow.layers.base import Layer
from dataflow.ops import array
from dataflow.ops.activation import relu
from dataflow.ops.arithmetic import add, multiply
from dataflow.ops.bias import bias_add
from dataflow.ops.clip import clip_by_value
from dataflow.ops.dropout import dropout
from dataflow.ops.initializers import (
    constant_initializer,
    zeros_initializer,
)
from dataflow.ops.math import matmul, sigmoid, tanh
from dataflow.ops.sources import constant
from dataflow.ops.static_value import static_value
from dataflow.ops.variable_scope import variable_scope
from dataflow.shapes import TensorShape

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope

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


def _sizes(size: TensorLike) -> list[int]:
    return TensorShape(size).as_list() if not isinstance(size, int) else [size]  # type: ignore[return-value]


def zeros_of_size(size: Any, batch_size: int | Tensor, dtype: DTypeLike) -> Any:
    """Zeros of shape [batch_size, size], for every size of a nesting."""
    if isinstance(size, (list, tuple)) and not isinstance(size, TensorShape):
        parts = [zeros_of_size(s, batch_size, dtype) for s in size]
        return type(size)(*parts) if hasattr(size, "_fields") else type(size)(parts)
    return array.zeros(array.stack([batch_size, *_sizes(size)]), dtype)


_zero_state_tensors = zeros_of_size  # TensorFlow's private name, by which Sonnet calls it


class RNNCell(Layer):
    """The base of cells; subclasses define ``state_size``, ``output_size`` and ``call``."""

    #: Whether inputs and states must be floating-point or complex numbers.
    _only_floating = False

    def __call__(
        self,
        inputs: Any,
        state: Any,
        scope: str | VariableScope | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        if self._only_floating:
            for part in nest.flatten([inputs, state]):
                dtype = getattr(part, "dtype", None)
                if dtype is not None and not (
                    as_dtype(dtype).is_floating or as_dtype(dtype).is_complex
                ):
                    raise ValueError(
                        f"RNN cell only supports floating point inputs, but saw dtype: {dtype.name}"
                    )
        if scope is not None:
            with variable_scope(scope) as captured:
                return Layer.__call__(self, inputs, state, *args, scope=captured, **kwargs)
        return Layer.__call__(self, inputs, state, *args, **kwargs)

    def add_variable(self, *args: Any, **kwargs: Any) -> Any:
        """A variable of this cell, trained unless a ``custom_getter`` of its scope said otherwise."""
        variable = Layer.add_variable(self, *args, **kwargs)
        trained = self._trainable_weights
        if not getattr(variable, "trainable", True) and trained and trained[-1] is variable:
            self._non_trainable_weights.append(trained.pop())
        return variable

    add_weight = add_variable

    @property
    def state_size(self) -> Any:
        """The size of the state: an int, a TensorShape, or a nesting of them."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        """The size of the output."""
        raise NotImplementedError("Abstract method")

    def zero_state(self, batch_size: int | Tensor, dtype: DTypeLike) -> Any:
        """The state of zeros for ``batch_size`` sequences."""
        with default_graph().name_scope(type(self).__name__ + "ZeroState"):
            zeros = zeros_of_size(self.state_size, batch_size, as_dtype(dtype))
            static = batch_size if isinstance(batch_size, int) else None
            for tensor in nest.flatten(zeros):
                if static is not None:
                    tensor.set_shape([static, *[None] * (tensor.shape.ndims - 1)])
            return zeros

    def get_initial_state(
        self,
        inputs: Any = None,
        batch_size: int | Tensor | None = None,
        dtype: DTypeLike | None = None,
    ) -> Any:
        """`zero_state` for the batch size and dtype of ``inputs``, or for those given.

        Raises `ValueError` where both are given and differ, or none is.
        """
        if inputs is not None:
            found = inputs.shape[0].value
            given = static_value(batch_size) if isinstance(batch_size, Tensor) else batch_size
            if batch_size is not None and found != given:
                raise ValueError(
                    "batch size from input tensor is different from the input param. Input tensor "
                    f"batch: {found}, batch_size: {batch_size}"
                )
            if dtype is not None and inputs.dtype.base_dtype is not as_dtype(dtype):
                raise ValueError(
                    "dtype from input tensor is different from the input param. Input tensor dtype: "
                    f"{inputs.dtype.name}, dtype: {as_dtype(dtype).name}"
                )
            batch_size = array.shape(inputs)[0] if found is None else found
            dtype = inputs.dtype.base_dtype
        if batch_size is None or dtype is None:
            raise ValueError(
                "batch_size and dtype cannot be None while constructing initial state: "
                f"batch_size={batch_size}, dtype={dtype}"
            )
        return self.zero_state(batch_size, dtype)


class BasicRNNCell(RNNCell):
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

    @property
    def state_size(self) -> Any:
        return self._num_units

    @property
    def output_size(self) -> Any:
        return self._num_units

    def build(self, input_shape: Any) -> None:
        depth = _depth(input_shape)
        self._kernel = self.add_variable("kernel", [depth + self._num_units, self._num_units])
        self._bias = self.add_variable("bias", [self._num_units], initializer=zeros_initializer())
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        gate = bias_add(matmul(array.concat([inputs, state], 1), self._kernel), self._bias)
        output = self._activation(gate)
        return output, output


def _depth(input_shape: Any) -> int:
    depth = TensorShape(input_shape)[-1].value
    if depth is None:
        raise ValueError(
            f"Expected inputs.shape[-1] to be known, saw shape: {TensorShape(input_shape)}"
        )
    return int(depth)


class GRUCell(RNNCell):
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

    @property
    def state_size(self) -> Any:
        return self._num_units

    @property
    def output_size(self) -> Any:
        return self._num_units

    def build(self, input_shape: Any) -> None:
        depth, units = _depth(input_shape), self._num_units
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


class LSTMStateTuple(collections.namedtuple("LSTMStateTuple", ("c", "h"))):
    """The state of an LSTM: cell ``c`` and output ``h``."""

    __slots__ = ()

    @property
    def dtype(self) -> Any:
        """The dtype of both; raises `TypeError` when they differ."""
        if self.c.dtype != self.h.dtype:
            raise TypeError(f"Inconsistent internal state: {self.c.dtype} vs {self.h.dtype}")
        return self.c.dtype


class BasicLSTMCell(RNNCell):
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

    @property
    def output_size(self) -> Any:
        return self._num_units

    def build(self, input_shape: Any) -> None:
        units = self._num_units
        self._kernel = self.add_variable("kernel", [_depth(input_shape) + units, 4 * units])
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


class LSTMCell(RNNCell):
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

    @property
    def _size(self) -> int:
        return self._num_proj or self._num_units

    @property
    def state_size(self) -> Any:
        if self._state_is_tuple:
            return LSTMStateTuple(self._num_units, self._size)
        return self._num_units + self._size

    @property
    def output_size(self) -> Any:
        return self._size

    def build(self, input_shape: Any) -> None:
        units = self._num_units
        self._kernel = self.add_variable(
            "kernel", [_depth(input_shape) + self._size, 4 * units], initializer=self._initializer
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
        if self._state_is_tuple:
            c, h = state
        else:
            c = state[:, : self._num_units]
            h = state[:, self._num_units :]
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
        m = sigmoid(o) * self._activation(c)
        if self._num_proj is not None:
            m = matmul(m, self._projection)
            if self._proj_clip is not None:
                m = clip_by_value(m, -self._proj_clip, self._proj_clip)
        return m, (LSTMStateTuple(c, m) if self._state_is_tuple else array.concat([c, m], 1))


class CellAround(RNNCell):
    """A cell around another one, with its sizes and states."""

    def __init__(self, cell: RNNCell, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not callable(cell) or not hasattr(cell, "state_size"):
            raise TypeError(f"The parameter cell must be an RNNCell, got {type(cell).__name__}.")
        self._cell = cell

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        return self._cell.output_size

    def zero_state(self, batch_size: int | Tensor, dtype: DTypeLike) -> Any:
        return self._cell.zero_state(batch_size, dtype)


class _Wrapper(CellAround):
    """Without variables or a scope of its own."""

    def get_config(self) -> dict[str, Any]:
        """The arguments, the cell inside as its class and settings; `from_config` reads them."""
        config = super().get_config()
        visitor = config.pop("dropout_state_filter_visitor", None)
        if visitor is not None:
            raise ValueError(
                "dropout_state_filter_visitor is a function, which no config can hold: keep the code "
                "that makes the cell instead."
            )
        if config.get("residual_fn", 0) is None:
            del config["residual_fn"]
        return config

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Any:
        """The wrapper that `get_config` described; ``custom_objects``: your own cells by name."""
        from dataflow.keras.serialization import deserialize

        known = {name: c for name, c in globals().items() if isinstance(c, type)}
        known.update(custom_objects or {})
        return cls(
            deserialize("cell", config["cell"], known),
            **{k: v for k, v in config.items() if k != "cell"},
        )

    @property
    def wrapped_cell(self) -> RNNCell:
        """The cell inside."""
        return self._cell

    @property
    def weights(self) -> list[Any]:
        return self._cell.weights

    trainable_variables = property(lambda self: self._cell.trainable_weights)
    variables = weights


class DropoutWrapper(_Wrapper):
    """Drops out inputs, outputs or states of a cell, anew in every step.

    With ``variational_recurrent`` the same pattern is used in all steps (Gal and Ghahramani 2016).
    """

    def __init__(
        self,
        cell: RNNCell,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: DTypeLike | None = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(cell, **kwargs)
        for name, value in (
            ("input_keep_prob", input_keep_prob),
            ("output_keep_prob", output_keep_prob),
            ("state_keep_prob", state_keep_prob),
        ):
            if isinstance(value, (int, float)) and not 0 <= value <= 1:
                raise ValueError(f"Parameter {name} must be between 0 and 1: {value}")
        self._input_keep_prob = input_keep_prob
        self._output_keep_prob = output_keep_prob
        self._state_keep_prob = state_keep_prob
        self._seed = seed
        self._variational = variational_recurrent
        self._noise: dict[str, Any] = {}
        if variational_recurrent:
            if dtype is None:
                raise ValueError("When variational_recurrent=True, dtype must be provided")
            drops_inputs = not isinstance(input_keep_prob, (int, float)) or input_keep_prob < 1
            if drops_inputs and input_size is None:
                raise ValueError(
                    "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, "
                    "input_size must be provided"
                )
            self._noise_dtype = as_dtype(dtype)

    def _seed_of(self, salt: str) -> int | None:
        """A seed for each mask, the same in every process (`hash` of a string is not)."""
        if self._seed is None:
            return None
        digest = hashlib.md5(f"{self._seed}{salt}".encode(), usedforsecurity=False).digest()
        return int.from_bytes(digest[:4], "big") & 0x7FFFFFFF

    def _drop(self, values: TensorLike, salt: str, keep_prob: Any) -> Any:
        if isinstance(keep_prob, (int, float)) and keep_prob >= 1:
            return values

        def one(index: int, value: Any) -> Any:
            seed = self._seed_of(f"{salt}_{index}")
            if not self._variational:
                return dropout(value, keep_prob=keep_prob, seed=seed)
            key = f"{salt}{index}"
            if key not in self._noise:
                from dataflow.ops.random import random_uniform

                with default_graph().control_dependencies(None):
                    size = [1, *value.shape.as_list()[1:]]
                    self._noise[key] = random_uniform(size, dtype=self._noise_dtype, seed=seed)
            from dataflow.ops.math import floor

            mask = floor(self._noise[key] + keep_prob)
            return value / keep_prob * mask

        flat = nest.flatten(values)
        return nest.pack_like(values, [one(i, v) for i, v in enumerate(flat)])

    def __call__(
        self,
        inputs: Any,
        state: Any,
        scope: str | VariableScope | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        inputs = self._drop(inputs, "input", self._input_keep_prob)
        output, new_state = self._cell(inputs, state, scope)
        if isinstance(new_state, LSTMStateTuple):  # c is the memory; only h is dropped
            kept = self._drop(new_state.h, "state", self._state_keep_prob)
            new_state = LSTMStateTuple(new_state.c, kept)
        else:
            new_state = self._drop(new_state, "state", self._state_keep_prob)
        return self._drop(output, "output", self._output_keep_prob), new_state


class ResidualWrapper(_Wrapper):
    """Adds the inputs to the outputs (or combines them by ``residual_fn``)."""

    def __init__(self, cell: RNNCell, residual_fn: Any = None, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._residual_fn = residual_fn

    def __call__(
        self,
        inputs: Any,
        state: Any,
        scope: str | VariableScope | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        outputs, new_state = self._cell(inputs, state, scope)
        if self._residual_fn is not None:
            return self._residual_fn(inputs, outputs), new_state
        nest.assert_same_structure(inputs, outputs)
        return nest.map_structure(lambda a, b: a + b, inputs, outputs), new_state


class DeviceWrapper(_Wrapper):
    """Pins a cell to a device."""

    def __init__(self, cell: RNNCell, device: Any, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._device = device

    def __call__(
        self,
        inputs: Any,
        state: Any,
        scope: str | VariableScope | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        with default_graph().device(self._device):
            return self._cell(inputs, state, scope)


class MultiRNNCell(RNNCell):
    """Cells on top of each other: the output of one is the input of the next."""

    def __init__(self, cells: Any, state_is_tuple: bool = True) -> None:
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not isinstance(cells, (list, tuple)):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        if len({id(c) for c in cells}) < len(cells) and any(
            isinstance(c, Layer) and not c.built for c in cells
        ):
            import warnings

            warnings.warn(
                "At least two cells provided to MultiRNNCell are the same object and will share weights.",
                stacklevel=2,
            )
        if not state_is_tuple and any(nest.is_nested(c.state_size) for c in cells):
            raise ValueError(
                "Some cells return tuples of states, but the flag state_is_tuple is not set. State "
                f"sizes are: {[c.state_size for c in cells]}"
            )
        self._cells = list(cells)
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self) -> Any:
        if self._state_is_tuple:
            return tuple(c.state_size for c in self._cells)
        return sum(c.state_size for c in self._cells)

    @property
    def output_size(self) -> Any:
        return self._cells[-1].output_size

    def zero_state(self, batch_size: int | Tensor, dtype: DTypeLike) -> Any:
        with default_graph().name_scope(type(self).__name__ + "ZeroState"):
            if self._state_is_tuple:
                return tuple(c.zero_state(batch_size, dtype) for c in self._cells)
        return super().zero_state(batch_size, dtype)

    @property
    def weights(self) -> list[Any]:
        return [w for c in self._cells for w in c.weights]

    variables = weights
    trainable_variables = property(
        lambda self: [w for c in self._cells for w in c.trainable_weights]
    )

    def call(self, inputs: Any, state: Any) -> Any:
        current, position = inputs, 0
        new_states = []
        for i, cell in enumerate(self._cells):
            with variable_scope(f"cell_{i}"):
                if self._state_is_tuple:
                    if not isinstance(state, (list, tuple)):
                        raise ValueError(
                            f"Expected state to be a tuple of length {len(self._cells)}, "
                            f"but received: {state}"
                        )
                    own = state[i]
                else:
                    size = cell.state_size
                    own = state[:, position : position + size]
                    position += size
                current, new = cell(current, own)
                new_states.append(new)
        if self._state_is_tuple:
            return current, tuple(new_states)
        return current, array.concat(new_states, 1)
