from dataflow.feature_column.categorical import (
    categorical_column_with_hash_bucket as categorical_column_with_hash_bucket,
    categorical_column_with_identity as categorical_column_with_identity,
    categorical_column_with_vocabulary_file as categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list as categorical_column_with_vocabulary_list,
    weighted_categorical_column as weighted_categorical_column,
)
from dataflow.feature_column.crossed import crossed_column as crossed_column
from dataflow.feature_column.embedding import (
    embedding_column as embedding_column,
    indicator_column as indicator_column,
)
from dataflow.feature_column.shared_embeddings import (
    shared_embedding_columns as shared_embedding_columns,
)
from dataflow.feature_column.layers import (
    input_layer as input_layer,
    linear_model as linear_model,
    make_parse_example_spec as make_parse_example_spec,
)
from dataflow.feature_column.numeric import (
    bucketized_column as bucketized_column,
    numeric_column as numeric_column,
)
from dataflow.feature_column.sequence import (
    sequence_categorical_column_with_hash_bucket as sequence_categorical_column_with_hash_bucket,
    sequence_categorical_column_with_identity as sequence_categorical_column_with_identity,
    sequence_categorical_column_with_vocabulary_file as sequence_categorical_column_with_vocabulary_file,
    sequence_categorical_column_with_vocabulary_list as sequence_categorical_column_with_vocabulary_list,
    sequence_numeric_column as sequence_numeric_column,
)
