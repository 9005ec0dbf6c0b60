"""Feature columns as the integers that trees test: buckets, and the categories that are present."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dataflow import dtypes
from dataflow.feature_column.base import CategoricalColumn, DenseColumn
from dataflow.feature_column.embedding import IndicatorColumn
from dataflow.feature_column.numeric import BucketizedColumn
from dataflow.feature_column.transformation import FeatureTransformationCache
from dataflow.graph.tensor import Tensor
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.math import maximum, minimum
from dataflow.ops.sequences import searchsorted


class _Part(NamedTuple):
    column: Any
    name: str  #: what importances and contributions call it
    width: int  #: how many features
    num_buckets: int


class TreeFeatures:
    """Columns by name, each as one or several features.

    A bucketized column is one feature, an indicator column one for each category, and a dense column of
    numbers one for each number, whose buckets lie between quantiles: ``num_quantiles`` at most. Raises
    `ValueError` for other columns.
    """

    def __init__(self, columns: Sequence[Any], num_quantiles: int) -> None:
        self._parts = [_part(c, num_quantiles) for c in sorted(columns, key=lambda c: c.name)]
        self.names = [part.name for part in self._parts for _ in range(part.width)]
        self.num_buckets = max(part.num_buckets for part in self._parts)
        self.num_floats = sum(part.width for part in self._parts if _is_float(part.column))

    def floats(self, features: dict[Any, Any]) -> Tensor:
        """The numbers whose buckets follow from quantiles: float32 [n, num_floats]."""
        cache = FeatureTransformationCache(features)
        found = [
            array.reshape(cast(cache.get(part.column), dtypes.float32), [-1, part.width])
            for part in self._parts
            if _is_float(part.column)
        ]
        return array.concat(found, 1)

    def buckets(self, features: dict[Any, Any], boundaries: Any, sizes: Any) -> Tensor:
        """int32 [n, features]; ``boundaries`` [num_floats, m] of which ``sizes`` [num_floats] count."""
        cache, made, start = FeatureTransformationCache(features), [], 0
        for part in self._parts:
            values = array.reshape(cache.get(part.column), [-1, part.width])
            if _is_float(part.column):
                own = slice(start, start + part.width)
                start += part.width
                values = _between(cast(values, dtypes.float32), boundaries[own], sizes[own])
            made.append(cast(values, dtypes.int32))
        return array.concat(made, 1)


def _between(values: Tensor, boundaries: Tensor, sizes: Tensor) -> Tensor:
    """The bucket of each value: the number of boundaries below it; values above the last one are in the last bucket."""
    rows = searchsorted(boundaries, array.transpose(values), side="left")
    last = array.expand_dims(maximum(sizes - 1, 0), 1)
    return array.transpose(minimum(rows, last))


def _is_float(column: Any) -> bool:
    grouped = isinstance(column, (BucketizedColumn, IndicatorColumn))
    return not grouped and column.dtype.is_floating


def _part(column: Any, num_quantiles: int) -> _Part:
    if isinstance(column, IndicatorColumn):
        inner = column.categorical_column
        return _Part(column, inner.name, inner.num_buckets, 2)
    if isinstance(column, BucketizedColumn):
        if column.source_column.shape != (1,):
            raise ValueError(
                "For now, only supports features equivalent to rank 1 but column "
                f"`{column.source_column.name}` got: {column.source_column.shape}"
            )
        return _Part(column, column.name, 1, len(column.boundaries) + 1)
    if isinstance(column, CategoricalColumn):
        raise ValueError(f"CategoricalColumn must be wrapped by IndicatorColumn, got: {column}")
    if not isinstance(column, DenseColumn) or not hasattr(column, "dtype"):
        raise ValueError(f"Got unexpected feature column type: {column}")
    shape = column.variable_shape
    if len(shape.as_list()) > 1:
        raise ValueError(
            f"For now, we only support Dense column with rank of 1, but column `{column.name}` "
            f"got: {shape}"
        )
    return _Part(column, column.name, shape.num_elements() or 1, num_quantiles)
