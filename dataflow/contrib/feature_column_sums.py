"""Weighted sums, transformations and parsing by the feature columns of `tf.contrib.layers`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dataflow.feature_column import layers
from dataflow.feature_column.base import CategoricalColumn, DenseColumn
from dataflow.feature_column.numeric import NumericColumn
from dataflow.feature_column.transformation import LazyBuilder
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.parsing import parse_example
from dataflow.ops.variable_scope import variable_scope

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
) -> dict[str, Any]:
    """What the columns need of serialized Examples [batch], a dict of tensors by key.

    Raises `ValueError` as `check_feature_columns` does.
    """
    columns = _checked(feature_columns)
    spec = layers.make_parse_example_spec(columns)
    return parse_example(serialized, spec, name, example_names)


def transform_features(features: dict[str, Any], feature_columns: Iterable[Any]) -> dict[Any, Any]:
    """A dict of what each column makes of the features: ids (sparse) or numbers (dense)."""
    columns = _checked(feature_columns)
    known = LazyBuilder(features)
    found: dict[Any, Any] = {}
    for column in sorted(columns, key=lambda c: c.name):
        with name_scope(None, default_name=column.name, values=list(features.values())):
            if isinstance(column, CategoricalColumn):
                found[column] = column._get_sparse_tensors(known).id_tensor
            elif isinstance(column, DenseColumn):
                found[column] = column._get_dense_tensor(known, [], True)
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
    bias is ``bias_weight``.

    Raises `ValueError` as `check_feature_columns` does.
    """
    columns = _checked(feature_columns)
    weights: dict[Any, list[Any]] = {}
    numbers = {c.name for c in columns if isinstance(c, NumericColumn)}

    def renamed(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        *prefix, _, last = name.split("/")  # of the column, or linear_model for the bias
        if last == "bias_weights":
            return getter("/".join([*prefix, "bias_weight"]), *args, **kwargs)
        column = name.split("/")[-2]
        last = "weight" if column in numbers else last
        return getter("/".join([*prefix[:-1], column, last]), *args, **kwargs)

    with variable_scope(scope, "weighted_sum_from_feature_columns", custom_getter=renamed):
        total = layers.linear_model(
            columns_to_tensors,
            columns,
            num_outputs,
            "sum",
            weight_collections,
            trainable,
            weights,
        )
    (bias,) = weights.pop("bias")
    return total, weights, bias


#: TensorFlow keeps the weights of all columns in one variable there; the sums are the same.
joint_weighted_sum_from_feature_columns = weighted_sum_from_feature_columns
