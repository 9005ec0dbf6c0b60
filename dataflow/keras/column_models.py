"""`LinearModel` of feature columns, which TensorFlow has beside its columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow.feature_column.base import CategoricalColumn, DenseColumn
from dataflow.feature_column.layers import num_weights, same_batch_size, weighted_sum
from dataflow.feature_column.transformation import FeatureTransformationCache
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.keras.layers.features import FeaturesLayer
from dataflow.keras.network import Model
from dataflow.ops.bias import bias_add
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.initializers import zeros_initializer
from dataflow.ops.math import add_n
from dataflow.ops.sparse_tensor import SparseTensor, SparseTensorValue
from dataflow.ops.variable_scope import variable_scope


class LinearModelLayer(FeaturesLayer):
    """A weighted sum of all columns and a bias: a dict of features -> float32 [batch, units]."""

    def __init__(
        self,
        feature_columns: Sequence[Any],
        units: int = 1,
        sparse_combiner: str = "sum",
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            feature_columns, (DenseColumn, CategoricalColumn), trainable, name, **kwargs
        )
        self._units = units
        self._sparse_combiner = sparse_combiner
        self.bias: Any = None

    def build(self, input_shape: Any = None) -> None:
        """Makes the columns' variables, their weights and the bias; weights start at 0."""
        zeros: Any = {"initializer": zeros_initializer(), "trainable": self.trainable}
        state = self._state_manager
        with variable_scope(self.name, auxiliary_name_scope=False):
            for column in self._feature_columns:
                with variable_scope(column.name, auxiliary_name_scope=False):
                    column.create_state(state)
                    shape = (num_weights(column), self._units)
                    state.create_variable(column, name="weights", shape=shape, **zeros)
            self.bias = state.create_variable(None, "bias_weights", shape=[self._units], **zeros)
        self.built = True

    def call(self, features: Any) -> Tensor:
        """The sums and the bias."""
        cache, state = FeatureTransformationCache(features), self._state_manager
        sums = []
        for column in self._feature_columns:
            with name_scope(column.name):
                weights = state.get_variable(column, "weights")
                if isinstance(column, CategoricalColumn):
                    made: Any = column.get_sparse_tensors(cache, state)
                else:
                    made = column.get_dense_tensor(cache, state)
                sums.append(weighted_sum(column, made, weights, self._sparse_combiner))
        same_batch_size(sums, self._feature_columns)
        total = add_n(sums, name="weighted_sum_no_bias")
        return bias_add(total, self.bias, name="weighted_sum")

    def get_config(self) -> dict[str, Any]:
        """The columns and the arguments."""
        return {
            **super().get_config(),
            "units": self._units,
            "sparse_combiner": self._sparse_combiner,
        }


class LinearModel(Model):
    """A linear model of feature columns that can be trained as a Keras model.

    Arguments as of `tf.feature_column.linear_model`; ``bias`` is its bias.
    """

    def __init__(
        self,
        feature_columns: Sequence[Any],
        units: int = 1,
        sparse_combiner: str = "sum",
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.layer = LinearModelLayer(
            feature_columns, units, sparse_combiner, trainable, name=self.name, **kwargs
        )

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """``inputs``: a dict of tensors, or of `SparseTensor`s, by the columns' keys."""
        sparse = (SparseTensor, SparseTensorValue)
        if isinstance(inputs, dict) and not any(isinstance(v, sparse) for v in inputs.values()):
            return super().__call__(inputs, *args, **kwargs)
        with default_graph().name_scope(self.name):
            return self.layer(inputs)

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Tensor:
        """The prediction, float32 [batch, units]."""
        return self.layer(inputs)  # type: ignore[no-any-return]

    @property
    def bias(self) -> Any:
        """The bias [units]; None before the first call."""
        return self.layer.bias
