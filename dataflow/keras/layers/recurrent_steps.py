"""One step of the recurrent layers: weights and arithmetic, shared by layers and cells.

Weights as Keras has them: ``kernel`` [inputs, gates * units], ``recurrent_kernel``
[units, gates * units], ``bias``; gates in the order i, f, c, o (LSTM) and z, r, h (GRU).
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable
from typing import Any

from dataflow.graph import nest
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, InitializerLike
from dataflow.keras import activations
from dataflow.keras.backend_settings import backend_seed
from dataflow.keras.base_layer import Layer
from dataflow.keras.layers.core import weight_settings
from dataflow.layers.base import smart_cond
from dataflow.layers.serialization import serialize
from dataflow.ops import array
from dataflow.ops.bias import bias_add
from dataflow.ops.dropout import dropout as drop
from dataflow.ops.initializers import Ones, Zeros
from dataflow.ops.math import matmul
from dataflow.shapes import dimension_value


class RecurrentWeights(Layer):
    """The weights of one recurrent layer, and what they do to inputs and states in one step."""

    num_gates = 1
    num_states = 1
    #: Whether a layer of this class takes every argument that the classes that it is made of take.
    takes_all_settings = True
    kernel_initializer: Any
    recurrent_initializer: Any
    bias_initializer: Any

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
        kernel_constraint: str | Callable[[Any], Any] | None = None,
        recurrent_constraint: Any = None,
        bias_constraint: str | Callable[[Any], Any] | None = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        self.implementation = kwargs.pop("implementation", 1)
        super().__init__(**kwargs)
        self.units = int(units)
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.dropout = dropout
        self.recurrent_dropout = recurrent_dropout
        settings = weight_settings(
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
        for key, value in settings.items():
            setattr(self, key, value)
        #: What the state is multiplied by: nothing, or one noise for each gate, or one for all.
        self._recurrent_noises: list[Any] = []

    def own_config(self) -> dict[str, Any]:
        """The arguments of this class, and those that it leaves to the classes that it is made of."""
        own = super().own_config()
        if not self.takes_all_settings or not self._is_described_by_attributes():
            return own
        makers = (vars(cls).get("__init__") for cls in type(self).__mro__[:-1])
        names = [n for make in makers if make for n in inspect.signature(make).parameters]
        held, known = vars(self), {*own, *self.shared_arguments}
        if "filters" in own:
            known.add("units")  # a convolution counts filters
        more = {name: held[name] for name in (*names, "implementation") if name in held}
        own.update({k: serialize(v) for k, v in more.items() if k not in known})
        return {key: own.pop(key) for key in (*dict.fromkeys(names), *sorted(own)) if key in own}

    def _weight(self, name: str, kind: str, shape: list[int], initializer: Any = None) -> Any:
        return self.add_weight(
            name,
            shape,
            initializer=initializer or getattr(self, kind + "_initializer"),
            regularizer=getattr(self, kind + "_regularizer"),
            constraint=getattr(self, kind + "_constraint"),
        )

    def _make_weights(self, depth: int | None) -> None:
        if depth is None:
            raise ValueError(f"Layer {self.name}: the last axis of the inputs must be known.")
        columns = self.num_gates * self.units
        self.kernel = self._weight("kernel", "kernel", [depth, columns])
        self.recurrent_kernel = self._weight("recurrent_kernel", "recurrent", [self.units, columns])
        self.bias: Any = None
        if self.use_bias:
            self.bias = self._weight("bias", "bias", self._bias_shape(), self._bias_initializer())

    def _bias_shape(self) -> list[int]:
        return [self.num_gates * self.units]

    def _input_bias(self) -> Any:
        """What is added to the projected inputs."""
        return self.bias

    def _bias_initializer(self) -> Any:
        return None

    def step(self, inputs: Any, states: Any) -> tuple[Any, ...]:
        """New states (the first is the output) from projected inputs and old states."""
        raise NotImplementedError

    def _noises(self, shape: Any, dtype: Any, rate: float, training: bool | Tensor) -> list[Any]:
        """What inputs or states are multiplied by: one for each gate, or with ``implementation=2`` for all.

        TensorFlow draws as many then too, and leaves the others.
        """
        if not rate:
            return []
        ones = array.ones(shape, dtype)
        num_used = self.num_gates if self.implementation == 1 else 1

        def draw() -> list[Any]:
            seeds = [backend_seed(None) for _ in range(self.num_gates)]
            return [drop(ones, rate=rate, seed=seed) for seed in seeds[:num_used]]

        drawn = smart_cond(training, draw, lambda: [array.identity(ones) for _ in range(num_used)])
        return list(nest.flatten(drawn))

    def _product(self, x: Any, noises: list[Any], kernel: Any, first: int, product: Any) -> Any:
        """``product(x, kernel)``; ``kernel`` has the columns of the gates from ``first`` on, each with its noise."""
        if len(noises) < 2:
            return product(x * noises[0] if noises else x, kernel)
        num_gates = dimension_value(kernel.shape[-1]) // self.units
        if num_gates == 1:
            return product(x * noises[first], kernel)
        parts = array.split(kernel, num_gates, -1)
        own = noises[first : first + num_gates]
        return array.concat([product(x * n, p) for n, p in zip(own, parts, strict=True)], -1)

    def _recurrent(self, h: Any) -> Any:
        return self._product(h, self._recurrent_noises, self.recurrent_kernel, 0, matmul)

    def initial_states(self, batch_size: int, dtype: DTypeLike) -> list[Any]:
        """States of 0, [batch_size, units] each."""
        zeros = array.zeros([batch_size, self.units], dtype)
        return [zeros] * self.num_states


class SimpleStep(RecurrentWeights):
    """``h = activation(x kernel + h recurrent_kernel + bias)``."""

    def step(self, inputs: Any, states: Any) -> tuple[Any, ...]:
        return (self.activation(inputs + self._recurrent(states[0])),)


class _UnitForgetBias(Zeros):
    """Zeros, and ones for the forget gate (Jozefowicz et al. 2015): of two biases, that of the second."""

    def __init__(self, inner: Any, units: int) -> None:
        super().__init__()
        self._inner = inner
        self._units = units

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        n = self._units
        parts = [
            self._inner([shape[0] - 3 * n], dtype=dtype),
            Ones()([n], dtype=dtype),
            self._inner([2 * n], dtype=dtype),
        ]
        return array.concat(parts, 0)


class LSTMStep(RecurrentWeights):
    """Long short-term memory (Hochreiter and Schmidhuber 1997)."""

    num_gates = 4
    num_states = 2

    def __init__(
        self,
        units: int,
        activation: str | Callable[..., Any] = "tanh",
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
        return _UnitForgetBias(self.bias_initializer, self.units)

    def step(self, inputs: Any, states: Any) -> tuple[Any, ...]:
        h, c = states
        gates = inputs + self._recurrent(h)
        i, f, candidate, o = array.split(gates, 4, 1)
        gate = self.recurrent_activation
        c = gate(f) * c + gate(i) * self.activation(candidate)
        return gate(o) * self.activation(c), c


class GRUStep(RecurrentWeights):
    """Gated recurrent unit (Cho et al. 2014).

    The reset gate acts before the product with the recurrent kernel, or ``reset_after`` it, as
    cuDNN has it; then ``bias`` is [2, 3 * units].
    """

    num_gates = 3

    def __init__(
        self,
        units: int,
        activation: str | Callable[..., Any] = "tanh",
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
        noises = self._recurrent_noises
        if len(noises) == 1:  # one for all gates drops what is kept of the state, too
            h, noises = h * noises[0], []
        kernel = self.recurrent_kernel
        if self.reset_after:
            recurrent = self._product(h, noises, kernel, 0, matmul)
            if self.bias is not None:
                recurrent = bias_add(recurrent, self._recurrent_bias())
            gates = self.recurrent_activation(inputs[:, : 2 * n] + recurrent[:, : 2 * n])
            z, r = array.split(gates, 2, 1)
            candidate = self.activation(inputs[:, 2 * n :] + r * recurrent[:, 2 * n :])
            return (z * h + (1 - z) * candidate,)
        recurrent = self._product(h, noises, kernel[:, : 2 * n], 0, matmul)
        z, r = array.split(self.recurrent_activation(inputs[:, : 2 * n] + recurrent), 2, 1)
        candidate = self._product(r * h, noises, kernel[:, 2 * n :], 2, matmul)
        candidate = self.activation(inputs[:, 2 * n :] + candidate)
        return (z * h + (1 - z) * candidate,)


#: The cells by the layers whose step they do; `recurrent_cells` has them.
CELLS: dict[str, Any] = {}
#: The cells that recurrent layers were asked for.
_cells: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def cell_of(layer: Any, kind: str) -> Any:
    """The cell of a recurrent layer of that kind, on the layer's weights; the same one each time."""
    cell = _cells.get(layer)
    if cell is None:
        made = CELLS[kind]
        accepted = {n for cls in made.__mro__ for n in inspect.signature(cls).parameters}
        accepted = accepted - {"activity_regularizer"} | {"implementation"}
        config = {k: v for k, v in layer.get_config().items() if k in accepted}
        cell = _cells[layer] = made.from_config(config)
    for name in ("kernel", "recurrent_kernel", "bias"):
        setattr(cell, name, getattr(layer, name, None))
    cell.built = layer.built
    cell.share_penalties(layer)
    return cell
