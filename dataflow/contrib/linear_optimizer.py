"""``tf.contrib.linear_optimizer``: linear models by stochastic dual coordinate ascent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dataflow import dtypes
from dataflow.contrib.column_classes import (
    BucketizedColumn,
    CrossedColumn,
    RealValuedColumn,
    SparseColumn,
    WeightedSparseColumn,
)
from dataflow.contrib.sdca import SdcaModel, SparseFeatureColumn
from dataflow.graph.tensor import Tensor
from dataflow.namespaces import explain_absent
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.segment import unsorted_segment_sum
from dataflow.ops.selection import boolean_mask
from dataflow.ops.sequences import range_ as range_of, unique

__all__ = ["SDCAOptimizer", "SdcaModel", "SparseFeatureColumn"]

__getattr__ = explain_absent(__name__)

_Sparse = (SparseColumn, CrossedColumn, WeightedSparseColumn)


class SDCAOptimizer:
    """Stochastic dual coordinate ascent, for `tf.contrib.learn.LinearClassifier`, `LinearRegressor` and `SVM`.

    ``example_id_column``: the feature with a string for each example, by which its dual variable is kept.
    ``num_loss_partitions``: how many workers train at once. ``adaptive``: examples that can gain more are
    visited more often. ``num_table_shards`` changes nothing here.
    """

    def __init__(
        self,
        example_id_column: str,
        num_loss_partitions: int = 1,
        num_table_shards: int | None = None,
        symmetric_l1_regularization: float = 0.0,
        symmetric_l2_regularization: float = 1.0,
        adaptive: bool = True,
        partitioner: Any = None,
    ) -> None:
        self.example_id_column = example_id_column
        self.num_loss_partitions = num_loss_partitions
        self.num_table_shards = num_table_shards
        self.symmetric_l1_regularization = symmetric_l1_regularization
        self.symmetric_l2_regularization = symmetric_l2_regularization
        self.adaptive = adaptive
        self.partitioner = partitioner

    def get_name(self) -> str:
        """``"SDCAOptimizer"``."""
        return "SDCAOptimizer"

    def get_train_step(
        self,
        columns_to_variables: Mapping[Any, Sequence[Any]],
        weight_column_name: str | None,
        loss_type: str,
        features: dict[Any, Any],
        targets: Any,
        global_step: Any,
    ) -> tuple[SdcaModel, Any]:
        """(the model of this batch, the operation that trains it).

        ``features``: what each column made of the examples, by column, and the features themselves. Raises
        `ValueError` for a column that is neither numbers nor ids.
        """
        labels = cast(array.reshape(targets, [-1]), dtypes.float32)
        sparse, dense = [], []
        sparse_weights: list[Any] = []
        dense_weights: list[Any] = []
        for column in sorted(columns_to_variables, key=lambda c: str(c.name)):
            made, weights = features[column], list(columns_to_variables[column])
            variable = weights if len(weights) > 1 else weights[0]
            if isinstance(column, RealValuedColumn):
                rows = array.shape(made)[0]
                dense.append(cast(array.reshape(made, [rows, -1]), dtypes.float32))
                dense_weights.append(variable)
            else:
                sparse.append(_sparse_features(column, made))
                sparse_weights.append(variable)
        given = features[weight_column_name] if weight_column_name else array.ones_like(labels)
        examples = {
            "sparse_features": sparse,
            "dense_features": dense,
            "example_labels": labels,
            "example_weights": array.reshape(given, [-1]),
            "example_ids": features[self.example_id_column],
        }
        options = {
            "symmetric_l1_regularization": self.symmetric_l1_regularization,
            "symmetric_l2_regularization": self.symmetric_l2_regularization,
            "adaptive": self.adaptive,
            "num_loss_partitions": self.num_loss_partitions,
            "num_table_shards": self.num_table_shards,
            "loss_type": loss_type,
        }
        variables = {
            "sparse_features_weights": sparse_weights,
            "dense_features_weights": dense_weights,
        }
        model = SdcaModel(examples, variables, options)
        return model, model.minimize(global_step=global_step)


def _sparse_features(column: Any, made: Any) -> SparseFeatureColumn:
    """The ids of a column; an id that an example has several times counts as often."""
    if isinstance(column, BucketizedColumn):
        shape = array.shape(made)
        offsets = range_of(shape[1]) * column.length
        rows = array.tile(array.expand_dims(range_of(shape[0]), 1), [1, shape[1]])
        examples, ids = array.reshape(rows, [-1]), array.reshape(made + offsets, [-1])
        return SparseFeatureColumn(
            cast(examples, dtypes.int64),
            cast(ids, dtypes.int64),
            array.ones_like(ids, dtypes.float32),
        )
    if not isinstance(column, _Sparse):
        raise ValueError(f"SDCAOptimizer does not support column type {type(column).__name__}.")
    tensor, weights = made if isinstance(made, tuple) else (made, None)
    flat: Tensor = array.reshape(tensor.values, [-1])
    values = array.ones_like(flat, dtypes.float32)
    if weights is not None:
        values = cast(array.reshape(weights.values, [-1]), dtypes.float32)
    known = flat >= 0  # a word that is in no vocabulary is -1
    examples = boolean_mask(tensor.indices[:, 0], known)
    ids, values = boolean_mask(cast(flat, dtypes.int64), known), boolean_mask(values, known)
    pairs, groups = unique(examples * column.length + ids)
    totals = unsorted_segment_sum(values, groups, array.shape(pairs)[0])
    return SparseFeatureColumn(pairs // column.length, pairs % column.length, totals)
