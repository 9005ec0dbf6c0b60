"""What `tf.parse_example` needs to read the examples of canned estimators: features and label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow import dtypes
from dataflow.feature_column.layers import make_parse_example_spec
from dataflow.feature_column.numeric import NumericColumn, numeric_column
from dataflow.ops.parsing import FixedLenFeature


def _with_label(
    feature_columns: Sequence[Any], label_key: str, label: Any, weight_column: Any
) -> dict[str, Any]:
    spec = make_parse_example_spec(feature_columns)
    if label_key in spec:
        raise ValueError(
            f"label should not be used as feature. label_key: {label_key}, features: {sorted(spec)}"
        )
    spec[label_key] = label
    if weight_column is not None:
        column = (
            weight_column
            if isinstance(weight_column, NumericColumn)
            else numeric_column(weight_column)
        )
        if column.key in spec:
            raise ValueError(f"weight_column should not be used as feature: {column.key}")
        spec.update(make_parse_example_spec([column]))
    return spec


def classifier_parse_example_spec(
    feature_columns: Sequence[Any],
    label_key: str,
    label_dtype: Any = dtypes.int64,
    label_default: Any = None,
    weight_column: Any = None,
) -> dict[str, Any]:
    """The features of all columns and a label of one value; raises `ValueError` for a key twice."""
    label = FixedLenFeature((1,), dtypes.as_dtype(label_dtype), label_default)
    return _with_label(feature_columns, label_key, label, weight_column)


def regressor_parse_example_spec(
    feature_columns: Sequence[Any],
    label_key: str,
    label_dtype: Any = dtypes.float32,
    label_default: Any = None,
    label_dimension: int = 1,
    weight_column: Any = None,
) -> dict[str, Any]:
    """The features of all columns and a label of ``label_dimension`` numbers."""
    label = FixedLenFeature((label_dimension,), dtypes.as_dtype(label_dtype), label_default)
    return _with_label(feature_columns, label_key, label, weight_column)
