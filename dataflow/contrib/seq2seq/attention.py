"""Attention: how much each step of a memory matters to a query.

Sources: Bahdanau, Cho and Bengio, "Neural machine translation by jointly learning to align and
translate", 2015; Luong, Pham and Manning, "Effective approaches to attention-based neural machine
translation", 2015; Salimans and Kingma, "Weight normalization", 2016.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike
from dataflow.layers.core import Dense
from dataflow.ops import array
from dataflow.ops.activation import softmax
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.initializers import constant_initializer, ones_initializer, zeros_initializer
from dataflow.ops.math import cast, matmul, multiply, rsqrt, square, tanh
from dataflow.ops.reduce import argmax, reduce_sum
from dataflow.ops.seeds import count_left_out, counted_as
from dataflow.ops.variable_scope import get_variable, variable_scope
from dataflow.shapes import dimension_value


def hardmax(logits: Any, name: str | None = None) -> Any:
    """One-hot at the largest value of each row; the shape and dtype stay."""
    with name_scope(name, "Hardmax", [logits]):
        logits = convert_to_tensor(logits, name="logits")
        return array.one_hot(argmax(logits, -1), array.shape(logits)[-1], dtype=logits.dtype)


def zeros_of(batch_size: int | Tensor, size: int | Tensor, dtype: DTypeLike) -> Any:
    """Zeros [batch_size, size]."""
    # Both sizes are joined twice there, and each that the run tells gets an axis first.
    with counted_as(8 + 2 * isinstance(batch_size, Tensor) + 2 * isinstance(size, Tensor)):
        return array.zeros(array.stack([batch_size, size]), dtype)


class AttentionMechanism:
    """Base: the memory as ``values`` and ``keys``, and alignments over its steps.

    ``memory`` [batch, steps, ...], whose steps past ``memory_sequence_length`` are hidden. Called
    with a query [batch, depth] and the state of the step before, it gives (alignments [batch,
    steps], next state).
    """

    keys: Any
    values: Any

    # Programs with mechanisms and decoders of their own read these.
    _keys = property(lambda self: self.keys)
    _values = property(lambda self: self.values)

    def __init__(
        self,
        query_layer: Any,
        memory_layer: Any,
        memory: Any,
        probability_fn: Callable[[Any], Any] | None,
        memory_sequence_length: Any,
        score_mask_value: Any,
        name: str,
    ) -> None:
        with name_scope(name, "AttentionMechanismInit"):
            memory = convert_to_tensor(memory, name="memory")
            if memory.shape.ndims is None or memory.shape.ndims < 3:
                raise ValueError(f"memory must be [batch, steps, depth], got {memory.shape}")
            self._mask: Any = None
            if memory_sequence_length is not None:
                lengths = convert_to_tensor(memory_sequence_length, name="memory_sequence_length")
                self._mask = array.sequence_mask(lengths, array.shape(memory)[1])
                hidden = array.reshape(
                    cast(self._mask, memory.dtype.base_dtype),
                    array.concat(
                        [
                            array.shape(memory)[:2],
                            array.ones([memory.shape.ndims - 2], dtypes.int32),
                        ],
                        0,
                    ),
                )
                shape = memory.shape
                count_left_out(-2)
                memory = memory * hidden
                memory.set_shape(shape)
            self.query_layer = query_layer
            self.memory_layer = memory_layer
            self.values = memory
            self.keys = memory if memory_layer is None else memory_layer(memory)
            self.dtype = self.keys.dtype.base_dtype
            self._probability_fn = probability_fn or softmax
            if score_mask_value is None:
                score_mask_value = -math.inf
            self._score_mask_value = score_mask_value
            self.batch_size = dimension_value(self.keys.shape[0]) or array.shape(self.keys)[0]
            self.alignments_size = dimension_value(self.keys.shape[1]) or array.shape(self.keys)[1]

    @property
    def state_size(self) -> Any:
        """The size of the state: the alignments'."""
        return self.alignments_size

    def initial_alignments(self, batch_size: int | Tensor, dtype: DTypeLike) -> Any:
        """Alignments before the first step: zeros."""
        return zeros_of(batch_size, self.alignments_size, dtype)

    def initial_state(self, batch_size: int | Tensor, dtype: DTypeLike) -> Any:
        """The state before the first step."""
        return self.initial_alignments(batch_size, dtype)

    def _masked(self, score: Any) -> Any:
        if self._mask is None:
            return score
        count_left_out(23)  # the mask is made of the lengths once more, which are checked
        return array.where(self._mask, score, array.ones_like(score) * self._score_mask_value)

    def _align(self, score: Any, state: Any) -> Any:
        """The alignments of scores [batch, steps], given the state of the step before."""
        return self._probability_fn(self._masked(score))

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        """(alignments, next state) of a query."""
        raise NotImplementedError


class LuongAttention(AttentionMechanism):
    """Multiplicative: the score is ``query . (W memory)``, with ``scale`` times a learned number.

    Raises `ValueError` for a query that is not ``num_units`` wide.
    """

    _scope_name = "luong_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        scale: bool = False,
        probability_fn: Any = None,
        score_mask_value: Any = None,
        dtype: DTypeLike | None = None,
        custom_key_value_fn: Any = None,
        name: str = "LuongAttention",
    ) -> None:
        layer = Dense(num_units, name="memory_layer", use_bias=False, dtype=dtype or dtypes.float32)
        super().__init__(
            None, layer, memory, probability_fn, memory_sequence_length, score_mask_value, name
        )
        if custom_key_value_fn is not None:
            self.keys, self.values = custom_key_value_fn(self.keys, self.values)
        self._num_units = num_units
        self._scale = scale

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        """(alignments, alignments) of a query."""
        with variable_scope(None, self._scope_name, [query]):
            depth, units = dimension_value(query.shape[-1]), dimension_value(self.keys.shape[-1])
            if depth != units:
                raise ValueError(
                    "Incompatible or unknown inner dimensions between query and keys. Query has "
                    f"units: {depth}. Keys have units: {units}. Perhaps you need to set num_units "
                    "to the keys' dimension?"
                )
            score = matmul(array.expand_dims(query, 1), self.keys, transpose_b=True)
            score = array.squeeze(score, [1])
            if self._scale:
                score = score * get_variable(
                    "attention_g", [], dtype=query.dtype.base_dtype, initializer=ones_initializer()
                )
            alignments = self._align(score, state)
            return alignments, alignments


class BahdanauAttention(AttentionMechanism):
    """Additive: the score is ``v . tanh(W_q query + W_m memory)``.

    With ``normalize`` v has a length of its own (weight normalization), and there is a bias.
    """

    _scope_name = "bahdanau_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        normalize: bool = False,
        probability_fn: Any = None,
        score_mask_value: Any = None,
        dtype: DTypeLike | None = None,
        custom_key_value_fn: Any = None,
        name: str = "BahdanauAttention",
    ) -> None:
        kind = dtype or dtypes.float32
        super().__init__(
            Dense(num_units, name="query_layer", use_bias=False, dtype=kind),
            Dense(num_units, name="memory_layer", use_bias=False, dtype=kind),
            memory,
            probability_fn,
            memory_sequence_length,
            score_mask_value,
            name,
        )
        if custom_key_value_fn is not None:
            self.keys, self.values = custom_key_value_fn(self.keys, self.values)
        self._num_units = num_units
        self._normalize = normalize

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        """(alignments, alignments) of a query."""
        with variable_scope(None, self._scope_name, [query]):
            kind, units = query.dtype.base_dtype, self._num_units
            projected = self.query_layer(query)
            v: Any = get_variable("attention_v", [units], dtype=kind)
            if self._normalize:
                length = get_variable(
                    "attention_g",
                    [],
                    dtype=kind,
                    initializer=constant_initializer(math.sqrt(1.0 / units)),
                )
                bias = get_variable(
                    "attention_b", [units], dtype=kind, initializer=zeros_initializer()
                )
                v = length * v * rsqrt(reduce_sum(square(v)))
            total = self.keys + array.expand_dims(projected, 1)
            if self._normalize:
                total = total + bias
            score = reduce_sum(multiply(v, tanh(total)), [2])
            alignments = self._align(score, state)
            return alignments, alignments
