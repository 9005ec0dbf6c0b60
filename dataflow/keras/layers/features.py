"""Layers that read feature columns: `DenseFeatures`, and `SequenceFeatures` for sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow.feature_column.base import DenseColumn, SequenceDenseColumn
from dataflow.feature_column.layers import flat_rows, ordered_columns, same_batch_size
from dataflow.feature_column.sequence import flat_steps, same_lengths
from dataflow.feature_column.serialization import (
    deserialize_feature_columns,
    serialize_feature_columns,
)
from dataflow.feature_column.state import KeptState
from dataflow.feature_column.transformation import FeatureTransformationCache
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.keras.base_layer import Layer
from dataflow.layers.serialization import get_custom_objects
from dataflow.ops import array
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.partitioned_variable import PartitionedVariable
from dataflow.ops.seeds import count_left_out
from dataflow.ops.sparse_tensor import SparseTensor, SparseTensorValue
from dataflow.ops.variable_scope import get_variable, variable_scope
from dataflow.shapes import TensorShape


class LayerState(KeptState):
    """Columns' variables that are a layer's, with the names of the variable scope that is open."""

    def __init__(self, layer: Any, trainable: bool) -> None:
        super().__init__()
        self._layer = layer
        self._trainable = trainable

    def _make(self, name: str, shape: Any, dtype: Any, trainable: bool, initializer: Any) -> Any:
        trainable = self._trainable and trainable
        variable = get_variable(
            name, shape=shape, dtype=dtype, initializer=initializer, trainable=trainable
        )
        count_left_out(1)  # whether it is initialized is a node of its own there
        own = self._layer._trainable_weights if trainable else self._layer._non_trainable_weights
        own.extend(variable if isinstance(variable, PartitionedVariable) else [variable])
        return variable


class WeightState(LayerState):
    """Columns' variables that are a layer's, named as those of its `add_weight`."""

    def _make(self, name: str, shape: Any, dtype: Any, trainable: bool, initializer: Any) -> Any:
        return self._layer.add_weight(
            name, shape, dtype, initializer, trainable=self._trainable and trainable
        )


class FeaturesLayer(Layer):
    """A layer that reads a dict of features, dense and sparse ones, by feature columns.

    Raises `ValueError` unless the columns are of the class ``expected_column_type``.
    """

    def __init__(
        self,
        feature_columns: Sequence[Any],
        expected_column_type: Any,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable=trainable, name=name, **kwargs)
        self._feature_columns = ordered_columns(feature_columns)
        self._state_manager = LayerState(self, self.trainable)
        for column in self._feature_columns:
            if not isinstance(column, expected_column_type):
                raise ValueError(
                    f"Items of feature_columns must be a {expected_column_type}. You can wrap a "
                    "categorical column with an embedding_column or indicator_column. Given: "
                    f"{column}"
                )

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """``inputs``: a dict of tensors, or of `SparseTensor`s, by the columns' keys."""
        if not isinstance(inputs, dict):
            raise ValueError(
                f"Layer {self.name} expects a dict of features by name, got {inputs!r}."
            )
        if any(isinstance(v, (SparseTensor, SparseTensorValue)) for v in inputs.values()):
            with default_graph().name_scope(self.name):
                if not self.built:
                    self.build(None)
                return self.call(inputs, *args, **kwargs)
        return super().__call__(inputs, *args, **kwargs)

    def build(self, input_shape: Any = None) -> None:
        """Makes the columns' variables, in a scope for each within the layer's."""
        with variable_scope(self.name, auxiliary_name_scope=False):
            for column in self._feature_columns:
                with variable_scope(column.name, auxiliary_name_scope=False):
                    column.create_state(self._state_manager)
        super().build(None)

    def get_config(self) -> dict[str, Any]:
        """The columns, each as a dictionary of plain values."""
        dtype = None if self._dtype is None else self._dtype.name
        return {
            "name": self.name,
            "trainable": self.trainable,
            "dtype": dtype,
            "feature_columns": serialize_feature_columns(self._feature_columns),
        }

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Any:
        """The layer that `get_config` described; ``custom_objects`` has functions by name."""
        known = {**get_custom_objects(), **(custom_objects or {})}
        columns = deserialize_feature_columns(config["feature_columns"], known)
        return cls(**{**config, "feature_columns": columns})

    def _size(self) -> int:
        return sum(column.variable_shape.num_elements() for column in self._feature_columns)


class DenseFeatures(FeaturesLayer):
    """All columns side by side: a dict of features -> float32 [batch, sum of the columns' sizes]."""

    def __init__(
        self,
        feature_columns: Sequence[Any],
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(feature_columns, DenseColumn, trainable, name, **kwargs)

    def call(self, features: Any, cols_to_output_tensors: dict[Any, Any] | None = None) -> Tensor:
        """The columns' numbers; ``cols_to_output_tensors`` is filled with those of each column."""
        cache = FeatureTransformationCache(features)
        outputs = []
        for column in self._feature_columns:
            with name_scope(column.name):
                output = flat_rows(column, column.get_dense_tensor(cache, self._state_manager))
            if cols_to_output_tensors is not None:
                cols_to_output_tensors[column] = output
            outputs.append(output)
        same_batch_size(outputs, self._feature_columns)
        return array.concat(outputs, -1)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """[batch, sum of the columns' sizes]."""
        return TensorShape([TensorShape(input_shape).as_list()[0], self._size()])


class DenseFeaturesOfVersion2(DenseFeatures):
    """``tf.compat.v2.keras.layers.DenseFeatures``, a class of its own there, which programs tell from the other.

    Its variables are those of `add_weight`, in no variable scope: each layer has its own.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._state_manager = WeightState(self, self.trainable)

    def build(self, input_shape: Any = None) -> None:
        """Makes the columns' variables."""
        for column in self._feature_columns:
            with name_scope(column.name):
                column.create_state(self._state_manager)
        self.built = True


DenseFeaturesOfVersion2.__name__ = DenseFeatures.__name__


class SequenceFeatures(FeaturesLayer):
    """Columns of sequences: (float32 [batch, steps, sum of sizes], lengths int64 [batch])."""

    def __init__(
        self,
        feature_columns: Sequence[Any],
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(feature_columns, SequenceDenseColumn, trainable, name, **kwargs)

    def call(self, features: Any) -> tuple[Tensor, Tensor]:
        """The columns' numbers and the lengths, which must be the same for all columns."""
        cache = FeatureTransformationCache(features)
        outputs, lengths = [], []
        for column in self._feature_columns:
            with name_scope(column.name):
                made = column.get_sequence_dense_tensor(cache, self._state_manager)
                outputs.append(flat_steps(column, made.dense_tensor))
                lengths.append(made.sequence_length)
        same_batch_size(lengths, self._feature_columns)
        length = same_lengths(lengths)
        same_batch_size(outputs, self._feature_columns)
        return array.concat(outputs, -1), length

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """[batch, steps, sum of the columns' sizes]."""
        return TensorShape([*TensorShape(input_shape).as_list()[:2], self._size()])
