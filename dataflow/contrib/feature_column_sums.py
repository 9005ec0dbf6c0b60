"""Weighted sums, transformations and parsing by the feature columns of `tf.contrib.layers`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.contrib.column_classes import OneHotColumn, RealValuedColumn, WeightedSparseColumn
from dataflow.contrib.column_inputs import ColumnCache, numbers_of
from dataflow.contrib.feature_columns import sort_key
from dataflow.contrib.var_len_columns import RealValuedVarLenColumn
from dataflow.feature_column import layers
from dataflow.feature_column.base import CategoricalColumn
from dataflow.feature_column.embedding import Embeddings, table_from_checkpoint
from dataflow.feature_column.numeric import NumericColumn
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.bias import bias_add
from dataflow.ops.embedding import safe_embedding_lookup_sparse
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.initializers import zeros_initializer
from dataflow.ops.math import add_n, matmul
from dataflow.ops.parsing import parse_example
from dataflow.ops.sparse import sparse_concat
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.variable_scope import get_variable, variable_scope
from dataflow.shapes import dimension_value

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope

#: Columns of numbers whose features may have another width than they say.
_ROWS = (RealValuedColumn, RealValuedVarLenColumn)


def check_feature_columns(feature_columns: Any) -> None:
    """Raises `ValueError` for None, for a dict and for a column that is given twice."""
    if feature_columns is None:
        raise ValueError("Invalid feature columns: None.")
    if isinstance(feature_columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    seen = set()
    for column in feature_columns:
        if column.name in seen:
            raise ValueError(f"Duplicate feature column found for name: {column.name}.")
        seen.add(column.name)


def _checked(feature_columns: Iterable[Any]) -> list[Any]:
    columns = feature_columns
    if feature_columns is not None and not isinstance(feature_columns, dict):
        columns = list(feature_columns)
    check_feature_columns(columns)
    return list(columns)


def parse_feature_columns_from_examples(
    serialized: TensorLike,
    feature_columns: Iterable[Any],
    name: str | None = None,
    example_names: Any = None,
) -> dict[Any, Any]:
    """What the columns need of serialized Examples [batch], by key, and what they make of it, by column.

    Raises `ValueError` as `check_feature_columns` does.
    """
    columns = _checked(feature_columns)
    spec = layers.make_parse_example_spec(columns)
    parsed = parse_example(serialized, spec, name, example_names)
    return {**parsed, **transform_features(parsed, columns)}


def transform_features(features: dict[Any, Any], feature_columns: Iterable[Any]) -> dict[Any, Any]:
    """A dict of what each column makes of the features: ids (sparse), numbers, or ids and weights.

    Of an embedding column and a one-hot column it is the ids that they are made of.
    """
    columns = _checked(feature_columns)
    known = ColumnCache(features)
    found: dict[Any, Any] = {}
    for column in sorted(columns, key=lambda c: c.name):
        with name_scope(None, default_name=column.name, values=list(features.values())):
            found[column] = known.transformed(column)
    return found


def weighted_sum_from_feature_columns(
    columns_to_tensors: dict[str, Any],
    feature_columns: Iterable[Any],
    num_outputs: int,
    weight_collections: Any = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
) -> tuple[Tensor, dict[Any, list[Any]], Any]:
    """A linear model of the columns: its sums [batch, num_outputs], the weights by column, the bias.

    The variables of a column ``a`` are ``a/weights``, or ``a/weight`` where it is a number, that of the
    bias is ``bias_weight``. A sparse column's weights are added up as its combiner says.

    Raises `ValueError` as `check_feature_columns` does, and for an embedding and a one-hot column.
    """
    columns = sorted(_checked(feature_columns), key=sort_key)
    for column in columns:
        if isinstance(column, (Embeddings, OneHotColumn)):
            raise ValueError(
                f"Error creating weighted sum for column: {column.name}. A linear model has a weight for "
                f"each category: give the column {column.categorical_column.name!r} itself."
            )
    known = ColumnCache(columns_to_tensors)
    settings: Any = {
        "initializer": zeros_initializer(),
        "trainable": trainable,
        "collections": layers.model_collections(weight_collections),
    }
    sums, weights = [], {}
    with variable_scope(scope, "weighted_sum_from_feature_columns"):
        for column in columns:
            is_number = isinstance(column, (NumericColumn, RealValuedVarLenColumn))
            with variable_scope(None, default_name=column.name):
                variable = get_variable(
                    "weight" if is_number else "weights",
                    shape=[_num_weights(column, known), num_outputs],
                    **settings,
                )
                checkpoint = getattr(column, "ckpt_to_load_from", None)
                if isinstance(column, CategoricalColumn):
                    name = getattr(column, "tensor_name_in_ckpt", None)
                    table_from_checkpoint(variable, checkpoint, name)
                if isinstance(column, _ROWS):
                    row = numbers_of(column, known)
                    sums.append(matmul(row, variable, name="weighted_sum"))
                    weights[column] = layers.parts_of(variable)
                    continue
                if not isinstance(column, CategoricalColumn):
                    made: Any = column._get_dense_tensor(known)
                else:
                    made = column._get_sparse_tensors(known)
                combiner = getattr(column, "combiner", "sum")
                sums.append(layers.weighted_sum(column, made, variable, combiner))
            weights[column] = layers.parts_of(variable)
        bias = get_variable("bias_weight", shape=[num_outputs], **settings)
        return bias_add(add_n(sums), bias), weights, bias


def _num_weights(column: Any, known: ColumnCache) -> int:
    """As many as there are categories or numbers; a feature's own width counts, which it must have."""
    if not isinstance(column, _ROWS):
        return layers.num_weights(column)
    width = dimension_value(numbers_of(column, known).shape[1])
    if not isinstance(width, int):
        raise ValueError(
            f"Error creating weighted sum for column: {column.name}. How many numbers its feature has must "
            "be known before the graph runs."
        )
    return width


def joint_weighted_sum_from_feature_columns(
    columns_to_tensors: dict[str, Any],
    feature_columns: Iterable[Any],
    num_outputs: int,
    weight_collections: Any = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
) -> tuple[Tensor, list[Any], Any]:
    """`weighted_sum_from_feature_columns` with one variable, ``linear_weights/weights``, for all columns.

    Its rows are those of the columns one after another, sorted by kind and name. Returns the sums
    [batch, num_outputs], the parts of the variable, and the bias. Raises `NotImplementedError` for columns of
    numbers, `AssertionError` for weighted ones and for a combiner that is not "sum", as TensorFlow does.
    """
    columns = sorted(_checked(feature_columns), key=sort_key)
    known = ColumnCache(columns_to_tensors)
    settings: Any = {
        "initializer": zeros_initializer(),
        "trainable": trainable,
        "collections": layers.model_collections(weight_collections),
    }
    with variable_scope(scope, "joint_weighted_sum_from_feature_columns"):
        ids, size = [], 0
        for column in columns:
            _check_joint(column)
            found, _ = column._get_sparse_tensors(known)
            values = found.values + np.int64(size)
            ids.append(SparseTensor(found.indices, values, found.dense_shape))
            size += column.num_buckets
        with variable_scope(None, default_name="linear_weights"):
            variable = get_variable("weights", shape=[size, num_outputs], **settings)
            sums = safe_embedding_lookup_sparse(
                variable, sparse_concat(1, ids), combiner="sum", name="_weights"
            )
        bias = get_variable("bias_weight", shape=[num_outputs], **settings)
        return bias_add(sums, bias), layers.parts_of(variable), bias


def _check_joint(column: Any) -> None:
    if not isinstance(column, CategoricalColumn) or isinstance(column, NumericColumn):
        raise NotImplementedError(
            f"Real-valued columns are not supported, got {column.name!r}. Use "
            "weighted_sum_from_feature_columns, or bucketized_column."
        )
    if isinstance(column, WeightedSparseColumn):
        raise AssertionError(
            f"Joint sums of weighted columns are not supported, got {column.name!r}. Use "
            "weighted_sum_from_feature_columns."
        )
    combiner = getattr(column, "combiner", "sum")
    if combiner != "sum":
        raise AssertionError(
            f"Joint sums need the combiner 'sum', {column.name!r} has {combiner!r}."
        )
