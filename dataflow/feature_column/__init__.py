"""``tf.feature_column``: how raw features become the input of a model."""

from __future__ import annotations

from dataflow.feature_column.categorical import (
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
    categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list,
    weighted_categorical_column,
)
from dataflow.feature_column.crossed import crossed_column
from dataflow.feature_column.embedding import (
    embedding_column,
    indicator_column,
    shared_embedding_columns,
)
from dataflow.feature_column.layers import input_layer, linear_model, make_parse_example_spec
from dataflow.feature_column.numeric import bucketized_column, numeric_column
from dataflow.feature_column.sequence import (
    sequence_categorical_column_with_hash_bucket,
    sequence_categorical_column_with_identity,
    sequence_categorical_column_with_vocabulary_file,
    sequence_categorical_column_with_vocabulary_list,
    sequence_numeric_column,
)
