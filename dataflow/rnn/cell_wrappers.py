"""Cells around cells: dropout, residuals, devices, and several cells on top of each other."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from dataflow.dtypes import as_dtype
from dataflow.graph import nest
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.layers.base import Layer
from dataflow.ops import array
from dataflow.ops.dropout import dropout
from dataflow.ops.seeds import count_left_out
from dataflow.ops.variable_scope import variable_scope
from dataflow.rnn.base_cell import LSTMStateTuple, RNNCell
from dataflow.shapes import TensorShape

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope


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
        from dataflow.layers.serialization import deserialize
        from dataflow.rnn import cells

        known = {name: c for name, c in vars(cells).items() if isinstance(c, type)}
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
        given = (input_keep_prob, output_keep_prob, state_keep_prob)
        count_left_out(sum(not isinstance(p, Tensor) for p in given))  # constants there
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
            self._draw_noise(input_size if drops_inputs else ())

    def _draw_noise(self, input_size: Any) -> None:
        """The noise of a whole run, for inputs, states and outputs."""
        from dataflow.ops.random import random_uniform

        parts = ("input", input_size), ("state", self.state_size), ("output", self.output_size)
        for salt, sizes in parts:
            for index, size in enumerate(nest.flatten(sizes)):
                count_left_out(3)  # the shape is joined there
                self._noise[f"{salt}{index}"] = random_uniform(
                    [1, *TensorShape(size).as_list()],
                    dtype=self._noise_dtype,
                    seed=self._seed_of(f"{salt}_{index}"),
                )

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
