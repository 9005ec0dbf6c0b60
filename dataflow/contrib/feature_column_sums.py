"""Weighted sums, transformations and parsing by the feature columns of `tf.contrib.layers`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dataflow.contrib.feature_columns import sort_key
from dataflow.feature_column import layers
from dataflow.feature_column.base import CategoricalColumn
from dataflow.feature_column.embedding import table_from_checkpoint
from dataflow.feature_column.numeric import NumericColumn
from dataflow.feature_column.transformation import LazyBuilder
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.bias import bias_add
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.initializers import zeros_initializer
from dataflow.ops.math import add_n
from dataflow.ops.parsing import parse_example
from dataflow.ops.variable_scope import get_variable, variable_scope

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope


def check_feature_columns(feature_columns: Any) -> None:
    """Raises `ValueError` for None, for a dict and for a column that is given twice."""
    if feature_columns is None:
        raise ValueError("Invalid feature columns: None.")
    if isinstance(feature_columns, dict):
        raise ValueError("feature_columns must be a list of columns, not a dict.")
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
    """A dict of what each column makes of the features: ids (sparse), numbers, or ids and weights."""
    columns = _checked(feature_columns)
    known = LazyBuilder(features)
    found: dict[Any, Any] = {}
    for column in sorted(columns, key=lambda c: c.name):
        with name_scope(None, default_name=column.name, values=list(features.values())):
            found[column] = known.get(column)
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

    Raises `ValueError` as `check_feature_columns` does.
    """
    columns = sorted(_checked(feature_columns), key=sort_key)
    known = LazyBuilder(columns_to_tensors)
    settings: Any = {
        "initializer": zeros_initializer(),
        "trainable": trainable,
        "collections": layers.model_collections(weight_collections),
    }
    sums, weights = [], {}
    with variable_scope(scope, "weighted_sum_from_feature_columns"):
        for column in columns:
            is_number = isinstance(column, NumericColumn)
            with variable_scope(None, default_name=column.name):
                variable = get_variable(
                    "weight" if is_number else "weights",
                    shape=[layers.num_weights(column), num_outputs],
                    **settings,
                )
                checkpoint = getattr(column, "ckpt_to_load_from", None)
                if isinstance(column, CategoricalColumn):
                    name = getattr(column, "tensor_name_in_ckpt", None)
                    table_from_checkpoint(variable, checkpoint, name)
                if is_number or not isinstance(column, CategoricalColumn):
                    made: Any = column._get_dense_tensor(known)
                else:
                    made = column._get_sparse_tensors(known)
                combiner = getattr(column, "combiner", "sum")
                sums.append(layers.weighted_sum(column, made, variable, combiner))
            weights[column] = [variable]
        bias = get_variable("bias_weight", shape=[num_outputs], **settings)
        return bias_add(add_n(sums), bias), weights, bias


def joint_weighted_sum_from_feature_columns(
    columns_to_tensors: dict[str, Any],
    feature_columns: Iterable[Any],
    num_outputs: int,
    weight_collections: Any = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
) -> tuple[Tensor, dict[Any, list[Any]], Any]:
    """`weighted_sum_from_feature_columns`; TensorFlow keeps the weights of all columns in one variable.

    Raises `NotImplementedError` for columns of numbers, as in TensorFlow.
    """
    columns = _checked(feature_columns)
    for column in columns:
        if isinstance(column, NumericColumn):
            raise NotImplementedError(
                f"Real-valued columns are not supported, got {column.name!r}. Use "
                "weighted_sum_from_feature_columns, or bucketized_column."
            )
    return weighted_sum_from_feature_columns(
        columns_to_tensors, columns, num_outputs, weight_collections, trainable, scope
    )
