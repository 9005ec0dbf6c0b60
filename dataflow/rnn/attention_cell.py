"""A cell with attention over its own last outputs."""

from __future__ import annotations

from typing import Any

from dataflow.graph import nest
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops import array
from dataflow.ops.activation import softmax
from dataflow.ops.conv_functions import conv2d
from dataflow.ops.initializers import zeros_initializer
from dataflow.ops.math import reduce_sum, tanh
from dataflow.ops.variable_scope import get_variable
from dataflow.rnn.base_cell import RNNCell, depth_of
from dataflow.rnn.cell_wrappers import CellAround
from dataflow.rnn.linear import joined_product


class AttentionCellWrapper(CellAround):
    """A cell that looks back at its last ``attn_length`` outputs (Bahdanau et al. 2014).

    The state is ``(the cell's, attention [batch, attn_size], outputs [batch, attn_length * attn_size])``,
    or without ``state_is_tuple`` those joined; the cell's state is then one tensor too.
    Outputs have ``attn_size`` elements, by default the cell's. Raises `ValueError` unless ``attn_length``
    is positive.
    """

    def __init__(
        self,
        cell: RNNCell,
        attn_length: int,
        attn_size: int | None = None,
        attn_vec_size: int | None = None,
        input_size: int | None = None,
        state_is_tuple: bool = True,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell, _reuse=reuse)
        if attn_length <= 0:
            raise ValueError(f"attn_length should be greater than zero, got {attn_length}")
        if not state_is_tuple and nest.is_nested(cell.state_size):
            raise ValueError(
                "Cell returns tuple of states, but the flag state_is_tuple is not set. "
                f"State size is: {cell.state_size}"
            )
        self._state_is_tuple = state_is_tuple
        self._attn_length = attn_length
        self._attn_size = attn_size or cell.output_size
        self._attn_vec_size = attn_vec_size or self._attn_size
        self._input_size = input_size
        self._weights: dict[str, tuple[Any, Any]] = {}
        self._attention: tuple[Any, Any] | None = None

    @property
    def state_size(self) -> Any:
        sizes = (self._cell.state_size, self._attn_size, self._attn_size * self._attn_length)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._attn_size

    def zero_state(self, batch_size: int | Tensor, dtype: DTypeLike) -> Any:
        return RNNCell.zero_state(self, batch_size, dtype)

    def _made_at_call(self, name: str, shape: list[int], initializer: Any = None) -> Any:
        """A variable in the scope of this call: `add_variable` only finds those of a built layer."""
        variable = get_variable(name, shape, self._dtype, initializer)
        trained = getattr(variable, "trainable", True)
        (self._trainable_weights if trained else self._non_trainable_weights).append(variable)
        return variable

    def _linear(self, scope: str, columns: int, *parts: Tensor) -> Tensor:
        """A linear layer of ``parts`` joined, whose weights are made at the first call.

        Those of the cell inside are made between them: the order of variables is TensorFlow's.
        """
        if scope not in self._weights:
            rows = sum(depth_of(part.shape) for part in parts)
            self._weights[scope] = (
                self._made_at_call(f"{scope}kernel", [rows, columns]),
                self._made_at_call(f"{scope}bias", [columns], zeros_initializer()),
            )
        return joined_product(self._weights[scope], *parts)

    def _attention_weights(self) -> tuple[Any, Any]:
        """The filter of the last outputs, and the vector that weighs what it finds."""
        if self._attention is None:
            size, vector = self._attn_size, self._attn_vec_size
            self._attention = (
                self._made_at_call("attention/attn_w", [1, 1, size, vector]),
                self._made_at_call("attention/attn_v", [vector]),
            )
        return self._attention

    def call(self, inputs: Any, state: Any) -> Any:
        if not self._state_is_tuple:
            sizes = (self._cell.state_size, self._attn_size, self._attn_size * self._attn_length)
            starts = (0, sizes[0], sizes[0] + sizes[1])
            state = [
                array.slice_(state, [0, start], [-1, size])
                for start, size in zip(starts, sizes, strict=True)
            ]
        state, attention, outputs = state
        length, size, vector = self._attn_length, self._attn_size, self._attn_vec_size
        outputs = array.reshape(outputs, [-1, length, size])
        inputs = self._linear("", self._input_size or depth_of(inputs.shape), inputs, attention)
        cell_output, new_state = self._cell(inputs, state)
        states = nest.flatten(new_state)
        query = states[0] if len(states) == 1 else array.concat(states, 1)
        kernel, vectors = self._attention_weights()
        hidden = array.reshape(outputs, [-1, length, 1, size])
        features = conv2d(hidden, kernel, [1, 1, 1, 1], "SAME")
        query = array.reshape(self._linear("attention/", vector, query), [-1, 1, 1, vector])
        features = features + query
        weights = softmax(reduce_sum(vectors * tanh(features), [2, 3]))
        weighted = array.reshape(weights, [-1, length, 1, 1]) * hidden
        attention = array.reshape(reduce_sum(weighted, [1, 2]), [-1, size])
        later = array.slice_(outputs, [0, 1, 0], [-1, -1, -1])
        output = self._linear("attn_output_projection/", size, cell_output, attention)
        outputs = array.concat([later, array.expand_dims(output, 1)], 1)
        outputs = array.reshape(outputs, [-1, length * size])
        new_states = (new_state, attention, outputs)
        return output, (new_states if self._state_is_tuple else array.concat(new_states, 1))
