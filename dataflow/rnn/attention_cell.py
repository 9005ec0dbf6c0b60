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

    @property
    def state_size(self) -> Any:
        sizes = (self._cell.state_size, self._attn_size, self._attn_size * self._attn_length)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._attn_size

    def zero_state(self, batch_size: int | Tensor, dtype: DTypeLike) -> Any:
        return RNNCell.zero_state(self, batch_size, dtype)

    def build(self, input_shape: Any) -> None:
        depth = depth_of(input_shape)
        self._input_size = self._input_size or depth
        state = sum(int(size) for size in nest.flatten(self._cell.state_size))
        size, vector = self._attn_size, self._attn_vec_size
        self._linear = {}
        for name, rows, columns in (
            ("", depth + size, self._input_size),
            ("attention/", state, vector),
            ("attn_output_projection/", int(self._cell.output_size) + size, size),
        ):
            self._linear[name] = (
                self.add_variable(f"{name}kernel", [rows, columns]),
                self.add_variable(f"{name}bias", [columns], initializer=zeros_initializer()),
            )
        self._attn_w = self.add_variable("attention/attn_w", [1, 1, size, vector])
        self._attn_v = self.add_variable("attention/attn_v", [vector])
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        if not self._state_is_tuple:
            own = self._cell.state_size
            state = array.split(
                state, [own, self._attn_size, self._attn_size * self._attn_length], 1
            )
        state, attention, outputs = state
        length, size, vector = self._attn_length, self._attn_size, self._attn_vec_size
        outputs = array.reshape(outputs, [-1, length, size])
        inputs = joined_product(self._linear[""], inputs, attention)
        cell_output, new_state = self._cell(inputs, state)
        hidden = array.reshape(outputs, [-1, length, 1, size])
        query = joined_product(self._linear["attention/"], *nest.flatten(new_state))
        features = conv2d(hidden, self._attn_w, [1, 1, 1, 1], "SAME")
        features = features + array.reshape(query, [-1, 1, 1, vector])
        weights = softmax(reduce_sum(self._attn_v * tanh(features), [2, 3]))
        weighted = array.reshape(weights, [-1, length, 1, 1]) * hidden
        attention = array.reshape(reduce_sum(weighted, [1, 2]), [-1, size])
        output = joined_product(self._linear["attn_output_projection/"], cell_output, attention)
        outputs = array.concat([outputs[:, 1:], array.expand_dims(output, 1)], 1)
        outputs = array.reshape(outputs, [-1, length * size])
        new_states = (new_state, attention, outputs)
        return output, (new_states if self._state_is_tuple else array.concat(new_states, 1))
