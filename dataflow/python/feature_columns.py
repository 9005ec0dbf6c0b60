"""What ``tensorflow.python.feature_column`` has under other names, and what is no part of `tf`'s own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow import dtypes
from dataflow.feature_column import (
    categorical,
    crossed,
    embedding,
    layers,
    numeric,
    old_columns,
    shared_embeddings,
)
from dataflow.feature_column.base import (
    CategoricalColumn,
    DenseColumn,
    FeatureColumn,
    SequenceDenseColumn,
)
from dataflow.feature_column.categorical import SequenceCategoricalColumn
from dataflow.feature_column.layers import (
    is_feature_column_v2,
    make_parse_example_spec as make_parse_example_spec_v2,
    transform_features as _transform_features_v2,
)
from dataflow.feature_column.sequence import SequenceNumericColumn, concatenate_context_input
from dataflow.feature_column.shared_embeddings import (
    SharedEmbeddingColumn,
    SharedEmbeddingColumnCreator,
    shared_embeddings as shared_embedding_columns_v2,
)
from dataflow.feature_column.state import StateManager
from dataflow.feature_column.transformation import (
    FeatureTransformationCache,
    LazyBuilder as _LazyBuilder,
    sequence_length_from_sparse_tensor,
    to_sparse_input,
)
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike
from dataflow.keras.column_models import LinearModel, LinearModelLayer as _LinearModelLayer
from dataflow.keras.layers.features import (
    DenseFeatures,
    FeaturesLayer as _BaseFeaturesLayer,
    LayerState as _StateManagerImpl,
    SequenceFeatures,
    WeightState as _StateManagerImplV2,
)
from dataflow.ops.template import make_template

__all__ = [
    "CategoricalColumn",
    "DenseColumn",
    "DenseFeatures",
    "FeatureColumn",
    "FeatureTransformationCache",
    "InputLayer",
    "LinearModel",
    "SequenceCategoricalColumn",
    "SequenceDenseColumn",
    "SequenceFeatures",
    "SequenceNumericColumn",
    "SharedEmbeddingColumn",
    "SharedEmbeddingColumnCreator",
    "StateManager",
    "_BaseFeaturesLayer",
    "_LazyBuilder",
    "_LinearModelLayer",
    "_StateManagerImpl",
    "_StateManagerImplV2",
    "_transform_features_v2",
    "categorical_column_with_vocabulary_file_v2",
    "concatenate_context_input",
    "is_feature_column_v2",
    "make_parse_example_spec_v2",
    "sequence_length_from_sparse_tensor",
    "shared_embedding_columns_v2",
]

BucketizedColumn = _BucketizedColumn = numeric.BucketizedColumn
NumericColumn = _NumericColumn = numeric.NumericColumn
CrossedColumn = _CrossedColumn = crossed.CrossedColumn
EmbeddingColumn = _EmbeddingColumn = embedding.EmbeddingColumn
IndicatorColumn = _IndicatorColumn = embedding.IndicatorColumn
HashedCategoricalColumn = _HashedCategoricalColumn = categorical.HashedCategoricalColumn
IdentityCategoricalColumn = _IdentityCategoricalColumn = categorical.IdentityCategoricalColumn
VocabularyFileCategoricalColumn = categorical.VocabularyFileCategoricalColumn
VocabularyListCategoricalColumn = categorical.VocabularyListCategoricalColumn
WeightedCategoricalColumn = _WeightedCategoricalColumn = categorical.WeightedCategoricalColumn
_VocabularyFileCategoricalColumn = VocabularyFileCategoricalColumn
_VocabularyListCategoricalColumn = VocabularyListCategoricalColumn
_SequenceCategoricalColumn = SequenceCategoricalColumn
_SharedEmbeddingColumn = shared_embeddings.CollectedEmbeddingColumn
#: Those of before 1.13, which have become the same.
_numeric_column = numeric.numeric_column
_bucketized_column = numeric.bucketized_column
_crossed_column = crossed.crossed_column
_embedding_column = embedding.embedding_column
_indicator_column = embedding.indicator_column
_weighted_categorical_column = categorical.weighted_categorical_column
_categorical_column_with_hash_bucket = categorical.categorical_column_with_hash_bucket
_categorical_column_with_identity = categorical.categorical_column_with_identity
_categorical_column_with_vocabulary_file = categorical.categorical_column_with_vocabulary_file
_categorical_column_with_vocabulary_list = categorical.categorical_column_with_vocabulary_list
_FeatureColumn = old_columns.OldFeatureColumn
_DenseColumn = old_columns.OldDenseColumn
_CategoricalColumn = old_columns.OldCategoricalColumn
_SequenceDenseColumn = old_columns.OldSequenceDenseColumn
_normalize_feature_columns = layers.ordered_columns
_to_sparse_input_and_drop_ignore_values = to_sparse_input


def _transform_features(features: dict[str, Any], feature_columns: Any) -> dict[Any, Any]:
    """What each column makes of the features: a dict of tensors by column."""
    return layers.transform_features(features, feature_columns, None, _LazyBuilder)


class InputLayer:
    """`tf.feature_column.input_layer` as an object: each call uses the variables of the first."""

    def __init__(
        self,
        feature_columns: Sequence[Any],
        weight_collections: Any = None,
        trainable: bool = True,
        cols_to_vars: dict[Any, Any] | None = None,
        name: str = "feature_column_input_layer",
        create_scope_now: bool = True,
    ) -> None:
        self.name = name
        self._columns = (feature_columns, weight_collections, trainable, cols_to_vars)
        self._read = make_template(
            name, layers.columns_side_by_side, create_scope_now_=create_scope_now
        )

    def __call__(self, features: dict[str, Any]) -> Tensor:
        """The columns side by side, float32 [batch, sum of their sizes]."""
        return self._read(features, *self._columns)  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        if name in ("variables", "trainable_variables", "non_trainable_variables"):
            return getattr(self._read, name)
        if name in ("weights", "trainable_weights", "non_trainable_weights"):
            return getattr(self._read, name.replace("weights", "variables"))
        raise AttributeError(f"InputLayer has no attribute {name!r}")


def categorical_column_with_vocabulary_file_v2(
    key: str,
    vocabulary_file: Any,
    vocabulary_size: int | None = None,
    dtype: DTypeLike = dtypes.string,
    default_value: int | None = None,
    num_oov_buckets: int = 0,
) -> VocabularyFileCategoricalColumn:
    """`tf.feature_column.categorical_column_with_vocabulary_file`, its arguments in another order."""
    return categorical.categorical_column_with_vocabulary_file(
        key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype
    )
