"""`input_layer` and `linear_model`: from a dict of features to the first tensor of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dataflow.feature_column.base import (
    CategoricalColumn,
    DenseColumn,
    FeatureColumn,
)
from dataflow.feature_column.state import ResourceState
from dataflow.feature_column.transformation import FeatureTransformationCache, LazyBuilder
from dataflow.graph.collections import GraphKeys
from dataflow.graph.tensor import Tensor
from dataflow.ops import array
from dataflow.ops.bias import bias_add
from dataflow.ops.embedding import safe_embedding_lookup_sparse
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.initializers import zeros_initializer
from dataflow.ops.math import add_n, matmul
from dataflow.ops.partitioned_variable import PartitionedVariable
from dataflow.ops.seeds import count_left_out
from dataflow.ops.sparse import sparse_reshape
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.variable_scope import get_variable, variable_scope


def ordered_columns(feature_columns: Any) -> list[Any]:
    """The columns sorted by name; raises `ValueError` for none, duplicates and other things."""
    if isinstance(feature_columns, FeatureColumn):
        feature_columns = [feature_columns]
    if isinstance(feature_columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    columns = list(feature_columns)
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
    if not columns:
        raise ValueError("feature_columns must not be empty.")
    return sorted(columns, key=lambda c: c.name)


def _dense_columns(feature_columns: Any) -> list[Any]:
    columns = ordered_columns(feature_columns)
    for column in columns:
        if not isinstance(column, DenseColumn):
            raise ValueError(
                "Items of feature_columns must be a _DenseColumn. You can wrap a categorical column "
                f"with an embedding_column or indicator_column. Given: {column}"
            )
    return columns


def same_batch_size(tensors: Sequence[Tensor], columns: Sequence[Any]) -> None:
    """Raises `ValueError` where two columns' tensors are known to have different batch sizes."""
    sizes = [(t.dims[0], c.name) for t, c in zip(tensors, columns, strict=False) if t.dims]
    known = [pair for pair in sizes if pair[0] is not None]
    for size, name in known[1:]:
        if size != known[0][0]:
            raise ValueError(
                "Batch size (first dimension) of each feature must be same. Batch size of columns "
                f"({known[0][1]}, {name}): ({known[0][0]}, {size})"
            )


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
    with variable_scope(None, default_name="input_layer", values=list(features.values())):
        return columns_side_by_side(
            features,
            feature_columns,
            weight_collections,
            trainable,
            cols_to_vars,
            cols_to_output_tensors,
        )


def is_feature_column_v2(feature_columns: Sequence[Any]) -> bool:
    """Whether all are columns of 1.13 and later, and made of such alone."""
    return all(isinstance(c, FeatureColumn) and c._is_v2_column for c in feature_columns)


def input_layer_of_estimators(features: dict[str, Any], feature_columns: Sequence[Any]) -> Tensor:
    """`input_layer` as canned estimators have it: the weights of all columns are made before anything else."""
    if not is_feature_column_v2(feature_columns):
        return input_layer(features, feature_columns)
    columns = _dense_columns(feature_columns)
    state, known = ResourceState(model_collections(None)), FeatureTransformationCache(features)
    with variable_scope(None, default_name="input_layer", values=list(features.values())):
        _make_weights(columns, state)
        outputs = []
        for column in columns:
            with name_scope(column.name):
                outputs.append(flat_rows(column, column.get_dense_tensor(known, state)))
        same_batch_size(outputs, columns)
        return array.concat(outputs, 1)


def _make_weights(columns: Sequence[Any], state: ResourceState) -> None:
    for column in columns:
        with variable_scope(column.name, auxiliary_name_scope=False):
            column.create_state(state)


def columns_side_by_side(
    features: dict[str, Any],
    feature_columns: Sequence[Any],
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
    cols_to_output_tensors: dict[Any, Any] | None = None,
) -> Tensor:
    """`input_layer` in the variable scope that is open."""
    columns = _dense_columns(feature_columns)
    known = LazyBuilder(features)
    outputs = []
    for column in columns:
        with variable_scope(None, default_name=column._var_scope_name) as scope:
            output = dense_rows(column, known, weight_collections, trainable)
            outputs.append(output)
            if cols_to_vars is not None:
                cols_to_vars[column] = scope.global_variables()
            if cols_to_output_tensors is not None:
                cols_to_output_tensors[column] = output
    same_batch_size(outputs, columns)
    return array.concat(outputs, 1)


def dense_rows(
    column: DenseColumn,
    known: LazyBuilder,
    weight_collections: Any,
    trainable: bool,
) -> Tensor:
    """What a dense column has for each example, as float32 [batch, size]."""
    tensor = column._get_dense_tensor(known, model_collections(weight_collections), trainable)
    return flat_rows(column, tensor)


def flat_rows(column: Any, tensor: Tensor) -> Tensor:
    """The numbers of a column, [batch, *variable_shape], as [batch, size]."""
    size = column._variable_shape.num_elements()
    return array.reshape(tensor, array.stack([array.shape(tensor)[0], size]))


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
    columns = _weighable_columns(feature_columns)
    known = LazyBuilder(features)
    collections = model_collections(weight_collections)
    sums = []
    with variable_scope(None, default_name="linear_model", values=list(features.values())):
        for column in columns:
            with variable_scope(None, default_name=column._var_scope_name) as scope:
                weighted, weights = _weighted_sum(
                    column, known, units, sparse_combiner, collections, trainable
                )
            sums.append(weighted)
            if cols_to_vars is not None:
                own = parts_of(weights)
                others = [v for v in scope.global_variables() if v not in own]
                cols_to_vars[column] = [*own, *others]
        bias = _zeros("bias_weights", [units], collections, trainable)
        if cols_to_vars is not None:
            cols_to_vars["bias"] = parts_of(bias)
        return _biased_sum(sums, columns, bias)


def linear_model_of_estimators(
    features: dict[str, Any],
    feature_columns: Sequence[Any],
    units: int,
    sparse_combiner: str,
    cols_to_vars: dict[Any, Any],
) -> Tensor:
    """`linear_model` as canned estimators have it: all weights are made before anything else."""
    if not is_feature_column_v2(feature_columns):
        return linear_model(
            features, feature_columns, units, sparse_combiner, cols_to_vars=cols_to_vars
        )
    columns = _weighable_columns(feature_columns)
    collections = model_collections(None)
    state, known = ResourceState(collections), FeatureTransformationCache(features)
    weights, sums = [], []
    with variable_scope(None, default_name="linear_model", values=list(features.values())):
        for column in columns:
            with variable_scope(column.name, auxiliary_name_scope=False) as scope:
                column.create_state(state)
                weights.append(_zeros("weights", [num_weights(column), units], collections))
                cols_to_vars[column] = scope.global_variables()
        bias = _zeros("bias_weights", [units], collections)
        cols_to_vars["bias"] = parts_of(bias)
        for column, own in zip(columns, weights, strict=True):
            with name_scope(column.name):
                if isinstance(column, CategoricalColumn):
                    made: Any = column.get_sparse_tensors(known, state)
                else:
                    made = column.get_dense_tensor(known, state)
                sums.append(_counted_sum(column, made, own, sparse_combiner))
        return _biased_sum(sums, columns, bias)


def _weighable_columns(feature_columns: Any) -> list[Any]:
    columns = ordered_columns(feature_columns)
    for column in columns:
        if not isinstance(column, (DenseColumn, CategoricalColumn)):
            raise ValueError(f"Items of feature_columns must be columns. Given: {column}")
    return columns


def _zeros(name: str, shape: Any, collections: list[str], trainable: bool = True) -> Any:
    made = get_variable(
        name,
        shape=shape,
        initializer=zeros_initializer(),
        trainable=trainable,
        collections=collections,
    )
    count_left_out(1)  # a resource variable there
    return made


def _biased_sum(sums: Sequence[Tensor], columns: Sequence[Any], bias: Any) -> Tensor:
    same_batch_size(sums, columns)
    # The bias is read, and a sum of one is a sum.
    count_left_out(1 if len(sums) > 1 else 2)
    total = add_n(sums, name="weighted_sum_no_bias") if len(sums) > 1 else sums[0]
    return bias_add(total, bias, name="weighted_sum")


def parts_of(variable: Any) -> list[Any]:
    """The parts of a partitioned variable, or the variable alone."""
    return list(variable) if isinstance(variable, PartitionedVariable) else [variable]


def _weighted_sum(
    column: Any,
    features: LazyBuilder,
    units: int,
    combiner: str,
    collections: list[str],
    trainable: bool,
) -> tuple[Tensor, Any]:
    weights = _zeros("weights", [num_weights(column), units], collections, trainable)
    read = (features, collections, trainable)
    if isinstance(column, CategoricalColumn):
        made = column._get_sparse_tensors(*read)
    else:
        made = column._get_dense_tensor(*read)
    return _counted_sum(column, made, weights, combiner), weights


def _counted_sum(column: Any, made: Any, weights: Any, combiner: str) -> Tensor:
    """`weighted_sum`, which counts as the nodes of TensorFlow: weights are read, ids always made two-dimensional."""
    if isinstance(column, CategoricalColumn):
        for part in made:
            if part is not None:
                count_left_out(10 if part.shape.ndims == 2 else 2)
    else:
        count_left_out(1)
    return weighted_sum(column, made, weights, combiner)


def num_weights(column: Any) -> int:
    """How many weights a column has in a linear model: one for each category or number."""
    if isinstance(column, CategoricalColumn):
        return column._num_buckets
    return column._variable_shape.num_elements()  # type: ignore[no-any-return]


def weighted_sum(column: Any, made: Any, weights: Any, combiner: str) -> Tensor:
    """A column's part of a linear model: the products of what it made and ``weights``, added up."""
    if not isinstance(column, CategoricalColumn):
        return matmul(flat_rows(column, made), weights, name="weighted_sum")

    def flat(sparse: SparseTensor) -> SparseTensor:
        if sparse.shape.ndims == 2:
            return sparse
        return sparse_reshape(sparse, array.stack([sparse.dense_shape[0], np.int64(-1)]))

    ids, id_weights = made
    return safe_embedding_lookup_sparse(
        weights,
        flat(ids),
        None if id_weights is None else flat(id_weights),
        combiner=combiner,
        name="weighted_sum",
    )


def transform_features(
    features: dict[str, Any],
    feature_columns: Any,
    state_manager: Any = None,
    cache_type: type[FeatureTransformationCache] = FeatureTransformationCache,
) -> dict[Any, Any]:
    """What each column makes of the features: a dict of tensors by column."""
    columns = ordered_columns(feature_columns)
    made = {}
    with name_scope(None, "transform_features", list(features.values())):
        cache = cache_type(features)
        for column in columns:
            with name_scope(None, column.name):
                made[column] = cache.get(column, state_manager)
    return made


def make_parse_example_spec(feature_columns: Sequence[Any]) -> dict[str, Any]:
    """What `tf.parse_example` needs to read the features of all columns.

    Raises `ValueError` when two columns want one feature in different ways.
    """
    result: dict[str, Any] = {}
    for column in feature_columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(f"All feature_columns must be feature columns. Given: {column}")
        for key, value in column._parse_example_spec.items():
            if key in result and result[key] != value:
                raise ValueError(
                    f"feature_columns contain different parse_spec for key {key}. "
                    f"Given {value} and {result[key]}"
                )
            result[key] = value
    return result
