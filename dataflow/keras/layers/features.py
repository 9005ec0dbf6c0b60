"""Layers that read feature columns: `DenseFeatures`, and `SequenceFeatures` for sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow.feature_column.layers import input_layer
from dataflow.feature_column.sequence import sequence_input_layer
from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.keras.base_layer import Layer
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.template import make_template


class _Features(Layer):
    def __init__(
        self,
        feature_columns: Sequence[Any],
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable=trainable, name=name, **kwargs)
        self._feature_columns = feature_columns
        self._read: Any = None

    @staticmethod
    def _function(features: Any, columns: Any, trainable: bool) -> Any:
        raise NotImplementedError

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """``inputs``: a dict of tensors, or of `SparseTensor`s, by the columns' keys."""
        if not isinstance(inputs, dict):
            raise ValueError(
                f"Layer {self.name} expects a dict of features by name, got {inputs!r}."
            )
        if any(isinstance(value, SparseTensor) for value in inputs.values()):
            with default_graph().name_scope(self.name):
                return self.call(inputs)
        return super().__call__(inputs, *args, **kwargs)

    def call(self, features: Any) -> Any:
        if self._read is None:
            self._read = make_template(
                self.name,
                self._function,
                columns=self._feature_columns,
                trainable=self.trainable,
            )
        graph = default_graph()
        before = set(graph.get_collection(GraphKeys.GLOBAL_VARIABLES))
        outputs = self._read(features)
        trained = set(graph.get_collection(GraphKeys.TRAINABLE_VARIABLES))
        for variable in graph.get_collection(GraphKeys.GLOBAL_VARIABLES):
            if variable not in before:
                own = (
                    self._trainable_weights if variable in trained else self._non_trainable_weights
                )
                own.append(variable)
        self.built = True
        return outputs


class DenseFeatures(_Features):
    """All columns side by side: a dict of features -> float32 [batch, sum of the columns' sizes]."""

    @staticmethod
    def _function(features: Any, columns: Any, trainable: bool) -> Any:
        return input_layer(features, columns, trainable=trainable)


class SequenceFeatures(_Features):
    """Columns of sequences: (float32 [batch, steps, sum of sizes], lengths int64 [batch])."""

    @staticmethod
    def _function(features: Any, columns: Any, trainable: bool) -> Any:
        return sequence_input_layer(features, columns, trainable=trainable)
