"""Private names of the modules of `tf.contrib.layers`' feature columns and `tf.contrib.training`'s segments."""

from __future__ import annotations

from typing import Any

from dataflow.contrib.column_classes import (
    BucketizedColumn as _BucketizedColumn,
    CrossedColumn as _CrossedColumn,
    EmbeddingColumn as _EmbeddingColumn,
    OneHotColumn as _OneHotColumn,
    RealValuedColumn as _RealValuedColumn,
    SparseColumn as _SparseColumn,
    SparseColumnHashed as _SparseColumnHashed,
    SparseColumnIntegerized as _SparseColumnIntegerized,
    SparseColumnKeys as _SparseColumnKeys,
    SparseColumnVocabulary as _SparseColumnVocabulary,
    SparseIdLookupConfig as _SparseIdLookupConfig,
    WeightedSparseColumn as _WeightedSparseColumn,
)
from dataflow.contrib.column_inputs import ColumnCache
from dataflow.contrib.sequence_columns import (
    sequence_feature_spec_for_parsing as _create_sequence_feature_spec_for_parsing,
)
from dataflow.contrib.sequence_segments import (
    SequenceInput as _SequenceInputWrapper,
    padded as _padding,
)
from dataflow.contrib.var_len_columns import (
    RealValuedVarLenColumn as _RealValuedVarLenColumn,
    ScatteredEmbeddingColumn as _ScatteredEmbeddingColumn,
    real_valued_var_len_column as _real_valued_var_len_column,
)
from dataflow.feature_column.base import FeatureColumn as _FeatureColumn

__all__ = [
    "_BucketizedColumn",
    "_CrossedColumn",
    "_EmbeddingColumn",
    "_FeatureColumn",
    "_OneHotColumn",
    "_RealValuedColumn",
    "_RealValuedVarLenColumn",
    "_ScatteredEmbeddingColumn",
    "_SequenceInputWrapper",
    "_SparseColumn",
    "_SparseColumnHashed",
    "_SparseColumnIntegerized",
    "_SparseColumnKeys",
    "_SparseColumnVocabulary",
    "_SparseIdLookupConfig",
    "_Transformer",
    "_WeightedSparseColumn",
    "_create_sequence_feature_spec_for_parsing",
    "_padding",
    "_real_valued_var_len_column",
]


class _Transformer:
    """What columns make of a dict of features, each made once; the dict keeps it, by column."""

    def __init__(self, columns_to_tensors: dict[Any, Any]) -> None:
        self._columns_to_tensors = columns_to_tensors
        self._known = ColumnCache(columns_to_tensors)

    def transform(self, feature_column: Any) -> Any:
        if feature_column not in self._columns_to_tensors:
            made = self._known.transformed(feature_column)
            self._columns_to_tensors[feature_column] = made
        return self._columns_to_tensors[feature_column]
