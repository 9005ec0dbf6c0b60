"""`AttentionWrapper`: a cell that looks at a memory in every step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dataflow import dtypes
from dataflow.contrib.seq2seq.attention import AttentionMechanism, zeros_of
from dataflow.graph import nest
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike
from dataflow.layers.core import Dense
from dataflow.ops import array
from dataflow.ops.assertions import assert_equal
from dataflow.ops.graph_functions import control_dependencies, name_scope
from dataflow.ops.math import matmul
from dataflow.ops.seeds import count_left_out
from dataflow.ops.tensor_array import TensorArray
from dataflow.rnn.base_cell import RNNCell
from dataflow.shapes import dimension_value


class AttentionWrapperState(NamedTuple):
    """The state: the cell's, the last attention, the step number, and the alignments.

    ``alignment_history`` is a `TensorArray` of all steps' alignments, or ``()``. With several
    mechanisms ``alignments``, ``alignment_history`` and ``attention_state`` are tuples.
    """

    cell_state: Any
    attention: Any
    time: Any
    alignments: Any
    alignment_history: Any
    attention_state: Any

    def clone(self, **kwargs: Any) -> AttentionWrapperState:
        """A copy with other fields: ``state.clone(cell_state=encoder_state)``.

        Raises `ValueError` where a tensor's static shape does not fit the one it replaces.
        """
        for name, value in kwargs.items():
            old = nest.flatten(getattr(self, name))
            for before, after in zip(old, nest.flatten(value), strict=True):
                if any(part is None or isinstance(part, TensorArray) for part in (before, after)):
                    continue
                if not before.shape.is_compatible_with(after.shape):
                    raise ValueError(
                        f"clone: {name} has shape {after.shape}, the state it replaces "
                        f"{before.shape}."
                    )
        changed = self._replace(**kwargs)
        for before, after in zip(nest.flatten(self), nest.flatten(changed), strict=True):
            count_left_out(_num_nodes_of_same_shape(before, after))
        return changed


def _num_nodes_of_same_shape(before: Any, after: Any) -> int:
    """How many nodes TensorFlow makes to check that a part of a state has the shape of the one it replaces."""
    if not isinstance(before, Tensor) or not isinstance(after, Tensor):
        return 0
    if not before.shape.is_fully_defined():
        return 16
    return 0 if after.shape.is_fully_defined() else 20


def _concatenated(inputs: Any, attention: Any) -> Any:
    return array.concat([inputs, attention], -1)


class AttentionWrapper(RNNCell):
    """Gives a cell its inputs with the last attention, and attends with the cell's output.

    The context is the memory weighted by the alignments; ``attention_layer_size`` makes the
    attention a dense layer of (output, context), without it the context is the attention. Lists of
    mechanisms and sizes attend several times. ``output_attention`` says whether the attention
    (Luong) or the cell's output (Bahdanau) is the output. Begin with `zero_state`, and put an
    encoder's state in with ``clone(cell_state=...)``.
    """

    def __init__(
        self,
        cell: RNNCell,
        attention_mechanism: Any,
        attention_layer_size: Any = None,
        alignment_history: bool = False,
        cell_input_fn: Callable[[Any, Any], Any] | None = None,
        output_attention: bool = True,
        initial_cell_state: Any = None,
        name: str | None = None,
        attention_layer: Any = None,
        attention_fn: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        if not hasattr(cell, "output_size") or not callable(cell):
            raise TypeError(f"The argument 'cell' ({cell}) is not an RNNCell.")
        self._is_multi = isinstance(attention_mechanism, (list, tuple))
        mechanisms = list(attention_mechanism) if self._is_multi else [attention_mechanism]
        for mechanism in mechanisms:
            if not isinstance(mechanism, AttentionMechanism):
                raise TypeError(
                    "attention_mechanism must contain only instances of AttentionMechanism, saw "
                    f"type: {type(mechanism).__name__}"
                )
        if attention_layer_size is not None and attention_layer is not None:
            raise ValueError("Only one of attention_layer_size and attention_layer should be set")
        if cell_input_fn is not None and not callable(cell_input_fn):
            raise TypeError(f"cell_input_fn must be callable, saw: {cell_input_fn}")
        self._cell = cell
        self._attention_mechanisms = mechanisms
        self._layers = self._attention_layers(attention_layer_size, attention_layer, dtype)
        self._attention_size = sum(
            self._size_of(layer, mechanism)
            for layer, mechanism in zip(self._layers, mechanisms, strict=True)
        )
        self._cell_input_fn = cell_input_fn or _concatenated
        self._attention_fn = attention_fn or _attend
        self._output_attention = output_attention
        self._keeps_history = alignment_history
        self._initial_cell_state = initial_cell_state

    def _attention_layers(self, sizes: Any, layers: Any, dtype: DTypeLike) -> list[Any]:
        given = sizes if sizes is not None else layers
        if given is None:
            return [None] * len(self._attention_mechanisms)
        listed = list(given) if isinstance(given, (list, tuple)) else [given]
        if len(listed) != len(self._attention_mechanisms):
            raise ValueError(
                "If provided, attention_layer_size must contain exactly one integer per "
                f"attention_mechanism, saw: {len(listed)} vs {len(self._attention_mechanisms)}"
            )
        if layers is not None:
            return listed
        return [
            Dense(
                size,
                use_bias=False,
                dtype=dtype,
                name="attention_layer",
            )
            for size in listed
        ]

    def _size_of(self, layer: Any, mechanism: Any) -> int:
        width = dimension_value(mechanism.values.shape[-1])
        if layer is None:
            if width is None:
                raise ValueError("the memory's last axis must be known: use set_shape")
            return int(width)
        merged = [None, self._cell.output_size + (width or 0)]
        return int(dimension_value(layer.compute_output_shape(merged)[-1]))

    def _item_or_tuple(self, values: Any) -> Any:
        values = tuple(values)
        return values if self._is_multi else values[0]

    def _all(self, value: Any) -> tuple[Any, ...]:
        return tuple(value) if self._is_multi else (value,)

    @property
    def output_size(self) -> Any:
        return self._attention_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> Any:
        return AttentionWrapperState(
            cell_state=self._cell.state_size,
            time=(),
            attention=self._attention_size,
            alignments=self._item_or_tuple(m.alignments_size for m in self._attention_mechanisms),
            attention_state=self._item_or_tuple(m.state_size for m in self._attention_mechanisms),
            alignment_history=self._item_or_tuple(
                m.alignments_size if self._keeps_history else () for m in self._attention_mechanisms
            ),
        )

    def zero_state(self, batch_size: int | Tensor, dtype: Any) -> Any:
        """The state before the first step; the batch must be the memory's (tiled for beams)."""
        with name_scope(type(self).__name__ + "ZeroState"):
            if self._initial_cell_state is not None:
                cell_state = self._initial_cell_state
            else:
                cell_state = self._cell.zero_state(batch_size, dtype)
            message = (
                f"When calling zero_state of AttentionWrapper {self._base_name}: Non-matching batch "
                "sizes between the memory (encoder output) and the requested batch size. With a "
                "BeamSearchDecoder, tile the encoder's output with tf.contrib.seq2seq.tile_batch "
                "and ask for batch_size * beam_width."
            )
            checks = [
                assert_equal(batch_size, m.batch_size, message=message)
                for m in self._attention_mechanisms
            ]
            with control_dependencies([c for c in checks if c is not None]):
                cell_state = nest.map_structure(
                    lambda s: array.identity(s, name="checked_cell_state"), cell_state
                )
            states = [m.initial_state(batch_size, dtype) for m in self._attention_mechanisms]
            alignments = [
                m.initial_alignments(batch_size, dtype) for m in self._attention_mechanisms
            ]
            return AttentionWrapperState(
                cell_state=cell_state,
                time=array.zeros([], dtypes.int32),
                attention=_zeros(batch_size, self._attention_size, dtype),
                alignments=self._item_or_tuple(alignments),
                attention_state=self._item_or_tuple(states),
                alignment_history=self._item_or_tuple(
                    TensorArray(dtype, size=0, dynamic_size=True, element_shape=a.shape)
                    if self._keeps_history
                    else ()
                    for a in alignments
                ),
            )

    def call(self, inputs: Any, state: Any) -> Any:
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(
                "Expected state to be instance of AttentionWrapperState. Received type "
                f"{type(state)} instead: begin with the wrapper's zero_state."
            )
        cell_inputs = self._cell_input_fn(inputs, state.attention)
        output, cell_state = self._cell(cell_inputs, state.cell_state)
        count_left_out(_num_nodes_of_check(output, self._attention_mechanisms))
        attentions, alignments, states, histories = [], [], [], []
        for mechanism, layer, before, history in zip(
            self._attention_mechanisms,
            self._layers,
            self._all(state.attention_state),
            self._all(state.alignment_history),
            strict=True,
        ):
            attention, aligned, after = self._attention_fn(mechanism, output, before, layer)
            attentions.append(attention)
            alignments.append(aligned)
            states.append(after)
            histories.append(history.write(state.time, aligned) if self._keeps_history else ())
        attention = array.concat(attentions, 1)
        following = AttentionWrapperState(
            time=state.time + 1,
            cell_state=cell_state,
            attention=attention,
            attention_state=self._item_or_tuple(states),
            alignments=self._item_or_tuple(alignments),
            alignment_history=self._item_or_tuple(histories),
        )
        return (attention if self._output_attention else output), following


def _num_nodes_of_check(output: Any, mechanisms: Any) -> int:
    """Those that compare the batches of the cell's output and of each memory, in TensorFlow."""
    is_known = dimension_value(output.shape[0]) is not None
    return 1 + sum(1 if is_known and isinstance(m.batch_size, int) else 18 for m in mechanisms)


def _zeros(batch_size: int | Tensor, size: int, dtype: DTypeLike) -> Any:
    zeros = zeros_of(batch_size, size, dtype)
    zeros.set_shape([batch_size if isinstance(batch_size, int) else None, size])
    return zeros


def _attend(mechanism: Any, cell_output: Any, attention_state: Any, layer: Any) -> Any:
    """(attention, alignments, next state): the memory weighted by the alignments."""
    alignments, following = mechanism(cell_output, state=attention_state)
    context = matmul(array.expand_dims(alignments, 1), mechanism.values)
    context = array.squeeze(context, [1])
    attention = context if layer is None else layer(array.concat([cell_output, context], 1))
    return attention, alignments, following
