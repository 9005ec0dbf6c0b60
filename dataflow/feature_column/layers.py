"""`input_layer` and `linear_model`: from a dict of features to the first tensor of a model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dataflow.feature_column.base import (
    CategoricalColumn,
    DenseColumn,
    FeatureColumn,
    Features,
)
from dataflow.graph.collections import GraphKeys
from dataflow.graph.tensor import Tensor
from dataflow.ops import array
from dataflow.ops.bias import bias_add
from dataflow.ops.embedding import safe_embedding_lookup_sparse
from dataflow.ops.initializers import zeros_initializer
from dataflow.ops.math import add_n, matmul
from dataflow.ops.variable_scope import get_variable, variable_scope


def ordered_columns(feature_columns: Any) -> list[Any]:
    """The columns sorted by name; raises `ValueError` for none, duplicates and other things."""
    if isinstance(feature_columns, FeatureColumn):
        feature_columns = [feature_columns]
    if isinstance(feature_columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    columns = list(feature_columns)
    if not columns:
        raise ValueError("feature_columns must not be empty.")
    names: dict[str, Any] = {}
    for column in columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(f"Items of feature_columns must be feature columns. Given: {column!r}")
        if column.name in names:
            raise ValueError(
                f"Duplicate feature column name found for columns: {names[column.name]} and "
                f"{column}. This usually means that these columns refer to same base feature."
            )
        names[column.name] = column
    return sorted(columns, key=lambda c: c.name)


def model_collections(weight_collections: Any) -> list[str]:
    """The collections of a column's variables."""
    wanted = [*(weight_collections or []), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]
    return list(dict.fromkeys(wanted))


def input_layer(
    features: dict[str, Any],
    feature_columns: Sequence[Any],
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
    cols_to_output_tensors: dict[Any, Any] | None = None,
) -> Tensor:
    """All columns side by side: float32 [batch, sum of their sizes], in the order of their names.

    ``cols_to_vars`` and ``cols_to_output_tensors`` are filled with each column's variables and
    tensor. Raises `ValueError` for a column that is not dense: wrap it in an `indicator_column` or
    `embedding_column`.
    """
    columns = ordered_columns(feature_columns)
    for column in columns:
        if not isinstance(column, DenseColumn):
            raise ValueError(
                "Items of feature_columns must be a dense column: wrap this one in "
                f"embedding_column or indicator_column. Given: {column}"
            )
    known = Features(features)
    outputs = []
    with variable_scope(None, default_name="input_layer", values=list(features.values())):
        for column in columns:
            with variable_scope(None, default_name=column.var_scope_name) as scope:
                output = dense_rows(column, known, weight_collections, trainable)
                outputs.append(output)
                if cols_to_vars is not None:
                    cols_to_vars[column] = scope.global_variables()
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = output
        return array.concat(outputs, 1)


def dense_rows(
    column: DenseColumn, known: Features, weight_collections: Any, trainable: bool
) -> Tensor:
    """What a dense column has for each example, as float32 [batch, size]."""
    tensor = column.dense(known, model_collections(weight_collections), trainable)
    size = math.prod(column.variable_shape)
    output = array.reshape(tensor, [array.shape(tensor)[0], size])
    output.set_shape((known.num_examples, size))
    return output


def linear_model(
    features: dict[str, Any],
    feature_columns: Sequence[Any],
    units: int = 1,
    sparse_combiner: str = "sum",
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
) -> Tensor:
    """A weighted sum of all columns and a bias: float32 [batch, units]; weights start at 0.

    Categorical columns are taken as they are, and looked up: only the rows of the categories that
    occur are read and trained.
    """
    columns = ordered_columns(feature_columns)
    for column in columns:
        if not isinstance(column, (DenseColumn, CategoricalColumn)):
            raise ValueError(f"Items of feature_columns must be columns. Given: {column}")
    known = Features(features)
    collections = model_collections(weight_collections)
    sums = []
    with variable_scope(None, default_name="linear_model", values=list(features.values())):
        for column in columns:
            with variable_scope(None, default_name=column.name):
                weighted, weights = _weighted_sum(
                    column, known, units, sparse_combiner, collections, trainable
                )
            sums.append(weighted)
            if cols_to_vars is not None:
                cols_to_vars[column] = [weights]
        bias = get_variable(
            "bias_weights",
            shape=[units],
            initializer=zeros_initializer(),
            trainable=trainable,
            collections=collections,
        )
        if cols_to_vars is not None:
            cols_to_vars["bias"] = [bias]
        total = add_n(sums, name="weighted_sum_no_bias") if len(sums) > 1 else sums[0]
        return bias_add(total, bias, name="weighted_sum")


def _weighted_sum(
    column: Any,
    features: Features,
    units: int,
    combiner: str,
    collections: list[str],
    trainable: bool,
) -> tuple[Tensor, Any]:
    categorical = isinstance(column, CategoricalColumn)
    if categorical:
        size = column.num_buckets
    else:
        size = 1
        for dim in column.variable_shape:
            size *= dim
        tensor = column.dense(features, collections, trainable)
        tensor = array.reshape(tensor, [array.shape(tensor)[0], size])
    weights = get_variable(
        "weights",
        shape=(size, units),
        initializer=zeros_initializer(),
        trainable=trainable,
        collections=collections,
    )
    if not categorical:
        return matmul(tensor, weights, name="weighted_sum"), weights
    ids, id_weights = column.categories(features)
    found = safe_embedding_lookup_sparse(
        weights, ids, id_weights, combiner=combiner, name="weighted_sum"
    )
    return found, weights


def make_parse_example_spec(feature_columns: Sequence[Any]) -> dict[str, Any]:
    """What `tf.parse_example` needs to read the features of all columns.

    Raises `ValueError` when two columns want one feature in different ways.
    """
    result: dict[str, Any] = {}
    for column in feature_columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(f"All feature_columns must be feature columns. Given: {column}")
        for key, value in column.parse_example_spec.items():
            if key in result and result[key] != value:
                raise ValueError(
                    f"feature_columns contain different parse_spec for key {key}. "
                    f"Given {value} and {result[key]}"
                )
            result[key] = value
    return result
