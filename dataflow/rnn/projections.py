"""Cells around cells that project: inputs by an embedding or a matrix, outputs by a matrix."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import InitializerLike
from dataflow.ops import array
from dataflow.ops.bias import bias_add
from dataflow.ops.embedding import embedding_lookup
from dataflow.ops.initializers import random_uniform_initializer, zeros_initializer
from dataflow.ops.math import matmul
from dataflow.ops.variable_scope import get_variable, get_variable_scope
from dataflow.rnn.base_cell import RNNCell
from dataflow.rnn.cell_wrappers import CellAround
from dataflow.shapes import dimension_value


def linear(inputs: Any, output_size: int) -> Any:
    """``inputs`` (one tensor [batch, n], or a list side by side) times ``kernel`` plus ``bias``.

    The variables belong to the present variable scope.
    """
    joined = array.concat(inputs, 1) if isinstance(inputs, (list, tuple)) else inputs
    joined = convert_to_tensor(joined)
    width = dimension_value(joined.shape[-1])
    if width is None:
        raise ValueError(f"linear expects the last axis to be known, but saw {joined.shape}")
    kind = joined.dtype.base_dtype
    kernel = get_variable("kernel", [width, output_size], dtype=kind)
    bias = get_variable("bias", [output_size], dtype=kind, initializer=zeros_initializer())
    return bias_add(matmul(joined, kernel), bias)


class _Projection(CellAround):
    def __init__(self, cell: RNNCell, reuse: bool | None = None) -> None:
        super().__init__(cell, _reuse=reuse)


class EmbeddingWrapper(_Projection):
    """Gives a cell the embeddings of ids [batch] or [batch, 1].

    The table ``embedding`` starts uniform in [-sqrt(3), sqrt(3)), of variance 1, unless another
    initializer is given.
    """

    def __init__(
        self,
        cell: RNNCell,
        embedding_classes: int,
        embedding_size: int,
        initializer: InitializerLike | None = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell, reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(
                "Both embedding_classes and embedding_size must be > 0: "
                f"{embedding_classes}, {embedding_size}."
            )
        self._classes = embedding_classes
        self._size = embedding_size
        self._initializer = initializer

    def call(self, inputs: Any, state: Any) -> Any:
        initializer = self._initializer or get_variable_scope().initializer
        if initializer is None:
            initializer = random_uniform_initializer(-math.sqrt(3), math.sqrt(3))
        first = state
        while isinstance(first, (list, tuple)):
            first = first[0]
        table = get_variable(
            "embedding",
            [self._classes, self._size],
            initializer=initializer,
            dtype=first.dtype.base_dtype,
        )
        return self._cell(embedding_lookup(table, array.reshape(inputs, [-1])), state)


class InputProjectionWrapper(_Projection):
    """Gives a cell its inputs times a matrix, plus a bias: [batch, num_proj]."""

    def __init__(
        self,
        cell: RNNCell,
        num_proj: int,
        activation: Callable[..., Any] | None = None,
        input_size: Any = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell, reuse)
        self._num_proj = num_proj
        self._activation = activation

    def call(self, inputs: Any, state: Any) -> Any:
        projected = linear(inputs, self._num_proj)
        if self._activation is not None:
            projected = self._activation(projected)
        return self._cell(projected, state)


class OutputProjectionWrapper(_Projection):
    """A cell's outputs times a matrix, plus a bias: [batch, output_size]."""

    def __init__(
        self,
        cell: RNNCell,
        output_size: int,
        activation: Callable[..., Any] | None = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell, reuse)
        if output_size < 1:
            raise ValueError(f"Parameter output_size must be > 0: {output_size}.")
        self._output_size = output_size
        self._activation = activation

    @property
    def output_size(self) -> Any:
        return self._output_size

    def call(self, inputs: Any, state: Any) -> Any:
        output, new_state = self._cell(inputs, state)
        projected = linear(output, self._output_size)
        if self._activation is not None:
            projected = self._activation(projected)
        return projected, new_state
